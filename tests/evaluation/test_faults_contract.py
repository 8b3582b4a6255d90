"""The contract catches faults that are planted in each of our generators, and alarms nobody else.

In a run that is not slow one generator stands for all.
"""

from __future__ import annotations

import re
from typing import Any

import faults
import pytest
from faults import RULES, planted

from copula_shirley import Generator, PrivateVine
from copula_shirley.baselines import DPCopula, DPHistogram, PrivBayes
from copula_shirley.evaluation.contract import check_generator
from copula_shirley.evaluation.contract.tables import town
from copula_shirley.generator import find_generator

KINDS: dict[type[Generator], dict[str, Any]] = {
    DPHistogram: {},
    DPCopula: {},
    PrivBayes: {"degree": 1},
    PrivateVine: {"truncation": 1},
}
#: Only PrivateVine scores tables, and only it calibrates apart from its ledger, which is then
#: refused; diffprivlib has no exponential mechanism, which PrivBayes needs.
IMPOSSIBLE: dict[int, tuple[type, ...]] = {
    id(faults.RAW_ORDER): (DPHistogram, DPCopula, PrivBayes),
    id(faults.FLOATS): (PrivBayes,),
    id(faults.ROWS_ONLY): (PrivateVine,),
}


def cases() -> list[Any]:
    """Each fault in each generator; the first of them stands for all where nothing is slow."""
    found = []
    for name, (fault, _) in RULES.items():
        kinds = [kind for kind in KINDS if kind not in IMPOSSIBLE.get(id(fault), ())]
        for kind in kinds:
            marks = () if kind is kinds[0] else (pytest.mark.slow,)
            found.append(pytest.param(name, kind, id=f"{kind.name}: {name}", marks=marks))
    return found


@pytest.mark.fault
@pytest.mark.parametrize(("name", "kind"), cases())
def test_a_planted_fault_is_caught_by_its_rule(name: str, kind: Any) -> None:
    fault, rule = RULES[name]
    settings = {**KINDS[kind], "neighbours": "add-remove"}
    report = check_generator(planted(fault, kind), only=(rule,), raise_=False, **settings)
    outcome = report[rule]
    assert outcome.status == "failed", outcome
    # it was the rule that found it, and no accident on the way
    assert not re.match(r"\w+(Error|Exception|Warning): ", outcome.reason), outcome


GOOD: list[tuple[str, dict[str, Any]]] = [
    ("dp-histogram", {}),
    ("dp-histogram", {"neighbours": "add-remove", "epsilon": 8.0}),
    ("dp-histogram", {"mechanism": "geometric", "epsilon": 0.1}),
    ("dp-histogram", {"mechanism": "gaussian"}),
    ("dp-histogram", {"accounting": "thesis"}),
    ("dp-copula", {}),
    ("dp-copula", {"neighbours": "add-remove"}),
    ("dp-copula", {"variant": "mle", "epsilon": 4.0}),
    ("dp-copula", {"margins": "efpa", "epsilon": 2.0}),
    ("privbayes", {"degree": 2}),
    ("privbayes", {"degree": None, "epsilon": 50.0}),
    ("privbayes", {"neighbours": "add-remove", "degree": 1}),
    ("privbayes", {"score": "mutual-information", "mechanism": "laplace", "degree": 1}),
    ("copula-shirley", {"encoder": "ordinal", "families": ["indep", "gaussian"]}),
    ("copula-shirley", {"accounting": "honest", "target": "rich", "families": ["indep"]}),
    ("private-vine", {"epsilon": 100.0}),
    ("private-vine", {"target": "rich", "neighbours": "replace-one"}),
    ("private-vine", {"delta": 0.0, "truncation": 1, "epsilon": 8.0}),
    ("private-vine", {"reweight": False, "families": False, "epsilon": 0.1}),
    ("uniform", {}),
]


@pytest.mark.slow
@pytest.mark.correct
@pytest.mark.parametrize("run", range(len(GOOD)))
def test_no_false_alarm_in_twenty_correct_runs(run: int) -> None:
    name, settings = GOOD[run]
    # mutual information is refused where people have several rows
    own = town(seed=run) if run % 2 or "score" in settings else None
    given = {} if own is None else {"table": own.table, "schema": own.schema}
    report = check_generator(find_generator(name), **given, **settings, raise_=False)
    assert not report.failures, report
