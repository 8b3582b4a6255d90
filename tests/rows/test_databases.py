"""Rows of a query: of SQLite, where each value is read by itself, and of a real PostgreSQL."""

from __future__ import annotations

import os
import re
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from commands import run

from copula_shirley import Schema, SchemaError, SettingError, read_table
from copula_shirley.rows.databases import Query
from copula_shirley.rows.formats import place_of
from copula_shirley.rows.recognising import recognised

SECRET = "quarry4711"
SERVER = Path(__file__).with_name("postgres.sh")
SCHEMA = Schema.from_yaml("""
columns:
  age: {kind: integer, minimum: 0, maximum: 99, missing: true}
  cost: {kind: continuous, minimum: 0, maximum: 99, missing: true}
  sex: {kind: categorical, categories: [f, m], missing: true}
  day:
    {kind: datetime, minimum: 2020-01-01, maximum: 2020-12-31, resolution: 1D, format: "%Y-%m-%d"}
""")
VALUES = {
    "age": [30, None, 50], "cost": [1.5, 2.25, None], "sex": ["f", "m", None],
    "day": ["2020-01-01", "2020-02-29", "2020-12-31"],
}  # fmt: skip
NAMES = "age, cost, sex, day"


def plain(table: pd.DataFrame) -> dict[str, list[Any]]:
    return {n: v.astype(object).where(v.notna(), None).tolist() for n, v in table.items()}


@pytest.fixture
def stays(tmp_path: Path) -> Path:
    path = tmp_path / "my stays?.db"
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("CREATE TABLE stays (age, cost NUMERIC, sex TEXT, day TEXT)")
        rows = list(zip(*VALUES.values(), strict=True))
        database.executemany("INSERT INTO stays VALUES (?, ?, ?, ?)", rows)
        database.execute("CREATE VIEW private AS SELECT ? AS name".replace("?", f"'{SECRET}'"))
    return path


def test_rows_of_sqlite(stays: Path) -> None:
    before = stays.read_bytes()
    for address in (f"sqlite:{stays}", f"sqlite:///{stays}"):
        table = read_table(address, SCHEMA, query=f"SELECT {NAMES} FROM stays;")
        assert plain(SCHEMA.validate(table)) == VALUES
    assert stays.read_bytes() == before
    assert recognised(Query(f"sqlite:{stays}", "SELECT * FROM stays")).table.shape == (3, 4)


@pytest.mark.parametrize("odd", ["'7'", "2.5", "'many'", "NULL", "'2020-01-01'"])
@pytest.mark.parametrize("first", [True, False])
def test_no_value_of_sqlite_changes_how_another_is_read(stays: Path, odd: str, first: bool) -> None:
    """Arrow's driver would make texts of all, or stop at the odd one."""
    parts = [f"SELECT {odd} AS age", "SELECT age FROM stays WHERE age IS NOT NULL"]
    query = " UNION ALL ".join(parts if first else parts[::-1])
    schema = Schema(SCHEMA.columns[:1])
    found = read_table(f"sqlite:{stays}", schema, query=query)["age"].tolist()
    assert (found[1:] if first else found[:-1]) == [30, 50]


def test_the_first_rows_of_a_person_follow_from_her_own(stays: Path) -> None:
    """In whatever order a database gives rows, the same ones are kept."""
    schema = Schema(SCHEMA.columns[:1], person="who", max_rows=1)
    kept = []
    for order in ("ASC", "DESC"):
        query = f"SELECT age % 20 AS who, age FROM stays WHERE age > 0 ORDER BY age {order}"
        table = read_table(f"sqlite:{stays}", schema, query=query)
        kept.append(schema.validate(table, on_unknown="clip")["age"].tolist())
    assert kept == [[30], [30]]


def test_commands_take_a_query(stays: Path, tmp_path: Path) -> None:
    with closing(sqlite3.connect(stays)) as database, database:
        for _ in range(5):
            database.execute("INSERT INTO stays SELECT * FROM stays")
    of = [f"sqlite:{stays.name}", "--query", f"SELECT {NAMES} FROM stays"]
    done = run("draft", *of, "-o", "d.yaml", folder=tmp_path)
    assert done.code == 0 and Schema.read(tmp_path / "d.yaml").names == SCHEMA.names
    SCHEMA.write(tmp_path / "s.yaml")
    assert run("check", *of, "--schema", "s.yaml", folder=tmp_path).code == 0
    made = ("--schema", "s.yaml", "--model", "uniform", "-o", "o.csv", "-n", "5")
    assert run("synthesize", *of, *made, folder=tmp_path).code == 0
    assert len(read_table(tmp_path / "o.csv", SCHEMA)) == 5
    judged = ("--schema", "s.yaml", "--model", "uniform", "--metric", "tvd1", "-o", "e.html", "-q")
    assert run("evaluate", *of, *judged, folder=tmp_path).code == 0
    said = run("synthesize", *of, *made[:-3], of[0].removeprefix("sqlite:"), folder=tmp_path)
    assert said.code == 2  # never over the database
    assert sqlite3.connect(stays).execute("SELECT count(*) FROM stays").fetchone() == (96,)


#: Queries to SQLite, and what is said of them.
WRONG = {
    "no SQL": ("SELEC 1", 'near "SELEC": syntax error'),
    "no query": (" ; ", "query ('') must be a SELECT"),
    "no such table": ("SELECT * FROM nope", "no such table: nope"),
    "no such column": ("SELECT nope FROM stays", "no such column: nope"),
    "two statements": ("SELECT 1; SELECT 2", "You can only execute one statement at a time"),
    "no rows": ("BEGIN", "the query must give rows"),
    "writing": ("DELETE FROM stays", "the query must only read, as a SELECT does"),
    "making": ("CREATE TABLE x (a)", "the query must only read, as a SELECT does"),
    "twice": ("SELECT age, age FROM stays", "column 'age' stands twice"),
    "no name": ('SELECT age AS "" FROM stays', "column 1 has no name"),
    "bytes": ("SELECT x'00' AS a", "column 'a': holds values of type bytes"),
    "an odd character": ("SELECT 1\0", "does not understand the query"),
    "a private value": (
        "SELECT json_extract(name, '$') AS a FROM private", "the query failed while it read rows"
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_query_is_one_error(name: str, stays: Path) -> None:
    query, said = WRONG[name]
    with pytest.raises(SchemaError) as caught:
        read_table(f"sqlite:{stays}", query=query)
    message = str(caught.value)
    assert said in message and SECRET not in message and "\n" not in message


def test_wrong_addresses(tmp_path: Path) -> None:
    (tmp_path / "text.db").write_text(SECRET * 100)
    (tmp_path / "folder.db").mkdir()
    for words, said in {
        ("sqlite:no.db", "--query", "SELECT 1"): "'sqlite:no.db' does not exist",
        ("sqlite:folder.db", "--query", "SELECT 1"): "cannot be read: it is a folder",
        ("sqlite:text.db", "--query", "SELECT 1"): "is not a readable database",
        ("sqlite:text.db",): "'sqlite:text.db' is a database: --query 'SELECT ...' names the rows",
        ("mysql://ann:geheim@host/x", "--query", "SELECT 1"): "a database (mysql:...) must be sqli",
        ("text.db", "--query", "SELECT 1"): "--query ('SELECT 1') must be asked of a database",
        ("text.db",): "must end in one of",
        ("sqlite:", "--query", "SELECT 1"): "must be sqlite:FILE or postgresql://HOST/NAME",
        ("t.csv", "--sheet", "S"): "--sheet ('S') must be left out: 't.csv' is no workbook",
    }.items():
        line = run("draft", *words, folder=tmp_path).refusal()
        assert said in line and SECRET not in line and "geheim" not in line
    assert place_of("C:\\data.csv") == Path("C:\\data.csv")


def test_an_address_is_shown_without_its_password() -> None:
    query = Query("postgresql://ann:geheim@host:99/x?password=geheim", "SELECT 1")
    assert str(query) == "postgresql://host:99/x" and "geheim" not in repr(query)
    assert "geheim" not in str(Query("postgres://a:geheim@[bad/x", "SELECT 1"))


@pytest.mark.parametrize(
    "address",
    [
        *("postgresql://ann:12/geheim@host/x", "postgresql://ann:12#geheim@host/x"),
        *("postgresql://ann:ge@heim@host/x", "POSTGRESQL://ann:geheim@host/x"),
        *("postgresql:ann:geheim@host/x", "postgres:/ann:geheim@host/x"),
    ],
)
def test_a_password_that_is_written_wrong_is_not_shown(address: str) -> None:
    place = place_of(address, "SELECT 1")
    assert isinstance(place, Query) and not {"heim", "12"} & {*re.split(r"\W", str(place))}
    assert "geheim" not in f"{place} {place!r}"
    with pytest.raises(SchemaError) as refused:
        place_of(address)
    assert "heim" not in str(refused.value) and "ann" not in str(refused.value)


def test_without_the_extra_one_line_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "adbc_driver_postgresql", None)
    with pytest.raises(SettingError, match=r"pip install 'copula-shirley\[sql\]' adds it"):
        read_table("postgresql://ann:geheim@host/x", query="SELECT 1")


def test_a_server_that_is_not_there_is_one_error() -> None:
    with pytest.raises(SchemaError) as caught:
        read_table("postgresql://ann:geheim@127.0.0.1:1/x", query="SELECT 1")
    said = "'postgresql://127.0.0.1:1/x' cannot be read: Connection refused"
    assert str(caught.value) == said
    for odd in ("postgresql://ann:ge:heim@127.0.0.1:1:2/x", "postgresql://h/x?geheim=1"):
        with pytest.raises(SchemaError) as caught:
            read_table(odd, query="SELECT 1")
        assert "heim" not in str(caught.value)


# -- PostgreSQL, installed and started by the script beside this file ---------------------------


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a server of our own, on this machine alone."""
    folder = tmp_path_factory.mktemp("postgres")
    started = subprocess.run(
        ["bash", SERVER, "start", folder], capture_output=True, text=True, check=False
    )
    if started.returncode:
        pytest.skip(f"no PostgreSQL can be had: {started.stderr.strip()[-200:]}")
    dbapi = pytest.importorskip("adbc_driver_postgresql.dbapi")
    address = started.stdout.strip()
    try:
        with closing(dbapi.connect(address)) as connection, closing(connection.cursor()) as cursor:
            for line in (
                "CREATE TYPE sexes AS ENUM ('m', 'f')",
                "CREATE TABLE stays (age int, cost numeric(8, 2), sex sexes, day date, "
                "seen timestamptz, stay interval, flag boolean, code uuid, paid money, n int[])",
                "INSERT INTO stays VALUES (30, 1.50, 'f', '2020-01-01', '2020-01-01T01:00+01', "
                "'51:30:00', true, gen_random_uuid(), 1, '{1}'), "
                "(NULL, 2.25, 'm', '2020-02-29', NULL, '1 month', NULL, NULL, NULL, NULL), "
                "(50, NULL, NULL, '2020-12-31', NULL, NULL, false, NULL, NULL, NULL)",
                "CREATE TABLE names AS SELECT 'quarry4711'::text AS name",
            ):
                cursor.execute(line)
            connection.commit()
        yield address
    finally:
        subprocess.run(["bash", SERVER, "stop", folder], check=True, capture_output=True)


MORE = Schema.from_yaml("""
columns:
  seen: {kind: datetime, minimum: 2020-01-01, maximum: 2020-12-31, resolution: 1D, missing: true}
  stay: {kind: duration, minimum: 0s, maximum: 9 days, resolution: 1min, missing: true}
  flag: {kind: boolean, missing: true}
left_out: {code: drop}
""")


@pytest.mark.slow
def test_rows_of_postgresql(server: str, tmp_path: Path) -> None:
    schema = Schema.from_dict(SCHEMA.to_dict())
    day = Schema.from_yaml("columns: {day: {kind: datetime, minimum: 2020-01-01, maximum: "
                           "2020-12-31, resolution: 1D}}")["day"]  # fmt: skip
    schema = Schema((*SCHEMA.columns[:3], day))
    query = f"SELECT {NAMES} FROM stays ORDER BY day;"
    table = schema.validate(read_table(server, schema, query=query))
    assert {**plain(table), "day": [str(value)[:10] for value in table["day"]]} == VALUES
    assert str(table["age"].dtype) == "Int32" and str(table["cost"].dtype) == "float64"
    more = read_table(server, MORE, query="SELECT code, seen, stay, flag FROM stays ORDER BY day")
    numbers = {c.name: c.domain.to_numbers(more[c.name]).tolist() for c in MORE}
    gap = float("-inf")
    assert numbers == {
        "seen": [0, gap, gap], "stay": [51 * 60 + 30, gap, gap], "flag": [1, gap, 0]
    }  # fmt: skip
    with pytest.raises(SchemaError, match="column 'stay': a value is not a duration"):
        MORE.validate(more)  # a month has no length
    done = run("draft", server, "--query", query, "-o", "d.yaml", folder=tmp_path)
    assert done.code == 0, done.err
    kinds = {c.name: c.kind for c in Schema.read(tmp_path / "d.yaml")}
    assert kinds["cost"] == "continuous" and kinds["day"] == "datetime"


#: Queries to PostgreSQL, and what is said of them.
REFUSED = {
    "no SQL": ("SELEC 1", 'syntax error at or near "SELEC"'),
    "no such table": ("SELECT * FROM nope", 'relation "nope" does not exist'),
    "no such column": ("SELECT nope FROM stays", 'column "nope" does not exist'),
    "two statements": ("SELECT 1; SELECT 2", "cannot insert multiple commands"),
    "no rows": ("CREATE TABLE x (a int)", "the query must give rows"),
    "writing": ("DELETE FROM stays RETURNING age", "failed while it read rows (ProgrammingError"),
    "twice": ("SELECT age, age FROM stays", "column 'age' stands twice"),
    "lists": ("SELECT n FROM stays", "column 'n': holds values of type list"),
    "money": ("SELECT paid FROM stays", "column 'paid' is of type money"),
    "no columns": ("SELECT", "the query must give rows"),
    "a private value": ("SELECT name::int FROM names", "failed while it read rows (DataError, SQL"),
    "a private name": ("SELECT name::regclass FROM names", "failed while it read rows"),
}


@pytest.mark.slow
def test_wrong_queries_to_postgresql_are_one_error(server: str) -> None:
    for query, said in REFUSED.values():
        with pytest.raises(SchemaError) as caught:
            read_table(server, query=query)
        message = str(caught.value)
        assert said in message and SECRET not in message and "\n" not in message, message
    with pytest.raises(SchemaError, match="cannot be read: does not exist"):
        read_table(f"{server}_", query="SELECT 1")


@pytest.mark.slow
def test_the_script_leaves_nothing_behind(server: str, tmp_path: Path) -> None:
    assert read_table(server, query="SELECT 1 AS a").to_dict("list") == {"a": [1]}
    done = subprocess.run(
        ["bash", SERVER, "stop", tmp_path], capture_output=True, text=True, check=False,
        env={**os.environ},
    )  # fmt: skip
    assert done.returncode == 0  # nothing was started there
