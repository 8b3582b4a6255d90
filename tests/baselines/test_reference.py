from __future__ import annotations

import sys
from pathlib import Path

import pandas as pd
import pytest

from copula_shirley import Schema, SettingError, load
from copula_shirley.baselines import Real, Uniform
from copula_shirley.cli import main as cli


def test_real_draws_the_rows_and_never_leaves_the_process(
    people: pd.DataFrame, people_schema: Schema, tmp_path: Path
) -> None:
    model = Real(random_state=0).fit(people, people_schema)
    drawn = model.sample(len(people))
    keys = ["age", "job", "active", "joined"]
    assert drawn.sort_values(keys)["age"].tolist() == people.sort_values(keys)["age"].tolist()
    assert len(model.sample(1000)) == 1000
    assert model.ledger_.proved is None
    with pytest.raises(SettingError, match="never saved"):
        model.save(tmp_path / "model")
    assert list(tmp_path.iterdir()) == []


def test_the_command_line_refuses_to_publish_the_rows(
    people: pd.DataFrame,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    people.to_csv(tmp_path / "t.csv", index=False)
    words = ["shirley", "synthesize", str(tmp_path / "t.csv"), "--model", "real"]
    monkeypatch.setattr(sys, "argv", [*words, "-o", str(tmp_path / "out.csv")])
    with pytest.raises(SystemExit) as stop:
        cli.main()
    assert stop.value.code == 2 and "holds the rows themselves" in capsys.readouterr().err
    assert not (tmp_path / "out.csv").exists()


def test_uniform_looks_at_nothing_but_the_schema(
    people: pd.DataFrame, people_schema: Schema, tmp_path: Path
) -> None:
    model = Uniform(random_state=0).fit(people, people_schema)
    other = Uniform(random_state=0).fit(people[:3], people_schema)
    pd.testing.assert_frame_equal(model.sample(50), other.sample(50))
    assert model.n_rows_ == other.n_rows_
    assert model.ledger_.proved is not None and model.ledger_.proved.epsilon == 0
    people_schema.validate(model.sample(200))
    model.save(tmp_path / "model")
    pd.testing.assert_frame_equal(
        load(tmp_path / "model").sample(9, random_state=1), model.sample(9, random_state=1)
    )
