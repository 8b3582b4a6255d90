"""Tables of other libraries as frames of pandas: whatever gives an Arrow stream.

polars, duckdb and pyarrow do. A column has the type that its library declares, and no gap changes
the dtype that it gets here.
"""

from __future__ import annotations

import datetime as dt
import sys
from typing import Any

import pandas as pd
import pyarrow as pa

from copula_shirley.errors import SchemaError

#: Dtypes that can hold a gap, so that none changes them.
NULLABLE: dict[Any, Any] = {pa.bool_(): pd.BooleanDtype()} | {
    pa.type_for_alias(name.lower()): pd.api.types.pandas_dtype(name)
    for name in ("Int8", "Int16", "Int32", "Int64", "UInt8", "UInt16", "UInt32", "UInt64")
}
#: Texts of a kind that pandas does not know.
INTERVAL = pa.month_day_nano_interval()
VIEWS = {pa.string_view(): pa.large_string(), pa.binary_view(): pa.large_binary()}


def as_frame(table: Any) -> Any:
    """A table with an Arrow stream as a frame; whatever has none is given back as it is.

    Examples
    --------
    >>> as_frame(pa.table({"n": [1, None]}))["n"].dtype
    Int64Dtype()
    """
    streams = hasattr(table, "__arrow_c_stream__") or hasattr(table, "__arrow_c_array__")
    if isinstance(table, pd.DataFrame | pd.Series) or not streams:
        return table
    try:
        found = pa.table(table)
    except (pa.ArrowException, TypeError, ValueError) as error:  # a single column, or consumed
        why = type(error).__name__
        raise SchemaError(f"table ({type(table).__name__}) must be a table: {why}") from None
    check_columns(found.schema)
    try:
        return frame_of(found)
    except (pa.ArrowException, ValueError, OverflowError) as error:  # its words may quote a value
        why = type(error).__name__
    raise SchemaError(f"table: a value cannot be read ({why}), such as a date beyond the year 9999")


def like(given: Any, made: pd.DataFrame) -> Any:
    """A frame as the kind of table that was given: of polars, or else of pyarrow.

    Examples
    --------
    >>> type(like(pa.table({"n": [1]}), pd.DataFrame({"n": [2]})))
    <class 'pyarrow.lib.Table'>
    """
    if isinstance(given, pd.DataFrame):
        return made
    table = pa.Table.from_pandas(made, preserve_index=False).replace_schema_metadata()
    if type(given).__module__.partition(".")[0] == "polars":
        return sys.modules["polars"].from_arrow(table)
    return table


def frame_of(table: pa.Table) -> pd.DataFrame:
    """An Arrow table as a frame; no gap changes a dtype."""
    for place, name in enumerate(table.column_names):
        column = table.column(place)
        if (plain := _plain(column)) is not column:
            table = table.set_column(place, name, plain)
    intervals = [field.name for field in table.schema if field.type == INTERVAL]
    rest = table.drop_columns(intervals)
    about = table.schema.pandas_metadata or {}
    # what pandas would make an index of is a column like others
    indexed = not set(table.column_names).isdisjoint(map(str, about.get("index_columns", ())))
    frame: pd.DataFrame = rest.to_pandas(types_mapper=NULLABLE.get, ignore_metadata=indexed)
    for name in intervals:
        frame[name] = pd.Series(map(_length, table[name].to_pylist()), dtype=object)
    ordered: pd.DataFrame = frame[table.column_names]
    return ordered


def stored(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """A column of a type that some library made up, as what it is stored as."""
    if not isinstance(column.type, pa.BaseExtensionType):
        return column
    return pa.chunked_array([c.storage for c in column.chunks], type=column.type.storage_type)


def _plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """A column of a type that pandas knows."""
    kind = column.type
    if isinstance(kind, getattr(pa, "UuidType", ())):  # older versions have none
        return pa.chunked_array([[v and str(v) for v in column.to_pylist()]], type=pa.string())
    column, kind = stored(column), getattr(kind, "storage_type", kind)
    if pa.types.is_time(kind):  # a time of day is a length of time since midnight
        micro = column.cast(pa.time64("us"), safe=False)  # cut, as all times are
        return micro.cast(pa.int64()).cast(pa.duration("us"))
    return column.cast(known) if (known := _known(kind)) != kind else column


def _known(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_dictionary(kind):
        return pa.dictionary(kind.index_type, _known(kind.value_type), kind.ordered)
    return VIEWS.get(kind, kind)


def _length(value: Any) -> Any:
    """A length of time; with months, which differ, it is none and stays a text."""
    if value is None:
        return None
    whole = dt.timedelta(value.days, microseconds=value.nanoseconds // 1000)
    return str(value) if value.months else whole


def check_columns(schema: pa.Schema, where: str = "the table") -> None:
    """Refuse columns of lists and the like, which no schema can describe, and names twice."""
    for field in schema:
        kind = field.type.value_type if pa.types.is_dictionary(field.type) else field.type
        if pa.types.is_nested(kind):
            found = str(kind).partition("<")[0]
            rule = f"holds values of type {found}; store texts, numbers or dates"
            raise SchemaError(f"column {field.name!r}: {rule}")
    if len(set(schema.names)) < len(schema.names):
        twice = next(name for name in schema.names if schema.names.count(name) > 1)
        raise SchemaError(f"column {twice!r} stands twice in {where}; names must differ")
