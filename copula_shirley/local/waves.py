"""The vine from two waves of questions, or from one: for surveys that cannot ask again and again.

In two waves half of the people report a column each, and the others a pair of columns each, in
groups that follow from what the first ones said. In one wave all are asked at once: the groups
follow from the schema alone. Tree 1, its pair copulas and the reweighting are made of the tables of
pairs; there are no higher trees and no classes of a target, for which one would have to ask again.
"""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np

from copula_shirley.fitted import Progress
from copula_shirley.measure.queries import Queries, Tables
from copula_shirley.private_vine.allocation import (
    KAPPA,
    LEAST_GROUPS,
    MOST_GROUPS,
    RARE,
    SHARES,
    rows_per_cell,
)
from copula_shirley.private_vine.cell_maps import AllRows, Axis, GroupMap
from copula_shirley.private_vine.coarse import CoarseTables, Pair
from copula_shirley.private_vine.intervals import BEFORE_ALL, Intervals
from copula_shirley.private_vine.margins import LEAST_SIGMA, Places, groups_of
from copula_shirley.private_vine.model import POOL, SWEEPS, FittedVine
from copula_shirley.private_vine.pair_copula import pair_copula
from copula_shirley.private_vine.reweighting import NoisyTable
from copula_shirley.private_vine.stages import MOST_COARSE_TABLES, Problem, first_rows
from copula_shirley.private_vine.vine import Edge, RegularVine, spanning_tree
from copula_shirley.schema.domain import FloatArray
from copula_shirley.schema.schema import Column

#: Part of the people who report one column each; the others report a pair.
ALONE = 0.5


def learn_in_waves(
    problem: Problem, progress: Progress, *, interactive: bool
) -> Queries[FittedVine]:
    """One column or one pair of each person; ``interactive``: pairs after the columns."""
    learner = _InWaves(problem)
    progress("columns", 0.0)
    yield from learner.count()
    if interactive:
        yield from learner.ask_columns()
        progress("pairs", 0.5)
        yield from learner.ask_pairs()
    else:
        yield from learner.ask_all()
    learner.grow()
    return learner.model


class _InWaves:
    def __init__(self, problem: Problem) -> None:
        self.problem, self.noise = problem, problem.noise
        self.columns = list(problem.schema)
        self.model = FittedVine(problem.schema, None, rejecting=problem.rejecting)
        self.pairs = list(combinations(range(len(self.columns)), 2))
        left = problem.share - SHARES.size
        self.alone = left * ALONE if self.pairs else left
        self.both = left - self.alone

    def count(self) -> Queries[None]:
        """How many people there are is public; nobody is asked."""
        answer = yield Tables("size", [AllRows()], SHARES.size)
        self.model.total = float(answer.values[0].sum())
        most = max(len(self.pairs), 1)
        self.noise_of_pairs = self.noise.sigma(max(self.both, 1e-9), most)
        k = math.sqrt(self.model.total / rows_per_cell(self.noise_of_pairs))
        self.groups = int(np.clip(round(k), LEAST_GROUPS, MOST_GROUPS))

    # -- asking ------------------------------------------------------------------------

    def _axis(self, j: int, groups: Places) -> Axis:
        return Axis(self.columns[j].name, groups, self.model.intervals.get(j))

    def _cells(self) -> list[GroupMap]:
        own = self.model.intervals
        sizes = [len(own[j]) if j in own else c.size for j, c in enumerate(self.columns)]
        return [GroupMap((self._axis(j, np.arange(size)),)) for j, size in enumerate(sizes)]

    def ask_columns(self) -> Queries[None]:
        """The first wave: margins, from which the groups follow."""
        maps = self._cells()
        answer = yield Tables("margins", maps, self.alone)
        self._settle(vars(answer)["values"], answer.sigma)
        rare = min(0.2, RARE * self.noise_of_pairs / self.model.total)
        pairs = zip(self.columns, self.model.mass, strict=True)
        self.model.groups = [groups_of(c, mass, self.groups, rare) for c, mass in pairs]

    def ask_pairs(self) -> Queries[None]:
        """The second wave: the tables of all pairs."""
        self.tables: dict[Pair, FloatArray] = {}
        self.sigma = self.noise_of_pairs
        if self.pairs:
            answer = yield Tables("all pairs", self._pairs(self.model.groups), self.both)
            found = [table.astype(float) for table in vars(answer)["values"]]
            self.tables, self.sigma = dict(zip(self.pairs, found, strict=True)), answer.sigma

    def ask_all(self) -> Queries[None]:
        """The only wave: a column that is listed r times is asked of r times as many people."""
        own = self.model.intervals
        groups = [public_groups(c, own.get(j), self.groups) for j, c in enumerate(self.columns)]
        maps, times = self._cells(), max(1, round(len(self.pairs) / len(self.columns)))
        asked = [*(maps * times), *(self._pairs(groups) if self.pairs else [])]
        answer = yield Tables("columns and pairs", asked, self.alone + self.both)
        found = [table.astype(float) for table in vars(answer)["values"]]
        ends = len(maps) * times
        margins = [np.mean(found[j : ends : len(maps)], axis=0) for j in range(len(maps))]
        before = [len(own[j]) if j in own else 0 for j in range(len(maps))]
        self._settle(margins, answer.sigma / math.sqrt(times))
        # tails may cut the outermost cells: their parts stay in the group of their cell
        self.model.groups = [
            groups[j] if not n or len(own[j]) == n else self._regrouped(j, groups[j])
            for j, n in enumerate(before)
        ]
        self.tables, self.sigma = dict(zip(self.pairs, found[ends:], strict=True)), answer.sigma

    def _regrouped(self, j: int, groups: Places) -> Places:
        """Groups of the first cells, for the cells that a margin now has."""
        first = Intervals.of(self.columns[j])
        place = np.searchsorted(first.low, self.model.intervals[j].low, side="right") - 1
        return groups[np.clip(place, 0, None)]

    def _pairs(self, groups: list[Places]) -> list[GroupMap]:
        axes = [self._axis(j, own) for j, own in enumerate(groups)]
        return [GroupMap((axes[a], axes[b])) for a, b in self.pairs]

    def _settle(self, margins: list[FloatArray], sigma: float) -> None:
        """Masses of cells by their noisy counts."""
        model, self.margin_sigma = self.model, sigma
        cells = sum(len(table) for table in margins)
        clear = self.noise.detection_threshold(self.alone, len(margins), cells)
        for j, table in enumerate(margins):
            known = (np.asarray(table, dtype=float), sigma, clear, model.total)
            intervals, rows = first_rows(model.intervals.get(j), *known)
            if intervals is not None:
                model.intervals[j] = intervals
            model.mass.append(rows / rows.sum())

    # -- the model, which asks nothing more ------------------------------------------------

    def grow(self) -> None:
        """Tree 1 of the tables of pairs, and the reweighting to those beyond noise."""
        model, total = self.model, self.model.total
        rows = [np.bincount(g, m * total) for g, m in zip(model.groups, model.mass, strict=True)]
        model.class_sizes = np.array([total])
        model.by_class = {j: own[:, None].astype(float) for j, own in enumerate(rows)}
        same = {j: np.arange(len(own)) for j, own in enumerate(rows)}
        coarse = CoarseTables(self.tables, same, self.sigma)
        sizes = [len(groups) / len(own) for groups, own in zip(model.groups, rows, strict=True)]
        spread = max(self.margin_sigma * math.sqrt(float(np.mean(sizes))), LEAST_SIGMA)
        scores = coarse.dependence(model.by_class, model.class_sizes, spread)
        order, links = spanning_tree(model.others, scores)
        model.vine = RegularVine(order)
        for a, b in links:
            table = self.tables[min(a, b), max(a, b)]
            smooth = self.columns[a].is_ordered and self.columns[b].is_ordered
            cube = (table if a < b else table.T)[:, :, None]
            families = self.problem.families and smooth
            own = (model.by_class[a], model.by_class[b])
            model.vine.add(
                Edge(b, a, copula=pair_copula(cube, self.sigma, *own, families=families))
            )
        if self.problem.reweighted:
            self._reweight(scores, spread)

    def _reweight(self, scores: dict[Pair, float], spread: float) -> None:
        model = self.model
        chance = math.sqrt(model.total / self.groups**2)
        model.kappa = KAPPA / max(self.sigma, chance)
        for j, own in model.by_class.items():
            noise = np.full(len(own), max(spread, chance))
            model.noisy_tables.append(NoisyTable((j,), (len(own),), own[:, 0], noise))
        for pair in sorted(scores, key=lambda one: -scores[one])[:MOST_COARSE_TABLES]:
            if scores[pair] > 0:
                table = self.tables[pair]
                noise = np.full(table.size, max(self.sigma, chance))
                model.noisy_tables.append(NoisyTable(pair, table.shape, table.ravel(), noise))
        rng = np.random.default_rng(self.problem.pool_seed)
        pool = model.draw(int(min(POOL * model.total, self.problem.pool)) + 1, rng)
        model.weigh(model.ruled(pool, rng), SWEEPS)


def public_groups(column: Column, intervals: Intervals | None, count: int) -> Places:
    """Groups of a column's first cells by the schema alone: neighbours of as many cells each.

    Missing values, and all but the first categories of a long list, have a group of their own.
    """
    size = column.size if intervals is None else len(intervals)
    if size <= count:
        return np.arange(size)
    if not column.is_ordered:
        return np.minimum(np.arange(size), count - 1)
    missing = int(column.missing if intervals is None else (intervals.low <= BEFORE_ALL).sum())
    known = np.arange(size - missing) * (count - missing) // (size - missing)
    return np.concatenate([np.arange(missing), missing + known])
