"""Files of Stata, SPSS and SAS: labels and missing codes are a schema, values are read alone."""

from __future__ import annotations

import base64
import datetime as dt
import gzip
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyreadstat
import pytest
from commands import memory_of, run

from copula_shirley import Column, Schema, SchemaError, SettingError, read_table
from copula_shirley.baselines import Uniform
from copula_shirley.rows import stats_files
from copula_shirley.rows.tables import check_written
from copula_shirley.rows.writing import write_table

SECRET = "quarry4711"
ROWS = 60
LABELS = {
    "sex": {1: "male", 2: "female", 9: "no answer"},
    "health": {1: "good", 2: "fair", 3: "bad"},  # nobody says bad
    "age": {98: "does not know", 99: "refuses"},
    "kids": {0: "none"},
}
TABLE = pd.DataFrame(
    {
        "sex": [1.0, 2, 9] * 20,
        "health": [1.0, 2] * 30,
        "age": [30.0, 98, 41, 99, 5, 77] * 10,
        "kids": [0.0, 1, 2] * 20,
        "town": ["Bonn", "Kiel", ""] * 20,
        "day": [dt.date(2020, 1, 1), dt.date(2020, 2, 29)] * 30,
        "seen": [dt.datetime(2020, 1, 1, 10), dt.datetime(2020, 1, 2, 9, 30)] * 30,
    }
)
WORDS = {"sex": "Sex of the person"}


@pytest.fixture(autouse=True)
def no_trial(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """No process of its own for each file: they are good, or bent in ways that crash nobody."""
    if "crashes" not in request.node.name:
        monkeypatch.setattr(stats_files, "check_harmless", lambda *_: None)


def survey(folder: Path, table: pd.DataFrame = TABLE, name: str = "s.sav") -> Path:
    path = folder / name
    labels = {n: own for n, own in LABELS.items() if n in table}
    if name.endswith("dta"):
        pyreadstat.write_dta(table, path, variable_value_labels=labels, column_labels=WORDS)
        return path
    pyreadstat.write_sav(
        table,
        path,
        variable_value_labels=labels,
        column_labels=WORDS,
        missing_ranges={"sex": [9], "age": [{"lo": 98, "hi": 99}]},
        variable_measure={"health": "ordinal"},
        compress=name.endswith("zsav"),
    )
    return path


def plain(values: pd.Series) -> list[Any]:
    return values.astype(object).where(values.notna(), None).tolist()


def test_a_draft_takes_labels_and_missing_codes_as_schema(tmp_path: Path) -> None:
    survey(tmp_path)
    done = run("draft s.sav -o a.yaml", folder=tmp_path)
    assert "draft again with --declare-labels" in done.said
    sex = Schema.read(tmp_path / "a.yaml")["sex"]
    assert (sex.provenance, sex.source) == ("drafted", "value labels of s.sav")
    done = run("draft s.sav --declare-labels -o s.yaml", folder=tmp_path)
    assert "2 columns have the file's value labels as declared categories" in done.said
    schema = Schema.read(tmp_path / "s.yaml")
    about: dict[str, Any] = {"missing": True, "source": "value labels of s.sav"}
    assert schema["sex"] == Column("sex", "categorical", categories=("male", "female"), **about)
    listed = ("good", "fair", "bad")
    assert schema["health"] == Column(
        "health", "categorical", categories=listed, ordered=True, **about
    )
    kinds = {c.name: (c.kind, c.missing, c.provenance) for c in schema if c.name != "health"}
    assert kinds == {
        "sex": ("categorical", True, "declared"),
        "age": ("integer", True, "drafted"),
        "kids": ("integer", False, "drafted"),  # labels of some values alone
        "town": ("categorical", True, "drafted"),
        "day": ("datetime", False, "drafted"),
        "seen": ("datetime", False, "drafted"),
    }
    assert (schema["age"].minimum, schema["age"].maximum) == (5, 77)  # no missing code
    text = (tmp_path / "s.yaml").read_text()
    assert "Sex of the person" in text and "missing codes: 98 does not know, 99 refuses" in text
    table = schema.validate(read_table(tmp_path / "s.sav", schema))
    assert plain(table["sex"])[:3] == ["male", "female", None]
    assert plain(table["age"])[:4] == [30, None, 41, None]
    assert plain(table["town"])[:3] == ["Bonn", "Kiel", None]
    assert table["seen"][1] == dt.datetime(2020, 1, 2, 9, 30)
    Uniform().fit(table, schema)


def test_labels_that_seem_to_name_people_are_left_out_until_somebody_declares_them(
    tmp_path: Path,
) -> None:
    """pandas makes labels of whatever texts occur."""
    names = [f"Ann {i:03}" for i in range(ROWS)]
    frame = pd.DataFrame({"who": pd.Categorical(names), "age": [float(i % 7) for i in range(ROWS)]})
    frame.to_stata(tmp_path / "t.dta", write_index=False)
    run("draft t.dta -o a.yaml", folder=tmp_path)
    assert Schema.read(tmp_path / "a.yaml").unread == {"who"}
    run("draft t.dta --declare-labels -o b.yaml", folder=tmp_path)
    assert len(Schema.read(tmp_path / "b.yaml")["who"].categories) == ROWS


def test_a_label_that_few_rows_have_is_listed_by_declaration_alone(tmp_path: Path) -> None:
    table = pd.DataFrame({"health": [1.0] * 55 + [2.0] * 5, "kids": [1.0, 2.0] * 30})
    survey(tmp_path, table, "s.dta")
    for words, listed in (("", ("good", "other")), ("--declare-labels", ("good", "fair", "bad"))):
        assert run(f"draft s.dta {words} --force -o s.yaml", folder=tmp_path).code == 0
        health = Schema.read(tmp_path / "s.yaml")["health"]
        assert health.categories == listed
        assert health.provenance == ("declared" if words else "drafted")


@pytest.mark.parametrize("kind", ["sav", "zsav", "dta"])
def test_a_code_is_read_as_its_label_where_the_schema_lists_it(kind: str, tmp_path: Path) -> None:
    path = survey(tmp_path, TABLE[["sex", "kids"]], f"s.{kind}")
    by_label = Column(
        "sex", "categorical", categories=("male", "female", "no answer"), missing=True
    )
    by_code = Column("sex", "categorical", categories=(1, 2, 9), missing=True)
    kids = Column("kids", "integer", minimum=0, maximum=9)
    gap = "no answer" if kind == "dta" else None
    found = read_table(path, Schema((by_label, kids)))
    assert plain(found["sex"])[:3] == ["male", "female", gap]
    assert found["kids"].tolist()[:3] == [0, 1, 2]
    found = read_table(path, Schema((by_code, kids)))
    assert plain(found["sex"])[:3] == [1, 2, 9 if gap else None]


@pytest.mark.parametrize("odd", [77.0, np.nan, 2.5, 9.0])
def test_no_row_changes_how_another_is_read(odd: float, tmp_path: Path) -> None:
    sex = Column("sex", "categorical", categories=("male", "female"), missing=True)
    age = Column("age", "integer", minimum=0, maximum=97, missing=True)
    schema = Schema((sex, age))
    alone = pd.DataFrame({"sex": [1.0, 2.0], "age": [30.0, 40.0]})
    more = pd.DataFrame({"sex": [1.0, odd, 2.0], "age": [30.0, odd, 40.0]})
    one = read_table(survey(tmp_path, alone, "a.sav"), schema)
    two = read_table(survey(tmp_path, more, "b.sav"), schema)
    assert one.dtypes.equals(two.dtypes)
    assert one.astype(object).equals(two.drop(index=1).reset_index(drop=True).astype(object))


@pytest.mark.parametrize("more", [5, 500, "unknown"])
def test_codes_that_pandas_made_of_the_rows_are_not_read(more: Any, tmp_path: Path) -> None:
    """It numbers 10, 20, 30 as 0, 1, 2; with a 5 among them they are 1, 2, 3."""
    pay = Column("pay", "integer", minimum=0, maximum=100)
    band = Column("band", "categorical", categories=(0, 1, 2, 3, 10, 20, 30))
    for values in ([10, 20, 30], [10, 20, 30, more]):
        own = pd.Categorical(values, sorted(set(values), key=lambda v: (str(type(v)), v)))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", pd.errors.ValueLabelTypeMismatch)
            frame = pd.DataFrame({"pay": own, "band": own})
            frame.to_stata(tmp_path / "t.dta", write_index=False)
        table = read_table(tmp_path / "t.dta", Schema((pay, band)))
        assert table["pay"].tolist()[:3] == table["band"].tolist()[:3] == [10, 20, 30]
    assert str(table["pay"].iloc[3]) == str(more)  # no 0, and no 3


#: A table of three rows and its catalog as SAS writes them, packed: test data of pyreadstat (Apache
#: licence 2.0), in which code 1 stands for Male and 2 for Female.
SAS = Path(__file__).with_name("sas.txt")


def test_labels_of_sas_stand_in_a_catalog_beside_the_table(tmp_path: Path) -> None:
    for line in SAS.read_text().splitlines():
        ending, _, packed = line.partition(" ")
        (tmp_path / f"t.{ending}").write_bytes(gzip.decompress(base64.b64decode(packed)))
    path, listed = tmp_path / "t.sas7bdat", ("Male", "Female")
    columns = (Column(n, "categorical", categories=listed) for n in ("SEXA", "SEXB"))
    schema = Schema(tuple(columns), left_out=())
    table = read_table(path, schema)
    assert table["SEXA"].tolist() == table["SEXB"].tolist() == ["Male", "Female", "Male"]
    (tmp_path / "t.sas7bcat").unlink()
    assert read_table(path, schema)["SEXA"].tolist() == ["1", "2", "1"]
    pyreadstat.write_xport(TABLE[["age", "town"]], tmp_path / "t.xpt")
    assert read_table(tmp_path / "t.xpt")["age"].tolist() == TABLE["age"].tolist()


# -- what cannot be read -------------------------------------------------------------------


def test_a_file_that_says_a_lot_in_few_bytes_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stats_files, "HARMLESS", 2**24)
    path = tmp_path / "bomb.zsav"
    pyreadstat.write_sav(pd.DataFrame({"a": np.zeros(2_000_000)}), path, compress=True)
    assert path.stat().st_size < 50_000
    megabytes, line = memory_of(lambda: read_table(path))
    assert "would have more than 16,777,216 bytes in memory" in line
    assert megabytes < 100


def test_a_bent_file_that_crashes_its_reader_is_one_error(tmp_path: Path) -> None:
    """Readers in C end the process at some bent bytes; a process of its own finds out."""
    check = "import os, sys; os.kill(os.getpid(), 11) if sys.argv[2].endswith('bent.sav') else None"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stats_files, "TRIAL", check)
        assert len(read_table(survey(tmp_path))) == ROWS
        with pytest.raises(SchemaError, match=r"bent\.sav' is not .*: it crashes its reader"):
            read_table(survey(tmp_path, name="bent.sav"))


ENDINGS = ("sav", "dta", "sas7bdat", "xpt", "por")


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("content", ["empty", "text", "half", "absent", "folder"])
def test_an_unreadable_file_is_one_error(ending: str, content: str, tmp_path: Path) -> None:
    path = tmp_path / f"t.{ending}"
    frame = pd.DataFrame({"name": [SECRET] * 2000})
    write = {"sav": pyreadstat.write_sav, "dta": pyreadstat.write_dta}.get(
        ending, pyreadstat.write_xport
    )
    write(frame, path)
    if content in ("folder", "absent"):
        path.unlink()
    if content == "folder":
        path.mkdir()
    elif content != "absent":
        whole = path.read_bytes()
        bent = {"empty": b"", "text": SECRET.encode() * 90, "half": whole[: len(whole) // 2]}
        path.write_bytes(bent[content])
    with pytest.raises(SchemaError) as caught:
        read_table(path)
    message = str(caught.value)
    assert repr(str(path)) in message and SECRET not in message and "\n" not in message


def test_without_the_extra_one_line_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = survey(tmp_path)
    monkeypatch.setitem(sys.modules, "pyreadstat", None)
    with pytest.raises(SettingError, match=r"pip install 'copula-shirley\[stats\]' adds it"):
        read_table(path)


# -- writing ---------------------------------------------------------------------------------

KINDS = Schema.from_yaml("""
columns:
  n: {kind: integer, minimum: 0, maximum: 3000000000, missing: true}
  f: {kind: continuous, minimum: 0, maximum: 9}
  s: {kind: categorical, categories: [y, x], missing: true}
  c: {kind: categorical, categories: [1, 7]}
  b: {kind: boolean, missing: true}
  t: {kind: datetime, minimum: 1900-01-01, maximum: 2021-01-01, resolution: 1s, missing: true}
  d: {kind: duration, minimum: 0s, maximum: 9 days, resolution: 1s}
""")


def test_a_file_of_stata_is_written_and_read_again(tmp_path: Path) -> None:
    table = Uniform(random_state=1).fit(
        pd.DataFrame(
            {
                "n": pd.array([3_000_000_000, None], dtype="Int64"), "f": [0.5, 9.0],
                "s": ["x", None], "c": [1, 7], "b": pd.array([True, None], dtype="boolean"),
                "t": pd.to_datetime(["1901-05-06", None]), "d": pd.to_timedelta(["1h", "2h"]),
            }
        ),
        KINDS,
    ).sample(40, random_state=2)  # fmt: skip
    write_table(tmp_path / "o.dta", [table[:25], table[25:]], "stata")
    again = KINDS.validate(read_table(tmp_path / "o.dta", KINDS))
    for column in KINDS:
        numbers = column.domain.to_numbers(table[column.name])
        assert np.array_equal(column.domain.to_numbers(again[column.name]), numbers), column.name
    labels = pyreadstat.read_dta(tmp_path / "o.dta")[1].variable_value_labels
    assert list(labels["s"].values()) == ["x", "y"]


def test_the_encoding_of_a_csv_file_is_not_that_of_a_new_file_of_stata(tmp_path: Path) -> None:
    """What a model of a file in cp1252 drew was read back as GynÃ¤kologie, and not verified."""
    schema = Schema.from_yaml(
        "{file: {encoding: cp1252}, columns: {w: {kind: categorical, categories: [Gynäkologie]}}}"
    )
    table = pd.DataFrame({"w": ["Gynäkologie"] * 3})
    write_table(tmp_path / "o.dta", [table], "stata")
    assert read_table(tmp_path / "o.dta", schema)["w"].tolist() == table["w"].tolist()
    old = table.replace("ä", "a", regex=True)
    old.to_stata(tmp_path / "old.dta", write_index=False, version=117)
    content = (tmp_path / "old.dta").read_bytes().replace(b"Gynakologie", b"Gyn\xe4kologie")
    (tmp_path / "old.dta").write_bytes(content)
    assert read_table(tmp_path / "old.dta", schema)["w"].tolist() == table["w"].tolist()


@pytest.mark.parametrize(
    ("column", "said"),
    [
        (Column("a b", "boolean"), "column 'a b': a name in Stata has at most 32 letters"),
        (Column("x" * 33, "boolean"), "a name in Stata has at most 32"),
        (Column("if", "boolean"), "column 'if': a name in Stata"),
        (Column("é", "boolean"), "a name in Stata"),
        (Column("s", "categorical", categories=("x" * 40_000,)), "column 's': a category has more"),
        (
            Column("t", "duration", minimum="0s", maximum="1s", resolution="1us"),
            r"column 't': resolution \(1us\) is finer than 1ms",
        ),
    ],
)
def test_what_stata_cannot_hold_is_refused(column: Column, said: str) -> None:
    check_written(Path("t.csv"), Schema((column,)), 9)
    with pytest.raises(SchemaError, match=f"'t.dta'.*{said}"):
        check_written(Path("t.dta"), Schema((column,)), 9)


def test_commands_write_stata(tmp_path: Path) -> None:
    survey(tmp_path, TABLE[["sex", "health"]])
    run("draft s.sav --declare-labels -o s.yaml", folder=tmp_path)
    made = run("synthesize s.sav --schema s.yaml --model uniform -o o.dta -n 30", folder=tmp_path)
    assert made.code == 0, made.err
    schema = Schema.read(tmp_path / "s.yaml")
    assert len(schema.validate(read_table(tmp_path / "o.dta", schema))) == 30
    assert run("verify o.dta", folder=tmp_path).code == 0
    said = run("sample m -o o.sav", folder=tmp_path).refusal()
    assert "must end in one of .csv, .tsv, .txt, .parquet, .pq, .xlsx, .dta" in said
