"""Rows in octaves beyond those that stand out of the noise: heavy tails of money and the like.

Post-processing of released numbers; no row is seen here.
"""

from __future__ import annotations

import numpy as np
import scipy

from copula_shirley.private_vine.intervals import BEFORE_ALL, Intervals, Places
from copula_shirley.private_vine.margins import to_simplex
from copula_shirley.schema.domain import FloatArray

#: Tails that are tried: the share of rows that an octave has of the one before it where the tail
#: begins, at most a half, so that means are finite; and the factor by which this share changes from
#: octave to octave: 1 for a Pareto tail, less for a log-normal one.
FALLS, BENDS = np.geomspace(0.5, 0.1, 12), np.geomspace(1.0, 0.4, 8)
#: Octaves before a tail from which it is extrapolated, and by what part each may be off its law.
ANCHORS, MISFIT = 4, 0.25
#: Largest slope of a density against magnitude, both as logarithms.
STEEPEST = 6.0
#: Parts of an octave in a tail.
TAIL_PARTS = 8
#: Cells and groups stand out of the noise that have rows for so many standard deviations.
STANDS_OUT = 3.0
#: An outermost group is part of the tail if it has less of the density of the one before it.
SPARSE = 0.5
#: Tails that are tried beside the one that goes on from the density before it.
SLOWER = 4


def with_tails(
    own: Intervals, counts: FloatArray, sigma: float, clear: float, total: float
) -> tuple[Intervals, FloatArray]:
    """First cells and their rows: noisy counts up to the scale of the data, a falling tail beyond.

    The scale is the largest octave of either sign that stands out of the noise. Empty octaves far
    beyond it would hold rows by noise alone, and a few of these move a mean by any factor. Special
    values, which somebody declared since they occur, keep their counts. Where no octave stands out
    all counts stay.

    Parameters
    ----------
    own : octaves of either sign, cut where special values lie
    counts : their noisy counts
    sigma : standard deviation of the noise
    clear : a count that noise alone does not reach
    total : the number of rows
    """
    octave, several = octaves(own), own.values > 1
    height = np.abs(octave)
    sides = [several & (sign * octave > 0) for sign in (1, -1)]
    bins = int(height.max()) + 1
    sums = [np.bincount(height[s], counts[s], bins).astype(float) for s in sides]
    pieces = [np.bincount(height[s], minlength=bins) for s in sides]
    pairs = zip(sums, pieces, strict=True)
    ends = [np.flatnonzero(n > clear * np.sqrt(m)).max(initial=0) for n, m in pairs]
    scale = int(max(*ends, height[~several & (counts > clear)].max(initial=0)))
    tail = several & (height > scale)
    if scale == 0 or not tail.any():
        return own, to_simplex(counts, total)
    width, rows = np.where(tail, own.high - own.low, 0.0), np.zeros(len(counts))
    first = max(1, scale - ANCHORS + 1)
    for side, end, n, m in zip(sides, ends, sums, pieces, strict=True):
        noise = np.where(m > 0, sigma * np.sqrt(m), np.inf)
        fallen = falling(n[first:], noise[first:], scale - first + 1) if end == scale else 0.0
        expected = np.zeros(len(n))
        expected[scale + 1 :] = at_least(fallen, n[scale + 1 :], noise[scale + 1 :])
        here = np.where(side, width, 0.0)
        rows += expected[height] * here / np.maximum(np.bincount(height, here)[height], 1e-300)
    rows[~tail] = to_simplex(counts[~tail], total - rows.sum())
    finer, parent = own.divided(np.where(tail, np.minimum(own.values, TAIL_PARTS), 1).astype(int))
    return finer, rows[parent] * shares(finer, parent, slopes(own, rows))


def falling(counts: FloatArray, sigma: FloatArray, anchors: int) -> FloatArray:
    """Rows that are expected in the octaves after the first ``anchors``.

    The mean of all tails that are tried, each as high as fits best, by how well they explain
    the noisy counts. A tail ends where less than a row is left.

    Examples
    --------
    >>> counts = np.array([800.0, 400.0, 200.0, 100.0, 50.0, 25.0, 300.0])
    >>> falling(counts, np.array([1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1e9]), 4).round(-1).tolist()
    [50.0, 20.0, 10.0]
    """
    steps = np.arange(len(counts)) - (anchors - 1.0)
    fall, bend = np.log(FALLS)[:, None, None], np.log(BENDS)[:, None]
    logs = fall * steps + bend * steps * (steps - 1) / 2
    shapes = np.exp(logs).reshape(-1, len(steps))
    weight = 1 / (sigma**2 + (MISFIT * np.maximum(counts, 0)) ** 2 + 1)
    heights = np.maximum((shapes * weight) @ counts / (shapes**2 @ weight), 0)
    fitted = heights[:, None] * shapes
    misses = (fitted - counts) ** 2 @ weight
    chances = np.exp(-(misses - misses.min()) / 2)
    found = np.asarray(chances @ fitted / chances.sum())[anchors:]
    return np.where(np.cumsum(found[::-1])[::-1] < 1, 0.0, found)


def falling_ends(
    own: Intervals,
    rows: FloatArray,
    noisy: FloatArray,
    sigma: float,
    groups: Places,
    counts: FloatArray,
    variance: FloatArray,
) -> FloatArray:
    """Rows of cells, those at either end in a tail that falls, of as many rows as before.

    Noise cannot say where in a wide outermost group its rows are. Spread evenly they would lie as
    far out as the domain goes, which moves a mean by any factor. The tail begins in the last group
    that stands out of the noise together with those beyond it, or after it, and after the last
    cell that stands out by itself. It is the mean of
    geometric tails, by how well they explain the noisy counts: one that goes on from the density
    before it, and slower ones, since a heap may stand there.

    Parameters
    ----------
    own, rows : cells, and their rows, which sum to those of each group
    noisy, sigma : noisy counts of the cells, and the standard deviation of the noise
    groups : the group of each cell
    counts, variance : rows of each group, and the variance of their noise
    """
    found = rows.copy()
    known = np.flatnonzero(own.low > BEFORE_ALL)
    width = np.maximum(own.high - own.low, 1e-300)
    density = (counts / np.bincount(groups, width))[groups]
    seen = rows > STANDS_OUT * sigma
    for cells in (known, known[::-1]):  # towards either end
        group = groups[cells]
        order = group[np.sort(np.unique(group, return_index=True)[1])][::-1]  # from this end
        stand_out = np.cumsum(counts[order]) > STANDS_OUT * np.sqrt(np.cumsum(variance[order]))
        if not stand_out.any():
            continue
        last = np.flatnonzero(group == order[stand_out.argmax()])
        start = last[0]
        if start and density[cells[start]] >= SPARSE * density[cells[start - 1]]:
            start = last[-1] + 1  # as full as the one before it: what lies beyond is the tail
        first = max(int(np.flatnonzero(seen[cells]).max(initial=-1)) + 1, int(start))
        if not 0 < first < len(cells):
            continue
        anchor, tail = cells[first - 1], cells[first:]
        if len(np.unique(groups[tail])) == len(tail):
            continue  # every cell was counted twice by itself
        here = rows[anchor] / width[anchor] if seen[anchor] else density[anchor]
        held = float(rows[tail].sum())
        tails = geometric(width[tail], here, held)
        misses = ((tails - noisy[tail]) ** 2).sum(axis=1) / sigma**2
        chances = np.exp(-(misses - misses.min()) / 2)
        found[tail] = chances @ tails / chances.sum()
    return found


def geometric(width: FloatArray, density: float, rows: float) -> FloatArray:
    """So many rows in cells of these widths, falling from a density before the first of them.

    The rate r of the first line solves density (1 - exp(-r w)) / r = rows over all w; each further
    line falls half as fast. Where the density is too small rows are spread evenly.

    Examples
    --------
    >>> geometric(np.array([1.0, 1.0, 98.0]), 200.0, 200.0)[:2].round().tolist()
    [[126.0, 47.0, 27.0], [79.0, 48.0, 74.0]]
    >>> geometric(np.array([1.0, 3.0]), 1.0, 8.0)[0].tolist()
    [2.0, 6.0]
    """
    full = density * width.sum() / max(rows, 1e-300)  # times that the rows are outnumbered
    if full <= 1 + 1e-6:
        return np.asarray(rows * width / width.sum())[None]
    # r w / (1 - exp(-r w)) = full
    rate = (full + scipy.special.lambertw(-full * np.exp(-full)).real) / width.sum()
    rates = rate * 0.5 ** np.arange(SLOWER + 1.0)
    ends = np.exp(-rates[:, None] * np.append(0.0, np.cumsum(width)))
    shapes = ends[:, :-1] - ends[:, 1:]
    return np.asarray(rows * shapes / shapes.sum(axis=1, keepdims=True))


def at_least(expected: FloatArray | float, counts: FloatArray, sigma: FloatArray) -> FloatArray:
    """The rows expected in octaves, or what these hold together beyond a standard deviation.

    Rows that no tail explains are spread by halves from octave to octave: the next one is the most
    that an octave below the threshold may hide, and the least that moves a mean.

    Examples
    --------
    >>> at_least(0.0, np.array([50.0, 90.0, 80.0]), np.array([60.0, 60.0, 60.0])).round().tolist()
    [66.0, 33.0, 17.0]
    >>> at_least(0.0, np.array([50.0, -90.0, 80.0]), np.array([60.0, 60.0, 60.0])).tolist()
    [0.0, 0.0, 0.0]
    """
    there = np.isfinite(sigma)
    held = max(counts[there].sum() - float(np.sqrt((sigma[there] ** 2).sum())), 0.0)
    halves = np.where(there, 0.5 ** np.arange(len(counts)), 0.0)
    found = np.broadcast_to(expected, counts.shape) * there
    shape = found if found.sum() > 0 else halves
    return np.asarray(shape * max(held, found.sum()) / max(shape.sum(), 1e-300))


def slopes(own: Intervals, rows: FloatArray) -> FloatArray:
    """The power of the magnitude that the density follows in each octave, by those beside it."""
    octave, found = octaves(own), np.zeros(len(own))
    for sign in (1, -1):
        here = (own.values > 1) & (sign * octave > 0)
        height = sign * octave[here]
        width = np.bincount(height, (own.high - own.low)[here])
        places = np.flatnonzero(width > 0)
        if len(places) > 1:
            sums = np.bincount(height, rows[here])
            density = np.log((sums[places] + 1) / width[places])
            slope = np.zeros(len(width))
            slope[places] = np.gradient(density, places * np.log(2.0))
            found[here] = np.clip(slope[height], -STEEPEST, STEEPEST)
    return found


def shares(finer: Intervals, parent: Places, slope: FloatArray) -> FloatArray:
    """The share that each part has of its cell, by the slope of the cell's density."""
    size, width = np.abs(finer.low + finer.high) / 2, finer.high - finer.low
    first = np.unique(parent, return_index=True)[1]
    flat = slope[parent] == 0
    ratio = np.where(flat, 1.0, size / np.maximum(size[first][parent], 1e-300))
    weight = np.where(width > 0, width, 1.0) * ratio ** slope[parent]
    return np.asarray(weight / np.bincount(parent, weight)[parent])


def octaves(own: Intervals) -> Places:
    """The power of two in which each interval lies, from 1 on, with the sign of its numbers.

    0 is that of zero and of missing values.
    """
    middle = np.where(own.values > 1, (own.low + own.high) / 2, own.low)
    known = (middle != 0) & (own.low > BEFORE_ALL)
    power = np.frexp(middle)[1]
    first = power[known].min(initial=power.max())
    return np.where(known, np.sign(middle) * (power - first + 1), 0).astype(np.intp)
