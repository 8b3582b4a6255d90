"""Whether an analyst of the synthetic rows would draw the right conclusions.

How often a 95 % interval computed on synthetic rows, as if they were real, covers the value of
all real rows (training and test together). Perfect synthetic rows, as many as real ones, cover
83 % and not 95 %: the real value is an estimate too. The more synthetic rows, the narrower their
intervals and the fewer of them cover; ``perfect rows`` in the detail says what to expect.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm

from copula_shirley.evaluation.comparison import Comparison, Rows
from copula_shirley.evaluation.metrics.learning import Design, known_target
from copula_shirley.evaluation.result import Result
from copula_shirley.schema.domain import FloatArray
from copula_shirley.schema.schema import Column

Z = float(norm.ppf(0.975))


def _real(c: Comparison) -> Rows:
    return Rows(
        {n: np.concatenate([c.train.numbers[n], c.test.numbers[n]]) for n in c.schema.names},
        {n: np.concatenate([c.train.outside[n], c.test.outside[n]]) for n in c.schema.names},
    )


def coverage_of_means(c: Comparison) -> Result:
    """Share of means that are covered: of numbers, of dates, of the shares of categories.

    A column of categories counts as one, by the share of its categories that are covered;
    missing values count as a category there, and are left out of means elsewhere.
    """
    real = c.once("real rows", _real)
    columns, intervals = {}, {}
    for column in c.schema:
        truth, drawn = real.numbers[column.name], c.synthetic.numbers[column.name]
        if column.is_listed:
            columns[column.name] = _shares_covered(column, truth, drawn)
            continue
        truth, drawn = truth[np.isfinite(truth)], drawn[np.isfinite(drawn)]
        if len(truth) == 0 or len(drawn) == 0:
            columns[column.name] = float(len(truth) == len(drawn))
            continue
        reach = Z * _deviation(drawn) / np.sqrt(len(drawn))
        low, high = float(drawn.mean() - reach), float(drawn.mean() + reach)
        intervals[column.name] = {"interval": (low, high), "real": float(truth.mean())}
        columns[column.name] = float(_covers(low, high, float(truth.mean())))
    perfect = _of_perfect_rows(len(real), len(c.synthetic))
    detail = {"columns": columns, "intervals": intervals, "perfect rows": perfect}
    return Result(float(np.mean(list(columns.values()))), detail)


def _of_perfect_rows(real: int, synthetic: int) -> float:
    """The share of intervals that cover if both tables are draws from one distribution.

    The two means differ by the root of both their variances, the interval knows one of them.
    """
    return float(2 * norm.cdf(Z / np.sqrt(1 + synthetic / real)) - 1)


def _deviation(values: FloatArray) -> float:
    return float(values.std(ddof=1)) if len(values) > 1 else 0.0


def _covers(low: float, high: float, value: float, scale: float = 0.0) -> bool:
    """Whether an interval holds a value, but for rounding of numbers of this scale."""
    slack = 1e-9 * max(abs(low), abs(high), scale)
    return low - slack <= value <= high + slack


def _shares_covered(column: Column, truth: FloatArray, drawn: FloatArray) -> float:
    """Share of the categories that occur whose real share lies in the Wilson interval."""
    codes = [-np.inf] * column.missing + list(map(float, range(len(column.domain.categories))))
    codes = [code for code in codes if (truth == code).any() or (drawn == code).any()]
    n = len(drawn)
    covered: list[bool] = []
    for code in codes:
        share = float(np.mean(drawn == code))
        centre = (share + Z**2 / (2 * n)) / (1 + Z**2 / n)
        reach = Z / (1 + Z**2 / n) * np.sqrt(share * (1 - share) / n + Z**2 / (4 * n**2))
        covered.append(_covers(centre - reach, centre + reach, float(np.mean(truth == code))))
    return float(np.mean(covered))


def coverage_of_coefficients(c: Comparison) -> Result:
    """Share of the coefficients of the regression task that are covered.

    Ordinary least squares on all other columns, numbers and ordinal codes on the scale of the
    real rows. A coefficient that the synthetic rows do not determine (a column is constant
    there, or follows from others) is not covered; one that the real rows do not determine is
    left out.
    """
    target = c.target("regression")
    real, synthetic = (
        known_target(c.once("real rows", _real), target),
        known_target(c.synthetic, target),
    )
    if len(real) == 0 or len(synthetic) == 0:
        which = "real" if len(real) == 0 else "synthetic"
        return Result(0.0, {"note": f"the target is missing in every {which} row"})
    design = Design(real, target)
    truth, _, known = _least_squares(design.matrix(real), real.numbers[target.name])
    drawn, errors, settled = _least_squares(
        design.matrix(synthetic), synthetic.numbers[target.name]
    )
    if not known.any():
        return Result(1.0, {"note": "the real rows determine no coefficient"})
    scale = float(np.abs(real.numbers[target.name]).max())
    columns, intervals = {}, {}
    for i, name in enumerate(design.names):
        if not known[i]:
            continue
        low, high = float(drawn[i] - Z * errors[i]), float(drawn[i] + Z * errors[i])
        columns[name] = float(settled[i] and _covers(low, high, float(truth[i]), scale))
        intervals[name] = {"interval": (low, high), "real": float(truth[i])}
    detail: dict[str, Any] = {
        "columns": columns,
        "intervals": intervals,
        "perfect rows": _of_perfect_rows(len(real), len(synthetic)),
        "target": target.name,
    }
    return Result(float(np.mean(list(columns.values()))), detail)


def _least_squares(
    matrix: FloatArray, values: FloatArray
) -> tuple[FloatArray, FloatArray, NDArray[np.bool_]]:
    """Coefficients, standard errors, and which of them the rows determine."""
    _, sizes, axes = np.linalg.svd(matrix, full_matrices=False)
    kept = sizes > sizes.max() * max(matrix.shape) * np.finfo(float).eps
    # a coefficient is determined if its axis lies in the space that the rows span
    determined = 1 - (axes[kept] ** 2).sum(axis=0) < 1e-9
    inverse = axes[kept].T / sizes[kept]
    covariance = inverse @ inverse.T
    weights = covariance @ (matrix.T @ values)
    freedom = max(len(values) - int(kept.sum()), 1)
    variance = float(((values - matrix @ weights) ** 2).sum() / freedom)
    return weights, np.sqrt(variance * np.diag(covariance)), determined
