"""The model that PrivateVine learns, and rows drawn from it.

Everything in it follows from released numbers. Rows are drawn in four steps: classes of the
target in proportion; the vine's inverse Rosenblatt transform, spread evenly over strata; weights
of the tilt and a systematic sample by them; numbers inside the declared cells.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from copula_shirley.private_vine.leaves import Leaves
from copula_shirley.private_vine.pair_copula import Labels, Uniforms, edges_of
from copula_shirley.private_vine.reweighting import Target, pick, tilt
from copula_shirley.private_vine.vine import Known, RegularVine, stratified
from copula_shirley.rows.rows import Chunk
from copula_shirley.schema.conditions import Condition
from copula_shirley.schema.domain import FloatArray, Grid
from copula_shirley.schema.schema import Schema

Codes = list[NDArray[np.intp]]
#: Short numbers, since cells of hundreds of tables are made of them.
Grouped = list[NDArray[np.int32]]
#: Rows drawn for each row that is kept, and the least pool.
POOL, LEAST_POOL = 4, 20_000
#: Of the width of a group, for a cell without mass.
LEAST_WIDTH = 1e-9
#: Rounds through the tables when a pool is weighed: at the fit, and at each sample.
SWEEPS, POLISH = 8, 6


@dataclass(eq=False)
class FittedVine:
    """Margins, classes, vine and tilt.

    Attributes
    ----------
    total : float
        The noisy number of rows.
    mass : list
        Probability of each declared cell, per column.
    groups : list
        The group of each cell, per column; tables are made of groups.
    class_sizes : array
        Rows of each class of the target; one class without a target.
    by_class : dict
        Rows of each group and class, for every column but the target.
    targets : list
        Noisy tables that the tilt looks at.
    leaves : dict
        What cells of numeric columns are cut into, for some columns.
    """

    schema: Schema
    target: int | None
    total: float = 0.0
    kappa: float = 0.0
    mass: list[FloatArray] = field(default_factory=list)
    groups: list[NDArray[np.intp]] = field(default_factory=list)
    class_sizes: FloatArray = field(default_factory=lambda: np.ones(1))
    by_class: dict[int, FloatArray] = field(default_factory=dict)
    vine: RegularVine = field(default_factory=lambda: RegularVine([]))
    targets: list[Target] = field(default_factory=list)
    factors: list[FloatArray] | None = None
    leaves: dict[str, Leaves] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.grid = Grid(self.schema)
        self.names = list(self.schema.names)
        self.others = [j for j in range(len(self.names)) if j != self.target]
        self._ladders: dict[int, tuple[FloatArray, FloatArray]] = {}

    @property
    def classes(self) -> int:
        """Number of classes."""
        return len(self.class_sizes)

    @property
    def shapes(self) -> list[int]:
        """Number of groups of each column."""
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
        """What was made from masses that have changed is made anew."""
        self._ladders.clear()

    def uniforms(self, chunk: Chunk) -> tuple[Known, Labels]:
        """u(x | class) of rows by the distributional transform, and their classes."""
        label = np.zeros(len(chunk), dtype=np.intp)
        if self.target is not None:
            label = chunk.codes[self.names[self.target]].astype(np.intp)
        known: Known = {}
        for j in self.others:
            low, width = self.ladder(j)
            code = chunk.codes[self.names[j]]
            jitter = chunk.jitter(self.names[j])
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
        """The group of each row, per column."""
        return [
            groups.astype(np.int32)[column]
            for groups, column in zip(self.groups, codes, strict=True)
        ]

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
        given = given or {}
        sizes = self.class_sizes.copy()
        if self.target is not None and self.target in given:
            condition = given[self.target]
            outside = np.ones(len(sizes), dtype=bool)
            outside[condition.first : condition.last + 1] = False
            sizes[outside] = 0.0
        share = (np.arange(n) + 0.5) / max(n, 1) * sizes.sum()
        label = np.searchsorted(np.cumsum(sizes), share, side="right").astype(np.intp)
        bounds = {}
        for j, condition in given.items():
            if j != self.target:
                low, width = self.ladder(j)
                ends = low[:, condition.first], low[:, condition.last] + width[:, condition.last]
                bounds[j] = ends[0][label], ends[1][label]
        uniforms, weight = self.vine.draw(label, rng, bounds)
        # the ends of a condition may cut a cell: only a part of its rows count
        part = {j: self._between(j, condition).part() for j, condition in self._cutting(given)}
        codes: Codes = [label] * len(self.names)
        for j in self.others:
            codes[j] = self.cells(j, uniforms[j], label)
            if j in given:  # a uniform right on an edge may fall beside it
                if given[j].first == given[j].last:
                    codes[j][:] = given[j].first
                else:
                    codes[j] = np.clip(codes[j], given[j].first, given[j].last)
        for j, inside in part.items():
            weight = weight * inside[codes[j]]
        return codes, weight

    def _cutting(self, given: Mapping[int, Condition]) -> list[tuple[int, Condition]]:
        """Conditions on columns of numbers that are no missing value."""
        return [
            (j, condition)
            for j, condition in given.items()
            if not self.schema[self.names[j]].is_listed and np.isfinite(condition.low)
        ]

    def _between(self, j: int, condition: Condition) -> Leaves:
        """The leaves of a column, cut to a condition."""
        column = self.schema[self.names[j]]
        leaves = self.leaves.get(column.name) or Leaves.of(column, self.grid.cells[column.name])
        return leaves.between(condition.low, condition.high)

    def weigh(self, codes: Codes, weight: FloatArray, sweeps: int) -> FloatArray:
        """Weights of the tilt for drawn rows; sets the factors at the fit."""
        weights, factors = self.tilted(self.grouped(codes), weight, sweeps)
        if self.factors is None:
            self.factors = factors
        return weights

    def tilted(
        self, grouped: Grouped, weight: FloatArray, sweeps: int
    ) -> tuple[FloatArray, list[FloatArray]]:
        """Weights of the tilt for drawn rows, given as groups, and its factors."""
        # the smallest tables last: what a sweep leaves behind fits the margins
        targets = sorted(self.targets, key=lambda target: -len(target.variables))
        keys = [self.table_cells(target.variables, grouped) for target in targets]
        start = weight * (self.total / weight.sum())
        return tilt(keys, targets, start, self.kappa, sweeps, self.factors)

    def sample(
        self, n: int, rng: np.random.Generator, given: Mapping[int, Condition] | None = None
    ) -> dict[str, FloatArray]:
        """Draw n rows, as numbers per column."""
        size = max(POOL * n, LEAST_POOL)
        codes, weight = self.draw_cells(size, rng, given)
        if given and not weight.sum() > 0:  # too unlikely together for floating-point numbers
            weight = np.ones_like(weight)
        if self.factors is not None:
            # tables are of all rows: under a condition only the factors found at the fit apply
            weight = self.weigh(codes, weight, 0 if given else POLISH)
        keys = [self.groups[j][codes[j]] for j in reversed(self.vine.order)]
        order = np.lexsort([*keys, codes[self.target]] if self.target is not None else keys)
        kept = rng.permutation(pick(weight, order, n, rng))
        codes = [column[kept] for column in codes]
        for j in self._coarse() - set(given or ()):
            codes[j] = self._redrawn(j, codes[j], rng)
        numbers = self.grid.numbers(dict(zip(self.names, codes, strict=True)), rng)
        for name, leaves in self.leaves.items():
            drawn = leaves.draw(numbers[name], codes[self.names.index(name)], rng)
            numbers[name] = leaves.column.domain.round(drawn)
        for j, condition in self._cutting(given or {}):
            leaves, name = self._between(j, condition), self.names[j]
            drawn = leaves.draw(numbers[name], codes[j], rng, all_cells=True)
            numbers[name] = np.clip(
                leaves.column.domain.round(drawn), condition.low, condition.high
            )
        return numbers

    def _coarse(self) -> set[int]:
        """Columns of which every pair copula is constant inside groups."""
        smooth = {
            variable
            for _, edge in self.vine.edges
            if edge.copula is not None and edge.copula.family != "checkerboard"
            for variable in (edge.child, edge.partner)
        }
        return set(self.others) - smooth

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
        size = np.bincount(groups, width)
        share = stratified(np.zeros(len(codes), dtype=np.intp), group, rng)
        point = start[group] + share * size[group]
        found = order[np.clip(np.searchsorted(low[order], point, side="right") - 1, 0, None)]
        return np.where(groups[found] == group, found, codes)
