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

from copula_shirley.evaluation.comparison import Comparison, Rows, together
from copula_shirley.evaluation.metrics.learning import design, known_target
from copula_shirley.evaluation.result import Result
from copula_shirley.schema.domain import FloatArray
from copula_shirley.schema.schema import Column

Z = float(norm.ppf(0.975))


def _real(c: Comparison) -> Rows:
    return Rows(together(c.train, c.test), {})


def coverage_of_means(c: Comparison) -> Result:
    """Share of means that are covered: of numbers, of dates, of the shares of categories.

    A column of categories counts as one, by the share of its categories that are covered;
    missing values count as a category there, and are left out of means elsewhere.
    """
    real = c.once("real rows", _real)
    columns: dict[str, float] = {}
    intervals = {}
    for column in c.schema:
        name = column.name
        truth, drawn = real.numbers[name], c.synthetic.numbers[name]
        if column.is_listed:
            columns[name] = _shares_covered(column, truth, drawn)
            continue
        truth, drawn = truth[np.isfinite(truth)], drawn[np.isfinite(drawn)]
        if len(truth) == 0 or len(drawn) == 0:
            columns[name] = float(len(truth) == len(drawn))
            continue
        reach = Z * drawn.std(ddof=1) / np.sqrt(len(drawn)) if len(drawn) > 1 else 0.0
        interval = float(drawn.mean() - reach), float(drawn.mean() + reach)
        intervals[name] = {"interval": interval, "real": float(truth.mean())}
        columns[name] = float(_covers(*interval, truth.mean()))
    return _result(columns, intervals, len(real), len(c.synthetic))


def _result(
    columns: dict[str, float], intervals: dict[str, Any], real: int, synthetic: int
) -> Result:
    # Both tables are draws from one distribution if the rows are perfect: the two means then
    # differ by the root of both their variances, and the interval knows one of them.
    perfect = float(2 * norm.cdf(Z / np.sqrt(1 + synthetic / real)) - 1)
    detail = {"columns": columns, "intervals": intervals, "perfect rows": perfect}
    return Result(float(np.mean(list(columns.values()))), detail)


def _covers(low: Any, high: Any, value: Any, scale: float = 0.0) -> Any:
    """Whether intervals hold values, but for rounding of numbers of this scale."""
    slack = 1e-9 * np.maximum(np.maximum(abs(low), abs(high)), scale)
    return (low - slack <= value) & (value <= high + slack)


def _shares_covered(column: Column, truth: FloatArray, drawn: FloatArray) -> float:
    """Share of the categories that occur whose real share lies in the Wilson interval."""
    codes = np.union1d(truth, drawn)
    allowed = np.isfinite(codes) | column.missing
    codes = codes[allowed & (codes < len(column.domain.categories))]
    n, share = len(drawn), np.mean(drawn[:, None] == codes, axis=0)
    centre = (share + Z**2 / (2 * n)) / (1 + Z**2 / n)
    reach = Z / (1 + Z**2 / n) * np.sqrt(share * (1 - share) / n + Z**2 / (4 * n**2))
    real = np.mean(truth[:, None] == codes, axis=0)
    return float(np.mean(_covers(centre - reach, centre + reach, real)))


def coverage_of_coefficients(c: Comparison) -> Result:
    """Share of the coefficients of the regression task that are covered.

    Ordinary least squares on all other columns, numbers and ordinal codes on the scale of the
    real rows. A coefficient that the synthetic rows do not determine (a column is constant
    there, or follows from others) is not covered; one that the real rows do not determine is
    left out.
    """
    target = c.target("regression")
    real, synthetic = (known_target(x, target) for x in (c.once("real rows", _real), c.synthetic))
    for which, rows in (("real", real), ("synthetic", synthetic)):
        if len(rows) == 0:
            return Result(0.0, {"note": f"the target is missing in every {which} row"})
    names, matrix = design(real, real, target)
    values, drawn_values = (rows.numbers[target.name] for rows in (real, synthetic))
    truth, _, known = _least_squares(matrix, values)
    drawn, errors, settled = _least_squares(design(synthetic, real, target)[1], drawn_values)
    if not known.any():
        return Result(1.0, {"note": "the real rows determine no coefficient"})
    low, high = drawn - Z * errors, drawn + Z * errors
    covered = settled & _covers(low, high, truth, float(np.abs(values).max()))
    columns, intervals = {}, {}
    for i in np.flatnonzero(known):
        columns[names[i]] = float(covered[i])
        ends = float(low[i]), float(high[i])
        intervals[names[i]] = {"interval": ends, "real": float(truth[i])}
    result = _result(columns, intervals, len(real), len(synthetic))
    return Result(result.value, {**result.detail, "target": target.name})


def _least_squares(
    matrix: FloatArray, values: FloatArray
) -> tuple[FloatArray, FloatArray, NDArray[np.bool_]]:
    """Coefficients, standard errors, and which of them the rows determine."""
    _, sizes, axes = np.linalg.svd(matrix, full_matrices=False)
    used = sizes > sizes.max() * max(matrix.shape) * np.finfo(float).eps
    # a coefficient is determined if its axis lies in the space that the rows span
    determined = 1 - (axes[used] ** 2).sum(axis=0) < 1e-9
    inverse = axes[used].T / sizes[used]
    covariance = inverse @ inverse.T
    weights = covariance @ (matrix.T @ values)
    freedom = max(len(values) - int(used.sum()), 1)
    variance = float(((values - matrix @ weights) ** 2).sum() / freedom)
    return weights, np.sqrt(variance * np.diag(covariance)), determined
