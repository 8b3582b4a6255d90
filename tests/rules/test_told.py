"""Who says what about rules: ``shirley check``, scores, verify, cards, plans."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from commands import run
from tables import STAYS, fitted, stays

from copula_shirley import Card, PrivateVine, Schema
from copula_shirley.evaluation import evaluate
from copula_shirley.evaluation.metrics.registry import METRICS
from copula_shirley.evaluation.result import Result
from copula_shirley.publish.outputs import card_path
from copula_shirley.publish.pages import write_page
from copula_shirley.publish.verify import verify_file
from copula_shirley.rows.writing import write_table
from copula_shirley.schema.rule_entries import rules_from
from copula_shirley.tasks import check


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """stays.csv with faults of all sorts, and schema.yaml."""
    table = stays(40).assign(note="x, \ny")
    table.loc[2, "age"] = 130
    table.loc[3, "discharge"] = table.loc[3, "admission"] - pd.Timedelta("1D")
    table.loc[[4, 7], "currency"] = "GBP"
    table.loc[9, ["sex", "pregnant"]] = ("M", "yes")
    table.drop(columns="height").to_csv(tmp_path / "stays.csv", index=False)
    dated = (replace(c, format="%Y-%m-%d") if c.domain.quantity == "moment" else c for c in STAYS)
    replace(STAYS, columns=tuple(dated)).write(tmp_path / "schema.yaml")
    return tmp_path


def test_check_tells_all_problems_at_once_with_counts_and_lines(folder: Path) -> None:
    done = run("check stays.csv --schema schema.yaml --json", folder=folder)
    assert done.code == 1
    found = json.loads(done.out)
    assert "not for release" in found["notice"]
    told = {(f["where"], f["problem"].partition(";")[0]): f for f in found["findings"]}
    lines = {where: tuple(f["lines"]) for (where, _), f in told.items()}
    # every row spans two lines, since its note does
    assert lines["column 'age'"] == (6,)
    assert lines["column 'currency'"] == (10, 16)
    assert told["rule", "admission <= discharge"]["lines"] == [8]
    assert told["rule", "when sex = M then pregnant = no"]["rows"] == 1
    assert ("column 'height'", "is in the schema but not in the table") in told
    assert ("column 'note'", "is in the table but not in the schema") in told
    assert not any(f["values"] for f in found["findings"])
    shown = run("check stays.csv --schema schema.yaml --show-values", folder=folder).out
    assert "GBP" in shown and "for release" in shown


def test_check_of_a_good_table_and_of_people(folder: Path) -> None:
    stays().to_csv(folder / "good.csv", index=False)
    done = run("check good.csv --schema schema.yaml", folder=folder)
    assert (done.code, done.said) == (0, "Every row fits the schema and keeps its rules.")
    for ending in ("csv", "parquet"):  # a row of a sheet is not a line: there is a header
        write_table(folder / f"bad.{ending}", [stays().assign(age=130)], ending)
        shown = run(f"check bad.{ending} --schema schema.yaml", folder=folder).out
        assert ("row numbers" in shown) is (ending == "parquet"), shown
    people = replace(STAYS, person="who", max_rows=2)
    table = stays().assign(who=np.arange(600) // 3)
    (finding,) = check(table, people)
    assert (finding.rows, finding.lines[0]) == (200, 3)


def test_people_with_rows_in_several_files_are_looked_at_as_in_one(folder: Path) -> None:
    sex = replace(STAYS["sex"], per="person")
    columns = tuple(sex if c.name == "sex" else c for c in STAYS)
    people = replace(STAYS, columns=columns, person="who", max_rows=2)
    table = stays(40).assign(who=np.arange(40) // 3, sex="F", pregnant="no")
    table.loc[[4, 20], "sex"] = "M"  # of person 1, and the only row of person 6 in the second file
    (folder / "parts").mkdir()
    for name, part in {"a": table[:20], "b": table[20:]}.items():
        part.to_parquet(folder / "parts" / f"{name}.parquet", index=False)
    whole = {f.problem: f.rows for f in check(table, people)}
    found = check(folder / "parts", people)
    # the third row of person 6 is the first one of the second file
    limit = "a person has more rows than max_rows (2)"
    assert [f.lines[0] for f in found if f.problem == limit] == [3, 1]
    assert {p: sum(f.rows for f in found if f.problem == p) for p in whole} == whole
    assert set(whole) == {limit, "sex is the same in all rows of a who"}


def test_rows_of_another_width_are_shown_by_line(folder: Path) -> None:
    whole = stays().to_csv(index=False).splitlines(keepends=True)
    wide = whole[2].rstrip("\n") + ",1\n"
    (folder / "ragged.csv").write_text("".join([*whole[:2], wide, "\n", *whole[3:5], "1,2\n"]))
    done = run("check ragged.csv --schema schema.yaml --json", folder=folder)
    assert done.code == 1
    (only,) = json.loads(done.out)["findings"]
    assert (only["where"], only["rows"], only["lines"]) == ("file", 2, [3, 7])
    line = run("fit ragged.csv --schema schema.yaml -o m.shirley", folder=folder).refusal()
    assert "'shirley check' shows which" in line and "7" not in line


def test_validity_counts_rules() -> None:
    drawn = stays()
    drawn.loc[:59, "discharge"] = drawn.loc[:59, "admission"] + pd.Timedelta("366D")
    frame = evaluate(stays(), stays(), drawn, STAYS, metrics=["validity"])
    line = frame.iloc[0]
    assert line["value"] == pytest.approx(0.9)
    assert line["detail"]["rules"]["admission <= discharge"] == pytest.approx(0.9)
    assert line["detail"]["rules"]["currency is a function of country"] == 1
    words = METRICS["validity"].verdict(Result(line["value"], line["detail"]), None)
    assert words == "10.0% of the rows break 'admission <= discharge'"


def test_verify_recomputes_the_rules_of_a_published_table(tmp_path: Path) -> None:
    model = fitted("private-vine", stays(), STAYS, random_state=0)
    model.save(tmp_path / "model")
    drawn = model.sample(200)
    write_table(tmp_path / "drawn.parquet", [drawn], "parquet")
    drawn.loc[[0, 1, 2], "bmi"] = 9.9
    write_table(tmp_path / "bent.parquet", [drawn], "parquet")
    for name, ends in (("drawn", "keeps the 8 rules"), ("bent", "3 rows break the rule 'bmi = ")):
        path = tmp_path / f"{name}.parquet"
        write_page(card_path(path), model.card(), path.name, path)
        found = verify_file(path, model=tmp_path / "model")
        assert any(ends in text for text in (*found.passed, *found.faults)), found


def test_cards_tell_rules_and_older_ones_stay_as_they_are() -> None:
    schema = replace(STAYS, on_broken="repair")
    card = fitted("private-vine", stays(), schema, random_state=0).card()
    ways = {rule["rule"]: rule["kept_by"] for rule in card["rules"]}
    assert ways["admission <= discharge"] == "change of coordinates"
    assert ways["when age = 50.. then pregnant = no"] == "rejection"
    assert "mended by a fixed public rule" in card.to_html()
    assert Card.from_dict(card.to_dict()) == card
    bare = fitted("uniform", stays(), replace(STAYS, rules=())).card()
    assert not {"rules", "on_broken"} & set(bare.to_dict())
    assert "every synthetic row keeps" not in bare.to_html()


def test_plans_tell_of_rules_that_leave_next_to_nothing() -> None:
    def told(*rules: dict[str, object]) -> bool:
        schema = replace(STAYS, rules=rules_from(list(rules)))
        return any("rows spread evenly" in note for note in PrivateVine().plan(schema, 999).notes)

    assert not told(*(rule.to_dict() for rule in STAYS.rules))
    assert told({"computed": "bmi", "as": "weight * 100"})
    assert told(
        {"when": {"age": "..110"}, "then": {"weight": "..40"}},
        {"when": {"age": "..110"}, "then": {"weight": "50.."}},
    )


def test_plans_tell_how_rules_are_kept() -> None:
    notes = " ".join(PrivateVine().plan(STAYS, 1000).notes)
    assert "8 rules are kept in every row" in notes
    assert "'when age = 50.. then pregnant = no'" in notes
    fewer = Schema(STAYS.columns, rules=rules_from([{"order": ["admission", "discharge"]}]))
    assert (
        "1 rule is kept in every row by a change of coordinates."
        in PrivateVine().plan(fewer, 9).notes
    )
