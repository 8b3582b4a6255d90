"""The command line of PrivateVine: plan, conditions, a bought domain, what the label says."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pandas as pd
import pytest

from copula_shirley import Schema
from copula_shirley.cli.main import main
from copula_shirley.publish.outputs import card_path
from copula_shirley.publish.pages import read_page
from copula_shirley.publish.verify import verify_file


@pytest.fixture
def here(
    tmp_path: Path, people: pd.DataFrame, people_schema: Schema, monkeypatch: pytest.MonkeyPatch
) -> Path:
    monkeypatch.chdir(tmp_path)
    people.drop(columns="joined").to_csv("data.csv", index=False)
    entry = people_schema.to_dict()
    del entry["columns"]["joined"]
    Path("schema.yaml").write_text(Schema.from_dict(entry).to_yaml(), encoding="utf-8")
    return tmp_path


def shirley(monkeypatch: pytest.MonkeyPatch, words: str) -> int:
    monkeypatch.setattr(sys, "argv", ["shirley", *words.split()])
    try:
        main()
    except SystemExit as end:
        return int(end.code or 0)
    return 0


FIT = "synthesize data.csv --schema schema.yaml --target rich --epsilon 4 -q -o rows.csv"


def test_the_default_model_keeps_its_promise(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert shirley(monkeypatch, f"{FIT} -n 50 --save-model model.shirley") == 0
    assert len(pd.read_csv("rows.csv")) == 50
    assert shirley(monkeypatch, "inspect model.shirley --json") == 0
    ledger = json.loads(capsys.readouterr().out)
    assert ledger["proved"]["epsilon"] == pytest.approx(4)
    assert not ledger["seeded"] and "OpenDP" in ledger["randomness"]
    assert shirley(monkeypatch, "inspect model.shirley --plot vine.png") == 0
    assert "share of the budget" in capsys.readouterr().out.replace("\n", " ")
    assert (here / "vine.png").stat().st_size > 1000


@pytest.mark.usefixtures("here")
def test_a_seed_is_told_to_be_no_release(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    words = FIT.replace(" -q", "")
    assert shirley(monkeypatch, f"{words} --seed 1") == 0
    assert "not for release" in " ".join(capsys.readouterr().err.split())


@pytest.mark.usefixtures("here")
def test_conditions(monkeypatch: pytest.MonkeyPatch) -> None:
    assert shirley(monkeypatch, f"{FIT} -n 40 --given job=law --given age=30..40 -n 40") == 0
    rows = pd.read_csv("rows.csv")
    assert set(rows["job"]) == {"law"} and rows["age"].between(30, 40).all() and len(rows) == 40
    # the card of the rows says so, that of a model would not; a page without it is another page
    page, text = read_page(card_path("rows.csv"))
    assert page.file is not None and page.file.given == "job=law, age=30..40"
    assert b"drawn under the condition job=law, age=30..40" in text
    assert verify_file(Path("rows.csv")).fits
    assert shirley(monkeypatch, f"{FIT} -n 40") == 0
    assert "condition" not in card_path("rows.csv").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("condition", "said"),
    [
        ("job=priest", "given 'job' ('priest')"),
        ("age=300", "given 'age' (300)"),
        ("age=40..30", "lower end first"),
        ("shoe=3", "given ('shoe')"),
        ("age", "name=value"),
    ],
)
def test_wrong_conditions_are_refused_before_the_fit(
    here: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    condition: str,
    said: str,
) -> None:
    assert shirley(monkeypatch, f"{FIT} --given {condition}") == 2
    assert said in capsys.readouterr().err.replace("\n", " ")
    assert not (here / "rows.csv").exists()


@pytest.mark.usefixtures("here")
def test_a_condition_stands_once(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert shirley(monkeypatch, f"{FIT} --given job=law --given job=farm") == 2
    assert "named once" in capsys.readouterr().err


@pytest.mark.usefixtures("here")
def test_what_a_draft_leaves_open_is_bought(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """One odd text in a column of numbers is one missing value and changes no other row."""
    assert shirley(monkeypatch, "draft data.csv -o draft.yaml") == 0
    draft = Path("draft.yaml").read_text(encoding="utf-8")
    known = draft.replace("provenance: drafted", "provenance: private")
    Path("draft.yaml").write_text(known, encoding="utf-8")
    with Path("data.csv").open("a", encoding="utf-8") as file:
        file.write("x,law,12.5,True,low,1\n")
    assert shirley(monkeypatch, "fit data.csv --schema draft.yaml -q -o model.shirley") == 2
    assert "'age': provenance (private) means" in capsys.readouterr().err
    words = "fit data.csv --schema draft.yaml --domain measured --epsilon 50 -q -o model.shirley"
    assert shirley(monkeypatch, words) == 0
    capsys.readouterr()
    assert shirley(monkeypatch, "inspect model.shirley --json") == 0
    ledger = json.loads(capsys.readouterr().out)
    assert set(ledger["domains"].values()) == {"private"} and not ledger["unprotected"]
    assert ledger["proved"]["epsilon"] == pytest.approx(50)
    assert shirley(monkeypatch, "sample model.shirley -n 50 -q -o rows.csv") == 0
    assert pd.read_csv("rows.csv")["age"].between(16, 127).all()


@pytest.mark.usefixtures("here")
def test_a_drafted_schema_is_called_unprotected(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert shirley(monkeypatch, "draft data.csv -o draft.yaml") == 0
    words = "fit data.csv --schema draft.yaml -q -o model.shirley --accept-unproved"
    assert shirley(monkeypatch, words) == 0
    capsys.readouterr()
    assert shirley(monkeypatch, "inspect model.shirley --json") == 0
    ledger = json.loads(capsys.readouterr().out)
    assert ledger["proved"] is None and len(ledger["unprotected"]) == 6


def test_a_plan_reads_no_row(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "data.csv").unlink()
    words = "plan schema.yaml -n 30000 --epsilon 1 --target rich"
    assert shirley(monkeypatch, words) == 0
    assert "tree 1" in capsys.readouterr().out
    assert shirley(monkeypatch, f"{words} --json") == 0
    plan = json.loads(capsys.readouterr().out)
    assert sum(stage["share"] for stage in plan["stages"]) == pytest.approx(1, abs=1e-9)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("plan schema.yaml -n 0", "--rows (0)"),
        ("plan schema.yaml -n 10 --epsilon 0", "epsilon (0.0)"),
        ("plan schema.yaml -n 10 --target shoe", "target ('shoe')"),
        ("plan absent.yaml -n 10", "absent.yaml"),
        (f"{FIT} --set encoder=woe", "encoder is one of 'copula-shirley'"),
        (f"{FIT} --domain public", "'--domain': 'public' is not one of"),
        (f"{FIT} --delta 1", "delta (1.0)"),
        ("fit data.csv -o m.shirley", "without a schema"),
        ("fit data.csv --domain measured -o m.shirley", "without a schema"),
    ],
)
def test_wrong_words(
    here: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    words: str,
    said: str,
) -> None:
    assert shirley(monkeypatch, words) == 2
    assert said in " ".join(capsys.readouterr().err.split())
    assert not (here / "rows.csv").exists() and not (here / "m.shirley").exists()
