"""Columns that are the same in all rows of a person, and how many rows she has.

Privacy: all here is a fixed public map of the rows of one person, whatever the others hold. So who
adds, removes or replaces all rows of one person changes what enters a model in these rows alone
(docs/private_vine.md, lemma 7).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from copula_shirley.rules.changes import Change, unique
from copula_shirley.rules.check import Check, Flags, Values
from copula_shirley.schema.column import Column
from copula_shirley.schema.domain import MISSING, FloatArray
from copula_shirley.schema.rules import Rule
from copula_shirley.schema.schema import Schema


@dataclass(frozen=True)
class Constant(Rule):
    """A column is the same in all rows of a person: ``per: person`` in its description."""

    column: str
    person: str
    key: ClassVar[str] = "constant"

    @property
    def names(self) -> tuple[str, ...]:
        return (self.column,)

    @property
    def words(self) -> str:
        return f"{self.column} is the same in all rows of a {self.person}"

    def entry(self) -> dict[str, Any]:
        return {"constant": self.column}


class ConstantCheck(Check):
    """The values of a person against her first one that is there, in the order of the table.

    ``values`` hold the number of each row's person under the name of the person column.
    """

    rule: Constant

    def first(self, values: Values) -> FloatArray:
        """For each row the first known value of its person; missing if she has none."""
        own, people = values[self.rule.column], values[self.rule.person].astype(np.intp)
        found = np.full(people.max(initial=-1) + 1, MISSING)
        known = np.flatnonzero(np.isfinite(own))[::-1]
        found[people[known]] = own[known]  # of several the last one stays, her first
        return found[people]

    def broken(self, values: Values) -> Flags:
        return np.asarray(values[self.rule.column] != self.first(values))

    def repaired(self, values: Values) -> dict[str, FloatArray]:
        return {self.rule.column: self.first(values)}


def constants_of(schema: Schema) -> list[ConstantCheck]:
    """A check for each column that is the same in all rows of a person."""
    person = str(schema.person)
    columns = [schema[name] for name in schema.constants]
    found = []
    for column in columns:
        known = {} if column.provenance == "private" else {"provenance": column.provenance}
        rule = Constant(column.name, person, source=column.source, **known)
        found.append(ConstantCheck(rule, schema))
    return found


def rows_each(schema: Schema, taken: Sequence[str]) -> Column | None:
    """A column of the model: how many rows the person of a row has; None if always one."""
    if not schema.per_person or schema.max_rows == 1:
        return None
    name = unique(f"rows of {schema.person}", taken)
    return Column(name, "integer", minimum=1, maximum=schema.max_rows)


def count_rows(people: FloatArray) -> FloatArray:
    """How many rows the person of each row has."""
    _, place, count = np.unique(people, return_inverse=True, return_counts=True)
    return np.asarray(count[place], dtype=float)


def check_derived(constants: list[ConstantCheck], changes: list[Change]) -> None:
    """Refuse a constant of a person that a rule derives from what varies between her rows."""
    own = {check.rule.column: check for check in constants}
    for change in changes:
        for name in () if change.made else change.derived:
            varying = [other for other in change.needs if other not in own]
            if name in own and varying:
                raise own[name].rule.error(
                    f"a rule derives {name!r} from {varying[0]!r}, which is not per: person; "
                    "declare both or none"
                )
