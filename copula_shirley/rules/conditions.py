"""Conditions on the value of one column, as rules name them: ``50..120``, ``[a, b]``, missing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from copula_shirley.files.texts import shown
from copula_shirley.schema.column import Column
from copula_shirley.schema.domain import MISSING, FloatArray
from copula_shirley.schema.expressions import LENGTH, MOMENT
from copula_shirley.schema.rules import STATES, Rule

TIMES = (MOMENT, LENGTH)
Flags = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Test:
    """Values, or an interval with both ends, or a state."""

    __test__ = False  # no test of pytest

    #: Ascending numbers; of an interval its two ends.
    numbers: FloatArray
    interval: bool = False
    state: str = ""

    @classmethod
    def of(cls, column: Column, said: Any, rule: Rule) -> Test:
        """What is said of a column, or one ``SchemaError`` with the words of the rule."""
        listed = set(column.domain.categories)
        if isinstance(said, str) and said in STATES and said not in listed:
            return cls(np.empty(0), state=said)
        if isinstance(said, str) and ".." in said and not column.is_listed:
            low, _, high = said.partition("..")
            ends = column.domain.number_range
            given = [
                end if text.strip() == "" else number_in(column, text.strip(), rule, bounded=False)
                for text, end in zip((low, high), ends, strict=True)
            ]
            if given[0] > given[1]:
                raise rule.error(f"{column.name} ({said!r}) must have its lower end first")
            if given[0] > ends[1] or given[1] < ends[0]:
                raise rule.error(f"{column.name} ({said!r}) holds nothing of {column.domain.words}")
            return cls(np.array(given), interval=True)
        values = said if isinstance(said, tuple) else (said,)
        if not values:
            raise rule.error(f"{column.name} ([]) must name a value")
        return cls(np.unique([number_in(column, value, rule) for value in values]))

    def met(self, numbers: FloatArray) -> Flags:
        """Which numbers meet the condition; a missing value meets none but ``missing``."""
        if self.state:
            return np.asarray(np.isneginf(numbers) == (self.state == "missing"))
        if self.interval:
            return np.asarray((self.numbers[0] <= numbers) & (numbers <= self.numbers[1]))
        return np.isin(numbers, self.numbers)

    def unmet(self, numbers: FloatArray) -> Flags:
        """Which numbers fail it; a missing value fails none but ``present``."""
        fails = ~self.met(numbers)
        return fails if self.state else fails & ~np.isneginf(numbers)

    def nearest(self, numbers: FloatArray) -> FloatArray:
        """Numbers that meet the condition: the state, the nearest end, or the first value."""
        if self.state:
            return np.full_like(numbers, MISSING) if self.state == "missing" else numbers
        if self.interval:
            return np.clip(numbers, *self.numbers)
        return np.full_like(numbers, self.numbers[0])

    def covers(self, low: float, high: float) -> bool:
        """Whether all numbers of a range are known to meet it."""
        if self.interval or self.state:
            return bool(self.met(np.array([low, high])).all())
        return low == high and bool(self.met(np.array([low]))[0])

    def excludes(self, low: float, high: float) -> bool:
        """Whether no number of a range can meet it."""
        if np.isneginf(low) or self.state:
            return bool(self.unmet(np.array([low, high])).all())
        if self.interval:
            return bool(high < self.numbers[0] or low > self.numbers[1])
        return not bool(((low <= self.numbers) & (self.numbers <= high)).any())


def number_in(column: Column, value: Any, rule: Rule, *, bounded: bool = True) -> float:
    """The number of a value that a rule names; it must lie in the column's domain."""
    return float(numbers_in(column, [value], rule, bounded=bounded)[0])


def numbers_in(
    column: Column, values: Sequence[Any], rule: Rule, *, bounded: bool = True
) -> FloatArray:
    """The numbers of values that a rule names, each once; None is a missing value."""
    domain, ends = column.domain, []
    for value in values:
        if isinstance(value, list | dict | tuple):
            raise rule.error(f"{column.name} ({shown(value)}) must be a single value")
        if value is None and not column.missing:
            raise rule.error(f"column {column.name!r} cannot be missing: declare missing: true")
        typed = domain.typed(value) if isinstance(value, str) else value
        try:  # texts of moments and durations
            ends.append(domain.read_end(typed).iloc[0] if domain.quantity in TIMES else typed)
        except ValueError as error:
            raise rule.error(f"{column.name} ({shown(value)}) {error}") from None
    series = pd.Series(ends, dtype=object)
    found = domain.to_numbers(series)
    known = series.notna().to_numpy()
    wrong = known & (domain.outside(series) if bounded else ~np.isfinite(found))
    if wrong.any():
        value = shown(values[int(np.argmax(wrong))])
        how = "; a range is written low..high" if column.is_ordered and not column.is_listed else ""
        raise rule.error(f"{column.name} ({value}) must be in its domain: {domain.words}{how}")
    return found
