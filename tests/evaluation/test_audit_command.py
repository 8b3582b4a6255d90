"""``shirley audit``, as its user meets it."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from commands import Outcome
from commands import run as command
from tables import whole_numbers

HERE = Path(__file__).parent
Audit = Callable[..., Outcome]
FAST = ("--runs", 60, "--jobs", 1, "--pair", "category", "--rows", 20)
NOISY = "known_generators:NoisyHistogram"


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Audit:
    shutil.copy(HERE / "audit_generators.py", tmp_path / "known_generators.py")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    return lambda *words: command("audit", *words, folder=tmp_path)


def figures(folder: Path) -> Any:
    return json.loads((folder / "out.json").read_text(encoding="utf-8"))


def test_a_true_claim_has_exit_code_0(run: Audit, tmp_path: Path) -> None:
    words = ("--box", "white", "-o", "out.json", "--seed", 3, "--runs", 400)
    done = run(NOISY, *FAST[2:], *words)
    assert done.code == 0
    assert "consistent (up to what this audit can see)" in done.out
    for part in ("claim", "lower bound", "ceiling", "control", "power", "1 of 1,000 audits"):
        assert part in done.out
    assert "with the same claim, noise / 2, noise / 4, noise / 8 in all answers" in done.out
    assert "asked: histogram\n" in done.out
    assert "\nnot exercised: what this generator may ask" in done.out
    found = figures(tmp_path)
    assert found["generator"] == NOISY and found["runs"] == 400 and found["seed"] == 3
    assert found["claim"]["epsilon"] == 1.0 and found["claim"]["source"] == "ledger"
    assert 0 <= found["lower_bound"] < 1 < found["ceiling"]
    assert found["verdict"].startswith("consistent")
    assert found["power"]["noticed"] == [2, 4, 8] and found["power"]["enough"]
    assert [entry["noticed"] for entry in found["weaker_controls"]] == [True] * 3
    assert found["settings"] == {"epsilon": 1.0}


def test_an_audit_without_power_says_what_to_do(run: Audit) -> None:
    done = run(NOISY, *FAST, "--box", "white")
    assert done.code == 0
    assert "inconclusive: no power: of the control's epsilon 1 it saw" in done.out
    assert "more runs are needed, about 240 a side (--runs 240)" in done.out


def test_a_refuted_claim_has_exit_code_1_and_its_file(run: Audit, tmp_path: Path) -> None:
    words = ("--set", "factor=0.05", *FAST, "--epsilon", 0.5, "-o", "out.json", "--quiet")
    assert run(NOISY, *words, "--box", "white") == Outcome(1, "", "")
    found = figures(tmp_path)
    assert found["verdict"] == "claim refuted" and found["lower_bound"] > 0.5
    assert found["settings"] == {"factor": 0.05, "epsilon": 0.5}


def test_a_claim_by_the_word_of_the_user(run: Audit) -> None:
    done = run("known_generators:Copies", *FAST, "--rows", 80, "--epsilon", 0.1)
    assert done.code == 1 and "epsilon 0.1 (as given); proved: nothing" in done.out
    assert "no white box" in done.out


def test_our_own_generators_by_name(run: Audit, tmp_path: Path) -> None:
    words = ("--neighbours", "add-remove", "--set", "mechanism=geometric", "-o", "out.json")
    assert run("dp-histogram", "--runs", 40, *FAST[2:], *words).code == 0
    found = figures(tmp_path)
    assert found["claim"]["relation"] == "add-remove"
    assert found["lower_bound_white"] is not None and found["lower_bound_black"] is not None
    assert {f["box"] for f in found["findings"]} == {"white", "black"}


def test_runs_are_kept_in_a_folder(run: Audit, tmp_path: Path) -> None:
    words = (*FAST[2:], "--runs", 40, "--box", "white", "--results", "kept", "-o", "out.json")

    def files() -> dict[Path, int]:
        return {p: p.stat().st_mtime_ns for p in (tmp_path / "kept").rglob("*.gz")}

    run(NOISY, *words)
    before, first = files(), figures(tmp_path)
    assert len(before) == 4
    run(NOISY, *words)
    assert files() == before and figures(tmp_path)["findings"] == first["findings"]
    run(NOISY, *words, "--epsilon", 2)  # another setting
    assert len(files()) == 8


def pair_of_files(folder: Path, rows: int) -> None:
    table = pd.DataFrame({"x": [i % 3 for i in range(40)] + [9]})
    table.to_csv(folder / "a.csv", index=False)
    table.iloc[:rows].to_csv(folder / "b.csv", index=False)
    (folder / "s.yaml").write_text(whole_numbers("x").to_yaml(), encoding="utf-8")


OWN = ("--tables", "a.csv", "b.csv", "--schema", "s.yaml")


def test_tables_of_the_user(run: Audit, tmp_path: Path) -> None:
    pair_of_files(tmp_path, 40)
    words = ("--set", "factor=0.05", "--runs", 60, "--jobs", 1, "-o", "out.json", *OWN)
    assert run(NOISY, *words, "--box", "white").code == 1
    assert figures(tmp_path)["pairs"] == ["tables"]
    (tmp_path / "out.json").unlink()
    pair_of_files(tmp_path, 38)
    assert "one of them with one row more" in run(NOISY, *words).refusal()
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
        (["dp-histogram", "--box", "grey"], "--box ('grey') must be one of white, black, both"),
        (["dp-histogram", "--jobs", "0"], "--jobs (0) must be 1 or more"),
        (["dp-histogram", "--rows", "0"], "--rows (0) must be 1 or more"),
        (["dp-histogram", "--schema", "s.yaml"], "--schema needs --tables"),
        (["dp-histogram", "--tables", "a.csv", "b.csv"], "--tables needs --schema"),
        (["dp-histogram", *OWN], "'s.yaml'"),
        (["dp-histogram", "--neighbours", "both"], "--neighbours ('both') must be one of add"),
        (["dp-histogram", "--set", "mechanism=none"], "mechanism"),
    ],
)
def test_wrong_words_are_one_line_and_no_file(
    run: Audit, tmp_path: Path, words: list[str], message: str
) -> None:
    done = run(*words, "-o", "out.json")
    assert message in done.refusal() and done.out == ""
    assert not list(tmp_path.glob("*out.json*"))
