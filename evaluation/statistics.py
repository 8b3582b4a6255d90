"""The thesis' two statistical tests (4.3.1): Kolmogorov-Smirnov and Spearman.

Both compare numbers of the public domain: categories are coded by their place
in the declared list, the same for all tables, and a missing value lies below
every other.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy.stats import ks_2samp, rankdata

from copula_shirley.domain import FloatArray, to_numbers
from copula_shirley.schema import Schema


def kolmogorov_smirnov(
    real: pd.DataFrame, synthetic: pd.DataFrame, schema: Schema
) -> dict[str, float]:
    """Largest distance between the two empirical CDFs, per column.

    The thesis reports the mean over the columns. 0 is best, 1 is worst.

    Examples
    --------
    >>> from copula_shirley.schema import Column
    >>> schema = Schema((Column("x", "integer", minimum=0, maximum=9),))
    >>> kolmogorov_smirnov(pd.DataFrame({"x": [1, 2]}), pd.DataFrame({"x": [2, 3]}), schema)
    {'x': 0.5}
    """
    return {
        column.name: float(
            ks_2samp(
                to_numbers(column, real[column.name]),
                to_numbers(column, synthetic[column.name]),
                method="asymp",
            ).statistic
        )
        for column in schema
    }


def spearman_drift(real: pd.DataFrame, synthetic: pd.DataFrame, schema: Schema) -> dict[str, float]:
    """Difference of the two Spearman matrices: mean, largest, off-diagonal mean.

    The mean is over all d x d entries, as in the thesis. A constant column has
    no correlation; it counts as 0.
    """
    gap = np.abs(_spearman(real, schema) - _spearman(synthetic, schema))
    apart = ~np.eye(len(schema), dtype=bool)
    return {
        "mean": float(gap.mean()),
        "maximum": float(gap.max()),
        "off_diagonal_mean": float(gap[apart].mean()) if len(schema) > 1 else 0.0,
    }


def _spearman(table: pd.DataFrame, schema: Schema) -> FloatArray:
    ranks = np.column_stack([rankdata(to_numbers(c, table[c.name])) for c in schema])
    centred = ranks - ranks.mean(axis=0)
    spread = np.sqrt((centred**2).sum(axis=0))
    scaled = centred / np.where(spread > 0, spread, 1.0)
    matrix: FloatArray = scaled.T @ scaled
    np.fill_diagonal(matrix, 1.0)
    return matrix
