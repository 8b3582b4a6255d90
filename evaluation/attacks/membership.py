"""Monte Carlo membership inference (Hilprecht et al. 2019; thesis 4.3.3).

The attacker holds synthetic rows and records of which half were in the training table. Records
that lie near many synthetic rows are called members. 0.5 is what a coin gives.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, get_args

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import norm
from threadpoolctl import threadpool_limits

from copula_shirley.evaluation.attacks.encoding import Distance, Seen, Wide, encoded, plain_columns
from copula_shirley.evaluation.attacks.matching import Codes, agreement_counts
from copula_shirley.evaluation.comparison import Comparison, Rows, declared_range, rows_of, together
from copula_shirley.evaluation.result import Result
from copula_shirley.fitted import RandomState, generator_of
from copula_shirley.schema.domain import FloatArray
from copula_shirley.schema.schema import Schema
from copula_shirley.settings import check_one_of, check_positive_whole

Estimator = Literal["distance", "counting"]
Scores = dict[Estimator, FloatArray]
#: Added to distances, so that the logarithm of an exact copy's is finite.
TINY = 1e-12
#: Records whose distances are computed at once, so that they stay in the processor's cache.
ROWS_AT_ONCE = 256
#: Squared distances of more pairs are not stored but computed twice: 64 MB of them.
PAIRS_TO_STORE = 1 << 23
#: Squared distances below it are computed again, pair by pair.
CANCELS_BELOW = 1e-6
ROUNDING = 1e-9


@dataclass(frozen=True)
class Membership:
    """What the attack achieved.

    ``shares`` holds for each repetition the share of true members among the records called
    members. The 95 % ``interval`` of the mean holds for fresh records, not only for fresh
    repetitions. Records count as independent, unless a schema names a person with several rows.
    Each repetition used ``members`` (m) training records, as many control records and
    ``n_synthetic`` synthetic rows, fewer than asked for if the tables have fewer.
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
    schema: Schema | None = None,
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
        Control rows were not seen by the generator. A missing value equals another missing value
        and nothing else.
    distance : {"hamming", "euclidean"}
        Share of differing columns; or the root mean square over the columns of differences:
        values with an order are scaled to their range, others differ by 0 or 1.
    n_synthetic : int or None
        Synthetic rows in each repetition; None for all, with which the attack is strongest.
    members : int, optional
        m; as many as the smaller of training and control table has.
    schema : Schema, optional
        How to read the tables, as in ``evaluate``: dates and durations in whatever spelling are
        what they mean, ranges are the declared ones, and rows of one person widen the interval.
        Without one, the tables need the same columns, values are compared as they are, ranges are
        those of the three tables, and dates and durations that are texts are refused.

    Examples
    --------
    >>> rows = pd.DataFrame({"a": range(100), "b": range(100)})
    >>> train, control = rows[:50], rows[50:]
    >>> membership_inference(train, control, train, n_synthetic=None, random_state=0).mean
    1.0
    """
    check_one_of("distance", distance, get_args(Distance))
    check_one_of("estimator", estimator, get_args(Estimator))
    numbers = {"repetitions": repetitions, "members": members, "n_synthetic": n_synthetic}
    for name, number in numbers.items():
        if number is not None or name == "repetitions":
            check_positive_whole(name, number)
    tables = {"train": train, "control": control, "synthetic": synthetic}
    rows_each, rng = 1.0, generator_of(random_state)
    if schema is None:
        sizes = [len(table) for table in tables.values()]
        encodings = encoded(plain_columns(tables), sizes, distance)
    else:
        rows = [rows_of(r, t, schema, strict=r != "synthetic") for r, t in tables.items()]
        encodings, rows_each = _by_schema(schema, rows, distance), _rows_each(*rows[:2])
    return _attack(*encodings, n_synthetic, repetitions, rng, members, rows_each)[estimator]


def _by_schema(
    schema: Schema, tables: Sequence[Rows], distance: Distance
) -> tuple[list[NDArray[Any]], Wide | None]:
    """Rows as whole numbers; or as points, with numbers scaled to the declared range."""
    columns = []
    for name, numbers in together(*tables).items():
        low = schema[name].domain.number_range[0]
        ends = (low, low + declared_range(schema[name])) if schema[name].is_ordered else None
        columns.append(Seen(numbers, ends))
    return encoded(columns, [len(rows) for rows in tables], distance)


def _rows_each(train: Rows, control: Rows) -> float:
    return (train.rows_per_person + control.rows_per_person) / 2


def _attack(
    tables: Sequence[NDArray[Any]],
    wide: Wide | None,
    n_synthetic: int | None,
    repetitions: int,
    rng: np.random.Generator,
    members: int | None = None,
    rows_per_person: float = 1.0,
) -> dict[Estimator, Membership]:
    """Attack by each estimator: points (with codes of ``wide`` columns) or codes (Hamming).

    With several ``rows_per_person`` the interval is that of so many times fewer records.
    """
    # rows are drawn from a fixed order, so that theirs in the table does not matter
    train, control, synthetic = (in_order(table) for table in tables)
    m = min(len(train), len(control), members or len(train))
    n = min(len(synthetic), n_synthetic or len(synthetic))
    distance: Distance = "euclidean" if wide else "hamming"
    if wide is None:
        enough = _enough_agreements(np.concatenate([train, control]), synthetic[:n])
        score = partial(_hamming_scores, enough=enough)
    else:
        score = partial(_euclidean_scores, wide=wide)

    def repetition(own: np.random.Generator) -> list[float]:
        records = np.concatenate([draw_rows(train, m, own), draw_rows(control, m, own)])
        scores = score(records, draw_rows(synthetic, n, own))
        return [share_of_members(scores[estimator]) for estimator in get_args(Estimator)]

    if m == len(train) == len(control) and n == len(synthetic):  # nothing is drawn
        results = [repetition(rng)] * repetitions
    else:
        with threadpool_limits(1), ThreadPoolExecutor(min(os.cpu_count() or 1, 8)) as pool:
            results = list(pool.map(repetition, rng.spawn(repetitions)))
    found = {}
    for estimator, shares in zip(get_args(Estimator), np.array(results).T, strict=True):
        mean, maximum = float(shares.mean()), float(shares.max())
        interval = _interval(shares, m / rows_per_person)
        found[estimator] = Membership(mean, maximum, interval, shares, distance, estimator, m, n)
    return found


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


def _hamming_scores(records: Codes, rows: Codes, enough: int = 0) -> Scores:
    """Scores from the numbers of synthetic rows at each distance 0, 1/d, ..., 1.

    Rows that agree in fewer than ``enough`` columns are not counted, which saves time, unless
    it turns out that the median of the least distances lies beyond.
    """
    d = records.shape[1]
    near = agreement_counts(records, rows, enough).T[::-1]
    seen = near.any(axis=0)
    if enough and 2 * np.count_nonzero(seen) <= len(records):
        return _hamming_scores(records, rows)
    nearest = np.where(seen, (near > 0).argmax(axis=0), d)
    # the median of whole numbers is a multiple of 1/2, and exact
    inside = near[: int(np.median(nearest)) + 1]
    weights = -np.log(np.arange(len(inside)) / d + TINY)
    return {
        "distance": weights @ inside / len(rows),
        "counting": np.ones(len(inside)) @ inside / len(rows),
    }


def _enough_agreements(records: Codes, rows: Codes) -> int:
    """In how many columns most records agree with their nearest row; from a few of them."""
    counts = agreement_counts(records[:: len(records) // 256 + 1], rows)
    most = counts.shape[1] - 1 - (counts[:, ::-1] > 0).argmax(axis=1)
    return int(np.quantile(most, 0.4, method="lower"))


def _euclidean_scores(records: FloatArray, rows: FloatArray, wide: Wide) -> Scores:
    """Scores from squared distances: first the radius, then the rows within it."""
    stored = None
    if len(records) * len(rows) <= PAIRS_TO_STORE:
        stored = list(_squares(records, rows, wide))
    least = [squares.min(axis=1) for squares in stored or _squares(records, rows, wide)]
    # rows right at the radius are inside, whatever rounding did to them
    radius = np.median(np.sqrt(np.concatenate(least))) ** 2 * (1 + ROUNDING)
    scores: dict[Estimator, list[FloatArray]] = {"distance": [], "counting": []}
    for squares in stored or _squares(records, rows, wide):
        inside = np.flatnonzero(squares <= radius)
        owners, near = inside // len(rows), squares.ravel()[inside]
        weights = {"distance": -np.log(np.sqrt(near) + TINY), "counting": np.ones(len(near))}
        for estimator, parts in scores.items():
            totals = np.bincount(owners, weights[estimator] / len(rows), len(squares))
            parts.append(totals.astype(float))
    return {estimator: np.concatenate(parts) for estimator, parts in scores.items()}


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
    for start in range(0, len(records), ROWS_AT_ONCE):
        squares = left[start : start + ROWS_AT_ONCE] @ right.T
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

    def attack(c: Comparison) -> dict[Estimator, Membership]:
        times = 50 if n_synthetic else 1
        tables = _by_schema(c.schema, (c.train, c.test, c.synthetic), distance)
        return _attack(*tables, n_synthetic, times, c.rng(name), None, _rows_each(c.train, c.test))

    found = c.once(name, attack)[estimator]
    notes = list(c.note_on_people.values())
    if n_synthetic is not None and found.n_synthetic < n_synthetic:
        notes.append(f"only {found.n_synthetic} synthetic rows, {n_synthetic} asked for")
    told = ("mean", "maximum", "interval", "members", "n_synthetic")
    detail: dict[str, Any] = {key: getattr(found, key) for key in told}
    detail |= {"repetitions": len(found.shares), **({"note": "; ".join(notes)} if notes else {})}
    return Result(detail[which], detail)
