from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from copula_shirley import Column, Schema
from copula_shirley.experiments.generators.candidates import check_one_hot
from copula_shirley.experiments.run.execute import execute
from copula_shirley.experiments.run.synthesis import Skip
from copula_shirley.experiments.specs import Run, frozen

MADE = Run("made", "x", "uniform", rows=100, folds=2, metrics=("ks", "mcc_binary", "tvd2"))
STRANGERS = "strangers"


def result(**changes: Any) -> dict[str, Any]:
    row, table = execute(replace(MADE, **changes), {"commit": "abc"})
    assert table is None
    json.dumps(row, allow_nan=False)
    return row


def stranger(name: str, **changes: Any) -> dict[str, Any]:
    return result(use=f"{STRANGERS}:{name}", **changes)


def test_a_run_that_is_done() -> None:
    row = result(use="dp-histogram")
    assert row["status"] == "done" and row["id"] == replace(MADE, use="dp-histogram").id
    assert set(row["figures"]) == {"ks", "tvd2"}  # the made set has no binary task
    assert set(row["figures"]["ks"]["detail"]["columns"]) == set("ABCDEF")
    parts = {"fit", "fit_cpu", "sample", "sample_cpu", "evaluate", "evaluate_cpu", "total"}
    assert set(row["seconds"]) == parts
    assert all(seconds >= 0 for seconds in row["seconds"].values())
    assert set(row["memory"]) == {"fit", "sample"}
    assert row["privacy"]["claimed"] == row["privacy"]["proved"] == "epsilon 1"
    assert row["provenance"] == {"commit": "abc"} and row["complaints"] == []
    shares = row["margins"]["A"]
    assert sum(shares["real"]) == pytest.approx(1, abs=1e-4)
    assert sum(shares["synthetic"]) == pytest.approx(1, abs=1e-4)


def test_the_same_spec_gives_the_same_figures() -> None:
    run = replace(MADE, use="dp-copula")
    (one, _), (two, _) = execute(run, {}), execute(run, {})
    assert one["figures"] == two["figures"] and one["margins"] == two["margins"]
    other = result(use="dp-copula", seed=1)
    assert other["figures"] != one["figures"]


def test_what_the_thesis_claims_stands_beside_what_is_proved() -> None:
    settings = frozen({"families": ["indep", "gaussian"]})
    row = result(use="copula-shirley", settings=settings)
    assert (row["privacy"]["claimed"], row["privacy"]["proved"]) == ("epsilon 1", "nothing")
    assert row["privacy"]["unprotected"]


def test_anything_with_fit_and_sample_can_be_scored() -> None:
    row = stranger("Copies")
    assert row["status"] == "done"
    assert (row["privacy"]["claimed"], row["privacy"]["proved"]) == ("nothing", "nothing")


def test_a_constructor_gets_what_it_asks_for() -> None:
    row = stranger("Asks", settings=frozen({"mood": "wild"}))
    assert row["status"] == "done", row
    assert row["privacy"]["claimed"] == "epsilon 1, by its own word"
    assert row["privacy"]["proved"] == "not known"


def test_targets_of_tasks_are_names_in_settings() -> None:
    settings = frozen({"target": "$binary", "families": ["indep"], "split": 0.5})
    run = Run("randhie", "x", "copula-shirley", settings, rows=200, folds=2, metrics=("ks",))
    row, _ = execute(run, {})
    assert row["status"] == "done", row.get("traceback")
    assert row["run"]["settings"]["target"] == "$binary"


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("Raises", "RuntimeError: no such luck"),
        ("WrongColumns", "TableError: wrong columns: ['A'] are lacking, ['X'] are not in"),
        ("TooFew", "TableError: wrong number of rows: 99; 100 were asked for"),
        ("NoTable", "TableError: sample returned a list; it must return a DataFrame"),
        ("Absent", "SettingError: generator ('strangers:Absent')"),
    ],
)
def test_a_bad_generator_is_a_row_that_says_so(name: str, reason: str) -> None:
    row = stranger(name)
    assert row["status"] == "failed" and row["reason"].startswith(reason)
    assert "Traceback" in row["traceback"] and "figures" not in row


def test_gaps_are_scored_and_named() -> None:
    row = stranger("Gaps")
    assert row["status"] == "done"
    assert row["complaints"] == ["A: 5 of 100 values are missing, where the schema allows none"]


def test_an_unknown_name_is_refused() -> None:
    row = result(use="nobody")
    assert (
        row["status"] == "failed"
        and "must be module:Class, an adapter.py or one of" in row["reason"]
    )


def test_a_data_set_that_is_not_here_is_a_skip() -> None:
    row = result(dataset="texas")
    assert row["status"] == "skipped" and "the data set is not here" in row["reason"]


def test_one_hot_of_many_categories_is_a_skip() -> None:
    names = tuple(f"code {i}" for i in range(200))
    schema = Schema((Column("code", "categorical", categories=names),))
    check_one_hot({"encoder": "woe"}, schema)
    with pytest.raises(Skip, match="one-hot codes make 200 columns, 19,900 pairs"):
        check_one_hot({"encoder": "onehot"}, schema)


def test_a_generator_that_overwrites_its_table_changes_no_score() -> None:
    assert stranger("Overwrites")["figures"] == stranger("Copies")["figures"]


def test_a_ledger_of_somebody_else_proves_nothing_to_us() -> None:
    row = stranger("Proves")
    assert row["status"] == "done", row
    assert row["privacy"]["proved"] == "not known"


def test_global_randomness_follows_the_spec() -> None:
    one, two = stranger("Dice"), stranger("Dice")
    assert one["figures"] == two["figures"]
    assert stranger("Dice", fold=1)["margins"]["A"] != one["margins"]["A"]
