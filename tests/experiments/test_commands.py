"""``shirley experiments`` and ``shirley benchmark``, as their user meets them."""

from __future__ import annotations

import sys
from pathlib import Path

import pandas as pd
import pytest
from commands import run

CONFIG = """
title: A small one
datasets: [made]
rows: 60
folds: 2
metrics: [ks, tvd1]
generators: {Floor: {use: uniform, epsilons: [off]}, Copies: {use: "strangers:Copies"}}
"""


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder in which commands are called, with a grid."""
    (tmp_path / "grid.yaml").write_text(CONFIG, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])  # benchmark adds the folder
    monkeypatch.setenv("COLUMNS", "200")
    return tmp_path


def test_a_grid_whose_every_run_is_skipped_says_so(place: Path) -> None:
    for name, sets in (("far", "[texas]"), ("near", "[texas, made]")):
        (place / f"{name}.yaml").write_text(CONFIG.replace("[made]", sets), encoding="utf-8")
    done = run("experiments run far.yaml -q")
    assert done.code == 1
    assert done.err.count("\n") == 1
    assert "nothing ran: all 4 runs were skipped: the data set is not here" in done.err
    some = run("experiments run near.yaml -q")  # one run that is made is enough
    assert some.code == 0
    assert "nothing ran" not in some.err


def test_list_run_status_report(place: Path) -> None:
    listed = run("experiments list grid.yaml")
    assert len(listed.out.splitlines()) == 4
    assert "made · Floor · epsilon off" in listed.out
    assert not (place / "shirley-results").exists()
    before = run("experiments report grid.yaml")
    assert "must hold at least one ended run" in before.refusal()
    done = run("experiments run grid.yaml")
    assert done.code == 0, done.err
    assert "[4/4] done made · " in done.err
    assert " s, KS 0." in done.err
    assert "shirley-results/grid" in done.err
    assert "Floor" in run("experiments status grid.yaml").out
    report = run("experiments report grid.yaml -o a.html --csv a.csv")
    assert report.code == 0, report.err
    assert "A small one" in (place / "a.html").read_text(encoding="utf-8")
    frame = pd.read_csv(place / "a.csv")
    assert set(frame["generator"]) == {"Floor", "Copies"}
    assert {"ks", "tvd1", "fit_seconds"} <= set(frame["metric"])
    again = run("experiments run grid.yaml")
    assert again.code == 0
    assert "] done" not in again.err


def test_failures_are_listed_and_end_in_exit_code_1(place: Path) -> None:
    text = CONFIG.replace("strangers:Copies", "strangers:Raises")
    (place / "grid.yaml").write_text(text, encoding="utf-8")
    done = run("experiments run grid.yaml --quiet")
    assert done.code == 1
    assert done.err.count("failed made · Copies") == 2
    assert "no such luck" in done.err
    assert run("experiments status grid.yaml").code == 1


def test_benchmark_of_ones_own_generator(place: Path) -> None:
    """A module in the folder in which the command is called."""
    text = (Path(__file__).parent / "strangers.py").read_text(encoding="utf-8")
    (place / "own_strangers.py").write_text(text, encoding="utf-8")
    words = "--dataset made --rows 60 --folds 2 --first 1 --alone --csv out.csv"
    done = run(f"benchmark own_strangers:Copies {words}")
    assert done.code == 0, done.err
    assert "Copies" in done.out
    assert (place / "report.html").is_file()
    assert set(pd.read_csv(place / "out.csv")["generator"]) == {"Copies"}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("benchmark strangers:Absent", "strangers has no class 'Absent'"),
        ("benchmark absent:Thing", "absent cannot be imported"),
        ("benchmark thing", "must be module:Class, an adapter.py or one of"),
        ("benchmark --alone", "generators must name at least one"),
        ("benchmark uniform --first 9", "--first (9) must be at most"),
        ("benchmark uniform -o no/such/r.html", "must be in a folder that exists"),
        ("benchmark uniform -o .", "file '.' is a directory"),
        ("benchmark strangers:Copies --set x=1", "x is no setting of 'strangers:Copies'"),
        ("benchmark privbayes --set epsilon=9", "must be given as --epsilon"),
        ("benchmark privbayes --set degree=$binery", "must be one of $binary"),
        ("benchmark strangers:Copies strangers:Copies", "another one is called Copies"),
        ("benchmark uniform --epsilon much", "--epsilon ('much') must be a positive"),
        ("benchmark uniform --again done", "--again ('done') must be one of failed, timeout"),
        ("benchmark uniform --jobs 0", "--jobs (0) must be 1 or more"),
        ("benchmark uniform --seeds 0", "--seeds (0) must be 1 or more"),
        ("benchmark uniform --dataset x", "--dataset ('x') must be among adult"),
        ("benchmark uniform --csv no/x.csv", "--csv ('no/x.csv') must be in a folder"),
        ("benchmark uniform --csv report.html", "--csv ('report.html') must be another"),
        ("benchmark uniform --results grid.yaml", "dir 'grid.yaml' is a file"),
        ("benchmark privbayes --set random_state=9", "must be given as --seeds"),
        ("benchmark privbayes --set 'share={a: 1}'", "--set 'share' ({'a': 1}) must be"),
        ("benchmark uniform --set x", "--set ('x') must be name=value"),
        ("experiments run none", "must be a .yaml file or one of"),
        ("experiments report grid.yaml -o grid.yaml", "must be another file"),
    ],
)
def test_what_is_wrong_is_one_line_and_nothing_runs(words: str, message: str, place: Path) -> None:
    assert message in run(words).refusal()
    assert [file.name for file in place.iterdir()] == ["grid.yaml"]
