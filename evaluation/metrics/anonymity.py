"""k-anonymity, l-diversity, t-closeness of the synthetic table (thesis 2.1).

Descriptions of the published table against declared quasi-identifiers, and no evidence of
privacy: synthetic rows are nobody's, and a copied table can have a large k.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from copula_shirley.evaluation.comparison import Comparison
from copula_shirley.evaluation.result import Result
from copula_shirley.schema.domain import FloatArray
from copula_shirley.schema.schema import Column


def _classes(c: Comparison) -> NDArray[np.intp]:
    """The equivalence class of each synthetic row: equal values of all quasi-identifiers."""
    keys = np.column_stack([c.synthetic.numbers[name] for name in c.quasi_identifiers])
    return np.unique(keys, axis=0, return_inverse=True)[1].ravel()


def k_anonymity(c: Comparison) -> Result:
    """Size of the smallest class of rows with equal quasi-identifiers (Sweeney 2002)."""
    sizes = np.bincount(c.once("classes", _classes))
    alone = int(np.sum(sizes == 1))
    detail = {
        "quasi_identifiers": list(c.quasi_identifiers),
        "classes": len(sizes),
        "rows alone": alone,
        "note": f"{alone} rows are alone",
    }
    return Result(float(sizes.min()), detail)


def l_diversity(c: Comparison) -> Result:
    """Least number of distinct sensitive values in a class (Machanavajjhala et al. 2007)."""
    group = c.once("classes", _classes)
    columns = {
        name: float(pd.Series(c.synthetic.numbers[name]).groupby(group).nunique().min())
        for name in c.sensitive
    }
    return Result(min(columns.values()), {"columns": columns})


def t_closeness(c: Comparison) -> Result:
    """Largest distance of a class' sensitive values to those of all rows (Li et al. 2007).

    The earth mover's distance: half the sum of absolute differences for categories, and for
    ordered values the sum of absolute differences of the CDFs over the values that occur,
    divided by their number less one.
    """
    group = c.once("classes", _classes)
    columns = {
        name: _farthest(c.schema[name], group, c.synthetic.numbers[name]) for name in c.sensitive
    }
    return Result(max(columns.values()), {"columns": columns})


def _farthest(column: Column, group: NDArray[np.intp], numbers: FloatArray) -> float:
    distinct, codes = np.unique(numbers, return_inverse=True)
    overall = np.bincount(codes) / len(codes)
    farthest = 0.0
    for members in pd.Series(codes).groupby(group).indices.values():
        gap = np.bincount(codes[members], minlength=len(distinct)) / len(members) - overall
        distance = np.abs(gap).sum() / 2
        if column.is_ordered:
            distance = np.abs(np.cumsum(gap)).sum() / max(len(distinct) - 1, 1)
        farthest = max(farthest, float(distance))
    return farthest
