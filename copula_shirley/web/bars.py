"""The shares of each column's values, as bars: cells are of the declared domain, never of rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from copula_shirley.schema.schema import Column, Schema

#: Bars of numbers, and categories that are shown one by one.
CELLS, LISTED = 24, 12


def bars_of(table: pd.DataFrame, schema: Schema) -> list[dict[str, Any]]:
    """The bars of all columns."""
    return [_bars(column, table[column.name]) for column in schema]


def compared(synthetic: list[dict[str, Any]], real: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The bars of synthetic rows beside those of real ones, and the rows that differ."""
    return [
        {
            **ours,
            "real": theirs["shares"],
            "moved": sum(abs(a - b) for a, b in zip(ours["shares"], theirs["shares"], strict=True))
            / 2,
        }
        for ours, theirs in zip(synthetic, real, strict=True)
    ]


def _bars(column: Column, values: pd.Series) -> dict[str, Any]:
    domain = column.domain
    numbers = domain.to_numbers(values)
    known = numbers[~np.isneginf(numbers)]
    total = max(len(numbers), 1)
    if column.is_listed:
        labels = [str(category) for category in domain.categories]
        counts = np.bincount(known.astype(np.int64), minlength=len(labels)).astype(float)
        if len(labels) > LISTED:
            labels = [*labels[: LISTED - 1], f"{len(labels) - LISTED + 1} others"]
            counts = np.append(counts[: LISTED - 1], counts[LISTED - 1 :].sum())
    else:
        ends = column.to_dict()
        labels = [str(ends["minimum"]), str(ends["maximum"])]
        counts = np.histogram(known, *_cells(*domain.number_range, domain.step_size))[0]
        counts = counts.astype(float)
    shares = (counts / total).tolist()
    if column.missing:
        labels, shares = [*labels, "missing"], [*shares, 1 - len(known) / total]
    return {"name": column.name, "listed": column.is_listed, "labels": labels, "shares": shares}


def _cells(low: float, high: float, step: float) -> tuple[int, tuple[float, float]]:
    """At most ``CELLS`` cells of as many steps each, and their ends.

    Examples
    --------
    >>> _cells(0, 5, 1), _cells(4, 93, 1), _cells(0.0, 1.0, 0)
    ((6, (0, 6)), (23, (4, 96)), (24, (0.0, 1.0)))
    """
    if not step:
        return CELLS, (low, high)
    steps = max(round((high - low) / step), 0) + 1
    wide = -(-steps // CELLS)
    cells = -(-steps // wide)
    return cells, (low, low + cells * wide * step)
