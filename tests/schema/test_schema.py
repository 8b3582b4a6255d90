"""A schema says what may stand in a table; what may not is refused by name."""

from __future__ import annotations

import datetime as dt
import json
import math
import runpy
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from copula_shirley.errors import SchemaError
from copula_shirley.files import strict_yaml
from copula_shirley.files.strict_yaml import load_yaml
from copula_shirley.files.texts import BLANK
from copula_shirley.schema import dates
from copula_shirley.schema.column import KINDS
from copula_shirley.schema.draft import DRAFT_NOTE
from copula_shirley.schema.schema import Column, Schema

#: Every way of writing a column.
TEXT = """
format: 1
person: {column: id, max_rows: 2}
columns:
  job: {kind: categorical, categories: [baker, clerk, nurse, else], other: else}
  grade: {kind: categorical, categories: [low, high], ordered: true, missing: true}
  age: {kind: integer, minimum: 0, maximum: 120}
  pay: {kind: continuous, minimum: 0, maximum: 9999.5, resolution: 0.5, cells: 10, special: [0],
    missing: true}
  smoker: {kind: boolean, missing: true}
  seen: {kind: datetime, minimum: 2020-01-01, maximum: 2020-12-31, resolution: 1D}
  born: {kind: datetime, minimum: 1900-01-01, maximum: 2019-12-31, resolution: 1D,
    format: "%d.%m.%Y", missing: true, provenance: declared}
  stay: {kind: duration, minimum: 0s, maximum: P10D, resolution: 15min}
"""
SCHEMA = Schema.from_yaml(TEXT)


def six_rows() -> pd.DataFrame:
    """Six rows of four people that fit ``SCHEMA``."""
    seen = ["2020-01-01", "2020-02-29", "2020-03-01", "2020-06-30", "2020-07-01", "2020-12-31"]
    return pd.DataFrame(
        {
            "id": ["p1", "p1", "p2", "p3", "p4", "p4"],
            "job": ["baker", "baker", "clerk", "nurse", "else", "clerk"],
            "grade": ["low", "high", None, "low", "high", "high"],
            "age": [0, 1, 17, 42, 99, 120],
            "pay": [0.0, 0.5, 1234.5, np.nan, 9999.0, 9999.5],
            "smoker": [True, False, None, True, True, False],
            "seen": pd.to_datetime(seen),
            "born": ["01.01.1900", "31.12.2019", None, "29.02.2000", "05.06.1970", "06.05.1970"],
            "stay": pd.to_timedelta([0, 15, 30, 60, 90, 14_400], unit="min"),
        }
    )


def with_value(name: str, value: Any, row: int = 3) -> pd.DataFrame:
    """The six rows with one of their values replaced, whatever its type."""
    table = six_rows()
    values = table[name].tolist()
    values[row] = value
    keeps = isinstance(value, int | float) and not isinstance(value, bool)
    numeric = keeps and pd.api.types.is_numeric_dtype(table[name].dtype)
    return table.assign(**{name: pd.Series(values, dtype=None if numeric else object)})


def refusal(table: Any, schema: Schema = SCHEMA, **options: Any) -> str:
    with pytest.raises(SchemaError) as caught:
        schema.validate(table, **options)
    return str(caught.value)


def one(column: Column) -> Schema:
    return Schema((column,))


# -- what fits -------------------------------------------------------------------------


def test_a_table_that_fits_comes_back_unchanged() -> None:
    table = six_rows()
    for on_unknown in ("refuse", "clip"):
        pd.testing.assert_frame_equal(SCHEMA.validate(table, on_unknown=on_unknown), six_rows())
    backwards = table[[*reversed(SCHEMA.names), "id"]]
    assert list(SCHEMA.validate(backwards).columns) == [*reversed(SCHEMA.names), "id"]


def test_names_and_lookup() -> None:
    assert SCHEMA.names == ("job", "grade", "age", "pay", "smoker", "seen", "born", "stay")
    assert [column.name for column in SCHEMA if column.nominal] == ["job"]
    # pay: 10 cells of 999.95, one for the special 0, one for missing
    assert [SCHEMA[name].size for name in SCHEMA.names[:5]] == [4, 3, 121, 12, 3]
    with pytest.raises(SchemaError, match=r"'ag' is not in the schema; it has job, grade, age"):
        SCHEMA["ag"]


# -- what is refused -------------------------------------------------------------------

WRONG = {
    "unknown category": ("job", "quarry4711", "'baker', 'clerk', 'nurse', 'else'"),
    "unknown ordered category": ("grade", "quarry4711", "'low', 'high'; a text that"),
    "unknown category without another": ("grade", "quarry4711", "takes others (other: ..."),
    "number among texts": ("job", 4711, "'baker', 'clerk', 'nurse', 'else'"),
    "integer too large": ("age", 4711, "[0, 120]"),
    "integer too small": ("age", -4711, "[0, 120]"),
    "fraction": ("age", 47.11, "whole number"),
    "text in an integer column": ("age", "quarry4711", "numbers in [0, 120]"),
    "too large digits as text": ("age", "4711", "[0, 120]"),
    "infinite integer": ("age", math.inf, "[0, 120]"),
    "number too large": ("pay", 47110.5, "[0, 9999.5]"),
    "number too small": ("pay", -0.4711, "[0, 9999.5]"),
    "negative infinite number": ("pay", -math.inf, "[0, 9999.5]"),
    "text in a number column": ("pay", "quarry4711", "numbers in [0, 9999.5]"),
    "text in a boolean column": ("smoker", "quarry4711", "False, True"),
    "number in a boolean column": ("smoker", 4711, "False, True"),
    "date too early": ("seen", pd.Timestamp("1947-11-04"), "[2020-01-01 00:00:00, 2020-12-31"),
    "date too late": ("seen", pd.Timestamp("2047-11-04"), "[2020-01-01 00:00:00, 2020-12-31"),
    "date off the grid": ("seen", pd.Timestamp("2020-05-05 04:07:11"), "steps (1 days"),
    "date as text": ("seen", "04.11.2020", "declare the format of others, as %d.%m.%Y"),
    "time as text off the grid": ("seen", "2020-11-04T04:07:11", "steps (1 days"),
    "number as a date": ("seen", 4711, "not a date"),
    "date as a number": ("age", pd.Timestamp("1970-01-01"), "not a number"),
    "date off the format": ("born", "1947-11-04", "'%d.%m.%Y'"),
    "date that is none": ("born", "31.02.1947", "'%d.%m.%Y'"),
    "text date too late": ("born", "04.11.2047", "[1900-01-01 00:00:00, 2019-12-31"),
    "text that is no duration": ("stay", "noon", "not a duration such as 1:30:00"),
    "number as a duration": ("stay", 4711, "not a duration"),
    "duration too long": ("stay", "47 days", "[0 days 00:00:00, 10 days 00:00:00]"),
    "duration off the grid": ("stay", "0:47:11", "steps (0 days 00:15:00)"),
}


@pytest.mark.parametrize(("name", "value", "allowed"), WRONG.values(), ids=WRONG)
def test_a_wrong_value_is_refused_by_column_and_rule(name: str, value: Any, allowed: str) -> None:
    hidden = refusal(with_value(name, value))
    assert hidden.startswith(f"column {name!r}: ")
    assert allowed in hidden
    shown = refusal(with_value(name, value), show_values=True)
    assert shown.startswith(hidden)  # the same message, and the value after it
    quoted = str(value.date()) if isinstance(value, pd.Timestamp) else repr(value)
    assert quoted in shown or str(value) in shown
    assert str(value) not in hidden.replace(allowed, "").replace("120", "")
    assert "found" in shown and "found" not in hidden


@pytest.mark.parametrize("name", SCHEMA.names)
def test_a_missing_value_must_be_declared(name: str) -> None:
    table = with_value(name, pd.NaT if name == "seen" else None, row=0)
    if SCHEMA[name].missing:
        SCHEMA.validate(table)
        return
    for options in ({}, {"show_values": True}, {"on_unknown": "clip"}):
        message = refusal(table, **options)
        assert message.startswith(f"column {name!r}: a value is missing; declare missing: true")


def test_messages_stay_short() -> None:
    digits = one(Column("x", "integer", minimum=0, maximum=9))
    message = refusal(pd.DataFrame({"x": range(100, 120)}), digits, show_values=True)
    assert message.endswith("(found 100, 101, 102, 103, 104)")
    column = Column("x", "categorical", categories=tuple(f"c{i}" for i in range(30)))
    message = refusal(pd.DataFrame({"x": ["quarry"]}), one(column))
    assert "30 categories" in message and "'c11', ..." in message and "c12" not in message


def named(name: Any) -> pd.DataFrame:
    table = pd.DataFrame({"x": [1, 2]})
    table.columns = pd.Index([name], dtype=object, tupleize_cols=False)
    return table


def id_of_row_2(value: Any) -> pd.DataFrame:
    table = six_rows()
    table.loc[2, "id"] = value
    return table


UNNAMED = "person column 'id': every row must name its person, by a text or a whole number"
BAD_TABLES: list[tuple[Callable[[], Any], str]] = [
    (lambda: six_rows().drop(columns="age"), "column 'age' is in the schema but not in the table"),
    (lambda: six_rows().assign(extra=1), "column 'extra' is in the table but not in the schema"),
    (
        lambda: six_rows().rename(columns={"age": "Age "}),
        "column 'age' is in the schema but not in the table, which has 'Age '",
    ),
    (lambda: six_rows().drop(columns="id"), "person column 'id' is in the schema but not in the"),
    (lambda: pd.concat([six_rows(), six_rows()[["age"]]], axis=1), "column 'age' stands twice"),
    (lambda: six_rows().iloc[:0], "the table has no rows"),
    *((lambda name=name: named(name), "column name (") for name in (0, ("a", "b"), None, "")),
    *((lambda bad=bad: bad, "table (") for bad in (None, [[1]], {"x": [1]}, np.zeros((2, 2)))),
    (lambda: id_of_row_2("p1"), "person column 'id': a person has more rows than max_rows (2)"),
    (lambda: id_of_row_2(None), UNNAMED),
]


@pytest.mark.parametrize(("make", "message"), BAD_TABLES)
def test_a_table_of_another_shape_is_refused(make: Callable[[], Any], message: str) -> None:
    for show_values in (False, True):
        assert refusal(make(), show_values=show_values).startswith(message)
    if not message.startswith("person column"):
        assert refusal(make(), on_unknown="clip").startswith(message)
    if message.startswith(("table", "column name", "the table", "column 'age' stands")):
        with pytest.raises(SchemaError):
            Schema.draft(make())
    assert refusal(id_of_row_2(None), on_unknown="clip") == UNNAMED  # no row is dropped in silence
    assert "on_unknown ('drop') must be refuse or clip" in refusal(make(), on_unknown="drop")


@pytest.mark.parametrize("name", ["job", "age", "smoker", "seen"])
def test_a_list_as_a_value_is_refused_not_a_crash(name: str) -> None:
    message = refusal(with_value(name, ["quarry4711"]))
    assert message.startswith(f"column {name!r}: ") and "4711" not in message


def test_offsets_that_differ_are_one_timeline() -> None:
    domain: dict[str, Any] = {"minimum": "2020-01-01", "maximum": "2020-12-31", "resolution": "1h"}
    column = Column("t", "datetime", format="%Y-%m-%dT%H:%M:%S%z", **domain)
    summer = pd.DataFrame({"t": ["2020-02-01T01:00:00+0100", "2020-07-01T01:00:00+0200"]})
    one(column).validate(summer)
    # February 1st is 31 days after the minimum, and 23:00 of June 30th 181 days and 23 hours
    assert column.domain.to_numbers(summer["t"]).tolist() == [31 * 24, 181 * 24 + 23]


# -- clip ------------------------------------------------------------------------------


def clipped(column: Column, values: Any) -> pd.Series:
    return one(column).validate(pd.DataFrame({column.name: values}), on_unknown="clip")[column.name]


def test_clip_maps_to_the_nearest_bound_and_to_other() -> None:
    seen = ["1999-01-01", "2020-02-29", "2020-03-01", "2020-06-30", "2020-07-01", "2047-01-01"]
    table = six_rows().assign(
        job=["baker", "quarry", "clerk", "nurse", "mason", "clerk"],
        age=[-5, 1, 17, 42, 99, 4711],
        pay=[-0.5, 0.5, math.inf, np.nan, 9999.0, 1e9],
        born=["01.01.1850", "31.12.2019", None, "01.01.2020", "05.06.1970", "06.05.1970"],
        seen=pd.to_datetime(seen),
    )
    before = table.copy()
    found = SCHEMA.validate(table, on_unknown="clip")
    expected = six_rows().assign(
        job=["baker", "else", "clerk", "nurse", "else", "clerk"],
        pay=[0.0, 0.5, 9999.5, np.nan, 9999.0, 9999.5],
        born=["01.01.1900", "31.12.2019", None, "31.12.2019", "05.06.1970", "06.05.1970"],
    )
    pd.testing.assert_frame_equal(found, expected, check_dtype=False)
    pd.testing.assert_frame_equal(table, before)  # the caller's table is not touched


@pytest.mark.parametrize(
    ("name", "value"),
    [("grade", "quarry"), ("smoker", "quarry"), ("age", 5.5), ("age", "quarry"), ("born", "1.1")],
)
def test_clip_refuses_what_has_no_nearest_value(name: str, value: Any) -> None:
    assert refusal(with_value(name, value), on_unknown="clip").startswith(f"column {name!r}: ")


NUMBERS = ("int64", "int32", "Int64", "float64", "float32", "object")
STAMPS = ("datetime64[ns]", "datetime64[us]", "datetime64[s]", "datetime64[us, UTC]")


@pytest.mark.parametrize("dtype", [*NUMBERS, *STAMPS])
def test_clip_keeps_the_dtype(dtype: str) -> None:
    column, values, nearest = Column("x", "integer", minimum=2, maximum=50), [1, 7, 200], [2, 7, 50]
    before, after = pd.Series(values, dtype="int64"), pd.Series(nearest, dtype="int64", name="x")
    if dtype in STAMPS:
        column = Column("x", "datetime", minimum="1970-01-03", maximum="1970-02-20")
        before, after = (s * 86_400 * (10**9 if "ns" in dtype else 10**6) for s in (before, after))
        before, after = (s // 10**6 if "[s]" in dtype else s for s in (before, after))
    found = clipped(column, before.astype(dtype))
    pd.testing.assert_series_equal(found, after.astype(dtype))


def test_clip_of_other_types() -> None:
    column = Column("self", "continuous", minimum=2.5, maximum=50.5)
    found = clipped(column, pd.Series([1, 7, 200], dtype="Int64"))
    assert found.astype(float).tolist() == [2.5, 7.0, 50.5]
    days = pd.Series([dt.date(1999, 1, 1), dt.date(2020, 5, 5)], dtype=object)
    assert clipped(SCHEMA["seen"], days).tolist() == [dt.date(2020, 1, 1), dt.date(2020, 5, 5)]
    assert clipped(SCHEMA["job"], pd.Series(["baker", "quarry"], dtype="category"))[1] == "else"
    for ordered in (False, True):
        column = Column("x", "categorical", categories=("low", "high"), ordered=True, other="high")
        values = pd.Series(["low"], dtype=pd.CategoricalDtype(["low", "high"], ordered), name="x")
        pd.testing.assert_series_equal(clipped(column, values), values)


@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("xyz")), min_size=1))
def test_clip_of_people_and_categories_depends_on_the_person_alone(
    rows: list[tuple[str, str]],
) -> None:
    schema = Schema((Column("c", "categorical", ("x", "y"), other="y"),), person="id", max_rows=2)
    table = pd.DataFrame(rows, columns=["id", "c"])
    found = schema.validate(table, on_unknown="clip")
    assert list(found.index) == sorted(found.index)
    for person in table["id"].unique():  # the first rows of each
        own = [c if c in "xy" else "y" for who, c in rows if who == person]
        assert found.loc[found["id"] == person, "c"].tolist() == own[:2]


# -- columns and schemas that are not well formed --------------------------------------

NUMBER = {"kind": "continuous", "minimum": 0, "maximum": 9}
DATE = {"kind": "datetime", "minimum": "2020-01-01", "maximum": "2020-12-31"}
BAD_COLUMNS: list[tuple[dict[str, Any], str]] = [
    ({"kind": "text"}, r"kind \('text'\) must be one of categorical, boolean"),
    ({"kind": "categorical"}, "must list at least one category"),
    ({"kind": "categorical", "categories": "abc"}, "must be a list"),
    ({"kind": "categorical", "categories": ["a", "b", "a"]}, r"\('a'\) is listed twice"),
    ({"kind": "categorical", "categories": ["a", None]}, "texts or numbers only"),
    ({"kind": "categorical", "categories": [dt.date(2020, 1, 1)]}, "quote dates"),
    ({"kind": "categorical", "categories": [math.nan]}, "use missing: true"),
    ({"kind": "categorical", "categories": ["a"], "other": "b"}, "if the list is complete"),
    ({"kind": "categorical", "categories": ["a"], "ordered": "yes"}, "must be true or false"),
    ({"kind": "categorical", "categories": ["a"], "minimum": 0}, "does not apply to kind"),
    (
        {"kind": "boolean", "categories": ["no", "yes"]},
        "does not apply to kind boolean; of other words, such as yes and no, the kind is categ",
    ),
    ({"kind": "boolean", "missing": 1}, "must be true or false"),
    ({"kind": "boolean", "provenance": "guessed"}, "must be one of declared, drafted, private"),
    ({"kind": "integer", "minimum": 0}, r"maximum \(not given\) must be a finite number"),
    ({"kind": "integer", "minimum": 0, "maximum": 9.5}, "must be a whole number"),
    ({"kind": "integer", "minimum": 0, "maximum": 2**60}, r"within 2\*\*53"),
    ({"kind": "integer", "minimum": 9, "maximum": 0}, r"must not exceed maximum \(0\)"),
    ({"kind": "integer", "minimum": True, "maximum": 9}, "must be a finite number"),
    ({"kind": "integer", "minimum": 0, "maximum": 9, "special": [1.5]}, "whole number"),
    ({**NUMBER, "minimum": math.nan}, "must be a finite number"),
    ({**NUMBER, "maximum": "9"}, "must be a finite number"),
    ({**NUMBER, "special": [10]}, "must lie between minimum and maximum"),
    ({**NUMBER, "special": 0}, "must be a list"),
    ({**NUMBER, "resolution": 0}, "must be a positive number"),
    ({**NUMBER, "cells": 0}, "must be a positive whole number"),
    ({**NUMBER, "cells": 2.5}, "must be a positive whole number"),
    ({**NUMBER, "cells": True}, "must be a positive whole number"),
    ({**NUMBER, "format": "%Y"}, "does not apply to kind continuous"),
    ({**NUMBER, "cell": 3}, r"unknown field \('cell'\)"),
    ({**DATE, "minimum": "soon"}, "must be a date or a time"),
    ({**DATE, "maximum": None}, "must be a date or a time"),
    ({**DATE, "maximum": "2019-01-01"}, "must not exceed maximum"),
    ({**DATE, "resolution": "daily"}, 'duration such as "1D"'),
    ({**DATE, "resolution": 86400}, 'duration such as "1D"'),
    ({**DATE, "format": "dd.mm.yyyy"}, r"format \('dd.mm.yyyy'\) must be such as"),
    ({**DATE, "special": [1]}, "does not apply to kind datetime"),
    ({"kind": "duration", "minimum": 0, "maximum": "1h"}, r"minimum \(0\) must be a duration"),
    ({"kind": "duration", "minimum": "0s", "maximum": "1000000 days"}, "within 106,000 days"),
    ({"kind": "duration", "minimum": "2h", "maximum": "1h"}, "must not exceed maximum"),
    ({"kind": "duration", "format": "%H"}, r"format \('%H'\) must be one of HH:MM:SS, ISO"),
    ({"kind": "boolean", "source": 3}, r"source \(3\) must be a printable text"),
    ({"kind": "boolean", "source": "a\nb"}, "must be a printable text"),
    ({"kind": "boolean", "source": "x" * 201}, "at most 200 letters"),
    ({"minimum": 0}, "kind is missing"),
    ({"kind": "integer", "cells": 7, "provenance": "private"}, r"cells \(7\) must be left out"),
]


@pytest.mark.parametrize(("entry", "message"), BAD_COLUMNS)
def test_a_column_that_cannot_be_is_refused(entry: dict[str, Any], message: str) -> None:
    with pytest.raises(SchemaError, match=message) as caught:
        Column.from_dict("some name", entry)
    assert "'some name'" in str(caught.value)


@pytest.mark.parametrize("name", ["", None, 3])
def test_a_column_needs_a_name(name: Any) -> None:
    with pytest.raises(SchemaError, match="non-empty text"):
        Column(name, "boolean")


def test_other_types_of_fields() -> None:
    column = Column("x", "categorical", categories=np.array([1, 2]))  # type: ignore[arg-type]
    assert Schema.from_yaml(one(column).to_yaml())["x"].categories == (1, 2)
    day: Any = pd.Timedelta("1D")
    ends: dict[str, Any] = {"minimum": "2020-01-01T01:00+01:00", "maximum": "2021-01-01"}
    column = Column("t", "datetime", **ends, resolution=day)
    assert Schema.from_yaml(one(column).to_yaml())["t"].domain.step == day
    assert column.minimum == pd.Timestamp("2020-01-01")  # in UTC


ONE = "columns: {x: {kind: boolean}}"
BAD_SCHEMAS: list[tuple[str, str]] = [
    ("", "must be a mapping"),
    ("columns: []", "must be a mapping"),
    ("columns: {}", "at least one column"),
    ("columns: {x: boolean}", r"'x': its entry \('boolean'\) must be a mapping, such as \{kind"),
    (f"{ONE}\nrows: 3", r"unknown schema entry \('rows'\); known are format, file"),
    (f"format: 2\n{ONE}", r"schema format \(2\) must be 1"),
    (f"person: id\n{ONE}", "must have the entries column and max_rows"),
    (f"person: {{max_rows: 2}}\n{ONE}", "column"),
    (f"person: {{column: x}}\n{ONE}", "must not be described"),
    (f"person: {{column: id, max_rows: 0}}\n{ONE}", "max_rows"),
    (f"person: {{column: id, max_rows: true}}\n{ONE}", "max_rows"),
    (f"person: {{column: id, provenance: x}}\n{ONE}", "provenance"),
    ("columns: {1: {kind: boolean}, '1': {kind: boolean}}", "'1' is described twice"),
    ("columns:\n  x: {kind: boolean}\n  x: {kind: boolean}", "key 'x' stands twice"),
    ("columns: {x: {kind: boolean}}\ncolumns: {}", "key 'columns' stands twice"),
    (f"left_out: [a]\n{ONE}", r"left_out \(\['a'\]\) must be a mapping"),
    (
        f"left_out: {{a: {{why: x}}}}\n{ONE}",
        "'a' .* must be a mapping of reason, replace",
    ),
    (
        f"left_out: {{a: {{replace: hide}}}}\n{ONE}",
        r"'a': replace \('hide'\) must be drop or id or fake",
    ),
    (f'left_out: {{a: {{reason: "x\\ny"}}}}\n{ONE}', "'a': reason .* must be a printable text"),
    (f"left_out: {{a: {{reason: {'x' * 201}}}}}\n{ONE}", "at most 200 letters"),
    (f"left_out: {{x: }}\n{ONE}", "column 'x' must be named once"),
    (f"person: {{column: a}}\nleft_out: {{a: }}\n{ONE}", "column 'a' must be named once"),
    ("columns: [\n  a: b", "not readable as YAML"),
    (
        "columns: {x: {kind: datetime, minimum: 2020-13-45}}",
        r"minimum \('2020-13-45'\) must be a date",
    ),
    ("columns: !!python/object/apply:os.getcwd []", "not readable as YAML"),
    ("? [a]\n: b", "not readable as YAML"),
    ("[" * 10_000, "not readable as YAML"),
]


@pytest.mark.parametrize(("text", "message"), BAD_SCHEMAS, ids=lambda text: text[:40])
def test_a_schema_that_cannot_be_is_refused(text: str, message: str) -> None:
    with pytest.raises(SchemaError, match=message) as caught:
        Schema.from_yaml(text)
    assert "\n" not in str(caught.value)


# -- YAML ------------------------------------------------------------------------------


def test_unquoted_words_stay_texts() -> None:
    text = """
columns:
  NO: {kind: categorical, categories: [NO, Yes, no, yes, On, off, y, N, SE]}
  b: {kind: categorical, categories: [true, False]}
"""
    schema = Schema.from_yaml(text)
    assert schema.names == ("NO", "b")
    assert schema["NO"].categories == ("NO", "Yes", "no", "yes", "On", "off", "y", "N", "SE")
    assert schema["b"].categories == (True, False)
    assert Schema.from_yaml(schema.to_yaml()) == schema
    assert load_yaml("[NO, no]") == ["NO", "no"]
    assert yaml.safe_load("[NO, no]") == [False, False]  # elsewhere YAML is what it was


LIKE = "007 1e3 null ~ true NO 2020-01-01 12:30:45 = <<"


@pytest.mark.parametrize("text", [*LIKE.split(), " ", "", "a\u200db"])
def test_texts_that_look_like_something_else_survive_yaml(text: str) -> None:
    schema = one(Column(text or "x", "categorical", categories=(text, "plain")))
    again = Schema.from_yaml(schema.to_yaml())
    assert again == schema
    assert isinstance(again.columns[0].categories[0], str)


def test_a_file_that_is_no_text(tmp_path: Path) -> None:
    (tmp_path / "schema.yaml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(SchemaError, match="is not UTF-8 text"):
        Schema.read(tmp_path / "schema.yaml")


#: PyYAML folds a next-line character (U+0085); it has a test of its own.
characters = st.characters(
    exclude_categories=("Cc", "Cf", "Cs", "Zl", "Zp"), exclude_characters=BLANK
)
names = st.text(characters | st.sampled_from("\u200c\u200d"), min_size=1, max_size=12)
words = st.text(characters | st.sampled_from("\t\n\r\u200d"), max_size=8)
finite = st.floats(-1e9, 1e9).map(lambda value: value + 0.0)  # no negative zero
VALUES: dict[str, Any] = {
    "categorical": words | st.integers() | finite | st.booleans(),
    "boolean": st.just(0),
    "integer": st.integers(-(2**53), 2**53),
    "continuous": finite,
    "datetime": st.datetimes(dt.datetime(1700, 1, 1), dt.datetime(2200, 1, 1)),
    "duration": st.timedeltas(dt.timedelta(-100_000), dt.timedelta(100_000)),
    "place": st.tuples(st.integers(-89, 89), st.integers(-179, 179)),
}
#: Further fields of some kinds.
FIELDS: dict[str, dict[str, Any]] = {
    "categorical": {"ordered": st.booleans()},
    "integer": {"cells": st.none() | st.integers(1, 1000)},
    "continuous": {"resolution": st.none() | st.floats(1e-6, 1e6)},
    "datetime": {"format": st.sampled_from([None, "%Y-%m-%d", "%d.%m.%Y"])},
    "duration": {"resolution": st.sampled_from([None, *dates.STEPS, "7D", "15min"])},
    "place": {"resolution": st.sampled_from([None, "5km", "1500 m"])},
}


@st.composite
def columns(draw: st.DrawFn, name: str) -> Column:
    kind = draw(st.sampled_from(list(KINDS)))
    own: dict[str, Any] = {field: draw(of) for field, of in FIELDS.get(kind, {}).items()}
    values = draw(st.lists(VALUES[kind], min_size=1, max_size=6, unique=True))
    if kind == "categorical":
        own |= {"categories": values, "other": draw(st.sampled_from([None, *values]))}
    elif kind == "place":
        south, west = values[0]
        own |= {"minimum": f"{south}, {west}", "maximum": f"{south + 1}, {west + 0.5}"}
    elif kind != "boolean":
        own |= {"minimum": min(values), "maximum": max(values)}
        if KINDS[kind].is_number:
            own["special"] = values[:3]
    missing, about = draw(st.booleans()), draw(st.sampled_from(["declared", "drafted"]))
    return Column(name, kind, **own, missing=missing, provenance=about)


@given(st.data())
def test_yaml_round_trip(data: st.DataObject) -> None:
    person, *rest = data.draw(st.lists(names, min_size=2, max_size=6, unique=True))
    whose = data.draw(st.sampled_from([(), (person, 99, "declared"), (person, 1, "drafted")]))
    schema = Schema(tuple(data.draw(columns(name)) for name in rest), *whose)
    again = Schema.from_yaml(schema.to_yaml())
    assert again == schema
    for before, after in zip(schema, again, strict=True):
        assert [type(v) for v in after.categories] == [type(v) for v in before.categories]
        assert type(after.other) is type(before.other)
        assert type(after.minimum) is type(before.minimum)
    assert yaml.safe_load(schema.to_yaml()) == schema.to_dict()  # plain YAML for everyone
    assert Schema.from_table_schema(json.loads(json.dumps(schema.to_table_schema()))) == schema


@given(st.text(max_size=60))
def test_any_text_is_a_schema_or_a_schema_error(text: str) -> None:
    with suppress(SchemaError):
        Schema.from_yaml(text)


# -- drafts ----------------------------------------------------------------------------


def test_draft_by_hand() -> None:
    table = six_rows().drop(columns=["job", "grade"])
    table = table.assign(
        pay=[0.0, 0.5, 12.5, np.nan, 99.0, 99.25],
        born=["1900-01-01", "2019-12-31", None, "2000-02-29", "1970-06-05", "1970-05-06"],
        at=pd.to_datetime(["2020-01-01 00:00"] * 5 + ["2020-01-01 00:05"]),
    )
    expected = """
    person: {column: id, max_rows: 2, provenance: drafted}
    columns:
      age: {kind: integer, minimum: 0, maximum: 120, provenance: drafted}
      pay: {kind: continuous, minimum: 0.0, maximum: 99.25, resolution: 0.01, missing: true,
        provenance: drafted}
      smoker: {kind: boolean, missing: true, provenance: drafted}
      seen: {kind: datetime, minimum: 2020-01-01, maximum: 2020-12-31, resolution: 1D,
        provenance: drafted}
      born: {kind: datetime, minimum: 1900-01-01, maximum: 2019-12-31, resolution: 1D,
        format: "%Y-%m-%d", missing: true, provenance: drafted}
      stay: {kind: duration, minimum: 0s, maximum: 10D, resolution: 1min, provenance: drafted}
      at: {kind: datetime, minimum: 2020-01-01, maximum: "2020-01-01 00:05", resolution: 1min,
        provenance: drafted}
    """
    draft = Schema.draft(table, person="id")
    assert draft == Schema.from_yaml(expected)
    assert draft.drafted == draft.names and SCHEMA.drafted == ()
    assert draft.to_yaml().startswith(DRAFT_NOTE) and not SCHEMA.to_yaml().startswith("#")
    given_one = Schema.draft(table, person="id", max_rows=9)
    assert (given_one.max_rows, given_one.person_provenance) == (9, "declared")

    with pytest.raises(SchemaError, match="person column 'who' is not in the table"):
        Schema.draft(six_rows(), person="who")


RESOLUTIONS = {0.5: 0.1, 0.25: 0.01, 100_000.25: 0.01, 1_000_000.125: 0.001, 1 / 3: None}


@pytest.mark.parametrize("value", RESOLUTIONS)
def test_the_resolution_of_a_draft_loses_no_digit(value: float) -> None:
    found = Schema.draft(pd.DataFrame({"x": [value, 3.5]}))["x"].resolution
    assert found == RESOLUTIONS[value]


OBJECTS: dict[str, list[Any]] = {
    "dates": [dt.date(1700, 1, 5), dt.date(2200, 1, 1)],
    "moments": [dt.datetime(2020, 1, 5, 3), dt.datetime(2021, 1, 1, microsecond=1)],
    "texts of dates": ["1700-01-05", "2199-12-31", None],
    "whole numbers": [-(2**53), 5, 2**53, None],
    "numbers": [-1e15, 0.1, math.pi, 1e15],
    "booleans": [True, None, False],
    "a mixture": ["a", 1, 2.5, None],
    "texts": ["NA", "", "007", "x\ny", None],
    "nothing": [None, None],
}


@pytest.mark.parametrize("values", OBJECTS.values(), ids=OBJECTS)
def test_a_table_fits_its_own_draft(values: list[Any]) -> None:
    """As objects, such as a Parquet file's dates, and with the dtype that pandas finds."""
    for dtype in (object, None):
        table = pd.DataFrame({"x": pd.Series(values * 10, dtype=dtype)})
        draft = Schema.draft(table)
        for on_unknown in ("refuse", "clip"):
            pd.testing.assert_frame_equal(draft.validate(table, on_unknown=on_unknown), table)
        assert Schema.from_yaml(draft.to_yaml()) == draft
        if isinstance(values[0], dt.date):
            assert draft["x"].kind == "datetime"


def test_a_draft_fits_pandas_categories() -> None:
    days = pd.Series(["2020-01-05", "2020-01-06"] * 10)
    sizes = pd.CategoricalDtype(["small", "large", "huge"], ordered=True)
    size = pd.Series(["large"] * 20, dtype=sizes)
    texts, stamps = days.astype("category"), pd.to_datetime(days).astype("category")
    table = pd.DataFrame({"texts": texts, "stamps": stamps, "size": size})
    draft = Schema.draft(table)
    draft.validate(table)
    assert draft["size"].categories == ("small", "large", "huge") and draft["size"].ordered


UNFIT = {
    "bytes": [b"quarry4711", b"rock4711"],
    "lists": [["quarry4711"], []],
    "huge numbers": [4711 * 10**15, 4711 * 10**15],
    "infinities": [4711.0, math.inf],
}


@pytest.mark.parametrize("values", UNFIT.values(), ids=UNFIT)
def test_what_a_draft_cannot_describe_is_refused_without_a_value(values: list[Any]) -> None:
    table = pd.DataFrame({"x": values})
    with pytest.raises(SchemaError, match=r"^column 'x': ") as caught:
        Schema.draft(table)
    assert "4711" not in str(caught.value) and "4.711" not in str(caught.value)


def test_yaml_reads_the_same_without_libyaml(monkeypatch: pytest.MonkeyPatch) -> None:
    """PyYAML may have been built without it; our own files are plain enough for both."""
    monkeypatch.setattr(yaml, "__with_libyaml__", False)
    plain = runpy.run_path(str(strict_yaml.__file__))["load_yaml"]
    root = Path(__file__).parents[2]
    files = [root / "datasets.yaml", *sorted((root / "experiments" / "grids").glob("*.yaml"))]
    odd = "a: [NO, 'no', on, 0x10, 1_0, .5, ~, 2020-01-01]\nb: !!str 3\n"
    for text in (odd, *(file.read_text(encoding="utf-8") for file in files)):
        assert plain(text) == load_yaml(text)


# -- where a domain is known from --------------------------------------------------------


DRAFTS = {
    "numbers": [*range(7, 17)] * 4,
    "decimals": [i / 7 for i in range(40)],
    "texts": ["law", "arts"] * 20,
    "booleans": [True, False] * 20,
    "days": ["2020-01-05", "2021-01-05"] * 20,
}


@pytest.mark.parametrize("name", DRAFTS)
def test_a_draft_does_not_become_declared_by_its_mark(name: str) -> None:
    draft = Schema.draft(pd.DataFrame({"x": DRAFTS[name]}))["x"]
    entry = {**draft.to_dict(), "provenance": "declared"}
    with pytest.raises(SchemaError, match=r"^column 'x': provenance \(declared\) does not fit: .*"):
        Column.from_dict("x", entry)
    stated = Column.from_dict("x", {**entry, "source": "codebook"})
    assert stated.draft == draft.draft and Column.from_dict("x", stated.to_dict()) == stated
    assert Column.from_dict("x", {**entry, "provenance": "drafted"}) == draft


def test_the_digest_of_other_values_is_forgotten() -> None:
    """Who tries some bounds would find the private ones behind a digest that stays."""
    draft = Schema.draft(pd.DataFrame({"x": DRAFTS["numbers"]}))["x"]
    wide = {**draft.to_dict(), "maximum": 100}
    assert Column.from_dict("x", wide).draft not in (None, draft.draft)  # of what stands here
    for other in ({**wide, "provenance": "declared"}, {**draft.to_dict(), "provenance": "private"}):
        assert "draft" not in Column.from_dict("x", other).to_dict()


def test_a_drafted_number_of_rows_does_not_become_declared_by_its_mark() -> None:
    draft = Schema.draft(six_rows().drop(columns=["job", "grade"]), person="id").to_dict()
    person = {**draft["person"], "provenance": "declared"}
    with pytest.raises(SchemaError, match="max_rows is exactly what a draft counted"):
        Schema.from_dict({**draft, "person": person})
    stated = Schema.from_dict({**draft, "person": {**person, "source": "rules"}})
    assert (stated.person_source, stated.person_draft) == ("rules", 2)
    assert Schema.from_yaml(stated.to_yaml()) == stated
    assert Schema.from_dict({**draft, "person": {**person, "max_rows": 5}}).person_draft is None
