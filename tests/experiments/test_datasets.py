"""Every data set fits its public schema, and what is not at hand says how to get it."""

from __future__ import annotations

import hashlib
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pandas as pd
import pytest
from msgspec import structs

from copula_shirley.errors import SchemaError
from copula_shirley.experiments import Dataset, DatasetError, datasets, load_dataset
from copula_shirley.experiments.paper.chapter import REFERENCE
from copula_shirley.experiments.paper.coefficients import coefficients

SHAPES = {  # rows, columns with the person column
    "randhie": (20_190, 19),
    "adult": (32_561, 14),
    "compas": (10_568, 13),
    "diabetes130": (101_766, 18),
    "credit": (30_000, 24),
    "bank": (45_211, 17),
    "made": (5_000, 6),
}


def load_or_skip(name: str) -> Dataset:
    """Load a data set without a download: a clone elsewhere may not have the file."""
    entry = datasets.catalogue()[name]
    if entry.recipe is None and not any(place.is_file() for place in datasets._places(entry)):
        pytest.skip(f"{entry.file} is not on this machine")
    return load_dataset(name)


@pytest.fixture
def nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder in place of every folder that is searched."""
    monkeypatch.setenv(datasets.FOLDER_VARIABLE, str(tmp_path))
    monkeypatch.setattr(datasets, "SHARED", tmp_path)
    return tmp_path


@pytest.mark.parametrize(("name", "entry"), datasets.catalogue().items())
def test_an_entry_is_complete_and_its_schema_public_and_small(
    name: str, entry: datasets.Entry
) -> None:
    assert len(entry.description) > 50
    assert all((entry.title, entry.licence, entry.obtain))
    addresses = [entry.source, *filter(None, [entry.address])]
    assert all(address.startswith("https://") for address in addresses)
    # no file; a file that is another one for each user
    assert len(entry.sha256 or "") == (0 if name in ("made", "texas") else 64)
    schema = entry.schema
    assert max(column.size for column in schema) < 250
    assert schema.drafted == (("medical_specialty",) if name == "diabetes130" else ())
    if name == "made":
        assert entry.tasks == {}
        return
    binary, classes = schema[entry.tasks["binary"]], schema[entry.tasks["multiclass"]]
    assert binary.size - binary.missing == 2
    assert classes.is_listed and classes.size - classes.missing > 2
    assert schema[entry.tasks["regression"]].is_number


@pytest.mark.parametrize(
    ("name", "column", "heaps"),
    [
        ("adult", "capital-gain", (0, 99999)),
        ("adult", "hours-per-week", (40,)),
        ("compas", "days_b_screening_arrest", (-1, 0)),
        ("randhie", "educdec", (12, 16)),
        ("credit", "limit_bal", (50_000,)),
        ("bank", "pdays", (-1,)),
    ],
)
def test_heaps_have_a_cell_of_their_own(name: str, column: str, heaps: tuple[int, ...]) -> None:
    cells = datasets.catalogue()[name].schema[column].domain.cells()
    at = cells.index(np.array(heaps, dtype=float))
    np.testing.assert_array_equal(cells.first[at], heaps)
    np.testing.assert_array_equal(cells.last[at], heaps)


@pytest.mark.parametrize("name", SHAPES)
def test_a_set_loads_and_fits_its_schema_in_the_order_of_its_file(name: str) -> None:
    data = load_or_skip(name)
    assert data.name == name
    assert data.table.shape == SHAPES[name]
    person = [] if data.person is None else [data.person]
    assert list(data.table.columns) == [*data.schema.names, *person]
    assert data.schema.validate(data.table) is data.table
    if name == "made":
        return
    file = Path(data.origin)
    whole = pd.read_parquet(file) if file.suffix == ".parquet" else pd.read_csv(file, nrows=1)
    assert [column for column in whole if column in data.schema.names] == list(data.schema.names)


def test_missing_values_people_and_texts_that_look_like_none() -> None:
    data = load_dataset()
    assert data.name == "randhie"
    assert data.table["zper"].value_counts().max() == data.schema.max_rows == 5
    assert list(data.table.columns[data.table.isna().any()]) == ["educdec", "ghindx"]
    for name, column, text, count in (
        ("adult", "workclass", "?", 1_836),
        ("diabetes130", "A1Cresult", "None", 84_748),
    ):
        table = load_or_skip(name).table
        assert (table[column] == text).sum() == count
        assert not table.isna().any().any()


def test_the_made_set_has_the_correlations_of_table_5_2() -> None:
    table = load_dataset("made").table
    pd.testing.assert_frame_equal(load_dataset("made").table, table)
    # Tolerance: 4 standard errors of a Spearman coefficient on Fisher's scale, where its
    # variance is (1 + r^2/2) / (n - 3) (Bonett and Wright 2000); the halves have n/2 rows.
    reference, rows = np.array(REFERENCE), np.array([len(table)] * 5 + [len(table) / 2] * 2)
    error = np.sqrt((1 + reference**2 / 2) / (rows - 3))
    distance = np.abs(np.arctanh(coefficients(table)) - np.arctanh(reference))
    assert np.all(distance < 4 * error)
    # Tolerance: the recipe was fitted to a printed sample (off by .002 at most, seen at two
    # million rows), plus two standard errors of .002 for a half of 500,000 rows.
    row = coefficients(datasets.make_table(rows=500_000, seed=1))
    np.testing.assert_allclose(row, reference, atol=0.006)


# -- what is refused --------------------------------------------------------------


def test_what_is_not_there_says_where_it_was_sought_and_how_to_obtain_it(nowhere: Path) -> None:
    with pytest.raises(DatasetError, match=r"\('adlut'\) must be one of adult, bank"):
        load_dataset("adlut")
    with pytest.raises(DatasetError) as caught:
        load_dataset("diabetes130")
    for part in ("diabetes130.parquet", "diabetic_data.csv", "archive.ics", "COPULA_SHIRLEY_DATA"):
        assert part in str(caught.value)
    with pytest.raises(DatasetError, match=r"texas\.csv.* data use agreement"):
        load_dataset("texas")
    with pytest.raises(DatasetError, match=r"searched: .*no such.csv"):  # and nowhere else
        load_dataset("randhie", nowhere / "no such.csv")
    with pytest.raises(DatasetError, match="computed: path"):
        load_dataset("made", nowhere / "made.csv")


@pytest.mark.parametrize("named", [True, False], ids=["path", "folder"])
def test_another_hash_is_refused_with_both_hashes(nowhere: Path, named: bool) -> None:
    file = nowhere / "adult.csv"
    file.write_text("age,salary\n39,0\n", encoding="utf-8")
    found = hashlib.sha256(file.read_bytes()).hexdigest()
    true = datasets.catalogue()["adult"].sha256
    with pytest.raises(DatasetError, match=rf"adult\.csv.*\({found}\) must be {true}"):
        load_dataset("adult", file if named else None)


# -- a user's own file, and downloads ---------------------------------------------


def test_the_texas_extract_of_a_user(tmp_path: Path) -> None:
    row = {"RECORD_ID": "120130000001"}  # not described: dropped
    for column in datasets.catalogue()["texas"].schema:
        row[column.name] = column.categories[0] if column.categories else column.minimum
    row |= {"PUBLIC_HEALTH_REGION": "07", "PAT_AGE": "00"}
    file, frame = tmp_path / "mine.csv", pd.DataFrame([row, {**row, "RACE": ""}])
    frame.to_csv(file, index=False)
    table = load_dataset("texas", file).table
    assert table.shape == (2, 17)
    assert list(table["PUBLIC_HEALTH_REGION"]) == ["07", "07"]
    assert list(table["PAT_AGE"]) == [0, 0]
    assert list(table["RACE"].isna()) == [False, True]
    frame.drop(columns="RACE").to_csv(file, index=False)
    with pytest.raises(SchemaError, match="'RACE' is in the schema but not in the table"):
        load_dataset("texas", file)
    with pytest.raises(DatasetError, match=r"must end in \.csv or \.parquet"):
        load_dataset("texas", file.rename(tmp_path / "mine.txt"))


def test_a_download_goes_to_the_data_folder_or_is_one_clear_error(nowhere: Path) -> None:
    compas = datasets.catalogue()["compas"]
    entry = structs.replace(compas, obtain="Ask for it.", address="https://x.org/c")
    with patch.object(datasets.pooch, "retrieve", side_effect=OSError("no connection")):
        says = r"from https://x.org/c failed: no conn.* Ask for it"
        with pytest.raises(DatasetError, match=says):
            datasets._find("compas", entry, None)
    with patch.object(datasets.pooch, "retrieve", return_value="there") as retrieve:
        assert datasets._find("compas", entry, None) == Path("there")
    about = (f"sha256:{entry.sha256}", entry.file, nowhere)
    retrieve.assert_called_once_with("https://x.org/c", *about)
