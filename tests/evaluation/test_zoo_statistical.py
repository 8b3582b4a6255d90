"""The audit catches planted faults, and lets the same generators without the fault pass.

Seeds are fixed. A true claim is refuted with a chance below 1 in 1,000 per audit, so one of the
eighteen correct ones with a chance below 1 in 55 if the seeds were others.
"""

from __future__ import annotations

import pytest
from tallies import Tally
from zoo_statistical import STATISTICAL

from copula_shirley.evaluation.audit.audit import audit

pytestmark = [pytest.mark.slow, pytest.mark.evidence]


@pytest.mark.parametrize("fault", STATISTICAL)
def test_a_planted_fault_is_refuted(fault: str, tally: Tally) -> None:
    animal = STATISTICAL[fault]
    found = audit(animal.bad, animal.pair, runs=animal.runs, boxes=("white",), seed=1)
    tally.planted(found.refuted)
    assert found.refuted, found.reason


@pytest.mark.parametrize("fault", STATISTICAL)
def test_the_same_generator_without_the_fault_is_not(fault: str, tally: Tally) -> None:
    animal = STATISTICAL[fault]
    found = audit(animal.good, animal.pair, runs=animal.runs, boxes=("white",), seed=1)
    tally.correct(found.refuted)
    assert not found.refuted, found.reason
