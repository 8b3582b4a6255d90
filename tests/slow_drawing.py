"""Rows of a fitted vine drawn step by step as docs/private_vine.md says: slow, with nothing shared.

It looks at what was learnt (edges of the vine, margins, tables, factors of the fit) and at no code
that draws rows. Values are searched among the edges of their class, the rows of each stratum are
shuffled, rows are ordered by all their groups, and every sweep starts from the factors of the fit.
"""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
from scipy.special import ndtr, ndtri

from copula_shirley.private_vine.model import LEAST_POOL, POLISH, POOL, FittedVine
from copula_shirley.private_vine.pair_copula import PairCopula, edges_of

STRATA, TRIM = 8, 1e-12
Groups = dict[int, np.ndarray]


def drawn_slowly(model: FittedVine, n: int, rng: np.random.Generator) -> Groups:
    """The groups of n rows, by column."""
    size = max(POOL * n, LEAST_POOL)
    ends = np.cumsum(model.class_sizes)
    label = np.searchsorted(ends, (np.arange(size) + 0.5) / size * ends[-1], side="right")
    values = _Slow(model, label, rng)
    groups = {j: values.cell(_edges(model, j), values.known[j, frozenset()]) for j in model.others}
    if model.target is not None:
        groups[model.target] = label
    weight = _weights(model, groups)
    keys = [groups[j] for j in reversed(model.vine.order)]
    order = np.lexsort([*keys, label])
    ladder = np.cumsum(weight[order])
    points = (np.arange(n) + rng.random()) / n * ladder[-1]
    rows = order[np.minimum(np.searchsorted(ladder, points), size - 1)]
    return {j: own[rows] for j, own in groups.items()}


def _edges(model: FittedVine, j: int) -> np.ndarray:
    return np.stack([edges_of(rows) for rows in model.by_class[j].T])


class _Slow:
    """The inverse Rosenblatt transform: u(x | class) without a condition, scores beside one."""

    def __init__(self, model: FittedVine, label: np.ndarray, rng: np.random.Generator) -> None:
        self.vine, self.label, self.rng = model.vine, label, rng
        self.known: dict[tuple[int, frozenset[int]], np.ndarray] = {}
        for variable in model.vine.order:
            self.draw(variable)

    def cell(self, edges: np.ndarray, value: np.ndarray) -> np.ndarray:
        found = np.empty(len(value), dtype=int)
        for y, own in enumerate(edges):
            found[self.label == y] = np.searchsorted(own[1:-1], value[self.label == y], "right")
        return found

    def ladders(self, copula: PairCopula, partner: np.ndarray) -> np.ndarray:
        """Cumulative shares of the child's cells, a line for each row."""
        mass = copula.mass[self.label, self.cell(copula.edges_a, partner)]
        return np.pad(np.cumsum(mass, axis=1), ((0, 0), (1, 0))) / mass.sum(axis=1)[:, None]

    def value(self, variable: int, given: frozenset[int]) -> np.ndarray:
        if (variable, given) in self.known:
            return self.known[variable, given]
        edge = self.vine.node(given | {variable})
        other = edge.partner if variable == edge.child else edge.child
        rest = given - {other}
        value, beside = self.value(variable, rest), self.value(other, rest)
        if rest:
            r = edge.correlation
            return (value - r * beside) / math.sqrt(1 - r * r)
        if edge.copula is not None:
            side = edge.copula if variable == edge.child else edge.copula.turned()
            ladder, cell = self.ladders(side, beside), self.cell(side.edges_b, value)
            edges, rows = side.edges_b[self.label], np.arange(len(value))
            part = (value - edges[rows, cell]) / (edges[rows, cell + 1] - edges[rows, cell])
            value = ladder[rows, cell] + part * (ladder[rows, cell + 1] - ladder[rows, cell])
        return ndtri(np.clip(value, TRIM, 1 - TRIM))

    def draw(self, variable: int) -> None:
        chain, rows = self.vine.chains[variable], np.arange(len(self.label))
        state = self.label
        for edge in [e for e in chain if e.copula is not None or e.correlation][:2]:
            partner = self.value(edge.partner, edge.given)
            if edge.copula is not None:
                cell, cells = self.cell(edge.copula.edges_a, partner), edge.copula.mass.shape[1]
            else:
                cell, cells = np.minimum(ndtr(partner) * STRATA, STRATA - 1).astype(int), STRATA
            state = state * cells + cell
        value = np.empty(len(state))
        for one in np.unique(state):
            here = self.rng.permutation(rows[state == one])
            value[here] = (np.arange(len(here)) + self.rng.random()) / len(here)
        value = ndtri(np.clip(value, TRIM, 1 - TRIM))
        for edge in reversed(chain):
            self.known[variable, edge.given | {edge.partner}] = value
            if edge.correlation:
                r = edge.correlation
                value = r * self.value(edge.partner, edge.given) + math.sqrt(1 - r * r) * value
            if edge.copula is not None:
                share = ndtr(value)
                ladder = self.ladders(edge.copula, self.known[edge.partner, frozenset()])
                cell = np.minimum((ladder[:, 1:] <= share[:, None]).sum(1), ladder.shape[1] - 2)
                edges = edge.copula.edges_b[self.label]
                part = (share - ladder[rows, cell]) / (ladder[rows, cell + 1] - ladder[rows, cell])
                value = edges[rows, cell] + part * (edges[rows, cell + 1] - edges[rows, cell])
        if not chain or chain[0].copula is None:
            value = ndtr(value)
        self.known[variable, frozenset()] = np.clip(value, TRIM, 1 - TRIM)


def _weights(model: FittedVine, groups: Groups) -> np.ndarray:
    """Raking that knows the noise: one Newton equation a cell, table after table."""
    tables = sorted(model.noisy_tables, key=lambda table: -len(table.variables))
    cells = []
    for table in tables:
        own = [groups[j] for j in table.variables]
        if table.coarse is not None:
            own = [m[g] for m, g in zip(table.coarse, own, strict=True)]
        cells.append(np.ravel_multi_index(own, table.shape))
    thetas = [np.array(factor) for factor in model.factors]
    logs = np.sum([theta[cell] for theta, cell in zip(thetas, cells, strict=True)], axis=0)
    weight = np.exp(logs - logs.max())
    weight *= model.total / weight.sum()
    for _ in range(POLISH):
        for theta, cell, table in zip(thetas, cells, tables, strict=True):
            now = np.bincount(cell, weight, len(theta))
            ridge, step = model.kappa * table.sigma**2, np.zeros(len(theta))
            for _ in range(5):
                then = now * np.exp(step)
                off = ridge * (theta + step) - table.counts + then
                step = np.clip(step - off / np.maximum(ridge + then, 1e-9), -3, 3)
            step[now == 0] = 0
            np.add(theta, step, out=theta)
            weight *= np.exp(step)[cell]
    return weight


def off_tables(model: FittedVine, rows: Groups) -> float:
    """Total variation between rows and the tables of the model, on average."""
    found = []
    for table in model.noisy_tables:
        own = [rows[j] for j in table.variables]
        if table.coarse is not None:
            own = [m[g] for m, g in zip(table.coarse, own, strict=True)]
        counts = np.bincount(np.ravel_multi_index(own, table.shape), minlength=table.counts.size)
        share = table.counts / table.counts.sum()
        found.append(np.abs(counts / counts.sum() - share).sum() / 2)
    return float(np.mean(found))


def apart(model: FittedVine, one: Groups, other: Groups) -> float:
    """Total variation between two samples, on average over all pairs of columns."""
    found = []
    for a, b in combinations(sorted(one), 2):
        size = model.shapes[a] * model.shapes[b]
        cells = [rows[a].astype(int) * model.shapes[b] + rows[b] for rows in (one, other)]
        shares = [np.bincount(cell, minlength=size) / len(cell) for cell in cells]
        found.append(np.abs(shares[0] - shares[1]).sum() / 2)
    return float(np.mean(found))
