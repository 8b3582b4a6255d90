"""Every data set fits its public schema, and what is not at hand says how to get it."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from copula_shirley.errors import SchemaError, ShirleyError
from copula_shirley.experiments import Dataset, DatasetError, datasets, list_datasets, load_dataset
from copula_shirley.schema.schema import Schema

NAMES = ("randhie", "adult", "compas", "diabetes130", "texas", "made")
SHAPES = {  # rows, columns with the person column
    "randhie": (20_190, 19),
    "adult": (32_561, 14),
    "compas": (10_568, 13),
    "diabetes130": (101_766, 18),
    "made": (5_000, 6),
}
#: Table 5.2, row "reference": A-B, A-C, A-D, A-E, A-F, then A-F where A < 0 and where A > 0.
REFERENCE = np.array([0.9150, -0.9565, 0.2319, -0.1701, 0.4018, 0.7881, -0.1137])


def load_or_skip(name: str) -> Dataset:
    """Load a data set without a download: a clone elsewhere may not have the file."""
    entry = datasets.catalogue()[name]
    if entry["file"] is not None:
        folders = (datasets.data_folder(), datasets._shared_folder())
        places = [folder / entry["file"] for folder in folders] + datasets._carried(entry)
        if not any(place.is_file() for place in places):
            pytest.skip(f"{entry['file']} is not on this machine")
    return load_dataset(name)


def schema_of(name: str) -> Schema:
    entry = datasets.catalogue()[name]
    return Schema.from_dict({key: entry[key] for key in ("person", "columns") if key in entry})


@pytest.fixture
def nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder in place of every folder that is searched."""
    monkeypatch.setenv(datasets.FOLDER_VARIABLE, str(tmp_path))
    monkeypatch.setattr(datasets, "_shared_folder", lambda: tmp_path)
    return tmp_path


# -- what datasets.yaml says ----------------------------------------------------


def test_every_set_is_listed_with_a_description() -> None:
    assert set(list_datasets()) == set(NAMES)
    assert all(len(text) > 50 for text in list_datasets().values())


@pytest.mark.parametrize("name", NAMES)
def test_entry_is_complete(name: str) -> None:
    entry = datasets.catalogue()[name]
    for key in ("title", "description", "licence", "obtain"):
        assert isinstance(entry[key], str) and entry[key]
    assert entry["source"].startswith("https://")
    assert entry["address"] is None or entry["address"].startswith("https://")
    if name in ("made", "texas"):  # no file; a file that is another one for each user
        assert entry["sha256"] is None
    else:
        assert len(entry["sha256"]) == 64


@pytest.mark.parametrize("name", NAMES)
def test_schema_is_public_and_small(name: str) -> None:
    schema = schema_of(name)
    assert max(column.size for column in schema) < 250
    assert schema.drafted == (("medical_specialty",) if name == "diabetes130" else ())
    tasks = datasets.catalogue()[name]["tasks"]
    assert set(tasks.values()) <= set(schema.names)
    assert set(tasks) == (set() if name == "made" else {"binary", "multiclass", "regression"})


@pytest.mark.parametrize("name", [n for n in NAMES if n != "made"])
def test_targets_are_of_the_kind_that_their_task_needs(name: str) -> None:
    schema, tasks = schema_of(name), datasets.catalogue()[name]["tasks"]
    binary, classes = schema[tasks["binary"]], schema[tasks["multiclass"]]
    assert binary.size - binary.missing == 2
    assert classes.kind == "categorical" and classes.size - classes.missing > 2
    assert schema[tasks["regression"]].kind in ("integer", "continuous")


@pytest.mark.parametrize(
    ("name", "column", "heaps"),
    [
        ("adult", "capital-gain", (0, 99999)),
        ("adult", "capital-loss", (0,)),
        ("adult", "hours-per-week", (40,)),
        ("compas", "days_b_screening_arrest", (-1, 0)),
        ("randhie", "outpdol", (0,)),
        ("randhie", "educdec", (12, 16)),
    ],
)
def test_heaps_have_a_cell_of_their_own(name: str, column: str, heaps: tuple[int, ...]) -> None:
    cells = schema_of(name)[column].domain.cells()
    at = cells.index(np.array(heaps, dtype=float))
    np.testing.assert_array_equal(cells.first[at], heaps)
    np.testing.assert_array_equal(cells.last[at], heaps)


# -- what is loaded ---------------------------------------------------------------


@pytest.mark.parametrize("name", SHAPES)
def test_set_loads_and_fits_its_schema(name: str) -> None:
    data = load_or_skip(name)
    assert data.name == name and data.origin
    assert data.table.shape == SHAPES[name]
    person = [] if data.person is None else [data.person]
    assert list(data.table.columns) == [*data.schema.names, *person]
    assert data.schema.validate(data.table) is data.table
    assert set(data.tasks.values()) <= set(data.schema.names)


@pytest.mark.parametrize("name", ["adult", "compas", "diabetes130", "randhie"])
def test_columns_keep_the_order_of_the_file(name: str) -> None:
    file = Path(load_or_skip(name).origin)
    whole = pd.read_parquet(file) if file.suffix == ".parquet" else pd.read_csv(file, nrows=1)
    listed = schema_of(name).names
    assert [column for column in whole.columns if column in listed] == list(listed)


def test_default_is_the_embedded_set_with_missing_values_and_people() -> None:
    data = load_dataset()
    assert data.name == "randhie" and data.person == "zper"
    assert data.table["zper"].nunique() == 5_912
    assert data.table["zper"].value_counts().max() == data.schema.max_rows == 5
    absent = data.table.columns[data.table.isna().any()]
    assert list(absent) == ["educdec", "ghindx"]


def test_marks_of_the_unknown_stay_texts() -> None:
    adult = load_or_skip("adult").table
    assert (adult["workclass"] == "?").sum() == 1_836
    assert not adult.isna().any().any()


def test_the_text_none_is_no_missing_value() -> None:
    stays = load_or_skip("diabetes130").table
    assert (stays["A1Cresult"] == "None").sum() == 84_748
    assert not stays.isna().any().any()


# -- the made set -----------------------------------------------------------------


def spearman_row(table: pd.DataFrame) -> np.ndarray:
    whole = table.corr(method="spearman").loc["A", list("BCDEF")].to_numpy()
    halves = [table[table["A"] < 0], table[table["A"] > 0]]
    return np.append(whole, [half["A"].corr(half["F"], method="spearman") for half in halves])


def test_made_set_has_the_correlations_of_table_5_2() -> None:
    table = load_dataset("made").table
    # Tolerance: 4 standard errors of a Spearman coefficient on Fisher's scale, where its
    # variance is (1 + r^2/2) / (n - 3) (Bonett and Wright 2000); the halves have n/2 rows.
    rows = np.array([len(table)] * 5 + [len(table) / 2] * 2)
    error = np.sqrt((1 + REFERENCE**2 / 2) / (rows - 3))
    distance = np.abs(np.arctanh(spearman_row(table)) - np.arctanh(REFERENCE))
    assert np.all(distance < 4 * error)


def test_recipe_has_the_correlations_of_table_5_2_in_the_limit() -> None:
    # Tolerance: the recipe was fitted to a printed sample (off by .002 at most, seen at two
    # million rows), plus two standard errors of .002 for a half of 500,000 rows.
    row = spearman_row(datasets.make_table(rows=500_000, seed=1))
    np.testing.assert_allclose(row, REFERENCE, atol=0.006)


def test_made_set_is_the_same_on_each_call() -> None:
    pd.testing.assert_frame_equal(load_dataset("made").table, load_dataset("made").table)


# -- what is refused --------------------------------------------------------------


def test_unknown_name_lists_the_known() -> None:
    with pytest.raises(DatasetError, match=r"\('adlut'\) must be one of adult, compas") as caught:
        load_dataset("adlut")
    assert isinstance(caught.value, ShirleyError)


def test_absent_file_says_where_it_was_sought_and_how_to_obtain_it(nowhere: Path) -> None:
    with pytest.raises(DatasetError) as caught:
        load_dataset("diabetes130")
    message = str(caught.value)
    for part in (str(nowhere / "diabetes130.parquet"), "diabetic_data.csv", "archive.ics.uci.edu"):
        assert part in message
    assert datasets.FOLDER_VARIABLE in message


def test_absent_path_is_not_replaced_by_another_file(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match=r"searched: .*no such.csv"):
        load_dataset("randhie", tmp_path / "no such.csv")


def test_texas_without_its_file_names_the_agreement(nowhere: Path) -> None:
    with pytest.raises(DatasetError, match="data use agreement") as caught:
        load_dataset("texas")
    assert str(nowhere / "texas.csv") in str(caught.value)


def test_computed_set_takes_no_path(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match="computed: path"):
        load_dataset("made", tmp_path / "made.csv")


@pytest.mark.parametrize("named", [True, False], ids=["path", "folder"])
def test_another_hash_is_refused_with_both_hashes(nowhere: Path, named: bool) -> None:
    file = nowhere / "adult.csv"
    file.write_text("age,salary\n39,0\n", encoding="utf-8")
    with pytest.raises(DatasetError) as caught:
        load_dataset("adult", file if named else None)
    found = hashlib.sha256(file.read_bytes()).hexdigest()
    for part in (str(file), found, datasets.catalogue()["adult"]["sha256"]):
        assert part in str(caught.value)


# -- a user's own file, and downloads ---------------------------------------------

TEXAS_ROW = {
    "RECORD_ID": "120130000001",  # not described: dropped
    "TYPE_OF_ADMISSION": "1",
    "SOURCE_OF_ADMISSION": "1",
    "PAT_STATE": "TX",
    "PUBLIC_HEALTH_REGION": "07",
    "PAT_STATUS": "01",
    "SEX_CODE": "F",
    "RACE": "4",
    "ETHNICITY": "2",
    "ADMIT_WEEKDAY": "3",
    "LENGTH_OF_STAY": 4,
    "PAT_AGE": "00",
    "TOTAL_CHARGES": 12345.67,
    "TOTAL_NON_COV_CHARGES": 0,
    "TOTAL_CHARGES_ACCOMM": 2345.67,
    "TOTAL_CHARGES_ANCIL": 10000.0,
    "POA_PROVIDER_INDICATOR": "R",
    "APR_MDC": "05",
}


def test_texas_extract_of_a_user_keeps_its_codes(tmp_path: Path) -> None:
    file = tmp_path / "mine.csv"
    pd.DataFrame([TEXAS_ROW, {**TEXAS_ROW, "RACE": ""}]).to_csv(file, index=False)
    data = load_dataset("texas", file)
    assert data.table.shape == (2, 17)
    assert list(data.table["PUBLIC_HEALTH_REGION"]) == ["07", "07"]
    assert list(data.table["PAT_AGE"]) == [0, 0]
    assert list(data.table["RACE"].isna()) == [False, True]


def test_file_that_lacks_a_column_or_a_known_ending_is_refused(tmp_path: Path) -> None:
    frame = pd.DataFrame([TEXAS_ROW])
    frame.drop(columns="RACE").to_csv(tmp_path / "mine.csv", index=False)
    with pytest.raises(SchemaError, match="'RACE' is in the schema but not in the table"):
        load_dataset("texas", tmp_path / "mine.csv")
    frame.to_csv(tmp_path / "mine.txt", index=False)
    with pytest.raises(DatasetError, match=r"must end in \.csv or \.parquet"):
        load_dataset("texas", tmp_path / "mine.txt")


class QuietHandler(SimpleHTTPRequestHandler):
    def log_message(self, *args: object) -> None:
        """Say nothing."""


@pytest.fixture
def server(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> Iterator[str]:
    """The address of a web server on this machine with one file, toy.csv."""
    monkeypatch.setenv("NO_PROXY", "*")
    folder = tmp_path_factory.mktemp("web")
    (folder / "toy.csv").write_bytes(b"A\n1\n")
    with ThreadingHTTPServer(
        ("127.0.0.1", 0), partial(QuietHandler, directory=str(folder))
    ) as running:
        thread = threading.Thread(target=running.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{running.server_port}/"
        running.shutdown()
        thread.join()


def toy_entry(address: str, content: bytes = b"A\n1\n") -> dict[str, str]:
    return {
        "address": address,
        "file": "toy.csv",
        "sha256": hashlib.sha256(content).hexdigest(),
        "obtain": "Ask for it.",
        "source": "https://example.org",
    }


def test_download_goes_to_the_data_folder(nowhere: Path, server: str) -> None:
    file = datasets._find("toy", toy_entry(server + "toy.csv"), None)
    assert file == nowhere / "toy.csv"
    assert file.read_bytes() == b"A\n1\n"
    # found there the next time, whatever the address
    assert datasets._find("toy", toy_entry(server + "gone.csv"), None) == file


@pytest.mark.parametrize(("page", "content"), [("toy.csv", b"other"), ("gone.csv", b"A\n1\n")])
def test_failed_download_is_one_clear_error(
    nowhere: Path, server: str, page: str, content: bytes
) -> None:
    with pytest.raises(DatasetError, match=r"the download from .* failed: .* Ask for it"):
        datasets._find("toy", toy_entry(server + page, content), None)
    assert not (nowhere / "toy.csv").exists()
