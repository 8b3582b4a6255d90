"""Margins from noisy counts: a mass for each declared cell, and groups of cells for tables.

Post-processing of released numbers; no row is seen here.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from copula_shirley.domain import Cells, FloatArray
from copula_shirley.schema import Column

#: Shorter histograms are not smoothed.
FEW_CELLS = 8


def to_simplex(values: FloatArray, total: float) -> FloatArray:
    """The nearest vector of numbers >= 0 that sum to ``total``.

    Examples
    --------
    >>> to_simplex(np.array([3.0, 1.0, -2.0]), 2.0).tolist()
    [2.0, 0.0, 0.0]
    """
    ordered = np.sort(values.ravel())[::-1]
    excess = (np.cumsum(ordered) - total) / np.arange(1, values.size + 1)
    last = np.flatnonzero(ordered > excess)[-1]
    return np.asarray(np.maximum(values - excess[last], 0.0))


def mass_of(
    column: Column, cells: Cells, noisy: FloatArray, sigma: float, total: float
) -> FloatArray:
    """Probability of each declared cell, from its noisy count.

    Wide numeric columns are smoothed first: cells whose counts differ by no more than the noise
    share one density. Heaps survive, since each is worth more than the boundaries that free it.
    """
    if (
        column.kind in ("integer", "continuous", "datetime")
        and len(noisy) > FEW_CELLS
        and sigma > 0
    ):
        width, alone = _widths(column, cells)
        noisy = smooth(noisy, width, alone, sigma)
    return to_simplex(noisy, total) / total


def _widths(column: Column, cells: Cells) -> tuple[FloatArray, NDArray[np.bool_]]:
    """Width of each cell on average 1, and which cells are points that stay alone."""
    known = np.isfinite(cells.first)
    first, last = np.where(known, cells.first, 0.0), np.where(known, cells.last, 0.0)
    width = np.where(known, last - first + cells.step, 0.0)
    special = np.isin(cells.first, np.array(column.special, dtype=float))
    alone = (width <= 0) | special
    average = width[~alone].mean() if (~alone).any() else 1.0
    return np.where(alone, 1.0, width / average), alone


def smooth(
    counts: FloatArray, width: FloatArray, alone: NDArray[np.bool_], sigma: float
) -> FloatArray:
    """The piecewise constant density that explains noisy counts best.

    Least squares with a price of 2 log m for each of the pieces, found exactly by dynamic
    programming over the m cells (Auger and Lawrence 1989). Cells that are ``alone`` are pieces
    of their own.
    """
    m = len(counts)
    price = 2 * np.log(m)
    starts_anew = alone | np.append(True, alone[:-1])
    squares = np.append(0.0, np.cumsum(width**2))
    products = np.append(0.0, np.cumsum(width * counts))
    best = np.append(0.0, np.full(m, np.inf))
    back = np.zeros(m + 1, dtype=int)
    first = 0
    for stop in range(1, m + 1):
        if starts_anew[stop - 1]:
            first = stop - 1
        start = np.arange(first, stop)
        gain = (products[stop] - products[start]) ** 2 / (squares[stop] - squares[start])
        cost = best[start] - gain / sigma**2 + price
        best[stop], back[stop] = cost.min(), start[cost.argmin()]
    fitted = np.empty(m)
    stop = m
    while stop:
        start = back[stop]
        height = (products[stop] - products[start]) / (squares[stop] - squares[start])
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
    if column.nominal or column.kind == "boolean":
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
