"""All that is wrong with a table, by column and rule, for the curator who may see its rows.

Counts and line numbers are facts about the rows: they are for mending the table and never part of a
release. A fit refuses with less (``Schema.validate``, ``Coordinates.enforced``).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from copula_shirley.errors import SchemaError
from copula_shirley.files.texts import shown
from copula_shirley.rules.checks import checks_of
from copula_shirley.rules.constants import constants_of
from copula_shirley.schema.domain import FloatArray
from copula_shirley.schema.schema import Schema, admitted
from copula_shirley.schema.values import scalar

Flags = NDArray[np.bool_]
NOTICE = "About the rows, not for release: counts and lines are facts about the table."
#: Rows and values that are shown of a finding.
SHOWN, FEW_VALUES = 10, 5


@dataclass(frozen=True)
class Finding:
    """One thing that is wrong, and with how many rows; 0 where it is no matter of rows."""

    where: str
    problem: str
    rows: int = 0
    #: Lines of a text file, or else numbers of rows from 1: the first few.
    lines: tuple[int, ...] = ()
    values: tuple[str, ...] = ()

    @property
    def quiet(self) -> Finding:
        """The same without values."""
        return replace(self, values=())

    @property
    def at(self) -> str:
        """The lines in words."""
        more = ", ..." if self.rows > len(self.lines) else ""
        return ", ".join(map(str, self.lines)) + more if self.lines else ""


def findings(
    table: pd.DataFrame, schema: Schema, lines: Sequence[int] | None = None
) -> list[Finding]:
    """Everything in a table that its schema forbids.

    ``lines`` are the lines of a file on which the rows begin.
    """
    table = admitted(table)
    places = np.arange(1, len(table) + 1) if lines is None else np.asarray(lines)
    found = list(_columns(table, schema))

    def told(where: str, problem: str, wrong: Flags, values: tuple[str, ...] = ()) -> Finding:
        first = tuple(int(place) for place in places[wrong][:SHOWN])
        return Finding(where, problem, int(wrong.sum()), first, values)

    numbers: dict[str, FloatArray] = {}
    bad: dict[str, Flags] = {}
    for column in schema:
        if column.name not in table or column.open:
            continue
        where, series = f"column {column.name!r}", table[column.name]
        try:
            if column.provenance == "drafted" and column.other:
                series = column.domain.clip(series)
            for wrong, problem in column.domain.rules(series):
                if wrong.any():
                    found.append(told(where, problem, wrong, _values(series[wrong])))
            bad[column.name] = column.domain.outside(series)
            numbers[column.name] = column.domain.to_numbers(series)
        except SchemaError as error:
            found.append(Finding(where, str(error)))
        except Exception as error:  # of pandas or Arrow
            found.append(Finding(where, f"its values cannot be read ({type(error).__name__})"))
    found += _people(table, schema, told, numbers)
    constants = constants_of(schema) if schema.person in numbers else []
    for check in (*checks_of(schema), *constants):
        if set(check.columns) <= set(bad):
            unreadable = np.any([bad[name] for name in check.columns], axis=0)
            wrong = check.judged(numbers) & ~unreadable
            if wrong.any():
                found.append(told("rule", str(check.rule), wrong))
    return found


def _columns(table: pd.DataFrame, schema: Schema) -> Iterator[Finding]:
    """Columns that one of the two lacks."""
    wanted = [*schema.names, *([schema.person] if schema.person else [])]
    known = {*wanted, *(left.name for left in schema.left_out)}
    for name in wanted:
        if name not in table:
            yield Finding(f"column {name!r}", "is in the schema but not in the table")
    for name in map(str, table.columns):
        if name not in known:
            yield Finding(f"column {name!r}", "is in the table but not in the schema")
    if len(table) == 0:
        yield Finding("table", "has no rows; at least one is needed")


def _people(
    table: pd.DataFrame, schema: Schema, told: Any, numbers: dict[str, FloatArray]
) -> Iterator[Finding]:
    """Rows beyond those that a person may have; whose each row is goes to the numbers."""
    if schema.person is None or schema.person not in table:
        return
    where = f"person column {schema.person!r}"
    try:
        people = pd.Series(schema.people(table))
        numbers[schema.person] = people.to_numpy(dtype=float)
    except SchemaError as error:
        yield Finding(where, str(error).partition(": ")[2])
        return
    ranks = people.groupby(people).cumcount().to_numpy()
    if (ranks >= schema.max_rows).any():
        problem = f"a person has more rows than max_rows ({schema.max_rows})"
        yield told(where, problem, ranks >= schema.max_rows)


def _values(series: pd.Series) -> tuple[str, ...]:
    return tuple(shown(scalar(value)) for value in series.head(1000).unique()[:FEW_VALUES])
