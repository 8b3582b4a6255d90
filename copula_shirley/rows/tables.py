"""Tables read from files: CSV or Parquet by extension. A CSV file is parsed once, in blocks."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import Any, TextIO

import numpy as np
import pandas as pd
import pyarrow as pa

from copula_shirley.errors import SchemaError
from copula_shirley.files.atomic import check_regular
from copula_shirley.rows.parquet import read_parquet
from copula_shirley.schema.domain import TEXT
from copula_shirley.schema.schema import MOST_COLUMNS, Schema
from copula_shirley.schema.values import number_of, numbers_named, text_reader

KINDS = {".csv": "csv", ".parquet": "parquet", ".pq": "parquet"}
#: Letters of one line of a CSV file; a single field has at most 131,072, Python's own limit.
LONGEST_LINE = 2**24
#: Letters of a CSV file that are read together, lines that are parsed together (few, so that they
#: stay in the processor's cache), and fields of a column that are looked at together.
LETTERS, LINES, BLOCK = 2**20, 500, 20_000
#: pandas 3 reads decimals exactly and calls asking for it deprecated.
EXACT_FLOATS: dict[str, Any] = (
    {"float_precision": "round_trip"} if pd.__version__.startswith("2.") else {}
)


def is_table(path: str | Path) -> bool:
    return Path(path).suffix.lower() in KINDS


def check_extension(path: str | Path, what: str = "file name") -> str:
    """The kind of a table file, by its extension; ``what`` is how an error calls the file."""
    if not is_table(path):
        raise SchemaError(f"{what} ({str(path)!r}) must end in one of {', '.join(KINDS)}")
    return KINDS[Path(path).suffix.lower()]


def read_table(
    path: str | Path, schema: Schema | None = None, missing: Sequence[str] = ()
) -> pd.DataFrame:
    """Read a table.

    In a CSV file only an empty field is a missing value, and whatever text ``missing`` names: a
    category called "None" or "NA" stays one.

    With a schema every field of a CSV file is read by itself, by the kind of its column
    (``Kind.reader``): no row changes how another is read, nor a dtype. Without a schema pandas
    finds the types from all rows together, which is no basis for a release.
    """
    check_regular(path, SchemaError)
    try:
        if check_extension(path) == "csv":
            return _read_csv(path, schema, missing)
        table = read_parquet(path, declared=schema is not None)
        return _without_named(table, schema, missing)
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


# -- CSV -------------------------------------------------------------------------------


def _read_csv(path: str | Path, schema: Schema | None, missing: Sequence[str]) -> pd.DataFrame:
    """The table of a CSV file; the file is opened and parsed once."""
    with open(path, encoding="utf-8-sig", newline="") as file:
        reader = csv.reader(chain.from_iterable(_lines(file)), strict=True)
        names = _names(file.name, next(filter(None, reader), []))
        domains = {column.name: column.domain for column in schema or ()}
        others: Any = partial(pa.array, type=pa.large_string())
        if schema is not None:
            others = text_reader(missing)
        readers = [domains[n].reader(missing) if n in domains else others for n in names]
        blocks = [
            [read(fields) for read, fields in zip(readers, block, strict=True)]
            for block in _blocks(reader, len(names))
        ]
    columns: dict[str, Any] = dict(zip(names, zip(*blocks, strict=True), strict=True))
    if schema is None:
        return pd.DataFrame({name: _inferred(parts, missing) for name, parts in columns.items()})
    dtypes = {name: domains[name].file_dtype if name in domains else TEXT for name in names}
    return pd.DataFrame(
        {n: pd.Series(np.concatenate(parts), dtype=dtypes[n]) for n, parts in columns.items()}
    )


def _lines(file: TextIO) -> Iterator[list[str]]:
    """The lines of a file, some at a time; one that is longer than any of a table ends it."""
    rest, ended = "", False
    while not ended:
        text = file.read(LETTERS)
        ended = not text
        rest += text
        # a carriage return at the end may be half of a line's end
        cut = len(rest) if ended else max(rest.rfind("\n"), rest.rfind("\r", 0, -1)) + 1
        lines = io.StringIO(rest[:cut], newline="").readlines()
        rest = rest[cut:]
        if max(len(rest), *map(len, lines), 0) > LONGEST_LINE:
            raise SchemaError(f"{file.name!r}: a line must have at most {LONGEST_LINE:,} letters")
        yield lines


def _blocks(reader: Iterator[list[str]], width: int) -> Iterator[list[list[str]]]:
    """The fields of some lines at a time, by column."""
    block: list[list[str]] = [[] for _ in range(width)]
    while lines := list(islice(reader, LINES)):
        if set(map(len, lines)) - {width, 0}:
            raise pd.errors.ParserError
        lines = list(filter(None, lines))  # blank lines are none
        for fields, more in zip(block, zip(*lines, strict=True), strict=False):
            fields.extend(more)
        if len(block[0]) >= BLOCK:
            yield block
            block = [[] for _ in range(width)]
    yield block


def _names(path: str, header: Sequence[str]) -> list[str]:
    """Names of the columns, none twice, which a table would hide; other separators are refused."""
    if not header:
        raise pd.errors.EmptyDataError
    if len(header) > MOST_COLUMNS:
        raise SchemaError(f"{path!r}: columns must be at most {MOST_COLUMNS:,}")
    if len(header) == 1 and (";" in header[0] or "\t" in header[0]):
        raise SchemaError(f"{path!r} must separate its fields by commas, not by ; or tabs")
    names = [name or f"Unnamed: {i}" for i, name in enumerate(header)]  # as pandas names them
    twice = next((name for name, times in Counter(names).items() if times > 1), None)
    if twice is not None:
        raise SchemaError(f"column {twice!r} stands twice in {path!r}; names must differ")
    return names


def _inferred(parts: Sequence[pa.Array], missing: Sequence[str]) -> pd.Series:
    """A column whose type pandas finds from all its fields together: from those that differ."""
    fields = pa.chunked_array(parts).combine_chunks().dictionary_encode()
    texts = fields.dictionary.to_pylist()
    if not texts:
        return pd.Series(dtype=object)
    lines = io.StringIO()
    # with a second field no line is blank
    csv.writer(lines, quoting=csv.QUOTE_ALL).writerows((text, "0") for text in texts)
    lines.seek(0)
    code = any(re.match(r"0\d", text) for text in texts)  # 01234 is a code and no number
    how: dict[str, Any] = {"dtype": str if code else None, "low_memory": False, **EXACT_FLOATS}
    gaps = ["", *missing]
    known = pd.read_csv(lines, header=None, keep_default_na=False, na_values=gaps, **how)
    column: pd.Series = known[0]
    return column.take(fields.indices.to_numpy()).reset_index(drop=True)


def _reason(error: Exception) -> str:
    """What is wrong with a file, without quoting what stands in it."""
    if isinstance(error, csv.Error) and "field limit" in str(error):
        return f"a field has more than {csv.field_size_limit():,} letters"
    reasons: dict[Any, str] = {
        UnicodeDecodeError: "it is not UTF-8 text",
        pd.errors.EmptyDataError: "it is empty",
        pd.errors.ParserError | csv.Error: "its lines have different numbers of fields, or a quote "
        "is not closed",
    }
    found = (text for kind, text in reasons.items() if isinstance(error, kind))
    return next(found, type(error).__name__)


# -- Parquet ---------------------------------------------------------------------------


def _without_named(
    table: pd.DataFrame, schema: Schema | None, missing: Sequence[str]
) -> pd.DataFrame:
    """The table without the values that stand for missing ones: texts, and numbers by value."""
    if not missing:
        return table
    numbers = numbers_named(missing)
    of_numbers = {column.name: column.is_number for column in schema or ()}
    for name in table.columns:
        series = table[name]
        numeric = pd.api.types.is_numeric_dtype(series.dtype) and series.dtype.kind != "b"
        numeric = of_numbers.get(name, numeric)
        stands = [
            (isinstance(v, str) and v in missing) or (numeric and number_of(v) in numbers)
            for v in series
        ]
        table[name] = series.mask(np.array(stands, dtype=bool))
    return table
