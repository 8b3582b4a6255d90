"""The event that tells two tables apart best, learnt on one half of the runs.

Candidates are "a number is at least t" for every number that was observed (a text counts as numbers
that are 0 or 1, one per text), and the same for two test statistics that add up many numbers:

- *linear score*: linear discriminant analysis with Ledoit and Wolf's shrinkage, which is the best
  test where the noise is Gaussian;
- *score of signs*: a logistic regression on which side of the middle each number lies, the best
  test where the noise is Laplace (whose likelihood ratio takes but two values outside the gap).

Both keep only the numbers that differ most. They are judged by rows that they were not fitted to
(cross-fitting), and numbers are judged at a confidence corrected for how many of them there are; so
the winner is rarely a fluke. If it is one, the bound is poor but still valid: it is computed from
the other half of the runs, on which the event is counted once.
"""

from __future__ import annotations

import warnings
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression

from copula_shirley.evaluation.audit.bounds import FloatArray, ends
from copula_shirley.evaluation.audit.claim import Limit
from copula_shirley.evaluation.audit.observation import Observation

#: Values of one text that get a number of their own.
MOST_TEXTS = 50
#: Numbers that are tried one by one, and those that a statistic adds up.
MOST_TRIED, MOST_ADDED = 500, 100
#: Parts of the learning half for cross-fitting.
FOLDS = 4
#: Candidates are compared by bounds that may be wrong with this chance. It is small because the
#: best of many cuts is chosen: bounds at 95 % would be won by rare events that happened to differ.
CHOOSING = 1e-4
#: How much better a statistic must be than one number, which is easier to understand.
MARGIN = 0.1
#: A test statistic: from one row per run to one number per run.
Statistic = Callable[[FloatArray], FloatArray]
#: What weighs standardised columns, and how they are squashed before.
STATISTICS: dict[str, tuple[Callable[[], Any], Statistic]] = {
    "linear score": (
        partial(LinearDiscriminantAnalysis, "lsqr", shrinkage="auto"),
        lambda z: np.clip(z, -10, 10),
    ),
    "score of signs": (partial(LogisticRegression, C=0.1, max_iter=200), np.sign),
}


class Encoding:
    """From observations to a matrix; names, texts and fillings come from the learning half."""

    def __init__(self, learning: Sequence[Observation]) -> None:
        numbers: dict[str, list[float]] = defaultdict(list)
        texts: dict[str, Counter[str]] = defaultdict(Counter)
        for seen in learning:
            for name, value in seen.items():
                if isinstance(value, str):
                    texts[name][value] += 1
                else:
                    numbers[name].append(value)
        self._fill = {name: float(np.median(numbers[name])) for name in sorted(numbers)}
        self._absent = [name for name in self._fill if len(numbers[name]) < len(learning)]
        self._texts = [
            (name, text)
            for name in sorted(texts)
            for text, count in texts[name].most_common(MOST_TEXTS)
            if count < len(learning)
        ]
        names = [*self._fill, *(f"{name} is there" for name in self._absent)]
        names += [f"{name} = {text}" for name, text in self._texts]
        self._varying = np.arange(len(names))
        self._varying = np.flatnonzero(np.ptp(self.matrix(learning), axis=0) > 0)
        self.names = [names[j] for j in self._varying]

    def matrix(self, runs: Sequence[Observation]) -> FloatArray:
        """One row per run; what never varied while learning is left out."""
        rows = []
        for run in runs:
            numbers = {name: value for name, value in run.items() if not isinstance(value, str)}
            row = [numbers.get(name, fill) for name, fill in self._fill.items()]
            row += [float(name in numbers) for name in self._absent]
            rows.append(row + [float(run.get(name) == text) for name, text in self._texts])
        return np.array(rows, dtype=float).reshape(len(runs), -1)[:, self._varying]


@dataclass(frozen=True)
class Cut:
    """A column is at least ``threshold``, or is not, more often on one of the tables."""

    #: What the bound on a quantity would be, at the confidence by which candidates are compared.
    value: float
    column: int
    threshold: float
    opposite: bool
    second_more: bool


@dataclass(frozen=True)
class Event:
    """A statistic is at least a threshold, or is not, more often on one of the tables."""

    name: str
    statistic: Statistic
    cut: Cut

    @property
    def about(self) -> str:
        return f"{self.name} {'<' if self.cut.opposite else '>='} {self.cut.threshold:.6g}"

    def hits(self, first: FloatArray, second: FloatArray) -> tuple[int, int]:
        """How often it happens on the table where it should be frequent, and on the other."""
        above = [self.statistic(matrix) >= self.cut.threshold for matrix in (first, second)]
        more, fewer = (int((one != self.cut.opposite).sum()) for one in above)
        return (fewer, more) if self.cut.second_more else (more, fewer)


def learn_event(
    first: FloatArray, second: FloatArray, names: Sequence[str], limit: Limit
) -> Event | None:
    """The best event of two learning halves (one row per run), or None if nothing varies."""
    if not first.shape[1]:
        return None
    tried = _most_different(first, second, MOST_TRIED)
    cut = _best_cut(first[:, tried], second[:, tried], limit, CHOOSING / len(tried))
    j = int(tried[cut.column])
    best = Event(names[j], lambda matrix: matrix[:, j], cut)
    for kind, (make, squashed) in STATISTICS.items():
        if len(first) < 2 * FOLDS or first.shape[1] < 2:
            break
        fit = partial(_fitted, make, squashed)
        crossed = _cross_fitted(first, second, fit)
        own = _best_cut(crossed[0][:, None], crossed[1][:, None], limit, CHOOSING)
        if own.value > best.cut.value + MARGIN * max(best.cut.value, 0.0):
            statistic = fit(first, second)
            # a fit to the whole half is on another scale: the cut keeps its rank
            share = np.mean(np.concatenate(crossed) < own.threshold)
            ranked = np.sort(np.concatenate([statistic(first), statistic(second)]))
            threshold = float(ranked[min(round(share * len(ranked)), len(ranked) - 1)])
            best = Event(kind, statistic, replace(own, threshold=threshold))
    return best


def _best_cut(first: FloatArray, second: FloatArray, limit: Limit, alpha: float) -> Cut:
    """The column, threshold and direction with the best bound.

    The number of runs on both tables is the same, so that one table of ends serves both.
    """
    runs = len(first)
    more, fewer = limit.parts(*ends(runs, alpha))
    pooled = np.vstack([first, second])
    order = np.argsort(pooled, axis=0, kind="stable")
    values = np.take_along_axis(pooled, order, axis=0)
    below_first: NDArray[np.intp] = np.cumsum(order < runs, axis=0) - (order < runs)
    below_second = np.arange(2 * runs)[:, None] - below_first
    a, b = runs - below_first, runs - below_second  # hits of "at least this value"
    starts = np.vstack([np.ones((1, pooled.shape[1]), dtype=bool), np.diff(values, axis=0) > 0])
    options = ((a, b), (b, a), (runs - a, runs - b), (runs - b, runs - a))
    gains = np.array(
        [np.where(starts, more[high] - fewer[low], -np.inf).T for high, low in options]
    ).swapaxes(0, 1)  # by column, direction and value
    column, variant, at = np.unravel_index(np.argmax(gains), gains.shape)
    value, threshold = float(gains[column, variant, at]), float(values[at, column])
    return Cut(value, int(column), threshold, bool(variant // 2), bool(variant % 2))


def _contrast(first: FloatArray, second: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Middle, spread and standardised difference of each column."""
    middle = (first.mean(axis=0) + second.mean(axis=0)) / 2
    spread = np.sqrt((first.var(axis=0) + second.var(axis=0)) / 2)
    gap = np.abs(first.mean(axis=0) - second.mean(axis=0))
    scale = np.ptp(np.vstack([first, second]), axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        contrast = np.where(scale > 0, gap / np.maximum(spread, 1e-9 * scale), 0.0)
    return middle, spread, contrast


def _most_different(first: FloatArray, second: FloatArray, most: int) -> NDArray[np.intp]:
    contrast = _contrast(first, second)[2]
    return np.sort(np.argsort(-contrast, kind="stable")[:most])


def _fitted(
    make: Callable[[], Any], squashed: Statistic, first: FloatArray, second: FloatArray
) -> Statistic:
    """The weighted sum of squashed columns: no more of them than the runs can weigh."""
    kept = _most_different(first, second, int(np.clip(len(first) // 3, 5, MOST_ADDED)))
    middle, spread, _ = _contrast(first[:, kept], second[:, kept])
    scale, model = np.where(spread > 0, spread, 1.0), make()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a poor fit is a poor statistic, no more
        x = squashed((np.vstack([first, second])[:, kept] - middle) / scale)
        model.fit(x, np.repeat([1, 0], [len(first), len(second)]))
    weights = np.nan_to_num(model.coef_[0])
    # rounded, so that sums that are equal but for rounding are equal
    return lambda matrix: np.round(squashed((matrix[:, kept] - middle) / scale) @ weights, 9)


def _cross_fitted(
    first: FloatArray, second: FloatArray, fit: Callable[[FloatArray, FloatArray], Statistic]
) -> tuple[FloatArray, FloatArray]:
    part = np.arange(len(first)) % FOLDS
    scores = np.zeros(len(first)), np.zeros(len(first))
    for k in range(FOLDS):
        score = fit(first[part != k], second[part != k])
        for own, matrix in zip(scores, (first, second), strict=True):
            own[part == k] = score(matrix[part == k])
    return scores
