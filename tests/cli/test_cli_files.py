"""The command line never writes over what it reads, and speaks up about a draft."""

from __future__ import annotations

import sys
from pathlib import Path

import pandas as pd
import pytest

from copula_shirley import Schema
from copula_shirley.cli import main as cli
from copula_shirley.schema.draft import draft_notes


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    table = pd.DataFrame({"x": [1, 2, 3, 4] * 10, "y": [0, 1] * 20})
    table.to_csv(tmp_path / "t.csv", index=False)
    (tmp_path / "s.yaml").write_text(Schema.draft(table).to_yaml())
    return tmp_path


@pytest.mark.parametrize(
    "words",
    [
        "draft t.csv -o t.csv",
        "fit t.csv --model copula-shirley --set encoder=ordinal -o t.csv",
        "fit t.csv --schema s.yaml --model copula-shirley --set encoder=ordinal -o s.yaml",
        "synthesize t.csv --model copula-shirley --set encoder=ordinal -o ./t.csv",
        "synthesize t.csv --model uniform -o out.csv --save-model out.csv",
    ],
)
def test_inputs_are_never_overwritten(
    words: str, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    monkeypatch.chdir(folder)
    monkeypatch.setattr(sys, "argv", ["shirley", *words.split()])
    with pytest.raises(SystemExit) as stop:
        cli.main()
    assert stop.value.code == 2 and "must be another file" in capsys.readouterr().err
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_any_model_runs_from_the_command_line(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    for model in ("uniform", "dp-histogram", "dp-copula", "privbayes"):
        words = f"synthesize t.csv --schema s.yaml --model {model} -n 7 -q -o {model}.csv"
        words += " --accept-unproved"
        monkeypatch.setattr(sys, "argv", ["shirley", *words.split()])
        cli.main()
        assert len(pd.read_csv(folder / f"{model}.csv")) == 7


def test_a_draft_points_at_what_to_look_at_without_a_value() -> None:
    table = pd.DataFrame(
        {
            "id": [f"secret{i // 3}" for i in range(150)],
            "age": [*map(str, range(149)), "NA"],
            "y": [0, 1] * 75,
        }
    )
    notes = draft_notes(table, Schema.draft(table))
    assert any("'id'" in note and "--person id" in note for note in notes)
    assert any("'age'" in note and "--missing" in note for note in notes)
    assert not any("secret" in note for note in notes)
