"""The model that PrivateVine learns, and rows drawn from it.

Everything in it follows from released numbers. Rows are drawn in four steps: classes of the target
in proportion; the vine's inverse Rosenblatt transform, spread evenly over strata; weights of the
reweighting and a systematic sample by them; numbers inside their cells.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from copula_shirley.private_vine.intervals import BEFORE_ALL, Intervals
from copula_shirley.private_vine.ladders import Ladders
from copula_shirley.private_vine.pair_copula import Labels, Uniforms, edges_of
from copula_shirley.private_vine.pool import Grouped, Pool
from copula_shirley.private_vine.reweighting import NoisyTable, reweight
from copula_shirley.private_vine.rosenblatt import draw, stratified
from copula_shirley.private_vine.vine import RegularVine
from copula_shirley.rules.coordinates import LEAST_KEPT, Coordinates
from copula_shirley.schema.conditions import Condition
from copula_shirley.schema.domain import FloatArray, Grid
from copula_shirley.schema.schema import Schema

#: Rows drawn for each row of the sample, and the least number of them.
POOL, LEAST_POOL = 4, 20_000
#: Width of a cell without mass, as a part of its group.
LEAST_WIDTH = 1e-9
#: Most rows drawn for a sample under conditions, a few hundred MB.
MOST_POOL = 2_000_000
#: A sample that repeats fewer rows is warned of, and drawn from the vine under its condition
#: if that has more; at once if fewer than so many rows would fulfil the condition.
FEW, LEAST_FULFILLING = 500, 50
#: Passes through the tables when drawn rows are weighed: at the fit, and at each sample.
SWEEPS, POLISH = 8, 6
#: A pool of so many rows is that of a chunk of a large sample: such start from factors that are
#: found once on so many rows, after which fewer passes do.
LARGE_POOL, POLISH_POOL, FEWER = 200_000, 100_000, 2


def effective(weights: FloatArray) -> float:
    """How many rows of equal weight tell as much as rows with these weights.

    Examples
    --------
    >>> effective(np.array([1.0, 1.0, 0.0, 0.0])), effective(np.zeros(3))
    (2.0, 0.0)
    """
    return float(weights.sum() ** 2 / max((weights**2).sum(), 1e-300))


@dataclass(eq=False)
class FittedVine:
    """Margins, classes, vine and reweighting."""

    schema: Schema
    target: int | None
    #: The noisy number of rows.
    total: float = 0.0
    #: Weight of the vine in the reweighting.
    kappa: float = 0.0
    #: Probability of each cell, and its group, by column; tables are made of groups.
    mass: list[FloatArray] = field(default_factory=list)
    groups: list[NDArray[np.intp]] = field(default_factory=list)
    #: Rows of each class of the target; one class without a target.
    class_sizes: FloatArray = field(default_factory=lambda: np.ones(1))
    #: Rows of each group and class, for every column but the target.
    by_class: dict[int, FloatArray] = field(default_factory=dict)
    vine: RegularVine = field(default_factory=lambda: RegularVine([]))
    #: What the reweighting looks at, and its logarithmic factors at the fit.
    noisy_tables: list[NoisyTable] = field(default_factory=list)
    factors: list[FloatArray] | None = None
    #: Rules that rows of the pool must keep; None without any.
    rejecting: Coordinates | None = None

    def __post_init__(self) -> None:
        self.grid = Grid(self.schema)
        self.names = list(self.schema.names)
        self.others = [j for j in range(len(self.names)) if j != self.target]
        #: The cells of numeric columns; those of other columns are the declared ones.
        self.intervals = {
            j: Intervals.of(self.schema[self.names[j]])
            for j in self.others
            if not self.schema[self.names[j]].is_listed
        }
        self._ladders: dict[int, tuple[FloatArray, FloatArray]] = {}
        self._searches: dict[int, _Search] = {}

    @property
    def classes(self) -> int:
        return len(self.class_sizes)

    @property
    def shapes(self) -> list[int]:
        return [int(groups.max()) + 1 for groups in self.groups]

    # -- cells and uniforms --------------------------------------------------------

    def ladder(self, j: int) -> tuple[FloatArray, FloatArray]:
        """F(x-) and P(x) of the cells of a column, per class.

        Cells of a group stand side by side, in the order of the groups.
        """
        if j not in self._ladders:
            groups, mass = self.groups[j], self.mass[j]
            together = np.bincount(groups, mass)[groups]
            count = np.bincount(groups)[groups]
            inside = np.where(together > 0, mass / np.maximum(together, 1e-300), 1 / count)
            inside = np.maximum(inside, LEAST_WIDTH)  # rows can be drawn given any cell
            inside = inside / np.bincount(groups, inside)[groups]
            edges = np.stack([edges_of(rows) for rows in self.by_class[j].T])
            width = np.diff(edges, axis=1)[:, groups] * inside
            order = np.argsort(groups, kind="stable")
            low = np.zeros_like(width)
            # an exclusive sum: cumsum(w) - w need not ascend, to rounding
            low[:, order[1:]] = np.cumsum(width[:, order[:-1]], axis=1)
            self._ladders[j] = low, width
        return self._ladders[j]

    def forget_ladders(self) -> None:
        """Before masses change: what was made of them is made anew."""
        self._ladders.clear()
        self._searches.clear()

    def cells(
        self, j: int, uniforms: Uniforms, label: Labels, groups: NDArray[Any]
    ) -> NDArray[np.intp]:
        """The cell of each uniform, which lies in this group of its class."""
        if j not in self._searches:
            order = np.argsort(self.groups[j], kind="stable")
            self._searches[j] = _Search(
                order, np.bincount(self.groups[j]), Ladders(self.ladder(j)[0][:, order])
            )
        search = self._searches[j]
        first = np.cumsum(search.sizes) - search.sizes
        last = first + search.sizes - 1
        # a uniform right on an edge may be found beside it
        found = np.clip(search.ladders.find(label, uniforms), first[groups], last[groups])
        return np.asarray(search.order[found])

    # -- rows ----------------------------------------------------------------------

    def draw(
        self, n: int, rng: np.random.Generator, given: Mapping[int, Condition] | None = None
    ) -> Pool:
        """Rows drawn from the vine, with weights."""
        given, sizes = given or {}, self.class_sizes
        left = {j: self._left(j, condition) for j, condition in given.items()}
        if self.target is not None and self.target in given:
            sizes = np.where(left[self.target] > 0, sizes, 0.0)
        share = (np.arange(n) + 0.5) / max(n, 1) * sizes.sum()
        label = np.searchsorted(np.cumsum(sizes), share, side="right").astype(np.intp)
        bounds, ends = {}, {}
        chance = np.ones(n)
        for j in sorted(set(self.others) & set(given)):
            runs, share = self._runs(j, left[j])
            run = np.zeros(n, dtype=np.intp)
            if len(runs) > 1:
                run = rng.choice(len(runs), n, p=share)
                chance *= share[run]
            first, last = runs[run].T
            low, width = self.ladder(j)
            bounds[j] = low[label, first], low[label, last] + width[label, last]
            ends[j] = first, last
        drawn, weight = draw(self.vine, label, rng, bounds)
        short = [np.min_scalar_type(size) for size in self.shapes]
        groups: Grouped = [label.astype(own) for own in short]  # those of the target
        for j in self.others:
            edges = np.stack([edges_of(rows) for rows in self.by_class[j].T])
            groups[j] = drawn.cell(j, edges).astype(short[j])
        pool = Pool(self, drawn, np.arange(n), groups, weight / chance)
        for j, (first, last) in ends.items():  # a uniform right on an edge may fall beside it
            cells = np.clip(pool.cells(j), first, last)
            pool.groups[j] = self.groups[j][cells].astype(short[j])
            pool = replace(pool, known={**pool.known, j: cells})
            pool = pool.weighed(pool.weight * left[j][cells])
        return pool

    def _left(self, j: int, condition: Condition) -> FloatArray:
        """The part of each cell of a column that fulfils a condition."""
        if j not in self.intervals:
            return condition.met(self.grid.cells[self.names[j]].first).astype(float)
        return np.minimum(sum(left for _, left in self._between(j, condition)), 1.0)

    def _between(self, j: int, condition: Condition) -> list[tuple[Intervals, FloatArray]]:
        """For each part of a condition the cells cut to it, and the part of each that is left."""
        intervals, found = self.intervals[j], []
        for low, high in condition.parts:
            if np.isfinite(low):
                found.append(intervals.between(low, high))
            else:
                found.append((intervals, (intervals.low <= BEFORE_ALL).astype(float)))
        return found

    def _runs(self, j: int, left: FloatArray) -> tuple[NDArray[np.intp], FloatArray]:
        """First and last cell of neighbours that fulfil a condition, and the share of each run.

        Categories may lie anywhere in the ladder: each is a run of its own, as are missing values.
        """
        cells = np.flatnonzero(left)
        starts = np.diff(cells, prepend=-2) > 1
        if j in self.intervals:
            starts |= np.concatenate([[False], self.intervals[j].low[cells[:-1]] <= BEFORE_ALL])
        else:
            starts[:] = True
        first = np.flatnonzero(starts)
        runs = np.stack([cells[first], cells[np.append(first[1:], len(cells)) - 1]], axis=1)
        share = np.add.reduceat((self.mass[j] * left)[cells], first) + LEAST_WIDTH
        return runs, share / share.sum()

    def weigh(self, pool: Pool, sweeps: int) -> Pool:
        """The rows with weights after reweighting; sets the factors at the fit."""
        weights, factors = self.reweighted(pool, sweeps, self.factors)
        if self.factors is None:
            self.factors = factors
        return pool.weighed(weights)

    def reweighted(
        self, pool: Pool, sweeps: int, factors: Sequence[FloatArray] | None = None
    ) -> tuple[FloatArray, list[FloatArray]]:
        """Weights of drawn rows, and the factors of the reweighting."""
        # the smallest tables last: what a sweep leaves behind fits the margins
        tables = sorted(self.noisy_tables, key=lambda table: -len(table.variables))
        cells = [pool.table_cells(table) for table in tables]
        start = pool.weight * (self.total / pool.weight.sum())
        return reweight(cells, tables, start, self.kappa, sweeps, factors)

    @cached_property
    def polished(self) -> list[FloatArray]:
        """Factors nearer to those of a large sample: a fit finds its own on few rows."""
        rng = np.random.default_rng(0)
        pool = self.ruled(self.draw(POLISH_POOL, rng), rng)
        return self.reweighted(pool, POLISH, self.factors)[1]

    def sample(
        self, n: int, rng: np.random.Generator, given: Mapping[int, Condition] | None = None
    ) -> dict[str, FloatArray]:
        given = given or {}
        pool = self._pool(n, rng, given).chosen(n, rng)
        numbers = {self.names[j]: column for j, column in pool.numbers.items()}
        coarse = self._coarse() - set(given)
        listed = [j for j in range(len(self.names)) if j not in self.intervals]
        for j in [*listed, *self.intervals]:
            if j not in pool.numbers:
                cells = self._redrawn(j, pool.groups[j], rng) if j in coarse else pool.cells(j)
                numbers[self.names[j]] = self._numbers(j, cells, rng, given.get(j))
        return {name: numbers[name] for name in self.names}

    def _numbers(
        self, j: int, codes: NDArray[np.intp], rng: np.random.Generator, condition: Condition | None
    ) -> FloatArray:
        """A number in the cell of each row that fulfils the condition."""
        intervals, name = self.intervals.get(j), self.names[j]
        if intervals is None:
            cells = self.grid.cells[name]
            first = cells.first[codes]
            return first if self.schema[name].domain.is_discrete else cells.spread(first, rng)
        if condition is None:
            return intervals.draw(codes, rng)
        parts = self._between(j, condition)
        if len(parts) > 1:  # one of the parts in the cell of each row
            point = rng.random(len(codes)) * np.sum([left for _, left in parts], axis=0)[codes]
        numbers, below = np.empty(len(codes)), np.zeros(len(codes))
        for k, ((inside, left), ends) in enumerate(zip(parts, condition.parts, strict=True)):
            here = below <= point if k else np.ones(len(codes), dtype=bool)
            numbers[here] = np.clip(inside.draw(codes[here], rng), *ends)
            below = below + left[codes]
        return numbers

    def ruled(
        self, pool: Pool, rng: np.random.Generator, given: Mapping[int, Condition] | None = None
    ) -> Pool:
        """The rows of a pool that keep the rules, with their numbers in the columns of these.

        If next to none does, all of them: who rejects them later names the rules.
        """
        if self.rejecting is None:
            return pool
        places = [self.names.index(name) for name in self.rejecting.modelled.names]
        cells = {j: pool.cells(j) for j in places}
        numbers = {j: self._numbers(j, cells[j], rng, (given or {}).get(j)) for j in places}
        _, good = self.rejecting.left({self.names[j]: v for j, v in numbers.items()})
        if good.mean() < LEAST_KEPT:
            return pool
        pool = replace(pool, known={**pool.known, **cells}, numbers=numbers)
        return pool.take(np.flatnonzero(good))

    def _pool(self, n: int, rng: np.random.Generator, given: Mapping[int, Condition]) -> Pool:
        """Rows to choose a sample from, weighed, with the numbers that are drawn already.

        Rows are drawn without the condition and weighed by all tables; those that fulfil it stay,
        which are rows of the plain model. Where too few would, rows are drawn from the vine under
        the condition, where only the factors found at the fit apply, since tables are of all rows.
        Of both pools the one stays whose weights are worth more rows.
        """
        size = max(POOL * n, LEAST_POOL)
        chance = self._chance(given)
        many = math.ceil(size / max(chance, size / max(size, MOST_POOL)))
        pools: list[Pool] = []
        if not given or chance * many >= LEAST_FULFILLING:
            pools = [self._fulfilling(many, rng, given)]
        if given and not (pools and effective(pools[0].weight) >= min(n, FEW)):
            pool = self.ruled(self.draw(size, rng, given), rng, given)
            if not pool.weight.sum() > 0:  # too unlikely together for floating-point numbers
                pool = pool.weighed(np.ones(len(pool)))
            if self.factors is not None:
                pool = self.weigh(pool, 0)
            pools.append(pool)
        best = max(pools, key=lambda pool: effective(pool.weight))
        if given and effective(best.weight) < min(n, FEW):
            warnings.warn(
                "these conditions are rare: the sample repeats about "
                f"{effective(best.weight):.0f} different rows of the model, so its margins may be "
                "off; wider conditions are drawn better",
                stacklevel=2,
            )
        return best

    def _fulfilling(
        self, many: int, rng: np.random.Generator, given: Mapping[int, Condition]
    ) -> Pool:
        """Those of many rows of the plain model that fulfil all conditions."""
        pool = self.ruled(self.draw(many, rng), rng)
        if self.factors is not None and many >= LARGE_POOL:
            pool = pool.weighed(self.reweighted(pool, FEWER, self.polished)[0])
        elif self.factors is not None:
            pool = self.weigh(pool, POLISH)
        if not given:
            return pool
        cells = {j: pool.cells(j) for j in given}
        pool = replace(pool, known={**pool.known, **cells})
        for j, condition in given.items():
            pool = pool.weighed(pool.weight * self._left(j, condition)[cells[j]])
        return pool.take(np.flatnonzero(pool.weight))

    def _chance(self, given: Mapping[int, Condition]) -> float:
        """The share of rows that would fulfil all conditions if columns were independent."""
        return math.prod(float(self.mass[j] @ self._left(j, one)) for j, one in given.items())

    def _coarse(self) -> set[int]:
        """Columns of which every pair copula is constant inside groups."""
        return set(self.others) - {
            v
            for _, edge in self.vine.edges
            for v in (edge.child, edge.partner)
            if edge.family not in ("checkerboard", "independence")
        }

    def _redrawn(self, j: int, groups: NDArray[Any], rng: np.random.Generator) -> NDArray[np.intp]:
        """Cells inside these groups, spread evenly: nothing else depends on them."""
        low, width = (part[0] for part in self.ladder(j))
        size = np.bincount(self.groups[j], width)
        start = np.full(len(size), np.inf)
        np.minimum.at(start, self.groups[j], low)
        point = start[groups] + stratified(groups.astype(np.intp), rng) * size[groups]
        return self.cells(j, point, np.zeros(len(groups), dtype=np.intp), groups)


@dataclass(frozen=True, eq=False)
class _Search:
    """Where the cells of a column lie in [0, 1], in each class."""

    #: Cells as they stand side by side, those of a group together; how many each group has.
    order: NDArray[np.intp]
    sizes: NDArray[np.intp]
    ladders: Ladders
