"""Tables read from files by the format that their ending names; each file is opened once."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import pandas as pd

from copula_shirley.errors import SchemaError, ShirleyError
from copula_shirley.files.atomic import check_regular
from copula_shirley.rows.databases import Query, in_order
from copula_shirley.rows.formats import Place, check_format, file_of, format_of, place_of
from copula_shirley.schema.file_format import PLAIN, FileFormat
from copula_shirley.schema.schema import Schema

T = TypeVar("T")


def is_table(path: str | Path) -> bool:
    return format_of(path) is not None


def check_written(path: Path, schema: Schema, rows: int) -> None:
    """Refuse a table that its format cannot hold, before anything is spent on it."""
    check = check_format(path, writes=True).check_written
    if check is not None and (reason := check(schema, rows)):
        raise SchemaError(f"output ({str(path)!r}) cannot be written: {reason}; choose .csv")


def check_extension(path: str | Path, what: str = "file name", *, writes: bool = False) -> str:
    """The name of the format of a table file; ``what`` is how an error calls the file."""
    return check_format(path, what, writes=writes).name


def read_table(
    path: str | Path | Query,
    schema: Schema | None = None,
    missing: Sequence[str] = (),
    *,
    left_out: bool = False,
    sheet: str | None = None,
    query: str | None = None,
) -> pd.DataFrame:
    """Read a table from a file, or what a ``query`` to a database gives.

    A database is ``"sqlite:stays.db"`` or ``"postgresql://user@host/name"``. Of a workbook with
    several sheets one is named, here or in the schema's ``file``. ``"-"`` is standard input.

    In a CSV file only an empty field is a missing value, and whatever text the schema's ``file`` or
    ``missing`` names: a category called "None" or "NA" stays one.

    With a schema every field of a CSV file, or cell of a workbook or of SQLite, is read by itself,
    by the kind of its column (``Kind.reader``): no row changes how another is read, nor a dtype.
    Columns that it leaves out are empty unless ``left_out`` asks for them. Without a schema pandas
    finds the types from all rows together, which is no basis for a release.
    """
    place = path if isinstance(path, Query) else place_of(str(path), query)
    how = told(place, PLAIN if schema is None else schema.file, missing, sheet)
    if schema is not None and left_out:
        schema = replace(schema, left_out=())
    read = check_format(place).read
    table: pd.DataFrame = whole(place, lambda: read(place, schema, how))
    if isinstance(place, Query) and schema is not None and schema.person is not None:
        table = in_order(table)
    return table


def told(place: Place, file: FileFormat, missing: Sequence[str], sheet: str | None) -> FileFormat:
    """How a file is read, with what is said of it beside its schema."""
    if sheet is not None and not check_format(place).has_sheets:
        raise SchemaError(f"sheet ({sheet!r}) must be left out: {str(place)!r} is no workbook")
    return file.told(missing, sheet)


def whole(path: Place, read: Callable[[], T]) -> T:
    """What a reader of a file gives; whatever is wrong with the file is one error."""
    with reading(path):
        return read()


@contextmanager
def reading(path: Place) -> Iterator[None]:
    """Whatever is wrong with a file that is read inside is one error."""
    if (file := file_of(path)) is not None:
        check_regular(file, SchemaError)
    try:
        yield
    except FileNotFoundError:
        raise SchemaError(f"{str(path)!r} does not exist") from None
    except OSError as error:
        raise SchemaError(f"{str(path)!r} cannot be read: {error.strerror or error}") from None
    except ShirleyError:
        raise
    except (ValueError, csv.Error) as error:  # parser errors are ValueErrors
        raise SchemaError(f"{str(path)!r} is not a readable table: {_reason(error)}") from None
    except MemoryError:
        raise SchemaError(f"{str(path)!r} does not fit into the memory") from None


def _reason(error: Exception) -> str:
    """What is wrong with a file, without quoting what stands in it."""
    if isinstance(error, csv.Error) and "field limit" in str(error):
        return f"a field has more than {csv.field_size_limit():,} letters"
    named = error.encoding.upper() if isinstance(error, UnicodeDecodeError) else ""
    reasons: dict[Any, str] = {
        UnicodeDecodeError: f"it is not {named} text; the schema names another encoding (file: "
        "{encoding: cp1252}), and 'shirley draft' finds one that fits",
        pd.errors.EmptyDataError: "it is empty",
        pd.errors.ParserError | csv.Error: "its lines have different numbers of fields ('shirley "
        "check' shows which), or a quote is not closed",
    }
    found = (text for kind, text in reasons.items() if isinstance(error, kind))
    return next(found, type(error).__name__)
