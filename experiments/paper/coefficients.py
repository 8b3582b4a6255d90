"""The seven Spearman coefficients of table 5.2, and the rows that figures 5.9 and 5.10 show."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

import numpy as np
import pandas as pd

from copula_shirley.experiments.datasets import load_dataset

#: The columns of table 5.2.
PAIRS = ("A-B", "A-C", "A-D", "A-E", "A-F", "A<0, F", "A>0, F")
#: Before the name of a pair, the name of its figure in the tidy frame.
PREFIX = "spearman "
#: Rows of each table that are kept for the scatter plots.
SHOWN_ROWS = 500
#: Columns of these rows: the run that drew them, and the made set's own.
SCATTER_AXES, NAMES = ("generator", "epsilon"), "ABCDEF"


def coefficients(table: pd.DataFrame) -> list[float]:
    """The seven Spearman coefficients of table 5.2: A with B to F, then A with F in each half.

    A column without two values has correlation 0.

    Examples
    --------
    >>> a = [-2.0, -1.0, 1.0, 2.0]
    >>> columns = {"A": a, "B": a, "C": a[::-1], "D": a, "E": [5] * 4, "F": [1, 2, 4, 3]}
    >>> [round(value, 3) + 0.0 for value in coefficients(pd.DataFrame(columns))]
    [1.0, -1.0, 1.0, 0.0, 0.8, 1.0, -1.0]
    """
    pairs = [(table, other) for other in "BCDEF"]
    halves = [(table[table["A"] < 0], "F"), (table[table["A"] > 0], "F")]
    return [
        float(rows["A"].corr(rows[other], method="spearman"))
        if rows[["A", other]].nunique().min() > 1
        else 0.0
        for rows, other in pairs + halves
    ]


@cache
def reference() -> tuple[float, ...]:
    """The seven coefficients of the made set itself."""
    return tuple(coefficients(load_dataset("made").table))


def with_coefficients(frame: pd.DataFrame, tables: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """The tidy frame with seven more figures for each run (by id) whose table was kept."""
    more = [
        {**line, "metric": f"{PREFIX}{pair}", "value": value}
        for line in frame.drop_duplicates("id").to_dict("records")
        if line["id"] in tables
        for pair, value in zip(PAIRS, coefficients(tables[line["id"]]), strict=True)
    ]
    return pd.concat([frame, pd.DataFrame(more)], ignore_index=True) if more else frame


def scatter_rows(frame: pd.DataFrame, tables: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Some rows drawn by each generator at each epsilon, from its first fold."""
    parts = []
    lines = frame[frame["id"].isin(list(tables))].sort_values(["fold", "seed"])
    lines = lines.drop_duplicates(list(SCATTER_AXES)).sort_values(list(SCATTER_AXES))
    for line in lines.to_dict("records"):
        table = tables[line["id"]]
        shown = np.sort(np.random.default_rng(0).permutation(len(table))[:SHOWN_ROWS])
        some = table.iloc[shown].astype(float).round(4)
        parts.append(some.assign(generator=line["generator"], epsilon=line["epsilon"]))
    columns = [*SCATTER_AXES, *NAMES]
    return pd.concat(parts, ignore_index=True)[columns] if parts else pd.DataFrame(columns=columns)
