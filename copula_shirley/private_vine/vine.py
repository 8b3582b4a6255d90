"""A regular vine of pair copulas in a sampling order: proximity, h-transforms, sampling.

Thesis 1.2. docs/private_vine.md says why the vine class of pyvinecopulib is not used.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from copula_shirley.private_vine.pair_copula import Labels, PairCopula, Uniforms
from copula_shirley.schema.domain import FloatArray

#: Least distance of uniforms from 0 and 1.
TRIM = 1e-12
#: Number of partners whose cells make up the strata.
STRATA = 2

Given = frozenset[int]
#: Values of u(v | D), by v and D.
Known = dict[tuple[int, Given], Uniforms]


@dataclass(frozen=True)
class Edge:
    """A conditioned pair and its conditioning set; without a copula it is independence."""

    child: int
    partner: int
    given: Given
    copula: PairCopula | None = None


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

    def pseudo_observation(
        self, known: Known, variable: int, given: Given, label: Labels
    ) -> Uniforms:
        """u(variable | given) of each row, by the h-functions; ``known`` remembers."""
        if (variable, given) not in known:
            edge = self._nodes[given | {variable}]
            other = edge.partner if variable == edge.child else edge.child
            rest = given - {other}
            value = self.pseudo_observation(known, variable, rest, label)
            if edge.copula is not None:
                side = edge.copula if variable == edge.child else edge.copula.turned()
                partner = self.pseudo_observation(known, other, rest, label)
                value = side.h(value, partner, label).astype(value.dtype, copy=False)
            known[variable, given] = value
        return known[variable, given]

    def draw(
        self,
        label: Labels,
        rng: np.random.Generator,
        bounds: Mapping[int, tuple[FloatArray, FloatArray]] | None = None,
    ) -> tuple[dict[int, Uniforms], FloatArray]:
        """Inverse Rosenblatt transform: uniforms u(x | class) per variable, and weights.

        A variable with ``bounds`` is drawn between them; the weight of a row is the chance that
        it would have been there by itself.
        """
        known: Known = {}
        weight = np.ones(len(label))
        for variable in self.order:
            chain = [
                (edge, self.pseudo_observation(known, edge.partner, edge.given, label))
                for edge in self.chains[variable]
            ]
            value = stratified(label, _strata(chain, label), rng)
            if bounds and variable in bounds:
                low, high = bounds[variable]
                for edge, partner in chain:
                    if edge.copula is not None:
                        low = edge.copula.h(low, partner, label)
                        high = edge.copula.h(high, partner, label)
                weight *= np.maximum(high - low, 0.0)
                value = low + value * (high - low)
            for edge, partner in reversed(chain):
                known[variable, edge.given | {edge.partner}] = value
                if edge.copula is not None:
                    value = edge.copula.inverse(value, partner, label)
            known[variable, frozenset()] = np.clip(value, TRIM, 1 - TRIM)
        return {variable: known[variable, frozenset()] for variable in self.order}, weight


def _strata(chain: Sequence[tuple[Edge, Uniforms]], label: Labels) -> Labels:
    """The joint cell of the first partners, in which draws are spread evenly."""
    cell = np.zeros(len(label), dtype=np.intp)
    for edge, partner in chain[:STRATA]:
        if edge.copula is not None:
            lines = edge.copula.mass.shape[0] * edge.copula.mass.shape[1]
            cell = cell * lines + edge.copula.line(partner, label)
    return cell


def stratified(label: Labels, cell: Labels, rng: np.random.Generator) -> FloatArray:
    """Uniforms that are evenly spread inside each (class, cell).

    Each of them is uniform; together they hit every share of the stratum as exactly as its
    number of rows allows.
    """
    state = label * (cell.max(initial=0) + 1) + cell
    order = np.argsort(state + rng.random(len(state)))  # by stratum, at random inside
    state = state[order]
    first = np.flatnonzero(np.diff(state, prepend=-1))
    counts = np.diff(first, append=len(state))
    place = np.arange(len(state)) - np.repeat(first, counts)
    offset = np.repeat(rng.random(len(first)), counts)
    uniforms = np.empty(len(state))
    uniforms[order] = (place + offset) / np.repeat(counts, counts)
    return np.clip(uniforms, TRIM, 1 - TRIM)


def spanning_tree(
    variables: Sequence[int], scores: Mapping[tuple[int, int], float]
) -> tuple[list[int], list[tuple[int, int]]]:
    """Prim's maximum spanning tree: order of the variables and links (partner, child).

    It starts from the variable with the largest sum of scores.
    """

    def score(a: int, b: int) -> float:
        return scores[min(a, b), max(a, b)]

    root = max(variables, key=lambda a: sum(score(a, b) for b in variables if b != a))
    order, links = [root], []
    while len(order) < len(variables):
        left = [b for b in variables if b not in order]
        a, b = max(((a, b) for a in order for b in left), key=lambda link: score(*link))
        order.append(b)
        links.append((a, b))
    return order, links
