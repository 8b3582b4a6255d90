"""The contract with a schema that has rules: every way of keeping one, and a learned function."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from faults import curator, generator, planted

from copula_shirley import Column, PrivateVine, Schema
from copula_shirley.baselines import DPCopula, DPHistogram, PrivBayes
from copula_shirley.evaluation.contract import check_generator
from copula_shirley.evaluation.contract.tables import town
from copula_shirley.rules.functions import LearnedCheck
from copula_shirley.schema.rule_entries import rules_from


def ruled_town() -> tuple[pd.DataFrame, Schema]:
    """The rows of the contract, with rules of every way in which one is kept."""
    case = town()
    table = case.table
    table["until"] = table["day"] + pd.Timedelta("5D")
    table["twice"] = (2 * table["pay"]).round(4)
    dates = {"minimum": "2020-01-01", "maximum": "2020-12-31", "resolution": "1D"}
    columns = (
        *case.schema,
        Column("until", "datetime", **dates, missing=True),
        Column("twice", "continuous", minimum=0, maximum=2e5, missing=True),
    )
    rules = [
        {"order": ["day", "until"]},
        {"computed": "twice", "as": "pay * 2"},
        {"function": "job", "of": "rich", "table": "learned"},
        {"when": {"job": "law"}, "then": {"flag": True}},
        {"when": {"age": "90.."}, "then": {"day": "2020-06-01.."}},
    ]
    return table, Schema(columns, rules=rules_from(rules), on_broken="repair")


QUICK = [(PrivateVine, "add-remove"), (DPHistogram, "replace-one")]
CASES = [
    pytest.param(kind, relation, marks=() if (kind, relation) in QUICK else pytest.mark.slow)
    for kind in (PrivateVine, DPHistogram, DPCopula, PrivBayes)
    for relation in ("add-remove", "replace-one")
]


@pytest.mark.parametrize(("kind", "neighbours"), CASES)
def test_the_contract_holds_with_rules(kind: Any, neighbours: str) -> None:
    table, schema = ruled_town()
    assert kind().coordinates(schema).learned and kind().coordinates(schema).rejecting()
    # with more noise a job that is learned for so few rows may leave none that keeps the rules
    settings: dict[str, Any] = {"degree": 1, "epsilon": 8.0} if kind is PrivBayes else {}
    settings |= {"neighbours": neighbours}
    report = check_generator(kind, table=table, schema=schema, raise_=False, **settings)
    assert not report.failures, report
    for check in ("replay", "cost", "charged first", "no row in the file"):
        assert report[check].status == "passed", report[check]


def exact_answer(right: Any, self: Any, query: Any) -> Any:
    """The function is learned from the true counts."""
    answer = right(query)
    if query.stage != "functions":
        return answer
    return replace(answer, values=self._rows.count(query.cell_maps))


def exact_later(right: Any, self: Any, table: Any, ledger: Any, rng: Any) -> None:
    """The noisy table is bought, and then one is read off the rows."""
    right(table, ledger, rng)
    (check,) = self.coordinates_.learned
    assert isinstance(check, LearnedCheck)
    jobs = pd.Series(self.coordinates_.schema["job"].domain.to_numbers(table["job"]) + 1).clip(0)
    commonest = jobs.groupby(table["rich"].to_numpy()).agg(lambda own: own.mode()[0])
    check.take(np.array([int(commonest.get(i, 0)) for i in (0, 1)], dtype=np.int64))


@pytest.mark.fault
@pytest.mark.parametrize(
    "fault",
    [curator(answer=exact_answer), generator(_learn_functions=exact_later)],
    ids=["exact counts", "read off the rows"],
)
@pytest.mark.parametrize("kind", [PrivateVine, DPHistogram])
def test_a_function_that_is_learned_past_the_noise_is_found(fault: Any, kind: Any) -> None:
    table, schema = ruled_town()
    faulty = planted(fault, kind)
    report = check_generator(faulty, table=table, schema=schema, only=("replay",), raise_=False)
    assert report["replay"].status == "failed", report
