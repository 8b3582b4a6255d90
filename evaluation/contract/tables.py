"""Small public tables with which a generator is tried, their neighbours, and their canaries."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from copula_shirley.schema.schema import Column, Schema

Row = dict[str, Any]
#: A prime, so that hardly anything else has as many parts as there are rows.
ROWS = 97
PERSON = "who"
ROWS_EACH = 3
#: Texts that nobody declared.
CANARY = "hoopoe-7391"


@dataclass(frozen=True)
class Case:
    """Rows, and the schema that they fit."""

    rows: tuple[Row, ...]
    schema: Schema

    @property
    def table(self) -> pd.DataFrame:
        """The rows as a table; pandas chooses the dtypes, as it would for a user."""
        return table_of(self.rows)


def table_of(rows: Sequence[Row]) -> pd.DataFrame:
    """Rows as a table."""
    return pd.DataFrame(list(rows))


def town(*, people: bool = False, seed: int = 5) -> Case:
    """The built-in rows: every kind of column, dependence, missing values, a constant column.

    With ``people`` each person, named in column ``who``, has three rows.
    """
    rng = np.random.default_rng(seed)
    rows: list[Row] = []
    for i in range(ROWS - 1 if people else ROWS):
        rich = int(rng.random() < 0.5)
        row = {
            "age": int(rng.integers(20, 60) + 20 * rich),
            "job": ("arts", "farm")[rich ^ int(rng.random() < 0.2)],
            # each is the only one of its value, to be found again if it is stored
            "pay": round(1000 * (1 + rich) + float(rng.uniform(0, 900)), 4),
            "flag": bool(rich),
            "day": pd.Timestamp("2020-01-01") + pd.Timedelta(days=int(rng.integers(0, 300))),
            "same": 7,
            "rich": rich,
        }
        rows.append({**row, PERSON: f"soul-{7919 * (i // ROWS_EACH)}"} if people else row)
    return Case(tuple(rows), _town_schema(people))


def _town_schema(people: bool) -> Schema:
    dates: dict[str, Any] = {"minimum": "2020-01-01", "maximum": "2020-12-31", "resolution": "1D"}
    columns = (
        Column("age", "integer", minimum=0, maximum=99, missing=True),
        Column("job", "categorical", categories=("arts", "farm", "law", "rare"), missing=True),
        Column("pay", "continuous", minimum=0, maximum=1e5, special=(0,), missing=True),
        Column("flag", "boolean", missing=True),
        Column("day", "datetime", **dates, missing=True),
        Column("same", "integer", minimum=7, maximum=8),
        Column("rich", "integer", minimum=0, maximum=1),
    )
    return Schema(columns, PERSON, ROWS_EACH) if people else Schema(columns)


# -- rows that stand out ---------------------------------------------------------------


def odd_rows(case: Case) -> dict[str, Row]:
    """Rows that no other is like, by what is odd about them."""
    first = case.rows[0]
    rows = {
        "the highest values": {c.name: _end(c, last=True) for c in case.schema},
        "the lowest values": {c.name: _end(c, last=False) for c in case.schema},
    }
    if any(c.missing for c in case.schema):
        gaps = {c.name: None if c.missing else first[c.name] for c in case.schema}
        rows["missing values"] = gaps
    return rows


def _end(column: Column, *, last: bool) -> Any:
    kind = column.domain
    ends = kind.from_numbers(np.array(kind.number_range), kind.private_storage)
    return ends.tolist()[-1 if last else 0]


# -- neighbours -------------------------------------------------------------------------


def units(case: Case) -> list[list[int]]:
    """Positions of the rows of each unit: a row, or a person."""
    person = case.schema.person
    if person is None:
        return [[i] for i in range(len(case.rows))]
    owners: dict[Any, list[int]] = {}
    for i, row in enumerate(case.rows):
        owners.setdefault(row[person], []).append(i)
    return list(owners.values())


def neighbours(case: Case, relation: str) -> dict[str, Case]:
    """Tables that differ from the case's by one unit, by what it is like."""
    person, schema = case.schema.person, case.schema
    largest = max(units(case), key=len)
    found: dict[str, list[Row]] = {}
    for what, odd in odd_rows(case).items():
        if relation == "replace-one":
            # all rows of the unit, and as many as it may have
            extra = schema.max_rows - len(largest)
            swapped = [{**r, **odd} if i in largest else r for i, r in enumerate(case.rows)]
            more = [{**case.rows[largest[0]], **odd}] * extra
            found[f"a unit becomes {what}"] = [*swapped, *more]
        else:
            owner = {} if person is None else {person: f"{CANARY}-new"}
            found[f"a unit with {what} is added"] = [
                *case.rows,
                *[{**odd, **owner}] * (schema.max_rows if person else 1),
            ]
    if relation == "add-remove":
        found["a unit is removed"] = [r for i, r in enumerate(case.rows) if i not in largest]
    return {what: Case(tuple(rows), schema) for what, rows in found.items()}


def far_table(case: Case, relation: str) -> Case:
    """A table that has nothing in common with the case's but what is public.

    The number of rows is public where one row replaces another, and only there.
    """
    person = case.schema.person
    public = relation == "replace-one" and case.schema.max_rows == 1
    size = len(case.rows) if public else 4 * len(case.rows) + 1
    kinds = list(odd_rows(case).values())
    rows = [kinds[i % len(kinds)] for i in range(size)]
    if person is not None:
        rows = [{**row, person: f"{CANARY}-{i}"} for i, row in enumerate(rows)]
    return Case(tuple(rows), case.schema)


# -- tables to refuse ----------------------------------------------------------------------


@dataclass(frozen=True)
class Bad:
    """A table that does not fit, the column at fault, and the private value in it."""

    what: str
    table: pd.DataFrame
    column: str | None
    quoted: tuple[str, ...]


def bad_tables(case: Case) -> list[Bad]:
    """Tables that break the schema, each in one way, with values that no message may quote."""
    table, schema = case.table, case.schema
    found = [
        Bad("a column that nobody declared", table.assign(stranger=CANARY), "stranger", (CANARY,)),
        Bad("no rows", table.iloc[:0], None, ()),
    ]
    last = schema.names[-1]
    if len(schema) > 1:
        found.append(Bad("a column that is not there", table.drop(columns=last), last, ()))
    for column in schema:
        found += [Bad(what, *rest) for what, *rest in _bad_values(column, table)]
    if schema.person is not None:
        crowd = table.assign(**{schema.person: CANARY})
        found.append(Bad("a person with too many rows", crowd, schema.person, (CANARY,)))
    return found


def _bad_values(column: Column, table: pd.DataFrame) -> list[tuple[Any, ...]]:
    name, found = column.name, []

    def put(what: str, value: Any, *quoted: str) -> None:
        values = table[name].astype(object)
        values.iloc[0] = value
        found.append((what, table.assign(**{name: values}), name, quoted))

    if not column.missing:
        put("a value is missing where none may be", None)
    if column.is_listed:
        put("a category that nobody declared", CANARY, CANARY)
        put("a list in the place of a category", [CANARY], CANARY)
        return found
    far = np.array([column.domain.number_range[1] + 7391.0])
    value = column.domain.from_numbers(far, column.domain.private_storage).tolist()[0]
    quoted = {str(value).removesuffix(" 00:00:00")}
    if column.is_number:
        quoted |= {f"{value:g}", f"{value:.0f}"}
    put("a value outside its bounds", value, *sorted(quoted))
    put("a text in the place of another value", CANARY, CANARY)
    return found
