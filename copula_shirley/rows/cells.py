"""Values of tables that hold typed ones: texts among them that stand for missing values."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from copula_shirley.schema.file_format import FileFormat
from copula_shirley.schema.schema import Schema
from copula_shirley.schema.values import number_of


def without_named(table: pd.DataFrame, schema: Schema | None, how: FileFormat) -> pd.DataFrame:
    """The table without what stands for missing values: texts, and numbers by value."""
    if not how.missing and not how.strip:
        return table
    of_numbers = {column.name: column.is_number for column in schema or ()}
    gaps, numbers = {"", *how.missing} if how.strip else set(how.missing), how.missing_numbers

    def known(value: Any, numeric: bool) -> Any:
        value = value.strip() if how.strip and isinstance(value, str) else value
        gap = value in gaps if isinstance(value, str) else False
        return None if gap or (numeric and number_of(value) in numbers) else value

    for name in table.columns:
        series = table[name]
        numeric = pd.api.types.is_numeric_dtype(series.dtype) and series.dtype.kind != "b"
        numeric = of_numbers.get(name, numeric)
        values = [known(value, numeric) for value in series]
        lost = np.array([value is None for value in values], dtype=bool)
        if how.strip and series.dtype.kind == "O":
            series = pd.Series(values, series.index, series.dtype, name)
        table[name] = series.mask(lost)
    return table
