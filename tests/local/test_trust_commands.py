"""``--trust local`` on the command line."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
from commands import run
from place import SCHEMA
from tables import people

from copula_shirley import load
from copula_shirley.publish.pages import read_page


def test_people_report_themselves(tmp_path: Path) -> None:
    (tmp_path / "schema.yaml").write_text(SCHEMA.to_yaml())
    people(400).to_csv(tmp_path / "data.csv", index=False)
    asked = "simulate data.csv --schema schema.yaml --trust local --epsilon 4 --accept-poor"
    done = run(f"{asked} -o rows.csv --save-model m.shirley", folder=tmp_path)
    assert done.code == 0, done.err
    assert len(pd.read_csv(tmp_path / "rows.csv")) == 400
    assert load(tmp_path / "m.shirley").name == "local-vine"
    card, _ = read_page(tmp_path / "rows.csv.card.html")
    assert "Nobody has to be trusted" in str(card)
    shown = run("inspect m.shirley", folder=tmp_path)
    assert shown.code == 0 and "Nobody has to be trusted" in shown.out
    assert run("verify m.shirley", folder=tmp_path).code == 0


def test_a_plan_for_people(tmp_path: Path) -> None:
    (tmp_path / "schema.yaml").write_text(SCHEMA.to_yaml())
    done = run("plan schema.yaml --trust local -n 1000000 --epsilon 2", folder=tmp_path)
    assert done.code == 0 and "people who report themselves" in " ".join(done.out.split())
    for words, said in (
        ("--model uniform", "--model ('uniform') must be 'private-vine' with --trust local"),
        ("--epsilon 40", "--epsilon (40.0) of a person's report must be from 0.001 to 16"),
        ("--trust nobody", "--trust ('nobody') must be one of curator, local"),
    ):
        bad = run(f"plan schema.yaml --trust local -n 1000 {words}", folder=tmp_path)
        assert bad.code == 2 and said in bad.said
    bad = run("plan schema.yaml -n 1000 --waves two", folder=tmp_path)
    assert bad.code == 2 and "--waves (two) must be left out without --trust local" in bad.said
