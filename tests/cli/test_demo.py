"""``shirley demo``: the commands that it prints are those that made its files."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pandas as pd
import pytest
from commands import run

from copula_shirley import Schema
from copula_shirley.cli.demo import ROWS


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    folder = tmp_path_factory.mktemp("demo")
    found = run("demo here", folder=folder)
    assert found.code == 0, found.err
    return folder / "here", found.out


def test_a_demo_writes_every_file(shown: tuple[Path, str]) -> None:
    folder, _ = shown
    cards = {f"{name}.card.html" for name in ("synthetic.csv", "over64.csv", "model.shirley")}
    own = {"stays.csv", "draft.yaml", "schema.yaml", "plan.txt", "model.shirley"}
    assert set(os.listdir(folder)) == own | cards | {"synthetic.csv", "over64.csv"}
    schema = Schema.read(folder / "schema.yaml")
    assert not schema.drafted and "Epsilon 2 in place" in (folder / "plan.txt").read_text("utf-8")
    rows = pd.read_csv(folder / "synthetic.csv")
    assert abs(len(rows) - ROWS) < 500 and (rows["admitted"] <= rows["discharged"]).all()
    older = pd.read_csv(folder / "over64.csv")
    assert len(older) == 200 and (older["age"] >= 65).all()
    assert set(older["ward"]) == {"surgery", "medicine"}
    real = pd.read_csv(folder / "stays.csv")
    assert rows["cost"].mean() == pytest.approx(real["cost"].mean(), rel=0.25)


def test_the_printed_commands_can_be_repeated(shown: tuple[Path, str], tmp_path: Path) -> None:
    folder, out = shown
    commands = re.findall(r"^\$ shirley (.+)$", out, re.MULTILINE)
    assert [words.split()[0] for words in commands] == [
        "draft", "plan", "synthesize", "sample", "verify",
    ]  # fmt: skip
    for name in ("stays.csv", "schema.yaml"):
        (tmp_path / name).write_bytes((folder / name).read_bytes())
    for words in commands:
        assert run(words, folder=tmp_path).code == 0, words


def test_a_folder_that_is_there_is_kept(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    assert "('mine') exists; name another" in run("demo mine", folder=tmp_path).refusal()
    assert not os.listdir(tmp_path / "mine")
