"""Noise that is not the one of the ledger: generators that the bounds on epsilon do not refute."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from copula_shirley import PrivateVine
from copula_shirley.evaluation.audit.answers import _chosen, _normal, examine_noise
from copula_shirley.evaluation.audit.audit import _exercised, audit
from copula_shirley.evaluation.audit.claims import Claim
from copula_shirley.evaluation.audit.evidence import STAGES, Evidence, stage_of
from copula_shirley.evaluation.audit.findings import (
    CONSISTENT,
    FALSE_LEDGER,
    NO_POWER,
    Power,
    examine,
    judge,
)
from copula_shirley.evaluation.audit.fits import Fit, noise_once
from copula_shirley.evaluation.audit.neighbours import Questions, built_in
from copula_shirley.measure.curator import Curator
from copula_shirley.measure.queries import Choice, Query, Tables
from copula_shirley.measure.transcript import Answer
from copula_shirley.privacy.noise import SeededNoise
from copula_shirley.private_vine.cell_maps import InnovationKey

POWER = Power("epsilon", 1.0, 1.0, 3.0, (2,), ())


class Faulty(PrivateVine):
    """Answers some questions in a way of its own; the ledger does not know."""

    def _fit(self, *args: Any, **settings: Any) -> Any:
        with pytest.MonkeyPatch.context() as patch:
            true, faulty = Curator.answer, self._faulty
            patch.setattr(Curator, "answer", lambda measure, query: faulty(true, measure, query))
            super()._fit(*args, **settings)

    def _faulty(self, true: Any, measure: Any, query: Query) -> Answer:
        raise NotImplementedError


def divided(true: Any, measure: Any, query: Query, part: float) -> Answer:
    noisy = Curator._noisy
    with pytest.MonkeyPatch.context() as patch:
        less = lambda m, counts, scale: noisy(m, counts, scale / part) if part else counts  # noqa: E731
        patch.setattr(Curator, "_noisy", less)
        answer: Answer = true(measure, query)
    return answer


class High(Faulty):
    """Tables of innovations are exact."""

    def _faulty(self, true: Any, measure: Any, query: Query) -> Answer:
        high = isinstance(query, Tables) and isinstance(query.cell_maps[0], InnovationKey)
        answer: Answer = divided(true, measure, query, 0) if high else true(measure, query)
        return answer


class ExactChoice(Faulty):
    """The best tables in place of the exponential mechanism."""

    def _faulty(self, true: Any, measure: Any, query: Query) -> Answer:
        source = measure._source
        if isinstance(query, Choice):
            measure._source = None
        try:
            answer: Answer = true(measure, query)
        finally:
            measure._source = source
        return answer


class Blinded(Faulty):
    """An eighth of the noise in tree 1, where the transcript states a huge one."""

    def _faulty(self, true: Any, measure: Any, query: Query) -> Answer:
        if query.stage != "tree 1":
            answer: Answer = true(measure, query)
            return answer
        answer = divided(true, measure, query, 8)
        measure.transcript.answers[-1] = replace(answer, sigma=1e6)
        measure.transcript.queries[-1]["sigma"] = 1e6
        return answer


class SameSeed(Faulty):
    """Each answer has the same noise as the one before."""

    def _faulty(self, true: Any, measure: Any, query: Query) -> Answer:
        measure._source = SeededNoise(np.random.default_rng(self.random_state))
        answer: Answer = true(measure, query)
        return answer


def vine(kind: type = PrivateVine, **settings: Any) -> Any:
    return lambda seed: kind(**{"random_state": seed, **settings})


def noises(kind: type, tables: str, fits: int, **settings: Any) -> list[Any]:
    """Of fits to the large table, or to the one with independent columns."""
    tested = built_in("questions", "add-remove")
    assert isinstance(tested, Questions)
    table = getattr(tested, tables)
    found = [noise_once(vine(kind, **settings), table, tested.schema, i) for i in range(fits)]
    assert {fit.error for fit in found} == {None}
    return [fit.noise for fit in found]


@pytest.mark.parametrize("settings", [{}, {"delta": 0.0}])
def test_noise_of_all_that_private_vine_asks_is_as_stated(settings: Any) -> None:
    found = noises(PrivateVine, "first", 2, **settings) + noises(PrivateVine, "second", 4)
    faults, seen = examine_noise(found)
    assert faults == [] and not any(fit["unknown"] for fit in found)
    asked = {"size", "ranges of cells", "margins", "scores", "tree 1", "scores of tree 2", "tree 2",
             "choice of tables", "tables beyond the vine"}  # fmt: skip
    assert seen >= asked and ("parts of cells" in seen) == (settings == {})
    assert {stage_of(stage) for stage in seen} <= set(STAGES)


def test_exact_innovations_are_found() -> None:
    faults, _ = examine_noise(noises(High, "first", 2))
    assert len(faults) == 1 and "in stage 'tree 2' is 0.0" in faults[0]


def test_choices_of_the_best_are_found() -> None:
    faults, _ = examine_noise(noises(ExactChoice, "second", 16))
    assert "in stage 'choice of tables'" in faults[0] and "and should be 0" in faults[0]


def test_a_transcript_that_states_other_noise_is_found_and_blinds_nobody() -> None:
    result = audit(vine(Blinded), "canaries", runs=40)
    assert (
        result.verdict == FALSE_LEDGER and (result.lower_bound_mu or 0) > 0
    )  # 800 fits refute the claim
    assert (
        "states noise of sigma 1e+06 for answers of stage 'tree 1', whose cost implies"
        in (result.faults[0])
    )
    assert "in stage 'tree 1' is 0.1" in result.faults[1]


def test_noise_that_is_drawn_twice_is_found() -> None:
    result = audit(vine(SameSeed), "canaries", runs=40)
    assert result.verdict == FALSE_LEDGER and result.refuted
    assert result.reason.startswith(
        "the noise of answers is not the independent noise that the ledger states: the noises of "
        "answers in stages"
    )
    assert result.to_dict()["ledger_faults"] == result.faults


def test_what_was_asked_and_what_was_not_is_said() -> None:
    result = audit(vine(), ["category", "canaries"], runs=40)
    assert result.asked == ["margins", "scores", "size", "tree 1"] and result.faults == []
    for left in ("choice of tables", "higher trees", "parts of cells", "domain that is bought"):
        assert left in result.not_exercised
    assert any(text.startswith("drawn rows: no power") for text in result.not_exercised)
    told = {"asked": ["size"], "may_ask": None}
    asked, left, _ = _exercised([Fit({}, told)], ("white",))
    assert asked == ["size"] and "not known here" in left[0] and "the noise itself" in left[1]


def test_power_is_that_of_released_numbers() -> None:
    """A leak into drawn rows only may pass, and is said to."""
    claim = Claim(1.0)
    same = [Evidence({"x": 1.0})] * 40
    white, black = (examine(same, same, claim, "pair", box) for box in ("white", "black"))
    verdict, reason = judge([*white, *black], [], POWER)
    assert verdict == CONSISTENT and reason.endswith(
        "in all answers that were asked here would have been noticed; drawn rows: no power is "
        "known, since there is no control for them"
    )
    assert "drawn rows" not in judge(white, [], POWER)[1]
    assert judge(black, [], POWER)[0] == NO_POWER
    assert judge(white, [], POWER, ["why"]) == (FALSE_LEDGER, "why")


@pytest.mark.parametrize("scale", [0.4, 3.0, 60.0])
@pytest.mark.parametrize("gaussian", [True, False])
def test_noise_becomes_normal_numbers(scale: float, gaussian: bool) -> None:
    rng = np.random.default_rng(1)
    source, zeros = SeededNoise(rng), np.zeros(20_000, dtype=np.int64)
    noise = (source.gaussian if gaussian else source.laplace)(zeros, scale)
    found = _normal(noise, scale, rng, gaussian=gaussian)
    ranks = np.sort(found)[[1_000, 10_000, 19_000]]
    assert ranks == pytest.approx([-1.645, 0, 1.645], abs=0.06)
    assert found.std() == pytest.approx(1, abs=0.025)


def test_choices_become_normal_numbers() -> None:
    rng = np.random.default_rng(2)
    merits = np.array([0, 5, 5, 8, -20])
    draw = SeededNoise(rng).choose
    chosen = [draw(merits.astype(float), 6.0) for _ in range(4_000)]
    found = np.array([_chosen(merits, np.array([c]), 6.0, rng)[0][0] for c in chosen])
    assert abs(found.mean()) < 0.07 and found.std() == pytest.approx(1, abs=0.06)
    assert _chosen(np.array([0, 100]), np.array([1, 0]), 6.0, rng) == []  # both are sure
