"""Excel workbooks whose sizes can be: each cell has a type of its own and is read by itself."""

from __future__ import annotations

import datetime as dt
import io
import re
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, Any

import numpy as np
import pandas as pd

from copula_shirley.errors import SchemaError
from copula_shirley.files.texts import shown
from copula_shirley.lazy import needed
from copula_shirley.rows.cells import Cells, columns_of
from copula_shirley.rows.packed import BROKEN, HARMLESS, LARGEST_RATIO
from copula_shirley.schema.dates import Timed
from copula_shirley.schema.duration import text_of
from copula_shirley.schema.file_format import FileFormat
from copula_shirley.schema.schema import Column, Schema

#: What a sheet can hold: rows with the names of columns, columns, and letters of a cell.
MOST_ROWS, MOST_COLUMNS, LONGEST_TEXT = 2**20, 2**14, 2**15 - 1
#: Cells of a sheet up to the last one that is used; and how many times those that are used they may
#: be beyond that. One used cell in the last corner makes seventeen billion.
HARMLESS_CELLS, LARGEST_AREA = 5 * 10**6, 10
#: Bytes of a workbook that are looked at together.
BLOCK = 2**20
#: Places of cells and rows, such as r="AB12", and the texts that cells point to.
PLACE = re.compile(rb"""\br\s*=\s*["']([A-Z]{0,3})([0-9]{1,7})["']""")
POINTER = re.compile(rb"<(?:\w+:)?v>\s*([0-9]{1,9})\s*<")
TEXT_START = re.compile(rb"<(?:\w+:)?si\b")
#: The first day that Excel counts right: it takes 1900 for a leap year.
FIRST_DAY = pd.Timestamp("1900-03-01")
#: How dates, and dates with a time, are shown.
DATES = ("yyyy-mm-dd", "yyyy-mm-dd hh:mm:ss")
#: A date in the file that says when it was made: equal rows make equal files.
MADE = dt.datetime(1980, 1, 1)


def cells(path: str | Path, how: FileFormat) -> Cells:
    """The cells of a sheet by column: of the named one, or of the only one."""
    calamine = needed("python_calamine", "excel", repr(str(path)))
    check_unpacked(path)
    try:
        with open(path, "rb") as file:
            book = calamine.load_workbook(file)
            sheet = book.get_sheet_by_name(_sheet(str(path), book.sheet_names, how.sheet))
            rows = sheet.to_python()
    except calamine.PasswordError:
        raise SchemaError(f"{str(path)!r} has a password; save it without one") from None
    except calamine.CalamineError as error:
        why = f"it is no .xlsx, or is damaged ({type(error).__name__})"
        raise SchemaError(f"{str(path)!r} is not a readable workbook: {why}") from None
    if not rows:
        raise SchemaError(f"{str(path)!r}: sheet {shown(sheet.name)} is empty")
    known = (row for row in rows[1:] if any(value != "" for value in row))  # empty lines are none
    return columns_of(str(path), rows[0], known)


def _sheet(path: str, names: list[str], wanted: str | None) -> str:
    """The sheet to read."""
    if not names:
        raise SchemaError(f"{path!r} has no sheets")
    listed = ", ".join(map(shown, names[:20]))
    if wanted is None and len(names) > 1:
        raise SchemaError(f"{path!r} has the sheets {listed}: name one of them with --sheet")
    if wanted is not None and wanted not in names:
        raise SchemaError(f"{path!r} has no sheet {shown(wanted)}; it has {listed}")
    return wanted if wanted is not None else names[0]


# -- sizes ---------------------------------------------------------------------------


def check_unpacked(path: str | Path) -> None:
    """Refuse a small workbook that says a huge table, before memory is taken for it.

    A text stands once in the file and as often as cells point to it in the table, and a table
    reaches to the last cell that is used.
    """
    with open(path, "rb") as file:
        most = max(HARMLESS, LARGEST_RATIO * file.seek(0, io.SEEK_END))
        if file.seek(0) == 0 and file.read(8) == b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1":
            why = "it has a password or is in the format of before 2007"
            raise SchemaError(f"{str(path)!r} is not a readable workbook: {why}; save it as .xlsx")
        try:
            archive = zipfile.ZipFile(file)
            # shared texts first, to which cells of the sheets point
            names = sorted(archive.infolist(), key=lambda i: "sharedStrings" not in i.filename)
            size, lengths = 0, np.zeros(0, dtype=np.int64)
            for name in names:
                with archive.open(name) as member:
                    sheet = _Sheet()
                    for block in _blocks(member):
                        size += len(block)
                        sheet.add(block, lengths)
                        if size + sheet.text > most:
                            raise SchemaError(
                                f"{str(path)!r} holds more than {most:,} bytes, the most that a "
                                "workbook of its size may; save it as .csv if it is meant so"
                            )
                    size += sheet.text
                    sheet.check(str(path))
                    if "sharedStrings" in name.filename:
                        ends = np.array([*sheet.starts[1:], sheet.size], dtype=np.int64)
                        lengths = ends[: len(sheet.starts)] - np.array(sheet.starts, np.int64)
        except BROKEN as error:
            why = f"it is no .xlsx, or is damaged ({type(error).__name__})"
            raise SchemaError(f"{str(path)!r} is not a readable workbook: {why}") from None


class _Sheet:
    """What a part of a workbook says: the last row and column, used cells, lengths of texts."""

    def __init__(self) -> None:
        self.size = self.used = self.rows = self.columns = self.text = 0
        self.starts: list[int] = []

    def add(self, block: bytes, lengths: Any) -> None:
        """Look at some of its bytes."""
        places = PLACE.findall(block)
        self.used += len(places)
        self.rows = max([self.rows, *(int(row) for _, row in places)])
        self.columns = max([self.columns, *map(_number, {letters for letters, _ in places})])
        self.starts += [self.size + found.start() for found in TEXT_START.finditer(block)]
        self.size += len(block)
        if len(lengths):
            texts = np.array(POINTER.findall(block), dtype=np.int64)
            self.text += int(lengths[texts[texts < len(lengths)]].sum())

    def check(self, path: str) -> None:
        area = self.rows * self.columns
        if area > max(HARMLESS_CELLS, LARGEST_AREA * self.used):
            raise SchemaError(
                f"{path!r}: a sheet reaches to row {self.rows:,} and column {self.columns:,}, and "
                f"only {self.used:,} of its cells are used; delete the rows and columns behind them"
            )


def _number(letters: bytes) -> int:
    """The number of a column from its letters; 0 without any."""
    number = 0
    for letter in letters:
        number = 26 * number + letter - ord("A") + 1
    return number


def _blocks(member: IO[bytes]) -> Iterator[bytes]:
    """The bytes of a part of a workbook, cut behind the end of an element."""
    rest = b""
    while more := member.read(BLOCK):
        cut = more.rfind(b">") + 1
        if cut:
            yield rest + more[:cut]
            rest = more[cut:]
        else:
            rest += more
            if len(rest) > 16 * BLOCK:
                raise zipfile.BadZipFile
    yield rest


# -- writing --------------------------------------------------------------------------


def check_written(schema: Schema, rows: int) -> str | None:
    """Why a table cannot be a sheet; None if it can."""
    needed("xlsxwriter", "excel", "a workbook")
    names = schema.columns
    if rows >= MOST_ROWS:
        return f"rows ({rows:,}) must be at most {MOST_ROWS - 1:,} in a sheet"
    if len(names) + len(schema.replaced) > MOST_COLUMNS:
        return f"columns ({len(names):,}) must be at most {MOST_COLUMNS:,} in a sheet"
    for column in schema:
        if any(isinstance(c, str) and len(c) > LONGEST_TEXT for c in column.categories):
            return f"column {column.name!r}: a category has more than {LONGEST_TEXT:,} letters"
        if finer_than_milliseconds(column):
            return f"column {column.name!r}: resolution ({column.resolution}) is finer than 1ms"
    return None


def finer_than_milliseconds(column: Column) -> bool:
    """Whether a column has times that workbooks and Stata round."""
    step = column.domain.step if isinstance(column.domain, Timed) else pd.Timedelta(0)
    return bool(step % pd.Timedelta("1ms"))


def write(path: Path, chunks: Iterable[pd.DataFrame], how: FileFormat) -> None:
    """Write chunks of one table as a sheet; every text is written as a text, never as a formula."""
    xlsxwriter: Any = needed("xlsxwriter", "excel", f"{path.name!r}")
    try:
        with xlsxwriter.Workbook(str(path), {"constant_memory": True}) as book:
            book.set_properties({"created": MADE})
            formats = [book.add_format({"num_format": text}) for text in DATES]
            _fill(book.add_worksheet(how.sheet), chunks, formats)
    except xlsxwriter.exceptions.FileCreateError as error:
        raise error.args[0] from None  # what the system said


def _fill(sheet: Any, chunks: Iterable[pd.DataFrame], formats: list[Any]) -> None:
    """Write the names of columns, and the rows below."""
    row = 0
    for chunk in chunks:
        if row == 0:
            for place, name in enumerate(chunk.columns):
                sheet.write_string(0, place, name)
        for values in zip(*(chunk[name] for name in chunk.columns), strict=True):
            row += 1
            for place, value in enumerate(values):
                _put(sheet, row, place, value, formats)


def _put(sheet: Any, row: int, place: int, value: Any, formats: list[Any]) -> None:
    """Write one value; a missing one leaves its cell empty."""
    if isinstance(value, str):
        sheet.write_string(row, place, value)
    elif isinstance(value, bool | np.bool_):
        sheet.write_boolean(row, place, bool(value))
    elif isinstance(value, float | int) and value == value:  # noqa: PLR0124  (NaN is not)
        sheet.write_number(row, place, value)
    elif pd.isna(value):
        return
    elif isinstance(value, dt.timedelta):
        sheet.write_string(row, place, text_of(value))
    elif isinstance(value, dt.date):
        moment = pd.Timestamp(value).tz_localize(None)
        if moment < FIRST_DAY:
            sheet.write_string(row, place, moment.isoformat())
            return
        daily = moment == moment.normalize()
        sheet.write_datetime(row, place, moment.to_pydatetime(), formats[not daily])
    else:
        sheet.write_number(row, place, float(value))
