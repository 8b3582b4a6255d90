"""All that is wrong with a table, by column and rule, for the curator who may see its rows.

Counts and line numbers are facts about the rows: they are for mending the table and never part of a
release. A fit refuses with less (``Schema.validate``, ``Coordinates.enforced``).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from copula_shirley.errors import SchemaError
from copula_shirley.files.texts import shown
from copula_shirley.rules.checks import checks_of
from copula_shirley.rules.constants import constants_of
from copula_shirley.schema.domain import MISSING, FloatArray
from copula_shirley.schema.people import names_of
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


@dataclass
class Earlier:
    """People in the files that were looked at before: a person's rows may be in several."""

    rows: dict[str, int] = field(default_factory=dict)
    #: By column that is the same in all rows of a person: the first value that she has there.
    firsts: dict[str, dict[str, float]] = field(default_factory=dict)


def findings(
    table: pd.DataFrame,
    schema: Schema,
    lines: Sequence[int] | None = None,
    earlier: Earlier | None = None,
) -> list[Finding]:
    """Everything in a table that its schema forbids.

    ``lines`` are the lines of a file on which the rows begin. For the files of one table, one
    after the other, ``earlier`` is the same object.
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
    found += _people(table, schema, told, (numbers, bad), earlier or Earlier())
    for check in checks_of(schema):
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
    table: pd.DataFrame,
    schema: Schema,
    told: Any,
    columns: tuple[Mapping[str, FloatArray], Mapping[str, Flags]],
    earlier: Earlier,
) -> Iterator[Finding]:
    """Rows beyond those that a person may have, and values that differ from her first one.

    ``columns`` has the numbers of columns, and which of them cannot be read.
    """
    if schema.person is None or schema.person not in table:
        return
    where = f"person column {schema.person!r}"
    try:
        people, names = pd.factorize(np.array(names_of(table, schema.person), dtype=object))
    except SchemaError as error:
        yield Finding(where, str(error).partition(": ")[2])
        return
    before = np.array([earlier.rows.get(name, 0) for name in names], dtype=int)
    ranks = before[people] + pd.Series(people).groupby(people).cumcount().to_numpy()
    earlier.rows.update(zip(names, (before + np.bincount(people)).tolist(), strict=True))
    if (ranks >= schema.max_rows).any():
        problem = f"a person has more rows than max_rows ({schema.max_rows})"
        yield told(where, problem, ranks >= schema.max_rows)
    numbers, bad = columns
    for check in constants_of(schema):
        column = check.rule.column
        if column not in numbers:
            continue
        known = earlier.firsts.setdefault(column, {})
        # her first value so far stands before the rows, as if it were one more
        first = [known.get(name, MISSING) for name in names]
        values = {
            column: np.concatenate([first, numbers[column]]),
            schema.person: np.concatenate([np.arange(len(names)), people]),
        }
        known.update(zip(names, check.first(values)[: len(names)].tolist(), strict=True))
        wrong = check.judged(values)[len(names) :] & ~bad[column]
        if wrong.any():
            yield told("rule", str(check.rule), wrong)


def _values(series: pd.Series) -> tuple[str, ...]:
    return tuple(shown(scalar(value)) for value in series.head(1000).unique()[:FEW_VALUES])
