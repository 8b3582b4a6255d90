"""Whether rows keep a rule, as public functions of single rows.

Rows are numbers by column, as ``copula_shirley.schema.domain`` has them: a missing value is
``-inf``. Each rule of a schema has one check, which real and synthetic rows share.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from copula_shirley.schema.column import Column
from copula_shirley.schema.domain import FloatArray
from copula_shirley.schema.expressions import NUMBER
from copula_shirley.schema.schema import Schema

Flags = NDArray[np.bool_]
Values = Mapping[str, FloatArray]
#: The least and the largest number that a column may have.
Ranges = Mapping[str, tuple[float, float]]
#: Parts of a number that are rounding.
ROUNDING = 1e-9


class Check(ABC):
    """A rule and the columns that it is about."""

    def __init__(self, rule: Any, schema: Schema) -> None:
        self.rule: Any = rule
        self.columns = {name: schema[name] for name in rule.names}
        for column in self.columns.values():
            if column.open:
                raise rule.error(
                    f"the domain of column {column.name!r} must be declared, since a rule is about "
                    "it (provenance: private is for columns of no rule)"
                )

    @abstractmethod
    def broken(self, values: Values) -> Flags:
        """Which rows break the rule."""

    def judged(self, values: Values) -> Flags:
        """Which rows of a whole table break the rule, for who judges the table."""
        return self.broken(values)

    def repaired(self, values: Values) -> dict[str, FloatArray]:
        """Columns that a fixed rule changes in rows that break this one, and only in these."""
        return {}

    def possible(self, ranges: Ranges) -> bool:
        """Whether a row in these ranges may keep the rule; True where nobody knows."""
        if not all(name in ranges and len(set(ranges[name])) == 1 for name in self.columns):
            return True
        return not self.broken({n: np.array([ranges[n][0]]) for n in self.columns})[0]

    def amounts(self, name: str, values: Values) -> FloatArray:
        return self.columns[name].domain.amounts(values[name])

    def quantity_of(self, name: str) -> str:
        found = self.columns[name].domain.quantity
        if not found:
            raise self.rule.error(f"column {name!r} must hold numbers, dates or durations")
        return found


def step_of(column: Column) -> float:
    """Distance of neighbouring values in amounts; 0 where every number is one."""
    ends = column.domain.amounts(np.array([0.0, 1.0]))
    return column.domain.step_size * float(ends[1] - ends[0])


def grid_step(columns: Sequence[Column]) -> float:
    """The step, in amounts, on whose grid all differences of the columns lie; 0 without one."""
    steps = [step_of(column) for column in columns]
    if columns[0].domain.quantity == NUMBER:
        return steps[0] if len(set(steps)) == 1 else 0.0
    starts = [float(column.domain.amounts(np.zeros(1))[0]) for column in columns]
    return float(math.gcd(*(int(x) for x in steps), *(int(s - starts[0]) for s in starts)))


def numbers_of(table: pd.DataFrame, columns: Mapping[str, Column]) -> dict[str, FloatArray]:
    """The numbers of some columns of a validated table."""
    return {name: column.domain.to_numbers(table[name]) for name, column in columns.items()}
