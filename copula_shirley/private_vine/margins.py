"""Margins from noisy counts: a mass for each declared cell, and groups of cells for tables.

Post-processing of released numbers; no row is seen here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from copula_shirley.schema.domain import Cells, FloatArray
from copula_shirley.schema.schema import Column

#: Shorter histograms are not smoothed.
FEW_CELLS = 8
#: A column with an order and so many cells is counted in so many ranges, too.
LEAST_CELLS, RANGES = 50, (5, 25)
#: The least variance, so that one can divide by it.
LEAST_VARIANCE = 1e-18
#: A cell that is so much narrower than the widest one has no density to share.
POINT = 1e-12
#: Price of a step between ranges, which hold many rows: lower than between cells.
RANGE_PRICE = 3.0

Places = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Level:
    """Noisy counts of the groups of cells of a column."""

    #: The group of each cell.
    group: Places
    #: Noisy count of each group, and the standard deviation of its noise.
    counts: FloatArray
    sigma: float


def ranges_of(column: Column, size: int) -> list[Places]:
    """The range of each of ``size`` cells, for each level of ranges; the wider ones first.

    Noise of many cells adds up: the rows above the median of 200 cells are known with ten times
    the noise of a cell. So ranges are counted as well (Hay et al. 2010). They are nested.
    """
    if not column.is_ordered or size < LEAST_CELLS:
        return []
    return [np.arange(size) * many // size for many in RANGES]


def to_simplex(values: FloatArray, total: float, variance: FloatArray | float = 1.0) -> FloatArray:
    """The nearest vector of numbers >= 0 that sum to ``total``.

    Squared distances count the less the larger the variance.

    Examples
    --------
    >>> to_simplex(np.array([3.0, 1.0, -2.0]), 2.0).tolist()
    [2.0, 0.0, 0.0]
    >>> to_simplex(np.array([3.0, 1.0]), 2.0, np.array([3.0, 1.0])).tolist()
    [1.5, 0.5]
    """
    if total <= 0:
        return np.zeros_like(values)
    scale = np.broadcast_to(variance, values.shape)
    order = np.argsort(-(values / scale), axis=None, kind="stable")
    ordered, weights = values.ravel()[order], scale.ravel()[order]
    excess = (np.cumsum(ordered) - total) / np.cumsum(weights)
    above = ordered > excess * weights
    above[0] = True  # also where rounding hides a tiny total
    last = np.flatnonzero(above)[-1]
    return np.asarray(np.maximum(values - excess[last] * scale, 0.0))


def agree(levels: Sequence[Level], total: float) -> FloatArray:
    """Counts of cells that agree with the counts of ranges and with the number of rows.

    The least squares that the noise asks for, in two passes: from the cells up each range takes
    the average of its own count and of its parts' sum; from the whole down what is missing or too
    much is shared out among the parts. Levels are of nested groups, the widest first and the cells
    last.
    """
    found = np.array([total])
    for rung in _upwards(levels):
        found = rung.fitted(found)
    return found


@dataclass(frozen=True, eq=False)
class _Rung:
    """A level whose counts use all below: counts, variances, and the parents in the level above."""

    counts: FloatArray
    variance: FloatArray
    parent: Places

    def fitted(self, totals: FloatArray) -> FloatArray:
        """Counts that sum to the parents' totals: noisier ones give way more."""
        missing = totals - np.bincount(self.parent, self.counts)
        share = missing / np.bincount(self.parent, self.variance)
        return np.asarray(self.counts + share[self.parent] * self.variance)

    def inside(self, counts: FloatArray, totals: FloatArray) -> FloatArray:
        """Each parent's total shared out to its parts, none of which is negative."""
        found = np.zeros_like(counts)
        for whole, total in enumerate(totals):
            own = self.parent == whole
            found[own] = to_simplex(counts[own], float(total), self.variance[own])
        return found


def _upwards(levels: Sequence[Level]) -> list[_Rung]:
    """The levels, the widest first, each with what the levels below know."""
    above = [np.zeros_like(levels[0].group), *(level.group for level in levels[:-1])]
    rungs: list[_Rung] = []
    for level, outer in zip(reversed(levels), reversed(above), strict=True):
        counts, variance = level.counts, np.full(level.counts.size, level.sigma**2 + LEAST_VARIANCE)
        if rungs:
            below = rungs[0]
            parts = np.bincount(below.parent, below.counts)
            noise = np.bincount(below.parent, below.variance)
            counts = parts + noise / (noise + variance) * (counts - parts)
            variance = noise * variance / (noise + variance)
        parent = np.zeros(level.counts.size, dtype=np.intp)
        parent[level.group] = outer
        rungs.insert(0, _Rung(counts, variance, parent))
    return rungs


def spread_of(groups: Places, levels: Sequence[Level], total: float) -> FloatArray:
    """Standard deviations of sums over groups of cells that ``agree``.

    From the cells up, level by level: what a group's share of a part differs from its share of
    the whole range meets the noise of the part, and its share of the range that of the level above.
    ``total`` is the standard deviation of the number of rows.
    """
    size = np.bincount(groups).astype(float)
    if len(levels) == 1:  # there may be thousands of groups
        part = size / size.sum()
        return np.asarray(np.sqrt(levels[0].sigma ** 2 * size * (1 - part) + part**2 * total**2))
    share = np.eye(len(size))[groups]  # of each cell that is in each group
    found = np.zeros(len(size))
    for rung in reversed(_upwards(levels)):
        weight = rung.variance / np.bincount(rung.parent, rung.variance)[rung.parent]
        whole = np.zeros((int(rung.parent.max()) + 1, len(size)))
        np.add.at(whole, rung.parent, weight[:, None] * share)
        found += (rung.variance[:, None] * (share - whole[rung.parent]) ** 2).sum(axis=0)
        share = whole
    return np.asarray(np.sqrt(found + share[0] ** 2 * total**2))


def mass_of(column: Column, cells: Cells, levels: Sequence[Level], total: float) -> FloatArray:
    """Probability of each declared cell, from noisy counts of cells and ranges.

    From the widest ranges down to the cells, counts are brought to agree with the level above.
    Those of numeric columns are then smoothed: neighbours whose counts differ by no more than the
    noise share one density. Heaps survive, since each is worth more than the boundaries that free
    it.
    """
    numeric = not column.is_listed
    width, alone = _widths(column, cells) if numeric else (np.ones(0), np.ones(0, dtype=bool))
    found = np.array([total])
    for level, rung in zip(levels, _upwards(levels), strict=True):
        counts = rung.fitted(found)
        if numeric and level.sigma > 0 and len(cells.first) > FEW_CELLS:
            wide = np.bincount(level.group, width).astype(float)
            own = np.bincount(level.group, alone) > 0  # a point in it, which has no density
            price = RANGE_PRICE if len(counts) < len(width) else None
            noise = float(np.sqrt(rung.variance.mean()))
            counts = smooth(counts, wide, own, noise, price)
        found = rung.inside(counts, found)
    return np.asarray(found / found.sum())


def _widths(column: Column, cells: Cells) -> tuple[FloatArray, NDArray[np.bool_]]:
    """Width of each cell on average 1, and which cells are points that stay alone."""
    known = np.isfinite(cells.first)
    first, last = np.where(known, cells.first, 0.0), np.where(known, cells.last, 0.0)
    width = np.where(known, last - first + cells.step, 0.0)
    special = np.isin(cells.first, np.array(column.special, dtype=float))
    alone = (width <= POINT * width.max()) | special
    average = width[~alone].mean() if (~alone).any() else 1.0
    return np.where(alone, 1.0, width / average), alone


def smooth(
    counts: FloatArray,
    width: FloatArray,
    alone: NDArray[np.bool_],
    sigma: float,
    price: float | None = None,
) -> FloatArray:
    """The piecewise constant density that explains noisy counts best.

    Least squares with a price for each of the pieces, 2 log m unless it is told, found exactly by
    dynamic programming over the m cells (Auger and Lawrence 1989). Cells that are ``alone``
    are pieces of their own.
    """
    m = len(counts)
    price = 2 * np.log(m) if price is None else price
    starts_anew = alone | np.append(True, alone[:-1])
    squares, products = width**2, width * counts
    best = np.append(0.0, np.full(m, np.inf))
    back = np.zeros(m + 1, dtype=int)
    first = 0
    for stop in range(1, m + 1):
        if starts_anew[stop - 1]:
            first = stop - 1
        # sums of the pieces that end here; differences of longer sums would lose narrow cells
        square, product = (np.cumsum(part[first:stop][::-1])[::-1] for part in (squares, products))
        cost = best[first:stop] - product**2 / square / sigma**2 + price
        best[stop], back[stop] = cost.min(), first + cost.argmin()
    fitted = np.empty(m)
    stop = m
    while stop:
        start = back[stop]
        height = products[start:stop].sum() / squares[start:stop].sum()
        fitted[start:stop] = width[start:stop] * height
        stop = start
    return fitted


def groups_of(column: Column, mass: FloatArray, k: int, rare: float) -> NDArray[np.intp]:
    """The group of each cell, for tables: about ``k`` groups of equal mass.

    Categories of more than ``rare`` mass stay themselves and the others share a group; numbers
    and ordered categories are cut where mass has gathered, and heavy cells stay alone.
    """
    if len(mass) <= 2:
        return np.arange(len(mass))
    if not column.is_ordered:
        kept = mass >= rare
        return np.unique(np.where(kept, np.cumsum(kept), len(mass) + 1), return_inverse=True)[1]
    heavy = mass >= 1 / k
    light = (1 - mass[heavy].sum()) / max(1, k - heavy.sum())
    share = max(light, 0.25 / k, rare)
    groups = np.zeros(len(mass), dtype=np.intp)
    current, filled = 0, 0.0
    for i, weight in enumerate(mass):
        if heavy[i] and filled > 0.3 * share:  # what is before a heap stays apart unless tiny
            current, filled = current + 1, 0.0
        groups[i], filled = current, filled + weight
        if heavy[i] or filled >= 0.999 * share:
            current, filled = current + 1, 0.0
    if 0 < filled < 0.3 * share and current > 0:
        groups[groups == current] = current - 1
    return np.unique(groups, return_inverse=True)[1]
