"""Tables as files: CSV or Parquet by extension, written in chunks and atomically."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Literal, TextIO

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from copula_shirley.errors import SchemaError
from copula_shirley.files import check_regular
from copula_shirley.schema import Column, Schema

CSV = (".csv",)
PARQUET = (".parquet", ".pq")
#: Columns of a table: a vine has a pair copula for each two of them.
MOST_COLUMNS = 10_000
#: Cells of a Parquet file, which can say a lot in few bytes; as numbers they have 8 GB.
MOST_CELLS = 10**9
#: Letters of one line of a CSV file; a single field has at most 131,072, Python's own limit.
LONGEST_LINE = 2**24
#: A spreadsheet takes a text that begins so for a formula and runs it (OWASP, CSV injection).
FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")
#: pandas 3 reads decimals exactly and calls asking for it deprecated.
EXACT_FLOATS: dict[str, Any] = (
    {"float_precision": "round_trip"} if pd.__version__.startswith("2.") else {}
)


def is_table(path: str | Path) -> bool:
    """Whether a file is a table, by its extension."""
    return Path(path).suffix.lower() in CSV + PARQUET


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
    check_regular(path, SchemaError)
    try:
        if check_extension(path) == "parquet":
            return _read_parquet(path)
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
    except SchemaError:
        raise
    except (ValueError, csv.Error) as error:  # parser errors are ValueErrors
        raise SchemaError(f"{str(path)!r} is not a readable table: {_reason(error)}") from None
    except MemoryError:
        raise SchemaError(f"{str(path)!r} does not fit into the memory") from None
    for column in schema or ():
        if column.name not in table:
            continue
        if _listed_numbers(column):
            table[column.name] = _as_listed(table[column.name], column)
        elif column.kind in ("integer", "continuous"):
            table[column.name] = _as_numbers(table[column.name])
    return _whole(table, schema)


def _read_parquet(path: str | Path) -> pd.DataFrame:
    """A Parquet file whose sizes can be; a small one may say that it has a billion rows."""
    try:
        about = pq.read_metadata(path)
        if about.num_columns > MOST_COLUMNS:
            raise SchemaError(
                f"{str(path)!r}: columns ({about.num_columns:,}) must be at most {MOST_COLUMNS:,}"
            )
        if about.num_rows * max(about.num_columns, 1) > MOST_CELLS:
            raise SchemaError(
                f"{str(path)!r}: rows ({about.num_rows:,}) times columns ({about.num_columns:,}) "
                f"must be at most {MOST_CELLS:,}"
            )
        return pd.read_parquet(path)
    except (SchemaError, OSError, MemoryError):
        raise
    except Exception as error:  # what Arrow and pandas make of bent bytes
        raise SchemaError(
            f"{str(path)!r} is not a readable table: {type(error).__name__}"
        ) from None


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
    if isinstance(error, csv.Error) and "field limit" in str(error):
        return f"a field has more than {csv.field_size_limit():,} letters"
    if isinstance(error, pd.errors.ParserError | csv.Error):
        return "its lines have different numbers of fields, or a quote is not closed"
    return f"{type(error).__name__}"


def _header(path: str | Path) -> list[str]:
    with open(path, encoding="utf-8-sig", newline="") as file:
        return next(csv.reader(_short_lines(file)), [])


def _short_lines(file: TextIO) -> Iterator[str]:
    """The lines of a file; one that is longer than any of a table ends the reading."""
    while line := file.readline(LONGEST_LINE + 1):
        if len(line) > LONGEST_LINE:
            raise SchemaError(f"{file.name!r}: a line must have at most {LONGEST_LINE:,} letters")
        yield line


def _check_fields(path: str | Path) -> None:
    with open(path, encoding="utf-8-sig", newline="") as file:
        lines = (line for line in csv.reader(_short_lines(file), strict=True) if line)
        width = len(next(lines, []))
        if any(len(line) != width for line in lines):
            raise pd.errors.ParserError


def _check_header(path: str | Path) -> None:
    """Refuse duplicate columns, which pandas renames without a word, and other separators."""
    names = _header(path)
    if len(names) > MOST_COLUMNS:
        raise SchemaError(f"{str(path)!r}: columns must be at most {MOST_COLUMNS:,}")
    if len(names) == 1 and (";" in names[0] or "\t" in names[0]):
        raise SchemaError(f"{str(path)!r} must separate its fields by commas, not by ; or tabs")
    twice = next((name for name, times in Counter(names).items() if times > 1), None)
    if twice is not None:
        raise SchemaError(f"column {twice!r} stands twice in {str(path)!r}; names must differ")


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
    *,
    escape_formulas: bool = False,
) -> None:
    """Write chunks of one table; ``written`` is told the rows of each.

    ``escape_formulas`` puts a single quote before texts, and names of columns, that a spreadsheet
    would run as a formula (see ``escaped``). It changes values, so that it is off by default.
    """
    if kind == "csv":
        with open(path, "w", encoding="utf-8", newline="") as file:
            for i, chunk in enumerate(chunks):
                table = escaped(chunk) if escape_formulas else chunk
                table.to_csv(
                    file, index=False, header=i == 0, lineterminator="\n", quoting=_quoting(table)
                )
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


def _quoting(table: pd.DataFrame) -> Literal[0, 2]:
    """Quotes around every text if one holds a carriage return, which Python's csv leaves bare."""
    texts = [table[n].dropna().unique() for n in table if table[n].dtype.kind not in "biufmM"]
    held = any(isinstance(v, str) and "\r" in v for v in [*table, *(v for t in texts for v in t)])
    return csv.QUOTE_NONNUMERIC if held else csv.QUOTE_MINIMAL


# -- formulas ----------------------------------------------------------------------


def is_formula(value: Any) -> bool:
    """Whether a spreadsheet would run a text as a formula; a number is none.

    Examples
    --------
    >>> is_formula("=1+1"), is_formula("-5 to 0"), is_formula(-5), is_formula("a=b")
    (True, True, False, False)
    """
    return isinstance(value, str) and value.startswith(FORMULA_STARTS)


def quoted(value: Any) -> Any:
    """The value with a single quote before it if it is a formula."""
    return f"'{value}" if is_formula(value) else value


def escaped(table: pd.DataFrame) -> pd.DataFrame:
    """The table with a single quote before every text and name that is a formula.

    Numbers stay numbers: only texts are changed. To read the values again, take one leading quote
    off each text whose second letter is one of ``= + - @``, tab or carriage return. A text that
    had such a quote already cannot be told apart from an escaped one.

    Examples
    --------
    >>> escaped(pd.DataFrame({"=x": ["@home", "away"], "n": [-1, 2]})).to_dict("list")
    {"'=x": ["'@home", 'away'], 'n': [-1, 2]}
    """
    series = {}
    for name in table:
        values = table[name]
        if not pd.api.types.is_numeric_dtype(values.dtype):
            values = values.astype(object).map(quoted)
        series[quoted(name)] = values
    return pd.DataFrame(series)


def formulas(schema: Schema) -> list[str]:
    """Names of the columns that hold, or are, texts that a spreadsheet would run."""
    return [
        column.name
        for column in schema
        if any(map(is_formula, (column.name, column.format, *column.categories)))
    ]
