"""Tables in several files at the command line."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from commands import run
from tables import JOBS, jobs


@pytest.fixture
def parts(tmp_path: Path) -> Path:
    """A schema, and a table in three files beside it."""
    JOBS.write(tmp_path / "schema.yaml")
    (tmp_path / "parts").mkdir()
    for i, rows in enumerate(np.array_split(np.arange(300), 3)):
        jobs().iloc[rows].to_parquet(tmp_path / "parts" / f"{i}.parquet", index=False)
    jobs().to_csv(tmp_path / "whole.csv", index=False)
    return tmp_path


def test_fits_of_files_and_of_one_table_are_the_same(
    parts: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(parts)
    common = "--schema schema.yaml --seed 3 --epsilon 5 --no-card"
    outputs = []
    for i, data in enumerate(("parts", "parts/*.parquet", "parts --engine memory", "whole.csv")):
        done = run(f"synthesize {data} {common} -o {i}.csv")
        assert done.code == 0, done.err
        assert ("3 files are read in pieces" in " ".join(done.err.split())) == (i < 2)
        outputs.append(pd.read_csv(f"{i}.csv"))
    assert all(one.equals(outputs[0]) for one in outputs)
    assert run("check parts --schema schema.yaml").code == 0
    run("check whole.csv --schema schema.yaml")


def test_a_pattern_that_takes_a_synthetic_table_is_told(
    parts: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its rows are no rows of anybody."""
    monkeypatch.chdir(parts)
    words = "synthesize parts/*.parquet --schema schema.yaml --seed 3 --epsilon 5 -o parts"
    for name, told in (("s1", False), ("s2", True)):
        done = run(f"{words}/{name}.parquet")
        said = " ".join(done.err.split())
        assert done.code == 0 and ("s1.parquet' has a privacy card: it is syn" in said) == told


def test_what_is_wrong_with_one_file_is_found_in_it(parts: Path) -> None:
    bad = jobs(10).assign(age=3)
    bad.to_parquet(parts / "parts" / "9.parquet", index=False)
    done = run(f"check {parts}/parts --schema {parts}/schema.yaml")
    assert done.code == 1 and "9.parquet: column" in " ".join(done.out.split())


def test_a_plan_says_when_pieces_are_better(parts: Path) -> None:
    """Of more rows than memory may hold."""
    for rows, said in ((1_000, False), (10**9, True)):
        done = run(f"plan {parts}/schema.yaml --rows {rows}")
        assert ("less from files in pieces" in " ".join(done.out.split())) == said


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ("parts --schema schema.yaml --model dp-histogram", "learns from a table in memory alone"),
        ("parts --accept-unproved", "--schema (not given) must be named to read files in pieces"),
        ("whole.csv --schema schema.yaml --workers 2", "--workers (2) must be left out"),
        ("none/*.csv --schema schema.yaml", "'none/*.csv' holds no file"),
        ("whole.csv --schema schema.yaml --engine cloud", "('cloud') must be one of memory, files"),
    ],
)
def test_what_no_engine_can_do_is_one_line(
    parts: Path, monkeypatch: pytest.MonkeyPatch, options: str, words: str
) -> None:
    monkeypatch.chdir(parts)
    done = run(f"fit {options} -o model.shirley")
    assert done.code == 2 and words in done.err and done.err.count("\n") == 1, done.err
    assert not (parts / "model.shirley").exists()
