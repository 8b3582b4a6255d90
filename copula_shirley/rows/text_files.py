"""Tables as texts with separators (CSV), read once and in blocks, whatever their encoding."""

from __future__ import annotations

import csv
import io
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from copula_shirley.errors import SchemaError
from copula_shirley.rows.fields import Block, Records
from copula_shirley.rows.packed import STANDARD, opened
from copula_shirley.schema.domain import TEXT
from copula_shirley.schema.duration import text_of
from copula_shirley.schema.file_format import FileFormat
from copula_shirley.schema.schema import MOST_COLUMNS, Schema
from copula_shirley.schema.values import Reader

#: The fields of a column as they stand in a file.
TEXTS = pa.dictionary(pa.int32(), pa.large_string())
#: pandas 3 reads decimals exactly and calls asking for it deprecated.
EXACT_FLOATS: dict[str, Any] = (
    {"float_precision": "round_trip"} if pd.__version__.startswith("2.") else {}
)
#: A text that is a code and no number, although it has digits alone.
CODE = re.compile(r"[+-]?0\d")


@contextmanager
def fields_of(path: str | Path, how: FileFormat) -> Iterator[tuple[list[str], Iterator[Block]]]:
    """The names of the columns of a text file, and blocks of its fields by column."""
    with _records(path, how) as records:
        names = _names(str(path), next(filter(None, records.reader), []), how)
        yield names, records.blocks(len(names))


def line_numbers(path: str | Path, how: FileFormat) -> tuple[list[int], list[int]]:
    """The line of the file on which each row begins, and those of rows that make it no table.

    These have another number of fields than the header.
    """
    found, widths, before = [], [], 0
    with _records(path, of_ending(path, how)) as records:
        reader = records.reader
        for record in reader:
            if record:
                found.append(before + 1)
                widths.append(len(record))
            before = reader.line_num
    odd = [line for line, width in zip(found, widths, strict=True) if width != widths[0]]
    return found[1:], odd


@contextmanager
def _records(path: str | Path, how: FileFormat) -> Iterator[Records]:
    """The records of a text file, the names of its columns included."""
    encoding = "utf-8-sig" if how.encoding.lower() in ("utf-8", "utf8") else how.encoding
    with opened(path) as stream, io.TextIOWrapper(stream, encoding=encoding, newline="") as text:
        yield Records(str(path), text, how.separator)


def read(path: str | Path, schema: Schema | None, how: FileFormat) -> pd.DataFrame:
    """The table of a text file; without a schema the types of its columns are guessed."""
    how = of_ending(path, how)
    if schema is not None:
        return read_declared(path, schema, how)
    return pd.DataFrame({n: typed(texts, how) for n, texts in read_texts(path, how).items()})


def of_ending(path: str | Path, how: FileFormat) -> FileFormat:
    """The format with tabs where the file's name says so and nobody else says anything."""
    tabs = ".tsv" in map(str.lower, Path(path).suffixes) and how.separator == ","
    return replace(how, separator="\t") if tabs else how


def write(path: Path, chunks: Iterable[pd.DataFrame], how: FileFormat) -> None:
    """Write chunks of one table; what the encoding lacks is a question mark."""
    with _written_to(path, how.encoding) as file:
        for i, chunk in enumerate(chunks):
            table = _written(chunk, how.decimal)
            options: dict[str, Any] = {"lineterminator": "\n", "quoting": _quoting(table)}
            table.to_csv(file, index=False, header=i == 0, sep=how.separator, **options)


@contextmanager
def _written_to(path: Path, encoding: str) -> Iterator[Any]:
    """A text file, or standard output, which stays open."""
    options: Any = {"encoding": encoding, "newline": "", "errors": "replace"}
    if str(path) != STANDARD:
        with open(path, "w", **options) as file:
            yield file
        return
    sys.stdout.flush()
    text = io.TextIOWrapper(sys.stdout.buffer, **options)
    try:
        yield text
        text.flush()
    finally:
        with suppress(OSError, ValueError):  # nobody reads on
            text.detach()


def _written(table: pd.DataFrame, decimal: str) -> pd.DataFrame:
    """The table with lengths of time as 51:30:00, and decimals as the file has them."""

    def decimals(value: Any) -> Any:
        return str(value).replace(".", decimal) if isinstance(value, float) else value

    changed = {str(n): v.map(text_of, "ignore") for n, v in table.items() if v.dtype.kind == "m"}
    if decimal != ".":
        floats = {n: v for n, v in table.items() if v.dtype.kind in "fO"}
        changed |= {str(n): v.astype(object).map(decimals, "ignore") for n, v in floats.items()}
    return table.assign(**changed)


def _quoting(table: pd.DataFrame) -> Literal[0, 2]:
    """Quotes around every text if one holds a carriage return, which Python's csv leaves bare."""
    texts = [table[n].dropna().unique() for n in table if table[n].dtype.kind not in "biufmM"]
    held = any(isinstance(v, str) and "\r" in v for v in [*table, *(v for t in texts for v in t)])
    return csv.QUOTE_NONNUMERIC if held else csv.QUOTE_MINIMAL


def read_declared(path: str | Path, schema: Schema, how: FileFormat) -> pd.DataFrame:
    """The table of a text file, each field read by the kind of its column."""
    return pd.concat([*declared_frames(path, schema, how)], ignore_index=True)


def declared_frames(path: str | Path, schema: Schema, how: FileFormat) -> Iterator[pd.DataFrame]:
    """The table of a text file, some rows at a time; the last ones may be none."""
    with fields_of(path, how) as (names, found):
        each = readers_of(names, schema, how)
        dtypes = dict.fromkeys(names, TEXT) | {c.name: c.domain.file_dtype for c in schema}
        for block in found:
            columns = zip(names, each, block, strict=True)
            yield pd.DataFrame({n: _meant(fields, read, dtypes[n]) for n, read, fields in columns})


def _meant(fields: pa.DictionaryArray, read: Reader, dtype: str) -> pd.Series:
    """What the fields of a column mean; each text that differs is read once."""
    distinct = pd.Series(read(fields.dictionary.to_pylist()), dtype=dtype)
    return distinct.take(fields.indices.to_numpy()).reset_index(drop=True)


def readers_of(names: Iterable[str], schema: Schema, how: FileFormat) -> list[Reader]:
    """How the texts of each column are read; those that no model learns from are not."""
    readers: dict[str, Reader] = dict.fromkeys(schema.unread, _nothing)
    readers |= {column.name: column.domain.reader(how) for column in schema}
    return [readers.get(name) or how.reader() for name in names]


def read_texts(path: str | Path, how: FileFormat) -> dict[str, pa.DictionaryArray]:
    """The fields of a text file as they stand there, by column."""
    with fields_of(path, how) as (names, found):
        blocks = [[fields.cast(TEXTS) for fields in block] for block in found]
    columns = zip(names, zip(*blocks, strict=True), strict=True)
    return {
        n: pa.chunked_array(parts).unify_dictionaries().combine_chunks() for n, parts in columns
    }


def typed(fields: pa.DictionaryArray, how: FileFormat) -> pd.Series:
    """A column whose type follows from all its fields together: from those that differ."""
    texts = [t.strip() if how.strip else t for t in fields.dictionary.to_pylist()]
    if not texts:
        return pd.Series(dtype=object)
    gaps = {"", *how.missing}
    code = any(CODE.match(text) for text in texts)  # 01234 is a code and no number
    if not how.has_plain_numbers:
        numerals = [t if t in gaps else how.numeral(t) for t in texts]
        code = code or None in numerals  # 1.5 is no number where decimals have a comma
        texts = texts if code else [str(numeral) for numeral in numerals]
    lines = io.StringIO()
    # with a second field no line is blank
    csv.writer(lines, quoting=csv.QUOTE_ALL).writerows((text, "0") for text in texts)
    lines.seek(0)
    options: dict[str, Any] = {"dtype": str if code else None, "low_memory": False, **EXACT_FLOATS}
    known = pd.read_csv(lines, header=None, keep_default_na=False, na_values=[*gaps], **options)
    column: pd.Series = known[0]
    return column.take(fields.indices.to_numpy()).reset_index(drop=True)


# -- parts -----------------------------------------------------------------------------


def _nothing(texts: Sequence[str]) -> NDArray[np.object_]:
    """What is read of a column that no model learns from."""
    return np.full(len(texts), None)


def _names(path: str, header: Sequence[str], how: FileFormat) -> list[str]:
    """Names of the columns, none twice, which a table would hide; other separators are refused."""
    if not header:
        raise pd.errors.EmptyDataError
    if len(header) > MOST_COLUMNS:
        raise SchemaError(f"{path!r}: columns must be at most {MOST_COLUMNS:,}")
    other = next((s for s in (";", "\t", ",", "|") if s in header[0] and s != how.separator), None)
    if len(header) == 1 and other:
        own = {",": "commas", "\t": "tabs"}.get(how.separator, how.separator)
        raise SchemaError(
            f"{path!r} must separate its fields by {own}, not by {other!r}; 'shirley draft' finds "
            f"out how it does, and the schema says it (file: {{separator: {other!r}}})"
        )
    names = [name.strip() if how.strip else name for name in header]
    names = [name or f"Unnamed: {i}" for i, name in enumerate(names)]  # as pandas names them
    return check_names(path, names)


def check_names(path: str, names: list[str]) -> list[str]:
    """Refuse a name that stands twice, which a table would hide."""
    twice = next((name for name, times in Counter(names).items() if times > 1), None)
    if twice is not None:
        raise SchemaError(f"column {twice!r} stands twice in {path!r}; names must differ")
    return names
