"""The mutation score of the contract: faults caught out of faults planted, and no false alarm."""

from __future__ import annotations

import re
from typing import Any

import pytest
from tallies import Tally
from zoo_structural import STRUCTURAL

from copula_shirley.evaluation.contract import Report, check_generator
from copula_shirley.evaluation.contract.tables import town
from copula_shirley.generator import find_generator

#: What each fault's check found, for the table of them all.
FOUND: dict[str, Report] = {}


def caught(fault: str) -> Report:
    if fault not in FOUND:
        factory, check = STRUCTURAL[fault]
        FOUND[fault] = check_generator(factory, only=(check,), raise_=False)
    return FOUND[fault]


@pytest.mark.evidence
@pytest.mark.parametrize("fault", STRUCTURAL)
def test_each_planted_fault_is_caught_by_the_check_that_is_named(fault: str, tally: Tally) -> None:
    outcome = caught(fault)[STRUCTURAL[fault][1]]
    tally.planted(outcome.status == "failed")
    assert outcome.status == "failed", outcome
    # it was the check that found it, and no accident on the way
    assert not re.match(r"\w+(Error|Exception|Warning): ", outcome.reason), outcome


@pytest.mark.slow
def test_the_mutation_score_is_whole(capsys: pytest.CaptureFixture[str]) -> None:
    lines = []
    for fault, (_, check) in STRUCTURAL.items():
        outcome = caught(fault)[check]
        lines.append(f"{outcome.status == 'failed'!s:<6}{fault:<48}{check}")
    score = sum(line.startswith("True") for line in lines)
    with capsys.disabled():
        print("\ncaught fault" + " " * 43 + "check", *lines, sep="\n")
        print(f"caught {score} of {len(STRUCTURAL)} planted faults")
    assert score == len(STRUCTURAL) >= 19


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
@pytest.mark.evidence
@pytest.mark.parametrize("run", range(len(GOOD)))
def test_no_false_alarm_in_twenty_correct_runs(run: int, tally: Tally) -> None:
    name, settings = GOOD[run]
    # mutual information is refused where people have several rows
    own = town(seed=run) if run % 2 or "score" in settings else None
    given = {} if own is None else {"table": own.table, "schema": own.schema}
    report = check_generator(find_generator(name), **given, **settings, raise_=False)
    tally.correct(bool(report.failures))
    assert not report.failures, report
