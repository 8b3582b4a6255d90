"""The model that PrivateVine learns, and rows drawn from it.

Everything in it follows from released numbers. Rows are drawn in four steps: classes of the target
in proportion; the vine's inverse Rosenblatt transform, spread evenly over strata; weights of the
reweighting and a systematic sample by them; numbers inside their cells.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from copula_shirley.private_vine.intervals import BEFORE_ALL, Intervals
from copula_shirley.private_vine.pair_copula import Labels, Uniforms, edges_of
from copula_shirley.private_vine.reweighting import NoisyTable, pick, reweight
from copula_shirley.private_vine.vine import RegularVine, stratified
from copula_shirley.rules.coordinates import LEAST_KEPT, Coordinates
from copula_shirley.schema.conditions import Condition
from copula_shirley.schema.domain import FloatArray, Grid
from copula_shirley.schema.schema import Schema

Codes = list[NDArray[np.intp]]
#: Short numbers, since cells of hundreds of tables are made of them.
Grouped = list[NDArray[np.int32]]
#: Cells of candidate rows, their weights, and the numbers of columns that are drawn already.
Pool = tuple[Codes, FloatArray, dict[int, FloatArray]]
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

    def cells(self, j: int, uniforms: Uniforms, label: Labels) -> NDArray[np.intp]:
        """The cell of each uniform."""
        low, _ = self.ladder(j)
        codes = np.empty(len(uniforms), dtype=np.intp)
        for y in range(self.classes):
            here = label == y
            order = np.argsort(low[y], kind="stable")
            place = np.searchsorted(low[y][order], uniforms[here], side="right") - 1
            codes[here] = order[place]
        return codes

    def grouped(self, codes: Codes) -> Grouped:
        pairs = zip(self.groups, codes, strict=True)
        return [groups.astype(np.int32)[column] for groups, column in pairs]

    def table_cells(self, table: NoisyTable, grouped: Grouped) -> NDArray[np.int32]:
        """The cell of each row in a table of some variables' groups."""
        cell = np.zeros(len(grouped[0]), dtype=np.int32)
        for i, j in enumerate(table.variables):
            group = grouped[j]
            if table.coarse is not None:
                group = table.coarse[i][group]
            cell = cell * np.int32(table.shape[i]) + group
        return cell

    # -- rows ----------------------------------------------------------------------

    def draw_cells(
        self, n: int, rng: np.random.Generator, given: Mapping[int, Condition] | None = None
    ) -> tuple[Codes, FloatArray]:
        """Cells of n rows drawn from the vine, and their weights."""
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
        uniforms, weight = self.vine.draw(label, rng, bounds)
        weight = weight / chance
        codes: Codes = [label] * len(self.names)
        for j in self.others:
            codes[j] = self.cells(j, uniforms[j], label)
            if j in given:  # a uniform right on an edge may fall beside it
                codes[j] = np.clip(codes[j], *ends[j])
                weight = weight * left[j][codes[j]]
        return codes, weight

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

    def weigh(self, codes: Codes, weight: FloatArray, sweeps: int) -> FloatArray:
        """Weights of drawn rows after reweighting; sets the factors at the fit."""
        weights, factors = self.reweighted(self.grouped(codes), weight, sweeps)
        if self.factors is None:
            self.factors = factors
        return weights

    def reweighted(
        self, grouped: Grouped, weight: FloatArray, sweeps: int
    ) -> tuple[FloatArray, list[FloatArray]]:
        """Weights of drawn rows, given as groups, and the factors of the reweighting."""
        # the smallest tables last: what a sweep leaves behind fits the margins
        tables = sorted(self.noisy_tables, key=lambda table: -len(table.variables))
        cells = [self.table_cells(table, grouped) for table in tables]
        start = weight * (self.total / weight.sum())
        return reweight(cells, tables, start, self.kappa, sweeps, self.factors)

    def sample(
        self, n: int, rng: np.random.Generator, given: Mapping[int, Condition] | None = None
    ) -> dict[str, FloatArray]:
        given = given or {}
        codes, weight, known = self._pool(n, rng, given)
        keys = [self.groups[j][codes[j]] for j in reversed(self.vine.order)]
        order = np.lexsort([*keys, codes[self.target]] if self.target is not None else keys)
        picked = rng.permutation(pick(weight, order, n, rng))
        codes = [column[picked] for column in codes]
        numbers = {self.names[j]: column[picked] for j, column in known.items()}
        for j in self._coarse() - set(given) - set(known):
            codes[j] = self._redrawn(j, codes[j], rng)
        listed = [j for j in range(len(self.names)) if j not in self.intervals]
        for j in [*listed, *self.intervals]:
            if j not in known:
                numbers[self.names[j]] = self._numbers(j, codes[j], rng, given.get(j))
        return {name: numbers[name] for name in self.names}

    def _numbers(
        self, j: int, codes: NDArray[np.intp], rng: np.random.Generator, condition: Condition | None
    ) -> FloatArray:
        """A number in the cell of each row that fulfils the condition."""
        intervals, name = self.intervals.get(j), self.names[j]
        if intervals is None:
            return self.grid.numbers({name: codes}, rng)[name]
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
        self,
        codes: Codes,
        weight: FloatArray,
        rng: np.random.Generator,
        given: Mapping[int, Condition] | None = None,
    ) -> Pool:
        """The rows of a pool that keep the rules, with their numbers in the columns of these.

        If next to none does, all of them: who rejects them later names the rules.
        """
        if self.rejecting is None:
            return codes, weight, {}
        places = [self.names.index(name) for name in self.rejecting.modelled.names]
        numbers = {j: self._numbers(j, codes[j], rng, (given or {}).get(j)) for j in places}
        _, good = self.rejecting.left({self.names[j]: v for j, v in numbers.items()})
        if good.mean() < LEAST_KEPT:
            return codes, weight, {}
        kept = {j: column[good] for j, column in numbers.items()}
        return [column[good] for column in codes], weight[good], kept

    def _pool(self, n: int, rng: np.random.Generator, given: Mapping[int, Condition]) -> Pool:
        """Cells of rows to choose a sample from, their weights, and numbers that are drawn.

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
        if given and not (pools and effective(pools[0][1]) >= min(n, FEW)):
            codes, weight, numbers = self.ruled(*self.draw_cells(size, rng, given), rng, given)
            if not weight.sum() > 0:  # too unlikely together for floating-point numbers
                weight = np.ones_like(weight)
            if self.factors is not None:
                weight = self.weigh(codes, weight, 0)
            pools.append((codes, weight, numbers))
        best = max(pools, key=lambda pool: effective(pool[1]))
        if given and effective(best[1]) < min(n, FEW):
            warnings.warn(
                "these conditions are rare: the sample repeats about "
                f"{effective(best[1]):.0f} different rows of the model, so its margins may be "
                "off; wider conditions are drawn better",
                stacklevel=2,
            )
        return best

    def _fulfilling(
        self, many: int, rng: np.random.Generator, given: Mapping[int, Condition]
    ) -> Pool:
        """Those of many rows of the plain model that fulfil all conditions."""
        codes, weight, numbers = self.ruled(*self.draw_cells(many, rng), rng, given)
        if self.factors is not None:
            weight = self.weigh(codes, weight, POLISH)
        for j, condition in given.items():
            weight = weight * self._left(j, condition)[codes[j]]
        kept = np.flatnonzero(weight)
        numbers = {j: column[kept] for j, column in numbers.items()}
        return [column[kept] for column in codes], weight[kept], numbers

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

    def _redrawn(
        self, j: int, codes: NDArray[np.intp], rng: np.random.Generator
    ) -> NDArray[np.intp]:
        """Cells anew inside each group, spread evenly: nothing else depends on them."""
        if len(codes) == 0:
            return codes
        groups = self.groups[j]
        group = groups[codes]
        low, width = (part[0] for part in self.ladder(j))
        order = np.argsort(low, kind="stable")
        start = np.full(groups.max() + 1, np.inf)
        np.minimum.at(start, groups, low)
        share = stratified(np.zeros(len(codes), dtype=np.intp), group, rng)
        point = start[group] + share * np.bincount(groups, width)[group]
        found = order[np.clip(np.searchsorted(low[order], point, side="right") - 1, 0, None)]
        return np.where(groups[found] == group, found, codes)
