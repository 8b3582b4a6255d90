"""Rows of a vine by its inverse Rosenblatt transform, in cells as far as cells suffice.

A row that is drawn lies in a cell of each pair copula. A partner's cell is all that a copula of
tree 1 and a noisy table look at, so it is remembered; numbers and normal scores are computed when
somebody asks for them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from copula_shirley.private_vine.pair_copula import Labels, Uniforms, cell_of, cells_in
from copula_shirley.private_vine.vine import Edge, Given, RegularVine
from copula_shirley.schema.domain import FloatArray

#: Least distance of uniforms from 0 and 1.
TRIM = 1e-12
#: Least share of a tail that has a score.
LEAST_SHARE = 1e-300
#: Strata of draws by the score of the second partner.
STRATA = 8
#: Random bits at the least that order rows inside a stratum.
RANDOM_BITS = 8
NONE: Given = frozenset()
#: By variable the lower and the upper end between which it is drawn.
Bounds = Mapping[int, tuple[FloatArray, FloatArray]]


class Drawn:
    """Values u(v | D) of rows with a class each: uniforms without D, normal scores beside one."""

    def __init__(
        self, vine: RegularVine, label: Labels, uniforms: Mapping[int, Uniforms] | None = None
    ) -> None:
        self.vine, self.label = vine, label
        self._known: dict[tuple[int, Given], Uniforms | Callable[[], Uniforms]] = {
            (variable, NONE): own for variable, own in (uniforms or {}).items()
        }
        #: Edges of a grid and the cell on it, by variable.
        self._cells: dict[int, tuple[FloatArray, Labels]] = {}

    def value(self, variable: int, given: Given = NONE) -> Uniforms:
        """u(variable | given) of each row."""
        if (variable, given) not in self._known:
            self._known[variable, given] = self._computed(variable, given)
        found = self._known[variable, given]
        if callable(found):
            found = self._known[variable, given] = found()
        return found

    def _computed(self, variable: int, given: Given) -> Uniforms:
        edge = self.vine.node(given | {variable})
        other = edge.partner if variable == edge.child else edge.child
        rest = given - {other}
        value = self.value(variable, rest)
        if rest:
            if edge.correlation:
                value = _left(value, self.value(other, rest), edge.correlation)
            return value
        if edge.copula is not None:
            side = edge.copula if variable == edge.child else edge.copula.turned()
            line = side.line(self.cell(other, side.edges_a), self.label)
            value = side.h_in(self.cell(variable, side.edges_b), value, line)
        return _score(value)

    def cell(self, variable: int, edges: FloatArray) -> Labels:
        """The cell of each row on a grid; without a search where it follows from a known cell."""
        grid, known = self._cells.get(variable, (None, None))
        inside = None if grid is None else cells_in(grid, edges)
        if inside is None:
            known = cell_of(edges, self.value(variable), self.label)
        elif not (inside == np.arange(inside.shape[1])).all():
            return np.asarray(inside.ravel().take(self.label * inside.shape[1] + known))
        assert known is not None
        if grid is None:
            self._cells[variable] = edges, known
        return known

    def settle(self, variable: int, share: FloatArray, score: FloatArray | None = None) -> None:
        """What is known of a variable, from its share given all partners down to its own value.

        ``score`` is the normal score of the share, if somebody knows it better.
        """
        chain = self.vine.chains[variable]
        if score is None and any(edge.correlation for edge in chain[1:]):
            score = _score(share)
        if score is None:
            later = cache(lambda: _score(share))
            self._known |= {(variable, edge.given | {edge.partner}): later for edge in chain}
        else:
            for edge in reversed(chain):
                self._known[variable, edge.given | {edge.partner}] = score
                if r := edge.correlation:
                    partner = self.value(edge.partner, edge.given)
                    score = r * partner + math.sqrt(1 - r * r) * score
            share = scipy.special.ndtr(score)
        copula = chain[0].copula if chain else None
        if copula is None:
            self._known[variable, NONE] = np.clip(share, TRIM, 1 - TRIM)
            return
        line = copula.line(self.cell(chain[0].partner, copula.edges_a), self.label)
        cell = copula.found(share, line)
        self._cells[variable] = copula.edges_b, cell
        self._known[variable, NONE] = lambda: np.clip(
            copula.inverse_in(cell, share, line), TRIM, 1 - TRIM
        )

    def strata(self, chain: Sequence[Edge]) -> Labels:
        """The joint cell of the first two partners and the class."""
        state = self.label
        for edge in chain[:2]:
            if edge.copula is not None:
                cell, cells = (
                    self.cell(edge.partner, edge.copula.edges_a),
                    edge.copula.mass.shape[1],
                )
            else:
                share = scipy.special.ndtr(self.value(edge.partner, edge.given))
                cell, cells = np.minimum(share * STRATA, STRATA - 1).astype(np.intp), STRATA
            state = state * cells + cell
        return state

    def conditioned(self, variable: int, value: Uniforms, chain: Sequence[Edge]) -> FloatArray:
        """The score of a value of a variable given all partners of its chain."""
        scores = None
        for edge in chain:
            partner = self.value(edge.partner, edge.given)
            if edge.copula is not None:
                value = edge.copula.h(value, partner, self.label)
            else:
                scores = _score(value) if scores is None else scores
                scores = _left(scores, partner, edge.correlation)
        return _score(value) if scores is None else scores


def draw(
    vine: RegularVine, label: Labels, rng: np.random.Generator, bounds: Bounds | None = None
) -> tuple[Drawn, FloatArray]:
    """Rows of these classes, and their weights.

    A variable with ``bounds`` is drawn between them; the weight of a row is the chance that it
    would have been there by itself.
    """
    drawn, weight = Drawn(vine, label), np.ones(len(label))
    for variable in vine.order:
        chain = [e for e in vine.chains[variable] if e.copula is not None or e.correlation]
        share, score = stratified(drawn.strata(chain), rng), None
        if bounds and variable in bounds:
            low, high = (drawn.conditioned(variable, end, chain) for end in bounds[variable])
            # differences of shares are exact in the lower tail only
            side = np.where(low > 0, -1.0, 1.0)
            ends = scipy.special.ndtr(np.sort([side * low, side * high], axis=0))
            weight *= ends[1] - ends[0]
            share = ends[0] + share * (ends[1] - ends[0])
            score = side * scipy.special.ndtri(np.maximum(share, LEAST_SHARE))
        drawn.settle(variable, share, score)
    return drawn, weight


def stratified(state: Labels, rng: np.random.Generator) -> FloatArray:
    """Uniforms that are evenly spread inside each stratum.

    Each of them is uniform; together they hit every share of the stratum as exactly as its number
    of rows allows. Which row has which place in its stratum is drawn anew in each call: with one
    order for several variables these would ascend together.
    """
    order, first, counts = sorted_by(state, rng)
    uniforms = np.empty(len(state))
    place = np.arange(len(state)) - np.repeat(first - rng.random(len(first)), counts)
    uniforms[order] = place / np.repeat(counts, counts)
    return np.clip(uniforms, TRIM, 1 - TRIM)


def sorted_by(
    state: NDArray[np.integer[Any]], rng: np.random.Generator
) -> tuple[Labels, Labels, Labels]:
    """The rows by their state, at random inside each: places, and where each state begins; sizes.

    State, random bits and place are one number a row, since those are sorted fastest.
    """
    size = len(state)
    below = max(size - 1, 0).bit_length()
    above = int(state.max(initial=0)).bit_length()
    if above + below + RANDOM_BITS > 64:
        state = np.unique(state, return_inverse=True)[1]
        above = int(state.max(initial=0)).bit_length()
    keys = rng.integers(0, 1 << 64, size, dtype=np.uint64) >> np.uint64(above + below)
    keys <<= np.uint64(below)
    keys |= np.arange(size, dtype=np.uint64)
    if above:
        keys |= state.astype(np.uint64) << np.uint64(64 - above)
    keys.sort()
    order = (keys & np.uint64((1 << below) - 1)).astype(np.intp)
    states = keys >> np.uint64(64 - above) if above else np.zeros(size, dtype=np.uint64)
    first = np.flatnonzero(np.append(True, states[1:] != states[:-1])[:size])
    return order, first, np.diff(first, append=size)


def _score(uniforms: Uniforms) -> FloatArray:
    return np.asarray(scipy.special.ndtri(np.clip(uniforms, TRIM, 1 - TRIM)))


def _left(value: Uniforms, other: Uniforms, correlation: float) -> FloatArray:
    """What a score is without its regression on another one, standardised."""
    return np.asarray((value - correlation * other) / math.sqrt(1 - correlation * correlation))
