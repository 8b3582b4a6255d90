"""A regular vine in a sampling order: pair copulas in tree 1, Gaussian ones above it.

Thesis 1.2. Values u(v | D) are uniforms where D is empty and normal scores elsewhere, on which a
Gaussian pair copula is a linear regression. docs/private_vine.md says why the vine class of
pyvinecopulib is not used.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import scipy

from copula_shirley.private_vine.pair_copula import Labels, PairCopula, Uniforms
from copula_shirley.schema.domain import FloatArray

#: Least distance of uniforms from 0 and 1.
TRIM = 1e-12
#: Least share of a tail that has a score.
LEAST_SHARE = 1e-300
#: Strata of draws by the score of the second partner.
STRATA = 8

Given = frozenset[int]
#: Values of u(v | D), by v and D.
Known = dict[tuple[int, Given], Uniforms]


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

    def value(self, known: Known, variable: int, given: Given, label: Labels) -> Uniforms:
        """u(variable | given) of each row; ``known`` remembers."""
        if (variable, given) not in known:
            edge = self._nodes[given | {variable}]
            other = edge.partner if variable == edge.child else edge.child
            rest = given - {other}
            value = self.value(known, variable, rest, label)
            if rest:
                if edge.correlation:
                    value = _left(value, self.value(known, other, rest, label), edge.correlation)
            else:
                if edge.copula is not None:
                    side = edge.copula if variable == edge.child else edge.copula.turned()
                    value = side.h(value, self.value(known, other, rest, label), label)
                value = _score(value)
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
                (edge, self.value(known, edge.partner, edge.given, label))
                for edge in self.chains[variable]
                if edge.copula is not None or edge.correlation
            ]
            value = stratified(label, _strata(chain, label), rng)
            if bounds and variable in bounds:
                low, high = (_conditioned(end, chain, label) for end in bounds[variable])
                # differences of shares are exact in the lower tail only
                side = np.where(low > 0, -1.0, 1.0)
                ends = scipy.special.ndtr(np.sort([side * low, side * high], axis=0))
                weight *= ends[1] - ends[0]
                value = ends[0] + value * (ends[1] - ends[0])
                score = side * scipy.special.ndtri(np.maximum(value, LEAST_SHARE))
            else:
                score = _score(value)
            self._settle(known, variable, score, dict(chain), label)
        return {variable: known[variable, frozenset()] for variable in self.order}, weight

    def _settle(
        self,
        known: Known,
        variable: int,
        value: FloatArray,
        partners: Mapping[Edge, Uniforms],
        label: Labels,
    ) -> None:
        """What is known of a variable, from its score given all partners down to its own value."""
        for edge in reversed(self.chains[variable]):
            known[variable, edge.given | {edge.partner}] = value
            if edge.given and edge.correlation:
                r = edge.correlation
                value = r * partners[edge] + math.sqrt(1 - r * r) * value
            elif not edge.given:
                value = scipy.special.ndtr(value)
                if edge.copula is not None:
                    value = edge.copula.inverse(value, partners[edge], label)
        if not self.chains[variable]:
            value = scipy.special.ndtr(value)
        known[variable, frozenset()] = np.clip(value, TRIM, 1 - TRIM)


def _score(uniforms: Uniforms) -> FloatArray:
    return np.asarray(scipy.special.ndtri(np.clip(uniforms, TRIM, 1 - TRIM)))


def _left(value: Uniforms, other: Uniforms, correlation: float) -> FloatArray:
    """What a score is without its regression on another one, standardised."""
    return np.asarray((value - correlation * other) / math.sqrt(1 - correlation * correlation))


def _conditioned(
    value: FloatArray, chain: Sequence[tuple[Edge, Uniforms]], label: Labels
) -> FloatArray:
    """The score of a value given all partners of its chain."""
    scores = None
    for edge, partner in chain:
        if edge.copula is not None:
            value = edge.copula.h(value, partner, label)
        else:
            scores = _left(_score(value) if scores is None else scores, partner, edge.correlation)
    return _score(value) if scores is None else scores


def _strata(chain: Sequence[tuple[Edge, Uniforms]], label: Labels) -> Labels:
    """The joint cell of the first two partners, in which draws are spread evenly."""
    cell = np.zeros(len(label), dtype=np.intp)
    for edge, partner in chain[:2]:
        if edge.copula is not None:
            lines = edge.copula.mass.shape[0] * edge.copula.mass.shape[1]
            cell = cell * lines + edge.copula.line(partner, label)
        else:
            share = scipy.special.ndtr(partner)
            cell = cell * STRATA + np.minimum(share * STRATA, STRATA - 1).astype(np.intp)
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
