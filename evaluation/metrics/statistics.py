"""The thesis' two statistical tests (4.3.1): Kolmogorov-Smirnov and Spearman.

Both compare numbers of the public domain: categories are coded by their place in the declared
list, the same for all tables, and a missing value lies below every other.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pandas as pd
from scipy.stats import rankdata

from copula_shirley.evaluation.comparison import Comparison, Rows
from copula_shirley.evaluation.result import Result, pair
from copula_shirley.rules.checks import checks_of
from copula_shirley.rules.constants import constants_of, count_rows
from copula_shirley.schema.domain import FloatArray
from copula_shirley.schema.schema import Schema


def kolmogorov_smirnov(
    real: pd.DataFrame, synthetic: pd.DataFrame, schema: Schema
) -> dict[str, float]:
    """Largest distance between the two empirical CDFs, per column.

    The thesis reports the mean over the columns. 0 is best, 1 is worst.

    Examples
    --------
    >>> from copula_shirley.schema.schema import Column
    >>> schema = Schema((Column("x", "integer", minimum=0, maximum=9),))
    >>> kolmogorov_smirnov(pd.DataFrame({"x": [1, 2]}), pd.DataFrame({"x": [2, 3]}), schema)
    {'x': 0.5}
    """
    return dict(ks(Comparison.of_two(real, synthetic, schema)).detail["columns"])


def spearman_drift(real: pd.DataFrame, synthetic: pd.DataFrame, schema: Schema) -> dict[str, float]:
    """Difference of the two Spearman matrices: mean, largest, off-diagonal mean.

    The mean is over all d x d entries, as in the thesis. A constant column has no correlation; it
    counts as 0.
    """
    c = Comparison.of_two(real, synthetic, schema)
    return {which: drift(which, c).value for which in ("mean", "maximum", "off_diagonal_mean")}


def spearman(rows: Rows) -> FloatArray:
    """Rank correlation of every pair of columns; 0 where a column is constant."""
    ranks = np.column_stack([rankdata(values) for values in rows.numbers.values()])
    centred = ranks - ranks.mean(axis=0)
    spread = np.sqrt((centred**2).sum(axis=0))
    scaled = centred / np.where(spread > 0, spread, 1.0)
    matrix: FloatArray = scaled.T @ scaled
    np.fill_diagonal(matrix, 1.0)
    return matrix


# -- metrics -------------------------------------------------------------------


def ks(c: Comparison) -> Result:
    """Mean over the columns of the Kolmogorov-Smirnov statistic."""
    columns = {}
    for name, real in c.test.numbers.items():
        samples = np.sort(real), np.sort(c.synthetic.numbers[name])
        steps = np.union1d(*samples)  # where the gap between two step functions can be largest
        first, second = (np.searchsorted(x, steps, side="right") / len(x) for x in samples)
        columns[name] = float(np.abs(first - second).max())
    return Result(float(np.mean(list(columns.values()))), {"columns": columns})


def drift(which: str, c: Comparison) -> Result:
    """One summary of the Spearman drift, with the gap of every pair and each column's mean gap."""
    gaps = c.once("spearman", lambda c: np.abs(spearman(c.test) - spearman(c.synthetic)))
    names = c.schema.names
    pairs = {
        pair(names[i], names[j]): float(gaps[i, j]) for i, j in combinations(range(len(names)), 2)
    }
    columns = dict(zip(names, (gaps.sum(axis=1) / max(len(gaps) - 1, 1)).tolist(), strict=True))
    constant = [name for name, x in c.synthetic.numbers.items() if x.min() == x.max()]
    detail: dict[str, object] = {"pairs": pairs, "columns": columns}
    if constant:
        detail["note"] = f"constant in the synthetic rows, correlation 0: {', '.join(constant)}"
    apart = gaps[~np.eye(len(gaps), dtype=bool)]
    figures = {
        "mean": gaps.mean(),
        "maximum": gaps.max(),
        "off_diagonal_mean": apart.mean() if len(apart) else 0.0,
    }
    return Result(float(figures[which]), detail)


def validity(c: Comparison) -> Result:
    """Share of synthetic rows inside the declared domain in every column that keep all rules."""
    rows = c.synthetic
    columns = {name: float(1 - wrong.mean()) for name, wrong in rows.outside.items()}
    broken = {str(check.rule): check.judged(rows.numbers) for check in checks_of(c.schema)}
    note, whose = {}, rows.whose
    if c.schema.per_person and whose is None:
        note["note"] = f"no column {c.schema.person!r}: rows of a person were not compared"
    elif c.schema.per_person and whose is not None:
        values = {**rows.numbers, str(c.schema.person): whose}
        broken |= {str(check.rule): check.broken(values) for check in constants_of(c.schema)}
        most = f"at most {c.schema.max_rows} rows of a {c.schema.person}"
        broken[most] = count_rows(whose) > c.schema.max_rows
    rules = {rule: float(1 - wrong.mean()) for rule, wrong in broken.items()}
    whole = ~np.any([*rows.outside.values(), *broken.values()], axis=0)
    told = {"columns": columns} | ({"rules": rules} if rules else {})
    return Result(float(whole.mean()), {**told, **note})
