"""Tables of a Bayesian network: projection, consistency, sampling, a picture."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import networkx as nx
import numpy as np
from numpy.typing import NDArray

from copula_shirley.pictures import picture
from copula_shirley.schema.domain import FloatArray

#: Rounds of raking; the margins of a table are near the agreed ones after a few.
RAKING_ROUNDS = 5


@dataclass(frozen=True)
class Joint:
    """Counts of a child with its parents; the child is the last column."""

    columns: tuple[str, ...]
    mass: FloatArray

    @property
    def child(self) -> str:
        return self.columns[-1]

    def sum_to(self, columns: tuple[str, ...]) -> Joint:
        """The table of some of the columns, in the order given."""
        away = tuple(i for i, name in enumerate(self.columns) if name not in columns)
        left = [name for name in self.columns if name in columns]
        summed = self.mass.sum(axis=away) if away else self.mass
        return Joint(columns, np.transpose(summed, [left.index(name) for name in columns]))

    def draw(
        self, codes: dict[str, NDArray[np.intp]], n: int, rng: np.random.Generator
    ) -> NDArray[np.intp]:
        width = self.mass.shape[-1]
        table = self.mass.reshape(-1, width)
        overall = table.sum(axis=0)
        # parents that the table does not know: the child's own distribution
        empty = table.sum(axis=1) <= 0
        table = np.where(empty[:, None], overall if overall.sum() > 0 else 1.0, table)
        cumulative = np.cumsum(table, axis=1)
        cumulative /= cumulative[:, -1:]
        row = np.zeros(n, dtype=np.intp)
        for name, size in zip(self.columns[:-1], self.mass.shape, strict=False):
            row = row * size + codes[name]
        # the first cell whose cumulative share is above u: it has mass
        u = rng.random(n)
        return np.asarray((cumulative[row] <= u[:, None]).sum(axis=1).clip(max=width - 1))


def project(noisy: FloatArray, total: float) -> FloatArray:
    """The nearest non-negative table with a given total (in the L2 norm).

    All cells are lowered by one amount and what falls below 0 becomes 0. Where clipping would keep
    the positive half of the noise in every empty cell, this removes it.
    """
    ordered = np.sort(noisy)[::-1]
    excess = (np.cumsum(ordered) - total) / np.arange(1, len(ordered) + 1)
    last = np.flatnonzero(ordered > excess)
    if total <= 0 or not len(last):
        return np.full(len(noisy), 1.0 / len(noisy))
    return np.asarray(np.maximum(noisy - excess[last[-1]], 0.0))


def consistent(joints: list[Joint], total: float) -> list[Joint]:
    """Turn noisy tables into non-negative ones that agree on every column's margin.

    The agreed margin of a column is the mean of the noisy tables' own, weighted by how few cells,
    and so how little noise, each sums over. Each table is projected and then raked to the agreed
    margins.
    """
    agreed: dict[str, FloatArray] = {}
    for name in dict.fromkeys(column for joint in joints for column in joint.columns):
        having = [joint for joint in joints if name in joint.columns]
        margins = [joint.sum_to((name,)).mass for joint in having]
        weights = [1.0 / joint.mass.size for joint in having]
        agreed[name] = project(np.average(margins, axis=0, weights=weights), total)
    return [_raked(joint, agreed, total) for joint in joints]


def _raked(joint: Joint, margins: dict[str, FloatArray], total: float) -> Joint:
    mass = project(joint.mass.ravel(), total).reshape(joint.mass.shape)
    for _ in range(RAKING_ROUNDS):
        for axis, name in enumerate(joint.columns):
            last = np.moveaxis(mass, axis, -1)  # a view
            now = mass.sum(axis=tuple(k for k in range(mass.ndim) if k != axis))
            last *= np.divide(margins[name], now, out=np.ones_like(now), where=now > 0)
    return Joint(joint.columns, mass)


def plot_network(joints: list[Joint], path: str | Path) -> None:
    """Draw the network as arrows from parents to children, in the order of choice."""
    graph = nx.DiGraph({joint.child: joint.columns[:-1] for joint in joints}).reverse()
    layers = dict(enumerate(nx.topological_generations(graph)))
    where = nx.multipartite_layout(graph, layers, align="horizontal")
    with picture(path, 11, 1.2 * (1 + len(joints)) ** 0.9) as figure:
        axes = figure.subplots()
        axes.invert_yaxis()
        style = {"arrowsize": 14, "edge_color": "#34678f", "connectionstyle": "arc3,rad=0.08"}
        nx.draw_networkx(
            graph, where, ax=axes, node_color="#dbe7f3", node_size=1500, font_size=8, **style
        )
        axes.set_title("PrivBayes network: parents to children")
        axes.set_axis_off()
