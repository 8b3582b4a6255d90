"""Rows that a query gives: of SQLite, where each value has a type of its own, and PostgreSQL.

A database is only read. What it says is wrong is quoted only where it came of the query's text:
an error while rows are read may quote a value (``invalid input syntax for type integer: "Smith"``),
and one about an address a password.

The rows are a list in which each stands for itself. A database gives them in any order, which can
depend on the other rows; so where the first rows of a person may be kept (``on_unknown="clip"``),
they are sorted by their own values.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pandas as pd
import pyarrow as pa

from copula_shirley.errors import SchemaError
from copula_shirley.files.texts import one_line
from copula_shirley.lazy import needed
from copula_shirley.rows.cells import Cells, columns_of, without_named
from copula_shirley.schema.file_format import FileFormat
from copula_shirley.schema.frames import check_columns, frame_of, stored
from copula_shirley.schema.schema import Schema

#: What an address of a database starts with, and what is one that nobody reads.
SQLITE, POSTGRESQL = "sqlite", "postgresql"
SCHEMES = {"sqlite": SQLITE, "postgresql": POSTGRESQL, "postgres": POSTGRESQL}
ADDRESS = re.compile(
    rf"(?P<scheme>[a-z][a-z0-9+.-]+):(?://|(?<={SQLITE}:)|(?<={POSTGRESQL}:)|(?<=postgres:))",
    re.ASCII | re.IGNORECASE,
)
#: An address that can be shown, and what is shown of it: neither people nor settings. A sign such
#: as @ where none may be can be that of a password that is not written as %40.
SHOWN = re.compile(
    r"[a-z]+://(?:[^@/?#]*@)?"
    r"(?P<where>(?:[^@/?#:,]*|\[[^\]@/?#]*\])(?::\d+)?(?:/[^@/?#]*)?)(?:\?[^@]*)?",
    re.ASCII | re.IGNORECASE,
)
#: What PostgreSQL says of a connection; its other words may hold the address, password included.
REASONS = (
    *("password authentication failed", "no password supplied", "Connection refused"),
    *("does not exist", "could not translate host name", "timeout expired", "No such file"),
)
LONGEST_WORDS = 300


@dataclass(frozen=True)
class Query:
    """A query to a database; shown without the password.

    Examples
    --------
    >>> str(Query("postgresql://ann:secret@host/stays", "SELECT * FROM stays"))
    'postgresql://host/stays'
    >>> Query("sqlite:data/stays.db", "SELECT * FROM stays").path
    PosixPath('data/stays.db')
    """

    address: str = field(repr=False)
    text: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "text", self.text.strip().rstrip(";"))
        found = ADDRESS.match(self.address)
        named = found is not None and found["scheme"].lower() in SCHEMES
        if not named or self.address.endswith(":"):
            rule = "must be sqlite:FILE or postgresql://HOST/NAME"
            raise SchemaError(f"a database ({found['scheme'] if found else '?'}:...) {rule}")
        if not self.text:
            raise SchemaError("query ('') must be a SELECT")

    @property
    def scheme(self) -> str:
        """The kind of database."""
        return SCHEMES[self.address.partition(":")[0].lower()]

    @property
    def path(self) -> Path | None:
        """The file of a database that is one."""
        if self.scheme != SQLITE:
            return None
        rest = self.address.partition(":")[2]
        return Path(rest.removeprefix("///" if rest.startswith("///") else "//"))

    def __str__(self) -> str:
        if self.path is not None:
            return f"sqlite:{self.path}"
        known = SHOWN.fullmatch(self.address)
        return f"postgresql://{known['where'] if known else '...'}"


def is_address(text: str) -> bool:
    """Whether a text names a database and not a file."""
    return ADDRESS.match(text) is not None


# -- SQLite ----------------------------------------------------------------------------


def cells(query: Query, _: FileFormat) -> Cells:
    """The values that a query to SQLite gives, by column.

    Read by Python's own module: Arrow's driver takes the type of a column from its first 1,024
    rows, so that one row would change how all others are read, or whether they are.
    """
    with _opened(query) as connection:
        try:
            connection.execute(f"EXPLAIN {query.text}")
        except (sqlite3.Error, sqlite3.Warning) as error:
            raise _refused(query, str(error)) from None
        except ValueError:  # a NUL character
            raise _refused(query, "it holds an odd character") from None
        try:
            cursor = connection.execute(query.text)
            header = [name for name, *_ in cursor.description or ()]
            rows = cursor.fetchall()
        except (sqlite3.Error, ValueError) as error:
            raise _failed(query, error) from None
    _check_gives(query, header)
    return columns_of(str(query), header, rows)


@contextmanager
def _opened(query: Query) -> Iterator[sqlite3.Connection]:
    """A file of SQLite that nobody can write to."""
    path = str(query.path)
    if not Path(path).is_file():
        raise FileNotFoundError(path)
    address = f"file:{quote(path)}?mode=ro"
    try:
        with closing(sqlite3.connect(address, uri=True)) as connection:
            connection.execute("SELECT count(*) FROM sqlite_master")
            yield connection
    except sqlite3.Error as error:
        raise SchemaError(f"{str(query)!r} is not a readable database: {error}") from None


# -- PostgreSQL -------------------------------------------------------------------------


def read(query: Query, schema: Schema | None, how: FileFormat) -> pd.DataFrame:
    """The table that a query to PostgreSQL gives, whose columns have types of their own."""
    dbapi: Any = needed("adbc_driver_postgresql.dbapi", "sql", repr(str(query)))
    try:
        connection = dbapi.connect(query.address)
    except dbapi.Error as error:
        reason = next((r for r in REASONS if r in str(error)), "see the server's log")
        raise SchemaError(f"{str(query)!r} cannot be read: {reason}") from None
    with closing(connection), closing(connection.cursor()) as cursor:
        try:
            cursor.execute("SET TRANSACTION READ ONLY")
            found = cursor.adbc_execute_schema(query.text)  # of the query alone: no row is read
        except dbapi.Error as error:
            said = re.search(r"ERROR: *(.*)", str(error))
            raise _refused(query, said[1] if said else type(error).__name__) from None
        _check_gives(query, found.names)
        check_columns(found, repr(str(query)))
        try:
            cursor.execute(query.text)
            table = _with_plain_types(cursor.fetch_arrow_table())
        except (dbapi.Error, pa.ArrowException, OSError) as error:
            raise _failed(query, error) from None
    return without_named(frame_of(table), schema, how)


def _with_plain_types(table: pa.Table) -> pa.Table:
    """Exact decimals, which the driver gives as texts, as doubles, and enumerations as texts."""
    for place, column in enumerate(table.schema):
        named = (column.metadata or {}).get(b"POSTGRESQL:type", b"").decode()
        if named == "money":
            rule = "is of type money, whose unit is a setting of the server; cast it to numeric"
            raise SchemaError(f"column {column.name!r} {rule}")
        wanted = {"numeric": pa.float64()}.get(named)
        wanted = pa.string() if named.startswith("unnamed<") else wanted  # a type of its own
        if wanted is not None:
            table = table.set_column(place, column.name, stored(table.column(place)).cast(wanted))
    return table


# -- both ---------------------------------------------------------------------------------


def in_order(table: pd.DataFrame) -> pd.DataFrame:
    """The rows in an order that follows from their own values."""
    texts = table.astype(str)
    return table.loc[texts.sort_values(table.columns.tolist()).index].reset_index(drop=True)


def _check_gives(query: Query, columns: list[str]) -> None:
    if not columns:
        raise SchemaError(f"{str(query)!r}: the query must give rows, as a SELECT does")


def _refused(query: Query, words: str) -> SchemaError:
    """What a database says of a query before it has read a row."""
    said = one_line(words)[:LONGEST_WORDS]
    return SchemaError(f"{str(query)!r} does not understand the query: {said}")


def _failed(query: Query, error: Exception) -> SchemaError:
    """An error while rows are read, whose words may quote them."""
    if getattr(error, "sqlite_errorname", "") == "SQLITE_READONLY":
        return SchemaError(f"{str(query)!r}: the query must only read, as a SELECT does")
    state = getattr(error, "sqlstate", None)
    why = f"{type(error).__name__}{f', SQLSTATE {state}' if state else ''}"
    return SchemaError(f"{str(query)!r}: the query failed while it read rows ({why})")
