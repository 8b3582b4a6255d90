"""Margins from noisy counts: a mass for each declared cell, and groups of cells for tables.

Post-processing of released numbers; no row is seen here.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from copula_shirley.schema.domain import FloatArray
from copula_shirley.schema.schema import Column

#: The least standard deviation, so that one can divide by it.
LEAST_SIGMA = 1e-9
#: Shorter histograms are not smoothed; of longer ones than the second the best pieces are dyadic.
FEW_CELLS, MOST_EXACT = 8, 2000
Places = NDArray[np.intp]


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


def combined(
    known: FloatArray, variance: FloatArray, counts: FloatArray, sigma: float
) -> tuple[FloatArray, FloatArray]:
    """Counts that were known with some variance and measured once more; and their variance."""
    own = max(sigma, LEAST_SIGMA) ** 2
    found = known + variance / (variance + own) * (counts - known)
    return found, variance * own / (variance + own)


def smooth(
    counts: FloatArray,
    width: FloatArray,
    alone: NDArray[np.bool_],
    sigma: float,
) -> FloatArray:
    """The piecewise constant density that explains noisy counts best.

    Least squares with a price for each of the pieces, 2 log m for m cells, found exactly by dynamic
    programming (Auger and Lawrence 1989), whose time grows with the square of m. Of more cells than
    ``MOST_EXACT`` first the best dyadic pieces are found, in time linear in m (Donoho 1997), since
    these are cut wherever counts stand out of the noise; then the best pieces that are made of
    them, if they are few enough. Cells that are ``alone`` are pieces of their own.
    """
    m = len(counts)
    starts = np.arange(m)
    squares, products, scale = width**2, width * counts, sigma * math.sqrt(2 * math.log(m))
    if m > MOST_EXACT:
        starts = _dyadic(squares, products / scale, alone)
    squares, products = (np.add.reduceat(part, starts) for part in (squares, products))
    if len(starts) <= MOST_EXACT:
        first = _pieces(squares, products / scale, alone[starts])
        starts = starts[first]
        squares, products = (np.add.reduceat(part, first) for part in (squares, products))
    return np.asarray(width * np.repeat(products / squares, np.diff(starts, append=m)))


def _pieces(squares: FloatArray, products: FloatArray, alone: NDArray[np.bool_]) -> Places:
    """Where the best pieces begin; one costs 1, less the square of its product over its square."""
    m = len(squares)
    starts_anew = alone | np.append(True, alone[:-1])
    best = np.append(0.0, np.full(m, np.inf))
    back = np.zeros(m + 1, dtype=int)
    first = 0
    for stop in range(1, m + 1):
        if starts_anew[stop - 1]:
            first = stop - 1
        # sums of the pieces that end here; differences of longer sums would lose narrow cells
        square, product = (np.cumsum(part[first:stop][::-1])[::-1] for part in (squares, products))
        cost = best[first:stop] - product**2 / square + 1
        best[stop], back[stop] = cost.min(), first + cost.argmin()
    found = [back[m]]
    while found[-1]:
        found.append(back[found[-1]])
    return np.array(found[::-1])


def _dyadic(squares: FloatArray, products: FloatArray, alone: NDArray[np.bool_]) -> Places:
    """Where the best pieces begin that are halves of halves of all cells; costs as above."""
    levels = (len(squares) - 1).bit_length()
    more = 2**levels - len(squares)  # empty cells, so that there are 2, 4, 8, ...
    square, product = np.pad(squares, (0, more)), np.pad(products, (0, more))
    single = np.pad(alone, (0, more))
    best, whole = 1 - product**2 / np.maximum(square, 1e-300), [np.ones(2**levels, dtype=bool)]
    for _ in range(levels):
        square, product = square[::2] + square[1::2], product[::2] + product[1::2]
        single = single[::2] | single[1::2]
        merged = np.where(single, np.inf, 1 - product**2 / np.maximum(square, 1e-300))
        apart = best[::2] + best[1::2]
        whole.append(merged <= apart)
        best = np.minimum(merged, apart)
    found, ahead = [], np.ones(1, dtype=bool)
    for level in reversed(range(levels + 1)):
        found.append(np.flatnonzero(ahead & whole[level]) << level)
        ahead = np.repeat(ahead & ~whole[level], 2)
    starts = np.sort(np.concatenate(found))
    return starts[starts < len(squares)]


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
