"""Monte Carlo membership inference (Hilprecht et al. 2019; thesis 4.3.3).

The attacker holds synthetic rows and records of which half were in the training table. Records
that lie near many synthetic rows are called members. 0.5 is what a coin gives.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import norm
from threadpoolctl import threadpool_limits

from copula_shirley.errors import SettingError
from copula_shirley.evaluation.attacks.matching import Codes, agreement_counts
from copula_shirley.evaluation.attacks.plain import (
    Wide,
    check_positive,
    join,
    plain_codes,
    plain_points,
    scaled,
)
from copula_shirley.evaluation.comparison import Comparison, declared_range
from copula_shirley.evaluation.result import Result
from copula_shirley.generator import RandomState, generator_of
from copula_shirley.schema.domain import FloatArray
from copula_shirley.schema.schema import Column

Distance = Literal["hamming", "euclidean"]
Estimator = Literal["distance", "counting"]
#: Added to distances, so that the logarithm of an exact copy's is finite.
TINY = 1e-12
#: Records whose distances are computed at once, so that they stay in the processor's cache.
ROWS_AT_ONCE = 256
#: If there are more pairs, none is kept and distances are computed twice.
PAIRS_TO_KEEP = 1 << 23
#: Squared distances below it are computed again, pair by pair.
CANCELS_BELOW = 1e-6
ROUNDING = 1e-9
NO_CODES = Wide()


@dataclass(frozen=True)
class Membership:
    """What the attack achieved.

    Attributes
    ----------
    mean, maximum : float
        Share of true members among the records called members, over the repetitions.
    interval : tuple
        95 % interval of the mean. It holds for fresh records, not only for fresh repetitions:
        the spread of one coin-tossing attacker over m members is part of it. Records count as
        independent; ``evaluate`` widens it where the schema names a person with several rows.
    shares : array
        The share in each repetition.
    members : int
        m: as many training and as many control records were judged in each repetition.
    n_synthetic : int
        Synthetic rows used in each repetition; fewer than asked for if the table has fewer.
    """

    mean: float
    maximum: float
    interval: tuple[float, float]
    shares: FloatArray
    distance: Distance
    estimator: Estimator
    members: int
    n_synthetic: int

    @property
    def detected(self) -> bool:
        """Whether the attack is better than a coin, beyond chance."""
        return self.interval[0] > 0.5


def membership_inference(
    train: pd.DataFrame,
    control: pd.DataFrame,
    synthetic: pd.DataFrame,
    distance: Distance = "hamming",
    n_synthetic: int | None = 500,
    repetitions: int = 50,
    random_state: RandomState = None,
    *,
    estimator: Estimator = "distance",
    members: int | None = None,
) -> Membership:
    """Attack a synthetic table: tell which records were in the training table.

    In each repetition m training rows, m control rows and n synthetic rows are drawn without
    replacement. The radius r is the median over the 2m records of the least distance to a
    synthetic row. A record x scores ``-(1/n) * sum log(d(x, g) + 1e-12)`` over the synthetic
    rows g within r, or with ``estimator="counting"`` their share. The m highest scores are
    called members; records that tie at the cut are called with equal chances, of which the
    expected share is taken.

    Departs from the thesis: its formula lacks the minus sign, without which the farthest
    records would be called members.

    Parameters
    ----------
    train, control, synthetic : DataFrame
        Tables with the same columns; control rows were not seen by the generator. A missing
        value equals another missing value and nothing else.
    distance : {"hamming", "euclidean"}
        Share of differing columns; or the root mean square over the columns of differences,
        numbers scaled to the range that they have in the three tables, texts and booleans
        differing by 0 or 1.
    n_synthetic : int or None
        Synthetic rows in each repetition; None for all, with which the attack is strongest.
    repetitions : int
    random_state : None, int or Generator
    estimator : {"distance", "counting"}
    members : int, optional
        m; as many as the smaller of training and control table has.

    Examples
    --------
    >>> rows = pd.DataFrame({"a": range(100), "b": range(100)})
    >>> train, control = rows[:50], rows[50:]
    >>> membership_inference(train, control, train, n_synthetic=None, random_state=0).mean
    1.0
    """
    how = Attack(distance, n_synthetic, repetitions, (estimator,), members)
    tables = {"train": train, "control": control, "synthetic": synthetic}
    encoded, wide = (
        (plain_codes(tables), NO_CODES) if distance == "hamming" else plain_points(tables)
    )
    return how.on(encoded, wide, generator_of(random_state))[estimator]


@dataclass(frozen=True)
class Attack:
    """The settings of an attack: those of ``membership_inference``, with several estimators."""

    distance: Distance = "hamming"
    n_synthetic: int | None = 500
    repetitions: int = 50
    estimators: tuple[Estimator, ...] = ("distance", "counting")
    members: int | None = None

    def __post_init__(self) -> None:
        if self.distance not in ("hamming", "euclidean"):
            raise SettingError(f"distance ({self.distance!r}) must be hamming or euclidean")
        for estimator in self.estimators:
            if estimator not in ("distance", "counting"):
                raise SettingError(f"estimator ({estimator!r}) must be distance or counting")
        check_positive("repetitions", self.repetitions)
        for name in ("members", "n_synthetic"):
            if getattr(self, name) is not None:
                check_positive(name, getattr(self, name))

    def on(
        self,
        tables: Sequence[NDArray[Any]],
        wide: Wide,
        rng: np.random.Generator,
        rows_per_person: float = 1.0,
    ) -> dict[Estimator, Membership]:
        """Attack training, control and synthetic rows, by each estimator.

        Rows are codes for the Hamming distance and points (and codes of ``wide`` columns) for the
        Euclidean one. With several ``rows_per_person`` the interval is that of so many times fewer
        records.
        """
        # rows are drawn from a fixed order, so that theirs in the table does not matter
        train, control, synthetic = (in_order(table) for table in tables)
        m = min(len(train), len(control), self.members or len(train))
        n = min(len(synthetic), self.n_synthetic or len(synthetic))
        everyone, all_judged = np.concatenate([train, control]), m == len(train) == len(control)
        if self.distance == "hamming":
            enough = _enough_agreements(everyone, synthetic[:n])
            score: Callable[..., Scores] = partial(_hamming_scores, enough=enough)
        else:
            guess = _guessed_radius(everyone, synthetic[:n], wide)
            score = partial(_euclidean_scores, guess=guess, wide=wide)

        def repetition(own: np.random.Generator) -> list[float]:
            records = everyone
            if not all_judged:
                records = np.concatenate([draw_rows(train, m, own), draw_rows(control, m, own)])
            scores = score(records, draw_rows(synthetic, n, own), self.estimators)
            return [share_of_members(scores[estimator]) for estimator in self.estimators]

        if all_judged and n == len(synthetic):  # nothing is drawn
            results = [repetition(rng)] * self.repetitions
        else:
            workers = min(os.cpu_count() or 1, 8)
            with threadpool_limits(1), ThreadPoolExecutor(workers) as pool:
                results = list(pool.map(repetition, rng.spawn(self.repetitions)))
        return {
            estimator: Membership(
                float(shares.mean()),
                float(shares.max()),
                _interval(shares, m / rows_per_person),
                *(shares, self.distance, estimator, m, n),
            )
            for estimator, shares in zip(self.estimators, np.array(results).T, strict=True)
        }


def share_of_members(scores: FloatArray) -> float:
    """Share of members among the better half; the first half of the records are members.

    Examples
    --------
    >>> share_of_members(np.array([3.0, 1.0, 2.0, 0.0]))
    0.5
    >>> share_of_members(np.ones(4))
    0.5
    """
    m = len(scores) // 2
    scores = np.round(scores, 9)  # sums of logarithms that are equal but for rounding tie
    cut = np.partition(scores, m)[m]  # the m-th highest
    called = int(np.sum(scores[:m] > cut))
    left = m - int(np.sum(scores > cut))
    tied = scores == cut
    return float((called + left * tied[:m].sum() / tied.sum()) / m)


def _interval(shares: FloatArray, m: float) -> tuple[float, float]:
    """The 95 % interval of the mean share, for m independent members.

    Repetitions judge the same control records and overlapping members, so that their spread
    alone says too little. A coin that calls m of 2m records has variance p(1-p)/m times
    m/(2m-1), which no number of repetitions removes.
    """
    of_records = 0.25 / max(2 * m - 1, 1)
    of_repetitions = float(shares.var(ddof=1)) / len(shares) if len(shares) > 1 else 0.0
    reach = float(norm.ppf(0.975) * np.sqrt(of_records + of_repetitions))
    mean = float(shares.mean())
    return max(mean - reach, 0.0), min(mean + reach, 1.0)


def in_order(table: NDArray[Any]) -> NDArray[Any]:
    """Sort rows by a 64-bit hash of theirs, some twenty times faster than by their values."""
    keys = (table + 0.0).view(np.uint64)
    factors = np.random.default_rng(0).integers(1 << 63, size=table.shape[1], dtype=np.uint64)
    keys ^= keys >> np.uint64(32)  # whole numbers have nothing but zeros in the low bits
    keys *= 2 * factors + 1
    keys ^= keys >> np.uint64(29)
    return table[np.argsort(keys.sum(axis=1, dtype=np.uint64), kind="stable")]


def draw_rows(table: NDArray[Any], n: int, rng: np.random.Generator) -> NDArray[Any]:
    """Some rows without replacement; all of them as they are."""
    return table if n == len(table) else table[rng.choice(len(table), n, replace=False)]


Scores = dict[Estimator, FloatArray]


def _hamming_scores(
    records: Codes, rows: Codes, estimators: tuple[Estimator, ...], enough: int = 0
) -> Scores:
    """Scores from the numbers of synthetic rows at each distance 0, 1/d, ..., 1.

    Rows that agree in fewer than ``enough`` columns are not counted, which saves time, unless
    it turns out that the median of the least distances lies beyond.
    """
    d = records.shape[1]
    near = agreement_counts(records, rows, enough).T[: enough - 1 if enough else None : -1]
    seen = near.any(axis=0)
    if 2 * np.count_nonzero(seen) <= len(records):
        return _hamming_scores(records, rows, estimators)
    nearest = np.where(seen, (near > 0).argmax(axis=0), d)
    # the median of whole numbers is a multiple of 1/2, and exact
    inside = near[: int(np.median(nearest)) + 1]
    shares = np.arange(len(inside)) / d
    weights = {"distance": -np.log(shares + TINY), "counting": np.ones(len(inside))}
    return {estimator: weights[estimator] @ inside / len(rows) for estimator in estimators}


def _enough_agreements(records: Codes, rows: Codes) -> int:
    """In how many columns most records agree with their nearest row; from a few of them."""
    counts = agreement_counts(records[:: len(records) // 256 + 1], rows)
    most = counts.shape[1] - 1 - (counts[:, ::-1] > 0).argmax(axis=1)
    return int(np.quantile(most, 0.4, method="lower"))


def _euclidean_scores(
    records: FloatArray,
    rows: FloatArray,
    estimators: tuple[Estimator, ...],
    guess: float = 0.0,
    wide: Wide = NO_CODES,
) -> Scores:
    """Scores from squared distances, chunk by chunk, in one look if the radius was guessed.

    ``guess`` is a squared radius. If the true one is not beyond, the pairs seen on the way are
    all there is; otherwise, or if they would be too many to keep, there is a second look.
    """
    if len(records) * len(rows) > PAIRS_TO_KEEP:
        guess = -1.0
    looks = [_look(squares, guess) for squares in _squares(records, rows, wide)]
    least = np.concatenate([nearest for nearest, _, _ in looks])
    # rows right at the radius are inside, whatever rounding did to them
    radius = np.median(np.sqrt(least)) ** 2 * (1 + ROUNDING)
    again = (_look(squares, radius) for squares in _squares(records, rows, wide))
    scores: dict[Estimator, list[FloatArray]] = {estimator: [] for estimator in estimators}
    for nearest, owners, squares in looks if radius <= guess else again:
        inside = squares <= radius
        weights = {
            "distance": -np.log(np.sqrt(squares[inside]) + TINY) / len(rows),
            "counting": np.full(np.count_nonzero(inside), 1 / len(rows)),
        }
        for estimator in estimators:
            total = np.bincount(owners[inside], weights[estimator], len(nearest))
            scores[estimator].append(total.astype(float))
    return {estimator: np.concatenate(parts) for estimator, parts in scores.items()}


def _guessed_radius(records: FloatArray, rows: FloatArray, wide: Wide) -> float:
    """A squared radius that will do for most draws of rows, from a few records."""
    some = records[:: len(records) // 256 + 1]
    least = np.concatenate([squares.min(axis=1) for squares in _squares(some, rows, wide)])
    return float(1.1 * np.median(least) + TINY)


def _look(squares: FloatArray, radius: float) -> tuple[FloatArray, NDArray[np.intp], FloatArray]:
    """The least of each line, and the entries up to the radius with the lines they stand in."""
    inside = np.flatnonzero(squares <= radius)
    return squares.min(axis=1), inside // squares.shape[1], squares.ravel()[inside]


def _squares(records: FloatArray, rows: FloatArray, wide: Wide) -> Iterator[FloatArray]:
    """Squared Euclidean distances of all pairs, a chunk of records at a time.

    One product of matrices gives |x|^2 - 2 x g + |g|^2. It cancels where x and g are close:
    those are computed again, pair by pair. Codes that differ are far apart.
    """
    places = records.shape[1] - wide.columns
    (records, codes), (rows, others) = (np.split(x, [places], axis=1) for x in (records, rows))
    used = rows.any(axis=0)
    left = np.column_stack([records[:, used], (records**2).sum(axis=1), np.ones(len(records))])
    right = np.column_stack([-2 * rows[:, used], np.ones(len(rows)), (rows**2).sum(axis=1)])
    desk = np.empty((ROWS_AT_ONCE, len(rows)))
    for start in range(0, len(records), ROWS_AT_ONCE):
        chunk = left[start : start + ROWS_AT_ONCE]
        squares = np.matmul(chunk, right.T, out=desk[: len(chunk)])
        for own, other in zip(codes[start : start + ROWS_AT_ONCE].T, others.T, strict=True):
            squares += wide.weight * (own[:, None] != other)
        near = np.flatnonzero(squares.min(axis=1) < CANCELS_BELOW)
        if len(near):
            i, j = np.nonzero(squares[near] < CANCELS_BELOW)
            i = near[i]
            squares[i, j] = ((records[start + i] - rows[j]) ** 2).sum(axis=1)
        yield squares


# -- metrics -------------------------------------------------------------------


def membership(
    distance: Distance,
    estimator: Estimator,
    which: Literal["mean", "maximum"],
    n_synthetic: int | None,
    c: Comparison,
) -> Result:
    """One figure of the attack with its defaults; control rows are the test rows."""
    name = f"membership {distance} {n_synthetic}"
    how = Attack(distance, n_synthetic, repetitions=50 if n_synthetic else 1)
    rows_each = (c.train.rows_per_person + c.test.rows_per_person) / 2
    shared = c.once(name, lambda c: how.on(*_encoded(c, distance), c.rng(name), rows_each))
    found = shared[estimator]
    notes = [c.note_on_people]
    if n_synthetic is not None and found.n_synthetic < n_synthetic:
        notes.append(f"only {found.n_synthetic} synthetic rows, {n_synthetic} asked for")
    detail: dict[str, object] = {
        "mean": found.mean,
        "maximum": found.maximum,
        "interval": found.interval,
        "members": found.members,
        "n_synthetic": found.n_synthetic,
        "repetitions": len(found.shares),
        **({"note": "; ".join(filter(None, notes))} if any(notes) else {}),
    }
    return Result(found.mean if which == "mean" else found.maximum, detail)


def _encoded(c: Comparison, distance: Distance) -> tuple[list[NDArray[Any]], Wide]:
    """Rows as whole numbers; or as points, with numbers scaled to the declared range."""
    stacked = [
        np.concatenate([rows.numbers[name] for rows in (c.train, c.test, c.synthetic)])
        for name in c.schema.names
    ]
    wide = NO_CODES
    if distance == "hamming":
        codes = [np.unique(numbers, return_inverse=True)[1] for numbers in stacked]
        table: NDArray[Any] = np.column_stack(codes).astype(np.int32)
    else:
        pairs = zip(c.schema, stacked, strict=True)
        table, wide = join([_coordinates(column, numbers) for column, numbers in pairs])
    return np.split(table, np.cumsum([len(c.train), len(c.test)])), wide


def _coordinates(column: Column, numbers: FloatArray) -> FloatArray:
    if not column.is_ordered:
        return numbers
    low = column.domain.number_range[0]
    known = np.where(np.isneginf(numbers), np.nan, numbers)
    return scaled(known, low, low + declared_range(column))
