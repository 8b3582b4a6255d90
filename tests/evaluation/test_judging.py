"""One's own table, judged: the split, the tasks, the verdict, the report and its command."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from commands import run as command
from tables import JOBS, STAYS, jobs, stays

from copula_shirley import Column, Schema
from copula_shirley.baselines import DPHistogram
from copula_shirley.evaluation.judging import judge, judge_tables, sensible_tasks
from copula_shirley.evaluation.report import render
from copula_shirley.evaluation.report.summary import headline, sentences
from copula_shirley.evaluation.splitting import dealt, split

FEW = ("validity", "tvd1", "tvd2", "spearman_drift", "singling_out")


# -- the split and the tasks -----------------------------------------------------------------


def test_nobody_stands_on_both_sides_and_no_row_is_lost() -> None:
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"who": rng.integers(0, 50, 400).astype(str), "row": range(400)})
    train, test = split(table, dealt(table, "who", 5, rng), 0)
    assert not {*train["who"]} & {*test["who"]}
    assert sorted([*train["row"], *test["row"]]) == list(range(400))
    assert len({*test["who"]}) == 10  # a fifth of the people
    assert len(split(table, dealt(table, None, 5, rng), 3)[1]) == 80  # rows, where nobody is named


def test_sensible_tasks_by_hand() -> None:
    schema = Schema.from_yaml(
        """
columns:
  rare: {kind: boolean}
  even: {kind: boolean}
  gaps: {kind: boolean, missing: true}
  ward: {kind: categorical, categories: [a, b, c]}
  day: {kind: integer, minimum: 0, maximum: 9}
  cost: {kind: integer, minimum: 0, maximum: 99}
  twice: {kind: integer, minimum: 0, maximum: 198}
rules: [{computed: twice, as: cost + cost}]
"""
    )
    n = np.arange(100)
    table = pd.DataFrame(
        {
            "rare": n == 0,
            "even": n % 5 < 2,
            "gaps": n % 2 == 0,  # more even, but it may be missing
            "ward": np.array(["a", "b", "c"])[n % 3],
            "day": n % 10,
        }
    ).assign(cost=n, twice=2 * n)
    wanted = {"binary": "even", "multiclass": "ward", "regression": "day"}
    assert sensible_tasks(table, schema) == wanted  # cost has more values, but twice tells it
    assert sensible_tasks(table, schema, "rare") == wanted | {"binary": "rare"}
    assert sensible_tasks(table[["day"]], Schema((schema["day"],))) == {}


# -- the verdict -----------------------------------------------------------------------------


def line(value: float, reference: float, **detail: Any) -> dict[str, Any]:
    return {"value": value, "reference": reference, "detail": detail}


def found(**changes: dict[str, Any]) -> dict[str, dict[str, Any]]:
    columns = {"age": 0.1, "job": 0.01, "cost": 0.3, "sex": 0.02}
    lines = {
        "tvd1": line(0.05, 0.04, columns=columns),
        "tvd2": line(0.3, 0.1, pairs={"age | job": 0.5, "age | cost": 0.1}),
        "validity": line(1.0, 1.0, columns={"age": 1.0}, rules={"a <= b": 1.0, "c = d": 1.0}),
        "mcc_binary": line(0.4, 0.5, target="sex"),
        "membership_hamming_all": line(0.51, 0.9, interval=(0.49, 0.53)),
    }
    changed = {name: {"metric": name, **about} for name, about in (lines | changes).items()}
    return {name: about for name, about in changed.items() if about.get("detail") is not None}


def test_the_verdict_by_hand() -> None:
    said = {s.topic: s for s in sentences(found())}
    assert {topic: s.level for topic, s in said.items()} == {
        "Single columns": "good",  # 1 point beyond real rows
        "Pairs of columns": "poor",  # 20 points
        "Rules": "good",
        "Predictions": "fair",  # .4 of .5
        "Attacks": "good",
    }
    columns = said["Single columns"].text.replace("\xa0", " ")
    assert "off by 5 % on average (those of real rows by 4 %)" in columns
    assert "Weakest: cost (30 %), age (10 %) and sex (2 %)." in columns
    assert "age and job (50 %)" in said["Pairs of columns"].text.replace("\xa0", " ")
    assert said["Rules"].text == "Every row keeps all 2 rules of the schema."
    assert (
        "sex with a Matthews coefficient of 0.4, where real rows teach 0.5"
        in said["Predictions"].text
    )
    text = headline(list(said.values()))
    assert "should not be relied on for pairs of columns" in text
    assert text.endswith("No attack that was tried found a leak.")


def test_a_leak_and_broken_rules_are_named() -> None:
    leak = line(0.8, 0.9, interval=(0.7, 0.9))
    broken = line(0.9, 1.0, columns={"age": 0.95}, rules={"a <= b": 0.9})
    said = {s.topic: s for s in sentences(found(membership_hamming_all=leak, validity=broken))}
    assert said["Attacks"].word == "LEAK" and said["Attacks"].text.startswith("LEAK: an attack can")
    assert said["Rules"].level == "poor"
    assert "10\xa0% of the rows break “a <= b”." in said["Rules"].text
    assert "Values outside the schema stand in age." in said["Rules"].text
    assert "found a leak" in headline(list(said.values()))
    assert sentences({}) == [] and headline([]) == ""


def test_tasks_of_which_real_rows_teach_nothing_get_no_mark() -> None:
    error = {"target": "age", "guessing the mean": 10.0}
    few = found(mcc_binary=line(-0.01, 0.049, target="sex"), rmse=line(12.0, 9.51, **error))
    said = {s.topic: s for s in sentences(few)}["Predictions"]
    assert said.level == "none" and said.text.endswith("name others with --task.")
    more = found(mcc_binary=line(-0.01, 0.049, target="sex"), rmse=line(12.0, 9.5, **error))
    said = {s.topic: s for s in sentences(more)}["Predictions"]
    assert said.level == "poor" and "--task" not in said.text


def test_without_a_mark_of_real_rows_the_distance_itself_counts() -> None:
    bare = found()
    for each in bare.values():
        del each["reference"]
    said = {s.topic: s for s in sentences(bare)}
    assert said["Single columns"].level == "fair" and "real rows" not in said["Single columns"].text
    assert said["Predictions"].level == "none"


# -- the report ------------------------------------------------------------------------------


def test_the_report_names_everything_and_needs_no_network() -> None:
    table = stays(400)
    generator = DPHistogram(1.0, random_state=1)
    judged = judge(table, STAYS, generator, None, 1, title="stays.csv", metrics=FEW)
    assert not hasattr(generator, "ledger_")  # nobody counts the trial, and no model is kept
    assert judged.rows == {"train": 320, "test": 80, "synthetic": 320}
    page = render(judged)
    words = " ".join(re.sub(r"<style>.*?</style>|<script>.*?</script>|<[^>]+>", " ", page).split())
    for text in (
        *("Not private, not for release.", "DPHistogram", "stays.csv", "spent", "seeded"),
        *(str(rule) for rule in STAYS.rules),
    ):
        assert text in words.replace("&lt;", "<").replace("&gt;", ">"), text
    for section in ("verdict", "columns", "pairs", "rules", "tasks", "attacks", "figures", "made"):
        assert f'href="#{section}"' in page and f'id="{section}"' in page
    assert len(re.findall(r'class="bars" role="group" aria-label="', page)) == len(STAYS)
    # Once wrong: every column but the first and the last had no ends
    assert len(re.findall(r'<p class="ends[^>]*><span>', page)) == len(STAYS)
    assert not re.search(r"""(src|href)=["'](?!#|data:)|url\(|@import|<script src""", page)
    assert render(judged) == page


def test_names_in_a_table_are_no_markup() -> None:
    name = "<script>alert(1)</script> | $x$"
    schema = Schema((Column(name, "integer", minimum=0, maximum=3), Column("b", "boolean")))
    table = pd.DataFrame({name: [0, 1, 2, 3] * 5, "b": [True, False] * 10})
    page = judge_tables(table, table, table, schema, title=name, metrics=FEW[:4]).to_html()
    assert "<script>alert" not in page and "&lt;script&gt;alert" in page


# -- the command -----------------------------------------------------------------------------


@pytest.fixture
def place(tmp_path: Path) -> Path:
    jobs(200).to_csv(tmp_path / "data.csv", index=False)
    (tmp_path / "s.yaml").write_text(JOBS.to_yaml(), encoding="utf-8")
    return tmp_path


FIT = "evaluate data.csv --schema s.yaml --model dp-histogram"


def test_a_table_alone_is_split_fitted_and_judged(place: Path) -> None:
    words = "--metric tvd1 --metric validity --epsilon 2 --seed 1"
    done = command(f"{FIT} {words} -o report.html", folder=place)
    assert done.code == 0, done.err
    assert "Every row fits the schema" in done.out
    assert "Tasks were chosen: binary=rich, multiclass=job, regression=age" in done.err
    assert "The trial fit spent epsilon 2" in done.err
    assert "without noise, and no label covers them" in done.err
    content = json.loads((place / "evaluation.json").read_text("utf-8"))
    assert content["rows"] == {"train": 160, "test": 40, "synthetic": 160}
    assert content["trial"]["model"] == "DPHistogram" and content["seed"] == 1
    first = (place / "report.html").read_bytes()
    assert sorted(p.name for p in place.iterdir()) == [
        *("data.csv", "evaluation.json", "report.html", "s.yaml")
    ]
    command(f"{FIT} {words}", folder=place)  # report.html is where it goes by default
    assert (place / "report.html").read_bytes() == first


def test_three_tables_get_a_report_too(place: Path) -> None:
    three = "--train data.csv --test data.csv --synthetic data.csv --schema s.yaml --metric tvd1"
    done = command(f"evaluate {three} --report r.html", folder=place)
    assert done.code == 0, done.err
    assert "made elsewhere" in (place / "r.html").read_text("utf-8")
    assert (place / "evaluation.json").exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("data.csv --train data.csv", "--train ('data.csv') must be left out"),
        ("--train data.csv --test data.csv", "--synthetic (not given) must name a file"),
        ("", "--train (not given) must name a file, beside --train"),
        (
            "--train data.csv --test data.csv --synthetic data.csv --epsilon 3",
            "--epsilon (3) must be left out: nothing is fitted",
        ),
        ("data.csv -o a.html --report b.html", "--output ('a.html') must end in .json"),
        ("data.csv --report data.csv", "--report ('data.csv') must be another file"),
        ("data.csv --target height", "target"),
        ("data.csv --task binary=job", "task 'binary' ('job') must have two values"),
    ],
)
def test_what_does_not_go_together(place: Path, words: str, message: str) -> None:
    before = {p.name for p in place.iterdir()}
    done = command(f"evaluate {words} --schema s.yaml", folder=place)
    assert message in done.refusal() and done.out == ""
    assert {p.name for p in place.iterdir()} == before
