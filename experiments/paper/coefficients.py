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
#: What says from which run rows were drawn.
SCATTER_AXES = ("generator", "epsilon")


def coefficients(table: pd.DataFrame) -> list[float]:
    """The seven Spearman coefficients of table 5.2: A with B to F, then A with F in each half.

    Examples
    --------
    >>> a = [-2.0, -1.0, 1.0, 2.0]
    >>> table = pd.DataFrame({"A": a, "B": a, "C": a[::-1], "D": a, "E": a, "F": [1, 2, 4, 3]})
    >>> [round(value, 3) + 0.0 for value in coefficients(table)]
    [1.0, -1.0, 1.0, 1.0, 0.8, 1.0, -1.0]
    """
    pairs = [(table, other) for other in "BCDEF"]
    halves = [(table[table["A"] < 0], "F"), (table[table["A"] > 0], "F")]
    return [_spearman(rows["A"], rows[other]) for rows, other in pairs + halves]


@cache
def reference() -> tuple[float, ...]:
    """The seven coefficients of the made set itself."""
    return tuple(coefficients(load_dataset("made").table))


def _spearman(first: pd.Series[float], second: pd.Series[float]) -> float:
    """A column without two values has correlation 0."""
    if first.nunique() < 2 or second.nunique() < 2:
        return 0.0
    return float(first.corr(second, method="spearman"))


def with_coefficients(frame: pd.DataFrame, tables: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """The tidy frame with seven more figures for each run (by id) whose table was kept."""
    first = frame.drop_duplicates("id")
    parts = [frame]
    for _, line in first[first["id"].isin(list(tables))].iterrows():
        found = coefficients(tables[line["id"]])
        about = pd.DataFrame([line.to_dict()] * len(PAIRS))
        about["metric"] = [f"{PREFIX}{pair}" for pair in PAIRS]
        about["value"] = found
        parts.append(about)
    return pd.concat(parts, ignore_index=True) if len(parts) > 1 else frame


def scatter_rows(frame: pd.DataFrame, tables: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Some rows drawn by each generator at each epsilon, from its first fold."""
    parts = []
    lines = frame.drop_duplicates("id").sort_values(["fold", "seed"])
    lines = lines[lines["id"].isin(list(tables))].drop_duplicates(list(SCATTER_AXES))
    for _, line in lines.sort_values(list(SCATTER_AXES)).iterrows():
        table = tables[line["id"]]
        rng = np.random.default_rng(0)
        rows = rng.permutation(len(table))[:SHOWN_ROWS]
        some = table.iloc[np.sort(rows)].astype(float).round(4).reset_index(drop=True)
        some.insert(0, "generator", line["generator"])
        some.insert(1, "epsilon", float("nan") if line["epsilon"] is None else line["epsilon"])
        parts.append(some)
    columns = [*SCATTER_AXES, *"ABCDEF"]
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=columns)
