"""Pair copulas for noisy tables: checkerboards and parametric families, chosen noise-aware.

Post-processing of released numbers; no row is seen here. A pair copula is a piecewise constant
density on a grid, one for each class of a target; a parametric family is tabulated on a fine
grid, so that h-functions and their inverses are closed forms for all of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from copula_shirley.lazy import LazyModule
from copula_shirley.private_vine.ladders import Ladders
from copula_shirley.schema.domain import FloatArray

if TYPE_CHECKING:
    import pyvinecopulib as pv
else:
    pv = LazyModule("pyvinecopulib")

#: Cells along each axis of a tabulated family.
FINE = 48
TAUS = (0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
#: Families and rotations that are tried, and the signs of their tau.
FAMILIES: list[tuple[str, int, tuple[int, ...]]] = [
    ("gaussian", 0, (-1, 1)),
    ("frank", 0, (-1, 1)),
    *(
        (name, rotation, (1 if rotation in (0, 180) else -1,))
        for name in ("clayton", "gumbel", "joe")
        for rotation in (0, 90, 180, 270)
    ),
]
#: Best families and rotations whose parameter is searched on a finer grid.
REFINED = 3
#: Price of a parameter in units of -2 log likelihood, as in AIC; and of a family, which is the
#: best of many.
PRICE, FAMILY_PRICE = 2.0, 8.0
#: Tables with fewer cells along an axis say nothing about a family.
LEAST_AXIS = 4

Labels = NDArray[np.intp]
#: In double precision for rows that are drawn, in single for rows that are counted.
Uniforms = NDArray[np.floating[Any]]


class _Lines(NamedTuple):
    """The child's cells for each class and cell of the partner, all lines side by side."""

    #: Cumulative shares, and those of each cell: P(child before it), P(child in it).
    ladders: Ladders
    below: FloatArray
    mass: FloatArray
    #: Where each cell begins in [0, 1], and its width.
    low: FloatArray
    width: FloatArray


@dataclass(frozen=True, eq=False)
class PairCopula:
    """A piecewise constant density per class; axis 0 is the partner, axis 1 the child."""

    #: Edges of the grid in [0, 1], of shape (classes, cells + 1).
    edges_a: FloatArray
    edges_b: FloatArray
    #: Probability of each cell, of shape (classes, A, B).
    mass: FloatArray
    #: What it was made from, for people.
    family: str

    @cached_property
    def _lines(self) -> _Lines:
        start = np.zeros_like(self.mass[..., :1])
        ladder = np.cumsum(np.concatenate([start, self.mass], axis=2), axis=2)
        ladder = ladder / np.maximum(ladder[..., -1:], 1e-300)
        ladder = ladder.reshape(-1, ladder.shape[2])
        edges = np.repeat(self.edges_b, self.mass.shape[1], axis=0)
        below, low = ladder[:, :-1], edges[:, :-1]
        parts = (below, np.diff(ladder, axis=1), low, np.diff(edges, axis=1))
        return _Lines(Ladders(below), *(part.ravel() for part in parts))

    @cached_property
    def _turned(self) -> PairCopula:
        return PairCopula(self.edges_b, self.edges_a, self.mass.transpose(0, 2, 1), self.family)

    def turned(self) -> PairCopula:
        return self._turned

    def for_classes(self, classes: int) -> PairCopula:
        edges_a, edges_b, mass = (
            np.repeat(part, classes, axis=0) for part in (self.edges_a, self.edges_b, self.mass)
        )
        return PairCopula(edges_a, edges_b, mass, self.family)

    # A row lies in a *line*, by its class and the partner's cell, and in a *cell* of the child.
    # Who knows these already need not search for them.

    def line(self, cell: Labels, label: Labels) -> Labels:
        """The line of a cell of the partner."""
        return np.asarray(label * self.mass.shape[1] + cell)

    def found(self, share: FloatArray, line: Labels) -> Labels:
        """The cell in which h reaches a share."""
        return self._lines.ladders.find(line, share)

    def h_in(self, cell: Labels, value: Uniforms, line: Labels) -> FloatArray:
        """P(child <= value | line), for a value in this cell."""
        lines = self._lines
        at = line * self.mass.shape[2] + cell
        inside = (value - lines.low.take(at)) / np.maximum(lines.width.take(at), 1e-300)
        share = lines.below.take(at) + lines.mass.take(at) * np.clip(inside, 0, 1)
        return np.asarray(share)

    def inverse_in(self, cell: Labels, share: FloatArray, line: Labels) -> FloatArray:
        """The value in this cell with h(value | line) = share."""
        lines = self._lines
        at = line * self.mass.shape[2] + cell
        inside = (share - lines.below.take(at)) / np.maximum(lines.mass.take(at), 1e-300)
        return np.asarray(lines.low.take(at) + lines.width.take(at) * np.clip(inside, 0, 1))

    def h(self, value: Uniforms, given: Uniforms, label: Labels) -> FloatArray:
        """P(child <= value | partner = given, class)."""
        line = self.line(cell_of(self.edges_a, given, label), label)
        return self.h_in(cell_of(self.edges_b, value, label), value, line)

    def inverse(self, share: FloatArray, given: Uniforms, label: Labels) -> FloatArray:
        """The value with h(value | given) = share."""
        line = self.line(cell_of(self.edges_a, given, label), label)
        return self.inverse_in(self.found(share, line), share, line)

    @property
    def tau(self) -> float:
        taus = []
        for mass in self.mass:
            share = mass / mass.sum()
            corners = np.pad(np.cumsum(np.cumsum(share, axis=0), axis=1), ((1, 0), (1, 0)))
            middle = (corners[1:, 1:] + corners[1:, :-1] + corners[:-1, 1:] + corners[:-1, :-1]) / 4
            taus.append(4 * float((share * middle).sum()) - 1)
        return float(np.mean(taus))

    @property
    def association(self) -> float:
        """Cramer's V of the density, the mean over classes; needs no order."""
        found = []
        for mass in self.mass:
            share = mass / mass.sum()
            even = np.outer(share.sum(axis=1), share.sum(axis=0))
            chi = float(((share - even) ** 2 / np.maximum(even, 1e-300)).sum())
            found.append(np.sqrt(chi / max(1, min(share.shape) - 1)))
        return float(np.mean(found))


def cell_of(edges: FloatArray, value: Uniforms, label: Labels) -> Labels:
    """The cell of each value on the edges of its class."""
    return Ladders(edges[:, :-1]).find(label, value)


def cells_in(finer: FloatArray, coarser: FloatArray) -> Labels | None:
    """The coarser cell, by class, in which each finer one lies; None where an edge cuts one.

    Examples
    --------
    >>> thirds, sixths = (np.linspace([0], [1], k, axis=1) for k in (4, 7))
    >>> cells_in(sixths, thirds).tolist(), cells_in(thirds, sixths)
    ([[0, 0, 1, 1, 2, 2]], None)
    """
    pairs = [(own[1:-1], cells) for own, cells in zip(coarser, finer, strict=True)]
    first = np.stack([np.searchsorted(own, cells[:-1], side="right") for own, cells in pairs])
    last = np.stack([np.searchsorted(own, cells[1:], side="left") for own, cells in pairs])
    return first if np.array_equal(first, last) else None


def edges_of(mass: FloatArray) -> FloatArray:
    """Edges in [0, 1] of groups with this mass, all of positive width."""
    mass = np.maximum(mass, 1e-9 * mass.sum() + 1e-12)
    edges = np.append(0.0, np.cumsum(mass))
    return np.asarray(edges / edges[-1])


# -- noisy tables --------------------------------------------------------------


def shrink_singular(residual: FloatArray, sigma: float) -> FloatArray:
    """What of a matrix stands out of white noise (Gavish and Donoho 2017, Frobenius loss)."""
    if sigma < 1e-9:  # beyond, its square overflows below
        return residual
    if residual.shape[0] > residual.shape[1]:
        return shrink_singular(residual.T, sigma).T
    left, values, right = np.linalg.svd(residual, full_matrices=False)
    scale = sigma * np.sqrt(residual.shape[1])
    beta = residual.shape[0] / residual.shape[1]
    y = np.maximum(values / scale, 1e-9)
    kept = np.sqrt(np.maximum((y**2 - beta - 1) ** 2 - 4 * beta, 0)) / y
    shrunk: FloatArray = (left * (np.where(y > 1 + np.sqrt(beta), kept, 0.0) * scale)) @ right
    return shrunk


def rake(table: FloatArray, rows: FloatArray, columns: FloatArray, sweeps: int = 30) -> FloatArray:
    """Scale a positive table to both margins."""
    table, rows, columns = (np.maximum(part, 1e-9) for part in (table, rows, columns))
    for _ in range(sweeps):
        table = table * (rows / table.sum(axis=1))[:, None]
        table = table * (columns / table.sum(axis=0))
        table = np.maximum(table, 1e-100)
    return table


def shrink_to(
    noisy: FloatArray, guess: FloatArray, sigma: float, rows: FloatArray, columns: FloatArray
) -> FloatArray:
    """The guess, plus what of the noisy table stands out of the noise, raked to the margins."""
    found = guess + shrink_singular(noisy - guess, sigma)
    least = np.maximum(found, 0.02 * guess)
    return rake(least, np.maximum(rows, 1e-6), np.maximum(columns, 1e-6))


def misfit(noisy: FloatArray, expected: FloatArray, sigma: float) -> float:
    """-2 log likelihood of noisy counts: noise, and chance as of Poisson counts."""
    variance = np.maximum(sigma**2 + expected, 1e-9)
    return float(((noisy - expected) ** 2 / variance + np.log(variance)).sum())


# -- families ------------------------------------------------------------------


def cell_mass(core: pv.Bicop, edges_a: FloatArray, edges_b: FloatArray) -> FloatArray:
    """Probability of each cell of a grid under a parametric copula."""
    grid = np.stack(np.meshgrid(edges_a, edges_b, indexing="ij"), axis=-1).reshape(-1, 2)
    cdf = core.cdf(np.asfortranarray(np.clip(grid, 1e-10, 1 - 1e-10)))
    cdf = np.asarray(cdf).reshape(len(edges_a), len(edges_b))
    cdf[0], cdf[:, 0] = 0, 0
    return np.maximum(np.diff(np.diff(cdf, axis=0), axis=1), 1e-12)


@lru_cache(4096)
def _core(name: str, rotation: int, tau: float) -> pv.Bicop:
    family = getattr(pv.families, name)
    parameters = pv.Bicop(family, rotation).tau_to_parameters(tau)
    return pv.Bicop(family, rotation, parameters)


def best_family(
    noisy: FloatArray, edges_a: FloatArray, edges_b: FloatArray, sigma: float
) -> pv.Bicop:
    """The family and parameter under which the noisy counts are likeliest."""
    total = max(float(noisy.sum()), 1.0)

    def tried(name: str, rotation: int, tau: float) -> tuple[float, float, pv.Bicop]:
        core = _core(name, rotation, round(tau, 6))
        return misfit(noisy, total * cell_mass(core, edges_a, edges_b), sigma), tau, core

    coarse = []
    for name, rotation, signs in FAMILIES:
        options = [tried(name, rotation, sign * tau) for sign in signs for tau in TAUS]
        best = min(options, key=lambda option: option[0])
        coarse.append((best[0], name, rotation, best[1]))
    finer = []
    for _, name, rotation, centre in sorted(coarse)[:REFINED]:
        near = np.clip(abs(centre) + np.linspace(-0.05, 0.05, 9), 0.02, 0.95)
        finer += [tried(name, rotation, float(np.sign(centre) * tau)) for tau in near]
    return min(finer, key=lambda option: option[0])[2]


# -- from a noisy table to a pair copula ----------------------------------------


@dataclass(frozen=True)
class _Noisy:
    """A noisy (A, B, classes) or (A, B, 1) table, known margins in each class, their grids."""

    counts: FloatArray
    sigma: float
    rows: FloatArray
    columns: FloatArray

    @property
    def margins(self) -> list[tuple[FloatArray, FloatArray]]:
        return list(zip(self.rows.T, self.columns.T, strict=True))

    @cached_property
    def edges(self) -> list[tuple[FloatArray, FloatArray]]:
        """Edges of the grid of each class."""
        return [(edges_of(rows), edges_of(columns)) for rows, columns in self.margins]

    def pooled(self) -> tuple[FloatArray, float, FloatArray, FloatArray]:
        """Counts, noise and margins of all classes together."""
        summed = self.counts.shape[2]
        rows, columns = (part.sum(axis=1) for part in (self.rows, self.columns))
        return self.counts.sum(axis=2), self.sigma * np.sqrt(summed), rows, columns

    def option(self, core: pv.Bicop | None, *, checkerboard: bool) -> _Option:
        """Tables by a family (or independence), with or without a checkerboard on top."""
        if core is None:
            per_class = [np.outer(r, c) / max(r.sum(), 1e-9) for r, c in self.margins]
        else:
            masses = [cell_mass(core, a, b) for a, b in self.edges]
            per_class = [rake(m, r, c) for m, (r, c) in zip(masses, self.margins, strict=True)]
        pooled, spread, rows, columns = self.pooled()
        common = np.sum(per_class, axis=0)
        found, rank = common, 0
        if checkerboard:
            found = shrink_to(pooled, common, spread, rows, columns)
            rank = int(np.linalg.matrix_rank(shrink_singular(pooled - common, spread)))
        price = PRICE * rank * sum(pooled.shape) + FAMILY_PRICE * (core is not None)
        tables = [table * (found / np.maximum(common, 1e-12)) for table in per_class]
        return _Option(misfit(pooled, found, spread) + price, core, checkerboard, tables)


class _Option(NamedTuple):
    criterion: float
    core: pv.Bicop | None
    checkerboard: bool
    tables: list[FloatArray]


def pair_copula(
    counts: FloatArray, sigma: float, rows: FloatArray, columns: FloatArray, *, families: bool
) -> PairCopula:
    """Pair copula per class, from a noisy (A, B, classes) table and its known class margins.

    Counts of shape (A, B, 1) are of all classes together, which then share what they show.
    All classes together decide, by an AIC that knows the noise, between a checkerboard on top of
    independence, a family, and a checkerboard on top of a family: strong noise picks one
    parameter, little noise keeps the table. What stands out of the noise in a single class
    comes on top.
    """
    noisy = _Noisy(counts, sigma, rows, columns)
    options = [noisy.option(None, checkerboard=True)]
    fine_enough = families and min(counts.shape[:2]) >= LEAST_AXIS
    if fine_enough and sigma > 0:
        pooled, spread, *margins = noisy.pooled()
        core = best_family(pooled, edges_of(margins[0]), edges_of(margins[1]), spread)
        options += [noisy.option(core, checkerboard=some) for some in (False, True)]
    best = min(options, key=lambda option: option.criterion)
    found = [rake(t, r, c) for t, (r, c) in zip(best.tables, noisy.margins, strict=True)]
    if counts.shape[2] > 1:
        classes = zip(np.moveaxis(counts, 2, 0), found, noisy.margins, strict=True)
        found = [shrink_to(own, table, sigma, r, c) for own, table, (r, c) in classes]
    shares = [table / table.sum() for table in found]
    grids = [(a, b, share) for (a, b), share in zip(noisy.edges, shares, strict=True)]
    name = "checkerboard"
    if best.core is not None or fine_enough:
        grids = [_refine(best.core, *grid) for grid in grids]
        name = "smooth checkerboard"
    if best.core is not None:
        name = str(best.core.family.name) + (" and checkerboard" if best.checkerboard else "")
    edges_a, edges_b, mass = (np.stack(part) for part in zip(*grids, strict=True))
    return PairCopula(edges_a, edges_b, mass, name)


def _refine(
    core: pv.Bicop | None, edges_a: FloatArray, edges_b: FloatArray, mass: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """A density on a fine grid, its coarse cells brought to the mass found for them.

    It is the family's, or without one the coarse density interpolated between cell centres.
    """
    (a, i), (b, j) = (_split(edges) for edges in (edges_a, edges_b))
    if core is not None:
        inner = cell_mass(core, a, b)
    else:
        density = mass / np.outer(np.diff(edges_a), np.diff(edges_b))
        inner = _between(edges_a, a) @ density @ _between(edges_b, b).T
        inner = np.maximum(inner, 1e-12) * np.outer(np.diff(a), np.diff(b))
    coarse = np.zeros_like(mass)
    np.add.at(coarse, (i[:, None], j[None]), inner)
    return a, b, inner * (mass / coarse)[i[:, None], j[None]]


def _between(coarse: FloatArray, fine: FloatArray) -> FloatArray:
    """Weights that interpolate from the centres of coarse cells to those of fine ones."""
    known, wanted = ((edges[1:] + edges[:-1]) / 2 for edges in (coarse, fine))
    return np.stack([np.interp(wanted, known, row) for row in np.eye(len(known))], axis=1)


def _split(edges: FloatArray) -> tuple[FloatArray, NDArray[np.intp]]:
    """Each coarse cell cut into as many fine ones, and the coarse cell of each."""
    cells = len(edges) - 1
    parts = max(1, round(FINE / cells))
    pieces = [np.linspace(p, q, parts + 1)[:-1] for p, q in pairwise(edges)]
    return np.append(np.concatenate(pieces), 1.0), np.repeat(np.arange(cells), parts)
