"""Small public tables with which a generator is tried, their neighbours, and tables to refuse."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from copula_shirley.schema.schema import Column, Schema

Row = dict[str, Any]
#: A prime, so that hardly anything else has as many parts as there are rows.
ROWS = 97
PERSON, ROWS_EACH = "who", 3
#: A text that nobody declared.
CANARY = "hoopoe-7391"


@dataclass(frozen=True)
class Case:
    """Rows, and the schema that they fit."""

    rows: tuple[Row, ...]
    schema: Schema
    #: The rows as they were read from a file.
    read: pd.DataFrame | None = None

    @property
    def table(self) -> pd.DataFrame:
        """The rows as a table; pandas chooses the dtypes, as it would for a user."""
        return pd.DataFrame(list(self.rows)) if self.read is None else self.read


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
    schema = Schema(columns, PERSON, ROWS_EACH) if people else Schema(columns)
    return Case(tuple(rows), schema)


def odd_rows(case: Case) -> dict[str, Row]:
    """Rows that no other is like, by what is odd about them."""
    ends = {c.name: _value(c, np.array(c.domain.number_range)) for c in case.schema}
    rows = {
        "the highest values": {name: values[-1] for name, values in ends.items()},
        "the lowest values": {name: values[0] for name, values in ends.items()},
    }
    if any(c.missing for c in case.schema):
        first = case.rows[0]
        rows["missing values"] = {c.name: None if c.missing else first[c.name] for c in case.schema}
    return rows


def _value(column: Column, numbers: Any) -> list[Any]:
    """Numbers of a column's domain as the values that a table holds."""
    kind = column.domain
    return list(kind.from_numbers(numbers, kind.private_storage).tolist())


def neighbours(case: Case, relation: str) -> dict[str, Case]:
    """Tables that differ from the case's by one unit, by what it is like."""
    person, most = case.schema.person, case.schema.max_rows if case.schema.person else 1
    owners = [row[person] if person else i for i, row in enumerate(case.rows)]
    ((unit, _),) = Counter(owners).most_common(1)  # one with most rows
    largest = [i for i, owner in enumerate(owners) if owner == unit]
    kept = [row for i, row in enumerate(case.rows) if i not in largest]
    found: dict[str, list[Row]] = {}
    for what, odd in odd_rows(case).items():
        if relation == "replace-one":  # all rows of the unit, and as many as it may have
            found[f"a unit becomes {what}"] = [
                *({**r, **odd} if i in largest else r for i, r in enumerate(case.rows)),
                *[{**case.rows[largest[0]], **odd}] * (most - len(largest)),
            ]
        else:
            owner = {person: f"{CANARY}-new"} if person else {}
            found[f"a unit with {what} is added"] = [*case.rows, *[{**odd, **owner}] * most]
    if relation == "add-remove":
        found["a unit is removed"] = kept
    return {what: Case(tuple(rows), case.schema) for what, rows in found.items()}


def far_table(case: Case, relation: str) -> Case:
    """A table that has nothing in common with the case's but what is public.

    The number of rows is public where one row replaces another, and only there.
    """
    person = case.schema.person
    public = relation == "replace-one" and case.schema.max_rows == 1
    kinds = list(odd_rows(case).values())
    rows = [
        {**kinds[i % len(kinds)], **({person: f"{CANARY}-{i}"} if person else {})}
        for i in range(len(case.rows) if public else 4 * len(case.rows) + 1)
    ]
    return Case(tuple(rows), case.schema)


@dataclass(frozen=True)
class Bad:
    """A table that does not fit, the column at fault, and how its private value may be quoted."""

    what: str
    table: pd.DataFrame
    column: str | None = None
    quoted: tuple[str, ...] = ()


def bad_tables(case: Case) -> Iterator[Bad]:
    """Tables that break the schema, each in one way, with values that no message may quote."""
    table, schema, last = case.table, case.schema, case.schema.names[-1]
    yield Bad("a column that nobody declared", table.assign(stranger=CANARY), "stranger", (CANARY,))
    yield Bad("no rows", table.iloc[:0])
    if len(schema) > 1:
        yield Bad("a column that is not there", table.drop(columns=last), last)
    for column in schema:
        for what, value, quoted in _bad_values(column):
            values = table[column.name].astype(object)
            values.iloc[0] = value
            yield Bad(what, table.assign(**{column.name: values}), column.name, quoted)
    if schema.person is not None:
        crowd = table.assign(**{schema.person: CANARY})
        yield Bad("a person with too many rows", crowd, schema.person, (CANARY,))


def _bad_values(column: Column) -> Iterator[tuple[str, Any, tuple[str, ...]]]:
    if not column.missing:
        yield "a value is missing where none may be", None, ()
    if column.is_listed:
        yield "a category that nobody declared", CANARY, (CANARY,)
        yield "a list in the place of a category", [CANARY], (CANARY,)
        return
    (value,) = _value(column, np.array([column.domain.number_range[1] + 7391.0]))
    quoted = {str(value).removesuffix(" 00:00:00")}
    if column.is_number:
        quoted |= {f"{value:g}", f"{value:.0f}"}
    yield "a value outside its bounds", value, tuple(quoted)
    yield "a text in the place of another value", CANARY, (CANARY,)
