"""``shirley evaluate``, as its user meets it."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from commands import Outcome
from commands import run as command
from tables import JOBS, jobs, whole_numbers

from copula_shirley import Column, Schema
from copula_shirley.evaluation import METRICS, Metric, Result, evaluate
from copula_shirley.evaluation.figures import plot_evaluation
from copula_shirley.evaluation.judging import judge_tables

SCHEMA = Schema(
    (
        *JOBS.columns,
        Column("pay", "continuous", minimum=0, maximum=999.9, resolution=0.1, missing=True),
        Column(
            "day", "datetime", minimum="2020-01-01", maximum="2020-12-31", resolution="1D",
            format="%Y-%m-%d",
        ),
    )
)  # fmt: skip
TASKS = ("--task", "binary=rich", "--task", "multiclass=job", "--task", "regression=age")
ROLES = ("--quasi-identifiers", "job", "--sensitive", "rich, pay")


def rows(n: int, seed: int) -> pd.DataFrame:
    table, rng = jobs(n, seed), np.random.default_rng(seed)
    pay = np.where(rng.random(n) < 0.1, np.nan, np.round(table["age"] * 9.0, 1))
    days = pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 366, n), unit="D")
    return table.assign(pay=pay, day=days.strftime("%Y-%m-%d"))


FILES = (
    "--train", "train.csv", "--test", "test.csv", "--synthetic", "synthetic.csv",
    "--schema", "schema.yaml",
)  # fmt: skip
Run = Callable[..., Outcome]


@pytest.fixture
def place(tmp_path: Path) -> Path:
    for name, seed in (("train", 1), ("test", 2), ("synthetic", 3)):
        rows(40, seed).to_csv(tmp_path / f"{name}.csv", index=False)
    (tmp_path / "schema.yaml").write_text(SCHEMA.to_yaml(), encoding="utf-8")
    return tmp_path


@pytest.fixture
def run(place: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.setenv("COLUMNS", "200")
    return lambda *words, files=FILES: command("evaluate", *files, *words, folder=place)


def strict_json(path: Path) -> dict[str, Any]:
    """A file that holds neither NaN nor Infinity."""
    content: dict[str, Any] = json.loads(path.read_text("utf-8"), parse_constant=pytest.fail)
    return content


# -- what it does --------------------------------------------------------------------------


def test_all_metrics_are_printed_and_written(run: Run, place: Path) -> None:
    done = run(*TASKS, *ROLES, "--seed", 1, "--plot", "plot.png")
    assert done.code == 0, done.err
    content = strict_json(place / "evaluation.json")
    of_rows = [name for name, metric in METRICS.items() if "people" not in metric.needs]
    assert [line["metric"] for line in content["metrics"]] == of_rows
    for line in content["metrics"]:
        assert line["metric"] in done.out
        assert {"value", "better", "bounds", "detail", "reference", "verdict"} <= set(line)
    assert content["rows"] == {"train": 40, "test": 40, "synthetic": 40}
    assert content["seed"] == 1
    assert {"version", "python", "numpy", "xgboost"} <= set(content)
    for word in ("in words", "real rows", "coin", "guessing", "privacy"):
        assert word in done.out, word
    assert "Figures written to evaluation.json" in done.err and "Drawn to plot.png" in done.err
    assert (place / "plot.png").exists()


def test_figures_of_a_metric_without_a_verdict_are_printed_beside_a_report(run: Run) -> None:
    done = run("--metric", "rules_recall", "--report", "report.html", "-o", "out.json")
    assert done.code == 0, done.err
    assert "rules_recall" in done.out and "Report written to report.html" in done.err


def test_the_figures_are_those_of_evaluate(run: Run, place: Path) -> None:
    names = ["ks", "membership_hamming", "singling_out"]
    words = [word for name in names for word in ("--metric", name)]
    assert run(*words, "--seed", 3, "-o", "out.json").code == 0
    lines = strict_json(place / "out.json")["metrics"]
    frame = evaluate(*(rows(40, seed) for seed in (1, 2, 3)), SCHEMA, None, 3, metrics=names)
    assert [line["value"] for line in lines] == frame["value"].tolist()
    assert [line["metric"] for line in lines] == names
    assert not (place / "evaluation.json").exists()
    quiet = run("--metric", "rmse", "--task", "regression=age", "--quiet", "--no-reference")
    assert quiet == Outcome(0, "", "")
    (line,) = strict_json(place / "evaluation.json")["metrics"]
    assert "reference" not in line and line["bounds"] == [0, None]


def test_a_leak_is_called_one(run: Run, place: Path) -> None:
    shutil.copy(place / "train.csv", place / "synthetic.csv")
    done = run("--metric", "membership_hamming_all", "--metric", "validity", "--seed", 0)
    assert "LEAK" in done.out and "every row fits" in done.out
    rows(40, 1).assign(job="new").to_csv(place / "synthetic.csv", index=False)
    assert "values outside" in run("--metric", "validity", "--seed", 0).out


@pytest.mark.parametrize(
    ("kind", "start"), [("svg", b"<?xml"), ("pdf", b"%PDF"), ("PNG", b"\x89PNG")]
)
def test_plots(run: Run, place: Path, kind: str, start: bytes) -> None:
    done = run("--metric", "ks", "--metric", "tvd2", "--plot", f"plot.{kind}")
    assert done.code == 0, done.err
    assert (place / f"plot.{kind}").read_bytes().startswith(start)


@pytest.mark.parametrize("metrics", [["ks"], ["spearman_drift"], ["tvd2"], []])
@pytest.mark.parametrize("names", [["a | b", "c", "a", "b | c"], ["a"]])
def test_plots_of_few_metrics_and_columns(
    tmp_path: Path, metrics: list[str], names: list[str]
) -> None:
    # Once wrong: KeyError, and (a | b, c) stood in the place of (a, b | c)
    table = pd.DataFrame({name: range(10) for name in names})
    frame = evaluate(table, table, table, whole_numbers(names), metrics=metrics)
    plot_evaluation(frame, tmp_path / "plot.png")
    assert (tmp_path / "plot.png").stat().st_size > 1000


def test_parquet_texts_for_missing_values_and_clipped_rows(run: Run, place: Path) -> None:
    rows(40, 3).to_parquet(place / "synthetic.parquet")
    rows(40, 2).to_csv(place / "test.csv", index=False, na_rep="?")
    rows(40, 1).assign(age=99).to_csv(place / "train.csv", index=False)
    files = tuple(word.replace("synthetic.csv", "synthetic.parquet") for word in FILES)
    words = ("--metric", "ks", "--metric", "validity", "--missing", "?", "--on-unknown")
    assert run(*words, "clip", files=files).code == 0
    assert "train: column 'age'" in run(*words, "refuse", files=files).refusal()


def test_json_holds_whatever_a_metric_says() -> None:
    # Once wrong: TypeError from json
    said = {"array": np.arange(2), "date": pd.Timestamp("2020-02-01"), "set": {1}, "no": None}
    own = Metric(lambda _: Result(1, said), "higher", (0, 1))
    judged = judge_tables(*[rows(9, 1)] * 3, SCHEMA, metrics={"own": own})
    assert json.loads(judged.to_json())["metrics"][0]["detail"] == {
        "array": [0, 1], "date": "2020-02-01 00:00:00", "set": "{1}", "no": None,
    }  # fmt: skip


# -- what it refuses -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("train.csv", None, "'train.csv' does not exist"),
        ("schema.yaml", None, "schema.yaml"),
        ("schema.yaml", "[]", "schema"),
        ("train.csv", "age,job,rich,pay,day\n20,new,True,1,2020-01-01\n", "train: column 'job'"),
    ],
)
def test_bad_files(run: Run, place: Path, name: str, content: str | None, message: str) -> None:
    if content is None:
        (place / name).unlink()
    else:
        (place / name).write_text(content, encoding="utf-8")
    check_refused(run, place, (), message)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--task", "ranking=job"), "--task ('ranking') must be one of binary, multiclass"),
        (("--task", "job"), "--task ('job') must be name=value"),
        # Once wrong: the last one counted
        (("--task", "binary=rich", "--task", "binary=age"), "must be the only one for binary"),
        (("--plot", "plot.txt"), "plot ('plot.txt') must end in .png, .svg or .pdf"),
        (("--output", "train.csv"), "output ('train.csv') must be another file"),
        (("--output", "a.png", "--plot", "a.png"), "plot ('a.png') must be another file"),
        (("--output", "nowhere/a.json"), "nowhere"),
        # Once wrong: a plot that cannot be written leaves the JSON behind
        (("--plot", "nowhere/a.png"), "nowhere"),
        (("--seed", "-1"), "--seed (-1) must be 0 or more"),
    ],
)
def test_bad_words(run: Run, place: Path, words: tuple[str, ...], message: str) -> None:
    check_refused(run, place, words, message)


def check_refused(run: Run, place: Path, words: tuple[str, ...], message: str) -> None:
    def listing() -> dict[Path, bytes]:
        return {p: p.read_bytes() for p in place.rglob("*") if p.is_file()}

    before = listing()
    done = run(*words, *(() if "--metric" in words else ("--metric", "ks")))
    assert message in done.refusal() and done.out == "" and listing() == before
