"""Tables of polars, duckdb and pyarrow are admitted as frames, and given back."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from copula_shirley import (
    Column,
    PrivateVine,
    Schema,
    SchemaError,
    SettingError,
    read_table,
    synthesize,
)
from copula_shirley.baselines import Uniform
from copula_shirley.evaluation import evaluate
from copula_shirley.schema.frames import as_frame
from copula_shirley.tasks import check

SCHEMA = Schema.from_yaml("""
columns:
  n: {kind: integer, minimum: 0, maximum: 9, missing: true}
  s: {kind: categorical, categories: [x, y], missing: true}
  c: {kind: categorical, categories: [u, v], missing: true}
  d: {kind: datetime, minimum: 2020-01-01, maximum: 2021-01-01, resolution: 1D, missing: true}
  t: {kind: datetime, minimum: 2019-12-31, maximum: 2021-01-01, resolution: 1h, missing: true}
  b: {kind: boolean, missing: true}
  e: {kind: continuous, minimum: 0, maximum: 9, missing: true}
  w: {kind: duration, minimum: 0s, maximum: 9h, resolution: 1min, missing: true}
  o: {kind: duration, minimum: 0s, maximum: 1D, resolution: 1min, missing: true}
""")
BERLIN = "Europe/Berlin"
COLUMNS: dict[str, tuple[list[Any], pa.DataType]] = {
    "n": ([1, None, 3], pa.int16()),
    "s": (["x", None, "y"], pa.large_string()),
    "c": (["v", "u", None], pa.dictionary(pa.int8(), pa.string())),
    "d": ([dt.date(2020, 1, 2), None, dt.date(2021, 1, 1)], pa.date32()),
    "t": ([dt.datetime(2020, 1, 1), None, dt.datetime(2020, 7, 1, 3)], pa.timestamp("us", BERLIN)),
    "b": ([True, None, False], pa.bool_()),
    "e": ([Decimal("1.50"), None, Decimal("2.25")], pa.decimal128(9, 2)),
    "w": ([dt.timedelta(hours=3), None, dt.timedelta(0)], pa.duration("ms")),
    "o": ([dt.time(9, 5), None, dt.time(0)], pa.time32("s")),
}


def arrow() -> pa.Table:
    return pa.table({name: pa.array(v, type=kind) for name, (v, kind) in COLUMNS.items()})


NUMBERS = {
    "n": [1.0, None, 3.0], "s": [0.0, None, 1.0], "c": [1.0, 0.0, None], "d": [1.0, None, 366.0],
    "t": [24.0, None, 4395.0], "b": [1.0, None, 0.0], "e": [1.5, None, 2.25],
    "w": [180.0, None, 0.0], "o": [545.0, None, 0.0],
}  # fmt: skip
KINDS: dict[str, Any] = {
    "a table of pyarrow": arrow,
    "a reader of pyarrow": lambda: pa.RecordBatchReader.from_batches(
        arrow().schema, arrow().to_batches()
    ),
    "a batch of pyarrow": lambda: arrow().to_batches()[0],
    "polars": lambda: pl.DataFrame(arrow()),
    "duckdb": lambda: duckdb.from_arrow(arrow()),
}


@pytest.mark.parametrize("make", KINDS.values(), ids=KINDS)
def test_values_are_those_of_a_parquet_file(make: Any, tmp_path: Any) -> None:
    table = SCHEMA.validate(make())
    found = {
        c.name: [v if v >= 0 else None for v in c.domain.to_numbers(table[c.name])] for c in SCHEMA
    }
    if "duckdb" not in repr(type(make())):
        assert found == NUMBERS
    else:  # gives moments with a time zone in its own session's
        assert {**found, "t": 0} == {**NUMBERS, "t": 0}
    pq.write_table(arrow(), tmp_path / "t.parquet")
    file = SCHEMA.validate(read_table(tmp_path / "t.parquet", SCHEMA))
    for column in SCHEMA:
        assert [v if v >= 0 else None for v in column.domain.to_numbers(file[column.name])] == (
            NUMBERS[column.name]
        )
    assert check(make(), SCHEMA) == []


def test_no_gap_changes_a_dtype() -> None:
    whole, gaps = (as_frame(pl.DataFrame({"n": [1, n], "b": [True, None]})) for n in (2, None))
    assert whole.dtypes.equals(gaps.dtypes) and str(whole["n"].dtype) == "Int64"
    drafted = Schema.draft(pl.DataFrame({"n": [1, None] * 30, "s": ["x", "y"] * 30}))
    assert [(c.kind, c.missing) for c in drafted] == [("integer", True), ("categorical", False)]


AGES = Schema((Column("age", "integer", minimum=0, maximum=99),))


@pytest.mark.parametrize("kind", [pl.DataFrame, pa.table, pd.DataFrame])
def test_a_synthetic_table_is_of_the_kind_that_was_given(kind: Any) -> None:
    given = kind({"age": [30, 40, 50] * 40})
    made = synthesize(given, AGES, epsilon=1, rows=7)
    assert type(made) is type(given) and len(made) == 7
    frame = PrivateVine(1.0, random_state=3).fit(pd.DataFrame({"age": [30, 40, 50] * 40}), AGES)
    fitted = PrivateVine(1.0, random_state=3).fit(given, AGES)
    pd.testing.assert_frame_equal(fitted.sample(9), frame.sample(9))
    assert len(pl.DataFrame(fitted.sample(5))) == 5  # a frame of pandas gives a stream, too


def test_a_relation_of_duckdb_gives_a_table_of_pyarrow() -> None:
    rows = duckdb.sql("SELECT 30 + range % 9 AS age FROM range(120)")
    assert type(synthesize(rows, AGES, epsilon=1, rows=3)) is pa.Table


def test_scores_take_them() -> None:
    train, test = pl.DataFrame({"age": [30, 40] * 30}), pa.table({"age": [30, 40] * 30})
    frame = evaluate(train, test, train, AGES, metrics=["ks"], random_state=0, reference=False)
    assert frame["value"].tolist() == [0.0]


WRONG: dict[str, tuple[Any, str]] = {
    "lists": (lambda: pa.table({"age": [[1]]}), "column 'age': holds values of type list"),
    "twice": (lambda: pa.table([[1], [2]], ["age", "age"]), "column 'age' stands twice"),
    "one column": (lambda: pl.Series([1, 2]), r"table \(Series\) must be a table"),
    "pandas' column": (lambda: pd.Series([1]), r"table \(Series\) must be a pandas DataFrame"),
    "lazy": (lambda: pl.LazyFrame({"age": [1]}), r"table \(LazyFrame\) must be a pandas DataFrame"),
    "a dict": (lambda: {"age": [1]}, r"table \(dict\) must be a pandas DataFrame, or give an A"),
    "no rows": (lambda: pl.DataFrame({"age": []}), "the table has no rows"),
    "another name": (lambda: pa.table({"Age": [1]}), "column 'age' is in the schema but not in"),
    "texts": (lambda: pl.DataFrame({"age": ["old"]}), "column 'age': a value is not a number"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_no_table_is_one_error(name: str) -> None:
    make, said = WRONG[name]
    for use in (AGES.validate, lambda t: Uniform().fit(t, AGES)):
        with pytest.raises(SchemaError, match=said):
            use(make())


@pytest.mark.parametrize(
    "column", [pa.array([2739877 * 365], pa.date32()), pa.array([10**18], pa.date64())]
)
def test_a_date_that_cannot_be_is_one_error_without_it(column: pa.Array) -> None:
    with pytest.raises(SchemaError, match=r"a value cannot be read \(\w+\)") as refused:
        as_frame(pa.table({"day": column}))
    shown = f"{refused.value} {refused.value.__context__}"
    assert "year 2" not in shown and "3168808" not in shown


def test_times_of_a_day_are_cut_to_microseconds_each_by_itself() -> None:
    table = pa.table({"t": pa.array([1_234_567_891, None, 5_000], pa.time64("ns"))})
    micro = pd.to_timedelta(pd.Series([1_234_567, None, 5]), unit="us")
    assert as_frame(table)["t"].astype("timedelta64[ns]").equals(micro.astype("timedelta64[ns]"))


def test_a_path_is_no_schema_and_no_table() -> None:
    schema = Schema((Column("a", "boolean"),))
    with pytest.raises(SettingError, match=r"schema \(str\) must be a Schema, such as Schema.read"):
        synthesize(pd.DataFrame({"a": [True]}), "schema.yaml")  # type: ignore[arg-type]
    with pytest.raises(SchemaError, match=r"table \(str\) .*; read_table\(path, schema\) reads"):
        synthesize("data.csv", schema)
