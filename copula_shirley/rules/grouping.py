"""Rows of a model put together into people, who have several rows each.

A model draws rows one by one; one of their columns says how many rows their person has. Rows of
which this number is equal, or nearly, and of which the constants of a person are near to each other
become the rows of one person. Each drawn row is used once, so that shares of values stay as the
model drew them, and where a part p of the rows are of people with k rows, there are p / k of these.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import scipy
from numpy.typing import NDArray

from copula_shirley.schema.domain import FloatArray

#: People with equal numbers of rows, at the least, among whom rows are exchanged; where there are
#: fewer, those with the next numbers of rows join them.
ENOUGH = 16
#: Standard deviations of what looks like dependence by chance.
CHANCE = 3


def grouped(
    sizes: FloatArray,
    near: Sequence[FloatArray],
    weights: Sequence[float],
    rng: np.random.Generator,
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Rows in an order in which those of a person stand side by side, and where people begin.

    ``sizes`` are the numbers of rows of each row's person, ``near`` the columns in which the rows
    of a person shall be near to each other, and ``weights`` how much it matters in each of them.
    The last of the starts is the end; rows behind it are too few for a person.

    Examples
    --------
    >>> near = [np.array([5.0, 1.0, 5.0, 1.0, 9.0, 9.0])]
    >>> order, starts = grouped(np.full(6, 2.0), near, [1.0], np.random.default_rng(0))
    >>> sorted(sorted(order[a:b].tolist()) for a, b in zip(starts, starts[1:]))
    [[0, 2], [1, 3], [4, 5]]
    """
    order = np.lexsort((rng.random(len(sizes)), sizes))
    counts = _rows_each(sizes[order].astype(np.intp))
    bands = _bands(counts)
    for begin, end in pairwise(bands):
        rng.shuffle(counts[begin:end])
    starts = np.concatenate([[0], np.cumsum(counts)])
    order = order[: starts[-1]]
    pairs = zip(near, weights, strict=True)
    places = [
        np.sqrt(weight) * scipy.stats.rankdata(column) / len(column) for column, weight in pairs
    ]
    # halves of halves of a band, each time by the column in which its rows are spread most
    while places and np.diff(bands).max(initial=0) > 1:
        first = starts[bands[:-1]]
        rows = np.diff(starts[bands])
        inside = np.stack([place[order] for place in places])
        means = np.add.reduceat(inside, first, axis=1) / rows
        spread = np.add.reduceat(inside**2, first, axis=1) / rows - means**2
        widest = np.repeat(spread.argmax(axis=0), rows)
        part = np.repeat(np.arange(len(rows)), rows)
        order = order[np.lexsort((inside[widest, np.arange(len(order))], part))]
        bands = np.unique(np.concatenate([bands, (bands[:-1] + bands[1:]) // 2]))
    return order, starts


def weight_of(
    column: FloatArray, others: Sequence[tuple[FloatArray, bool]], rng: np.random.Generator
) -> float:
    """How much other columns depend on one: 0 for not at all, up to 1 for each of them.

    A column's part is what neighbours in the order of the one differ less in it than any two rows
    (as in Chatterjee 2021, A new coefficient of correlation): by the squares of ranks, or where it
    is nominal by whether they differ.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> x = np.arange(1000.0)
    >>> parts = [(x**2, False), (x % 2, True), (np.floor(x / 500), True)]
    >>> [round(weight_of(x, [part], rng), 1) for part in parts]
    [1.0, 0.0, 1.0]
    """
    order, weight = np.lexsort((rng.random(len(column)), column)), 0.0
    for values, nominal in others:
        if nominal:
            shares = np.unique(values, return_counts=True)[1] / len(values)
            apart, any_two = np.diff(values[order]) != 0, 1 - (shares**2).sum()
        else:
            ranks = scipy.stats.rankdata(values)
            apart, any_two = np.diff(ranks[order]) ** 2, 2 * ranks.var()
        part = 1 - float(apart.mean() / any_two) if any_two else 0.0
        weight += part if part > CHANCE / np.sqrt(len(values)) else 0.0
    return weight


def _rows_each(sizes: NDArray[np.intp]) -> NDArray[np.intp]:
    """Rows of each person: the first of rows in ascending order says how many belong to her."""
    counts, done = list[int](), 0
    while done < len(sizes):
        counts.append(int(sizes[done]))
        done += counts[-1]
    if done > len(sizes):
        last = counts.pop()
        counts = counts or [last - (done - len(sizes))]
    return np.array(counts, dtype=np.intp)


def _bands(counts: NDArray[np.intp]) -> NDArray[np.intp]:
    """Where bands of people begin whose rows may be exchanged, and the end; counts ascend."""
    bands = [0]
    for change in (np.flatnonzero(np.diff(counts)) + 1).tolist():
        if change - bands[-1] >= ENOUGH:
            bands.append(change)
    return np.unique([*bands, len(counts)])
