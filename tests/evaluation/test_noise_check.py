"""Noise that is not the one of the ledger: faulty curators that bounds on epsilon do not refute."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from copula_shirley import PrivateVine
from copula_shirley.evaluation.audit.audit import audit, exercised
from copula_shirley.evaluation.audit.claim import STAGES, Statement, stage_of
from copula_shirley.evaluation.audit.estimates import FALSE_LEDGER
from copula_shirley.evaluation.audit.noise_check import (
    NoiseSums,
    check_noise,
    normal_choices,
    normal_noise,
)
from copula_shirley.evaluation.audit.pairs import built_in
from copula_shirley.evaluation.audit.runs import Fit, Setup, run_once
from copula_shirley.measure.curator import Curator
from copula_shirley.measure.queries import Choice, Query, Tables
from copula_shirley.measure.transcript import Answer
from copula_shirley.privacy.noise import Integers, SeededNoise
from copula_shirley.private_vine.cell_maps import InnovationKey

TRUE = Curator.answer
#: Answers a query in place of a curator, given the seed of the fit.
Fault = Callable[[Curator, Query, int | None], Answer]


def vine(fault: Fault | None = None, **settings: Any) -> Any:
    """A factory of vines, with a fault in the answers that the ledger does not know."""

    class Faulty(PrivateVine):
        def _fit(self, *args: Any, **more: Any) -> Any:
            assert fault is not None
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(Curator, "answer", lambda c, q: fault(c, q, self.random_state))
                super()._fit(*args, **more)

    kind = PrivateVine if fault is None else Faulty
    return lambda seed: kind(**{"random_state": seed, **settings})


def answer_from(source: Any, curator: Curator, query: Query) -> Answer:
    """The answer with noise from another source; exact without one."""
    before, curator._source = curator._source, source
    try:
        return TRUE(curator, query)
    finally:
        curator._source = before


def exact_innovations(curator: Curator, query: Query, _: int | None) -> Answer:
    high = isinstance(query, Tables) and isinstance(query.cell_maps[0], InnovationKey)
    return answer_from(None if high else curator._source, curator, query)


def exact_choice(curator: Curator, query: Query, _: int | None) -> Answer:
    return answer_from(None if isinstance(query, Choice) else curator._source, curator, query)


class Eighth(SeededNoise):
    """An eighth of the noise."""

    def gaussian(self, counts: Integers, sigma: float) -> Integers:
        return super().gaussian(counts, sigma / 8)


def blinded(curator: Curator, query: Query, seed: int | None) -> Answer:
    """An eighth of the noise in tree 1, where the transcript states a huge one."""
    if query.stage != "tree 1":
        return TRUE(curator, query)
    answer = answer_from(Eighth(np.random.default_rng(seed)), curator, query)
    curator.transcript.answers[-1] = replace(answer, sigma=1e6)
    curator.transcript.queries[-1]["sigma"] = 1e6
    return answer


def same_noise(curator: Curator, query: Query, seed: int | None) -> Answer:
    """Each answer has the same noise as the one before."""
    return answer_from(SeededNoise(np.random.default_rng(seed)), curator, query)


def noises(make: Any, side: int, fits: int, pair: str = "questions") -> list[NoiseSums]:
    """Of fits to the large table, to the one with independent columns, or to canaries."""
    tested = built_in(pair, "add-remove")
    found = [run_once(Setup(make), tested, side, i) for i in range(fits)]
    assert {fit.error for fit in found} == {None}
    return [fit.noise for fit in found if fit.noise is not None]


@pytest.mark.parametrize("settings", [{}, {"delta": 0.0}])
def test_noise_of_all_that_private_vine_asks_is_as_stated(settings: Any) -> None:
    found = noises(vine(**settings), 0, 2) + noises(vine(), 1, 4)
    faults, seen = check_noise(found)
    assert faults == [] and len(found) == 6 and not any(fit.unknown for fit in found)
    asked = {"size", "ranges of cells", "margins", "scores", "tree 1", "scores of tree 2", "tree 2",
             "choice of tables", "tables beyond the vine"}  # fmt: skip
    assert seen >= asked and ("parts of cells" in seen) == (settings == {})
    assert {stage_of(stage) for stage in seen} <= set(STAGES)


def test_exact_innovations_are_found() -> None:
    faults, _ = check_noise(noises(vine(exact_innovations), 0, 2))
    assert len(faults) == 1 and "in stage 'tree 2' is 0.0" in faults[0]


def test_choices_of_the_best_are_found() -> None:
    faults, _ = check_noise(noises(vine(exact_choice), 1, 16))
    assert "in stage 'choice of tables'" in faults[0] and "and should be 0" in faults[0]


def test_a_transcript_that_states_other_noise_is_found_and_blinds_nobody() -> None:
    faults, _ = check_noise(noises(vine(blinded), 0, 5, "canaries"))
    assert "states noise of sigma 1e+06 for answers of stage 'tree 1', whose cost" in faults[0]
    assert "in stage 'tree 1' is 0.1" in faults[1]


def test_noise_that_is_drawn_twice_refutes_the_ledger() -> None:
    result = audit(vine(same_noise), "canaries", runs=40)
    assert result.verdict == FALSE_LEDGER and result.refuted
    assert (result.lower_bound_mu or 0) >= 0
    assert result.reason.startswith(
        "the noise of answers is not the independent noise that the ledger states: the noises of "
        "answers in stages"
    )
    assert result.to_dict()["ledger_faults"] == result.faults


def test_what_was_asked_and_what_was_not_is_said() -> None:
    setup = Setup(vine(), rows=5)
    fits = [
        run_once(setup, built_in(name, "add-remove"), 0, 1) for name in ("category", "canaries")
    ]
    asked, left, faults = exercised(fits, setup.boxes)
    assert asked == ["margins", "scores", "size", "tree 1"] and faults == []
    for stage in ("choice of tables", "higher trees", "parts of cells", "domain that is bought"):
        assert stage in left
    assert any(text.startswith("drawn rows: no power") for text in left)
    asked, left, _ = exercised([Fit(stated=Statement(asked=["size"]))], ("white",))
    assert asked == ["size"] and "not known here" in left[0] and "the noise itself" in left[1]


@pytest.mark.parametrize("scale", [0.4, 3.0, 60.0])
@pytest.mark.parametrize("gaussian", [True, False])
def test_noise_becomes_normal_numbers(scale: float, gaussian: bool) -> None:
    rng = np.random.default_rng(1)
    source, zeros = SeededNoise(rng), np.zeros(20_000, dtype=np.int64)
    noise = (source.gaussian if gaussian else source.laplace)(zeros, scale)
    found = normal_noise(noise, scale, rng, gaussian=gaussian)
    ranks = np.sort(found)[[1_000, 10_000, 19_000]]
    assert ranks == pytest.approx([-1.645, 0, 1.645], abs=0.06)
    assert found.std() == pytest.approx(1, abs=0.025)


def test_choices_become_normal_numbers() -> None:
    rng = np.random.default_rng(2)
    merits = np.array([0, 5, 5, 8, -20])
    draw = SeededNoise(rng).choose
    chosen = [draw(merits.astype(float), 6.0) for _ in range(4_000)]
    found = np.array([normal_choices(merits, np.array([c]), 6.0, rng)[0][0] for c in chosen])
    assert abs(found.mean()) < 0.07 and found.std() == pytest.approx(1, abs=0.06)
    assert normal_choices(np.array([0, 100]), np.array([1, 0]), 6.0, rng) == []  # both are sure
