from __future__ import annotations

import json
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest

from copula_shirley import Column, Schema
from copula_shirley.experiments.run.candidates import check_one_hot
from copula_shirley.experiments.run.execute import TableError, checked, execute
from copula_shirley.experiments.run.synthesis import Skip
from copula_shirley.experiments.specs import Run, frozen
from copula_shirley.schema.left_out import LeftOut

MADE = Run("made", "x", "uniform", rows=100, folds=2, metrics=("ks", "mcc_binary", "tvd2"))


def result(use: str, **changes: Any) -> dict[str, Any]:
    row, table = execute(replace(MADE, use=use, **changes), {"commit": "abc"})
    assert table is None
    json.dumps(row, allow_nan=False)
    return row


def promised(row: dict[str, Any]) -> tuple[str, str]:
    assert row["status"] == "done", row
    return row["privacy"]["claimed"], row["privacy"]["proved"]


def test_a_run_that_is_done() -> None:
    row = result("dp-histogram")
    assert promised(row) == ("epsilon 1", "epsilon 1")
    assert row["id"] == replace(MADE, use="dp-histogram").id
    assert set(row["figures"]) == {"ks", "tvd2"}  # the made set has no binary task
    assert set(row["figures"]["ks"]["detail"]["columns"]) == set("ABCDEF")
    parts = {"fit", "fit_cpu", "sample", "sample_cpu", "evaluate", "evaluate_cpu", "total"}
    assert set(row["seconds"]) == parts
    assert all(seconds >= 0 for seconds in row["seconds"].values())
    assert set(row["memory"]) == {"fit", "sample"}
    assert row["provenance"] == {"commit": "abc"} and row["complaints"] == []
    for kind in ("real", "synthetic"):
        assert sum(row["margins"]["A"][kind]) == pytest.approx(1, abs=1e-4)


@pytest.mark.parametrize("use", ["dp-copula", "strangers:Dice"])
def test_the_same_spec_gives_the_same_figures(use: str) -> None:
    """Also of who draws from the global states."""
    one, two, other = result(use), result(use), result(use, seed=1)
    assert one["figures"] == two["figures"] and one["margins"] == two["margins"]
    assert other["figures"] != one["figures"]


def test_what_is_claimed_stands_beside_what_is_proved() -> None:
    settings = frozen({"families": ["indep", "gaussian"]})
    thesis = result("copula-shirley", settings=settings)
    assert promised(thesis) == ("epsilon 1", "nothing")
    assert thesis["privacy"]["unprotected"]
    assert promised(result("strangers:Copies")) == ("nothing", "nothing")
    # the constructor gets what it asks for
    asks = result("strangers:Asks", settings=frozen({"mood": "wild"}))
    assert promised(asks) == ("epsilon 1, by its own word", "not known")
    # a ledger of somebody else proves nothing to us
    assert promised(result("strangers:Proves"))[1] == "not known"


def test_targets_of_tasks_are_names_in_settings() -> None:
    settings = frozen({"target": "$binary", "families": ["indep"], "split": 0.5})
    run = Run("randhie", "x", "copula-shirley", settings, rows=200, folds=2, metrics=("ks",))
    row, _ = execute(run, {})
    assert row["status"] == "done", row.get("traceback")
    assert row["run"]["settings"]["target"] == "$binary"


def test_columns_that_are_made_up_are_not_scored() -> None:
    schema = Schema(
        (Column("a", "integer", minimum=0, maximum=9),), left_out=(LeftOut("no", replace="id"),)
    )
    rows = pd.DataFrame({"no": [1, 2], "a": [3, 4]})
    fold: Any = SimpleNamespace(schema=schema, rows=2)
    for table in (rows, rows[["a"]]):  # generators of others lack them
        pd.testing.assert_frame_equal(checked(table, fold), rows[["a"]])
    with pytest.raises(TableError, match="are lacking"):
        checked(rows[["no"]], fold)


@pytest.mark.parametrize(
    ("use", "reason"),
    [
        ("strangers:Raises", "RuntimeError: no such luck"),
        ("strangers:WrongColumns", "TableError: wrong columns: ['A'] are lacking, ['X'] are not"),
        ("strangers:TooFew", "TableError: wrong number of rows: 99; 100 were asked for"),
        ("strangers:NoTable", "TableError: sample returned a list; it must return a DataFrame"),
        ("strangers:Absent", "SettingError: generator ('strangers:Absent')"),
        ("nobody", "SettingError: generator ('nobody') must be module:Class, an adapter.py or"),
    ],
)
def test_a_bad_generator_is_a_row_that_says_so(use: str, reason: str) -> None:
    row = result(use)
    assert row["status"] == "failed" and row["reason"].startswith(reason)
    assert "Traceback" in row["traceback"] and "figures" not in row


def test_gaps_are_scored_and_named_and_a_table_that_is_overwritten_is_a_copy() -> None:
    gaps = ["A: 5 of 100 values are missing, where the schema allows none"]
    assert result("strangers:Gaps")["complaints"] == gaps
    assert result("strangers:Overwrites")["figures"] == result("strangers:Copies")["figures"]


def test_what_cannot_be_made_is_a_skip() -> None:
    row = result("uniform", dataset="texas")
    assert row["status"] == "skipped" and "the data set is not here" in row["reason"]
    names = tuple(f"code {i}" for i in range(200))
    schema = Schema((Column("code", "categorical", categories=names),))
    check_one_hot({"encoder": "woe"}, schema)
    with pytest.raises(Skip, match="one-hot codes make 200 columns, 19,900 pairs"):
        check_one_hot({"encoder": "onehot"}, schema)
