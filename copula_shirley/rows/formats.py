"""Formats of tables by the endings of files: who reads and writes them, and what that needs."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from copula_shirley.errors import SchemaError
from copula_shirley.rows import databases, excel, parquet, stats_files, text_files
from copula_shirley.rows.cells import Cells, read_cells
from copula_shirley.rows.databases import Query, is_address
from copula_shirley.rows.packed import STANDARD, is_packed
from copula_shirley.schema.codebook import Codebook
from copula_shirley.schema.file_format import FileFormat
from copula_shirley.schema.schema import Schema

#: Where a table is: a file, ``-`` for standard input and output, or what a query gives.
Place = str | Path | Query
Write = Callable[[Path, Iterable[pd.DataFrame], FileFormat], None]


@dataclass(frozen=True)
class Format:
    """A format of tables; it is read as a whole, or as cells with types of their own.

    Drafts look at cells where there are any.
    """

    name: str
    endings: tuple[str, ...]
    table: Callable[[Any, Schema | None, FileFormat], pd.DataFrame] | None = None
    cells: Callable[[Any, FileFormat], Cells] | None = None
    #: None: it is read only.
    write: Write | None = None
    #: Why a table of a schema with so many rows cannot be written; None if it can.
    check_written: Callable[[Schema, int], str | None] | None = None
    #: What the file says of its columns, value labels and the like; None if it says nothing.
    codebook: Callable[[Any, FileFormat], Codebook] | None = None
    has_sheets: bool = False
    #: Whether it is text with separators: all of ``FileFormat`` matters, and it may be packed.
    is_text: bool = False

    def read(self, place: Place, schema: Schema | None, how: FileFormat) -> pd.DataFrame:
        """The table; without a schema the types of its columns are guessed."""
        if self.table is not None:
            return self.table(place, schema, how)
        assert self.cells is not None
        return read_cells(self.cells(place, how), schema, how)


TEXT = Format(
    "csv", (".csv", ".tsv", ".txt"), text_files.read, write=text_files.write, is_text=True
)
FORMATS = (
    TEXT,
    Format("parquet", (".parquet", ".pq"), parquet.read, write=parquet.write),
    Format(
        "excel",
        (".xlsx",),
        cells=excel.cells,
        write=excel.write,
        check_written=excel.check_written,
        has_sheets=True,
    ),
    Format("excel with macros", (".xlsm",), cells=excel.cells, has_sheets=True),
    Format(
        "stata",
        (".dta",),
        stats_files.read,
        stats_files.cells,
        write=stats_files.write,
        check_written=stats_files.check_written,
        codebook=stats_files.codebook_of,
    ),
    Format(
        "statistics",
        (".sav", ".zsav", ".por", ".sas7bdat", ".xpt"),
        stats_files.read,
        stats_files.cells,
        codebook=stats_files.codebook_of,
    ),
    Format("sqlite", (), cells=databases.cells),
    Format("postgresql", (), databases.read),
)
ENDINGS = {ending: found for found in FORMATS for ending in found.endings}


def place_of(text: str, query: str | None = None) -> Path | Query:
    """Where a table is that was named by a text, and by a query to a database."""
    if is_address(text):
        if query is None:
            named = Query(text, "SELECT")
            raise SchemaError(f"{str(named)!r} is a database: --query 'SELECT ...' names the rows")
        return Query(text, query)
    if query is not None:
        rule = "must be asked of a database, sqlite:FILE or postgresql://HOST/NAME, not of a file"
        raise SchemaError(f"query ({query!r:.60}) {rule}")
    return Path(text)


def file_of(place: Any) -> Path | None:
    """The file in which a table is; None if it is in none."""
    if isinstance(place, Query):
        return place.path
    return Path(place) if isinstance(place, str | Path) and str(place) != STANDARD else None


def format_of(place: Place) -> Format | None:
    """The format of a table by what its file ends in; None if it is none."""
    if isinstance(place, Query):
        return next(f for f in FORMATS if f.name == place.scheme)
    if str(place) == STANDARD:
        return TEXT
    path = Path(place)
    if not is_packed(path):
        return ENDINGS.get(path.suffix.lower())
    inner = ENDINGS.get(Path(path.stem).suffix.lower() or ".csv")
    return inner if inner is not None and inner.is_text else None


def check_format(place: Place, what: str = "file name", *, writes: bool = False) -> Format:
    """The format of a table file, or one error that names those that there are."""
    found = format_of(place)
    if found is None or (writes and (found.write is None or is_packed(str(place)))):
        path = Path(str(place))
        if path.is_dir():
            raise SchemaError(f"{what} ({str(place)!r}) is a folder; name one of its files")
        if not (writes or path.suffix or path.exists()):
            raise SchemaError(f"{what} ({str(place)!r}) must name a table, but nothing is there")
        endings = [e for e, f in ENDINGS.items() if f.write is not None or not writes]
        packed = "" if writes else " (texts also .gz and .zip)"
        raise SchemaError(
            f"{what} ({str(place)!r}) must end in one of {', '.join(endings)}{packed}"
        )
    return found
