"""Does a transcript fit the ledger of its model? The evidence that ``shirley verify`` looks at.

A saved PrivateVine is its transcript: every noisy answer, with the noise that it carries. So one
who writes another epsilon into the ledger has to explain the answers. Checked are

- each query against its spend: same stage, mechanism, number of tables; share times the total of
  the budget is the cost; sigma is what cost and sensitivity imply;
- each query against the algorithm, driven again by the answers: what it asks for at which share;
- the noise that can be seen: every table counts all rows, so tables that share columns have the
  same sub-totals for each cell of these columns, but for noise (the same grand total if they share
  none). Sub-totals that agree better than the stated noise allows (or worse) were not made with it.

The last check compares sub-totals with their weighted mean, one chi-square for each set of columns
and cells that tables share, and one for all of them together. The noises are independent, whatever
the rows are, so by Gaussian approximation a true model is suspected with a chance of about 1e-9,
all comparisons together. It finds noise that was left out of the cells or made smaller. It does not
find numbers that were made up to disagree as noise would.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.stats import chi2

from copula_shirley.measure.calibration import Calibration
from copula_shirley.measure.queries import Choice, Discovery, Distances, Queries, Query, Tables
from copula_shirley.measure.transcript import Transcript, replay
from copula_shirley.privacy.ledger import Reason, Spend
from copula_shirley.private_vine.cell_maps import AllRows, GroupKey, InnovationKey
from copula_shirley.private_vine.domain import learn_domain
from copula_shirley.private_vine.leaves import LeafKey
from copula_shirley.private_vine.stages import learn
from copula_shirley.schema.domain import FloatArray

if TYPE_CHECKING:
    from copula_shirley.private_vine.generator import PrivateVine

T = TypeVar("T")
#: Relative slack of costs and noise, for machines that round otherwise.
SLACK = 1e-9
#: Sub-totals with less noise than this are whole numbers rather than bell-shaped.
LEAST_SPREAD = 5.0
#: Chance of suspecting a true model, for each tail.
SUSPICION = 5e-10
#: Noise that would have to be so many times smaller to be found is not shown at all.
LEAST_SHOWN = 0.01
#: Excess kurtosis of Laplace noise.
LAPLACE_EXCESS = 3.0


def evidence(model: PrivateVine) -> tuple[list[str], float | None]:
    """What ledger and transcript of a loaded model say differently, and how much noise shows.

    The second is the part of the stated noise below which the answers would have given it away;
    None if they show nothing of it.
    """
    transcript = model.transcript_
    noise = model._noise(model.schema_)
    asked = _asked(model, transcript)
    if len(asked) != len(transcript.queries):
        wrong = f"the transcript has {len(transcript.queries)} answers, {len(asked)} are asked for"
        return [wrong], None
    found = []
    for i, (query, about) in enumerate(zip(asked, transcript.queries, strict=True)):
        values = transcript.answers[i].values
        odd = _against_query(query, about, values) or _against_noise(query, about, noise)
        if odd:
            found.append(f"answer {i + 1} of the transcript ({query.stage}): {odd}")
    found += _against_spends(model, asked, noise)
    if noise.budget is None:
        return found, None
    disagreement, shown = against_sub_totals(asked, transcript, noise)
    return found + disagreement, shown


def _asked(model: PrivateVine, transcript: Transcript) -> list[Query]:
    """The queries of the algorithm when it is driven by the answers."""
    seen: list[Query] = []
    start = 0
    if model._stored:
        domain = learn_domain(model._stored, model.target, model._noise(model.schema_))
        _, start = replay(_watched(domain, seen), transcript)
    problem = model.problem(model.schema_, model._pool_seed)
    replay(_watched(learn(problem, lambda *_: None), seen), transcript, start)
    return seen


def _watched(rounds: Queries[T], seen: list[Query]) -> Queries[T]:
    """The same rounds, each query written down."""
    try:
        query = next(rounds)
        while True:
            seen.append(query)
            query = rounds.send((yield query))
    except StopIteration as end:
        result: T = end.value
        return result


def _count(query: Query) -> int:
    """How many tables or distances share the query's budget."""
    return query.count if isinstance(query, Choice) else len(query.cell_maps)


def _against_query(query: Query, about: dict[str, Any], values: Sequence[Any]) -> str | None:
    if not math.isclose(about["share"], query.share, rel_tol=SLACK):
        return f"its share ({about['share']:.6g}) is not the {query.share:.6g} of the algorithm"
    if about["what"] != [list(key.names) for key in query.cell_maps]:
        return "it is about other columns than the algorithm asks for"
    if isinstance(query, Tables):
        shapes = [tuple(key.shape) for key in query.cell_maps]
    elif isinstance(query, Distances):
        shapes = [(len(query.cell_maps),)]
    elif isinstance(query, Choice):
        shapes = [(query.count,)]
    else:
        shapes = [(len(labels) + 1,) for labels in about["labels"]]
    if [np.shape(array) for array in values] != shapes:
        return "its tables have another shape than the algorithm asks for"
    if any(array.dtype != np.int64 for array in values):
        return "its answers are not whole numbers"
    return None


def _against_noise(query: Query, about: dict[str, Any], noise: Calibration) -> str | None:
    implied = 0.0
    if not isinstance(query, Choice):
        distances = isinstance(query, Distances)
        implied = noise.sigma(query.share, len(query.cell_maps), distances=distances)
    if not math.isclose(about["sigma"], implied, rel_tol=SLACK):
        return f"its noise ({about['sigma']:.6g}) is not the {implied:.6g} that its cost implies"
    return None


def _against_spends(model: PrivateVine, asked: Sequence[Query], noise: Calibration) -> list[str]:
    """Each query has its spend, or without noise its unprotected use."""
    ledger = model.ledger_
    if noise.budget is None:
        uses = [use for use in ledger.unprotected if use.reason is Reason.NOISE_OFF]
        if ledger.spends or [use.stage for use in uses] != [query.stage for query in asked]:
            return ["noise is off, but the ledger does not call every answer unprotected"]
        return []
    if len(ledger.spends) != len(asked):
        return [f"the ledger has {len(ledger.spends)} spends for {len(asked)} answers"]
    found = []
    for i, (query, spend) in enumerate(zip(asked, ledger.spends, strict=True)):
        wrong = _against_spend(query, spend, noise)
        if wrong:
            found.append(f"spend {i + 1} of the ledger ({spend.stage}): {wrong}")
    return found


def _against_spend(query: Query, spend: Spend, noise: Calibration) -> str | None:
    mechanism = "discrete gaussian" if noise.zcdp else "discrete laplace"
    if isinstance(query, Choice):
        mechanism = "exponential"
    if (spend.stage, spend.mechanism) != (query.stage, mechanism):
        return f"the answer is one of {query.stage!r} by {mechanism}"
    cost, paid = query.share * noise.total, spend.rho if noise.zcdp else spend.epsilon
    if not math.isclose(paid, cost, rel_tol=SLACK):
        return f"its cost ({paid:.6g}) is not the {cost:.6g} of its share"
    failing = noise.failure_probability if isinstance(query, Discovery) else 0.0
    if not math.isclose(spend.delta, failing, rel_tol=SLACK):
        return f"its delta ({spend.delta:.3g}) is not the {failing:.3g} of its kind"
    if spend.rows != "all rows":
        return f"it is charged to {spend.rows!r}, but all rows were counted"
    return None


# -- sub-totals ------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Table:
    """A noisy table in one cell of which every row lies.

    Parameters
    ----------
    axes : what each axis is about: a column, or innovations on a grid
    groups : for each axis the group of each of the finest cells
    counts : noisy counts
    noises : how many noises each of them carries
    sigma : standard deviation of one noise
    """

    axes: tuple[Hashable, ...]
    groups: tuple[NDArray[np.intp], ...]
    counts: FloatArray
    noises: FloatArray
    sigma: float

    def sub_totals(
        self, coarse: dict[Hashable, NDArray[np.intp]]
    ) -> tuple[FloatArray, FloatArray] | None:
        """Counts and numbers of noises by some axes, in coarser groups of their cells.

        None if a cell of the table would be cut.
        """
        counts, noises = self.counts, self.noises
        for i in reversed(range(len(self.axes))):
            if self.axes[i] not in coarse:
                counts, noises = counts.sum(axis=i), noises.sum(axis=i)
                continue
            fine, wide = self.groups[i], coarse[self.axes[i]]
            place = np.zeros(int(fine.max()) + 1, dtype=np.intp)
            place[fine] = wide
            if not np.array_equal(place[fine], wide):
                return None
            counts, noises = (_merged(array, i, place) for array in (counts, noises))
        kept = [axis for axis in self.axes if axis in coarse]
        order = [kept.index(axis) for axis in coarse]
        return counts.transpose(order), noises.transpose(order)


def _merged(array: FloatArray, axis: int, place: NDArray[np.intp]) -> FloatArray:
    """The sums of an array's slices along an axis that have the same place."""
    slices = np.moveaxis(array, axis, 0)
    sums = np.zeros((int(place.max()) + 1, *slices.shape[1:]))
    np.add.at(sums, place, slices)
    return np.moveaxis(sums, 0, axis)


def _tables(asked: Sequence[Query], transcript: Transcript) -> list[_Table]:
    found = []
    for query, answer in zip(asked, transcript.answers, strict=True):
        if not isinstance(query, Tables):
            continue
        for key, table in zip(query.cell_maps, answer.values, strict=True):
            counts = np.asarray(table, dtype=float)
            noises = np.ones(counts.shape)
            if isinstance(key, AllRows):
                found.append(_Table((), (), counts.reshape(()), np.ones(()), answer.sigma))
            elif isinstance(key, GroupKey):
                found.append(_Table(key.names, key.groups, counts, noises, answer.sigma))
            elif isinstance(key, LeafKey):
                found.append(_cut_cells(key, counts, answer.sigma))
            elif isinstance(key, InnovationKey):
                # u(variable | given) on the same grid is the same function of a row in each table
                axes = tuple((v, key.given, key.grid) for v in (key.partner, key.child))
                even = (np.arange(key.grid), np.arange(key.grid))
                found.append(_Table(axes, even, counts, noises, answer.sigma))
    return found


def _cut_cells(key: LeafKey, counts: FloatArray, sigma: float) -> _Table:
    """The counts of cells all of whose leaves were counted; all other rows are in one group."""
    cell = key.leaves.cell
    whole = np.bincount(cell, ~key.new) == 0
    group = np.where(whole, np.cumsum(whole), 0)
    entry = np.append(0, group[cell[key.new]])  # the group of each count of the table
    size = int(whole.sum()) + 1
    together = np.bincount(entry, counts, size).astype(float)
    noises = np.bincount(entry, minlength=size).astype(float)
    return _Table(key.names, (group,), together, noises, sigma)


@dataclass(frozen=True)
class _Comparison:
    """How far noisy numbers are from their weighted mean, in units of the stated noise."""

    about: str
    #: Sum of squares, and its degrees of freedom.
    squares: float
    free: int
    #: How far the rounding to whole numbers can move the root of ``squares``.
    slack: float
    #: Excess kurtosis of the noise at the most: 0 for bell-shaped noise.
    excess: float
    #: Of how many that could have been looked at this one has the least sum of squares.
    least_of: int = 1

    def nearest(self, chance: float) -> float:
        """Sum of squares that true noise goes below with this chance.

        The variance of the sum is at most 1 + excess/2 times that of a chi-square, so it is taken
        for a scaled chi-square of so many degrees less, whose lower tail is the heavier one.
        """
        wider = 1 + self.excess / 2
        return float(wider * chi2.ppf(chance / self.least_of, self.free / wider))

    def too_little(self, chance: float) -> bool:
        """Whether there is less noise than true noise would show."""
        return (math.sqrt(self.squares) + self.slack) ** 2 < self.nearest(chance)

    def too_much(self, chance: float) -> bool:
        """Whether there is more noise; of heavier tails than the bell's nothing is said."""
        over = max(math.sqrt(self.squares) - self.slack, 0.0) ** 2
        return self.excess == 0 and self.least_of == 1 and over > chi2.isf(chance, self.free)

    def visible(self, chance: float) -> float:
        """Part of the stated noise below which all noise would be too little."""
        return (math.sqrt(self.nearest(chance)) - self.slack) / math.sqrt(self.free)


def against_sub_totals(
    asked: Sequence[Query], transcript: Transcript, noise: Calibration
) -> tuple[list[str], float | None]:
    """Whether tables that share columns differ as much as their noise says.

    Returns what is wrong, and the part of the stated noise below which it would have been found.
    """
    compared = _comparisons(_tables(asked, transcript), noise.zcdp)
    if not compared:
        return [], None
    chance = SUSPICION / len(compared)
    visible = max(one.visible(chance) for one in compared)
    shown = visible if visible >= LEAST_SHOWN else None
    wrong = [one for one in compared if one.too_little(chance) or one.too_much(chance)]
    if not wrong:
        return [], shown
    worst = max(wrong, key=lambda one: one.free)
    ratio = math.sqrt(worst.squares / worst.free)
    return [
        f"the answers carry about {ratio:.2g} times the noise that the transcript states "
        f"({worst.about})"
    ], shown


def _comparisons(tables: Sequence[_Table], bell: bool) -> list[_Comparison]:
    """All that is compared: sub-totals by each set of shared axes, and all of them together."""
    sharing: dict[frozenset[Hashable], list[_Table]] = defaultdict(list)
    for table in tables:
        for count in range(len(table.axes) + 1):
            for some in combinations(table.axes, count):
                sharing[frozenset(some)].append(table)
    found: list[_Comparison] = []
    effects: list[_Comparison] = []
    usual = _usual(tables)
    for axes, several in sharing.items():
        if len(several) < 2:
            continue
        for coarse in _cell_sets(axes, several):
            shared = _sub_totals(several, coarse)
            if len(shared) > 1:
                found += _compared(shared, bell)
        shared = _sub_totals(several, {axis: usual[axis] for axis in sorted(axes, key=repr)})
        effects += _effect([one for one in shared if one.even], bell)
    beside = [one for one in effects if one.about]
    found += _together("all sub-totals", effects)
    return found + _together("all sub-totals beside the grand totals", beside)


def _usual(tables: Sequence[_Table]) -> dict[Hashable, NDArray[np.intp]]:
    """For each axis the groups of cells that most tables have."""
    met: dict[Hashable, dict[bytes, list[NDArray[np.intp]]]] = defaultdict(
        lambda: defaultdict(list)
    )
    for table in tables:
        for axis, groups in zip(table.axes, table.groups, strict=True):
            met[axis][groups.tobytes()].append(groups)
    return {axis: max(kinds.values(), key=len)[0] for axis, kinds in met.items()}


def _cell_sets(
    axes: frozenset[Hashable], tables: Sequence[_Table]
) -> Iterator[dict[Hashable, NDArray[np.intp]]]:
    """The different groups of cells that tables have along some axes, the axes in one order."""
    seen = set()
    for table in tables:
        own = dict(zip(table.axes, table.groups, strict=True))
        coarse = {axis: own[axis] for axis in sorted(axes, key=repr)}
        name = tuple(groups.tobytes() for groups in coarse.values())
        if name not in seen:
            seen.add(name)
            yield coarse


@dataclass(frozen=True, eq=False)
class _SubTotals:
    """Sub-totals of a table by some axes: an array with an axis for each of them."""

    about: str
    counts: FloatArray
    variances: FloatArray
    #: How many noises each carries.
    noises: FloatArray

    @property
    def even(self) -> bool:
        """Whether all of them have the same noise."""
        return bool(self.noises.min() == self.noises.max())


def _sub_totals(
    tables: Sequence[_Table], coarse: dict[Hashable, NDArray[np.intp]]
) -> list[_SubTotals]:
    """Sub-totals of the tables that have them, with enough noise for the approximation."""
    words = (axis if isinstance(axis, str) else "innovations" for axis in coarse)
    about = " and ".join(dict.fromkeys(words))
    found = []
    for table in tables:
        part = table.sub_totals(coarse)
        if part is not None and part[1].min() * table.sigma**2 >= LEAST_SPREAD**2:
            counts, noises = part
            found.append(_SubTotals(about, counts, noises * table.sigma**2, noises))
    return found


def _compared(shared: Sequence[_SubTotals], bell: bool) -> list[_Comparison]:
    """Sub-totals of several tables against their mean; and once more without the worst cell.

    The second finds exact cells with all of the noise in one of them.
    """
    counts = np.array([one.counts.ravel() for one in shared])
    variances = np.array([one.variances.ravel() for one in shared])
    middle = np.average(counts, axis=0, weights=1 / variances)
    squares = ((counts - middle) ** 2 / variances).sum(axis=0)  # of each cell
    cells, free = len(squares), len(shared) - 1
    step = _step(bell)
    slack = step * math.sqrt(float((1 / variances).sum()))
    least = min(float(one.noises.min()) for one in shared)
    excess = 0.0 if bell else LAPLACE_EXCESS / least + LEAST_SPREAD**-2
    about = f"sub-totals by {shared[0].about}" if shared[0].about else "grand totals"
    about += f" of {len(shared)} tables"
    found = [_Comparison(about, float(squares.sum()), free * cells, slack, excess)]
    if cells > 1:
        rest = float(squares.sum() - squares.max())
        about += ", without one cell"
        found.append(_Comparison(about, rest, free * (cells - 1), slack, excess, cells))
    return found


def _effect(shared: Sequence[_SubTotals], bell: bool) -> list[_Comparison]:
    """Sub-totals of several tables less what sub-totals by fewer axes say.

    With the same noise in every cell, what is left after the means along each axis are taken off
    has noise that is independent of all other such effects of the table (analysis of variance). So
    sums of squares of all effects of all tables can be added up, with their degrees of freedom.
    """
    if len(shared) < 2:
        return []
    counts = np.array([one.counts for one in shared])
    for axis in range(1, counts.ndim):
        counts = counts - counts.mean(axis=axis, keepdims=True)
    variances = np.array([one.variances.flat[0] for one in shared])
    middle = np.average(counts, axis=0, weights=1 / variances)
    weights = (1 / variances).reshape(-1, *[1] * (counts.ndim - 1))
    free = (len(shared) - 1) * math.prod(size - 1 for size in counts.shape[1:])
    if free == 0:
        return []
    slack = _step(bell) * math.sqrt(float((1 / variances).sum()) * middle.size)
    squares = float((weights * (counts - middle) ** 2).sum())
    excess = 0.0 if bell else LAPLACE_EXCESS + LEAST_SPREAD**-2
    return [_Comparison(shared[0].about, squares, free, slack, excess)]


def _together(about: str, effects: Sequence[_Comparison]) -> list[_Comparison]:
    if len(effects) < 2:
        return []
    slack = math.sqrt(sum(one.slack**2 for one in effects))
    squares, free = sum(one.squares for one in effects), sum(one.free for one in effects)
    return [_Comparison(about, squares, free, slack, effects[0].excess)]


def _step(bell: bool) -> float:
    """How far noise in whole numbers is from continuous noise: rounded, or a step of Laplace's."""
    return 0.5 if bell else 1.0
