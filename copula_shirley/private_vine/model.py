"""The model that PrivateVine learns, and rows drawn from it.

Everything in it follows from released numbers. Rows are drawn in four steps: classes of the target
in proportion; the vine's inverse Rosenblatt transform, spread evenly over strata; weights of the
reweighting and a systematic sample by them; numbers inside the declared cells.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from copula_shirley.private_vine.leaves import Leaves
from copula_shirley.private_vine.pair_copula import Labels, Uniforms, edges_of
from copula_shirley.private_vine.reweighting import NoisyTable, pick, reweight
from copula_shirley.private_vine.vine import Known, RegularVine, stratified
from copula_shirley.rows.rows import Chunk
from copula_shirley.schema.conditions import Condition
from copula_shirley.schema.domain import FloatArray, Grid
from copula_shirley.schema.schema import Schema

Codes = list[NDArray[np.intp]]
#: Short numbers, since cells of hundreds of tables are made of them.
Grouped = list[NDArray[np.int32]]
#: Rows drawn for each row of the sample, and the least number of them.
POOL, LEAST_POOL = 4, 20_000
#: Width of a cell without mass, as a part of its group.
LEAST_WIDTH = 1e-9
#: Passes through the tables when drawn rows are weighed: at the fit, and at each sample.
SWEEPS, POLISH = 8, 6


@dataclass(eq=False)
class FittedVine:
    """Margins, classes, vine and reweighting."""

    schema: Schema
    target: int | None
    #: The noisy number of rows.
    total: float = 0.0
    #: Weight of the vine in the reweighting.
    kappa: float = 0.0
    #: Probability of each declared cell, and its group, by column; tables are made of groups.
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
    #: The parts of cells that were cut, for some numeric columns.
    leaves: dict[str, Leaves] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.grid = Grid(self.schema)
        self.names = list(self.schema.names)
        self.others = [j for j in range(len(self.names)) if j != self.target]
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
            inside = np.maximum(inside, LEAST_WIDTH)  # rows can be drawn given any declared cell
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

    def uniforms(self, chunk: Chunk) -> tuple[Known, Labels]:
        """u(x | class) of rows by the distributional transform, and their classes."""
        label = np.zeros(len(chunk), dtype=np.intp)
        if self.target is not None:
            label = chunk.codes[self.names[self.target]].astype(np.intp)
        known: Known = {}
        for j in self.others:
            low, width = self.ladder(j)
            code, jitter = chunk.codes[self.names[j]], chunk.jitter(self.names[j])
            value = low[label, code] + jitter * width[label, code]
            known[j, frozenset()] = value.astype(np.float32)
        return known, label

    def cells(self, j: int, uniforms: Uniforms, label: Labels) -> NDArray[np.intp]:
        """The declared cell of each uniform."""
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

    def table_cells(self, variables: Sequence[int], grouped: Grouped) -> NDArray[np.int32]:
        """The cell of each row in a table of some variables' groups."""
        cell = grouped[variables[0]]
        for j in variables[1:]:
            cell = cell * np.int32(self.groups[j].max() + 1) + grouped[j]
        return cell

    # -- rows ----------------------------------------------------------------------

    def draw_cells(
        self, n: int, rng: np.random.Generator, given: Mapping[int, Condition] | None = None
    ) -> tuple[Codes, FloatArray]:
        """Declared cells of n rows drawn from the vine, and their weights."""
        given, sizes = given or {}, self.class_sizes
        if self.target is not None and self.target in given:
            wanted, classes = given[self.target], np.arange(len(sizes))
            sizes = np.where((wanted.first <= classes) & (classes <= wanted.last), sizes, 0.0)
        share = (np.arange(n) + 0.5) / max(n, 1) * sizes.sum()
        label = np.searchsorted(np.cumsum(sizes), share, side="right").astype(np.intp)
        bounds = {}
        for j in set(self.others) & set(given):
            (low, width), first, last = self.ladder(j), given[j].first, given[j].last
            bounds[j] = low[label, first], (low[:, last] + width[:, last])[label]
        uniforms, weight = self.vine.draw(label, rng, bounds)
        codes: Codes = [label] * len(self.names)
        for j in self.others:
            codes[j] = self.cells(j, uniforms[j], label)
            if j in given:  # a uniform right on an edge may fall beside it
                codes[j] = np.clip(codes[j], given[j].first, given[j].last)
        # the ends of a condition may cut a cell: only a part of its rows count
        for j, leaves in self._cut(given).items():
            weight = weight * leaves.part()[codes[j]]
        return codes, weight

    def _cut(self, given: Mapping[int, Condition]) -> dict[int, Leaves]:
        """The leaves of columns of numbers, cut to conditions that are no missing value."""
        found = {}
        for j, condition in given.items():
            column = self.schema[self.names[j]]
            if not column.is_listed and np.isfinite(condition.low):
                own = self.leaves.get(column.name)
                own = own or Leaves.of(column, self.grid.cells[column.name])
                found[j] = own.between(condition.low, condition.high)
        return found

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
        cells = [self.table_cells(table.variables, grouped) for table in tables]
        start = weight * (self.total / weight.sum())
        return reweight(cells, tables, start, self.kappa, sweeps, self.factors)

    def sample(
        self, n: int, rng: np.random.Generator, given: Mapping[int, Condition] | None = None
    ) -> dict[str, FloatArray]:
        given = given or {}
        codes, weight = self.draw_cells(max(POOL * n, LEAST_POOL), rng, given)
        if given and not weight.sum() > 0:  # too unlikely together for floating-point numbers
            weight = np.ones_like(weight)
        if self.factors is not None:
            # tables are of all rows: under a condition only the factors found at the fit apply
            weight = self.weigh(codes, weight, 0 if given else POLISH)
        keys = [self.groups[j][codes[j]] for j in reversed(self.vine.order)]
        order = np.lexsort([*keys, codes[self.target]] if self.target is not None else keys)
        picked = rng.permutation(pick(weight, order, n, rng))
        codes = [column[picked] for column in codes]
        for j in self._coarse() - set(given):
            codes[j] = self._redrawn(j, codes[j], rng)
        numbers = self.grid.numbers(dict(zip(self.names, codes, strict=True)), rng)
        for name, leaves in self.leaves.items():
            drawn = leaves.draw(numbers[name], codes[self.names.index(name)], rng)
            numbers[name] = leaves.column.domain.round(drawn)
        for j, leaves in self._cut(given).items():
            drawn = leaves.draw(numbers[self.names[j]], codes[j], rng, all_cells=True)
            drawn = leaves.column.domain.round(drawn)
            numbers[self.names[j]] = np.clip(drawn, given[j].low, given[j].high)
        return numbers

    def _coarse(self) -> set[int]:
        """Columns of which every pair copula is constant inside groups."""
        copulas = [(edge, edge.copula) for _, edge in self.vine.edges if edge.copula is not None]
        smooth = [edge for edge, copula in copulas if copula.family != "checkerboard"]
        return set(self.others) - {v for edge in smooth for v in (edge.child, edge.partner)}

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
