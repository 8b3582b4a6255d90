"""The audit catches planted faults, and lets the same generators without the fault pass.

Seeds are fixed. A true claim is refuted with a chance below 1 in 1,000 per audit
(``evaluation.findings.FALSE_ALARM``), so the thirteen correct ones together below 1 in 75 for
another choice of seeds.
"""

from __future__ import annotations

import pytest

from evaluation.audit import audit
from zoo_statistical import STATISTICAL


@pytest.mark.slow
@pytest.mark.parametrize("fault", STATISTICAL)
def test_a_planted_fault_is_refuted(fault: str) -> None:
    animal = STATISTICAL[fault]
    found = audit(animal.bad, animal.pair, runs=animal.runs, boxes=("white",), seed=1)
    assert found.refuted, (fault, found.reason)


@pytest.mark.slow
@pytest.mark.parametrize("fault", STATISTICAL)
def test_the_same_generator_without_the_fault_is_not(fault: str) -> None:
    animal = STATISTICAL[fault]
    found = audit(animal.good, animal.pair, runs=animal.runs, boxes=("white",), seed=1)
    assert not found.refuted, (fault, found.reason)
