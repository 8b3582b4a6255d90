"""Cells of equal mass for peers that find none themselves.

The quantiles are those of the training rows, without noise, so nothing is proved of what such a
peer draws: they are given away so that a comparison is not about cells.
"""

from __future__ import annotations

import numpy as np

from copula_shirley.rows.memory import MemoryRows
from copula_shirley.schema.domain import MISSING, Cells, FloatArray, Grid
from copula_shirley.schema.schema import Column

#: Cells of a numeric column of more values.
QUANTILES = 16


def quantile_grid(rows: MemoryRows) -> Grid:
    """The cells of a table's schema, with those of numeric columns at its quantiles."""
    grid = Grid(rows.schema)
    for column in rows.schema:
        numbers = rows.numbers[column.name]
        if not column.is_listed and len(np.unique(numbers)) > QUANTILES:
            grid.cells[column.name] = quantile_cells(column, numbers)
    grid.sizes = {name: cells.size for name, cells in grid.cells.items()}
    return grid


def quantile_cells(column: Column, numbers: FloatArray) -> Cells:
    """Neighbouring values of about equal mass together; a value that is a cell's mass is alone."""
    values, counts = np.unique(numbers[numbers > MISSING], return_counts=True)
    alone = counts >= counts.sum() / QUANTILES
    middle = (np.cumsum(counts) - counts / 2) / counts.sum()
    place = np.floor(middle * QUANTILES) + np.cumsum(alone) * 2 * QUANTILES - alone * QUANTILES
    starts = np.append(True, np.diff(place) != 0)
    first, last = values[starts], values[np.append(starts[1:], True)]
    if column.missing:
        first, last = np.append(MISSING, first), np.append(MISSING, last)
    return Cells(first, last, column.domain.step_size)
