"""Tables read from files by the format that their ending names; each file is opened once."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd

from copula_shirley.errors import SchemaError
from copula_shirley.files.atomic import check_regular
from copula_shirley.rows.formats import check_format, format_of
from copula_shirley.schema.file_format import PLAIN
from copula_shirley.schema.schema import Schema


def is_table(path: str | Path) -> bool:
    return format_of(path) is not None


def check_extension(path: str | Path, what: str = "file name", *, writes: bool = False) -> str:
    """The name of the format of a table file; ``what`` is how an error calls the file."""
    return check_format(path, what, writes=writes).name


def read_table(
    path: str | Path,
    schema: Schema | None = None,
    missing: Sequence[str] = (),
    *,
    left_out: bool = False,
) -> pd.DataFrame:
    """Read a table.

    In a CSV file only an empty field is a missing value, and whatever text the schema's ``file`` or
    ``missing`` names: a category called "None" or "NA" stays one.

    With a schema every field of a CSV file is read by itself, by the kind of its column
    (``Kind.reader``): no row changes how another is read, nor a dtype. Columns that it leaves out
    are empty unless ``left_out`` asks for them. Without a schema pandas finds the types from all
    rows together, which is no basis for a release.
    """
    how = (PLAIN if schema is None else schema.file).with_missing(missing)
    if schema is not None and left_out:
        schema = replace(schema, left_out=())
    read = check_format(path).read
    table: pd.DataFrame = whole(path, lambda: read(path, schema, how))
    return table


def whole(path: str | Path, read: Any) -> Any:
    """What a reader of a file gives; whatever is wrong with the file is one error."""
    check_regular(path, SchemaError)
    try:
        return read()
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


def _reason(error: Exception) -> str:
    """What is wrong with a file, without quoting what stands in it."""
    if isinstance(error, csv.Error) and "field limit" in str(error):
        return f"a field has more than {csv.field_size_limit():,} letters"
    named = error.encoding.upper() if isinstance(error, UnicodeDecodeError) else ""
    reasons: dict[Any, str] = {
        UnicodeDecodeError: f"it is not {named} text; the schema names another encoding (file: "
        "{encoding: cp1252}), and 'shirley draft' finds one that fits",
        pd.errors.EmptyDataError: "it is empty",
        pd.errors.ParserError | csv.Error: "its lines have different numbers of fields, or a quote "
        "is not closed",
    }
    found = (text for kind, text in reasons.items() if isinstance(error, kind))
    return next(found, type(error).__name__)
