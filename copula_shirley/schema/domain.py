"""Values of a column on its public domain, as numbers and as histogram cells.

Everything here is a public map: it depends on the column's description and on
one value at a time, never on the other rows. A missing value is the number
``-inf``, so that it sorts below every value in each kind of column. Categories
are their position in the declared list, dates the number of steps since the
declared minimum, numbers themselves.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from copula_shirley.errors import SchemaError
from copula_shirley.schema.values import SIMPLE, Positions, absent, moment_of, numbers_of, shown

if TYPE_CHECKING:
    from copula_shirley.schema.schema import Column

FloatArray = NDArray[np.float64]

MISSING = -np.inf
#: Cells of a wide numeric column whose schema does not say how many.
DEFAULT_CELLS = 100
#: Integer and date columns with at most so many values get a cell for each.
LARGEST_EXACT_DOMAIN = 1_000
#: Cells of a column, and of all columns of a schema together. A model takes some 120 bytes for each
#: when it is loaded (100 MB for 900,000), and a schema says how many in a few letters.
LARGEST_DOMAIN = 1_000_000
#: Cells of a numeric column. The time to smooth its histogram grows with the square of their
#: number: 12 s for 50,000.
LARGEST_NUMERIC_DOMAIN = 50_000
TEXT_FORMATS = ("%Y-%m-%d", "%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M:%S", "%Y/%m/%d")
#: The dtype of texts: "str" in pandas 3, "object" in pandas 2.
TEXT = str(pd.Series(["text"]).dtype)
STEPS = ("1D", "1h", "1min", "1s", "1ms", "1us")


# -- values to numbers and back ------------------------------------------------


def to_numbers(column: Column, series: pd.Series) -> FloatArray:
    """Map the values of a validated series to numbers.

    Examples
    --------
    >>> from copula_shirley.schema.schema import Column
    >>> colour = Column("colour", "categorical", categories=("blue", "red"), missing=True)
    >>> to_numbers(colour, pd.Series(["red", None, "blue"])).tolist()
    [1.0, -inf, 0.0]
    """
    if column.kind in ("categorical", "boolean"):
        positions = _positions(column, series).astype(float)
        return np.where(positions < 0, MISSING, positions)
    if column.kind == "datetime":
        steps = _steps(column, stamps(series, column.format))
        return np.where(np.isnan(steps), MISSING, np.floor(steps))
    values = as_floats(series)
    return np.where(np.isnan(values), MISSING, values)


def from_numbers(column: Column, numbers: FloatArray, dtype: str | None = None) -> pd.Series:
    """Map numbers back to values, stored as ``dtype``."""
    missing = np.isneginf(numbers)
    known = np.where(missing, 0.0, numbers)
    values: Any
    if column.kind in ("categorical", "boolean"):
        listed = np.array(categories(column), dtype=object)
        values = pd.Series(listed[known.astype(int)], dtype=object)
        values[missing] = None
    elif column.kind == "datetime":
        step = int(step_of(column) / pd.Timedelta("1us"))
        start = np.datetime64(column.minimum, "us")
        values = pd.Series(start + (known.astype("int64") * step).astype("timedelta64[us]"))
        values[missing] = pd.NaT
    elif column.kind == "integer" and not missing.any():
        values = pd.Series(np.rint(known).astype("int64"))
    elif column.kind == "integer" and dtype == "object":
        plain = [None if gap else round(v) for gap, v in zip(missing, known, strict=True)]
        values = pd.Series(plain, dtype=object)
    else:
        values = pd.Series(np.where(missing, np.nan, known))
    return _stored_as(column, values, dtype)


def categories(column: Column) -> tuple[Any, ...]:
    """The closed list of a categorical or boolean column."""
    return (False, True) if column.kind == "boolean" else column.categories


def storage(column: Column, series: pd.Series) -> str:
    """The dtype in which synthetic values are stored: the table's own.

    A column that may be missing needs a dtype that can hold it, even if no
    value is missing in these rows. The dtype itself is a fact about the rows (a
    missing value turns whole numbers into floats), which the ledger says.
    """
    name = str(series.dtype)
    if isinstance(series.dtype, pd.CategoricalDtype):
        order = "ordered" if series.dtype.ordered else "unordered"
        return f"category {order}"
    if pd.api.types.is_float_dtype(series.dtype):  # what pandas makes of nothing but gaps
        if column.format or any(isinstance(c, str) for c in column.categories):
            return TEXT
        if column.kind == "datetime":
            return "datetime64[us]"
        if column.kind == "boolean":
            return "boolean"
    if column.missing and name == "bool":
        return "boolean"
    if column.missing and name.startswith(("int", "uint")):
        return name.replace("uint", "UInt").replace("int", "Int")
    return name


def private_storage(column: Column) -> str:
    """The dtype in which synthetic values are stored, whatever the rows hold.

    One missing value turns whole numbers into floats and booleans into objects, one decimal whole
    numbers into floats, one text or one time zone anything into objects. So the dtype follows from
    the column's declaration alone.
    """
    kinds = {type(category) for category in column.categories}
    if column.kind == "datetime":
        return TEXT if column.format else "datetime64[us]"
    if column.kind == "integer" or kinds == {int}:
        return "Int64" if column.missing else "int64"
    if column.kind == "boolean" or kinds == {bool}:
        return "boolean" if column.missing else "bool"
    if column.kind == "continuous" or kinds in ({float}, {int, float}):
        return "float64"
    return TEXT if kinds == {str} else "object"


class Grid:
    """The cells of all columns of a schema: rows as small whole numbers, and back.

    Parameters
    ----------
    columns : iterable of Column
    """

    def __init__(self, columns: Iterable[Column]) -> None:
        self.columns = {column.name: column for column in columns}
        self.cells = {name: cells(column) for name, column in self.columns.items()}
        self.sizes = {name: part.size for name, part in self.cells.items()}

    def codes(self, numbers: dict[str, FloatArray]) -> dict[str, NDArray[np.intp]]:
        """The cell of each number, per column."""
        return {name: part.index(numbers[name]) for name, part in self.cells.items()}

    def numbers(
        self, codes: dict[str, NDArray[np.intp]], rng: np.random.Generator
    ) -> dict[str, FloatArray]:
        """A number drawn inside each cell, at the column's resolution."""
        drawn = {}
        for name, part in self.cells.items():
            inside = part.spread(part.first[codes[name]], rng)
            drawn[name] = round_to_resolution(self.columns[name], inside)
        return drawn


def _stored_as(column: Column, values: pd.Series, dtype: str | None) -> pd.Series:
    if dtype is None or (dtype == "object" and column.kind == "categorical"):
        return values
    if dtype.startswith("category"):
        if column.format is not None:
            values = date_texts(values, column.format)
        listed = list(categories(column)) if column.kind in ("categorical", "boolean") else None
        return values.astype(pd.CategoricalDtype(listed, ordered=dtype.endswith(" ordered")))
    kind = pd.api.types.pandas_dtype(dtype)
    if column.kind != "datetime":
        return values.astype(kind)
    if column.format is not None:
        return date_texts(values, column.format).astype(kind)
    if dtype == "object":
        daily = step_of(column) % pd.Timedelta("1D") == pd.Timedelta(0)
        plain = [None if pd.isna(v) else (v.date() if daily else v.to_pydatetime()) for v in values]
        return pd.Series(plain, dtype=object)
    if isinstance(kind, pd.DatetimeTZDtype):
        values = values.dt.tz_localize("UTC")
    return values.astype(kind)


def _positions(column: Column, series: pd.Series) -> NDArray[np.intp]:
    """Position of each value in the closed list; -1 missing, -2 unknown."""
    where = Positions(categories(column)).of
    if series.dtype == object and not set(map(type, series)) <= SIMPLE | {str}:
        found = np.array([where(value) for value in series], dtype=np.intp)
        return np.where(absent(series), -1, found)
    codes, distinct = pd.factorize(series, use_na_sentinel=True)
    return np.array([*map(where, distinct), -1], dtype=np.intp)[codes]


def step_of(column: Column) -> pd.Timedelta:
    """The grid on which the dates of a column lie (default: seconds)."""
    return pd.Timedelta("1s" if column.resolution is None else column.resolution)


def stamps(series: pd.Series, stored_format: str | None) -> pd.Series:
    """A series of dates as naive UTC timestamps; what is no date becomes NaT.

    Each value is read by itself: ``pandas.to_datetime`` takes format, time zone and unit from the
    whole column.
    """
    if isinstance(series.dtype, pd.CategoricalDtype):
        series = series.astype(series.dtype.categories.dtype)
    if isinstance(series.dtype, pd.DatetimeTZDtype):
        series = series.dt.tz_convert("UTC").dt.tz_localize(None)
    if pd.api.types.is_datetime64_any_dtype(series.dtype):
        return series.astype("datetime64[us]")
    texts: dict[str, np.datetime64] = {}
    moments = []
    for value in series:
        moment = texts.get(value) if isinstance(value, str) else None
        if moment is None:
            moment = moment_of(value, stored_format)
            if isinstance(value, str):
                texts[value] = moment
        moments.append(moment)
    return pd.Series(np.array(moments, dtype="datetime64[us]"), index=series.index)


def date_texts(moments: pd.Series, stored_format: str) -> pd.Series:
    """Naive UTC timestamps as texts that ``stamps`` reads back."""
    if "%z" in stored_format:
        moments = moments.dt.tz_localize("UTC")
    texts: pd.Series = moments.dt.strftime(stored_format)
    return texts


def _steps(column: Column, moments: pd.Series) -> FloatArray:
    # in microseconds: nanoseconds since long ago are beyond the whole numbers of a double
    elapsed = (moments - column.minimum.as_unit("us")) / step_of(column).as_unit("us")
    return np.asarray(elapsed.to_numpy(dtype=float, na_value=np.nan))


def guess_format(known: pd.Series) -> str | None:
    """The format of dates stored as text, or None if this is no such column."""
    distinct = pd.Series(known.unique(), dtype=object)
    if not all(isinstance(v, str) for v in distinct):
        return None
    for stored_format in TEXT_FORMATS:
        again = date_texts(stamps(distinct, stored_format), stored_format)
        if bool((again == distinct).all()):
            return stored_format
    return None


def guess_step(moments: pd.Series) -> str:
    """The coarsest step on which all moments lie, from the earliest one."""
    elapsed = moments.to_numpy("datetime64[us]").astype("int64")
    elapsed = elapsed - elapsed.min()
    for step in STEPS:
        if np.all(elapsed % int(pd.Timedelta(step) / pd.Timedelta("1us")) == 0):
            return step
    return STEPS[-1]


# -- what fits and what does not -----------------------------------------------


def outside(column: Column, series: pd.Series) -> NDArray[np.bool_]:
    """Which values of the series are outside the domain."""
    wrong = np.zeros(len(series), dtype=bool)
    for offends, _ in _rules(column, series):
        wrong |= offends
    return wrong


def unreadable(column: Column, series: pd.Series) -> NDArray[np.bool_]:
    """Which values are of another kind than the column: no finite number, no date."""
    known = ~absent(series)
    if column.kind in ("categorical", "boolean"):
        return np.zeros(len(series), dtype=bool)
    if column.kind != "datetime":
        return known & ~np.isfinite(as_floats(series))
    return known & (stamps(series, column.format).isna().to_numpy() | _bare_texts(column, series))


def check(column: Column, series: pd.Series, show_values: bool = False) -> None:
    """Raise one ``SchemaError`` if a value of the series is outside the domain."""
    for wrong, rule in _rules(column, series):
        if wrong.any():
            quoted = ""
            if show_values:
                some = dict.fromkeys(shown(_scalar(v)) for v in series[wrong])
                quoted = f" (found {', '.join(list(some)[:5])})"
            raise SchemaError(f"column {column.name!r}: {rule}{quoted}")


def _rules(column: Column, series: pd.Series) -> list[tuple[NDArray[np.bool_], str]]:
    check_closed(column)
    gaps = absent(series)
    rules = []
    if not column.missing:
        rules.append((gaps, "a value is missing; declare missing: true or fill it"))
    if column.kind in ("categorical", "boolean"):
        listed = categories(column)
        allowed = ", ".join(map(repr, listed[:12])) + (", ..." if len(listed) > 12 else "")
        rule = f"a value is not among the {len(listed)} categories {allowed}{_hint(column)}"
        if column.other is not None:
            rule += f"; a fit with on_unknown='clip' counts it as {column.other!r}"
        return [*rules, (_positions(column, series) == -2, rule)]
    if column.kind == "datetime":
        moments = stamps(series, column.format)
        steps = _steps(column, moments)
        how = f"of the format {column.format!r}" if column.format else "a date"
        bounds = f"[{column.minimum}, {column.maximum}]"
        return [
            *rules,
            (
                _bare_texts(column, series),
                "dates are stored as text; declare their format, such as %d.%m.%Y",
            ),
            (moments.isna().to_numpy() & ~gaps, f"a value is not {how}"),
            (_outside(moments, column), f"a value is outside {bounds}"),
            (
                ~gaps & (steps != np.floor(steps)),
                f"a value is not a whole number of steps ({step_of(column)}) after the minimum",
            ),
        ]
    values = as_floats(series)
    bounds = f"[{column.minimum}, {column.maximum}]"
    rules += [
        (
            np.isnan(values) & ~gaps,
            f"a value is not a number; allowed are numbers in {bounds}, with a decimal point and "
            f"no separators{_hint(column)}",
        ),
        (_outside(values, column), f"a value is outside {bounds}"),
    ]
    if column.kind == "integer":
        fraction = np.isfinite(values) & (values != np.round(values))
        rules.append((fraction, "a value is not a whole number"))
    return rules


def _hint(column: Column) -> str:
    """What is often the cause of an unknown value."""
    if column.kind == "boolean":
        return " (or TRUE, true, 1 and the like); of other words the kind is categorical"
    return "; a text that stands for a missing value is named with --missing" * column.missing


def _bare_texts(column: Column, series: pd.Series) -> NDArray[np.bool_]:
    """Which dates are texts without a declared format, in which they could not be written again."""
    if column.format is not None or pd.api.types.is_datetime64_any_dtype(series.dtype):
        return np.zeros(len(series), dtype=bool)
    return np.array([isinstance(value, str) for value in series], dtype=bool)


def as_floats(series: pd.Series) -> FloatArray:
    """The values as numbers; NaN where they are none. Dates and durations are none."""
    dtype = series.dtype
    if pd.api.types.is_numeric_dtype(dtype) and dtype.kind in "biuf":
        return series.to_numpy(dtype=float, na_value=np.nan)
    if dtype.kind in "mMc" or pd.api.types.is_datetime64_any_dtype(dtype):
        return np.full(len(series), np.nan)
    return numbers_of(series)


def _outside(values: Any, column: Column) -> NDArray[np.bool_]:
    return np.asarray((values < column.minimum) | (values > column.maximum))


def clip(column: Column, series: pd.Series) -> pd.Series:
    """Map unknown categories to ``other`` and numbers to the nearest bound.

    What is inside the domain is read as before. So categories come back as objects: a cast to the
    dtype of the series would lose what only reads like a category of it.
    """
    check_closed(column)
    if column.kind == "boolean" or (column.kind == "categorical" and column.other is None):
        return series
    if column.kind == "categorical":
        unknown = _positions(column, series) == -2
        return series.astype(object).where(~unknown, column.other) if unknown.any() else series
    if column.kind == "datetime":
        return _clip_dates(column, series)
    values, dtype = as_floats(series), series.dtype
    wrong = _outside(values, column)
    if not wrong.any():
        return series
    low, high = column.minimum, column.maximum
    whole = low == int(low) and high == int(high) and pd.api.types.is_signed_integer_dtype(dtype)
    if (isinstance(dtype, np.dtype) and dtype.kind == "f") or (whole and dtype.kind == "i"):
        return series.clip(low, high)
    nearest = np.where(values < low, low, high).astype(object)
    return series.astype(object).where(~wrong, pd.Series(nearest, series.index))


def _clip_dates(column: Column, series: pd.Series) -> pd.Series:
    moments = stamps(series, column.format)
    wrong = _outside(moments, column)
    if not wrong.any():
        return series
    steps = np.floor(_steps(column, moments.clip(column.minimum, column.maximum)))
    nearest = from_numbers(column, np.where(np.isnan(steps), MISSING, steps))
    nearest = nearest.set_axis(series.index)
    if isinstance(series.dtype, pd.DatetimeTZDtype):
        nearest = nearest.dt.tz_localize("UTC").astype(series.dtype)
    elif series.dtype.kind == "M":
        nearest = nearest.astype(series.dtype)
    else:  # by format a moment is read as itself
        series, nearest = series.astype(object), _stored_as(column, nearest, "object")
        if column.format is not None:
            nearest = nearest.astype(object)
    return series.where(~wrong, nearest.set_axis(series.index))


def _scalar(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


# -- cells ---------------------------------------------------------------------


@dataclass(frozen=True)
class Cells:
    """A partition of a column's domain into histogram cells.

    A cell is named by its first number. ``last`` is the largest number of the
    cell on a grid of spacing ``step``; with ``step`` 0 the cell is the interval
    from ``first`` to ``last``.
    """

    first: FloatArray
    last: FloatArray
    step: float

    @property
    def size(self) -> int:
        """Number of cells, the one for missing values included."""
        return len(self.first)

    def index(self, numbers: FloatArray) -> NDArray[np.intp]:
        """The cell in which each number lies."""
        return np.searchsorted(self.first, numbers, side="right") - 1

    def snap(self, numbers: FloatArray) -> FloatArray:
        """Replace each number by the name of its cell."""
        return self.first[self.index(numbers)]

    def spread(self, numbers: FloatArray, rng: np.random.Generator) -> FloatArray:
        """Draw a number uniformly inside the cell of each number."""
        index = self.index(numbers)
        low, high = self.first[index], self.last[index]
        width = np.subtract(high, low, out=np.zeros_like(low), where=np.isfinite(low))
        share = rng.random(len(numbers))
        if self.step == 0:
            # a sum that is rounded up must not reach the next cell
            return np.minimum(low + share * width, np.nextafter(high, low))
        return low + self.step * np.floor(share * (width / self.step + 1))


def cells(column: Column) -> Cells:
    """The histogram cells of a column's declared domain.

    Categories, and integers or dates with few values, have a cell each; other
    columns have ``column.cells`` equal-width cells. Special values get a cell
    of their own.

    Examples
    --------
    >>> from copula_shirley.schema.schema import Column
    >>> income = Column("income", "integer", minimum=0, maximum=9, cells=3, special=(0,))
    >>> cells(income).first.tolist(), cells(income).last.tolist()
    ([0.0, 1.0, 4.0, 7.0], [0.0, 3.0, 6.0, 9.0])
    """
    check_closed(column)
    if column.kind in ("categorical", "boolean"):
        first = np.arange(len(categories(column)), dtype=float)
        return _with_missing(column, first, first, 1.0)
    if column.kind == "continuous":
        low, high, step = float(column.minimum), float(column.maximum), 0.0
        count = _equal_cells(column)
        starts = np.linspace(low, high, count + 1)[:-1] if high > low else np.array([low])
    else:
        low, high, step = _grid(column)
        span = int(high - low) + 1
        count = _equal_cells(column)
        starts = low + np.ceil(np.arange(count) * (span / count))
    special = np.array(sorted(set(column.special)), dtype=float)
    after = special + 1 if step else np.nextafter(special, np.inf)
    starts = np.unique(np.concatenate([starts, special, after[after <= high]]))
    last = np.append(starts[1:] - step, high) if step else np.append(starts[1:], high)
    last = np.where(np.isin(starts, special), starts, last)
    return _with_missing(column, starts, last, step)


def check_closed(column: Column) -> None:
    """Refuse a column without bounds or categories."""
    if column.open:
        what = "categories" if column.kind == "categorical" else "minimum and maximum"
        raise SchemaError(
            f"column {column.name!r}: {what} (None) must be declared, or bought by "
            "PrivateVine(domain='measured')"
        )


def step_size(column: Column) -> float:
    """Distance of neighbouring values of a numeric column; 0 where every number is one."""
    if column.kind == "continuous":
        return 0.0 if column.resolution is None else float(column.resolution)
    return 1.0


def _grid(column: Column) -> tuple[float, float, float]:
    if column.kind == "integer":
        return float(column.minimum), float(column.maximum), 1.0
    steps = _steps(column, pd.Series([column.maximum]))
    return 0.0, float(np.floor(steps[0])), 1.0


def most_cells(column: Column) -> int:
    """How many cells a column has at the most, reckoned before any of them is made.

    Examples
    --------
    >>> from copula_shirley.schema.schema import Column
    >>> most_cells(Column("income", "integer", minimum=0, maximum=9, cells=3, missing=True))
    4
    """
    if column.open:
        return 0
    if column.kind in ("categorical", "boolean"):
        return len(categories(column)) + column.missing
    # a special value ends the cell that it lies in, and another one starts behind it
    count = _equal_cells(column) + 2 * len(column.special)
    if count > LARGEST_NUMERIC_DOMAIN:
        raise SchemaError(
            f"column {column.name!r}: cells ({count:,}, two for each special value included) must "
            f"be at most {LARGEST_NUMERIC_DOMAIN:,}"
        )
    return count + column.missing


def _equal_cells(column: Column) -> int:
    """Number of equal-width cells of a numeric column, before values with one of their own."""
    if column.kind == "continuous":
        count = column.cells or _default_count(column)
    else:
        low, high, _ = _grid(column)
        span = int(high - low) + 1
        wanted = column.cells or (span if span <= LARGEST_EXACT_DOMAIN else DEFAULT_CELLS)
        count = min(wanted, span)
    if count > LARGEST_NUMERIC_DOMAIN:
        raise SchemaError(
            f"column {column.name!r}: cells ({count:,}) must be at most {LARGEST_NUMERIC_DOMAIN:,}"
        )
    return count


def _default_count(column: Column) -> int:
    if column.resolution is None:
        return DEFAULT_CELLS
    steps = float(column.maximum - column.minimum) / float(column.resolution)
    return max(1, min(DEFAULT_CELLS, round(steps)))


def _with_missing(column: Column, first: FloatArray, last: FloatArray, step: float) -> Cells:
    if column.missing:
        first, last = np.append(MISSING, first), np.append(MISSING, last)
    return Cells(first, last, step)


def round_to_resolution(column: Column, numbers: FloatArray) -> FloatArray:
    """Round continuous numbers to the declared resolution, inside the bounds."""
    if column.kind != "continuous" or column.resolution is None:
        return numbers
    resolution = float(column.resolution)
    steps = np.round(numbers / resolution)
    # 15 significant digits are exact: what is after them is dust
    largest = max(abs(float(column.minimum)), abs(float(column.maximum)), resolution)
    rounded = np.round(steps * resolution, 14 - int(np.floor(np.log10(largest))))
    bounded = np.clip(rounded, column.minimum, column.maximum)
    return np.where(np.isneginf(numbers), numbers, bounded)
