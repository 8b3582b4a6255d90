"""Names of the columns of a file, without a look at its rows where the format allows that."""

from __future__ import annotations

import csv
from dataclasses import replace
from pathlib import Path

from copula_shirley.errors import SchemaError
from copula_shirley.rows.fields import LONGEST_LINE
from copula_shirley.rows.formats import check_format
from copula_shirley.rows.packed import opened
from copula_shirley.rows.recognising import SEPARATORS
from copula_shirley.rows.tables import whole
from copula_shirley.schema.file_format import PLAIN, FileFormat


def header(path: Path) -> tuple[list[str], FileFormat]:
    """The names of the columns and how these are written, or one error.

    Of a text file the first line is read, of Parquet its own schema. Workbooks and files of
    statistics packages are opened whole, and their names alone are kept.
    """
    kind = check_format(path)
    if kind.is_text:
        found: tuple[list[str], FileFormat] = whole(path, lambda: _first_line(path))
        return found
    if kind.name == "parquet":
        import pyarrow.parquet as pq  # noqa: PLC0415  (slow)

        return list(whole(path, lambda: pq.read_schema(path)).names), PLAIN
    table = whole(path, lambda: kind.read(path, None, PLAIN))
    return [str(name) for name in table.columns], PLAIN


def _first_line(path: Path) -> tuple[list[str], FileFormat]:
    with opened(path) as stream:
        line = stream.readline(LONGEST_LINE)
    try:
        text, encoding = line.decode("utf-8-sig"), PLAIN.encoding
    except UnicodeDecodeError:
        text, encoding = line.decode("cp1252", errors="replace"), "cp1252"
    sign = max(SEPARATORS, key=text.count)
    names = next(csv.reader([text], delimiter=sign), [])
    if not any(names):
        raise SchemaError(f"{str(path)!r} has no names of columns in its first line")
    return [name.strip() for name in names], replace(PLAIN, separator=sign, encoding=encoding)
