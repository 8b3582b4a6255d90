"""``shirley experiments`` and ``shirley benchmark``, as their user meets them."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from copula_shirley.cli import main as cli

HERE = Path(__file__).parent
CONFIG = """
title: A small one
datasets: [made]
rows: 60
folds: 2
metrics: [ks, tvd1]
generators: {Floor: {use: uniform, epsilons: [off]}, Copies: {use: "strangers:Copies"}}
"""
Shirley = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "grid.yaml").write_text(CONFIG, encoding="utf-8")
    (tmp_path / "strangers.py").write_text(
        (HERE / "strangers.py").read_text(encoding="utf-8"), encoding="utf-8"
    )
    return tmp_path


@pytest.fixture
def shirley(place: Path) -> Shirley:
    def run(*words: str, path: str = "") -> subprocess.CompletedProcess[str]:
        main = "from copula_shirley.cli.main import main; main()"
        env = {**os.environ, "PYTHONPATH": path or str(place), "COLUMNS": "200"}
        return subprocess.run(
            [sys.executable, "-c", main, *words],
            cwd=place,
            env=env,
            capture_output=True,
            text=True,
            check=False,
        )

    return run


def test_a_grid_whose_every_run_is_skipped_says_so(shirley: Shirley, place: Path) -> None:
    (place / "far.yaml").write_text(
        CONFIG.replace("[made]", "[texas]").replace("[ks, tvd1]", "[ks]"), encoding="utf-8"
    )
    done = shirley("experiments", "run", "far.yaml", "-q")
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1, done.stderr
    assert "nothing ran: all 4 runs were skipped: the data set is not here" in done.stderr
    # one run that is made is enough
    (place / "near.yaml").write_text(CONFIG.replace("[made]", "[texas, made]"), encoding="utf-8")
    some = shirley("experiments", "run", "near.yaml", "-q")
    assert some.returncode == 0 and "nothing ran" not in some.stderr


def test_list_runs_nothing(shirley: Shirley, place: Path) -> None:
    done = shirley("experiments", "list", "grid.yaml")
    assert done.returncode == 0 and "4 runs" in done.stderr
    assert len(done.stdout.splitlines()) == 4 and "made · Floor · epsilon off" in done.stdout
    assert not (place / "shirley-results").exists()


def test_run_status_report(shirley: Shirley, place: Path) -> None:
    before = shirley("experiments", "report", "grid.yaml")
    assert before.returncode == 2 and "must hold at least one ended run" in before.stderr
    done = shirley("experiments", "run", "grid.yaml")
    assert done.returncode == 0, done.stderr
    assert "[4/4] done" in done.stderr and "shirley-results/grid" in done.stderr
    status = shirley("experiments", "status", "grid.yaml")
    assert status.returncode == 0 and "Floor" in status.stdout
    report = shirley("experiments", "report", "grid.yaml", "-o", "a.html", "--csv", "a.csv")
    assert report.returncode == 0, report.stderr
    assert "A small one" in (place / "a.html").read_text(encoding="utf-8")
    frame = pd.read_csv(place / "a.csv")
    assert set(frame["generator"]) == {"Floor", "Copies"}
    assert {"ks", "tvd1", "fit_seconds"} <= set(frame["metric"])
    again = shirley("experiments", "run", "grid.yaml")
    assert again.returncode == 0 and "] done" not in again.stderr


def test_failures_are_listed_and_end_in_exit_code_1(shirley: Shirley, place: Path) -> None:
    text = CONFIG.replace("strangers:Copies", "strangers:Raises")
    (place / "grid.yaml").write_text(text, encoding="utf-8")
    done = shirley("experiments", "run", "grid.yaml", "--quiet")
    assert done.returncode == 1
    assert done.stderr.count("failed made · Copies") == 2 and "no such luck" in done.stderr
    assert shirley("experiments", "status", "grid.yaml").returncode == 1


def test_benchmark_of_ones_own_generator(shirley: Shirley, place: Path) -> None:
    words = ("--dataset", "made", "--rows", "60", "--folds", "2", "--first", "1", "--alone")
    done = shirley("benchmark", "strangers:Copies", *words, "--csv", "out.csv", path=os.devnull)
    assert done.returncode == 0, done.stderr
    assert "Copies" in done.stdout and "Report written to" in done.stderr
    assert (place / "report.html").is_file()
    assert set(pd.read_csv(place / "out.csv")["generator"]) == {"Copies"}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("benchmark", "strangers:Absent"), "strangers has no class 'Absent'"),
        (("benchmark", "absent:Thing"), "absent cannot be imported"),
        (("benchmark", "thing"), "must be module:Class, an adapter.py or one of"),
        (("benchmark", "--alone"), "generators must name at least one"),
        (("benchmark",), "generators must name at least one"),
        (("benchmark", "uniform", "--first", "9"), "--first (9) must be from 1"),
        (("benchmark", "uniform", "-o", "no/such/r.html"), "must be in a folder that exists"),
        (("benchmark", "uniform", "-o", "."), "must be a file, and is a folder"),
        (
            ("benchmark", "strangers:Copies", "--set", "x=1"),
            "x is no setting of 'strangers:Copies'",
        ),
        (("benchmark", "privbayes", "--set", "epsilon=9"), "must be given as --epsilon"),
        (("benchmark", "privbayes", "--set", "degree=$binery"), "must be one of $binary"),
        (("benchmark", "strangers:Copies", "strangers:Copies"), "another one is called Copies"),
        (
            ("benchmark", "uniform", "--epsilon", "much"),
            "epsilon ('much') must be a positive",
        ),
        (("benchmark", "uniform", "--dataset", "moon"), "datasets ('moon') must be among"),
        (("benchmark", "uniform", "--folds", "1"), "folds (1) must be a whole number"),
        (("benchmark", "uniform", "--unit", "house"), "unit ('house') must be person or row"),
        (("benchmark", "uniform", "--again", "done"), "--again ('done') must be one of"),
        (("benchmark", "uniform", "--jobs", "0"), "--jobs (0) must be 1 or more"),
        (("benchmark", "uniform", "--set", "x"), "--set ('x') must be name=value"),
        (("experiments", "run", "none"), "must be a .yaml file or one of"),
        (("experiments", "list", "none.yaml"), "cannot be read"),
        (("experiments", "report", "grid.yaml", "-o", "grid.yaml"), "must be another file"),
    ],
)
def test_what_is_wrong_is_one_line_and_nothing_runs(
    words: tuple[str, ...],
    message: str,
    place: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(place)
    monkeypatch.setattr(sys, "argv", ["shirley", *words])
    monkeypatch.setattr(sys, "path", [str(place), *sys.path])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    errors = capsys.readouterr().err
    assert ended.value.code == 2
    assert message in errors and len(errors.strip().splitlines()) == 1
    assert not (place / "shirley-results").exists() and not (place / "report.html").exists()
