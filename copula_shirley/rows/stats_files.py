"""Files of Stata, SPSS and SAS, with the value labels and missing codes that they declare.

A coded value is read as its label, and as its code where the schema holds the codes: in a column of
numbers, or where it lists codes and not the label. That follows from the schema and the file's own
codebook, and from the value alone. Codes that the file declares missing (of users, and .a to .z)
are missing.

pandas and R number the values of a column of labels as they save it, so that one row more, with a
value of its own, gives other codes to all rows. Labels that are numbers, and other ones than their
codes, betray that: then no code is read.
"""

from __future__ import annotations

import math
import os
import re
import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from copula_shirley.errors import SchemaError
from copula_shirley.files.texts import odd_character
from copula_shirley.lazy import needed
from copula_shirley.rows.cells import Cells, as_text, columns_of, read_cells
from copula_shirley.rows.excel import MADE, finer_than_milliseconds
from copula_shirley.rows.packed import HARMLESS, LARGEST_RATIO
from copula_shirley.schema.codebook import Codebook, Labels
from copula_shirley.schema.column import Column
from copula_shirley.schema.duration import text_of
from copula_shirley.schema.file_format import FileFormat
from copula_shirley.schema.schema import MOST_COLUMNS, Schema
from copula_shirley.schema.values import number_of, position_in

#: Where SAS keeps the labels of a table: beside it.
CATALOG = ".sas7bcat"
READERS = {
    **{".sav": "read_sav", ".zsav": "read_sav", ".por": "read_por", ".dta": "read_dta"},
    **{".sas7bdat": "read_sas7bdat", CATALOG: "read_sas7bcat", ".xpt": "read_xport"},
}
#: What a process tries with a reader and a file.
TRIAL = """
import sys, pyreadstat
reader, path, each, most = getattr(pyreadstat, sys.argv[1]), sys.argv[2], *map(int, sys.argv[3:])
widths = reader(path, metadataonly=True)[1].variable_storage_width.values()
row_limit = most // max(sum(each + width for width in widths), 1) + 1
reader(path, output_format="dict", row_limit=row_limit)
"""
#: The first format of Stata whose texts are UTF-8.
UNICODE = 118
#: Bytes of a record of SAS transport files, which do not say how many rows they have.
RECORD = 80
#: Bytes of a value in memory, beside the letters of a text.
EACH = 56


def cells(path: str | Path, how: FileFormat) -> Cells:
    """The values by column, as labels where each of them has one."""
    values, codebook = _values(path, how)
    for name, labels in codebook.labels.items():
        codes = {v for v in values[name] if v is not None}
        if codes and codes <= labels.keys():
            values[name] = [labels.get(v) for v in values[name]]
    return values


def read(path: str | Path, schema: Schema | None, how: FileFormat) -> pd.DataFrame:
    """The table; with a schema, labels are read where it lists them."""
    if schema is None:
        return read_cells(cells(path, how), None, how)
    values, codebook = _values(path, how)
    for column in schema:
        labels = codebook.labels.get(column.name, {})
        if labels and column.name in values:
            wanted = _wanted(labels, column)
            values[column.name] = [wanted.get(v, v) for v in values[column.name]]
    return read_cells(values, schema, how)


def _wanted(labels: Labels, column: Column) -> Labels:
    """The labels that are read in place of their codes."""
    where = position_in(column.domain.categories)
    by_code = column.is_number or any(where(code) >= 0 for code in labels)
    numbers = ((code, number_of(label)) for code, label in labels.items())
    renumbered = any(not math.isnan(number) and number != code for code, number in numbers)
    if column.open or renumbered or not by_code:
        return labels
    return {code: label for code, label in labels.items() if where(label) >= 0}


def codebook_of(path: str | Path, how: FileFormat) -> Codebook:
    """What the file says of its columns, from no row."""
    about = _read(path, how, metadataonly=True, user_missing=True)[1]
    labels, catalog = about.variable_value_labels, Path(path).with_suffix(CATALOG)
    if Path(path).suffix.lower() == ".sas7bdat" and catalog.exists():
        listed = _read(catalog, how)[1].value_labels
        labels = {n: listed.get(named, {}) for n, named in about.variable_to_label.items()}
    return _codebook(about, labels)


def _values(path: str | Path, how: FileFormat) -> tuple[dict[str, Any], Codebook]:
    most = max(HARMLESS, LARGEST_RATIO * Path(path).stat().st_size)
    check_harmless(path, most)
    about = _read(path, how, metadataonly=True)[1]
    if len(about.column_names) > MOST_COLUMNS:
        raise SchemaError(f"{str(path)!r}: columns must be at most {MOST_COLUMNS:,}")
    limit = most // max(sum(EACH + w for w in about.variable_storage_width.values()), 1) + 1
    found, _ = _read(path, how, row_limit=limit, output_format="dict")
    if any(len(values) >= limit for values in found.values()):
        raise SchemaError(
            f"{str(path)!r}: its table would have more than {most:,} bytes in memory, the most "
            "that one of its size may; save it as .csv if it is meant so"
        )
    rows = zip(*(map(_known, values) for values in found.values()), strict=True)
    return dict(columns_of(str(path), list(found), rows)), codebook_of(path, how)


def check_harmless(path: str | Path, most: int) -> None:
    """Refuse a file that crashes its reader, which is written in C: a process of its own tries.

    What else is wrong with a file is told where it is read.
    """
    reader = READERS[Path(path).suffix.lower()]
    words = [sys.executable, "-P", "-c", TRIAL, reader, os.path.abspath(path), str(EACH), str(most)]
    if not sys.executable:
        return
    tried = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    if tried.returncode < 0:
        raise SchemaError(f"{str(path)!r} is not a readable table: it crashes its reader")


def _is_text(about: Any, name: str) -> bool:
    return bool(about.readstat_variable_types[name] == "string")


def _known(value: Any) -> Any:
    """A value of Python's own types; None where it is missing."""
    if isinstance(value, np.generic):
        value = value.item()
    return None if value == "" or (isinstance(value, float) and math.isnan(value)) else value


def _read(path: str | Path, how: FileFormat, **options: Any) -> Any:
    """What pyreadstat reads; whatever is wrong with the file is one error."""
    stats: Any = needed("pyreadstat", "stats", repr(str(path)))
    if not Path(path).exists():
        raise FileNotFoundError(str(path))
    ending = Path(path).suffix.lower()
    if ending == ".xpt" and Path(path).stat().st_size % RECORD:
        raise SchemaError(f"{str(path)!r} is not a readable table: it is cut off")
    if ending not in (".sav", ".zsav", ".dta", ".sas7bdat"):
        options.pop("user_missing", None)
    if how.encoding.lower() not in ("utf-8", "utf8") and not _is_utf_8(path):
        options["encoding"] = how.encoding
    try:
        return getattr(stats, READERS[ending])(str(path), **options)
    except stats.ReadstatError as error:  # of the bytes: it quotes no value
        why = str(error).partition("\n")[0]
    except (stats.PyreadstatError, ArithmeticError) as error:
        why = type(error).__name__
    raise SchemaError(f"{str(path)!r} is not a readable table: {why}")


def _is_utf_8(path: str | Path) -> bool:
    """Whether it is a file of Stata 14 or later, whose texts have one encoding only."""
    with open(path, "rb") as file:
        start = re.match(rb"<stata_dta><header><release>(\d+)<", file.read(40))
    return start is not None and int(start[1]) >= UNICODE


def _codebook(about: Any, listed: Mapping[str, Labels]) -> Codebook:
    """The codebook of a file, without labels that are empty or of missing codes."""
    ranges: Mapping[str, Any] = about.missing_ranges or {}
    labels: dict[str, Labels] = {}
    missing: dict[str, list[str]] = {}
    for name, own in listed.items():
        for code, label in sorted(own.items(), key=lambda pair: (str(type(pair[0])), pair[0])):
            gap = any(_within(code, part) for part in ranges.get(name, ()))
            gap = gap or (isinstance(code, str) and not _is_text(about, name))  # .a to .z
            if gap:
                missing.setdefault(name, []).append(f"{as_text(code)} {label}")
            elif not odd_character(str(label), spaces=True) and str(label).strip():
                labels.setdefault(name, {})[code] = str(label).strip()
    for name in {*ranges, *(about.missing_user_values or {})}:
        missing.setdefault(name, [])
    ordered = {name for name, measure in about.variable_measure.items() if measure == "ordinal"}
    words = {n: text for n, text in about.column_names_to_labels.items() if text}
    return Codebook(labels, missing, frozenset(ordered), words)


def _within(code: Any, part: Mapping[str, Any]) -> bool:
    try:
        return bool(part["lo"] <= code <= part["hi"])
    except TypeError:  # a text and a number
        return False


# -- writing ----------------------------------------------------------------------------

#: What Stata can hold: letters of a name, bytes of a label and of a text in a row, and rows.
LONGEST_NAME, LONGEST_LABEL, LONGEST_TEXT, MOST_ROWS = 32, 32_000, 2045, 2**31 - 1
#: Different texts of a column that become labels.
MOST_LABELS = 1000
RESERVED = (
    *("aggregate", "array", "boolean", "break", "byte", "case", "catch", "class", "colvector"),
    *("complex", "const", "continue", "default", "delegate", "delete", "do", "double", "else"),
    *("eltypedef", "end", "enum", "explicit", "export", "external", "float", "for", "friend"),
    *("function", "global", "goto", "if", "inline", "int", "local", "long", "NULL", "pragma"),
    *("protected", "quad", "rowvector", "short", "typedef", "typename", "virtual", "_all", "_N"),
    *("_skip", "_b", "_pi", "str#", "in", "_pred", "strL", "_coef", "_rc", "using", "_cons"),
    *("_se", "with", "_n"),
)


def check_written(schema: Schema, rows: int) -> str | None:
    """Why a table cannot be a file of Stata; None if it can."""
    if rows > MOST_ROWS:
        return f"rows ({rows:,}) must be at most {MOST_ROWS:,} in a file of Stata"
    for name in (*schema.names, *schema.replaced):
        plain = name.isascii() and name.isidentifier() and len(name) <= LONGEST_NAME
        if not plain or name in RESERVED:
            return (
                f"column {name!r}: a name in Stata has at most {LONGEST_NAME} letters, digits and "
                "underscores, no digit first, and is no word of its own"
            )
    for column in schema:
        if any(isinstance(c, str) and len(c.encode()) > LONGEST_LABEL for c in column.categories):
            return f"column {column.name!r}: a category has more than {LONGEST_LABEL:,} bytes"
        if finer_than_milliseconds(column):
            return f"column {column.name!r}: resolution ({column.resolution}) is finer than 1ms"
    return None


def write(path: Path, chunks: Iterable[pd.DataFrame], _: FileFormat) -> None:
    """Write one table; texts, if they are few, are numbers with labels in alphabetical order."""
    table = pd.concat(chunks, ignore_index=True)
    table = pd.DataFrame({name: _for_stata(values) for name, values in table.items()})
    times = {str(n): "tc" for n, v in table.items() if v.dtype.kind == "M"}
    long = [str(n) for n, v in table.items() if v.dtype.kind == "O" and _longest(v) > LONGEST_TEXT]
    options: Any = {"convert_dates": times, "convert_strl": long, "time_stamp": MADE}
    with open(path, "wb") as file:
        table.to_stata(file, write_index=False, version=118, **options)


def _longest(values: pd.Series) -> int:
    """Bytes of the longest text of a column."""
    if isinstance(values.dtype, pd.CategoricalDtype):
        return 0
    return max((len(str(value).encode()) for value in values.unique()), default=0)


def _for_stata(values: pd.Series) -> pd.Series:
    """A column of a type that Stata has: whole numbers have four bytes, or are doubles."""
    kind = values.dtype.kind
    if isinstance(values.dtype, pd.DatetimeTZDtype):
        values = values.dt.tz_convert("UTC").dt.tz_localize(None)
    if kind == "b":
        return values.astype("Int8").astype("float64" if values.isna().any() else "int8")
    if kind in "iu":
        return values.astype("float64")
    if kind in "fM":
        return values
    known = values.dropna()
    if len(known) and all(isinstance(v, int | float) for v in known):
        return values.astype("float64")
    if kind == "m" or (len(known) and isinstance(known.iloc[0], pd.Timedelta)):
        texts = values.map(text_of, "ignore")
    else:
        texts = values.map(str, "ignore")
    texts = texts.astype(object).where(values.notna(), None)
    each = texts.dropna().unique()
    if len(each) > MOST_LABELS:
        return texts.fillna("")
    return texts.astype(pd.CategoricalDtype(sorted(each)))
