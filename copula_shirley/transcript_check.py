"""Does a transcript fit the ledger of its model? The evidence that ``shirley verify`` looks at.

A saved PrivateVine is its transcript: every noisy answer, with the noise that it carries. So one
who writes another epsilon into the ledger has to explain the answers. Checked are

- each query against its spend: same stage, mechanism, number of tables; share times the total of
  the budget is the cost; sigma is what cost and sensitivity imply;
- each query against the algorithm, driven again by the answers: what it asks for at which share;
- the noise that can be seen: every table counts all rows, so tables that share columns have the same
  sub-totals for each cell of these columns, but for noise (the grand totals if they share none).
  Sub-totals that agree better than the stated noise allows (or worse) were not made with it.

The last check compares all tables that share a set of columns, on the finest cells that they have in
common, with their weighted mean: one chi-square for each set of columns and cells. Noises are
independent, whatever the rows are. By Gaussian approximation a true model is suspected with a chance
of about 1e-9, all comparisons together. It finds noise that was left out or made smaller in the
cells. It does not find numbers that were made up to agree as noise would let them.
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

from copula_shirley.domain import FloatArray
from copula_shirley.fine_margins import LeafKey
from copula_shirley.keys import AllRows, GroupKey, InnovationKey
from copula_shirley.measure import (
    Choice,
    Discovery,
    Distances,
    Noise,
    Query,
    Rounds,
    Tables,
    Transcript,
    replay,
)
from copula_shirley.privacy import Spend
from copula_shirley.private_domain import learn_domain
from copula_shirley.rounds import learn

if TYPE_CHECKING:
    from copula_shirley.private_vine import PrivateVine

T = TypeVar("T")
#: Relative slack of costs and noise, for machines that round otherwise.
SLACK = 1e-9
#: Sub-totals with less noise than this are whole numbers rather than bell-shaped.
LEAST_SPREAD = 5.0
#: Chance of suspecting a true model, for each tail.
SUSPICION = 5e-10
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
    if model.n_rows_ != model._size_to_keep(0):
        found.append(f"the number of rows ({model.n_rows_}) is not the noisy one")
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


def _watched(rounds: Rounds[T], seen: list[Query]) -> Rounds[T]:
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
    return query.count if isinstance(query, Choice) else len(query.keys)


def _against_query(query: Query, about: dict[str, Any], values: Sequence[Any]) -> str | None:
    if not math.isclose(about["share"], query.share, rel_tol=SLACK):
        return f"its share ({about['share']:.6g}) is not the {query.share:.6g} of the algorithm"
    if about["what"] != [list(key.names) for key in query.keys]:
        return "it is about other columns than the algorithm asks for"
    if isinstance(query, Tables):
        shapes = [tuple(key.shape) for key in query.keys]
    elif isinstance(query, Distances):
        shapes = [(len(query.keys),)]
    elif isinstance(query, Choice):
        shapes = [(query.count,)]
    else:
        shapes = [(len(labels) + 1,) for labels in about["labels"]]
    if [np.shape(array) for array in values] != shapes:
        return "its tables have another shape than the algorithm asks for"
    if any(array.dtype != np.int64 for array in values):
        return "its answers are not whole numbers"
    return None


def _against_noise(query: Query, about: dict[str, Any], noise: Noise) -> str | None:
    implied = 0.0
    if not isinstance(query, Choice):
        distances = isinstance(query, Distances)
        implied = noise.sigma(query.share, len(query.keys), distances=distances)
    if not math.isclose(about["sigma"], implied, rel_tol=SLACK):
        return f"its noise ({about['sigma']:.6g}) is not the {implied:.6g} that its cost implies"
    return None


def _against_spends(model: PrivateVine, asked: Sequence[Query], noise: Noise) -> list[str]:
    """Each query has its spend, or without noise its unprotected use."""
    ledger = model.ledger_
    if noise.budget is None:
        uses = [use for use in ledger.unprotected if use.why.startswith("noise is off")]
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


def _against_spend(query: Query, spend: Spend, noise: Noise) -> str | None:
    mechanism = "discrete gaussian" if noise.zcdp else "discrete laplace"
    if isinstance(query, Choice):
        mechanism = "exponential"
    if (spend.stage, spend.mechanism) != (query.stage, mechanism):
        return f"the answer is one of {query.stage!r} by {mechanism}"
    cost, paid = query.share * noise.total, spend.rho if noise.zcdp else spend.epsilon
    if not math.isclose(paid, cost, rel_tol=SLACK):
        return f"its cost ({paid:.6g}) is not the {cost:.6g} of its share"
    failing = noise.failing if isinstance(query, Discovery) else 0.0
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
        """Counts and variances in coarser groups of some axes; None if cells would be cut."""
        cell, size = np.zeros((1,) * len(self.axes), dtype=np.intp), 1
        for i, (axis, groups) in enumerate(zip(self.axes, self.groups, strict=True)):
            if axis not in coarse:
                continue
            place = np.zeros(int(groups.max()) + 1, dtype=np.intp)
            place[groups] = coarse[axis]
            if not np.array_equal(place[groups], coarse[axis]):
                return None
            many = int(coarse[axis].max()) + 1
            along = [1] * len(self.axes)
            along[i] = len(place)
            cell, size = cell * many + place.reshape(along), size * many
        where = np.broadcast_to(cell, self.counts.shape).ravel()
        counts = np.bincount(where, self.counts.ravel(), size).astype(float)
        noises = np.bincount(where, self.noises.ravel(), size)
        return counts, np.asarray(noises * self.sigma**2)


def _tables(asked: Sequence[Query], transcript: Transcript) -> list[_Table]:
    found = []
    for query, answer in zip(asked, transcript.answers, strict=True):
        if not isinstance(query, Tables):
            continue
        for key, table in zip(query.keys, answer.values, strict=True):
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
    return _Table(key.names, (group,), together, np.bincount(entry, minlength=size) * 1.0, sigma)


@dataclass(frozen=True)
class _Comparison:
    """Sub-totals of several tables for the cells that they share, against their weighted mean."""

    about: str
    tables: int
    #: Sum of squares in units of the stated noise, and its degrees of freedom.
    squares: float
    free: int
    #: How far the rounding to whole numbers can move the root of ``squares``.
    slack: float
    #: The largest excess kurtosis of a sub-total: 0 for bell-shaped noise.
    excess: float

    def nearest(self, chance: float) -> float:
        """Sum of squares that true noise goes below with this chance.

        The variance of the sum is at most 1 + excess/2 times that of a chi-square, so it is taken
        for a scaled chi-square of so many degrees less, whose lower tail is the heavier one.
        """
        wider = 1 + self.excess / 2
        return float(wider * chi2.ppf(chance, self.free / wider))

    @property
    def ratio(self) -> float:
        """Noise that is seen, in units of the stated one."""
        return math.sqrt(self.squares / self.free)


def against_sub_totals(
    asked: Sequence[Query], transcript: Transcript, noise: Noise
) -> tuple[list[str], float | None]:
    """Whether tables that share columns differ as much as their noise says.

    Returns what is wrong, and the part of the stated noise below which it would have been found.
    """
    compared = list(_comparisons(_tables(asked, transcript), noise.zcdp))
    if not compared:
        return [], None
    chance = SUSPICION / len(compared)
    suspect, shown = [], 0.0
    for one in compared:
        near = one.nearest(chance)
        root = math.sqrt(one.squares)
        # heavier tails than the bell's: only too little noise is looked for
        loud = noise.zcdp and max(root - one.slack, 0.0) ** 2 > chi2.isf(chance, one.free)
        if (root + one.slack) ** 2 < near or loud:
            suspect.append(one)
        shown = max(shown, (math.sqrt(near) - one.slack) / math.sqrt(one.free))
    if not suspect:
        return [], shown or None
    worst = max(suspect, key=lambda one: abs(math.log(max(one.ratio, 1e-9))) * one.free)
    return [
        f"the answers carry about {worst.ratio:.2g} times the noise that the transcript states: "
        f"{worst.about} of {worst.tables} tables"
    ], shown or None


def _comparisons(tables: Sequence[_Table], bell: bool) -> Iterator[_Comparison]:
    """One comparison for each set of axes that tables share, and each way to group their cells."""
    sharing: dict[frozenset[Hashable], list[_Table]] = defaultdict(list)
    for table in tables:
        for count in range(len(table.axes) + 1):
            for axes in combinations(table.axes, count):
                sharing[frozenset(axes)].append(table)
    for axes, several in sharing.items():
        if len(several) < 2:
            continue
        seen = set()
        for table in several:
            coarse = {a: g for a, g in zip(table.axes, table.groups, strict=True) if a in axes}
            # in one order for all tables, so that the same cell is the same place
            coarse = dict(sorted(coarse.items(), key=lambda item: repr(item[0])))
            name = tuple(groups.tobytes() for groups in coarse.values())
            if name not in seen:
                seen.add(name)
                found = _compared(several, coarse, bell)
                if found is not None:
                    yield found


def _compared(
    tables: Sequence[_Table], coarse: dict[Hashable, NDArray[np.intp]], bell: bool
) -> _Comparison | None:
    parts = []
    for table in tables:
        ordered = _along(table, list(coarse))
        part = ordered.sub_totals(coarse)
        if part is not None and part[1].min() >= LEAST_SPREAD**2:
            parts.append((part, table.sigma))
    if len(parts) < 2:
        return None
    counts = np.array([part[0] for part, _ in parts])
    variances = np.array([part[1] for part, _ in parts])
    middle = np.average(counts, axis=0, weights=1 / variances)
    squares = float(((counts - middle) ** 2 / variances).sum())
    noises = variances / np.array([[sigma**2] for _, sigma in parts])
    # noise in whole numbers is that far from continuous noise: rounding, or a step of Laplace's
    step = 0.5 if bell else 1.0
    about = "grand totals"
    if coarse:
        shown = (str(a) if isinstance(a, str) else "innovations" for a in coarse)
        about = f"sub-totals by {' and '.join(dict.fromkeys(shown))}"
    return _Comparison(
        about,
        len(parts),
        squares,
        (len(parts) - 1) * counts.shape[1],
        step * math.sqrt(float((1 / variances).sum())),
        0.0 if bell else LAPLACE_EXCESS / float(noises.min()) + LEAST_SPREAD**-2,
    )


def _along(table: _Table, first: Sequence[Hashable]) -> _Table:
    """The table with some axes in the order in which they are given, the others behind."""
    order = [table.axes.index(axis) for axis in first]
    order += [i for i in range(len(table.axes)) if i not in order]
    return _Table(
        tuple(table.axes[i] for i in order),
        tuple(table.groups[i] for i in order),
        table.counts.transpose(order),
        table.noises.transpose(order),
        table.sigma,
    )
