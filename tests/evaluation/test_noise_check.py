"""Noise that is not the one of the ledger: faulty curators that bounds on epsilon do not refute."""

from __future__ import annotations

from typing import Any

import faults
import numpy as np
import pytest
from faults import Fault, planted

from copula_shirley import PrivateVine
from copula_shirley.evaluation.audit.audit import audit, exercised
from copula_shirley.evaluation.audit.claim import STAGES, Statement, stage_of
from copula_shirley.evaluation.audit.estimates import FALSE_LEDGER
from copula_shirley.evaluation.audit.noise_check import NoiseSums, check_noise, normal_noise
from copula_shirley.evaluation.audit.pairs import built_in
from copula_shirley.evaluation.audit.runs import Fit, Setup, run_once
from copula_shirley.privacy.noise import SeededNoise


def vine(fault: Fault | None = None, **settings: Any) -> Any:
    """A factory of vines, with a fault in the answers that the ledger does not know."""
    kind = PrivateVine if fault is None else planted(fault, PrivateVine)
    return lambda seed: kind(random_state=seed, **settings)


def noises(make: Any, side: int, fits: int, pair: str = "questions") -> list[NoiseSums]:
    """Of fits to the large table, to the one with independent columns, or to canaries."""
    tested = built_in(pair, "add-remove")
    found = [run_once(Setup(make), tested, side, i) for i in range(fits)]
    assert {fit.error for fit in found} == {None}
    return [fit.noise for fit in found if fit.noise is not None]


@pytest.mark.parametrize("settings", [{}, {"delta": 0.0}])
def test_noise_of_all_that_private_vine_asks_is_as_stated(settings: Any) -> None:
    found = noises(vine(**settings), 0, 2) + noises(vine(), 1, 4)
    wrong, seen = check_noise(found)
    assert wrong == [] and len(found) == 6
    asked = {"size", "margins", "margins of groups", "coarse pairs", "tree 1"}
    asked |= {"tables beyond the vine"}
    assert seen >= asked | {"parts of cells"}
    assert {stage_of(stage) for stage in seen} <= set(STAGES)


def test_exact_tables_of_one_stage_are_found() -> None:
    found, _ = check_noise(noises(vine(faults.EXACT_PAIRS), 0, 2))
    assert len(found) == 1 and "in stage 'coarse pairs' is 0.0" in found[0]


def test_a_transcript_that_states_other_noise_is_found_and_blinds_nobody() -> None:
    found, _ = check_noise(noises(vine(faults.BLINDING), 0, 5, "canaries"))
    assert "states noise of sigma 1e+06 for answers of stage 'tree 1', whose cost" in found[0]
    assert "in stage 'tree 1' is 0.1" in found[1]


def test_noise_that_is_drawn_twice_refutes_the_ledger() -> None:
    result = audit(vine(faults.SAME_NOISE), "canaries", runs=40)
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
        run_once(setup, built_in(name, "add-remove"), 0, 1) for name in ("category", "questions")
    ]
    asked, left, wrong = exercised(fits, setup.boxes)
    known = {"coarse pairs", "margins", "margins of groups", "size", "tree 1"}
    assert known <= set(asked) and wrong == []
    for stage in ("target", "domain that is bought"):
        assert stage in left
    assert any(text.startswith("drawn rows: no power") for text in left)
    asked, left, _ = exercised([Fit(stated=Statement(asked=("size",)))], ("white",))
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
