"""Coarse noisy tables of all pairs: what tree, correlations and further tables are chosen from.

Post-processing of released numbers; no row is seen here.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import scipy

from copula_shirley.private_vine.margins import Places
from copula_shirley.schema.domain import FloatArray
from copula_shirley.schema.schema import Column

#: Mean of the absolute value of a standard normal variable.
ABSOLUTE = math.sqrt(2 / math.pi)
#: Correlations stay this far from 1, and eigenvalues of their matrix from 0.
LARGEST_CORRELATION, LEAST_EIGENVALUE = 0.98, 0.02

Pair = tuple[int, int]


def coarse_groups(column: Column, mass: FloatArray, count: int) -> Places:
    """Groups of groups: neighbours of even mass, or the heaviest categories and the rest."""
    if len(mass) <= count:
        return np.arange(len(mass))
    if not column.is_ordered:
        order = np.argsort(-mass, kind="stable")
        found = np.full(len(mass), count - 1)
        found[order[: count - 1]] = np.arange(count - 1)
        return found
    middle = (np.cumsum(mass) - mass / 2) / mass.sum()
    even = np.minimum((middle * count).astype(int), count - 1)
    return np.unique(even, return_inverse=True)[1]


def merged(table: FloatArray, groups: Places) -> FloatArray:
    """A table with the lines of a group added up."""
    found = np.zeros((int(groups.max()) + 1, *table.shape[1:]))
    np.add.at(found, groups, table)
    return found


@dataclass(frozen=True, eq=False)
class CoarseTables:
    """Noisy tables of pairs of coarse groups, and the standard deviation of their noise."""

    tables: Mapping[Pair, FloatArray]
    groups: Mapping[int, Places]
    sigma: float

    def excess(self, pair: Pair, expected: FloatArray, variance: FloatArray) -> float:
        """Distance (L1, rows) from an expected table, less what noise and variance explain."""
        distance = np.abs(self.tables[pair] - expected).sum()
        return float(distance - ABSOLUTE * np.sqrt(variance + self.sigma**2).sum())

    def chance(self, pair: Pair) -> float:
        """Standard deviation of ``excess`` if there is nothing but noise and chance."""
        table = self.tables[pair]
        variance = self.sigma**2 * table.size + max(float(table.sum()), 0.0)
        return math.sqrt((1 - ABSOLUTE**2) * variance)

    def dependence(
        self, by_class: Mapping[int, FloatArray], sizes: FloatArray, sigma: float
    ) -> dict[Pair, float]:
        """How far each pair is from independence inside classes, beyond noise.

        Parameters
        ----------
        by_class : rows of each group and class, by variable
        sizes : rows of each class
        sigma : standard deviation of the noise in ``by_class``
        """
        counts = {j: merged(by_class[j], own) for j, own in self.groups.items()}
        blur = {j: ((own / sizes) ** 2).sum(axis=1) * sigma**2 for j, own in counts.items()}
        scores = {}
        for a, b in self.tables:
            expected = counts[a] @ (counts[b] / sizes).T
            variance = expected + blur[a][:, None] + blur[b]
            scores[a, b] = self.excess((a, b), expected, variance)
        return scores

    def correlations(
        self,
        by_class: Mapping[int, FloatArray],
        variables: Sequence[int],
        better: Mapping[Pair, float],
    ) -> tuple[FloatArray, FloatArray]:
        """Correlations of normal scores inside classes, and the noise of each.

        A pair of normal scores with correlation r has covariance r var(a) var(b) between the means
        of their groups, var being the variance of these means. The matrix is the nearest one with
        positive eigenvalues.

        Parameters
        ----------
        by_class : rows of each group and class, by variable
        variables : those with an order
        better : correlations that are known from finer tables
        """
        places = {v: i for i, v in enumerate(variables)}
        scores, variance, classes = {}, {}, {}
        for j in variables:
            counts = merged(by_class[j], self.groups[j])
            share = counts.sum(axis=1) / counts.sum()
            edges = scipy.special.ndtri(np.clip(np.append(0, np.cumsum(share)), 1e-12, 1 - 1e-12))
            density = np.exp(-(edges**2) / 2) / math.sqrt(2 * math.pi)
            scores[j] = -np.diff(density) / np.maximum(share, 1e-12)
            variance[j] = max(float(share @ scores[j] ** 2), 1e-6)
            classes[j] = scores[j] @ counts / counts.sum(axis=0).clip(1e-9)
            sizes, total = counts.sum(axis=0) / counts.sum(), counts.sum()
        found, noises = np.eye(len(variables)), np.zeros((len(variables), len(variables)))
        for (a, b), table in self.tables.items():
            if a not in places or b not in places:
                continue
            both = variance[a] * variance[b]
            covariance = scores[a] @ table @ scores[b] / total - sizes @ (classes[a] * classes[b])
            norm = np.linalg.norm(scores[a]) * np.linalg.norm(scores[b])
            noise = self.sigma * norm / total / both
            r = covariance / both
            r = better.get((a, b), r * max(0.0, 1 - noise**2 / max(r * r, 1e-12)))
            i, k = places[a], places[b]
            found[i, k] = found[k, i] = np.clip(r, -LARGEST_CORRELATION, LARGEST_CORRELATION)
            noises[i, k] = noises[k, i] = noise
        values, vectors = np.linalg.eigh(found)
        found = (vectors * np.maximum(values, LEAST_EIGENVALUE)) @ vectors.T
        scale = np.sqrt(np.diag(found))
        return found / np.outer(scale, scale), noises
