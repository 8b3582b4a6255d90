"""Transcripts as entries and arrays of a file."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tables import fitted, jobs

from copula_shirley.errors import ArtefactError
from copula_shirley.files import model_file
from copula_shirley.generator import load
from copula_shirley.measure import transcript


@pytest.fixture
def wide(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A model file in which tables of a query stand together, as those of many columns do."""
    monkeypatch.setattr(transcript, "MOST_APART", 1)
    path = tmp_path / "model.shirley"
    fitted("private-vine", epsilon=8.0, random_state=0).save(path)
    return path


def test_tables_of_one_array_come_back(wide: Path) -> None:
    _, arrays = model_file.read(wide)
    assert {"answer_0_0", "answer_1"} <= set(arrays) and "answer_1_0" not in arrays
    again, model = load(wide), fitted("private-vine", epsilon=8.0, random_state=0)
    assert again.sample(50, random_state=1).equals(model.sample(50, random_state=1))
    assert len(model.sample(5)) < len(jobs())


def shapes(*texts: str) -> Any:
    return lambda query, _: query.update(shapes=list(texts))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (shapes("73", "3"), "has other tables"),
        (shapes("73", "3", "2", "1"), "has other tables"),
        (shapes("9999999x9999999x9999999", "3", "2"), "has other tables"),
        (shapes("-73", "3", "2"), "regex"),
        (lambda query, _: query.update(tables=4), "has other tables"),
        (lambda _, arrays: arrays.update(answer_1=arrays["answer_1"][:-1]), "has other tables"),
        (lambda _, arrays: arrays.pop("answer_1"), "answer_1"),
        (lambda query, _: query.pop("shapes"), "answer_1_0"),
    ],
)
def test_tables_that_do_not_add_up_are_refused(change: Any, said: str, wide: Path) -> None:
    header, arrays = model_file.read(wide)
    query = header["model"]["queries"][1]
    assert query["shapes"] == ["73", "3", "2"]
    assert arrays["answer_1"].shape == (np.sum([73, 3, 2]),)
    change(query, arrays)
    model_file.write(wide, {k: v for k, v in header.items() if k != "format"}, arrays)
    with pytest.raises(ArtefactError) as error:
        load(wide)
    assert re.search(said, str(error.value)), str(error.value)
