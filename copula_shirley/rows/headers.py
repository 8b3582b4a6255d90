"""Names of the columns of a file, without a look at its rows where the format allows that."""

from __future__ import annotations

import csv
from pathlib import Path

from copula_shirley.errors import SchemaError
from copula_shirley.rows.formats import check_format
from copula_shirley.rows.packed import opened
from copula_shirley.rows.recognising import SEPARATORS
from copula_shirley.rows.tables import whole
from copula_shirley.rows.text_files import LONGEST_LINE
from copula_shirley.schema.file_format import PLAIN


def header(path: Path) -> list[str]:
    """The names of the columns, or one error.

    Of a text file the first line is read, of Parquet its own schema. Workbooks and files of
    statistics packages are opened whole, and their names alone are kept.
    """
    kind = check_format(path)
    if kind.is_text:
        return list(whole(path, lambda: _first_line(path)))
    if kind.name == "parquet":
        import pyarrow.parquet as pq  # noqa: PLC0415  (slow)

        return list(whole(path, lambda: pq.read_schema(path)).names)
    return [str(name) for name in whole(path, lambda: kind.read(path, None, PLAIN)).columns]


def _first_line(path: Path) -> list[str]:
    with opened(path) as stream:
        line = stream.readline(LONGEST_LINE)
    try:
        text = line.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = line.decode("cp1252", errors="replace")
    names = next(csv.reader([text], delimiter=max(SEPARATORS, key=text.count)), [])
    if not any(names):
        raise SchemaError(f"{str(path)!r} has no names of columns in its first line")
    return [name.strip() for name in names]
