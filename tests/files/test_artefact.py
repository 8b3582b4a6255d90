from __future__ import annotations

import io
import json
import os
import pickle
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from copula_shirley import ArtefactError, CopulaShirley, Schema, load
from copula_shirley.files.model_file import atomic_path

CANARY = 73.0625  # occurs in one row only; exact in binary


@pytest.fixture
def saved(people: pd.DataFrame, people_schema: Schema, tmp_path: Path) -> Path:
    model = CopulaShirley(target="rich", families=["indep", "gaussian"], random_state=0)
    model.fit(people, people_schema).save(tmp_path / "model.shirley")
    return tmp_path / "model.shirley"


def test_a_loaded_model_draws_the_same_rows(
    saved: Path, people: pd.DataFrame, people_schema: Schema
) -> None:
    model = CopulaShirley(target="rich", families=["indep", "gaussian"], random_state=0)
    model.fit(people, people_schema)
    again = load(saved)
    drawn = again.sample(50, random_state=4)
    pd.testing.assert_frame_equal(drawn, model.sample(50, random_state=4))
    assert again.ledger_.to_dict() == model.ledger_.to_dict()
    assert again.schema_ == people_schema
    assert len(again.sample()) == len(people)


def test_the_same_model_gives_the_same_bytes(saved: Path, tmp_path: Path) -> None:
    load(saved).save(tmp_path / "copy.shirley")
    assert (tmp_path / "copy.shirley").read_bytes() == saved.read_bytes()


def test_the_file_is_json_and_arrays_without_pickle_or_seed(saved: Path) -> None:
    with zipfile.ZipFile(saved) as file:
        names = file.namelist()
        header = json.loads(file.read("model.json"))
        for name in names[1:]:
            np.load(io.BytesIO(file.read(name)), allow_pickle=False)
    assert header["format"] == 1 and header["generator"] == "copula-shirley"
    assert "random_state" not in header["settings"]
    assert "not for release" in header["ledger"]["randomness"]


def test_the_file_holds_no_exact_likelihood(saved: Path) -> None:
    vine = json.loads(json.loads(zipfile.ZipFile(saved).read("model.json"))["model"]["vine"])
    pairs = [pair for tree in vine["pair copulas"].values() for pair in tree.values()]
    assert vine["loglik"] == 0 and all(pair["ll"] == 0 and pair["nobs"] == 0 for pair in pairs)


def members(path: Path) -> tuple[str, list[np.ndarray]]:
    with zipfile.ZipFile(path) as file:
        text = file.read("model.json").decode()
        arrays = [np.load(io.BytesIO(file.read(n))) for n in file.namelist() if n.endswith(".npy")]
    return text, arrays


def canary_table(people: pd.DataFrame) -> pd.DataFrame:
    table = people.copy()
    table.loc[3, "income"] = CANARY
    return table


def test_no_row_is_in_an_honest_model(
    people: pd.DataFrame, people_schema: Schema, tmp_path: Path
) -> None:
    for seed in range(4):  # so that the canary is once in each part of the rows
        model = CopulaShirley(
            accounting="honest", target="rich", families=["gaussian"], random_state=seed
        )
        model.fit(canary_table(people), people_schema).save(tmp_path / "m")
        text, arrays = members(tmp_path / "m")
        assert str(CANARY) not in text
        assert not any(np.any(array == CANARY) for array in arrays)


def test_a_thesis_model_shows_distinct_values_but_no_row(
    people: pd.DataFrame, people_schema: Schema, tmp_path: Path
) -> None:
    """Fault (c): bins are distinct values. They are sorted per column; nothing joins them."""
    table = canary_table(people)
    model = CopulaShirley(target="rich", families=["gaussian"], epsilon=None, random_state=0)
    model.fit(table, people_schema).save(tmp_path / "m")
    text, arrays = members(tmp_path / "m")
    assert str(CANARY) not in text
    assert sum(np.any(array == CANARY) for array in arrays) <= 1
    for array in arrays:
        assert array.ndim == 1 and np.all(np.diff(array[np.isfinite(array)]) >= 0)
    assert any(use.stage == "bins" for use in load(tmp_path / "m").ledger_.unprotected)


def test_a_newer_format_is_refused(saved: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(saved) as old, zipfile.ZipFile(tmp_path / "new", "w") as new:
        for name in old.namelist():
            content = old.read(name)
            if name == "model.json":
                content = json.dumps({**json.loads(content), "format": 2}).encode()
            new.writestr(name, content)
    with pytest.raises(ArtefactError, match="format 2, newer than 1"):
        load(tmp_path / "new")


def test_every_truncation_is_refused(saved: Path, tmp_path: Path) -> None:
    whole = saved.read_bytes()
    for size in {0, 1, 10, len(whole) // 2, len(whole) - 1}:
        (tmp_path / "cut").write_bytes(whole[:size])
        with pytest.raises(ArtefactError, match="cut"):
            load(tmp_path / "cut")


def test_flipped_bytes_never_load_silently_wrong(saved: Path, tmp_path: Path) -> None:
    whole = bytearray(saved.read_bytes())
    reference = load(saved).sample(5, random_state=0)
    for place in range(20, len(whole), len(whole) // 40):
        broken = whole.copy()
        broken[place] ^= 0xFF
        (tmp_path / "broken").write_bytes(broken)
        try:
            drawn = load(tmp_path / "broken").sample(5, random_state=0)
        except ArtefactError:
            continue  # the usual case: the checksum of a member does not fit
        pd.testing.assert_frame_equal(drawn, reference)  # a byte that carries nothing


@pytest.mark.parametrize("kind", ["text", "pickle", "zip", "folder", "absent", "array"])
def test_foreign_files_are_refused(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "foreign"
    if kind == "text":
        path.write_text("hello")
    elif kind == "pickle":
        path.write_bytes(pickle.dumps({"format": 1}))
    elif kind == "zip":
        with zipfile.ZipFile(path, "w") as file:
            file.writestr("model.json", "[]")
    elif kind == "folder":
        path.mkdir()
    elif kind == "array":
        with open(path, "wb") as file:
            np.savez(file, x=np.arange(3))
    with pytest.raises(ArtefactError, match="foreign"):
        load(path)


def test_an_array_that_needs_pickle_is_refused(saved: Path, tmp_path: Path) -> None:
    class Trap:
        def __reduce__(self) -> tuple[object, tuple[str]]:
            return os.mkdir, (str(tmp_path / "sprung"),)

    evil = io.BytesIO()
    np.save(evil, np.array([Trap()], dtype=object), allow_pickle=True)
    with zipfile.ZipFile(saved) as old, zipfile.ZipFile(tmp_path / "evil", "w") as new:
        new.writestr("model.json", old.read("model.json"))
        new.writestr("atoms_0.npy", evil.getvalue())
    with pytest.raises(ArtefactError, match="evil"):
        load(tmp_path / "evil")
    assert not (tmp_path / "sprung").exists()


def test_a_failed_write_leaves_the_old_file(tmp_path: Path) -> None:
    target = tmp_path / "file"
    target.write_text("old")

    def fail() -> None:
        with atomic_path(target) as partial:
            partial.write_text("half of the new")
            raise RuntimeError("stopped")

    with pytest.raises(RuntimeError):
        fail()
    assert target.read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]


def test_unwritable_places_are_refused(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "absent" / "file"):
        with pytest.raises(ArtefactError, match="cannot be written"), atomic_path(path):
            pass
