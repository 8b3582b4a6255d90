"""``shirley audit``, as its user meets it."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from copula_shirley import Column, Schema
from copula_shirley.cli import main as cli

HERE = Path(__file__).parent
Run = Callable[..., tuple[int, str, str]]
FAST = ("--runs", 60, "--jobs", 1, "--pair", "category", "--rows", 20)


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    shutil.copy(HERE / "audit_generators.py", tmp_path / "known_generators.py")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")

    def command(*words: object) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["shirley", "audit", *map(str, words)])
        capsys.readouterr()
        code: Any = 0
        try:
            cli.main()
        except SystemExit as exit_:
            code = exit_.code
        captured = capsys.readouterr()
        return int(code or 0), captured.out, captured.err

    return command


def test_a_true_claim_has_exit_code_0(run: Run, tmp_path: Path) -> None:
    words = ("--box", "white", "--json", "out.json", "--seed", 3)
    code, out, _ = run("known_generators:NoisyHistogram", *FAST, *words, "--runs", 600)
    assert code == 0
    assert "consistent (up to what this audit can see)" in out
    for part in ("claim", "lower bound", "ceiling", "control", "power", "1 of 1,000 audits"):
        assert part in out
    assert "with the same claim, noise / 2, noise / 4, noise / 8 in all answers" in out
    assert "asked: histogram\n" in out and "\nnot exercised: what this generator may ask" in out
    found = json.loads((tmp_path / "out.json").read_text(encoding="utf-8"))
    assert found["generator"] == "known_generators:NoisyHistogram" and found["runs"] == 600
    assert found["claim"]["epsilon"] == 1.0 and found["claim"]["source"] == "ledger"
    assert 0 <= found["lower_bound"] < 1 < found["ceiling"]
    assert found["verdict"].startswith("consistent") and found["seed"] == 3
    assert found["power"]["noticed"] == [2, 4, 8] and found["power"]["enough"]
    assert [entry["noticed"] for entry in found["weaker_controls"]] == [True] * 3
    assert found["settings"] == {"epsilon": 1.0}


def test_an_audit_without_power_has_exit_code_0_and_says_what_to_do(run: Run) -> None:
    code, out, _ = run("known_generators:NoisyHistogram", *FAST, "--box", "white")
    assert code == 0 and "inconclusive: no power: of the control's epsilon 1 it saw" in out
    assert "more runs are needed, about 240 a side (--runs 240)" in out


def test_a_refuted_claim_has_exit_code_1_and_its_file(run: Run, tmp_path: Path) -> None:
    words = (*FAST, "--epsilon", 0.5, "--json", "out.json", "--quiet")
    code, out, err = run("known_generators:NoisyHistogram", "--set", "factor=0.05", *words)
    assert (code, out, err) == (1, "", "")
    found = json.loads((tmp_path / "out.json").read_text(encoding="utf-8"))
    assert found["verdict"] == "claim refuted" and found["lower_bound"] > 0.5
    assert found["settings"] == {"factor": 0.05, "epsilon": 0.5}


def test_a_claim_by_the_word_of_the_user(run: Run) -> None:
    code, out, _ = run("known_generators:Copies", *FAST, "--rows", 80, "--epsilon", 0.1)
    assert code == 1 and "epsilon 0.1 (as given); proved: nothing" in out
    assert "no white box" in out
    assert run("uniform", *FAST)[0] == 0


def test_our_own_generators_by_name(run: Run, tmp_path: Path) -> None:
    words = ("--neighbours", "add-remove", "--set", "mechanism=geometric", "--json", "out.json")
    assert run("dp-histogram", "--runs", 40, *FAST[2:], *words)[0] == 0
    found = json.loads((tmp_path / "out.json").read_text(encoding="utf-8"))
    assert found["claim"]["relation"] == "add-remove"
    assert found["lower_bound_white"] is not None and found["lower_bound_black"] is not None


def test_runs_are_kept_in_a_folder(run: Run, tmp_path: Path) -> None:
    words = (*FAST, "--box", "white", "--folder", "kept", "--json", "out.json")
    run("known_generators:NoisyHistogram", *words)
    before = {p: p.stat().st_mtime_ns for p in (tmp_path / "kept").rglob("*.gz")}
    first = json.loads((tmp_path / "out.json").read_text(encoding="utf-8"))
    assert len(before) == 6
    run("known_generators:NoisyHistogram", *words)
    assert {p: p.stat().st_mtime_ns for p in (tmp_path / "kept").rglob("*.gz")} == before
    again = json.loads((tmp_path / "out.json").read_text(encoding="utf-8"))
    assert again["findings"] == first["findings"]
    run("known_generators:NoisyHistogram", *words, "--epsilon", 2)  # another setting
    assert len(list((tmp_path / "kept").rglob("*.gz"))) == 12


def pair_of_files(folder: Path, rows: int) -> None:
    table = pd.DataFrame({"x": [i % 3 for i in range(40)] + [9]})
    table.to_csv(folder / "a.csv", index=False)
    table.iloc[:rows].to_csv(folder / "b.csv", index=False)
    schema = Schema((Column("x", "integer", minimum=0, maximum=9),))
    (folder / "s.yaml").write_text(schema.to_yaml(), encoding="utf-8")


OWN = ("--tables", "a.csv", "b.csv", "--schema", "s.yaml")


def test_tables_of_the_user(run: Run, tmp_path: Path) -> None:
    pair_of_files(tmp_path, 40)
    words = ("--runs", 60, "--jobs", 1, "--json", "out.json", *OWN)
    assert run("known_generators:NoisyHistogram", "--set", "factor=0.05", *words)[0] == 1
    found = json.loads((tmp_path / "out.json").read_text(encoding="utf-8"))
    assert found["pairs"] == ["tables"]
    (tmp_path / "out.json").unlink()
    pair_of_files(tmp_path, 38)
    code, _, err = run("known_generators:NoisyHistogram", *words)
    assert code == 2 and "one of them with one row more" in " ".join(err.split())
    assert not (tmp_path / "out.json").exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["nobody"], "generator ('nobody') must be module:Class or one of copula-shirley"),
        (["no.such:Thing"], "no.such cannot be imported"),
        (["known_generators:Nothing"], "has no class 'Nothing'"),
        (["dp-histogram", "--set", "degree=2"], "degree is no setting of 'dp-histogram'"),
        (["dp-histogram", "--set", "degree"], "--set ('degree') must be name=value"),
        (["dp-histogram", "--epsilon", "0"], "epsilon (0.0) must be a positive number"),
        (["dp-histogram", "--delta", "2"], "delta (2.0) must be in [0, 1)"),
        (["dp-histogram", "--pair", "flip"], "pair ('flip') must be one of outlier"),
        (["dp-histogram", "--runs", "3"], "runs (3) must be a whole number, 40 or more"),
        (["dp-histogram", "--box", "grey"], "box ('grey') must be white, black or both"),
        (["dp-histogram", "--jobs", "-1"], "jobs (-1) must be 1 or more"),
        (["dp-histogram", "--rows", "0"], "rows (0) must be 1 or more"),
        (["dp-histogram", "--schema", "s.yaml"], "--schema needs --tables"),
        (["dp-histogram", "--tables", "a.csv", "b.csv"], "--tables needs --schema"),
        (["dp-histogram", *OWN], "'s.yaml' cannot be read: No such file"),
        (["dp-histogram", "--neighbours", "both"], "neighbours ('both') must be one of"),
        (["dp-histogram", "--set", "mechanism=none"], "mechanism"),
    ],
)
def test_wrong_words_are_one_line_and_no_file(
    run: Run, tmp_path: Path, words: list[str], message: str
) -> None:
    code, out, err = run(*words, "--json", "out.json")
    assert code == 2 and out == ""
    assert message in " ".join(err.split()) and err.count("\n") == 1
    assert "Traceback" not in err and not (tmp_path / "out.json").exists()
    assert not list(tmp_path.glob(".out.json*"))
