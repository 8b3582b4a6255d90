"""A regular vine in a sampling order: pair copulas in tree 1, Gaussian ones above it.

Thesis 1.2. Gaussian pair copulas are linear regressions of normal scores. docs/private_vine.md says
why the vine class of pyvinecopulib is not used.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from copula_shirley.private_vine.pair_copula import PairCopula
from copula_shirley.schema.domain import FloatArray

Given = frozenset[int]


@dataclass(frozen=True, eq=False)
class Edge:
    """A conditioned pair and its conditioning set."""

    child: int
    partner: int
    given: Given = frozenset()
    #: In tree 1; without a copula the pair is independent.
    copula: PairCopula | None = None
    #: Of normal scores, in higher trees.
    correlation: float = 0.0

    @property
    def family(self) -> str:
        if self.copula is not None:
            return self.copula.family
        return "gaussian" if self.correlation else "independence"


@dataclass
class RegularVine:
    """Edges by child, tree 1 first; each child comes after its partners in ``order``."""

    order: list[int]
    chains: dict[int, list[Edge]] = field(default_factory=dict)
    _nodes: dict[Given, Edge] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for variable in self.order:
            self.chains.setdefault(variable, [])

    def add(self, edge: Edge) -> None:
        """Add the edge of the next tree of its child."""
        self.chains[edge.child].append(edge)
        self._nodes[edge.given | {edge.child, edge.partner}] = edge

    @property
    def edges(self) -> list[tuple[int, Edge]]:
        """Every edge with the number of its tree, tree by tree."""
        found = [(tree, edge) for own in self.chains.values() for tree, edge in enumerate(own, 1)]
        return sorted(found, key=lambda item: item[0])

    def partners(self, child: int) -> tuple[list[int], Given]:
        """Variables that the proximity condition allows in the next tree of a child."""
        given = frozenset(edge.partner for edge in self.chains[child])
        allowed = []
        for other in self.order[: self.order.index(child)]:
            node = self._nodes.get(given | {other})
            if other not in given and node is not None and other in (node.child, node.partner):
                allowed.append(other)
        return allowed, given

    def node(self, variables: Given) -> Edge:
        """The edge of these variables."""
        return self._nodes[variables]


def spanning_tree(
    variables: Sequence[int], scores: Mapping[tuple[int, int], float]
) -> tuple[list[int], list[tuple[int, int]]]:
    """Prim's maximum spanning tree: order of the variables and links (partner, child).

    It starts from the variable with the largest sum of scores.
    """
    size = len(variables)
    weight = np.full((size, size), -np.inf)
    for i, a in enumerate(variables):
        for k, b in enumerate(variables[:i]):
            weight[i, k] = weight[k, i] = scores[min(a, b), max(a, b)]
    sums = np.where(np.isfinite(weight), weight, 0.0).sum(axis=1)
    place = int(sums.argmax())
    order, links = [variables[place]], []
    left = np.arange(size) != place
    best, nearest = weight[place].copy(), np.full(size, place)
    while left.any():
        place = int(np.where(left, best, -np.inf).argmax())
        order.append(variables[place])
        links.append((variables[nearest[place]], variables[place]))
        left[place] = False
        nearer = weight[place] > best
        nearest[nearer], best[nearer] = place, weight[place, nearer]
    return order, links


def partial_correlation(
    correlations: FloatArray, first: int, second: int, given: Sequence[int]
) -> float:
    """The correlation of two variables beside some others, from all correlations."""
    which = [first, second, *given]
    precision = np.linalg.inv(correlations[np.ix_(which, which)])
    return float(-precision[0, 1] / math.sqrt(precision[0, 0] * precision[1, 1]))
