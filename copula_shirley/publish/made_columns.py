"""Columns of a synthetic table from which no model learnt: identifiers and fakes."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from copula_shirley.rules.constants import count_rows
from copula_shirley.schema.left_out import LeftOut
from copula_shirley.schema.schema import Schema
from copula_shirley.schema.values import as_floats


def people_in(table: pd.DataFrame, schema: Schema) -> NDArray[np.int64] | None:
    """A number for the person of each row, whose rows stand side by side; None without people."""
    if schema.person is None or not schema.per_person:
        return None
    names = table[schema.person]
    return np.asarray((names != names.shift()).to_numpy().cumsum(), dtype=np.int64)


def made_faults(table: pd.DataFrame, schema: Schema, people: NDArray[np.int64] | None) -> list[str]:
    """What no generator makes: other identifiers, several fakes or too many rows of a person."""
    faults = []
    rows = np.arange(1, len(table) + 1)
    for name, left in schema.replaced.items():
        wanted = people if people is not None and name in schema.once else rows
        if left.replace == "id" and not _are_numbered(table[name], left, wanted):
            faults.append(
                f"column {name!r} must hold {left.numbered(1)}, {left.numbered(2)}, ... that are "
                "generated for it"
            )
        elif left.per and table[name].groupby(wanted).nunique(dropna=False).max() > 1:
            faults.append(f"column {name!r} differs between rows of a {schema.person}")
    if people is not None and (
        crowds := (count_rows(people.astype(float)) > schema.max_rows).sum()
    ):
        faults.append(
            f"person column {schema.person!r}: {crowds:,} rows are of people with more rows than "
            f"max_rows ({schema.max_rows})"
        )
    return faults


def _are_numbered(series: pd.Series, left: LeftOut, numbers: NDArray[np.int64]) -> bool:
    if left.pattern is None:
        return np.array_equal(as_floats(series), numbers)
    return series.tolist() == [left.numbered(n) for n in numbers.tolist()]
