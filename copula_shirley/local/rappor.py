"""RAPPOR's server: which of many candidate texts people have, from their reports alone.

Entry points, for experiments too: ``simulated`` (reports of people whose texts are known, added
up), ``estimates`` (how many set each bit), ``decoded`` (which candidates are there, and how many
people have each). The device's half, with the formulas of epsilon, is ``local.memo``.

Of cohort j, N_j people report bit i together c_ij times. A true 1 is reported with the chance q*, a
true 0 with p*, so t_ij = (c_ij - p* N_j) / (q* - p*) estimates how many of them set the bit (the
paper's formula: q* - p* = (1 - f)(q - p) and p* = p + f q / 2 - f p / 2). Each candidate sets known
bits in each cohort: t_ij / N_j is a sum of the shares of the candidates that set it, plus noise,
which is a linear regression.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import scipy
from numpy.typing import NDArray

from copula_shirley.errors import ReportError
from copula_shirley.lazy import LazyModule
from copula_shirley.local.memo import Scheme
from copula_shirley.schema.domain import FloatArray

linear_model = LazyModule("sklearn.linear_model")
Integers = NDArray[np.int64]
Correction = Literal["bonferroni", "benjamini-hochberg"]
#: The LASSO's penalty, as a part of what noise alone reaches; selection is followed by tests.
PENALTY = 0.5


@dataclass(frozen=True, eq=False)
class Reports:
    """Reports added up: how often each bit was 1 in each cohort, and people by cohort."""

    scheme: Scheme
    ones: Integers
    people: Integers

    @classmethod
    def of(cls, scheme: Scheme, reports: Sequence[dict[str, Any]]) -> Reports:
        """Reports as ``Memo.report`` gives them, one of each person."""
        ones = np.zeros((scheme.cohorts, scheme.bits), dtype=np.int64)
        people = np.zeros(scheme.cohorts, dtype=np.int64)
        for report in reports:
            cohort, bits = report["cohort"], report["ones"]
            inside = type(cohort) is int and 0 <= cohort < scheme.cohorts
            own = {b for b in bits if type(b) is int and 0 <= b < scheme.bits}
            if not inside or bits != sorted(own):
                raise ReportError("a report must have a cohort and bits of its scheme")
            people[cohort] += 1
            ones[cohort, bits] += 1
        return cls(scheme, ones, people)


@dataclass(frozen=True)
class Found:
    """A candidate that people have: about how many, its standard error, and a p-value."""

    text: str
    count: float
    error: float
    p_value: float


def simulated(
    scheme: Scheme, values: NDArray[np.integer[Any]], texts: Sequence[str], rng: np.random.Generator
) -> Reports:
    """One report of each of many people, added up; person i has ``texts[values[i]]``.

    Bits of different people are independent, so their sums are binomial. For experiments: the
    coins are numpy's.
    """
    cohorts = rng.integers(0, scheme.cohorts, len(values))
    counts = np.zeros((len(texts), scheme.cohorts), dtype=np.int64)
    np.add.at(counts, (np.asarray(values), cohorts), 1)
    people = counts.sum(axis=0)
    true = np.zeros((scheme.cohorts, scheme.bits), dtype=np.int64)
    for value, cohort in zip(*np.nonzero(counts), strict=True):
        true[cohort, scheme.places(texts[value], int(cohort))] += counts[value, cohort]
    p, q = map(float, scheme.stars)
    ones = rng.binomial(true, q) + rng.binomial(people[:, None] - true, p)
    return Reports(scheme, ones, people)


def estimates(reports: Reports) -> FloatArray:
    """How many people of each cohort set each bit, unbiased."""
    p, q = map(float, reports.scheme.stars)
    return np.asarray((reports.ones - p * reports.people[:, None]) / (q - p))


def share_error(scheme: Scheme, people: int) -> float:
    """Standard error of the share of a rare text, by theory: m h bits of N / m people each.

    A share above ``z`` times this is found, z being the quantile of the corrected test.

    Examples
    --------
    >>> round(share_error(Scheme(), 1_000_000), 4)
    0.0028
    """
    p, q = map(float, scheme.stars)
    bit = math.sqrt(p * (1 - p)) / abs(q - p) * math.sqrt(scheme.cohorts / people)
    return bit / math.sqrt(scheme.cohorts * scheme.hashes)


def design(scheme: Scheme, candidates: Sequence[str]) -> FloatArray:
    """Which bits each candidate sets, cohort by cohort: one column a candidate."""
    found = np.zeros((scheme.cohorts, scheme.bits, len(candidates)))
    for place, text in enumerate(candidates):
        for cohort in range(scheme.cohorts):
            found[cohort, scheme.places(text, cohort), place] = 1.0
    return found.reshape(-1, len(candidates))


def decoded(
    reports: Reports,
    candidates: Sequence[str],
    *,
    level: float = 0.05,
    correction: Correction = "bonferroni",
    lasso: bool | None = None,
) -> list[Found]:
    """The candidates that are there beyond doubt, those of most people first.

    Parameters
    ----------
    level : float
        Of the tests together: the chance of any false find (Bonferroni), or the expected share of
        false ones among those found (Benjamini-Hochberg).
    lasso : bool, optional
        Whether a LASSO with positive coefficients first chooses candidates. It must where there
        are more candidates than bits, and is left out else: p-values of what was chosen by the
        same reports are too small.
    """
    if len(set(candidates)) != len(candidates) or not candidates:
        raise ReportError(f"candidates ({len(candidates):,}) must be different texts, at least one")
    seen = reports.people > 0
    chances = design(reports.scheme, candidates)
    rows = np.repeat(seen, reports.scheme.bits)
    if lasso is None:
        lasso = len(candidates) >= rows.sum()
    # every cohort by its own people: rows of equal variance where cohorts are of equal size
    weight = np.repeat(np.sqrt(reports.people[seen]), reports.scheme.bits)
    shares = (estimates(reports)[seen] / reports.people[seen, None]).ravel()
    left, right = chances[rows] * weight[:, None], shares * weight
    chosen = np.arange(len(candidates))
    if lasso:
        chosen = _chosen(reports, left, right)
    if len(chosen) == 0:
        return []
    coefficients, errors, p_values = _least_squares(left[:, chosen], right)
    kept = _kept(p_values, len(candidates), level, correction)
    people = int(reports.people.sum())
    found = [
        Found(candidates[chosen[i]], coefficients[i] * people, errors[i] * people, p_values[i])
        for i in np.flatnonzero(kept)
    ]
    return sorted(found, key=lambda one: -one.count)


def _chosen(reports: Reports, left: FloatArray, right: FloatArray) -> Integers:
    """Candidates whose LASSO coefficient is positive; the penalty is a part of the noise's."""
    p, q = map(float, reports.scheme.stars)
    noise = math.sqrt(p * (1 - p)) / abs(q - p)  # of a weighted row
    norm = float(np.sqrt((left**2).sum(axis=0)).max())
    penalty = PENALTY * noise * norm * math.sqrt(2 * math.log(max(left.shape[1], 2))) / len(right)
    model = linear_model.Lasso(alpha=penalty, positive=True, fit_intercept=False, max_iter=10_000)
    return np.flatnonzero(model.fit(left, right).coef_ > 0)


def _least_squares(
    left: FloatArray, right: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Coefficients, standard errors and one-sided p-values (Student's t)."""
    coefficients = np.linalg.lstsq(left, right, rcond=None)[0]
    free = max(len(right) - left.shape[1], 1)
    residual = ((right - left @ coefficients) ** 2).sum() / free
    spread = np.sqrt(residual * np.maximum(np.diag(np.linalg.pinv(left.T @ left)), 1e-300))
    p_values = scipy.special.stdtr(free, -coefficients / spread)
    return np.asarray(coefficients), np.asarray(spread), np.asarray(p_values)


def _kept(
    p_values: FloatArray, tests: int, level: float, correction: Correction
) -> NDArray[np.bool_]:
    """Which tests reject, of ``tests`` altogether."""
    if correction == "bonferroni":
        return np.asarray(p_values < level / tests)
    if correction != "benjamini-hochberg":
        raise ReportError(
            f"correction ({correction!r}) must be 'bonferroni' or 'benjamini-hochberg'"
        )
    order = np.argsort(p_values, kind="stable")
    below = p_values[order] <= level * np.arange(1, len(p_values) + 1) / tests
    kept = np.zeros(len(p_values), dtype=bool)
    kept[order[: np.max(np.flatnonzero(below), initial=-1) + 1]] = True
    return kept
