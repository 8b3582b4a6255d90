"""Tables come back from files as they were, and a file that is none is refused."""

from __future__ import annotations

import datetime as dt
import gzip
import io
import pickle
import sys
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from commands import run
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tables import PEOPLE, people

from copula_shirley.errors import SchemaError
from copula_shirley.generator import find_generator
from copula_shirley.privacy.ledger import Budget
from copula_shirley.publish.releases import ReleaseLedger
from copula_shirley.rows import fields, text_files
from copula_shirley.rows.admitted import Admitted
from copula_shirley.rows.tables import check_extension, read_table
from copula_shirley.rows.writing import write_table
from copula_shirley.schema.kind import Kind
from copula_shirley.schema.schema import Column, LeftOut, Schema

SECRET = "quarry4711"


def file(folder: Path, content: str | bytes, name: str = "table.csv") -> Path:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def write(path: Path, *chunks: pd.DataFrame) -> None:
    write_table(path, chunks, check_extension(path))


def category(name: str, *listed: Any, **fields: Any) -> Column:
    return Column(name, "categorical", categories=listed, **fields)


# -- by hand ---------------------------------------------------------------------------

SCHEMA = Schema.from_yaml("""
columns:
  code: {kind: categorical, categories: ["007", "7", NA]}
  word: {kind: categorical, categories: [None, nan, "null", "True"], missing: true}
  age: {kind: integer, minimum: 0, maximum: 99}
  pay: {kind: continuous, minimum: 0, maximum: 9, missing: true}
  flag: {kind: boolean}
  day: {kind: datetime, minimum: 2020-01-01, maximum: 2020-12-31, resolution: 1D, format: "%Y%m%d"}
""")
TEXT = """\
code,word,age,pay,flag,day
007,None,0,0.5,True,20200101
7,nan,99,,False,20200229
NA,,42,9.0,True,20201231
007,null,1,0.1,True,20200601
007,True,2,0.25,False,20200602
7,nan,3,,False,20200603
"""


def six_rows() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "code": ["007", "7", "NA", "007", "007", "7"],
            "word": ["None", "nan", None, "null", "True", "nan"],
            "age": [0, 99, 42, 1, 2, 3],
            "pay": [0.5, np.nan, 9.0, 0.1, 0.25, np.nan],
            "flag": [True, False, True, True, False, False],
            "day": ["20200101", "20200229", "20201231", "20200601", "20200602", "20200603"],
        }
    )


def values_of(table: pd.DataFrame) -> dict[str, list[Any]]:
    """The values whatever they are stored as, gaps as None."""
    return {n: table[n].astype(object).where(table[n].notna(), None).tolist() for n in table}


@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_a_csv_file_by_hand(tmp_path: Path, line_end: str, mark: str) -> None:
    table = read_table(file(tmp_path, mark + TEXT.replace("\n", line_end)), SCHEMA)
    assert values_of(table) == values_of(six_rows())
    assert table["flag"][0] is True and type(table["age"][0]) is int
    assert pickle.loads(pickle.dumps(SCHEMA)) == SCHEMA  # what read a file travels to processes
    SCHEMA.validate(table)


def test_a_table_is_written_by_hand_in_chunks(tmp_path: Path) -> None:
    path = tmp_path / "out.csv"
    write(path, six_rows().iloc[:4], six_rows().iloc[4:])
    assert path.read_text(encoding="utf-8") == TEXT


WORDS = ("NA", "N/A", "None", "none", "null", "NULL", "nan", "NaN", "#N/A", "-", "?")


def test_only_an_empty_field_is_missing(tmp_path: Path) -> None:
    path = file(tmp_path, "a,b\n" + "".join(f"{word},1\n" for word in WORDS) + ",?\n")
    table = read_table(path)
    assert table["a"].tolist()[:-1] == [*WORDS] and table["a"].isna().tolist()[-1]
    table = read_table(path, missing=["?"])  # texts that stand for missing can be named
    assert table["a"].isna().tolist() == [False] * 10 + [True] * 2
    assert table["b"].isna().tolist() == [False] * 11 + [True]


def test_leading_zeros_stay_where_the_schema_lists_texts(tmp_path: Path) -> None:
    columns = (category("a", "007", "010"), Column("b", "integer", minimum=0, maximum=99))
    schema = Schema((*columns, category("c", "x")), person="id")
    table = read_table(file(tmp_path, "id,a,b\n007,007,007\n7,010,010\n"), schema)
    assert table["id"].tolist() == ["007", "7"]  # people are texts
    assert table["a"].tolist() == ["007", "010"] and table["b"].tolist() == [7, 10]
    assert list(table.columns) == ["id", "a", "b"]  # a schema may name others


def test_whole_numbers_with_gaps_stay_whole(tmp_path: Path) -> None:
    """What is read and written again shows 34, not 34.0."""
    age = Column("age", "integer", minimum=0, maximum=99, missing=True)
    schema = Schema((age, category("level", 1, 2, missing=True), category("word", "x")))
    text = "age,level,word\n34,1,x\n,,x\n35,2,x\n"
    write(tmp_path / "again.csv", schema.validate(read_table(file(tmp_path, text), schema)))
    assert (tmp_path / "again.csv").read_text(encoding="utf-8") == text


# -- one parse, in blocks ------------------------------------------------------------


#: Told the name of every file that is opened; an audit hook cannot be taken away.
opening: list[Any] = []
sys.addaudithook(lambda event, about: [tell(str(about[0])) for tell in opening * (event == "open")])


@contextmanager
def counted(monkeypatch: pytest.MonkeyPatch) -> Iterator[Counter[str]]:
    """How often each file is opened, and how often tables are validated and values checked."""
    counts: Counter[str] = Counter()

    def count(owner: type, name: str) -> None:
        true = getattr(owner, name)

        def counting(self: Any, *args: Any, **options: Any) -> Any:
            counts[f"{owner.__name__}.{name}"] += 1
            return true(self, *args, **options)

        monkeypatch.setattr(owner, name, counting)

    for owner, name in ((Schema, "validate"), (Schema, "people"), (Kind, "check")):
        count(owner, name)
    opening.append(lambda name: counts.update([Path(name).name]))
    try:
        yield counts
    finally:
        opening.clear()


@pytest.mark.parametrize(
    "options", [(), ("--releases", "cap.json"), ("--show-values",), ("--domain", "measured")]
)
def test_synthesize_opens_and_validates_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: tuple[str, ...]
) -> None:
    people(100).assign(who=range(100), email="x").to_csv(tmp_path / "t.csv", index=False)
    columns = [replace(PEOPLE["age"]), PEOPLE["job"], PEOPLE["income"]]
    if "--domain" in options:
        columns[1] = Column("job", "categorical", provenance="private")
    left = tuple(LeftOut(n, replace="id") for n in (*PEOPLE.names[3:], "email"))
    Schema(tuple(columns), "who", left_out=left).write(tmp_path / "s.yaml")
    ReleaseLedger.new(tmp_path / "cap.json", Budget(9, 1e-6), unit="person")
    words = (
        "synthesize",
        "t.csv",
        "--schema",
        "s.yaml",
        "-o",
        "out.csv",
        "--accept-poor",
        *options,
    )
    with counted(monkeypatch) as counts:
        outcome = run(*words, folder=tmp_path)
    assert outcome.code == 0, outcome.err
    checked = 2 if "--domain" in options else 3
    assert counts["t.csv"] == counts["s.yaml"] == counts["Schema.validate"] == 1
    assert counts["Kind.check"] == checked
    assert counts["Schema.people"] == 2  # to bound each person's rows, and to hold them


def test_what_was_admitted_is_not_admitted_to_another_schema() -> None:
    table, schema = people(50)[["age"]], Schema((PEOPLE["age"],))
    model = find_generator("dp-histogram")()
    admitted = model.admit(table, schema)
    narrow = Schema((replace(PEOPLE["age"], maximum=19),))
    with pytest.raises(SchemaError, match="outside"):
        model.fit(admitted, narrow)
    assert not any(isinstance(value, Admitted) for value in vars(model).values())


def test_an_admitted_table_is_a_copy() -> None:
    """Once a table that was changed after it had been admitted was fitted unseen."""
    table, schema = people(50)[["age"]], Schema((PEOPLE["age"],))
    model = find_generator("dp-histogram")(random_state=0)
    admitted = model.admit(table, schema)
    table["age"] = 10**6
    assert model.fit(admitted, schema).sample(20)["age"].max() <= PEOPLE["age"].maximum
    with pytest.raises(SchemaError, match="outside"):
        model.fit(table, schema)


def test_nobody_changes_what_was_admitted() -> None:
    """In a changed table one person had all rows of a fit that was proved for two rows each."""
    schema = Schema((PEOPLE["age"],), "who", 2)
    table = people(50)[["age"]].assign(who=np.arange(50) // 2)
    admitted = find_generator("private-vine")(random_state=0).admit(table, schema)
    seen = admitted.table
    seen["who"] = 0
    pd.testing.assert_frame_equal(admitted.table, table)


@pytest.mark.parametrize("letters", [1, 2, 3, 7])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_where_blocks_end_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, letters: int, end: str
) -> None:
    text = f'a,b{end}{end}1,"x{end}{end}y"{end}{end * 5}2,\u2028\x0c{end}3,"{end}"'
    path, schema = file(tmp_path, text), Schema.of_kinds({"a": "integer", "b": "categorical"})
    for name in ("LETTERS", "LINES"):
        monkeypatch.setattr(fields, name, letters)
    table = read_table(path, schema)
    assert table["a"].tolist() == [1, 2, 3] == read_table(path)["a"].tolist()
    assert table["b"].tolist() == [f"x{end}{end}y", "\u2028\x0c", end]


@pytest.mark.parametrize("line", ["a" * 40, '"' + "a\n" * 20 + '"', "a" * 20])
def test_a_line_that_is_too_long_ends_the_reading(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: str
) -> None:
    monkeypatch.setattr(fields, "LONGEST_LINE", 30)
    monkeypatch.setattr(fields, "LETTERS", 7)
    path = file(tmp_path, f"a\nx\n{line}\ny\n")
    if len(line) <= 30 or "\n" in line:
        assert read_table(path)["a"].tolist() == ["x", line.strip('"'), "y"]
    else:
        assert "must have at most 30 letters" in refusal(path)


INFERRED = {
    "whole": ["1", "2", "-3", ""],
    "decimals": ["0.1", "1e3", "", "12345678901234567890.5"],
    "booleans": ["True", "FALSE", "true", "False"],
    "booleans with gaps": ["True", "", "False", "True"],
    "large": ["9223372036854775808", "1", "2", "3"],
    "mixed": ["1", "x", "True", "1.0"],
    "codes": ["01", "10", "", "3"],
    "words": ["nan", "NA", "?", "inf "],
    "spaces": [" 1", "2 ", "3", "4"],
}


@pytest.mark.parametrize("missing", [[], ["?", "3"]], ids=["empty", "named"])
def test_types_without_a_schema_are_those_of_pandas(tmp_path: Path, missing: list[str]) -> None:
    fields = pd.DataFrame(INFERRED, dtype=str)
    fields.to_csv(tmp_path / "t.csv", index=False)
    codes: dict[Any, Any] = {"codes": str}
    options: dict[str, Any] = {"keep_default_na": False, "na_values": ["", *missing]}
    expected = pd.read_csv(
        tmp_path / "t.csv", dtype=codes, low_memory=False, **options, **text_files.EXACT_FLOATS
    )
    pd.testing.assert_frame_equal(read_table(tmp_path / "t.csv", missing=missing), expected)


# -- other formats of text, packed ones ------------------------------------------------

PAY = Schema.from_yaml("""
file: {separator: ;, encoding: cp1252, decimal: ',', thousands: ., missing: [k.A.], strip: true}
columns:
  pay: {kind: continuous, minimum: 0, maximum: 9999, resolution: 0.01, missing: true}
  town: {kind: categorical, categories: [Köln, "a;b"]}
left_out: {name: }
""")
GERMAN = "pay ;name;town\n1.234,50;Müller;Köln\nk.A.;x; a;b \n".replace(" a;b ", '"a;b "')


def test_a_file_is_read_and_written_as_the_schema_says(tmp_path: Path) -> None:
    table = read_table(file(tmp_path, GERMAN.encode("cp1252")), PAY)
    assert values_of(table) == {
        "pay": [1234.5, None], "name": [None, None], "town": ["Köln", "a;b"],
    }  # fmt: skip
    for column in table, table.astype({"pay": float}):  # as objects and as floats
        write_table(tmp_path / "out.csv", [column.drop(columns="name")], "csv", how=PAY.file)
        text = (tmp_path / "out.csv").read_text(encoding="cp1252")
        assert text == 'pay;town\n1234,5;Köln\n;"a;b"\n'
        assert values_of(read_table(tmp_path / "out.csv", PAY))["pay"] == [1234.5, None]


@pytest.mark.parametrize("name", ["t.csv.gz", "t.csv.zip", "t.zip", "t.tsv", "t.tsv.gz"])
def test_packed_files_and_tabs(tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    text = TEXT.replace(",", "\t") if "tsv" in name else TEXT
    content = text.encode()
    if name.endswith(".gz"):
        content = gzip.compress(content)
    if name.endswith(".zip"):
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("folder/inside.csv", content)
            archive.writestr("__MACOSX/x", b"")
        content = packed.getvalue()
    path = file(tmp_path, content, name)
    assert values_of(read_table(path, SCHEMA)) == values_of(six_rows())
    monkeypatch.setattr("copula_shirley.rows.packed.HARMLESS", 5)
    monkeypatch.setattr("copula_shirley.rows.packed.LARGEST_RATIO", 0)
    if name != "t.tsv":
        assert "holds more than 5 bytes" in refusal(path, SCHEMA)
    with pytest.raises(SchemaError, match=r"must end in one of \.csv"):
        check_extension("t.csv.gz", writes=True)


def test_a_zip_file_of_two_tables_is_refused(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "t.zip", "w") as archive:
        archive.writestr("a.csv", b"")
        archive.writestr("b.csv", b"")
    assert "must hold one table, and holds 2 files" in refusal(tmp_path / "t.zip", SCHEMA)
    for broken in (gzip.compress(TEXT.encode())[:40], gzip.compress(TEXT.encode())[:-9] + b"x" * 9):
        assert "cannot be unpacked" in refusal(file(tmp_path, broken, "t.csv.gz"), SCHEMA)


# -- round trips -----------------------------------------------------------------------

#: Printable characters: a CSV file cannot hold every control character.
words = st.text(
    st.characters(exclude_categories=("C", "Zl", "Zp")) | st.just("\n"), min_size=1, max_size=6
)
words |= st.sampled_from(["NA", "None", "nan", "007", " x ", "a,b", 'say "x"', "1e5", "True"])
WHOLE, REAL = {"minimum": -(2**53), "maximum": 2**53}, {"minimum": -1e15, "maximum": 1e15}


@st.composite
def tables(draw: st.DrawFn) -> tuple[pd.DataFrame, Schema]:
    size = draw(st.integers(1, 8))
    listed = draw(st.lists(words, min_size=1, max_size=5, unique=True))
    first, second = (f"{letter}{draw(words)}".replace("\n", " ") for letter in "wg")
    known: list[tuple[Column, Any]] = [
        (category(first, *listed), st.sampled_from(listed)),
        (category(second, *listed, missing=True), st.sampled_from([None, *listed])),
        (Column("whole", "integer", **WHOLE), st.integers(-(2**53), 2**53)),
        (Column("number", "continuous", **REAL), st.floats(-1e15, 1e15)),
        (Column("g", "continuous", missing=True, **REAL), st.none() | st.floats(-1e3, 1e3)),
        (Column("flag", "boolean"), st.booleans()),
    ]
    values = {c.name: draw(st.lists(of, min_size=size, max_size=size)) for c, of in known}
    return pd.DataFrame(values), Schema(tuple(column for column, _ in known))


@pytest.mark.parametrize("name", ["t.csv", "t.parquet"])
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(drawn=tables(), cut=st.integers(0, 8))
def test_the_round_trip(
    tmp_path: Path, name: str, drawn: tuple[pd.DataFrame, Schema], cut: int
) -> None:
    table, schema = drawn
    write(tmp_path / name, table.iloc[:cut], table.iloc[cut:])
    again = read_table(tmp_path / name, schema)
    assert values_of(again) == values_of(table)
    schema.validate(again)


def test_parquet_keeps_every_dtype(tmp_path: Path) -> None:
    values: dict[Any, list[Any]] = {
        **{dtype: [1, 2] for dtype in ("int32", "uint8")},
        **{dtype: [1, None] for dtype in ("Int64", "boolean", "float32")},
        pd.CategoricalDtype(["b", "a"], ordered=True): ["b", "a"],
        object: [dt.date(2020, 1, 1), None],
    }
    table = pd.DataFrame({str(d): pd.Series(v, dtype=d) for d, v in values.items()})
    stamps = pd.Series(pd.to_datetime(["2020-01-01 01:02:03", "2020-06-01 00:00:00"]))
    table = table.assign(**{u: stamps.astype(f"datetime64[{u}]") for u in ("ns", "us")})
    table = table.assign(zone=stamps.dt.tz_localize("Europe/Berlin"))
    write(tmp_path / "t.parquet", table.iloc[:1], table.iloc[1:])
    pd.testing.assert_frame_equal(read_table(tmp_path / "t.parquet"), table)


@pytest.mark.parametrize("name", ["t.csv", "t.parquet"])
def test_tables_of_little(tmp_path: Path, name: str) -> None:
    first = pd.DataFrame({"a": pd.Series([None], dtype=object)})
    write(tmp_path / name, first, pd.DataFrame({"a": ["x"]}))
    table = read_table(tmp_path / name)
    assert table["a"].isna().tolist() == [True, False] and table["a"][1] == "x"
    write(tmp_path / name, six_rows().iloc[:0])
    table = read_table(tmp_path / name, SCHEMA)
    assert list(table.columns) == list(SCHEMA.names) and len(table) == 0


def test_the_extension_says_what_a_file_is() -> None:
    names = ("a.csv", "a.CSV", "b.c.parquet", "a.pq")
    assert [check_extension(name) for name in names] == ["csv", "csv", "parquet", "parquet"]


# -- what cannot be read ---------------------------------------------------------------


def refusal(path: Path, schema: Schema | None = None) -> str:
    """The one message about a file; it names the file and quotes nothing of it."""
    with pytest.raises(SchemaError) as caught:
        read_table(path, schema)
    message = str(caught.value)
    assert repr(str(path)) in message
    assert SECRET not in message and "4711" not in message
    assert "\n" not in message
    assert caught.value.__suppress_context__ or caught.value.__context__ is None
    return message


def parquet(change: Callable[[bytes], bytes]) -> bytes:
    """The bytes of a Parquet file, changed."""
    whole = io.BytesIO()
    pd.DataFrame({"a": [SECRET, "b"] * 500, "b": range(1000)}).to_parquet(whole)
    return change(whole.getvalue())


TWICE = pa.table([pa.array([1]), pa.array([2])], names=["a", "a"])
ODD = "different numbers of fields"
UNREADABLE: dict[str, tuple[str | bytes, str]] = {
    "empty.csv": ("", "it is empty"),
    "blank lines.csv": ("\n\n\n", "it is empty"),
    "binary.csv": (b"\x89PNG\r\n\x1a\n\x00" + SECRET.encode(), "not UTF-8"),
    "another encoding.csv": (f"a,b\n{SECRET},caf\xe9\n".encode("latin-1"), "not UTF-8"),
    "UTF-16.csv": (f"a,b\n{SECRET},1\n".encode("utf-16"), "not UTF-8"),
    "a line too long.csv": (f"a,b\n1,2\n{SECRET},5,6\n", ODD),
    "a line too short.csv": (f"a,b\n1,2\n{SECRET}\n", ODD),
    "every line too long.csv": (f"a,b\n1,2,{SECRET}\n4,5,{SECRET}\n", ODD),
    "an open quote.csv": (f'a,b\n1,"{SECRET}\n2,3\n', "a quote is not closed"),
    "twice.csv": (f"a,b,a\n1,{SECRET},3\n", "column 'a' stands twice"),
    "twice behind a mark.csv": (b"\xef\xbb\xbfa,a\n1,2\n", "column 'a' stands twice"),
    "another separator.csv": (f"a;b\n1;{SECRET}\n", "commas"),
    "table.doc": (SECRET, "must end in one of .csv, .tsv, .txt, .parquet, .pq"),
    "table.csv.gz": (SECRET, "cannot be unpacked"),
    "table.csv.zip": (SECRET, "cannot be unpacked"),
    "empty.parquet": (b"", ""),
    "text.parquet": (SECRET.encode() * 20, ""),
    "magic bytes alone.parquet": (b"PAR1PAR1", ""),
    "corrupt.parquet": (parquet(lambda whole: whole[:20] + b"x" * 40 + whole[60:]), ""),
    **{
        f"{share} of it.parquet": (parquet(lambda w, s=share: w[: int(s * len(w))]), "")  # type: ignore[misc]
        for share in (0.2, 0.5, 0.9, 0.99)
    },
}


@pytest.mark.parametrize("name", UNREADABLE)
def test_an_unreadable_file_is_one_error(tmp_path: Path, name: str) -> None:
    content, reason = UNREADABLE[name]
    path = file(tmp_path, content, name)
    for schema in (None, SCHEMA):
        assert reason in refusal(path, schema)


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_path_that_is_no_file_is_one_error(tmp_path: Path, ending: str) -> None:
    (tmp_path / f"folder.{ending}").mkdir()
    refusal(tmp_path / f"folder.{ending}")
    for name in ("absent", "absent/table"):
        assert "does not exist" in refusal(tmp_path / f"{name}.{ending}")
    pq.write_table(TWICE, tmp_path / "twice.parquet")
    refusal(tmp_path / "twice.parquet")
