"""Cells of columns: the numbers of values, gathered in histogram cells.

A value of a column is a number (``Column.domain``): categories are their position in the declared
list, dates the number of steps since the declared minimum, numbers themselves. A missing value is
the number ``-inf``, so that it sorts below every value in each kind of column.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

if TYPE_CHECKING:
    from copula_shirley.schema.column import Column

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
#: The dtype of texts: "str" in pandas 3, "object" in pandas 2.
TEXT = str(pd.Series(["text"]).dtype)


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


class Grid:
    """The cells of all columns of a schema: rows as small whole numbers, and back.

    Parameters
    ----------
    columns : iterable of Column
    """

    def __init__(self, columns: Iterable[Column]) -> None:
        self.columns = {column.name: column for column in columns}
        self.cells = {name: column.domain.cells() for name, column in self.columns.items()}
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
            drawn[name] = self.columns[name].domain.round(inside)
        return drawn


# -- the same by functions --------------------------------------------------------------


def to_numbers(column: Column, series: pd.Series) -> FloatArray:
    """The values of a validated series as numbers."""
    return column.domain.to_numbers(series)


def from_numbers(column: Column, numbers: FloatArray, dtype: str | None = None) -> pd.Series:
    """Numbers as values, stored as ``dtype``."""
    return column.domain.from_numbers(numbers, dtype)


def categories(column: Column) -> tuple[Any, ...]:
    """The closed list of a categorical or boolean column."""
    return column.domain.categories


def storage(column: Column, series: pd.Series) -> str:
    """The dtype in which synthetic values are stored: the table's own."""
    return column.domain.storage(series)


def private_storage(column: Column) -> str:
    """The dtype of synthetic values, whatever the rows hold."""
    return column.domain.private_storage


def step_of(column: Column) -> pd.Timedelta:
    """The grid of dates."""
    step: pd.Timedelta = column.domain.step  # type: ignore[attr-defined]
    return step


def outside(column: Column, series: pd.Series) -> NDArray[np.bool_]:
    """Which values of the series are outside the domain."""
    return column.domain.outside(series)


def unreadable(column: Column, series: pd.Series) -> NDArray[np.bool_]:
    """Which values are of another kind than the column."""
    return column.domain.unreadable(series)


def check(column: Column, series: pd.Series, show_values: bool = False) -> None:
    """Raise one ``SchemaError`` if a value of the series is outside the domain."""
    column.domain.check(series, show_values)


def clip(column: Column, series: pd.Series) -> pd.Series:
    """The series with what is outside the domain at the nearest bound, or ``other``."""
    return column.domain.clip(series)


def cells(column: Column) -> Cells:
    """The histogram cells of a column's declared domain."""
    return column.domain.cells()


def step_size(column: Column) -> float:
    """Distance of neighbouring values of a numeric column; 0 where every number is one."""
    return column.domain.step_size


def most_cells(column: Column) -> int:
    """How many cells a column has at the most."""
    return column.domain.most_cells()


def round_to_resolution(column: Column, numbers: FloatArray) -> FloatArray:
    """Numbers at the declared resolution, inside the bounds."""
    return column.domain.round(numbers)


def stamps(series: pd.Series, stored_format: str | None) -> pd.Series:
    """A series of dates as naive UTC timestamps; what is no date becomes NaT."""
    from copula_shirley.schema import dates  # noqa: PLC0415

    return dates.stamps(series, stored_format)


def date_texts(moments: pd.Series, stored_format: str) -> pd.Series:
    """Naive UTC timestamps as texts that ``stamps`` reads back."""
    from copula_shirley.schema import dates  # noqa: PLC0415

    return dates.date_texts(moments, stored_format)


def as_floats(series: pd.Series) -> FloatArray:
    """The values as numbers; NaN where they are none."""
    from copula_shirley.schema import values  # noqa: PLC0415

    return values.as_floats(series)
