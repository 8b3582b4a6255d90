"""Values as numbers and back, and the cells in which numbers lie."""

from __future__ import annotations

import datetime as dt
import math
from dataclasses import replace
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from copula_shirley.errors import SchemaError
from copula_shirley.schema.dates import STEPS, Datetime
from copula_shirley.schema.domain import MISSING
from copula_shirley.schema.schema import Column, Schema

INF = math.inf


def round_trip(column: Column, series: pd.Series) -> pd.Series:
    column.domain.check(series)
    numbers = column.domain.to_numbers(series)
    assert numbers.dtype == np.float64 and not np.isnan(numbers).any()
    return column.domain.from_numbers(numbers, column.domain.storage(series))


def assert_identity(column: Column, series: pd.Series) -> None:
    pd.testing.assert_series_equal(round_trip(column, series), series, check_exact=True)


def column_of(kind: str, **fields: Any) -> Column:
    return Column("x", kind, **fields)


# -- values to numbers, by hand --------------------------------------------------------

COLOUR = column_of("categorical", categories=("red", "blue", "green"), missing=True)
DAY = column_of("datetime", minimum="2020-02-27", maximum="2020-03-31", resolution="1D")
HOUR = column_of(
    "datetime", minimum="2020-01-01 06:00", maximum="2020-01-02", resolution="1h", missing=True
)

MAYBE = column_of("boolean", missing=True)
TEN = column_of("categorical", categories=(30, 10, 20))
SHARE = column_of("continuous", minimum=0, maximum=1, missing=True)
BY_HAND: dict[str, tuple[Column, list[Any], list[float]]] = {
    "categories": (COLOUR, ["green", "red", None, "blue", "red", None], [2, 0, -INF, 1, 0, -INF]),
    "number categories": (TEN, [10, 20, 30], [1, 2, 0]),
    "numbers as texts": (column_of("categorical", categories=("1", "007")), ["1"], [0]),
    "booleans": (column_of("boolean"), [True, False, True], [1, 0, 1]),
    "booleans and missing": (MAYBE, [True, None, False], [1, -INF, 0]),
    "integers": (column_of("integer", minimum=-5, maximum=5), [-5, 0, 5], [-5, 0, 5]),
    "numbers": (SHARE, [0.25, math.nan, 1.0], [0.25, -INF, 1]),
    # February 2020 has 29 days
    "dates": (DAY, [pd.Timestamp("2020-02-27"), pd.Timestamp("2020-03-01")], [0, 3]),
    "hours": (HOUR, [pd.Timestamp("2020-01-01 07:00"), pd.NaT], [1, -INF]),
}


@pytest.mark.parametrize(("column", "values", "numbers"), BY_HAND.values(), ids=BY_HAND)
def test_numbers_by_hand(column: Column, values: list[Any], numbers: list[float]) -> None:
    series = pd.Series(values)
    assert column.domain.to_numbers(series).tolist() == numbers
    back = column.domain.from_numbers(np.array(numbers, dtype=float))
    assert [None if pd.isna(v) else v for v in back] == [None if pd.isna(v) else v for v in values]


def test_a_time_zone_counts_in_utc() -> None:
    moments_ = pd.Series(pd.to_datetime(["2020-01-01 08:00", "2020-01-01 09:00"]))
    assert HOUR.domain.to_numbers(moments_.dt.tz_localize("Europe/Berlin")).tolist() == [1, 2]


# -- the round trip is the identity ----------------------------------------------------

LEVELS = ["a", "b", "NA", "", "007"]
TEXT = column_of("categorical", categories=LEVELS)
YEARS: dict[str, Any] = {"minimum": "1950-01-01", "maximum": "2049-12-31"}
TIME = column_of("datetime", **YEARS, resolution="1us")
DATE = column_of("datetime", **YEARS, resolution="1D")
DAYS = [dt.date(1950, 1, 1), dt.date(2020, 2, 29), dt.date(2049, 12, 31)]
MOMENTS = pd.Series(pd.to_datetime([*DAYS[:2], dt.datetime(2020, 3, 29, 1, 2, 3)]))


def whole(low: int, high: int) -> Column:
    return column_of("integer", minimum=low, maximum=high)


#: A column, and values between its bounds as a file or a frame may store them.
STORED: dict[str, tuple[Column, pd.Series]] = {
    **{
        f"text as {dtype}": (TEXT, pd.Series(LEVELS, dtype=dtype))
        for dtype in (
            None,
            object,
            "string",
            *(pd.CategoricalDtype(LEVELS, o) for o in (False, True)),
        )
    },
    **{
        f"{dtype} from {low}": (whole(low, high), pd.Series([low, 7, high], dtype=dtype))
        for low, high, dtypes in (
            (-(2**53), 2**53, ("int64", "Int64")),
            (-(2**31), 2**31 - 1, ("int32",)),
            (0, 255, ("uint8", "float64", object)),
        )
        for dtype in dtypes
    },
    **{
        str(dtype): (
            column_of("continuous", minimum=-1e15, maximum=1e15),
            pd.Series([-(2.0**40), 0.1, -0.0, 5e-324, 2.0**40], dtype=dtype),
        )
        for dtype in ("float64", "float32", "Float64")
    },
    **{
        f"truth values as {dtype}": (column_of("boolean"), pd.Series([True, False], dtype=dtype))
        for dtype in ("bool", "boolean", object)
    },
    "number categories": (TEN, pd.Series([10, 20, 30])),
    **{f"moments in {u}": (TIME, MOMENTS.astype(f"datetime64[{u}]")) for u in ("s", "us", "ns")},
    **{
        zone: (TIME, MOMENTS.dt.tz_localize("UTC").dt.tz_convert(zone))
        for zone in ("UTC", "Europe/Berlin")
    },
    **{
        f"date texts {how}": (
            column_of("datetime", **YEARS, resolution="1D", format=how),
            pd.Series([day.strftime(how) for day in DAYS]),
        )
        for how in ("%d.%m.%Y", "%Y-%m-%d")
    },
    "date objects": (DATE, pd.Series(DAYS, dtype=object)),
}


@pytest.mark.parametrize(("column", "series"), STORED.values(), ids=STORED)
def test_the_round_trip_is_the_identity(column: Column, series: pd.Series) -> None:
    """Missing values included, where the dtype has a place for them."""
    assert_identity(column, series)
    stored = column.domain.storage(series.iloc[:0])  # follows from no value
    assert column.domain.from_numbers(np.empty(0), stored).dtype == series.dtype
    if isinstance(series.dtype, np.dtype) and series.dtype.kind in "biu":
        return
    gaps = series.mask(series == series[1])
    assert gaps.dtype == series.dtype
    back = round_trip(replace(column, missing=True), gaps)
    assert back.dtype == series.dtype and back.isna().tolist() == gaps.isna().tolist()
    pd.testing.assert_series_equal(back.dropna(), gaps.dropna(), check_exact=True)
    assert [*map(type, back.dropna())] == [*map(type, gaps.dropna())]


NULLABLE = {"int64": "Int64", "int32": "Int32", "uint8": "UInt8", "bool": "boolean"}


@pytest.mark.parametrize("dtype", NULLABLE)
def test_a_column_that_may_be_missing_gets_a_dtype_that_can_be(dtype: str) -> None:
    domain: dict[str, Any] = {} if dtype == "bool" else {"minimum": 0, "maximum": 1}
    column = column_of("integer" if domain else "boolean", missing=True, **domain)
    back = round_trip(column, pd.Series([1, 0], dtype=dtype))
    assert str(back.dtype) == NULLABLE[dtype] and back.astype(dtype).tolist() == [1, 0]
    drawn = column.domain.from_numbers(np.array([1.0, MISSING]), NULLABLE[dtype])
    assert drawn.isna().tolist() == [False, True]


@pytest.mark.parametrize("how", [None, "%Y-%m-%d"])
def test_dates_as_pandas_categories(how: str | None) -> None:
    column = replace(DAY, format=how, missing=True)
    values = ["2020-03-01", "2020-02-28", None]
    series = pd.Series(values if how else pd.to_datetime(values)).astype("category")
    back = round_trip(column, series)
    assert isinstance(back.dtype, pd.CategoricalDtype)
    assert back.dropna().tolist() == series.dropna().tolist()


# -- guesses for a draft ---------------------------------------------------------------

FORMATS: dict[str | None, list[list[str]]] = {
    "%Y-%m-%d": [["2020-01-31", "1999-12-01"]],
    "%Y/%m/%d": [["2020/01/31"]],
    "%Y-%m-%d %H:%M:%S": [["2020-01-31 23:59:59"]],
    "%Y-%m-%dT%H:%M:%S": [["2020-01-31T23:59:59"]],
    "%d.%m.%Y": [["31.01.2020", "1.2.2020"]],
    "%d/%m/%Y": [["01/02/2020", "02/01/2020"], ["13/01/2020"]],
    "%m/%d/%Y": [["01/13/2020"]],
    "%d.%m.%y": [["31.01.20"]],
    "%d.%m.%Y %H:%M": [["31.01.2020 23:59"]],
    "%m/%d/%Y %I:%M %p": [["1/13/2020 12:05 AM", "01/02/2020 1:30 PM"]],
    "%d-%b-%Y": [["31-Jan-2020"]],
    "%H:%M": [["8:05", "23:59"]],
    None: [
        ["2:1", "10:0"],
        ["24:10", "01:00"],
        ["2020-01-31", "2020-02-31"],
        ["never"],
        ["31.01.2020", "2020-01-31"],
        ["01.02.020"],
    ],
}


def test_the_format_and_the_step_of_dates_are_guessed() -> None:
    for how, columns in FORMATS.items():
        assert {Datetime.format_of(pd.Series(texts)) for texts in columns} == {how}
    for step in map(pd.Timedelta, STEPS):
        moments = pd.Timestamp("2020-01-01") + pd.Series([0 * step, 7 * step, 9 * step])
        assert pd.Timedelta(Datetime.drafted(moments)["resolution"]) == step


# -- cells, by hand --------------------------------------------------------------------

TENTHS = column_of("continuous", minimum=0, maximum=1, cells=4)
TWO = column_of("continuous", minimum=0, maximum=2, cells=2, special=(0, 1.5, 2))
NEXT = np.nextafter(1.5, 2)
WEEK: dict[str, Any] = {"minimum": "2020-01-01", "maximum": "2020-01-14", "resolution": "7D"}
#: 27 February to 4 March 2020 are seven days.
LEAP: dict[str, Any] = {"minimum": "2020-02-27", "maximum": "2020-03-04", "resolution": "1D"}


def digits(cells: int, *special: int, **fields: Any) -> Column:
    return column_of("integer", minimum=0, maximum=9, cells=cells, special=special, **fields)


CELLS: dict[str, tuple[Column, list[float], list[float], float]] = {
    "categories": (COLOUR, [-INF, 0, 1, 2], [-INF, 0, 1, 2], 1),
    "booleans": (column_of("boolean"), [0, 1], [0, 1], 1),
    "few integers": (column_of("integer", minimum=3, maximum=6), [3, 4, 5, 6], [3, 4, 5, 6], 1),
    # ten integers in three cells: 0 to 3, 4 to 6, 7 to 9
    "integers": (digits(3), [0, 4, 7], [3, 6, 9], 1),
    "special at the edge": (digits(3, 0), [0, 1, 4, 7], [0, 3, 6, 9], 1),
    "special inside": (digits(2, 7), [0, 5, 7, 8], [4, 6, 7, 9], 1),
    "special at the maximum": (digits(1, 9, missing=True), [-INF, 0, 9], [-INF, 8, 9], 1),
    "more cells than integers": (digits(50), [*range(10)], [*range(10)], 1),
    "one value": (column_of("integer", minimum=5, maximum=5), [5], [5], 1),
    "numbers": (TENTHS, [0, 0.25, 0.5, 0.75], [0.25, 0.5, 0.75, 1], 0),
    "one number": (column_of("continuous", minimum=2, maximum=2), [2], [2], 0),
    "special numbers": (TWO, [0, 5e-324, 1, 1.5, NEXT, 2], [0, 1, 1.5, 1.5, 2, 2], 0),
    "dates": (column_of("datetime", **LEAP, cells=2), [0, 4], [3, 6], 1),
    # 1 and 8 January; the 15th is not reached
    "a maximum off the grid": (column_of("datetime", **WEEK), [0, 1], [0, 1], 1),
}


@pytest.mark.parametrize(("column", "first", "last", "step"), CELLS.values(), ids=CELLS)
def test_cells_by_hand(column: Column, first: list[float], last: list[float], step: float) -> None:
    found = column.domain.cells()
    assert found.first.tolist() == first
    assert found.last.tolist() == last
    assert found.step == step
    assert found.size == column.size == len(first)


NINE = {"kind": "continuous", "minimum": 0, "maximum": 9}
YEAR = {"kind": "datetime", "minimum": "2020-01-01", "maximum": "2021-01-01"}
COUNTS: list[tuple[dict[str, Any], int]] = [
    ({"kind": "integer", "minimum": 1, "maximum": 1000}, 1000),
    ({"kind": "integer", "minimum": 1, "maximum": 1001}, 100),
    (NINE, 100),
    ({**NINE, "resolution": 0.5}, 18),
    ({**NINE, "resolution": 0.01}, 100),
    ({**NINE, "resolution": 50}, 1),
    ({**YEAR, "resolution": "1D"}, 367),
    (YEAR, 100),
    ({"kind": "duration", "minimum": "0s", "maximum": "P1DT2H", "resolution": "1h"}, 27),
]


@pytest.mark.parametrize(("fields", "count"), COUNTS)
def test_the_number_of_cells_that_a_schema_does_not_name(
    fields: dict[str, Any], count: int
) -> None:
    assert Column.from_dict("x", fields).size == count


@pytest.mark.parametrize("kind", ["integer", "continuous"])
def test_too_many_cells_are_refused(kind: str) -> None:
    with pytest.raises(SchemaError, match=r"'x': cells \(1,000,001\) must be at most 1,000,000"):
        Schema((column_of(kind, minimum=0, maximum=10**9, cells=1_000_001),))


def test_index_snap_and_spread_by_hand() -> None:
    found = digits(3, missing=True).domain.cells()
    numbers = np.array([0, 3, 4, 6, 7, 9, MISSING])
    assert found.index(numbers).tolist() == [1, 1, 2, 2, 3, 3, 0]
    assert found.snap(numbers).tolist() == [0, 0, 4, 4, 7, 7, MISSING]
    found, rng = digits(3, 5).domain.cells(), np.random.default_rng(0)
    for first, inside in {0: {0, 1, 2, 3}, 4: {4}, 5: {5}, 6: {6}, 7: {7, 8, 9}}.items():
        assert {*found.spread(np.full(500, float(first)), rng).tolist()} == inside


# -- cells, in general -----------------------------------------------------------------


@st.composite
def numeric(draw: st.DrawFn, kind: str) -> tuple[Column, np.ndarray]:
    """A column of numbers, and some of them."""
    inside: Any
    if kind == "integer":
        low: float = draw(st.integers(-(10**6), 10**6))
        high: float = low + draw(st.integers(0, 3000))
        inside = st.integers(int(low), int(high))
    else:
        low = draw(st.floats(-1e3, 1e3))
        high = low + draw(st.one_of(st.just(0.0), st.floats(0.1, 1e3)))
        inside = st.floats(low, high)
    column = column_of(
        kind,
        minimum=low,
        maximum=high,
        cells=draw(st.one_of(st.none(), st.integers(1, 50))),
        special=tuple(draw(st.lists(inside, max_size=3))),
        missing=draw(st.booleans()),
    )
    numbers = [*draw(st.lists(inside, min_size=1, max_size=20)), low, high, *column.special]
    return column, np.array(numbers, dtype=float)


@st.composite
def listed(draw: st.DrawFn) -> tuple[Column, np.ndarray]:
    """A categorical column and some of its numbers."""
    size = draw(st.integers(1, 9))
    column = column_of("categorical", categories=tuple(range(size)), missing=draw(st.booleans()))
    return column, np.array(draw(st.lists(st.integers(0, size - 1), min_size=1)), dtype=float)


drawn_columns = st.one_of(numeric("integer"), numeric("continuous"), listed())


@given(drawn_columns, st.integers(0, 2**32))
def test_cells_in_general(drawn: tuple[Column, np.ndarray], seed: int) -> None:
    column, numbers = drawn
    found, rng = column.domain.cells(), np.random.default_rng(seed)
    numbers = np.append(numbers, MISSING) if column.missing else numbers
    assert found.size <= column.domain.most_cells()  # reckoned before they are made
    # every number lies in exactly one cell
    assert np.all(np.diff(found.first) > 0) and np.all(found.first <= found.last)
    if found.step == 0:  # half-open intervals, of which the last one is closed
        following = np.append(found.first[1:], INF)
        within = (numbers[:, None] >= found.first) & (numbers[:, None] < following)
    else:
        within = (numbers[:, None] >= found.first) & (numbers[:, None] <= found.last)
    assert within.sum(axis=1).tolist() == [1] * len(numbers)
    assert within.argmax(axis=1).tolist() == found.index(numbers).tolist()
    # what is drawn stays in the cell and on the grid
    inside = found.spread(found.snap(numbers), rng)
    assert found.index(inside).tolist() == found.index(numbers).tolist()
    assert found.snap(found.snap(numbers)).tolist() == found.snap(numbers).tolist()
    known = inside[np.isfinite(inside)]
    assert len(known) == np.isfinite(numbers).sum()  # missing stays missing
    low, high = column.domain.number_range
    assert np.all((known >= low) & (known <= high))
    assert not found.step or np.all(known == np.round(known))
    # a special value is alone in its cell
    special = np.array(column.special, dtype=float)
    assert found.snap(special).tolist() == found.spread(special, rng).tolist() == special.tolist()
    assert not np.isin(found.snap(numbers[~np.isin(numbers, special)]), special).any()


def test_spread_never_reaches_the_next_cell() -> None:
    """Near 2**50 the numbers are 1/4 apart, so that a sum is easily rounded up."""
    found = column_of("continuous", minimum=2**50, maximum=2**50 + 8, cells=8).domain.cells()
    firsts = np.repeat(found.first, 500)
    inside = found.spread(firsts, np.random.default_rng(0))
    assert np.all(found.snap(inside) == firsts)


# -- resolution ------------------------------------------------------------------------

GRIDS = [0.001, 0.01, 0.05, 0.1, 0.125, 0.25, 1 / 3, 0.5, 0.75, 1, 1.25, 2.5, 5, 12.5, 1000]


def test_rounding_by_hand() -> None:
    column = column_of("continuous", minimum=0.2, maximum=9.9, resolution=0.5, missing=True)
    numbers = np.array([0.21, 0.3, 0.8, 5.2, 9.8, MISSING])
    # 0.21 would go to 0 and 9.8 to 10, which are outside the bounds
    expected = [0.2, 0.5, 1.0, 5.0, 9.9, MISSING]
    assert column.domain.round(numbers).tolist() == expected


@pytest.mark.parametrize("resolution", [0.1, 0.125, 1.25, 0.0625, 0.375])
def test_rounding_leaves_no_digits_behind(resolution: float) -> None:
    column = column_of("continuous", minimum=0, maximum=100, resolution=resolution)
    grid = [float(Decimal(str(resolution)) * i) for i in range(9)]
    assert column.domain.round(np.array(grid) + resolution / 5).tolist() == grid


@pytest.mark.parametrize("resolution", GRIDS)
@settings(max_examples=25)
@given(drawn=numeric("continuous"))
def test_rounded_numbers_lie_on_the_grid_or_on_a_bound(
    resolution: float, drawn: tuple[Column, np.ndarray]
) -> None:
    plain, numbers = drawn
    assert plain.domain.round(numbers).tolist() == numbers.tolist()
    column = replace(plain, resolution=resolution)
    rounded = column.domain.round(np.append(numbers, MISSING))
    assert rounded[-1] == MISSING
    rounded = rounded[:-1]
    assert np.all((rounded >= column.minimum) & (rounded <= column.maximum))
    steps = rounded / resolution
    # up to 2e6 steps, each a few float roundings of 2e-16 away from a whole number
    on_grid = np.abs(steps - np.round(steps)) < 1e-6
    assert np.all(on_grid | np.isin(rounded, [column.minimum, column.maximum]))
