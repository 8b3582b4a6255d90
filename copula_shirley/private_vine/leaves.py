"""Fine margins: cells of numeric columns, cut into parts where there is mass.

A declared cell may hold many values: 25 dollars, half a point of an index. Heavy cells are cut and
the parts counted, heavy parts that stand out are cut again, and so a heap survives (40 hours a
week, an imputed 13.73189) however wide its cell. Leaves are what is left uncut. Except for
``leaf_of``, which ``measure`` applies to rows, this is post-processing of released numbers.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from copula_shirley.rows.rows import Chunk
from copula_shirley.schema.domain import Cells, FloatArray
from copula_shirley.schema.schema import Column

#: Parts of one leaf, at the most: three cuts find any one of a million values in a cell.
MOST_PARTS = 100
#: A leaf is cut if its count is so many standard deviations of the parts' noise.
HEAVY = 4.0
#: A part is a heap if it rises above its leaf by so many standard deviations, or by as many as
#: noise alone may well reach.
HEAP = 3.0
#: Both ends of the leaf for missing values.
BEFORE_ALL = -1e300

Places = NDArray[np.intp]
Flags = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Leaves:
    """Intervals that make up the declared cells of a numeric column, in order."""

    column: Column
    #: The declared cell of each leaf.
    cell: Places
    #: Ends, the upper one excluded: in steps of the column's grid, or as numbers if it has none.
    low: FloatArray
    high: FloatArray
    #: The leaf's share of the mass of its cell.
    share: FloatArray
    #: Whether it stands out of the leaf that it was cut from.
    heap: Flags

    @classmethod
    def of(cls, column: Column, cells: Cells) -> Leaves:
        size = cells.size
        low, high = _ends(cells, column.domain.step_size)
        return cls(column, np.arange(size), low, high, np.ones(size), np.ones(size, dtype=bool))

    @property
    def values(self) -> FloatArray:
        """How many values each leaf holds; infinite without a grid."""
        width = self.high - self.low
        if self.column.domain.step_size == 0:
            return np.where(width > 0, np.inf, 1.0)
        return np.maximum(width, 1.0)

    @cached_property
    def _start(self) -> Places:
        """Position of the first leaf of each cell, and one past the last."""
        return np.searchsorted(self.cell, np.arange(self.cell[-1] + 2))

    def leaf_of(self, numbers: FloatArray, codes: NDArray[np.signedinteger]) -> Places:
        """The leaf in which each number lies, a function of that number alone."""
        step = self.column.domain.step_size
        points = np.rint(numbers / step) if step else numbers
        found = np.searchsorted(self.low, points, side="right") - 1
        return np.clip(found, self._start[codes], self._start[codes + 1] - 1)

    def cut(self, counts: FloatArray, sigma: float) -> tuple[Leaves, Places] | None:
        """Leaves with heavy ones cut, and the leaf that each comes from; None without a cut.

        ``counts`` are estimated rows of each cell; parts will be counted with noise ``sigma``.
        """
        rows = counts[self.cell] * self.share
        heavy = self.heap & (self.values > 1) & (rows > HEAVY * sigma) & (rows > 0)
        if not heavy.any():
            return None
        parts = np.where(heavy, np.minimum(self.values, MOST_PARTS), 1).astype(np.intp)
        parent = np.repeat(np.arange(len(parts)), parts)
        place = np.arange(len(parent)) - (np.cumsum(parts) - parts)[parent]
        low, width = self.low[parent], (self.high - self.low)[parent]
        ends = [at * width / parts[parent] for at in (place, place + 1)]
        if self.column.domain.step_size:
            ends = [np.ceil(end - 1e-9) for end in ends]
        start, stop = (low + end for end in ends)
        share, heap = self.share[parent] / parts[parent], np.zeros(len(parent), dtype=bool)
        return Leaves(self.column, self.cell[parent], start, stop, share, heap), parent

    def between(self, low: float, high: float) -> Leaves:
        """What of the leaves lies between two numbers, both included; shares shrink with them."""
        step = self.column.domain.step_size
        ends = (np.rint(low / step), np.rint(high / step) + 1) if step else (low, high)
        first, last = np.maximum(self.low, ends[0]), np.minimum(self.high, ends[1])
        width = self.high - self.low
        part = np.clip(last - first, 0, None) / np.where(width > 0, width, 1.0)
        point = (width <= 0) & (self.low >= ends[0]) & (self.low <= ends[1])
        part = np.where(point, 1.0, part)
        if not step and low == high:  # a single number of a column without a grid
            part = ((self.low <= low) & (low <= self.high)).astype(float)
        first, last = np.where(part > 0, first, self.low), np.where(part > 0, last, self.low)
        return Leaves(self.column, self.cell, first, last, self.share * part, self.heap)

    def part(self) -> FloatArray:
        return np.bincount(self.cell, self.share).astype(float)

    def draw(
        self, numbers: FloatArray, codes: Places, rng: np.random.Generator, all_cells: bool = False
    ) -> FloatArray:
        """Numbers drawn anew in cells that are cut: a leaf by its share, then a value in it."""
        anew = ((np.diff(self._start) > 1) | all_cells)[codes]
        code = codes[anew]
        ladder = np.cumsum(self.share)
        before = np.append(0.0, ladder)[self._start[code]]
        last = self._start[code + 1] - 1
        point = before + rng.random(len(code)) * (ladder[last] - before)
        leaf = np.clip(np.searchsorted(ladder, point, side="right"), self._start[code], last)
        low, high, step = self.low[leaf], self.high[leaf], self.column.domain.step_size
        inside = rng.random(len(code)) * (high - low)
        found = numbers.copy()
        found[anew] = (low + np.floor(inside)) * step if step else low + inside
        return found


def _ends(cells: Cells, step: float) -> tuple[FloatArray, FloatArray]:
    """Ends of cells in steps of the grid, or as numbers without one."""
    known = np.isfinite(cells.first)
    first, last = np.where(known, cells.first, 0.0), np.where(known, cells.last, 0.0)
    if step == 0:
        return np.where(known, first, BEFORE_ALL), np.where(known, last, BEFORE_ALL)
    if cells.step:  # whole numbers, both ends included
        low, high = first, last + 1
    else:
        low, high = np.ceil(first / step - 1e-6), np.ceil(last / step - 1e-6)
        point = first == last
        high = np.where(point, np.rint(first / step) + 1, high)
        high[-1] = np.floor(last[-1] / step + 1e-6) + 1
        # a value with a cell of its own is not in the next one
        low[1:] = np.where(known[:-1], np.maximum(low[1:], high[:-1]), low[1:])
        high = np.maximum(high, low + 1)
    return np.where(known, low, BEFORE_ALL), np.where(known, high, BEFORE_ALL)


def with_shares(
    finer: Leaves,
    parent: Places,
    counts: FloatArray,
    noisy: FloatArray,
    sigma: float,
    largest: float = HEAP,
) -> Leaves:
    """Shares of new leaves by their noisy counts: what stands out, the rest evened out.

    Parts that rise above the others by more than the largest of all noises would (Donoho and
    Johnstone 1994) are heaps and keep their count; the others share what that leaves of the leaf's
    rows, which is known with less noise than their sum. They are drawn towards their mean, the
    more the less they differ beyond noise (James and Stein 1961).

    ``Leaves.cut`` gave ``finer`` and ``parent``; ``counts`` are estimated rows of each cell,
    ``noisy`` noisy counts of the leaves with standard deviation ``sigma``, of which the largest of
    all noises may well be ``largest``.
    """
    parts = np.bincount(parent)
    new = parts[parent] > 1
    noise = sigma * max(HEAP, largest)
    heap = np.zeros(len(parent), dtype=bool)
    mean = _mean(noisy, parent, heap)
    for _ in range(2):
        heap = new & (noisy - mean > noise)
        mean = _mean(noisy, parent, heap)
    spread = np.bincount(parent, np.where(heap, 0.0, (noisy - mean) ** 2))
    free = np.maximum(np.bincount(parent, ~heap) - 3.0, 0.0)
    chance = (free + 2 * np.sqrt(2 * free)) * sigma**2  # what noise alone may well bring
    keep = np.clip(1 - chance / np.maximum(spread, 1e-9), 0, 1)
    keep = np.where(free > 0, keep, 0.0 if sigma else 1.0)[parent]
    rest = np.where(heap, 0.0, np.maximum(mean + keep * (noisy - mean), 0.0))
    evened = np.bincount(parent, rest)[parent]
    rest = np.where(evened > 0, rest / np.maximum(evened, 1e-300), 0.0)
    whole = finer.share * parts[parent]  # the leaf's own share in its cell
    heaps = np.where(heap, noisy, 0.0)
    left = np.maximum(counts[finer.cell] * whole - np.bincount(parent, heaps)[parent], 0.0)
    found = heaps + rest * left
    total = np.bincount(parent, found)[parent]
    even = 1.0 / parts[parent]
    inside = np.where(new & (total > 0), found / np.maximum(total, 1e-300), even)
    return Leaves(finer.column, finer.cell, finer.low, finer.high, whole * inside, heap)


def _mean(counts: FloatArray, parent: Places, heap: Flags) -> FloatArray:
    """Mean of the parts of a leaf that are no heaps, for each part."""
    others = np.bincount(parent, ~heap)
    sums = np.bincount(parent, np.where(heap, 0.0, counts))
    return np.asarray(np.maximum(sums / np.maximum(others, 1), 0.0)[parent])


@dataclass(frozen=True, eq=False)
class LeafKey:
    """Cell map of new leaves; rows in none of them are in its first cell."""

    leaves: Leaves
    parent: Places

    @property
    def names(self) -> tuple[str, ...]:
        return (self.leaves.column.name,)

    @cached_property
    def new(self) -> Flags:
        """Which leaves were cut just now."""
        return np.asarray(np.bincount(self.parent)[self.parent] > 1)

    @property
    def shape(self) -> tuple[int, ...]:
        return (1 + int(self.new.sum()),)

    def cells(self, chunk: Chunk) -> Places:
        name = self.leaves.column.name
        place = np.where(self.new, np.cumsum(self.new), 0)
        return np.asarray(place[self.leaves.leaf_of(chunk.numbers[name], chunk.codes[name])])

    def counts(self, table: FloatArray) -> FloatArray:
        """The answer by leaf, 0 for those that were not counted."""
        counts = np.zeros(len(self.new))
        counts[self.new] = table[1:]
        return counts
