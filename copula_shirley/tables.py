"""Tables as files: CSV or Parquet by extension, written in chunks and atomically."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from copula_shirley.errors import SchemaError
from copula_shirley.schema import Column, Schema

CSV = (".csv",)
PARQUET = (".parquet", ".pq")
#: pandas 3 reads decimals exactly and calls asking for it deprecated.
EXACT_FLOATS: dict[str, Any] = (
    {"float_precision": "round_trip"} if pd.__version__.startswith("2.") else {}
)


def check_extension(path: str | Path) -> str:
    """The kind of a table file, by its extension."""
    suffix = Path(path).suffix.lower()
    if suffix not in CSV + PARQUET:
        known = ", ".join(CSV + PARQUET)
        raise SchemaError(f"file name {str(path)!r} must end in one of {known}")
    return "csv" if suffix in CSV else "parquet"


def read_table(
    path: str | Path, schema: Schema | None = None, missing: Sequence[str] = ()
) -> pd.DataFrame:
    """Read a table.

    In a CSV file only an empty field is a missing value, and whatever text
    ``missing`` names: a category called "None" or "NA" stays one. Columns whose
    schema lists texts are read as text, so that "007" is not 7.
    """
    try:
        if check_extension(path) == "parquet":
            if Path(path).is_dir():
                raise SchemaError(f"{str(path)!r} cannot be read: it is a folder")
            return pd.read_parquet(path)
        _check_header(path)
        _check_fields(path)
        table = pd.read_csv(
            path,
            keep_default_na=False,
            na_values=["", *missing],
            dtype=_text_columns(path, schema),
            low_memory=False,
            **EXACT_FLOATS,
        )
    except FileNotFoundError:
        raise SchemaError(f"{str(path)!r} does not exist") from None
    except OSError as error:
        raise SchemaError(f"{str(path)!r} cannot be read: {error.strerror or error}") from None
    except (ValueError, csv.Error) as error:  # parser errors are ValueErrors
        if isinstance(error, SchemaError):
            raise
        raise SchemaError(f"{str(path)!r} is not a readable table: {_reason(error)}") from None
    for column in schema or ():
        if column.name not in table:
            continue
        if _listed_numbers(column):
            table[column.name] = _as_listed(table[column.name], column)
        elif column.kind in ("integer", "continuous"):
            table[column.name] = _as_numbers(table[column.name])
    return _whole(table, schema)


def _listed_numbers(column: Column) -> bool:
    """Whether the categories are numbers or truth values and no texts."""
    return bool(column.categories) and not any(isinstance(c, str) for c in column.categories)


def _as_listed(series: pd.Series, column: Column) -> pd.Series:
    """Texts as the categories that they spell, each by itself: one odd text changes no other."""
    spelt = {str(category): category for category in column.categories}
    spelt |= {str(float(c)): c for c in column.categories if not isinstance(c, bool)}
    values = [spelt.get(value, value) if isinstance(value, str) else value for value in series]
    return pd.Series(values, series.index, dtype=object).infer_objects()


def _as_numbers(series: pd.Series) -> pd.Series:
    """Texts as the numbers that they spell, each by itself: one odd text changes no other."""
    if pd.api.types.is_numeric_dtype(series.dtype):
        return series
    numbers = pd.to_numeric(series, errors="coerce")
    return series.astype(object).where(numbers.isna(), numbers)


def _whole(table: pd.DataFrame, schema: Schema | None) -> pd.DataFrame:
    """Whole numbers with gaps as such, which pandas reads as floats."""
    for column in schema or ():
        listed = column.categories or ("",)
        whole = column.kind == "integer" or all(type(v) is int for v in listed)
        if whole and column.name in table and table[column.name].dtype == float:
            values = table[column.name]
            if values.isna().any() and (values.dropna() % 1 == 0).all():
                table[column.name] = values.astype("Int64")
    return table


def _reason(error: Exception) -> str:
    """What is wrong with a file, without quoting what stands in it."""
    if isinstance(error, UnicodeDecodeError):
        return "it is not UTF-8 text"
    if isinstance(error, pd.errors.EmptyDataError):
        return "it is empty"
    if isinstance(error, pd.errors.ParserError | csv.Error):
        return "its lines have different numbers of fields, or a quote is not closed"
    return f"{type(error).__name__}"


def _header(path: str | Path) -> list[str]:
    with open(path, encoding="utf-8-sig", newline="") as file:
        return next(csv.reader(file), [])


def _check_fields(path: str | Path) -> None:
    with open(path, encoding="utf-8-sig", newline="") as file:
        lines = (line for line in csv.reader(file, strict=True) if line)
        width = len(next(lines, []))
        if any(len(line) != width for line in lines):
            raise pd.errors.ParserError


def _check_header(path: str | Path) -> None:
    """Refuse duplicate columns, which pandas renames without a word, and other separators."""
    names = _header(path)
    if len(names) == 1 and (";" in names[0] or "\t" in names[0]):
        raise SchemaError(f"{str(path)!r} must separate its fields by commas, not by ; or tabs")
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise SchemaError(f"column {twice[0]!r} stands twice in {str(path)!r}; names must differ")


def _text_columns(path: str | Path, schema: Schema | None) -> dict[Any, type]:
    """Columns to read as text: texts, dates as text, and people ("007" is not 7)."""
    if schema is None:
        return _leading_zeros(path)
    texts = {column.name for column in schema if column.format or column.categories}
    return dict.fromkeys((texts | {schema.person}) & set(_header(path)), str)


def _leading_zeros(path: str | Path) -> dict[Any, type]:
    """Columns with texts such as 01234, which are codes and no numbers."""
    texts = pd.read_csv(path, dtype=str, keep_default_na=False, encoding="utf-8-sig")
    return {name: str for name in texts if texts[name].str.match(r"0\d").any()}


def write_table(
    path: Path,
    chunks: Iterable[pd.DataFrame],
    kind: str,
    written: Callable[[int], object],
) -> None:
    """Write chunks of one table; ``written`` is told the rows of each."""
    if kind == "csv":
        with open(path, "w", encoding="utf-8", newline="") as file:
            for i, chunk in enumerate(chunks):
                chunk.to_csv(file, index=False, header=i == 0, lineterminator="\n")
                written(len(chunk))
        return
    writer: pq.ParquetWriter | None = None
    try:
        for chunk in chunks:
            table = pa.Table.from_pandas(
                chunk, schema=writer.schema if writer else None, preserve_index=False
            )
            if writer is None:
                fields = [
                    f.with_type(pa.string()) if pa.types.is_null(f.type) else f
                    for f in table.schema
                ]
                table = table.cast(pa.schema(fields, table.schema.metadata))
                writer = pq.ParquetWriter(path, table.schema)
            writer.write_table(table)
            written(len(chunk))
    finally:
        if writer:
            writer.close()
