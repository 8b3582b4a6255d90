"""Checks of what a model file says, so that a model that loads also draws.

A bent file must be refused when it is loaded, not blow up later: types and shapes are checked one
by one, and at the end a few rows are drawn and looked at. None of this says that nobody changed a
number; it says that the numbers can be those of a model.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
import numpy as np
import pandas as pd
from msgspec import Struct

from copula_shirley.errors import ArtefactError
from copula_shirley.schema import domain
from copula_shirley.schema.domain import FloatArray
from copula_shirley.schema.schema import Schema

#: Rows of the table that a model was fitted to, and of a sample unless another number is asked
#: for: as numbers, a single column of more would have over 8 GB.
MOST_ROWS = 10**9
#: Rows drawn from a model that was loaded, to see that it draws.
TRIAL = 32


class Header(Struct):
    """What stands in every model file."""

    generator: str
    settings: dict[str, Any]
    schema: dict[str, Any]
    columns: list[str]
    dtypes: dict[str, str]
    rows: int
    ledger: dict[str, Any]
    model: dict[str, Any]
    card: dict[str, Any]

    def __post_init__(self) -> None:
        if not 0 <= self.rows <= MOST_ROWS:
            raise ValueError(f"its rows ({self.rows}) must be 0 to {MOST_ROWS:,}")
        if "random_state" in self.settings:
            raise ValueError("its settings must not hold a seed")


def read_header(header: Mapping[str, Any]) -> Header:
    """The header with the parts of a model, each of its type."""
    try:
        return msgspec.convert(header, Header)
    except msgspec.ValidationError as error:
        raise ArtefactError(f"its header is not readable: {error}") from None


def check_columns(schema: Schema, columns: list[str], dtypes: Mapping[str, str]) -> None:
    """Refuse columns that are not those of the schema, and dtypes that cannot store them."""
    if sorted(columns) != sorted([*schema.names, *schema.replaced]):
        raise ArtefactError("its columns must be those of its schema")
    if sorted(dtypes) != sorted(schema.names):
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


def floats(array: Any, shape: tuple[int, ...] | None = None) -> FloatArray:
    """An array of a model, if it holds floats and has the shape that it must have."""
    if not isinstance(array, np.ndarray) or array.dtype != np.float64:
        raise ArtefactError("an array must hold floats")
    if shape is not None and array.shape != shape:
        raise ArtefactError(f"an array of shape {array.shape} must have shape {shape}")
    if np.isnan(array).any() or np.isposinf(array).any():
        raise ArtefactError("an array must hold numbers only")
    return array
