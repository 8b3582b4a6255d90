"""Tables of people with several rows each: how many rows, and who has many of them.

For schemas with columns ``per: person``; the person column must stand in the test and synthetic
rows.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from copula_shirley.evaluation.comparison import Comparison, Rows
from copula_shirley.evaluation.result import Result
from copula_shirley.schema.domain import FloatArray


def rows_of_people(rows: Rows) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """A row of each person, and how many she has."""
    whose = np.arange(len(rows)) if rows.whose is None else rows.whose
    _, first, count = np.unique(whose, return_index=True, return_counts=True)
    return first, count


def rows_per_person(c: Comparison) -> Result:
    """Total variation of the numbers of rows of a person; ``means`` are those numbers."""
    counts = [rows_of_people(rows)[1] for rows in (c.test, c.synthetic)]
    most = int(max(count.max() for count in counts)) + 1
    shares = [np.bincount(count, minlength=most) / len(count) for count in counts]
    means = {"test": float(counts[0].mean()), "synthetic": float(counts[1].mean())}
    return Result(float(0.5 * np.abs(shares[0] - shares[1]).sum()), {"means": means})


def drift_per_person(c: Comparison) -> Result:
    """Mean over constants of a person of how far their Spearman correlation with her rows is off.

    Columns with an order only; one of a single value counts as uncorrelated.
    """
    names = [name for name in c.schema.constants if c.schema[name].is_ordered]
    test, synthetic = (_correlations(rows, names) for rows in (c.test, c.synthetic))
    columns = {name: abs(test[name] - synthetic[name]) for name in names}
    if not columns:
        return Result(0.0, {"columns": {}, "note": "no column per: person has an order"})
    return Result(float(np.mean(list(columns.values()))), {"columns": columns})


def _correlations(rows: Rows, names: list[str]) -> dict[str, float]:
    first, count = rows_of_people(rows)
    return {name: _spearman(rows.numbers[name][first], count) for name in names}


def _spearman(one: FloatArray, other: NDArray[np.intp]) -> float:
    ranks = [rankdata(values) for values in (one, other)]
    if any(values.min() == values.max() for values in ranks):
        return 0.0
    return float(np.corrcoef(*ranks)[0, 1])
