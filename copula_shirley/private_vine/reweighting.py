"""Weights that bring drawn rows nearer to all tables that were measured.

Post-processing of released numbers. The vine is a model of some pairs; more tables were measured
than it can hold. The weights minimise kappa KL(weights | drawn rows) + sum (count - noisy)^2 /
(2 sigma^2) over the cells of all tables: raking that knows the noise, one table after another.
The law of the result is the vine's times an exponential factor per table.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from copula_shirley.schema.domain import FloatArray

NEWTON_STEPS = 5


@dataclass(frozen=True, eq=False)
class NoisyTable:
    """A noisy table of some variables' groups, or of coarser groups of these."""

    variables: tuple[int, ...]
    shape: tuple[int, ...]
    #: Noisy counts, flat, and the standard deviation of the noise in each.
    counts: FloatArray
    sigma: FloatArray
    #: The coarse group of each group, by variable.
    coarse: tuple[NDArray[np.int32], ...] | None = None


def reweight(
    cells: Sequence[NDArray[np.integer[Any]]],
    tables: Sequence[NoisyTable],
    start: FloatArray,
    kappa: float,
    sweeps: int,
    factors: Sequence[FloatArray] | None = None,
) -> tuple[FloatArray, list[FloatArray]]:
    """Weights of drawn rows, and the logarithmic factor of each cell of each table.

    Parameters
    ----------
    cells : for each table, the cell of each row; short numbers take the least memory
    tables : the noisy tables
    start : weights before, in rows
    kappa : weight of the drawn rows against the tables
    sweeps : number of passes through the tables
    factors : logarithmic factors to start from
    """
    weights, place = np.array(start, dtype=float), np.empty(len(start), dtype=np.intp)
    factor = np.empty(len(start))
    thetas = [np.zeros(table.counts.size) for table in tables]
    if factors is not None:
        thetas = [np.array(factor) for factor in factors]
        logs = np.zeros(len(weights))
        for cell, theta in zip(cells, thetas, strict=True):
            np.copyto(place, cell, casting="same_kind")
            logs += theta.take(place, out=factor, mode="clip")
        # factors of tables without noise know no bound; their product may overflow
        weights *= np.exp(logs - logs.max(initial=-np.inf))
        weights *= np.sum(start) / max(weights.sum(), 1e-300)
    for _ in range(sweeps):
        for i, (cell, table) in enumerate(zip(cells, tables, strict=True)):
            np.copyto(place, cell, casting="same_kind")
            now = np.zeros(table.counts.size)
            np.add.at(now, place, weights)  # faster than bincount since numpy 1.25
            step = _newton(now, table.counts, kappa * table.sigma**2, thetas[i])
            thetas[i] += step
            weights *= np.exp(step).take(place, out=factor, mode="clip")
    return weights, thetas


def _newton(
    now: FloatArray, counts: FloatArray, ridge: FloatArray, theta: FloatArray
) -> FloatArray:
    """The step s with ridge (theta + s) + now exp(s) = counts, cell by cell."""
    step = np.zeros_like(now)
    for _ in range(NEWTON_STEPS):
        then = now * np.exp(step)
        slope = np.maximum(ridge + then, 1e-9)
        step = np.clip(step - (ridge * (theta + step) - counts + then) / slope, -3, 3)
    return np.where(now == 0, 0.0, step)


def pick(
    weights: FloatArray, order: NDArray[np.intp], n: int, rng: np.random.Generator
) -> NDArray[np.intp]:
    """A systematic sample of n rows with these weights, along ``order``."""
    ladder = np.cumsum(weights[order])
    points = (np.arange(n) + rng.random()) / max(n, 1) * ladder[-1]
    return np.asarray(order[np.minimum(np.searchsorted(ladder, points), len(order) - 1)])
