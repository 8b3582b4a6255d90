"""The stages of PrivateVine: what is asked about the rows, and what is made of the answers.

A generator in Python's sense: it yields queries and is sent noisy answers, so that the model is a
function of public settings and of the transcript.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from copula_shirley.measure.calibration import Calibration
from copula_shirley.measure.queries import Choice, Distances, Queries, Tables
from copula_shirley.privacy.noise import Integers
from copula_shirley.private_vine.allocation import (
    CELLS_PER_NOISE,
    CHOOSING_EDGES,
    CHOOSING_EXTRAS,
    PARTS,
    RANGED,
    SHARES,
    Allocation,
    allocation,
)
from copula_shirley.private_vine.cell_maps import AllRows, GroupKey, InnovationKey
from copula_shirley.private_vine.leaves import LeafKey, Leaves, with_shares
from copula_shirley.private_vine.margins import (
    Level,
    agree,
    groups_of,
    mass_of,
    ranges_of,
    spread_of,
    to_simplex,
)
from copula_shirley.private_vine.model import POOL, SWEEPS, FittedVine, Grouped
from copula_shirley.private_vine.pair_copula import pair_copula, shrink_to
from copula_shirley.private_vine.reweighting import NoisyTable
from copula_shirley.private_vine.vine import Edge, RegularVine, spanning_tree
from copula_shirley.rows.rows import CellMap
from copula_shirley.schema.domain import FloatArray
from copula_shirley.schema.schema import Schema

#: Number of the method: another one asks other questions, or makes another model of the answers.
REVISION = 5
#: Least budget weight of a higher tree, relative to tree 2, and of each tree to the one before.
LEAST_WEIGHT, WEIGHT_RATIO = 1e-3, 0.6
#: Mean of the absolute value of a standard normal variable.
ABSOLUTE = math.sqrt(2 / math.pi)
#: The least and most cells along each axis of tables of innovations.
LEAST_GRID, MOST_GRID = 5, 20
#: An edge of a higher tree is measured if its score is so many standard deviations.
SIGNIFICANT = 2.0
LEAST_ROWS = 10.0
#: The least standard deviation and class size that are divided by.
LEAST_SIGMA, LEAST_CLASS = 1e-9, 1e-3
#: A smaller share of the budget is not spent.
LEAST_SHARE = 1e-12
MOST_POOL = 60_000
#: Tables beyond the vine are chosen in so many batches; the model is reweighted with so many
#: passes through the tables between them.
BATCHES, BATCH_SWEEPS = 4, 3


@dataclass(frozen=True)
class Problem:
    """Everything public that the stages depend on."""

    schema: Schema
    target: str | None
    #: Number of trees; None where the budget decides.
    truncation: int | None
    families: bool
    reweighted: bool
    noise: Calibration
    #: Share of the budget that is left for the stages.
    share: float
    #: Seed of the rows drawn at the fit, independent of the private rows.
    pool_seed: int


def learn(problem: Problem, progress: Callable[[str, float], None]) -> Queries[FittedVine]:
    """Count rows, margins, classes, tree 1, higher trees, extras; each stage uses the last ones."""
    learner = _Learner(problem)
    stages = {
        "number of rows": learner.count_rows,
        "margins": learner.measure_margins,
        "target": learner.measure_classes,
        "tree 1": learner.grow_first_tree,
        "higher trees": learner.grow_higher_trees,
        "tables beyond the vine": learner.measure_extras,
    }
    for i, (name, stage) in enumerate(stages.items()):
        progress(name, i / len(stages))
        yield from stage()
    return learner.model


class _Learner:
    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        names = list(problem.schema.names)
        self.target = None if problem.target is None else names.index(problem.target)
        self.model = FittedVine(problem.schema, self.target)
        self.columns = list(problem.schema)
        self.noise = problem.noise
        self.left = 1.0  # of the stages' share
        self.plan: Allocation

    # -- asking ----------------------------------------------------------------------

    def _tables(
        self, stage: str, maps: Sequence[CellMap], share: float
    ) -> Queries[tuple[list[FloatArray], float]]:
        self.left -= share
        answer = yield Tables(stage, maps, share * self.problem.share)
        return [table.astype(float) for table in answer.values], answer.sigma

    def _distances(
        self, stage: str, maps: Sequence[CellMap], guesses: Sequence[FloatArray], share: float
    ) -> Queries[tuple[FloatArray, float]]:
        self.left -= share
        answer = yield Distances(stage, maps, share * self.problem.share, _whole(guesses, maps))
        return answer.values[0].astype(float), answer.sigma

    def _sigma(self, share: float, count: int) -> float:
        """Noise of ``count`` tables that cost a share of the stages' budget."""
        return self.noise.sigma(share * self.problem.share, count)

    def _groups(self, variables: Sequence[int]) -> GroupKey:
        names = tuple(self.model.names[j] for j in variables)
        return GroupKey(names, tuple(self.model.groups[j] for j in variables))

    def _with_target(self, *variables: int) -> tuple[int, ...]:
        return variables if self.target is None else (*variables, self.target)

    def _remember(
        self, variables: tuple[int, ...], noisy: FloatArray, sigma: FloatArray | float
    ) -> None:
        """A noisy table for the reweighting."""
        table = NoisyTable(variables, noisy.ravel(), np.full(noisy.size, sigma))
        self.model.noisy_tables.append(table)

    # -- stages ----------------------------------------------------------------------

    def count_rows(self) -> Queries[None]:
        """A noisy number of rows, on which shares and resolution depend."""
        noisy, sigma = yield from self._tables("size", [AllRows()], SHARES.size)
        self.size = Level(np.zeros(1, dtype=np.intp), noisy[0].ravel(), sigma)
        self.model.total = max(float(noisy[0].sum()), LEAST_ROWS)
        sizes = self.model.grid.sizes
        self.plan = allocation(
            self.model.total,
            len(self.columns),
            1 if self.problem.target is None else sizes[self.problem.target],
            self.problem.truncation,
            self.noise,
            targeted=self.target is not None,
            reweighted=self.problem.reweighted,
        )

    def measure_margins(self) -> Queries[None]:
        """Masses of the declared cells, and groups of cells for tables."""
        model = self.model
        model.kappa = self.plan.kappa
        numeric = [column for column in self.columns if not column.is_listed]
        leaves = {c.name: Leaves.of(c, model.grid.cells[c.name]) for c in numeric}
        wide = {name: own for name, own in leaves.items() if own.values.max() > 1}
        fine = [part * self.plan.margins * len(wide) / len(self.columns) for part in PARTS]
        spent = yield from self._count_ranges()
        share = self.plan.margins - spent - sum(fine)
        noisy, sigma = yield from self._count_cells("margins", share)
        self._settle_margins(noisy, sigma)
        for share in fine:
            wide = yield from self._cut_leaves(wide, share)
        if self.plan.classes == self.plan.first_tree == 0:  # nothing else will be asked
            yield from self._spend_rest()

    def _count_ranges(self) -> Queries[float]:
        """Ranges of cells of columns with many; the share of the budget that was spent."""
        sizes = self.model.grid.sizes
        found = [(c.name, ranges_of(c, sizes[c.name])) for c in self.columns]
        maps = [GroupKey((name,), (groups,)) for name, several in found for groups in several]
        self.ranges: list[list[Level]] = [[] for _ in found]
        if not maps:
            return 0.0
        share = RANGED * self.plan.margins * sum(bool(some) for _, some in found) / len(found)
        noisy, sigma = yield from self._tables("ranges of cells", maps, share)
        counts = iter(noisy)
        self.ranges = [
            [Level(groups, next(counts), sigma) for groups in several] for _, several in found
        ]
        return share

    def _count_cells(self, stage: str, share: float) -> Queries[tuple[list[FloatArray], float]]:
        sizes = self.model.grid.sizes
        maps = [GroupKey((name,), (np.arange(sizes[name]),)) for name in self.model.names]
        return (yield from self._tables(stage, maps, share))

    def _settle_margins(self, counts: Sequence[FloatArray], sigma: float) -> None:
        """Mass and groups of every column; groups that there are already stay."""
        model = self.model
        self.counts, self.cell_sigma, self.margin_sigma = counts, sigma, sigma
        every = [
            [*ranges, Level(np.arange(own.size), own, sigma)]
            for ranges, own in zip(self.ranges, counts, strict=True)
        ]
        spread = self._settle_total([self.size, *(level for levels in every for level in levels)])
        model.forget_ladders()
        model.mass, model.noisy_tables = [], [t for t in model.noisy_tables if len(t.variables) > 1]
        for j, (column, levels) in enumerate(zip(self.columns, every, strict=True)):
            mass = mass_of(column, model.grid.cells[column.name], levels, model.total)
            model.mass.append(mass)
            if len(model.groups) == j:
                exact = np.arange(len(mass))
                groups = groups_of(column, mass, self.plan.groups, self.plan.rare)
                model.groups.append(exact if j == self.target else groups)
            groups = model.groups[j]
            merged = np.bincount(groups, agree(levels, model.total)).astype(float)
            self._remember((j,), merged, spread_of(groups, levels, spread))

    def _settle_total(self, counted: Sequence[Level]) -> float:
        """The number of rows by all tables that count every row; its standard deviation."""
        totals = [level.counts.sum() for level in counted]
        spreads = [level.sigma * math.sqrt(level.counts.size) for level in counted]
        weights = 1 / np.maximum(spreads, LEAST_SIGMA) ** 2
        self.model.total = max(float(np.average(totals, weights=weights)), LEAST_ROWS)
        return float(1 / np.sqrt(weights.sum()))

    def _spend_rest(self) -> Queries[None]:
        """Margins a second time, with what other stages left of the budget."""
        if self.left < LEAST_SHARE or self.noise.budget is None:
            return
        first, once = self.counts, max(self.cell_sigma, LEAST_SIGMA)
        again, twice = yield from self._count_cells("margins again", self.left)
        weight = twice**2 / (once**2 + twice**2)
        counts = [weight * a + (1 - weight) * b for a, b in zip(first, again, strict=True)]
        self._settle_margins(counts, math.sqrt(weight) * once)

    def _cut_leaves(self, wide: dict[str, Leaves], share: float) -> Queries[dict[str, Leaves]]:
        """Count parts of heavy leaves; the columns that were cut, for the next pass."""
        model = self.model
        rows = {name: model.mass[model.names.index(name)] * model.total for name in wide}
        sigma = self._sigma(share, len(wide)) if wide else 0.0
        cut = {name: leaves.cut(rows[name], sigma) for name, leaves in wide.items()}
        maps = {name: LeafKey(*found) for name, found in cut.items() if found is not None}
        if not maps:
            return {}
        noisy, sigma = yield from self._tables("parts of cells", list(maps.values()), share)
        for (name, parts), table in zip(maps.items(), noisy, strict=True):
            counts, largest = parts.counts(table), self.noise.largest(len(table))
            known = parts.leaves, parts.parent, rows[name]
            model.leaves[name] = with_shares(*known, counts, sigma, largest)
        return {name: model.leaves[name] for name in maps}

    def measure_classes(self) -> Queries[None]:
        """Sizes of the classes, and margins inside each."""
        model = self.model
        one_way: list[FloatArray] = [
            (np.bincount(groups, mass) * model.total).astype(float)
            for groups, mass in zip(model.groups, model.mass, strict=True)
        ]
        if self.target is None or self.plan.classes == 0:
            model.class_sizes = np.array([model.total])
            if self.target is not None:
                model.class_sizes = np.maximum(one_way[self.target], LEAST_CLASS)
            share = model.class_sizes / model.class_sizes.sum()
            model.by_class = {j: np.outer(one_way[j], share) for j in model.others}
            return
        maps = [self._groups((j, self.target)) for j in model.others]
        noisy, sigma = yield from self._tables("target", maps, self.plan.classes)
        sizes = np.array([*(table.sum(axis=0) for table in noisy), one_way[self.target]])
        spreads = [len(table) * max(sigma, LEAST_SIGMA) ** 2 for table in noisy]
        spreads.append(max(self.margin_sigma, LEAST_SIGMA) ** 2)
        average = np.average(sizes, axis=0, weights=1 / np.array(spreads))
        model.class_sizes = np.maximum(to_simplex(average, model.total), LEAST_CLASS)
        for j, table in zip(model.others, noisy, strict=True):
            guess = np.outer(one_way[j], model.class_sizes) / model.class_sizes.sum()
            model.by_class[j] = shrink_to(table, guess, sigma, one_way[j], model.class_sizes)
            self._remember((j, self.target), table, sigma)
        self.margin_sigma = sigma

    def grow_first_tree(self) -> Queries[None]:
        """Scores of all pairs, their maximum spanning tree, its tables and pair copulas."""
        model = self.model
        model.vine = RegularVine(list(model.others))
        if self.plan.first_tree == 0:
            return
        pairs = list(combinations(model.others, 2))
        scores = yield from self._score_pairs(pairs)
        order, links = spanning_tree(model.others, dict(zip(pairs, scores, strict=True)))
        model.vine = RegularVine(order)
        maps = [self._groups(self._with_target(a, b)) for a, b in links]
        noisy, sigma = yield from self._tables("tree 1", maps, self.plan.first_tree)
        for (a, b), table in zip(links, noisy, strict=True):
            smooth = self.columns[a].is_ordered and self.columns[b].is_ordered
            cube = table.reshape(model.shapes[a], model.shapes[b], model.classes)
            margins, families = (model.by_class[a], model.by_class[b]), self.problem.families
            copula = pair_copula(cube, sigma, *margins, families=families and smooth)
            model.vine.add(Edge(b, a, frozenset(), copula))
            if copula.family.endswith("checkerboard"):  # noise would only blur a family
                self._remember(self._with_target(a, b), table, sigma)

    def _score_pairs(self, pairs: Sequence[tuple[int, int]]) -> Queries[FloatArray]:
        """Distance of each pair from independence inside classes, less what chance explains."""
        model = self.model
        share = {j: table / model.class_sizes for j, table in model.by_class.items()}
        expected = [np.einsum("ay,by->aby", model.by_class[a], share[b]) for a, b in pairs]
        noise = self.margin_sigma**2
        blur = [noise * (share[a][:, None] ** 2 + share[b][None] ** 2) for a, b in pairs]
        chance = [ABSOLUTE * np.sqrt(q + v).sum() for q, v in zip(expected, blur, strict=True)]
        maps = [self._groups(self._with_target(a, b)) for a, b in pairs]
        scores, _ = yield from self._distances("scores", maps, expected, self.plan.scores)
        return np.asarray(scores - chance)

    def grow_higher_trees(self) -> Queries[None]:
        """Pair copulas of innovations u(a | D), u(b | D), all classes together."""
        trees = range(2, min(self.plan.trees, len(self.model.others) - 1) + 1)
        if self.plan.higher_trees <= 0 or not self.model.vine.edges:
            return
        weights = np.maximum(WEIGHT_RATIO ** np.arange(len(trees)), LEAST_WEIGHT)
        for tree, weight in zip(trees, weights / weights.sum(), strict=True):
            yield from self._grow_tree(tree, self.plan.higher_trees * float(weight))

    def _grow_tree(self, tree: int, share: float) -> Queries[None]:
        model, vine = self.model, self.model.vine
        growing = [j for j in vine.order if len(vine.chains[j]) == tree - 1]
        options = [(j, p, vine.partners(j)[1]) for j in growing for p in vine.partners(j)[0]]
        if not options:
            return
        children = len({child for child, _, _ in options})
        measuring = share * (1 - CHOOSING_EDGES)
        planned = max(self._sigma(measuring, children), LEAST_SIGMA)
        fine = math.sqrt(model.total / (CELLS_PER_NOISE * planned)) / 2
        grid = int(np.clip(round(min(fine, 1e6)), LEAST_GRID, MOST_GRID))
        maps = [InnovationKey(model, child, p, d, grid) for child, p, d in options]
        even = [np.full((grid, grid), model.total / grid**2)] * len(maps)
        stage = f"scores of tree {tree}"
        scores, noise = yield from self._distances(stage, maps, even, share * CHOOSING_EDGES)
        scores = scores - ABSOLUTE * grid * math.sqrt(model.total)
        best: dict[int, int] = {}
        for i, (child, _, _) in enumerate(options):
            if child not in best or scores[i] > scores[best[child]]:
                best[child] = i
        strong = [i for i in best.values() if scores[i] > max(SIGNIFICANT * noise, planned * grid)]
        copulas = {}
        if strong:
            some = [maps[i] for i in strong]
            noisy, sigma = yield from self._tables(f"tree {tree}", some, measuring)
            margin, families = np.full((grid, 1), model.total / grid), self.problem.families
            for i, table in zip(strong, noisy, strict=True):
                copula = pair_copula(table[:, :, None], sigma, margin, margin, families=families)
                copulas[i] = copula.for_classes(model.classes)
        for i in best.values():
            vine.add(Edge(*options[i], copulas.get(i)))

    def measure_extras(self) -> Queries[None]:
        """Tables that the vine misses most, and the reweighting to all noisy tables."""
        model = self.model
        if not self.problem.reweighted or self.plan.extras <= 0:
            yield from self._spend_rest()
        if not self.problem.reweighted:
            return
        rng = np.random.default_rng(self.problem.pool_seed)
        pool, weight = model.draw_cells(int(min(POOL * model.total, MOST_POOL)) + 1, rng)
        if self.plan.extras > 0:
            yield from self._extra_tables(model.grouped(pool), weight)
        model.weigh(pool, weight, SWEEPS)

    def _extra_tables(self, grouped: Grouped, weight: FloatArray) -> Queries[None]:
        """Choose and count tables in batches, each against the model reweighted to the last ones.

        A table that misses a pair makes all triples with that pair look far off, too. Once it is
        counted they no longer do, so the next batch goes elsewhere. Every choice and every table
        has the noise that it would have in a single batch: rho is per table.
        """
        share = self.left  # what other stages left is spent here
        candidates = self._candidates(share * (1 - CHOOSING_EXTRAS))
        maps = {variables: self._groups(variables) for variables in candidates}
        count = min(self.plan.extra_tables, len(candidates))
        sizes = [len(part) for part in np.array_split(np.arange(count), min(BATCHES, count))]
        for i, size in enumerate(sizes):
            part = share * size / count if i < len(sizes) - 1 else self.left
            expected = self._expected(list(maps), grouped, weight)
            chosen = yield from self._extra_batch(maps, expected, size, part, len(weight))
            maps = {variables: one for variables, one in maps.items() if variables not in chosen}

    def _expected(
        self, candidates: Sequence[tuple[int, ...]], grouped: Grouped, weight: FloatArray
    ) -> list[FloatArray]:
        """Tables of the model as it is now: drawn rows, reweighted to the tables counted so far."""
        model, shapes = self.model, self.model.shapes
        weights, _ = model.reweighted(grouped, weight, BATCH_SWEEPS)
        cells = [model.table_cells(variables, grouped) for variables in candidates]
        sizes = [math.prod(shapes[j] for j in variables) for variables in candidates]
        both = zip(cells, sizes, strict=True)
        return [np.bincount(cell, weights, size).astype(float) for cell, size in both]

    def _extra_batch(
        self,
        options: Mapping[tuple[int, ...], GroupKey],
        expected: Sequence[FloatArray],
        count: int,
        share: float,
        drawn: int,
    ) -> Queries[list[tuple[int, ...]]]:
        """Choose ``count`` tables that are far from the expected ones, and count them."""
        candidates, maps = list(options), list(options.values())
        choosing = share * CHOOSING_EXTRAS
        sigma = self._sigma(share - choosing, count)
        chance = 1 + self.model.total / drawn  # of the rows, and of the drawn ones
        handicaps = np.array(
            [ABSOLUTE * (np.sqrt(q * chance).sum() + 0.5 * sigma * q.size) for q in expected]
        )
        self.left -= choosing
        answer = yield Choice(
            "choice of tables",
            maps,
            choosing * self.problem.share,
            _whole(expected, maps),
            np.rint(handicaps).astype(np.int64),
            count,
        )
        chosen = [int(i) for i in answer.values[0]]
        noisy, sigma = yield from self._tables(
            "tables beyond the vine", [maps[i] for i in chosen], share - choosing
        )
        for i, table in zip(chosen, noisy, strict=True):
            self._remember(candidates[i], table, sigma)
        return [candidates[i] for i in chosen]

    def _candidates(self, measuring: float) -> list[tuple[int, ...]]:
        """Pairs that no table holds yet, and triples if the noise allows so many cells."""
        model = self.model
        seen = [{edge.child, edge.partner} for tree, edge in model.vine.edges if tree == 1]
        pairs = [p for p in combinations(model.others, 2) if set(p) not in seen]
        sigma = max(self._sigma(measuring, self.plan.extra_tables), LEAST_SIGMA)
        most, shapes = model.total / (CELLS_PER_NOISE * sigma), model.shapes
        triples = combinations(model.others, 3)
        return [*pairs, *(t for t in triples if math.prod(shapes[j] for j in t) <= most)]


def _whole(guesses: Sequence[FloatArray], maps: Sequence[CellMap]) -> list[Integers]:
    pairs = zip(guesses, maps, strict=True)
    return [np.rint(guess).astype(np.int64).reshape(one.shape) for guess, one in pairs]
