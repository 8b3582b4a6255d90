"""Cells of numeric columns: intervals, which are cut where noisy counts show mass.

The first cells follow magnitude: a single value each where a column has few, else octaves of either
sign, so that a bound that is a hundred times too wide costs a few empty cells. Heavy cells are cut
and their parts counted, so that dense regions and heaps (40 hours a week) get cells of their own.
Except for ``Intervals.index``, which is applied to rows, this is post-processing of released
numbers.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from copula_shirley.schema.domain import (
    LARGEST_DOMAIN,
    LARGEST_EXACT_DOMAIN,
    Cells,
    FloatArray,
    after,
    octaves,
)
from copula_shirley.schema.schema import Column

#: Parts of a cell that is cut: least and most; and of one that holds a heap, where any number of
#: parts shows which of them it is.
LEAST_PARTS, MOST_PARTS, HEAP_PARTS = 16, 100, 1000
#: Rows that a part should have, in standard deviations of its noise.
ROWS_PER_NOISE = 2.0
#: Rows from which a cell is cut, in standard deviations of its parts' noise.
HEAVY = 4.0
#: A part is a heap if it rises above the others of its cell by so many standard deviations, or by
#: as many as the largest noise may well reach.
HEAP = 3.0
#: Points of a grid at the most whose intervals stand in a table.
MOST_POINTS = 2**17
#: Both ends of the cell for missing values.
BEFORE_ALL = -1e300

Places = NDArray[np.intp]
Flags = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Intervals:
    """Neighbouring intervals that make up the domain of a numeric column."""

    column: Column
    #: Ends, the upper one excluded: in steps of the column's grid, or as numbers without one.
    low: FloatArray
    high: FloatArray
    #: Whether an interval stands out of the one that it was cut from.
    heap: Flags

    @classmethod
    def of(cls, column: Column) -> Intervals:
        """The first cells of a column."""
        step = column.domain.step_size
        low, high = _ends(column.domain.cells(), step)
        missing, known = low[low <= BEFORE_ALL], low > BEFORE_ALL
        first, last = low[known].min(), high[known].max()
        if step and last - first <= LARGEST_EXACT_DOMAIN:
            edges = np.arange(first, last + 1)
        elif column.domain.has_magnitudes:
            edges = octaves(first, last, column.special, step)
        else:
            edges = np.append(low[known], last)
        low, high = np.append(missing, edges[:-1]), np.append(missing, edges[1:])
        return cls(column, low, high, np.zeros(len(low), dtype=bool))

    def __len__(self) -> int:
        return len(self.low)

    @cached_property
    def values(self) -> FloatArray:
        """How many values each interval holds; infinite without a grid."""
        step = self.column.domain.step_size
        several = np.maximum(self.high - self.low, 1.0) if step else np.inf
        return np.where(self.high > after(self.low, step), several, 1.0)

    @property
    def has_octaves(self) -> bool:
        """Whether first cells follow magnitude."""
        return self.column.domain.has_magnitudes and float(self.values.max()) > 1

    def index(self, numbers: FloatArray) -> Places:
        """The interval in which each number lies, a function of that number alone."""
        step = self.column.domain.step_size
        points = np.rint(numbers / step) if step else numbers
        if self._of_points is None:
            return self._searched(points)
        start, found = self._of_points
        return found.take(np.clip(points - start, 0, len(found) - 1).astype(np.intp))

    def _searched(self, points: FloatArray) -> Places:
        return np.clip(np.searchsorted(self.low, points, side="right") - 1, 0, None)

    @cached_property
    def _of_points(self) -> tuple[float, Places] | None:
        """The interval of each point of a grid of few, from one before the first known; or None."""
        known = self.low > BEFORE_ALL
        if not self.column.domain.step_size or not known.any():
            return None
        start, end = self.low[known].min() - 1, self.high[known].max()
        if end - start > MOST_POINTS:
            return None
        return start, self._searched(np.arange(start, end + 1))

    def has_ends_of(self, other: Intervals) -> bool:
        """Whether these are the same intervals."""
        return np.array_equal(self.low, other.low) and np.array_equal(self.high, other.high)

    def cut(
        self, rows: FloatArray, sigma: float, big: float, most_cells: int = LARGEST_DOMAIN
    ) -> tuple[Intervals, Places] | None:
        """Heavy intervals in parts, and the interval that each part comes from; None without any.

        Parameters
        ----------
        rows : estimated rows of each interval
        sigma : standard deviation of the noise with which parts will be counted
        big : rows from which an interval is cut that is no heap
        most_cells : intervals after the cut; if they would be more, the heaviest are cut
        """
        heavy = (self.heap | (rows > big)) & (self.values > 1) & (rows > max(HEAVY * sigma, 0))
        most = np.clip(rows / max(ROWS_PER_NOISE * sigma, 1e-9), LEAST_PARTS, MOST_PARTS)
        most = np.where(self.heap, HEAP_PARTS, np.floor(most))
        parts = np.where(heavy, np.minimum(self.values, most), 1).astype(np.intp)
        order = np.argsort(-rows, kind="stable")
        parts[order[len(parts) + np.cumsum(parts[order] - 1) > most_cells]] = 1
        return None if parts.max() == 1 else self.divided(parts)

    def divided(self, parts: Places) -> tuple[Intervals, Places]:
        """Each interval in so many parts, and the interval that each part comes from."""
        parent = np.repeat(np.arange(len(parts)), parts)
        place = np.arange(len(parent)) - (np.cumsum(parts) - parts)[parent]
        low, width = self.low[parent], (self.high - self.low)[parent]
        ends = [at * width / parts[parent] for at in (place, place + 1)]
        if self.column.domain.step_size:
            ends = [np.ceil(end - 1e-9) for end in ends]
        start = low + ends[0]
        stop = np.where(place + 1 == parts[parent], self.high[parent], low + ends[1])
        return Intervals(self.column, start, stop, np.zeros(len(parent), dtype=bool)), parent

    def between(self, low: float, high: float) -> tuple[Intervals, FloatArray]:
        """The intervals cut to what lies from one number to another, and the part that is left."""
        step = self.column.domain.step_size
        if step:
            low, high = np.rint(low / step), np.rint(high / step)
        first = np.maximum(self.low, low)
        last = np.minimum(self.high, after(np.array(high), step))
        width = self.high - self.low
        left = np.clip(last - first, 0, None) / np.where(width > 0, width, 1.0)
        first, last = np.where(left > 0, first, self.low), np.where(left > 0, last, self.high)
        return Intervals(self.column, first, last, self.heap), left

    def draw(self, places: Places, rng: np.random.Generator) -> FloatArray:
        """A number in each of these intervals."""
        low, step = self.low[places], self.column.domain.step_size
        inside = rng.random(len(places)) * (self.high[places] - low)
        drawn = (low + np.floor(inside)) * step if step else low + inside
        if not step:
            drawn = np.where(self.values[places] > 1, drawn, low)
        return self.column.domain.round(np.where(low <= BEFORE_ALL, -np.inf, drawn))


def _ends(cells: Cells, step: float) -> tuple[FloatArray, FloatArray]:
    """Ends of declared cells in steps of the grid, or as numbers without one."""
    known = np.isfinite(cells.first)
    first, last = np.where(known, cells.first, 0.0), np.where(known, cells.last, 0.0)
    if step == 0:
        low, high = first, np.append(first[1:], 0.0)
        high[-1] = np.nextafter(last[-1], np.inf)
    elif cells.step:  # whole numbers, both ends included
        low, high = first, after(last, step)
    else:
        low, high = np.ceil(first / step - 1e-6), np.ceil(last / step - 1e-6)
        high = np.where(first == last, np.rint(first / step) + 1, high)
        high[-1] = after(np.floor(last[-1] / step + 1e-6), step)
        # a value with a cell of its own is not in the next one
        low[1:] = np.where(known[:-1], np.maximum(low[1:], high[:-1]), low[1:])
        high = np.maximum(high, low + 1)
    return np.where(known, low, BEFORE_ALL), np.where(known, high, BEFORE_ALL)


def rows_of_parts(
    finer: Intervals,
    parent: Places,
    rows: FloatArray,
    noisy: FloatArray,
    sigma: float,
    largest: float = HEAP,
    even: FloatArray | None = None,
) -> tuple[Intervals, FloatArray]:
    """Rows of the parts by their noisy counts: what stands out, the rest evened out.

    Parts that rise above the others by more than the largest of all noises would (Donoho and
    Johnstone 1994) are heaps and keep their count; the others share what that leaves of the rows of
    their cell, which are known with less noise than their sum. They are drawn towards their even
    share, the more the less they differ from it beyond noise (James and Stein 1961).

    Parameters
    ----------
    finer, parent : what ``Intervals.cut`` gave
    rows : estimated rows of each interval before the cut
    noisy : noisy count of each part, 0 for intervals that were not cut
    sigma : standard deviation of its noise
    largest : standard deviations that the largest of all these noises may well reach
    even : the share that each part has of its cell if nothing is known; by default the same
    """
    parts = np.bincount(parent)
    even = 1.0 / parts[parent] if even is None else even
    new = parts[parent] > 1
    noise = sigma * max(HEAP, largest)
    heap = np.zeros(len(parent), dtype=bool)
    mean = _mean(noisy, parent, heap, even)
    for _ in range(2):
        heap = new & (noisy - mean > noise)
        mean = _mean(noisy, parent, heap, even)
    spread = np.bincount(parent, np.where(heap, 0.0, (noisy - mean) ** 2))
    free = np.maximum(np.bincount(parent, ~heap) - 3.0, 0.0)
    chance = (free + 2 * np.sqrt(2 * free)) * sigma**2  # the most that noise alone may well bring
    weight = np.clip(1 - chance / np.maximum(spread, 1e-9), 0, 1)
    weight = np.where(free > 0, weight, 0.0 if sigma else 1.0)[parent]
    rest = np.where(heap, 0.0, np.maximum(mean + weight * (noisy - mean), 0.0))
    evened = np.bincount(parent, rest)[parent]
    rest = np.where(evened > 0, rest / np.maximum(evened, 1e-300), 0.0)
    heaps = np.where(heap, noisy, 0.0)
    left = np.maximum(rows - np.bincount(parent, heaps), 0.0)[parent]
    found = heaps + rest * left
    total = np.bincount(parent, found)[parent]
    share = np.where(new & (total > 0), found / np.maximum(total, 1e-300), even)
    return Intervals(finer.column, finer.low, finer.high, heap), rows[parent] * share


def _mean(counts: FloatArray, parent: Places, heap: Flags, even: FloatArray) -> FloatArray:
    """What each part would have if those of its cell that are no heaps had their even shares."""
    others = np.bincount(parent, np.where(heap, 0.0, even))
    sums = np.bincount(parent, np.where(heap, 0.0, counts))
    return np.asarray(even * np.maximum(sums / np.maximum(others, 1e-300), 0.0)[parent])
