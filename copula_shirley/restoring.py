"""Checks of what a model file says, so that a model that loads also draws.

A bent file must be refused when it is loaded, not blow up later: types and shapes are checked one
by one, and at the end a few rows are drawn and looked at. None of this says that nobody changed a
number; it says that the numbers can be those of a model.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from copula_shirley.errors import ArtefactError
from copula_shirley.schema import domain
from copula_shirley.schema.domain import FloatArray
from copula_shirley.schema.schema import Schema

#: What stands in every header, and of which type.
PARTS: dict[str, type] = {
    "generator": str,
    "settings": dict,
    "schema": dict,
    "columns": list,
    "dtypes": dict,
    "rows": int,
    "ledger": dict,
    "model": dict,
}
#: Rows of the table that a model was fitted to, and of a sample unless another number is asked
#: for: as numbers, a single column of more would have over 8 GB.
MOST_ROWS = 10**9
#: Whole numbers of a transcript are exact as floats, in which models are estimated.
LARGEST_COUNT = 2**53
#: Rows drawn from a model that was loaded, to see that it draws.
TRIAL = 32


def check_header(header: Mapping[str, Any]) -> None:
    """Refuse a header without the parts of a model, or with parts of another type."""
    for name, kind in PARTS.items():
        if type(header.get(name)) is not kind:
            raise ArtefactError(f"its {name} must be a {kind.__name__}")
    if not 0 <= header["rows"] <= MOST_ROWS:
        raise ArtefactError(f"its rows ({header['rows']}) must be 0 to {MOST_ROWS:,}")
    if "random_state" in header["settings"]:
        raise ArtefactError("its settings must not hold a seed")


def check_columns(schema: Schema, columns: list[Any], dtypes: Mapping[str, Any]) -> None:
    """Refuse columns that are not those of the schema, and dtypes that cannot store them."""
    if not texts(columns) or sorted(columns) != sorted(schema.names + schema.ids):
        raise ArtefactError("its columns must be those of its schema")
    if sorted(dtypes) != sorted(schema.names) or not texts(dtypes.values()):
        raise ArtefactError("its dtypes must be those of its columns")
    for column in schema:
        cells = column.domain.cells()
        known = cells.first[np.isfinite(cells.first)]
        ends = [[known[0], cells.last[-1]], [domain.MISSING]][: 1 + column.missing]
        for numbers in ends:
            column.domain.from_numbers(np.array(numbers), dtypes[column.name])


def check_draws(rows: pd.DataFrame, schema: Schema) -> None:
    """Refuse a model whose rows lie outside its own domain."""
    for column in schema:
        if column.domain.outside(rows[column.name]).any():
            raise ArtefactError(f"it draws values outside the domain of {column.name!r}")


def texts(values: Iterable[Any]) -> bool:
    """Whether all values are texts."""
    return all(isinstance(value, str) for value in values)


def floats(array: Any, shape: tuple[int, ...] | None = None) -> FloatArray:
    """An array of a model, if it holds floats and has the shape that it must have."""
    if not isinstance(array, np.ndarray) or array.dtype != np.float64:
        raise ArtefactError("an array must hold floats")
    if shape is not None and array.shape != shape:
        raise ArtefactError(f"an array of shape {array.shape} must have shape {shape}")
    if np.isnan(array).any() or np.isposinf(array).any():
        raise ArtefactError("an array must hold numbers only")
    return array


def counts(values: Any, shape: tuple[int, ...]) -> bool:
    """Whether an array holds whole numbers, of this shape and of a size that can be."""
    return (
        isinstance(values, np.ndarray)
        and values.dtype == np.int64
        and values.shape == shape
        and bool(np.all((values <= LARGEST_COUNT) & (values >= -LARGEST_COUNT)))
    )
