"""Values of tables that hold typed ones, each read by itself.

A workbook or SQLite gives every cell a type of its own. So a number or a truth value is read as
the text that a file would have in its place, in the file's own decimal sign, by the declared kind
of its column, and a date or a length of time as itself where its column is of these: no cell
changes how another one is read.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from copula_shirley.errors import SchemaError
from copula_shirley.files.texts import shown
from copula_shirley.rows.text_files import check_names, readers_of, typed
from copula_shirley.schema.domain import TEXT
from copula_shirley.schema.file_format import FileFormat
from copula_shirley.schema.schema import MOST_COLUMNS, Schema
from copula_shirley.schema.values import number_of

#: Values of cells by column; None and the empty text are missing.
Cells = dict[str, Sequence[Any]]
#: What is read as itself in a column of its kind.
TIMES = (dt.date, dt.timedelta)
#: What a cell may hold.
KNOWN = (str, int, float, *TIMES, dt.time, type(None))


def columns_of(place: str, header: Sequence[Any], rows: Iterable[Sequence[Any]]) -> Cells:
    """The cells of a table by column."""
    if len(header) > MOST_COLUMNS:
        raise SchemaError(f"{place!r}: columns must be at most {MOST_COLUMNS:,}")
    names = [as_text(name).strip() for name in header]
    if "" in names:
        raise SchemaError(
            f"{place!r}: column {names.index('') + 1} has no name; above the rows must stand one "
            "line with a name for each column, without merged cells"
        )
    columns = dict(zip(check_names(place, names), zip(*rows, strict=True), strict=False))
    cells: Cells = {name: columns.get(name, ()) for name in names}
    for name, values in cells.items():
        odd = next((type(v).__name__ for v in values if not isinstance(v, KNOWN)), None)
        if odd:
            rule = f"holds values of type {odd}; store texts, numbers or dates"
            raise SchemaError(f"column {shown(name)}: {rule}")
    return cells


def read_cells(cells: Cells, schema: Schema | None, how: FileFormat) -> pd.DataFrame:
    """The table of cells; without a schema the types of its columns are guessed."""
    if schema is None:
        return pd.DataFrame({name: typed_cells(values, how) for name, values in cells.items()})
    times = {c.name: tuple(t for t in c.domain.types if t in TIMES) for c in schema}
    dtypes = {c.name: "object" if times[c.name] else c.domain.file_dtype for c in schema}
    table = {}
    for name, read in zip(cells, readers_of(cells, schema, how), strict=True):
        own = times.get(name, ())
        kept = {i: value for i, value in enumerate(cells[name]) if isinstance(value, own)}
        texts = ["" if i in kept else as_text(v, how.decimal) for i, v in enumerate(cells[name])]
        found = read(texts)
        for i, value in kept.items():
            found[i] = value
        table[name] = pd.Series(found, dtype=dtypes.get(name, TEXT))
    return pd.DataFrame(table)


def typed_cells(values: Sequence[Any], how: FileFormat) -> pd.Series:
    """A column whose type follows from all its cells together."""
    gaps = {"", *how.missing}
    known = [v for v in values if as_text(v, how.decimal).strip() not in gaps]
    for kind in TIMES:
        if known and all(isinstance(value, kind) for value in known):
            kept = [value if isinstance(value, kind) else None for value in values]
            return pd.Series(kept, dtype=object)
    return typed(texts_of(values, how), how)


def texts_of(values: Sequence[Any], how: FileFormat) -> pa.DictionaryArray:
    """Cells as the texts that a file would have in their places."""
    texts = [as_text(value, how.decimal) for value in values]
    return pa.array(texts, type=pa.large_string()).dictionary_encode()


def as_text(value: Any, decimal: str = ".") -> str:
    """A cell as text.

    Examples
    --------
    >>> [as_text(v, ",") for v in (3.0, 2.5, True, None, dt.date(2020, 1, 31), dt.time(9, 5), "a")]
    ['3', '2,5', 'True', '', '2020-01-31', '09:05:00', 'a']
    """
    if value is None:
        return ""
    if isinstance(value, float):
        whole = value.is_integer() and abs(value) < 2**53
        return str(int(value)) if whole else repr(value).replace(".", decimal)
    return value.isoformat() if isinstance(value, dt.date | dt.time) else str(value)


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
