"""Tables as files: CSV or Parquet by extension, written in chunks and atomically."""

from __future__ import annotations

import csv
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, Literal, TextIO

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from copula_shirley.errors import SchemaError
from copula_shirley.files.atomic import check_regular
from copula_shirley.schema.domain import TEXT
from copula_shirley.schema.schema import MOST_COLUMNS, Column, Schema
from copula_shirley.schema.values import number_of, reader_of

CSV = (".csv",)
PARQUET = (".parquet", ".pq")
#: Cells of a Parquet file, which can say a lot in few bytes; as numbers they have 8 GB.
MOST_CELLS = 10**9
#: Bytes of a Parquet file's table in memory, whatever the size of the file; and how many times the
#: file's size they may be beyond that. A column of zeros packs a million times.
HARMLESS, LARGEST_RATIO = 2**30, 100
#: Values of texts that are looked at together.
BATCH = 2**20
#: Letters of one line of a CSV file; a single field has at most 131,072, Python's own limit.
LONGEST_LINE = 2**24
#: Lines of a CSV file that are in memory as texts at a time.
BLOCK = 20_000
#: Dtypes that can hold a gap, so that none changes them.
NULLABLE: dict[Any, Any] = {
    pa.bool_(): pd.BooleanDtype(),
    pa.int8(): pd.Int8Dtype(),
    pa.int16(): pd.Int16Dtype(),
    pa.int32(): pd.Int32Dtype(),
    pa.int64(): pd.Int64Dtype(),
    pa.uint8(): pd.UInt8Dtype(),
    pa.uint16(): pd.UInt16Dtype(),
    pa.uint32(): pd.UInt32Dtype(),
    pa.uint64(): pd.UInt64Dtype(),
}
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
    ``missing`` names: a category called "None" or "NA" stays one.

    With a schema every field of a CSV file is read by itself, by the kind of its
    column: numbers, truth values and listed numbers are such, in columns of
    dtype object, and what is none of them stays the text that it is; all else is
    text. No row changes how another is read, nor a dtype
    (``copula_shirley.schema.values``). Without a schema pandas finds the types from all
    rows together, which is no basis for a release.
    """
    check_regular(path, SchemaError)
    try:
        if check_extension(path) == "parquet":
            return _without_named(_read_parquet(path, schema), schema, missing)
        if schema is not None:
            return _read_fields(path, schema, missing)
        _check_lines(path)
        texts = pd.read_csv(path, dtype=str, keep_default_na=False, encoding="utf-8-sig")
        # 01234 is a code and no number
        codes: dict[Any, type] = {
            name: str for name in texts if texts[name].str.match(r"0\d").any()
        }
        table: pd.DataFrame = pd.read_csv(
            path,
            keep_default_na=False,
            na_values=["", *missing],
            dtype=codes,
            low_memory=False,
            **EXACT_FLOATS,
        )
        return table
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


def _lines(file: TextIO) -> Iterator[list[str]]:
    """Names of the columns, then the fields of each line, as many of them; blank lines are none."""
    lines = (line for line in csv.reader(_short_lines(file), strict=True) if line)
    names = next(lines, [])
    _check_names(file.name, names)
    yield [name or f"Unnamed: {i}" for i, name in enumerate(names)]  # as pandas names them
    for line in lines:
        if len(line) != len(names):
            raise pd.errors.ParserError
        yield line


def _read_fields(path: str | Path, schema: Schema, missing: Sequence[str]) -> pd.DataFrame:
    """A CSV file, each field read by itself by the kind of its column."""
    columns = {column.name: column for column in schema}
    with open(path, encoding="utf-8-sig", newline="") as file:
        lines = _lines(file)
        names = next(lines)
        readers = [reader_of(columns.get(name), missing) for name in names]
        blocks: list[list[NDArray[np.object_]]] = [[np.empty(0, dtype=object)] for _ in names]
        while block := list(islice(lines, BLOCK)):
            for read, own, texts in zip(readers, blocks, zip(*block, strict=True), strict=True):
                own.append(read(texts))
    series = {
        name: pd.Series(np.concatenate(own), dtype=_dtype(columns.get(name)))
        for name, own in zip(names, blocks, strict=True)
    }
    return pd.DataFrame(series)


def _dtype(column: Column | None) -> str:
    """The dtype of a column of a CSV file: of texts where all that it can hold is text."""
    if column is None or column.kind == "datetime":
        return TEXT
    listed = column.kind == "categorical" and all(isinstance(c, str) for c in column.categories)
    return TEXT if listed else "object"


def _without_named(
    table: pd.DataFrame, schema: Schema | None, missing: Sequence[str]
) -> pd.DataFrame:
    """The table without the values that stand for missing ones: texts, and numbers by value."""
    if not missing:
        return table
    numbers = {n for n in map(number_of, missing) if not math.isnan(n)}
    kinds = {column.name: column.kind for column in schema or ()}

    def named(value: Any, kind: str) -> bool:
        if isinstance(value, str) and value in missing:
            return True
        return kind in ("integer", "continuous") and number_of(value) in numbers

    for name in table.columns:
        dtype = table[name].dtype
        numeric = pd.api.types.is_numeric_dtype(dtype) and dtype.kind != "b"
        kind = kinds.get(name, "integer" if numeric else "categorical")
        stands = np.array([named(value, kind) for value in table[name]], dtype=bool)
        table[name] = table[name].mask(stands)
    return table


def _read_parquet(path: str | Path, schema: Schema | None) -> pd.DataFrame:
    """A Parquet file whose sizes can be; a small one may say that it has a billion rows.

    With a schema no row decides a dtype: whole numbers and truth values with gaps stay such.
    """
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
        _check_kinds(pq.read_schema(path))
        _check_unpacked(path, about)
        if schema is None:
            return pd.read_parquet(path)
        table: pd.DataFrame = pq.read_table(path).to_pandas(types_mapper=NULLABLE.get)
        return table
    except Exception as error:  # what Arrow and pandas make of bent bytes
        if isinstance(error, SchemaError | MemoryError) or getattr(error, "errno", None):
            raise
        raise SchemaError(
            f"{str(path)!r} is not a readable table: {type(error).__name__}"
        ) from None


def _check_kinds(schema: pa.Schema) -> None:
    """Refuse columns of lists and the like, which no schema can describe."""
    for field in schema:
        kind = field.type.value_type if pa.types.is_dictionary(field.type) else field.type
        if pa.types.is_nested(kind):
            raise SchemaError(
                f"column {field.name!r}: holds values of type {str(kind).partition('<')[0]}; store "
                "texts, numbers or dates"
            )


def _check_unpacked(path: str | Path, about: pq.FileMetaData) -> None:
    """Refuse a small file that says a huge table, before memory is taken for it.

    Numbers are counted as the pipeline holds them, with 8 bytes each. A text stands once in the
    file and as often as it occurs in the table: their lengths are added up without making them.
    """
    most = max(HARMLESS, LARGEST_RATIO * Path(path).stat().st_size)
    groups = [about.row_group(i) for i in range(about.num_row_groups)]
    rows = max(about.num_rows, sum(group.num_rows for group in groups))
    found = max(8 * rows * about.num_columns, sum(group.total_byte_size for group in groups))
    texts = [
        field.name
        for field in pq.read_schema(path)
        if any(of(field.type) for of in (pa.types.is_string, pa.types.is_large_string))
        or any(of(field.type) for of in (pa.types.is_binary, pa.types.is_large_binary))
    ]
    if found <= most and texts:
        with pq.ParquetFile(path, read_dictionary=texts) as file:
            for batch in file.iter_batches(max(1, BATCH // len(texts)), columns=texts):
                for column in batch.columns:
                    lengths = pc.binary_length(column.dictionary).take(column.indices)
                    found += pc.sum(lengths).as_py() or 0
                if found > most:
                    break
    if found > most:
        raise SchemaError(
            f"{str(path)!r}: its table would have {found:,} bytes or more in memory; of a Parquet "
            f"file of its size it must have at most {most:,} (write the file without compression "
            "and dictionaries if it is meant so)"
        )


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


def _short_lines(file: TextIO) -> Iterator[str]:
    """The lines of a file; one that is longer than any of a table ends the reading."""
    while line := file.readline(LONGEST_LINE + 1):
        if len(line) > LONGEST_LINE:
            raise SchemaError(f"{file.name!r}: a line must have at most {LONGEST_LINE:,} letters")
        yield line


def _check_lines(path: str | Path) -> None:
    """Refuse a file that ``_lines`` refuses, before pandas reads it."""
    with open(path, encoding="utf-8-sig", newline="") as file:
        for _ in _lines(file):
            pass


def _check_names(path: str, names: Sequence[str]) -> None:
    """Refuse duplicate columns, which pandas renames without a word, and other separators."""
    if not names:
        raise pd.errors.EmptyDataError
    if len(names) > MOST_COLUMNS:
        raise SchemaError(f"{path!r}: columns must be at most {MOST_COLUMNS:,}")
    if len(names) == 1 and (";" in names[0] or "\t" in names[0]):
        raise SchemaError(f"{path!r} must separate its fields by commas, not by ; or tabs")
    twice = next((name for name, times in Counter(names).items() if times > 1), None)
    if twice is not None:
        raise SchemaError(f"column {twice!r} stands twice in {path!r}; names must differ")


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
    texts = {c.name: (c.name, c.format, *c.categories) for c in schema}
    texts |= {name: (name,) for name in schema.ids}
    return [name for name, own in texts.items() if any(map(is_formula, own))]
