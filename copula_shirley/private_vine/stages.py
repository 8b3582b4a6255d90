"""The stages of PrivateVine: what is asked about the rows, and what is made of the answers.

A generator in Python's sense: it yields queries and is sent noisy answers, so that the model is a
function of public settings and of the transcript. All queries are counts.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from copula_shirley.measure.calibration import Calibration
from copula_shirley.measure.queries import Queries, Tables
from copula_shirley.private_vine.allocation import (
    LEAST_COARSE,
    MOST_COARSE,
    SHARES,
    Allocation,
    allocation,
    rows_per_cell,
)
from copula_shirley.private_vine.cell_maps import AllRows, Axis, GroupMap
from copula_shirley.private_vine.coarse import ABSOLUTE, CoarseTables, Pair, coarse_groups
from copula_shirley.private_vine.intervals import BEFORE_ALL, Intervals, rows_of_parts
from copula_shirley.private_vine.margins import (
    FEW_CELLS,
    LEAST_SIGMA,
    Places,
    combined,
    groups_of,
    smooth,
    to_simplex,
)
from copula_shirley.private_vine.model import POOL, SWEEPS, FittedVine
from copula_shirley.private_vine.pair_copula import pair_copula, shrink_to
from copula_shirley.private_vine.pool import Pool
from copula_shirley.private_vine.reweighting import NoisyTable
from copula_shirley.private_vine.tails import falling_ends, shares, slopes, with_tails
from copula_shirley.private_vine.vine import (
    Edge,
    RegularVine,
    partial_correlation,
    spanning_tree,
)
from copula_shirley.rows.rows import CellMap
from copula_shirley.rules.coordinates import Coordinates
from copula_shirley.schema.domain import LARGEST_DOMAIN, FloatArray
from copula_shirley.schema.schema import Schema

#: Number of the method: another one asks other questions, or makes another model of the answers.
REVISION = 9
LEAST_ROWS, LEAST_CLASS = 10.0, 1e-3
#: A pair stands out of its coarse table if it is off independence by so many standard deviations
#: of noise and chance.
CLEAR = 1.0
#: A smaller share of the budget is not spent.
LEAST_SHARE = 1e-12
#: Parts after the first round are cut from cells of more than one in so many groups.
BIG = 2.0
#: Parts whose noise adds up in a group: the rest is known from their cell.
INDEPENDENT_PARTS = 30
#: A partial correlation is shrunk by so many standard deviations of its noise (James and Stein),
#: and left out if little is left of it.
CORRELATION_NOISE, LEAST_CORRELATION = 2.5, 0.03
#: Edges of trees above the first, which bounds the time of wide tables.
MOST_EDGES = 3000
#: Rows drawn at the fit.
FIT_POOL = 25_000
#: Tables beyond the vine are chosen in so many batches; the model is reweighted with so many
#: passes through the tables between them.
BATCHES, BATCH_SWEEPS = 4, 3
#: Coarse tables that are looked at again, those that the vine misses most; and columns whose
#: triples are candidates.
MOST_COARSE_TABLES, TRIPLE_COLUMNS = 300, 32
#: Cells of tables that are counted before it is known which of them will be asked for (64 MB).
MOST_AHEAD = 2**23


@dataclass(frozen=True)
class Problem:
    """Everything public that the stages depend on."""

    schema: Schema
    target: str | None
    #: The most trees.
    truncation: int
    families: bool
    reweighted: bool
    noise: Calibration
    #: Share of the budget that is left for the stages.
    share: float
    #: Seed of the rows drawn at the fit, independent of the private rows.
    pool_seed: int
    #: Rules that drawn rows must keep; None without any.
    rejecting: Coordinates | None = None
    #: Most rows drawn at the fit.
    pool: int = FIT_POOL


def first_tables(problem: Problem) -> list[CellMap]:
    """What is asked whatever is answered: the first cells of each column."""
    return _Learner(problem).first_maps()


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


def first_rows(
    intervals: Intervals | None, table: FloatArray, sigma: float, clear: float, total: float
) -> tuple[Intervals | None, FloatArray]:
    """Rows of a column's first cells; noise alone does not reach a count of ``clear``.

    Neighbours of a column of few values share a density; octaves end in falling tails.
    """
    if intervals is None or sigma == 0:
        return intervals, to_simplex(table, total)
    if intervals.has_octaves:
        return with_tails(intervals, table, sigma, clear, total)
    if len(table) > FEW_CELLS:
        width = np.minimum(intervals.values, 1e15)
        missing = intervals.low <= BEFORE_ALL
        table = smooth(table, width / width.mean(), missing, sigma)
    return intervals, to_simplex(table, total)


class _Learner:
    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        names = list(problem.schema.names)
        self.target = None if problem.target is None else names.index(problem.target)
        self.model = FittedVine(problem.schema, self.target, rejecting=problem.rejecting)
        self.columns = list(problem.schema)
        self.noise = problem.noise
        self.left = 1.0  # of the stages' share
        self.total_sigma = 0.0
        self.plan: Allocation
        self.coarse: CoarseTables | None = None

    # -- asking ----------------------------------------------------------------------

    def _tables(
        self, stage: str, maps: Sequence[CellMap], share: float, ahead: Sequence[CellMap] = ()
    ) -> Queries[tuple[list[FloatArray], float]]:
        self.left -= share
        answer = yield Tables(stage, maps, share * self.problem.share, ahead=ahead)
        return [table.astype(float) for table in answer.values], answer.sigma

    def _sigma(self, share: float, count: int) -> float:
        """Noise of ``count`` tables that cost a share of the stages' budget."""
        return self.noise.sigma(share * self.problem.share, count)

    def _axis(self, j: int, groups: Places) -> Axis:
        return Axis(self.model.names[j], groups, self.model.intervals.get(j))

    def _groups(self, variables: Sequence[int]) -> GroupMap:
        return GroupMap(tuple(self._axis(j, self.model.groups[j]) for j in variables))

    def _remember(self, variables: tuple[int, ...], noisy: FloatArray, sigma: float) -> None:
        """A noisy table for the reweighting."""
        sigmas = np.full(noisy.size, max(sigma, self.plan.least_noise))
        self.model.noisy_tables.append(NoisyTable(variables, noisy.shape, noisy.ravel(), sigmas))

    def _settle_total(self, tables: Sequence[FloatArray], sigma: float) -> None:
        """The number of rows by all tables so far, each of which counts every row."""
        totals = [self.model.total, *(float(table.sum()) for table in tables)]
        spreads = [self.total_sigma, *(sigma * math.sqrt(table.size) for table in tables)]
        weights = 1 / np.maximum(spreads, LEAST_SIGMA) ** 2
        self.model.total = max(float(np.average(totals, weights=weights)), LEAST_ROWS)
        self.total_sigma = float(1 / np.sqrt(weights.sum()))

    # -- stages ----------------------------------------------------------------------

    def count_rows(self) -> Queries[None]:
        """A noisy number of rows, on which shares and resolution depend."""
        ahead = self.first_maps()
        noisy, self.total_sigma = yield from self._tables("size", [AllRows()], SHARES.size, ahead)
        self.model.total = max(float(noisy[0].sum()), LEAST_ROWS)
        sizes = self.model.grid.sizes
        self.plan = allocation(
            self.model.total,
            len(self.columns),
            1 if self.problem.target is None else sizes[self.problem.target],
            self.noise,
            targeted=self.target is not None,
            reweighted=self.problem.reweighted,
        )

    def measure_margins(self) -> Queries[None]:
        """Cells of every column with their masses, and groups of cells for tables."""
        model = self.model
        model.kappa = self.plan.kappa
        wide = [j for j, own in model.intervals.items() if own.values.max() > 1]
        share, parts, late = self.plan.histograms(len(wide) / len(self.columns))
        maps = self.first_maps()
        noisy, sigma = yield from self._tables("margins", maps, share)
        self._settle_total(noisy, sigma)
        cells = sum(len(table) for table in noisy)
        clear = self.noise.detection_threshold(share * self.problem.share, len(maps), cells)
        self.rows = []
        for j, table in enumerate(noisy):
            intervals, rows = first_rows(model.intervals.get(j), table, sigma, clear, model.total)
            if intervals is not None:
                model.intervals[j] = intervals
            self.rows.append(rows)
        #: Noisy counts of columns of few values, and their noise.
        self.values = {
            j: (noisy[j], sigma)
            for j, own in model.intervals.items()
            if sigma > 0 and own.values.max() == 1
        }
        #: What the noise of the cells adds to the variance of a group, by column.
        self.variance = [np.full(len(rows), sigma**2) for rows in self.rows]
        for i, share in enumerate(parts):
            wide = yield from self._cut(wide, share, first=i == 0)
        yield from self._measure_groups("margins of groups", late)
        if self.plan.classes == self.plan.first_tree == 0:  # nothing else will be asked
            yield from self._spend_rest()

    def first_maps(self) -> list[CellMap]:
        """The first cells of each column."""
        own = self.model.intervals
        sizes = [len(own.get(j, ())) or c.size for j, c in enumerate(self.columns)]
        return [GroupMap((self._axis(j, np.arange(size)),)) for j, size in enumerate(sizes)]

    def _cut(self, wide: Sequence[int], share: float, *, first: bool) -> Queries[list[int]]:
        """Count parts of heavy cells; the columns that were cut, for the next round."""
        model = self.model
        if not wide:
            return []
        sigma = self._sigma(share, len(wide))
        big = 0.0 if first else model.total / (BIG * self.plan.groups)
        most = LARGEST_DOMAIN // len(self.columns)
        found = {j: model.intervals[j].cut(self.rows[j], sigma, big, most) for j in wide}
        cuts = {j: cut for j, cut in found.items() if cut is not None}
        if not cuts:
            return []
        new = {j: np.bincount(parent)[parent] > 1 for j, (_, parent) in cuts.items()}
        maps = [
            GroupMap((Axis(model.names[j], np.where(new[j], np.cumsum(new[j]), 0), finer),))
            for j, (finer, _) in cuts.items()
        ]
        noisy, sigma = yield from self._tables("parts of cells", maps, share)
        for (j, (finer, parent)), table in zip(cuts.items(), noisy, strict=True):
            counts = np.zeros(len(parent))
            counts[new[j]] = table[-int(new[j].sum()) :]
            largest = self.noise.largest(len(table))
            even = None
            if first and model.intervals[j].has_octaves:
                even = shares(finer, parent, slopes(model.intervals[j], self.rows[j]))
            model.intervals[j], self.rows[j] = rows_of_parts(
                finer, parent, self.rows[j], counts, sigma, largest, even
            )
            self.variance[j] = np.where(new[j], sigma**2, self.variance[j][parent])
        return list(cuts)

    def _measure_groups(self, stage: str, share: float) -> Queries[None]:
        """Margins once more, in about equally heavy groups of cells; groups for tables of them."""
        model, first = self.model, not self.model.groups
        if first:
            self.fine = [self._fine_groups(j) for j in range(len(self.columns))]
            pairs = zip(self.fine, self.variance, strict=True)
            self.variance = [self._group_variance(fine, own) for fine, own in pairs]
        maps = [GroupMap((self._axis(j, fine),)) for j, fine in enumerate(self.fine)]
        noisy, sigma = yield from self._tables(stage, maps, share)
        self._settle_total(noisy, sigma)
        self.margin_sigma = sigma
        model.noisy_tables = [t for t in model.noisy_tables if len(t.variables) > 1]
        model.mass = []
        for j, (table, fine) in enumerate(zip(noisy, self.fine, strict=True)):
            before = np.bincount(fine, self.rows[j]).astype(float)
            counts, variance = combined(before, self.variance[j], table, sigma)
            found = to_simplex(counts, model.total, variance)
            even = 1 / np.bincount(fine)[fine]
            inside = self.rows[j] / np.maximum(before[fine], 1e-300)
            self.rows[j] = found[fine] * np.where(before[fine] > 0, inside, even)
            self.variance[j] = variance
            if j in self.values:
                self.rows[j] = falling_ends(
                    model.intervals[j], self.rows[j], *self.values[j], fine, found, variance
                )
            model.mass.append(self.rows[j] / self.rows[j].sum())
            if first:
                model.groups.append(self._table_groups(j, found / found.sum()))
            # without the bound at 0, which would be a bias for the reweighting
            place = np.zeros(len(found), dtype=np.intp)
            place[fine] = model.groups[j]
            counts = counts + variance * (model.total - counts.sum()) / variance.sum()
            sums = np.bincount(place, counts).astype(float)
            spread = np.sqrt(np.maximum(np.bincount(place, variance), self.plan.least_noise**2))
            model.noisy_tables.append(NoisyTable((j,), sums.shape, sums, spread))
        model.forget_ladders()

    def _fine_groups(self, j: int) -> Places:
        mass, column = self.rows[j] / self.rows[j].sum(), self.columns[j]
        if j == self.target or not column.is_ordered or len(mass) <= self.plan.margin_groups:
            return np.arange(len(mass))
        return groups_of(column, mass, self.plan.margin_groups, 0.0)

    def _table_groups(self, j: int, fine_mass: FloatArray) -> Places:
        """Groups of cells for tables, made of the groups whose margins were measured."""
        if j == self.target:
            return self.fine[j]
        groups = groups_of(self.columns[j], fine_mass, self.plan.groups, self.plan.rare)
        return groups[self.fine[j]]

    def _group_variance(self, groups: Places, variance: FloatArray) -> FloatArray:
        """About the variance of the counts of groups that sum to the number of rows."""
        least = variance.min()
        parts = variance > least
        sums = np.bincount(groups, np.where(parts, 0.0, variance))
        several = np.minimum(np.bincount(groups, parts), INDEPENDENT_PARTS)
        sums = sums + several * variance.max()
        share = np.bincount(groups) / len(groups)
        return np.asarray(sums * (1 - share) + share**2 * self.total_sigma**2 + LEAST_SIGMA)

    def _spend_rest(self) -> Queries[None]:
        """Margins again, with what other stages left of the budget."""
        if self.left >= LEAST_SHARE and self.noise.budget is not None:
            yield from self._measure_groups("margins again", self.left)

    def measure_classes(self) -> Queries[None]:
        """Tables with the target: sizes of the classes, and margins inside each."""
        if self.target is not None and self.plan.classes > 0:
            pairs = [(j, self.target) for j in self.model.others]
            maps = [self._groups(pair) for pair in pairs]
            noisy, sigma = yield from self._tables(
                "target", maps, self.plan.classes, self._pairs_ahead()
            )
            for pair, table in zip(pairs, noisy, strict=True):
                self._remember(pair, table, sigma)
            self.class_tables, self.margin_sigma = (noisy, sigma), sigma
        self._settle_classes()

    def _settle_classes(self) -> None:
        """Margins inside each class by all that was counted so far."""
        model, target = self.model, self.target
        one_way: list[FloatArray] = [
            (np.bincount(groups, mass) * model.total).astype(float)
            for groups, mass in zip(model.groups, model.mass, strict=True)
        ]
        if target is None:
            model.class_sizes = np.array([model.total])
            model.by_class = {j: one_way[j][:, None] for j in model.others}
            return
        if self.plan.classes == 0:
            model.class_sizes = np.maximum(one_way[target], LEAST_CLASS)
            share = model.class_sizes / model.class_sizes.sum()
            model.by_class = {j: np.outer(one_way[j], share) for j in model.others}
            return
        noisy, sigma = self.class_tables
        sizes = np.array([*(table.sum(axis=0) for table in noisy), one_way[target]])
        spreads = [len(table) * max(sigma, LEAST_SIGMA) ** 2 for table in noisy]
        spreads.append(max(float(self.variance[target].mean()), LEAST_SIGMA**2))
        average = np.average(sizes, axis=0, weights=1 / np.array(spreads))
        model.class_sizes = np.maximum(to_simplex(average, model.total), LEAST_CLASS)
        for j, table in zip(model.others, noisy, strict=True):
            guess = np.outer(one_way[j], model.class_sizes) / model.class_sizes.sum()
            model.by_class[j] = shrink_to(table, guess, sigma, one_way[j], model.class_sizes)

    def _pairs_ahead(self) -> list[CellMap]:
        """Tables that sum up to those of target, coarse pairs and tree 1, whatever that will be.

        Empty if they have too many cells.
        """
        if self.plan.coarse == 0 or len(self.model.others) < 2:
            return []
        whole = () if self.target is None else (self.target,)
        found = [(*pair, *whole) for pair in combinations(self.model.others, 2)]
        sizes = self.model.shapes
        cells = sum(math.prod(sizes[j] for j in one) for one in found)
        return [self._groups(one) for one in found] if cells <= MOST_AHEAD else []

    def grow_first_tree(self) -> Queries[None]:
        """Coarse tables of all pairs, their maximum spanning tree, its tables and pair copulas."""
        model = self.model
        model.vine = RegularVine(list(model.others))
        if self.plan.first_tree == 0:
            return
        scores = yield from self._score_pairs()
        most = max(scores.values(), default=0.0) + 1.0
        scores |= {pair: scores[pair] + most for pair in self._ruled_pairs()}
        order, links = spanning_tree(model.others, scores)
        model.vine = RegularVine(order)
        links, share = yield from self._clear_links(links, scores)
        if not links:
            return
        tables = self._with_classes(links, share)
        maps = [self._groups(variables) for variables in tables]
        noisy, sigma = yield from self._tables("tree 1", maps, share)
        for variables, table in zip(tables, noisy, strict=True):
            a, b = variables[:2]
            smooth_axes = self.columns[a].is_ordered and self.columns[b].is_ordered
            cube = table.reshape(*table.shape[:2], -1)
            families = self.problem.families and smooth_axes
            copula = pair_copula(
                cube, sigma, model.by_class[a], model.by_class[b], families=families
            )
            model.vine.add(Edge(b, a, copula=copula))
            if copula.family.endswith("checkerboard"):  # noise would only blur a family
                self._remember(variables, table, sigma)

    def _clear_links(
        self, links: Sequence[Pair], scores: Mapping[Pair, float]
    ) -> Queries[tuple[list[Pair], float]]:
        """The links whose tables are measured, and what these may cost.

        Where margins are short of budget a pair that does not stand out of the noise of its coarse
        table is independent in the vine, and the margins are counted again for what its table
        would have cost.
        """
        share = self.plan.first_tree
        if self.coarse is None or not self.plan.scarce:
            return list(links), share
        clear = []
        for child_last in links:
            pair = min(child_last), max(child_last)
            if scores[pair] > CLEAR * self.coarse.chance(pair):
                clear.append(child_last)
            else:
                self.model.vine.add(Edge(child_last[1], child_last[0]))
        kept = share * len(clear) / len(links)
        if len(clear) < len(links):
            yield from self._measure_groups("margins again", share - kept)
            self._settle_classes()
        return clear, kept

    def _with_classes(self, links: Sequence[Pair], share: float) -> list[tuple[int, ...]]:
        """The links, with the target where rows are enough for a table in each of its classes."""
        if self.target is None:
            return list(links)
        cubes: list[tuple[int, ...]] = [(*link, self.target) for link in links]
        if self.plan.in_classes or not cubes:
            return cubes
        sizes, sigma = self.model.shapes, self._sigma(share, len(cubes))
        most = self.model.total / rows_per_cell(sigma)
        return [c if math.prod(sizes[j] for j in c) <= most else c[:2] for c in cubes]

    def _ruled_pairs(self) -> list[Pair]:
        """Pairs that a rule binds which is kept by rejection: a public choice for tree 1."""
        if self.problem.rejecting is None:
            return []
        names = self.model.names
        bound = self.problem.rejecting.bound_together()
        pairs = [tuple(sorted(map(names.index, pair))) for pair in bound]
        return [(a, b) for a, b in pairs if self.target not in (a, b)]

    def _score_pairs(self) -> Queries[dict[Pair, float]]:
        """How far each pair is from independence, by a coarse noisy table."""
        model, pairs = self.model, list(combinations(self.model.others, 2))
        if self.plan.coarse == 0:
            return dict.fromkeys(pairs, 0.0)
        sigma = self._sigma(self.plan.coarse, len(pairs))
        fine = math.sqrt(model.total / rows_per_cell(sigma))
        count = int(np.clip(round(min(fine, 1e6)), LEAST_COARSE, MOST_COARSE))
        groups = {
            j: coarse_groups(self.columns[j], model.by_class[j].sum(axis=1), count)
            for j in model.others
        }
        axes = {j: self._axis(j, groups[j][model.groups[j]]) for j in model.others}
        maps = [GroupMap((axes[a], axes[b])) for a, b in pairs]
        ahead = self._pairs_ahead() if self.target is None else ()
        noisy, sigma = yield from self._tables("coarse pairs", maps, self.plan.coarse, ahead)
        self.coarse = CoarseTables(dict(zip(pairs, noisy, strict=True)), groups, sigma)
        return self.coarse.dependence(model.by_class, model.class_sizes, self.margin_sigma)

    def grow_higher_trees(self) -> Queries[None]:
        """Gaussian pair copulas for the correlations of ordered columns beside tree 1."""
        yield from ()  # nothing is asked
        model, vine = self.model, self.model.vine
        ordered = [j for j in model.others if self.columns[j].is_ordered]
        if self.coarse is None or len(ordered) < 3:
            return
        known = {
            (min(e.child, e.partner), max(e.child, e.partner)): math.sin(math.pi / 2 * e.copula.tau)
            for _, e in vine.edges
            if e.copula is not None
        }
        correlations, noises = self.coarse.correlations(model.by_class, ordered, known)
        place = {variable: i for i, variable in enumerate(ordered)}
        most = max(2, MOST_EDGES // len(model.others))
        for tree in range(2, min(self.problem.truncation, len(model.others) - 1, most) + 1):
            growing = [j for j in vine.order if len(vine.chains[j]) == tree - 1]
            options = [(j, *vine.partners(j)) for j in growing]
            edges = [
                self._gaussian_edge(child, partners, given, correlations, noises, place)
                for child, partners, given in options
                if partners
            ]
            for edge in edges:
                vine.add(edge)

    @staticmethod
    def _gaussian_edge(
        child: int,
        partners: Sequence[int],
        given: frozenset[int],
        correlations: FloatArray,
        noises: FloatArray,
        place: dict[int, int],
    ) -> Edge:
        """The edge to the partner with the largest partial correlation; shrunk by its noise."""
        beside = [place[v] for v in given if v in place]
        found = {
            p: partial_correlation(correlations, place[child], place[p], beside)
            for p in partners
            if child in place and p in place
        }
        partner = max(found, key=lambda p: abs(found[p]), default=partners[0])
        if partner not in found:
            return Edge(child, partner, given)
        r, noise = found[partner], noises[place[child], place[partner]]
        r *= max(0.0, 1 - (CORRELATION_NOISE * noise) ** 2 / max(r * r, 1e-12))
        return Edge(child, partner, given, correlation=r if abs(r) > LEAST_CORRELATION else 0.0)

    def measure_extras(self) -> Queries[None]:
        """Tables that the vine misses most, and the reweighting to all noisy tables."""
        model = self.model
        if not self.problem.reweighted or self.plan.extras <= 0:
            yield from self._spend_rest()
        if not self.problem.reweighted:
            return
        rng = np.random.default_rng(self.problem.pool_seed)
        pool = model.draw(int(min(POOL * model.total, self.problem.pool)) + 1, rng)
        pool = model.ruled(pool, rng)
        if self.coarse is not None:
            self._use_coarse(self.coarse, pool)
        if self.plan.extras > 0:
            yield from self._extra_tables(pool)
        model.weigh(pool, SWEEPS)

    def _use_coarse(self, coarse: CoarseTables, pool: Pool) -> None:
        """Coarse tables that the vine misses most; those beyond noise are for the reweighting."""
        maps = {j: own.astype(np.int32) for j, own in coarse.groups.items()}
        self.coarse_tables = {
            pair: NoisyTable(
                pair,
                table.shape,
                table.ravel(),
                np.full(table.size, max(coarse.sigma, self.plan.least_noise)),
                (maps[pair[0]], maps[pair[1]]),
            )
            for pair, table in coarse.tables.items()
        }
        missed = self._missed(coarse, pool, pool.weight * (self.model.total / pool.weight.sum()))
        found = sorted(missed, key=lambda pair: -missed[pair])[:MOST_COARSE_TABLES]
        self.coarse_tables = {pair: self.coarse_tables[pair] for pair in found}
        for pair, table in self.coarse_tables.items():
            if missed[pair] > 0:
                self.model.noisy_tables.append(table)

    def _missed(self, coarse: CoarseTables, pool: Pool, weights: FloatArray) -> dict[Pair, float]:
        """Rows by which the model is off the coarse table of each pair, beyond noise."""
        chance = 1 + self.model.total / len(weights)  # of the rows, and of the drawn ones
        found = {}
        for pair, table in self.coarse_tables.items():
            cells = pool.table_cells(table)
            expected = np.bincount(cells, weights, table.counts.size).astype(float)
            expected = expected.reshape(table.shape)
            found[pair] = coarse.excess(pair, expected, expected * chance)
        return found

    def _extra_tables(self, pool: Pool) -> Queries[None]:
        """Choose and count tables in batches, each against the model reweighted to the last ones.

        A table is worth the rows by which the model is off its pairs, less what its own noise
        would bring. Once a pair is counted the model is no longer off, so the next batch goes
        elsewhere.
        """
        if self.coarse is None:
            return
        # what other stages left is spent here, or where margins are short of it goes to them
        scarce = self.plan.scarce
        share = min(self.left, self.plan.extras) if scarce else self.left
        sizes = dict(enumerate(self.model.shapes))
        candidates = self._candidates(share, sizes)
        if not candidates:
            yield from self._spend_rest()
            return
        count = min(self.plan.extra_tables, len(candidates))
        batches = [len(part) for part in np.array_split(np.arange(count), min(BATCHES, count))]
        for i, size in enumerate(batches):
            part = share * size / count if scarce or i < len(batches) - 1 else self.left
            weights, _ = self.model.reweighted(pool, BATCH_SWEEPS)
            missed = self._missed(self.coarse, pool, weights)
            noise = ABSOLUTE * 0.5 * self._sigma(part, size)
            worth = [
                sum(missed.get(pair, 0.0) for pair in combinations(one, 2))
                - noise * math.prod(sizes[j] for j in one)
                for one in candidates
            ]
            best = np.argsort(-np.array(worth), kind="stable")[:size]
            chosen = [candidates[c] for c in best if worth[c] > 0 or not scarce]
            if not chosen:
                break
            part *= len(chosen) / size
            maps = [self._groups(variables) for variables in chosen]
            noisy, sigma = yield from self._tables("tables beyond the vine", maps, part)
            for variables, table in zip(chosen, noisy, strict=True):
                self._remember(variables, table, sigma)
            candidates = [one for one in candidates if one not in chosen]
        yield from self._spend_rest()

    def _candidates(self, measuring: float, sizes: dict[int, int]) -> list[tuple[int, ...]]:
        """Pairs that no fine table holds yet, and triples if the noise allows so many cells."""
        in_tree = [{edge.child, edge.partner} for tree, edge in self.model.vine.edges if tree == 1]
        pairs: list[tuple[int, ...]] = [p for p in self.coarse_tables if set(p) not in in_tree]
        sigma = self._sigma(measuring, self.plan.extra_tables)
        most = self.model.total / rows_per_cell(sigma)
        # those that the model misses come first
        named = list(dict.fromkeys(j for pair in self.coarse_tables for j in pair))
        triples = combinations(sorted(named[:TRIPLE_COLUMNS]), 3)
        return [*pairs, *(t for t in triples if math.prod(sizes[j] for j in t) <= most)]
