"""Cells of columns: the numbers of values, gathered in histogram cells.

A value of a column is a number (``Column.domain``): categories are their position in the declared
list, dates the number of steps since the declared minimum, numbers themselves. A missing value is
the number ``-inf``, so that it sorts below every value in each kind of column.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
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
#: Cells of ``octaves`` at the most, before special values: of either sign, zero, the outermost.
MOST_OCTAVES = 2 * 64 + 3
#: Smallest magnitude of a column without a grid, as a part of its largest.
SMALLEST = 2.0**-24
#: The dtype of texts: "str" in pandas 3, "object" in pandas 2.
TEXT = str(pd.Series(["text"]).dtype)


@dataclass(frozen=True)
class Cells:
    """A partition of a column's domain into histogram cells, each named by its first number.

    ``last`` is the largest number of the cell on a grid of spacing ``step``; with ``step`` 0 the
    cell is the interval from ``first`` to ``last``. In cells of ``octaves`` numbers are drawn
    uniformly on the logarithmic scale.
    """

    first: FloatArray
    last: FloatArray
    step: float
    octaves: bool = False

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
        """A number drawn inside the cell of each number."""
        index = self.index(numbers)
        low, high = self.first[index], self.last[index]
        if self.octaves:
            return self._spread_log(low, high, rng.random(len(numbers)))
        width = np.subtract(high, low, out=np.zeros_like(low), where=np.isfinite(low))
        share = rng.random(len(numbers))
        if self.step == 0:
            # a sum that is rounded up must not reach the next cell
            return np.minimum(low + share * width, np.nextafter(high, low))
        return low + self.step * np.floor(share * (width / self.step + 1))

    def _spread_log(self, low: FloatArray, high: FloatArray, share: FloatArray) -> FloatArray:
        """A magnitude drawn uniformly on the logarithmic scale, uniformly in a cell at zero."""
        least = np.maximum(np.maximum(low, -high), 0.0)
        most = np.maximum(np.abs(low), np.abs(high))
        one_sided = (least >= np.finfo(float).tiny) & np.isfinite(most)
        ratio = np.divide(most + self.step, least, out=np.ones_like(low), where=one_sided)
        drawn = least * ratio**share
        if self.step:
            drawn = np.floor(drawn)
        drawn = np.copysign(np.minimum(drawn, most), low)
        width = np.subtract(high, low, out=np.zeros_like(low), where=np.isfinite(low))
        near_zero = low + share * width if self.step == 0 else low
        found = np.where(one_sided, drawn, near_zero)
        # a number that is rounded up must not reach the next cell
        return found if self.step else np.minimum(found, np.nextafter(high, low))


def octaves(
    first: float, last: float, special: Sequence[float], step: float, most: int = MOST_OCTAVES
) -> FloatArray:
    """Edges at powers of two of either sign; zero and special values are cells of their own.

    Ends and edges are in steps of the grid, or numbers without one; the upper end is excluded.
    Where that makes more than ``most`` cells beside those, the edges are at powers of 4, 8, ...
    """
    unit = 1.0 if step else max(abs(first), abs(last)) * SMALLEST
    points = np.array([0.0, *special], dtype=float)
    if step:
        points = np.rint(points / step)
    own = [points, after(points, step), [first, last]]
    for doublings in range(1, 64):
        powers = unit * 2.0 ** np.arange(0, 64, doublings)
        edges = np.unique(np.concatenate([powers, 1 - powers if step else -powers, *own]))
        edges = edges[(first <= edges) & (edges <= last)]
        if len(edges) - 1 <= most + 1 + 2 * len(special):
            break
    return edges


def after(points: FloatArray, step: float) -> FloatArray:
    """The next point of a grid, or the next number without one."""
    following = np.nextafter(points, np.inf)  # beyond 2**53 numbers lie farther apart than points
    return np.asarray(np.maximum(points + 1, following) if step else following)


class Grid:
    """The cells of all columns of a schema: rows as small whole numbers, and back."""

    def __init__(self, columns: Iterable[Column]) -> None:
        self.columns = {column.name: column for column in columns}
        self.cells = {name: column.domain.cells() for name, column in self.columns.items()}
        self.sizes = {name: part.size for name, part in self.cells.items()}

    def codes(self, numbers: Mapping[str, FloatArray]) -> dict[str, NDArray[np.intp]]:
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
