"""Pairs of neighbouring tables on which a privacy claim is tested.

Two tables are neighbours if one of them has one unit more (``add-remove``), or if one unit of the
first is another unit in the second (``replace-one``). A unit is a row, or a person with up to
``max_rows`` rows where the schema names a person column. The order of rows does not count.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from copula_shirley.errors import SettingError
from copula_shirley.privacy.ledger import NEIGHBOURS
from copula_shirley.schema.schema import Schema


@dataclass(frozen=True)
class Pair:
    """Two neighbouring tables and their public domain; refused if they are not neighbours.

    ``relation`` is "add-remove" or "replace-one". ``unit`` is "row" or "person": whose rows may
    differ; "row" counts single rows although the schema names people.
    """

    name: str
    first: pd.DataFrame
    second: pd.DataFrame
    schema: Schema
    relation: str
    unit: str = "row"

    def __post_init__(self) -> None:
        check_neighbours(self.first, self.second, self.schema, self.relation, self.unit)

    @property
    def tables(self) -> tuple[pd.DataFrame, pd.DataFrame]:
        """Both tables, the one with the telling record first."""
        return self.first, self.second

    @cached_property
    def differing(self) -> pd.DataFrame:
        keys = [_keys(table, self.schema) for table in self.tables]
        rows = []
        for table, own, other in zip(self.tables, keys, reversed(keys), strict=True):
            left = Counter(other)
            for i, key in enumerate(own):
                left[key] -= 1
                if left[key] < 0:
                    rows.append(table.iloc[[i]])
        return pd.concat(rows, ignore_index=True)


@dataclass(frozen=True)
class Canaries(Pair):
    """Tables of common rows and of canaries: all in ``first``, all out (or other) in ``second``.

    The first ``common`` rows are in both tables; each of ``count`` canaries has as many rows, one
    canary after the other. Any two tables that differ in one coin are neighbours; these two differ
    in all.
    """

    common: int = 0
    count: int = 0

    def __post_init__(self) -> None:
        """Nothing to check: see above."""

    @property
    def rows_each(self) -> int:
        return (len(self.first) - self.common) // self.count

    def drawn(self, inside: NDArray[np.bool_]) -> pd.DataFrame:
        rows = np.repeat(inside, self.rows_each)
        parts = [self.first.iloc[: self.common], self.first.iloc[self.common :][rows]]
        if self.relation == "replace-one":
            parts.append(self.second.iloc[self.common :][~rows])
        return pd.concat(parts, ignore_index=True)


@dataclass(frozen=True)
class Questions(Pair):
    """Two tables that make a generator ask."""

    def __post_init__(self) -> None:
        """There is nothing to tell apart."""


def check_neighbours(
    first: pd.DataFrame, second: pd.DataFrame, schema: Schema, relation: str, unit: str = "row"
) -> None:
    """Refuse two tables that are not neighbours under a relation."""
    if relation not in NEIGHBOURS:
        raise SettingError(f"neighbours ({relation!r}) must be one of {', '.join(NEIGHBOURS)}")
    if unit not in ("row", "person"):
        raise SettingError(f"unit ({unit!r}) must be row or person")
    if unit == "person" and schema.person is None:
        raise SettingError("unit ('person') needs a schema that names a person column")
    for table in (first, second):
        schema.validate(table)
    if list(first.columns) != list(second.columns):
        raise SettingError("the two tables must have the same columns in the same order")
    one, other = (_units(table, schema, unit) for table in (first, second))
    more, fewer = (one - other).total(), (other - one).total()
    adding = relation == "add-remove"
    if {more, fewer} != ({0, 1} if adding else {1}):
        meaning = f"one of them with one {unit} more" if adding else f"all but one {unit} alike"
        raise SettingError(
            f"the two tables must be neighbours by {relation}: {meaning}. "
            f"{_counted(more, unit)} only in the first, {_counted(fewer, unit)} only in the second"
        )


def _counted(number: int, unit: str) -> str:
    return f"{number} {unit} is" if number == 1 else f"{number} {unit}s are"


def _keys(table: pd.DataFrame, schema: Schema) -> list[tuple[Any, ...]]:
    """Each row as plain numbers of the domain; missing values are equal to each other."""
    columns: list[list[Any]] = []
    for column in schema:
        numbers = column.domain.to_numbers(table[column.name])
        columns.append([None if np.isnan(value) else float(value) for value in numbers])
    if schema.person is not None:
        columns.append([str(who) for who in table[schema.person]])
    return list(zip(*columns, strict=True))


def _units(table: pd.DataFrame, schema: Schema, unit: str) -> Counter[Any]:
    keys = _keys(table, schema)
    if unit == "row":
        return Counter(keys)
    people: dict[Any, list[Any]] = {}
    for key in keys:
        people.setdefault(key[-1], []).append(key)
    return Counter(tuple(sorted(rows, key=str)) for rows in people.values())
