"""What a saved model is: JSON and arrays, no row, no seed, no pickle; and files written whole."""

from __future__ import annotations

import io
import json
import os
import zipfile
from contextlib import suppress
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from copula_shirley import ArtefactError, CopulaShirley, Schema, load
from copula_shirley.files.atomic import atomic_path

CANARY = 73.0625  # occurs in one row only; exact in binary


def members(path: Path) -> tuple[str, list[np.ndarray]]:
    with zipfile.ZipFile(path) as file:
        text = file.read("model.json").decode()
        arrays = [np.load(io.BytesIO(file.read(n))) for n in file.namelist() if n.endswith(".npy")]
    return text, arrays


def saved(path: Path, table: pd.DataFrame, schema: Schema, **settings: object) -> CopulaShirley:
    model = CopulaShirley(target="rich", families=["indep", "gaussian"], **settings)
    model.fit(table, schema).save(path)
    return model


def test_a_saved_model_holds_no_seed_and_no_likelihood_of_the_rows(
    people: pd.DataFrame, people_schema: Schema, tmp_path: Path
) -> None:
    saved(tmp_path / "m", people, people_schema, random_state=0)
    header = json.loads(members(tmp_path / "m")[0])
    assert header["format"] == 1 and header["generator"] == "copula-shirley"
    assert "random_state" not in header["settings"]
    assert "not for release" in header["ledger"]["randomness"]
    vine = json.loads(header["model"]["vine"])
    pairs = [pair for tree in vine["pair copulas"].values() for pair in tree.values()]
    assert vine["loglik"] == 0 and all(pair["ll"] == 0 and pair["nobs"] == 0 for pair in pairs)


@pytest.mark.parametrize("seed", range(4))  # so that the canary is once in each part of the rows
def test_no_row_is_in_an_honest_model(
    seed: int, people: pd.DataFrame, people_schema: Schema, tmp_path: Path
) -> None:
    people.loc[3, "income"] = CANARY
    saved(tmp_path / "m", people, people_schema, accounting="honest", random_state=seed)
    text, arrays = members(tmp_path / "m")
    assert str(CANARY) not in text
    assert not any(np.any(array == CANARY) for array in arrays)


def test_a_thesis_model_shows_distinct_values_but_no_row(
    people: pd.DataFrame, people_schema: Schema, tmp_path: Path
) -> None:
    """Fault (c): bins are distinct values. They are sorted per column; nothing joins them."""
    people.loc[3, "income"] = CANARY
    saved(tmp_path / "m", people, people_schema, epsilon=None, random_state=0)
    text, arrays = members(tmp_path / "m")
    assert str(CANARY) not in text
    assert sum(np.any(array == CANARY) for array in arrays) <= 1
    for array in arrays:
        assert array.ndim == 1 and np.all(np.diff(array[np.isfinite(array)]) >= 0)
    assert any(use.stage == "bins" for use in load(tmp_path / "m").ledger_.unprotected)


def test_an_array_that_needs_pickle_is_refused(tmp_path: Path) -> None:
    class Trap:
        def __reduce__(self) -> tuple[object, tuple[str]]:
            return os.mkdir, (str(tmp_path / "sprung"),)

    evil = io.BytesIO()
    np.save(evil, np.array([Trap()], dtype=object), allow_pickle=True)
    with zipfile.ZipFile(tmp_path / "evil", "w") as new:
        new.writestr("model.json", '{"format": 1}')
        new.writestr("atoms_0.npy", evil.getvalue())
    with pytest.raises(ArtefactError, match="an array cannot be read"):
        load(tmp_path / "evil")
    assert not (tmp_path / "sprung").exists()


@pytest.mark.parametrize("kind", ["text", "folder", "absent", "array"])
def test_foreign_files_are_refused(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "foreign"
    if kind == "text":
        path.write_text("hello")
    elif kind == "folder":
        path.mkdir()
    elif kind == "array":
        with open(path, "wb") as file:
            np.savez(file, x=np.arange(3))
    with pytest.raises(ArtefactError, match="foreign"):
        load(path)


def test_a_failed_write_leaves_the_old_file(tmp_path: Path) -> None:
    target = tmp_path / "file"
    target.write_text("old")
    with suppress(RuntimeError), atomic_path(target) as partial:
        partial.write_text("half of the new")
        raise RuntimeError("stopped")
    assert target.read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]
    with pytest.raises(ArtefactError, match="cannot be written"), atomic_path(tmp_path):
        pass
