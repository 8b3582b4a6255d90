"""One row does not change how others are read: files and frames, every kind, odd values."""

from __future__ import annotations

import csv
import datetime as dt
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from copula_shirley import Column, PrivateVine, Schema, SchemaError, SettingError, read_table
from copula_shirley.evaluation.contract.cost import excess
from copula_shirley.measure.recorded_fits import recorded, replayed
from copula_shirley.private_vine.domain import raw_rows
from copula_shirley.schema.column import KINDS
from copula_shirley.schema.conditions import conditions
from copula_shirley.schema.domain import MISSING
from copula_shirley.schema.file_format import FileFormat
from copula_shirley.schema.values import (
    label_of,
    moment_of,
    number_of,
    truth_of,
)

DATES: dict[str, Any] = {"minimum": "2020-01-01", "maximum": "2020-12-31", "resolution": "1D"}
#: A column of each kind, with its domain and without.
COLUMNS = [
    Column("x", "categorical", categories=("a", "007", "unknown"), missing=True),
    Column("x", "categorical", categories=(1, 2.5, "7"), missing=True),
    Column("x", "categorical", categories=(False, True), missing=True),
    Column("x", "boolean", missing=True),
    Column("x", "integer", minimum=-9, maximum=99, missing=True),
    Column("x", "continuous", minimum=-9, maximum=99, missing=True),
    Column("x", "datetime", **DATES, missing=True),
    Column("x", "datetime", **DATES, format="%Y%m%d", missing=True),
    Column("x", "duration", minimum="0s", maximum="1h", missing=True),
    *(Column("x", kind, provenance="private") for kind in KINDS),
]
SPELT = """a 007 unknown 7 7.0 2.5 TRUE true False 0 -9 -9.00 20200131 2020-01-31 31/01/2020 1e5
1e999 NaN inf NA 0:30:00 1_000 1,5 é \uff11\uff12 say=\u201dx\u201d "b" =1+1"""
TEXTS = [*SPELT.split(), "9" * 401, " 12 ", "a\0b", "\0", "", "x\ny"]
texts = st.sampled_from(TEXTS) | st.text(st.characters(exclude_categories=("Cs",)), max_size=5)


def written(path: Path, values: list[str]) -> Path:
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, quoting=csv.QUOTE_ALL).writerows([["x"], *([v] for v in values)])
    return path


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=400)
@given(
    column=st.sampled_from(COLUMNS),
    usual=st.lists(texts, min_size=1, max_size=6),
    odd=texts,
    missing=st.sampled_from([(), ("-9",), ("NA", "-9")]),
    data=st.data(),
)
def test_no_row_of_a_file_changes_how_others_are_read(
    tmp_path: Path,
    column: Column,
    usual: list[str],
    odd: str,
    missing: tuple[str, ...],
    data: st.DataObject,
) -> None:
    at = data.draw(st.integers(0, len(usual)))
    schema = Schema((column,))
    alone = read_table(written(tmp_path / "d.csv", usual), schema, missing)
    more = read_table(written(tmp_path / "e.csv", [*usual[:at], odd, *usual[at:]]), schema, missing)
    rest = more.drop(at).reset_index(drop=True)
    pd.testing.assert_frame_equal(rest, alone, check_exact=True)
    assert [type(v) for v in rest["x"]] == [type(v) for v in alone["x"]]


@pytest.mark.parametrize("column", [c for c in COLUMNS if not c.open], ids=str)
def test_values_together_have_the_numbers_of_each_alone(column: Column) -> None:
    domain = column.domain
    values = pd.Series(domain.reader(FileFormat(missing=("-9",)))(TEXTS), dtype=domain.file_dtype)
    alone = [domain.to_numbers(values.iloc[[i]])[0] for i in range(len(values))]
    np.testing.assert_array_equal(domain.to_numbers(values), alone)


@pytest.mark.parametrize("kind", KINDS)
def test_odd_texts_are_read_or_missing_or_refused(tmp_path: Path, kind: str) -> None:
    """Numbers of 401 digits were an internal error."""
    schema = Schema((Column("x", kind, **KINDS[kind].least),))
    for odd in TEXTS:
        table = read_table(written(tmp_path / "d.csv", [odd, "7", "quarry"]), schema)
        assert len(table) == 3  # and then the schema has its word
        with pytest.raises(SchemaError, match=r"^column 'x': "):
            schema.validate(table)


OBJECTS = [
    *("7", "unknown", "half \ud800", "a\0b", "9" * 401, 7, 7.5, -0.0, True, False, 1, 1.0, 0),
    *(10**400, 2**53 - 1, 2**53, 2**53 + 1, Decimal(7), Decimal("sNaN"), Decimal("NaN")),
    *(np.int8(7), np.float32(7.5), np.bool_(True), np.str_("7"), np.nan, None, pd.NA, pd.NaT),
    *(float("inf"), 1j, [1], {"a": 1}, (1, 2), np.array([1, 2]), b"7", dt.date(2020, 1, 31)),
    *(dt.datetime(2020, 1, 31, tzinfo=dt.UTC), pd.Timestamp("2020-01-31"), np.datetime64("2020")),
    *(pd.Timestamp("2020-01-31", tz="Asia/Tokyo"), np.timedelta64(1, "s"), pd.Timedelta("1s")),
]


def records_of(values: Any, column: Column) -> list[Any]:
    table = pd.DataFrame({"x": values})
    records = raw_rows(table, {"x": column.domain.stored}, Schema((column,)))
    numbers = records.numbers.get("x", np.zeros(len(table))).tolist()
    labels = records.labels.get("x", pd.Series([None] * len(table))).tolist()
    return [repr(row) for row in zip(numbers, labels, records.missing["x"].tolist(), strict=True)]


def objects(values: list[Any]) -> pd.Series:
    whole = np.empty(len(values), dtype=object)
    whole[:] = values
    return pd.Series(whole)


@given(
    column=st.sampled_from([c for c in COLUMNS if c.provenance == "private"]),
    usual=st.lists(st.sampled_from(OBJECTS), min_size=1, max_size=5),
    odd=st.sampled_from(OBJECTS),
)
def test_no_row_of_a_frame_changes_how_others_are_read(
    column: Column, usual: list[Any], odd: Any
) -> None:
    alone, more = (records_of(objects(v), column) for v in (usual, [*usual, odd]))
    assert more[:-1] == alone


# -- end to end: told the same noisy answers, all else is the same --------------------------

N = 300
#: What pandas made of a whole column, and one row undid: kind, texts, the odd text.
FOUND = {
    "truth values": ("boolean", ["TRUE", "FALSE", "TRUE"], "unknown", ()),
    "a number that means missing": ("integer", ["-9.00", "8.00", "31.00"], "refused", ("-9",)),
    "dates without a format": ("datetime", ["20200131", "20200301"], "unknown", ()),
    "truth values as numbers": ("integer", ["True", "False"], "7", ()),
    "codes": ("categorical", ["1", "2", "3"], "007", ()),
    "numbers": ("continuous", ["1.5", "2", "1e3"], "9" * 401, ()),
}


@pytest.mark.parametrize("what", FOUND)
@pytest.mark.parametrize("through", ["file", "frame"])
def test_a_measured_domain_sees_one_row_more_as_one_row_more(
    what: str, through: str, tmp_path: Path
) -> None:
    kind, usual, odd, missing = FOUND[what]
    values = [usual[i % len(usual)] for i in range(N)]
    schema = Schema.of_kinds({"x": kind, "y": "integer"})

    def table(texts_: list[str]) -> pd.DataFrame:
        rows = pd.DataFrame({"x": texts_, "y": [str(i % 4) for i in range(len(texts_))]})
        if through == "frame":
            return rows.astype(object)
        rows.to_csv(tmp_path / "t.csv", index=False)
        return read_table(tmp_path / "t.csv", schema, missing)

    fit = {"epsilon": 8.0, "delta": 1e-6, "domain": "measured", "random_state": 1}
    one, other = PrivateVine(**fit), PrivateVine(**fit)
    with recorded(one) as record:
        one.fit(table(values), schema)
    with replayed(other, record) as again:
        other.fit(table([*values, odd]), schema)
    assert not one.ledger_.unprotected
    assert excess(record, again, one.ledger_) is None  # of all counts one changed by one
    assert one.ledger_.to_dict() == other.ledger_.to_dict() and one.schema_ == other.schema_
    paths = tmp_path / "one", tmp_path / "other"
    one.save(paths[0])
    other.save(paths[1])
    assert paths[0].read_bytes() == paths[1].read_bytes()
    pd.testing.assert_frame_equal(one.sample(50), other.sample(50))


# -- kinds ----------------------------------------------------------------------------------


def test_kinds_that_nobody_declared_are_unprotected() -> None:
    """One "007" makes a column of whole numbers categorical."""
    table = pd.DataFrame({"x": [1, 2, 3] * 100})
    found = PrivateVine(domain="measured").fit(table).ledger_
    assert {(u.stage, u.what) for u in found.unprotected} == {("domain", "x")} and not found.proved
    declared = PrivateVine(domain="measured").fit(table, Schema.of_kinds({"x": "integer"}))
    assert declared.ledger_.proved is not None
    model = PrivateVine(domain="measured").fit(table, Schema.draft(table))
    assert model.ledger_.domains == {"x": "drafted"} and model.ledger_.proved is None
    # nor does the schema of the model forget it
    again = PrivateVine(domain="measured").fit(table, Schema.from_yaml(model.schema_.to_yaml()))
    assert again.ledger_.proved is None


@pytest.mark.parametrize("column", [c for c in COLUMNS if c.provenance == "private"], ids=str)
def test_a_domain_that_is_to_be_measured_is_refused_where_none_is(column: Column) -> None:
    """Also with bounds: a draft in which provenance was merely changed."""
    table = pd.DataFrame({"x": ["1", "0"]})
    with pytest.raises(SchemaError, match=r"column 'x': provenance \(private\)"):
        PrivateVine().fit(table, Schema((column,)))
    if column.open:
        with pytest.raises(SchemaError, match=r"column 'x': .*must be declared, or measured"):
            Schema((column,)).validate(table)
    assert Schema.from_yaml(Schema((column,)).to_yaml()).columns == (column,)


# -- by hand ---------------------------------------------------------------------------------


def test_numbers_by_hand() -> None:
    assert [number_of(text) for text in ("7.", ".5", "+7e1")] == [7, 0.5, 70]
    assert np.isnan([number_of(text) for text in ("0x7", "1_0", "inf", "1e999", "七")]).all()
    assert number_of(float("inf")) == float("inf")  # for bounds to refuse


def test_truths_moments_and_labels_by_hand() -> None:
    assert [truth_of(v) for v in ("TRUE", True, "1.0", 0, "no")] == [True, True, True, False, None]
    day = moment_of("2020-01-31", None)
    assert moment_of("20200131", None) == day == moment_of(20200131, "%Y%m%d")
    assert np.isnat(moment_of(20200131, None)) and np.isnat(moment_of("31.1.", None))
    kinds = [column.domain for column in COLUMNS if column.open or column.kind == "boolean"]
    labels = {kind.column.kind: (kind.label("unknown"), kind.label("1")) for kind in kinds}
    assert labels["boolean"] == (None, True) and labels["integer"] == (None, 1)
    assert labels["categorical"] == ("unknown", 1)
    assert label_of(float(2**53)) is label_of(2**53 + 1) is None


@pytest.mark.parametrize(
    ("who", "rule"),
    [
        ([2.0**53, 2.0**53 + 2], "numbers of people"),
        ([[1], [2]], "every row"),
        ([("secret", 1), "a"], "every row"),
        (["a", Decimal("sNaN")], "every row"),
    ],
)
def test_people_are_told_apart_or_refused(who: list[Any], rule: str) -> None:
    schema = Schema((Column("x", "boolean"),), person="who", max_rows=2)
    people = objects([True, "é", True, "secret \ud800"])
    assert len(schema.validate(pd.DataFrame({"x": [True] * 4, "who": people}))) == 4
    with pytest.raises(SchemaError, match=f"'who': {rule}") as caught:
        schema.validate(pd.DataFrame({"x": [True, True], "who": objects(who)}))
    assert caught.value.__context__ is None and "secret" not in str(caught.value)


@given(
    spelt=st.lists(texts | st.from_regex(r"-?[0-9]{1,16}(\.[0-9]{1,16})?", fullmatch=True)),
    column=st.sampled_from([c for c in COLUMNS if c.is_number]),
)
def test_plain_numbers_are_read_as_others_are(spelt: list[str], column: Column) -> None:
    found = column.domain.reader(FileFormat(missing=("-9",)))(spelt)
    alone = [
        None if number_of(text) == -9 or not text else column.domain.meaning(text) for text in spelt
    ]
    assert [(type(v), repr(v)) for v in found] == [(type(v), repr(v)) for v in alone]


#: Columns with a category that takes unknown ones, and frames of every dtype that pandas has.
CLIPPED = [
    Column("x", "categorical", categories=(0, 1, 9), other=9, missing=True),
    Column("x", "categorical", categories=(0, 1, "1", "other"), other="other", missing=True),
    Column("x", "categorical", categories=("0", "1", "9"), other="9", missing=True),
    Column("x", "integer", minimum=0, maximum=9, missing=True),
    Column("x", "continuous", minimum=0.5, maximum=9, missing=True),
]
TYPED = [
    pd.Series(["0", "1", None, "77"], dtype=pd.CategoricalDtype(["0", "1", "77"])),
    pd.Series([0, 1, None, 77], dtype="category"),
    pd.Series([0, 1, 1, 77], dtype="Sparse[int64]"),
    pd.Series([0, 1, None, 77], dtype="Int64"),
    pd.Series([0, 1, 1, 77], dtype="uint8"),
    pd.Series([0, 1, 1, -77], dtype="int8"),
    pd.Series([0, 1.0, None, 77]),
    pd.Series(["0", "1", None, "77"], dtype="str"),
    pd.Series([False, True, None, 77], dtype=object),
    pd.Series(pd.to_datetime(["2020-01-31", "2020-02-01"])),
]


@pytest.mark.parametrize("typed", TYPED, ids=lambda s: str(s.dtype))
def test_the_dtype_that_a_row_changes_changes_no_value(typed: pd.Series) -> None:
    for column in (c for c in COLUMNS if c.provenance == "private"):
        alone = records_of(typed, column)
        for odd in ("unknown", 0.5, None, True, 7, Decimal(7)):
            more = pd.concat([typed, pd.Series([odd], dtype=object)], ignore_index=True)
            assert records_of(more, column)[:-1] == alone


@pytest.mark.parametrize("typed", TYPED[:-1], ids=lambda s: str(s.dtype))
@pytest.mark.parametrize("column", CLIPPED, ids=str)
def test_a_clipped_row_changes_no_other(column: Column, typed: pd.Series) -> None:
    """A cast back to categories made missing values of all that only read like a category."""
    schema, numbers = Schema((column,)), []
    for rows in (typed, typed.iloc[:-1]):
        table = schema.validate(pd.DataFrame({"x": rows}), on_unknown="clip")
        numbers.append(column.domain.to_numbers(table["x"]))
    assert numbers[0][:-1].tolist() == numbers[1].tolist()


def test_dates_are_read_by_their_format_and_never_guessed() -> None:
    """05.02.2022 was the second of May where a day could be a month."""
    day = {"format": "%d.%m.%Y", "resolution": "1D"}
    column = Column("x", "datetime", minimum="01.02.2021", maximum="05.12.2023", **day)
    assert [column.minimum, column.maximum] == [*map(pd.Timestamp, ("2021-02-01", "2023-12-05"))]
    found = conditions({"x": ("05.02.2022", "2022-02-06")}, Schema((column,)))["x"]
    assert found.parts == ((369, 370),)
    with pytest.raises(SchemaError, match="must be a date or a time such as 2022-02-05"):
        Column("x", "datetime", minimum="01.02.2021", maximum="2022-01-01")


@pytest.mark.parametrize("dtype", ["object", "string"])
def test_texts_without_a_format_are_read_as_iso_8601(dtype: str) -> None:
    column = Column("x", "datetime", minimum="2021-02-01", maximum="2021-02-09", missing=True)
    texts = [
        "2021-02-03",
        "2021-02-03T04:05:06",
        "2021-02-03 04:05",
        "2021-02-03T04:00+04:00",
        None,
    ]
    found = Schema((column,)).validate(pd.DataFrame({"x": pd.Series(texts, dtype=dtype)}))["x"]
    seconds = [2 * 86_400 + extra for extra in (0, 14_706, 14_700, 0)]
    numbers = column.domain.to_numbers(found)
    assert numbers.tolist() == [*seconds, MISSING]
    drawn = column.domain.from_numbers(numbers, column.domain.storage(found))
    assert pd.isna(drawn[4])  # no text such as "NaT"
    assert [pd.Timestamp(v) for v in drawn[:4]] == [
        column.minimum + pd.Timedelta(s, "s") for s in seconds
    ]
    # each is read by itself: one that is no date changes none of the others
    wrong = pd.Series([*texts, "03.02.2021"], dtype=dtype)
    assert [w.tolist() for w, _ in column.domain.rules(wrong) if w.any()] == [[False] * 5 + [True]]


@pytest.mark.parametrize(
    "typed",
    [
        pd.Series(np.array(["2020-01-01", "9999-12-31", "NaT"], dtype=f"datetime64[{unit}]"))
        for unit in ("s", "ms", "us")
    ]
    + [pd.Series([dt.date(2020, 1, 1), dt.date(9999, 12, 31), None])],
    ids=lambda s: str(s.dtype),
)
def test_a_date_far_ahead_is_a_date_in_every_dtype(typed: pd.Series) -> None:
    """A column that says "for ever" was refused, and a model of it did not load again."""
    column = Column("x", "datetime", **DATES | {"maximum": "9999-12-31"}, missing=True)
    days = (dt.date(9999, 12, 31) - dt.date(2020, 1, 1)).days
    assert column.domain.to_numbers(typed).tolist() == [0, days, -np.inf]
    assert not column.domain.outside(typed).any()
    table = pd.DataFrame({"x": column.domain.from_numbers(np.array([0.0, days]))})
    assert Schema((column,)).validate(table) is table


@pytest.mark.parametrize("far", [(10**18, "s"), (10**9, "D"), (10**7, "Y")])
def test_a_moment_that_microseconds_cannot_hold_is_none(far: tuple[int, str]) -> None:
    """numpy's cast made another date of it."""
    assert np.isnat(moment_of(np.datetime64(*far), None))


def test_two_fits_of_one_object_at_once_are_refused() -> None:
    table, schema = pd.DataFrame({"x": [1, 2] * 50}), Schema.of_kinds({"x": "integer"})
    model = PrivateVine(domain="measured", random_state=0)

    def again(*_: Any) -> None:
        with pytest.raises(SettingError, match="is being fitted"):
            model.fit(table, schema)

    assert model.fit(table, schema, progress=again).ledger_.proved is not None
