"""The event that tells two tables apart best, learnt on one half of the runs.

Candidates are "a number is at least t" for every number of the evidence (a word counts as numbers
that are 0 or 1, one per text), and the same for two scores that add up many numbers:

- *linear*: linear discriminant analysis with Ledoit and Wolf's shrinkage, which is the best test
  where the noise is Gaussian;
- *signs*: a logistic regression on which side of the middle each number lies, which is the best
  test where the noise is Laplace (whose likelihood ratio takes but two values outside the gap).

Both keep only the numbers that differ most. A score is judged by rows that it was not fitted to
(cross-fitting), and numbers are judged at a confidence corrected for how many of them there are; so
the winner is rarely a fluke. If it is one, the bound is poor but still valid: it is computed from
the other half of the runs, on which the event is counted once.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression

from copula_shirley.evaluation.audit.bounds import ends
from copula_shirley.evaluation.audit.evidence import Evidence

FloatArray = NDArray[np.float64]
#: Texts of one word that get a number of their own.
MOST_TEXTS = 50
#: Numbers that are tried one by one, and those that a score adds up.
MOST_TRIED, MOST_ADDED = 500, 100
#: Parts of the learning half for cross-fitting.
FOLDS = 4
#: Candidates are compared by bounds that may be wrong with this chance. It is small because the
#: best of many cuts is chosen: bounds at 95 % would be won by rare events that happened to differ.
CHOOSING = 1e-4
#: How much better a score must be than one number, which is easier to understand.
MARGIN = 0.1
Score = Callable[[FloatArray], FloatArray]


class Encoding:
    """From evidence to a matrix; names, texts and fillings come from the learning half."""

    def __init__(self, learning: Sequence[Evidence]) -> None:
        present: dict[str, list[float]] = {}
        for evidence in learning:
            for name, value in evidence.numbers.items():
                present.setdefault(name, []).append(value)
        self._numbers = sorted(present)
        self._fill = {name: float(np.median(values)) for name, values in present.items()}
        self._absent = [name for name in self._numbers if len(present[name]) < len(learning)]
        self._texts: list[tuple[str, str]] = []
        for name in sorted({name for evidence in learning for name in evidence.words}):
            counts = Counter(e.words[name] for e in learning if name in e.words)
            common = counts.most_common(MOST_TEXTS)
            if common[0][1] < len(learning):  # else all runs have the same text
                self._texts += [(name, text) for text, _ in common]
        names = [
            *self._numbers,
            *(f"{name} is there" for name in self._absent),
            *(f"{name} = {text}" for name, text in self._texts),
        ]
        self._width = len(names)
        self._kept = np.flatnonzero(np.ptp(self._whole(learning), axis=0) > 0)
        self.names = [names[j] for j in self._kept]

    def _whole(self, runs: Sequence[Evidence]) -> FloatArray:
        rows = [
            [
                *(e.numbers.get(name, self._fill[name]) for name in self._numbers),
                *(float(name in e.numbers) for name in self._absent),
                *(float(e.words.get(name) == text) for name, text in self._texts),
            ]
            for e in runs
        ]
        return np.array(rows, dtype=float).reshape(len(runs), self._width)

    def matrix(self, runs: Sequence[Evidence]) -> FloatArray:
        """One row per run; what never varied while learning is left out."""
        return self._whole(runs)[:, self._kept]


@dataclass(frozen=True)
class Measurand:
    """What an event is judged by: ``more[hits on one table] - fewer[hits on the other]``.

    Bounds on epsilon at a delta and on mu have this form (``evaluation.audit.bounds``).
    """

    name: str
    delta: float = 0.0

    def parts(self, runs: int, alpha: float) -> tuple[FloatArray, FloatArray]:
        """Both tables, by the number of hits."""
        low, high = ends(runs, alpha)
        with np.errstate(divide="ignore"):
            if self.name == "mu":
                return norm.ppf(low), norm.ppf(high)
            return np.log(np.maximum(low - self.delta, 0.0)), np.log(high)


@dataclass(frozen=True)
class Event:
    """A score that is at least ``threshold``, or its opposite, more often on one of the tables."""

    about: str
    score: Score
    threshold: float
    opposite: bool
    second_more: bool

    def hits(self, first: FloatArray, second: FloatArray) -> tuple[int, int]:
        """How often it happens on the table where it should be frequent, and on the other."""
        counts = []
        for matrix in (first, second):
            happened = int(np.sum(self.score(matrix) >= self.threshold))
            counts.append(len(matrix) - happened if self.opposite else happened)
        return (counts[1], counts[0]) if self.second_more else (counts[0], counts[1])


def learn_event(
    first: FloatArray, second: FloatArray, names: Sequence[str], measurand: Measurand
) -> Event | None:
    """The best event of two learning halves (one row per run), or None if nothing varies."""
    if not first.shape[1]:
        return None
    tried = _most_different(first, second, MOST_TRIED)
    alpha = CHOOSING / len(tried)
    cuts = _best_cuts(first[:, tried], second[:, tried], measurand, alpha)
    best = int(np.argmax(cuts.value))
    j = int(tried[best])
    value, event = float(cuts.value[best]), cuts.event(best, names[j], _column(j))
    for kind, fit in (("linear score", _linear), ("score of signs", _signs)):
        crossed = _cross_fitted(first, second, fit)
        if crossed is None:
            continue
        own = _best_cuts(crossed[0][:, None], crossed[1][:, None], measurand, CHOOSING)
        if own.value[0] > value + MARGIN * max(value, 0.0):
            score = fit(first, second)
            # scores of the whole half are on another scale: the cut keeps its rank
            pooled, whole = np.concatenate(crossed), np.concatenate([score(first), score(second)])
            share = np.mean(pooled < own.threshold[0])
            ranked = np.sort(whole)
            own.threshold[0] = ranked[min(round(share * len(ranked)), len(ranked) - 1)]
            value, event = float(own.value[0]), own.event(0, kind, score)
    return event


def _column(j: int) -> Score:
    return lambda matrix: matrix[:, j]


# -- cuts ----------------------------------------------------------------------------------


@dataclass
class _Cuts:
    """The best threshold of each column."""

    value: FloatArray
    threshold: FloatArray
    variant: NDArray[np.intp]

    def event(self, i: int, name: str, score: Score) -> Event:
        opposite, second_more = divmod(int(self.variant[i]), 2)
        sign = "<" if opposite else ">="
        about = f"{name} {sign} {self.threshold[i]:.6g}"
        return Event(about, score, float(self.threshold[i]), bool(opposite), bool(second_more))


def _best_cuts(first: FloatArray, second: FloatArray, measurand: Measurand, alpha: float) -> _Cuts:
    """For each column the threshold and the direction with the best bound.

    The number of runs on both tables is the same, so that one table of ends serves both.
    """
    runs = len(first)
    more, fewer = measurand.parts(runs, alpha)
    pooled = np.vstack([first, second])
    order = np.argsort(pooled, axis=0, kind="stable")
    values = np.take_along_axis(pooled, order, axis=0)
    of_first = np.cumsum(order < runs, axis=0)
    below_first = np.vstack([np.zeros((1, pooled.shape[1]), dtype=int), of_first[:-1]])
    below_second = np.arange(2 * runs)[:, None] - below_first
    a, b = runs - below_first, runs - below_second  # hits of "at least this value"
    starts = np.vstack([np.ones((1, pooled.shape[1]), dtype=bool), np.diff(values, axis=0) > 0])
    best = np.full(pooled.shape[1], -np.inf)
    threshold, variant = np.zeros(pooled.shape[1]), np.zeros(pooled.shape[1], dtype=np.intp)
    options = ((a, b), (b, a), (runs - a, runs - b), (runs - b, runs - a))
    for number, (high, low) in enumerate(options):
        gain = np.where(starts, more[high] - fewer[low], -np.inf)
        at = np.argmax(gain, axis=0)
        value = np.take_along_axis(gain, at[None], axis=0)[0]
        better = value > best
        best = np.where(better, value, best)
        threshold = np.where(better, np.take_along_axis(values, at[None], axis=0)[0], threshold)
        variant = np.where(better, number, variant)
    return _Cuts(best, threshold, variant)


# -- scores --------------------------------------------------------------------------------


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


def _linear(first: FloatArray, second: FloatArray) -> Score:
    """Shrunken linear discriminant of the columns that differ most, outliers clipped."""
    kept = _most_different(first, second, _size(first))
    middle, spread, _ = _contrast(first[:, kept], second[:, kept])
    scale = np.where(spread > 0, spread, 1.0)

    def prepared(matrix: FloatArray) -> FloatArray:
        return np.clip((matrix[:, kept] - middle) / scale, -10, 10)

    return _fitted(LinearDiscriminantAnalysis("lsqr", shrinkage="auto"), prepared, first, second)


def _signs(first: FloatArray, second: FloatArray) -> Score:
    """Logistic regression on which side of the middle each column lies."""
    kept = _most_different(first, second, _size(first))
    middle = _contrast(first[:, kept], second[:, kept])[0]

    def prepared(matrix: FloatArray) -> FloatArray:
        return np.sign(matrix[:, kept] - middle)

    return _fitted(LogisticRegression(C=0.1, max_iter=200), prepared, first, second)


def _size(first: FloatArray) -> int:
    """Columns that a score adds up: no more than the runs can weigh."""
    return int(np.clip(len(first) // 3, 5, MOST_ADDED))


def _fitted(model: Any, prepared: Score, first: FloatArray, second: FloatArray) -> Score:
    x = np.vstack([prepared(first), prepared(second)])
    labels = np.repeat([1, 0], [len(first), len(second)])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a poor fit is a poor score, no more
        model.fit(x, labels)
    weights = np.nan_to_num(model.coef_[0])
    # rounded, so that scores that are equal but for rounding are equal
    return lambda matrix: np.round(prepared(matrix) @ weights, 9)


def _cross_fitted(
    first: FloatArray, second: FloatArray, fit: Callable[[FloatArray, FloatArray], Score]
) -> tuple[FloatArray, FloatArray] | None:
    """Scores of runs by a fit to the others; None where there are too few."""
    runs = len(first)
    if runs < 2 * FOLDS or first.shape[1] < 2:
        return None
    part = np.arange(runs) % FOLDS
    scores = np.zeros(runs), np.zeros(runs)
    for k in range(FOLDS):
        score = fit(first[part != k], second[part != k])
        for own, matrix in zip(scores, (first, second), strict=True):
            own[part == k] = score(matrix[part == k])
    return scores
