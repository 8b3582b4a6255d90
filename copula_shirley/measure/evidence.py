"""Whether noisy tables carry the noise that they state.

Every table counts all rows. So tables that share columns have the same sub-totals by these columns
(the same grand total if they share none), but for noise, and what one sub-total differs from
another shows how large the noise is. Noise that was left out, or made smaller, makes them agree too
well; a restated, larger noise does, too.

Compared are, for each set of columns that tables share, their sub-totals with the weighted mean, in
units of the stated noise: a sum of squares that is a chi-square, whatever the rows are. It is
compared once more without its worst cell, which finds exact cells with all noise in one of them.
Interactions of the sub-totals of tables with the same noise in every cell are independent of each
other (analysis of variance), so they are added up over all sets of columns. By Gaussian
approximation a true transcript is suspected with a chance of about 1e-9, all comparisons together.
Numbers that were made up to disagree as noise would are not found.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from copula_shirley.lazy import LazyModule
from copula_shirley.measure.queries import Query, Tables
from copula_shirley.measure.transcript import Answer
from copula_shirley.schema.domain import FloatArray

if TYPE_CHECKING:
    from scipy import stats
else:
    stats = LazyModule("scipy.stats")

Groups = NDArray[np.intp]
#: For each axis the group of each of its finest cells.
Cells = dict[Hashable, Groups]
#: Least standard deviation (rows) of a sub-total; smaller noise is whole numbers and no bell.
LEAST_SPREAD = 5.0
#: Chance of suspecting a true model, for each tail.
SUSPICION = 5e-10
#: Least part of the stated noise that is worth telling.
LEAST_SHOWN = 0.01
#: Excess kurtosis of Laplace noise.
LAPLACE_EXCESS = 3.0


def noise_faults(
    asked: Iterable[tuple[Query, Answer]], *, gaussian: bool
) -> tuple[list[str], float | None]:
    """What is wrong with the noise of some answers, and how much noise they show.

    The second is the part of the stated noise below which the answers would have given it away;
    None if they show nothing of it.
    """
    tables = [
        NoisyTable(getattr(cell_map, "axes", {}), np.asarray(counts, dtype=float), answer.sigma)
        for query, answer in asked
        if isinstance(query, Tables)
        for cell_map, counts in zip(query.cell_maps, answer.values, strict=True)
    ]
    compared = list(_comparisons(tables, gaussian))
    if not compared:
        return [], None
    chance = SUSPICION / len(compared)
    visible = max(one.visible(chance) for one in compared)
    wrong = [one for one in compared if one.too_little(chance) or one.too_much(chance)]
    faults = []
    if wrong:
        worst = max(wrong, key=lambda one: one.free)
        faults.append(
            f"the answers carry about {math.sqrt(worst.squares / worst.free):.2g} times the noise "
            f"that the transcript states ({worst.about})"
        )
    return faults, visible if visible >= LEAST_SHOWN else None


@dataclass(frozen=True, eq=False)
class NoisyTable:
    """Noisy counts in which every row lies in one cell.

    Attributes
    ----------
    axes : dict
        The axes that other tables may share, in order; without any only the total is comparable.
    counts : array
    sigma : float
        Standard deviation of the noise of each count.
    """

    axes: Cells
    counts: FloatArray
    sigma: float

    def sub_totals(self, cells: Cells) -> FloatArray | None:
        """Counts by some axes, and numbers of noises in each; None if a cell would be cut."""
        both = np.stack([self.counts, np.ones(self.counts.shape)])
        for i, (axis, fine) in reversed(list(enumerate(self.axes.items(), start=1))):
            if axis not in cells:
                both = both.sum(axis=i)
                continue
            place = np.zeros(both.shape[i], dtype=np.intp)
            place[fine] = cells[axis]
            if not np.array_equal(place[fine], cells[axis]):
                return None
            merged = np.zeros((int(place.max()) + 1, *np.moveaxis(both, i, 0).shape[1:]))
            np.add.at(merged, place, np.moveaxis(both, i, 0))
            both = np.moveaxis(merged, 0, i)
        if not self.axes:
            both = both.reshape(2, -1).sum(axis=1)
        shared = [axis for axis in self.axes if axis in cells]
        order = [1 + shared.index(axis) for axis in cells]
        return both.transpose(0, *order)


@dataclass(frozen=True)
class Comparison:
    """How far noisy numbers are from their weighted mean, in units of the stated noise."""

    about: str
    #: Sum of squares, and its degrees of freedom.
    squares: float
    free: int
    #: How far the rounding to whole numbers can move the root of ``squares``.
    slack: float
    #: Excess kurtosis of the noise at the most: 0 for bell-shaped noise.
    excess: float
    #: Number of sums of squares of which this is the least.
    least_of: int = 1

    def nearest(self, chance: float) -> float:
        """Sum of squares that true noise goes below with this chance.

        The variance of the sum is at most 1 + excess/2 times that of a chi-square, so it is taken
        for a scaled chi-square of so many degrees less, whose lower tail is the heavier one.
        """
        wider = 1 + self.excess / 2
        return float(wider * stats.chi2.ppf(chance / self.least_of, self.free / wider))

    def too_little(self, chance: float) -> bool:
        """Whether there is less noise than true noise would show."""
        return (math.sqrt(self.squares) + self.slack) ** 2 < self.nearest(chance)

    def too_much(self, chance: float) -> bool:
        """Whether there is more noise; of heavier tails than the bell's nothing is said."""
        over = max(math.sqrt(self.squares) - self.slack, 0.0) ** 2
        return self.excess == 0 and self.least_of == 1 and over > stats.chi2.isf(chance, self.free)

    def visible(self, chance: float) -> float:
        """Part of the stated noise below which all noise would be too little."""
        return (math.sqrt(self.nearest(chance)) - self.slack) / math.sqrt(self.free)


def _comparisons(tables: Sequence[NoisyTable], gaussian: bool) -> Iterator[Comparison]:
    """Sub-totals by each set of shared axes and cells, and all interactions together."""
    sharing: dict[frozenset[Hashable], list[NoisyTable]] = defaultdict(list)
    for table in tables:
        for count in range(len(table.axes) + 1):
            for axes in combinations(table.axes, count):
                sharing[frozenset(axes)].append(table)
    usual = _usual_cells(tables)
    totals: list[Comparison] = []
    interactions: list[Comparison] = []
    for shared_axes, several in sharing.items():
        if len(several) < 2:
            continue
        order = sorted(shared_axes, key=repr)
        kinds = [{axis: table.axes[axis] for axis in order} for table in several]
        for cells in {tuple(g.tobytes() for g in c.values()): c for c in kinds}.values():
            if shared := _Shared.of(several, cells, gaussian):
                yield from shared.compared(cells)
        cells = {axis: usual[axis] for axis in order}
        if shared := _Shared.of(several, cells, gaussian, even=True):
            (interactions if order else totals).extend(shared.interaction())
    yield from _together("all sub-totals", totals + interactions)
    yield from _together("all sub-totals beside the grand totals", interactions)


def _usual_cells(tables: Sequence[NoisyTable]) -> Cells:
    """For each axis the groups of cells that most tables have."""
    own: dict[Hashable, list[Groups]] = defaultdict(list)
    for table in tables:
        for axis, groups in table.axes.items():
            own[axis].append(groups)
    usual: Cells = {}
    for axis, several in own.items():
        often = Counter(groups.tobytes() for groups in several).most_common(1)[0][0]
        usual[axis] = next(groups for groups in several if groups.tobytes() == often)
    return usual


def _together(about: str, parts: Sequence[Comparison]) -> Iterator[Comparison]:
    if len(parts) > 1:
        squares, free = sum(one.squares for one in parts), sum(one.free for one in parts)
        slack = math.sqrt(sum(one.slack**2 for one in parts))
        yield Comparison(about, squares, free, slack, max(one.excess for one in parts))


@dataclass(frozen=True, eq=False)
class _Shared:
    """Sub-totals of several tables by the same cells: an axis for the tables, then one for each."""

    counts: FloatArray
    variances: FloatArray
    #: How far the rounding to whole numbers can move the root of a sum of squares.
    slack: float
    #: Excess kurtosis of the noise at the most.
    excess: float

    @classmethod
    def of(
        cls, tables: Sequence[NoisyTable], cells: Cells, gaussian: bool, *, even: bool = False
    ) -> _Shared | None:
        """The sub-totals of the tables that have them, with noise enough for the bell."""
        found = [
            (part, table.sigma**2)
            for table in tables
            if (part := table.sub_totals(cells)) is not None
        ]
        found = [(part, each) for part, each in found if part[1].min() * each >= LEAST_SPREAD**2]
        if even:
            found = [(part, each) for part, each in found if part[1].min() == part[1].max()]
        if len(found) < 2:
            return None
        counts = np.array([part[0] for part, _ in found])
        variances = np.array([part[1] * each for part, each in found])
        # discrete Gaussian noise is rounded, discrete Laplace noise is a step off
        slack = (0.5 if gaussian else 1.0) * math.sqrt(float((1 / variances).sum()))
        least = min(float(part[1].min()) for part, _ in found)
        excess = 0.0 if gaussian else LAPLACE_EXCESS / least + LEAST_SPREAD**-2
        return cls(counts, variances, slack, excess)

    def squares(self, counts: FloatArray) -> FloatArray:
        """Sum over the tables of squared differences from the mean, in each cell."""
        middle = np.average(counts, axis=0, weights=1 / self.variances)
        return np.asarray(((counts - middle) ** 2 / self.variances).sum(axis=0))

    def compared(self, cells: Cells) -> Iterator[Comparison]:
        """Against their mean; and once more without the worst cell.

        The second finds exact cells with all of the noise in one of them.
        """
        squares, free = self.squares(self.counts), len(self.counts) - 1
        words = " and ".join(axis if isinstance(axis, str) else "innovations" for axis in cells)
        about = f"sub-totals by {words}" if words else "grand totals"
        about += f" of {len(self.counts)} tables"
        total, size = float(squares.sum()), squares.size
        yield Comparison(about, total, free * size, self.slack, self.excess)
        if size > 1:
            about, rest = f"{about}, without one cell", total - float(squares.max())
            yield Comparison(about, rest, free * (size - 1), self.slack, self.excess, size)

    def interaction(self) -> Iterator[Comparison]:
        """What sub-totals by fewer axes do not say; all cells of a table have the same noise."""
        counts = self.counts
        for axis in range(1, counts.ndim):
            counts = counts - counts.mean(axis=axis, keepdims=True)
        free = (len(counts) - 1) * math.prod(size - 1 for size in counts.shape[1:])
        if free:
            total = float(self.squares(counts).sum())
            yield Comparison("", total, free, self.slack, self.excess)
