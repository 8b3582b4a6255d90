"""Cells of columns: the numbers of values, gathered in histogram cells.

A value of a column is a number (``Column.domain``): categories are their position in the declared
list, dates the number of steps since the declared minimum, numbers themselves. A missing value is
the number ``-inf``, so that it sorts below every value in each kind of column.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

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
    """A partition of a column's domain into histogram cells, each named by its first number.

    ``last`` is the largest number of the cell on a grid of spacing ``step``; with ``step`` 0 the
    cell is the interval from ``first`` to ``last``.
    """

    first: FloatArray
    last: FloatArray
    step: float

    @property
    def size(self) -> int:
        return len(self.first)

    def index(self, numbers: FloatArray) -> NDArray[np.intp]:
        """The cell in which each number lies."""
        return np.searchsorted(self.first, numbers, side="right") - 1

    def snap(self, numbers: FloatArray) -> FloatArray:
        """Each number replaced by the name of its cell."""
        return self.first[self.index(numbers)]

    def spread(self, numbers: FloatArray, rng: np.random.Generator) -> FloatArray:
        """A number drawn uniformly inside the cell of each number."""
        index = self.index(numbers)
        low, high = self.first[index], self.last[index]
        width = np.subtract(high, low, out=np.zeros_like(low), where=np.isfinite(low))
        share = rng.random(len(numbers))
        if self.step == 0:
            # a sum that is rounded up must not reach the next cell
            return np.minimum(low + share * width, np.nextafter(high, low))
        return low + self.step * np.floor(share * (width / self.step + 1))


class Grid:
    """The cells of all columns of a schema: rows as small whole numbers, and back."""

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
        """A number drawn inside each cell, at the resolution of its column."""
        inside = {
            name: part.spread(part.first[codes[name]], rng)
            for name, part in self.cells.items()
            if name in codes
        }
        return {name: self.columns[name].domain.round(drawn) for name, drawn in inside.items()}
