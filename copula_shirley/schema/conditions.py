"""Conditions on synthetic rows: ``given={"age": (30, 40), "job": ["law", "farm"]}``.

On the command line they are texts: ``age=30..40``, ``age>=30``, ``job=law,farm``.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from copula_shirley.errors import SettingError
from copula_shirley.files.texts import shown
from copula_shirley.schema.domain import FloatArray
from copula_shirley.schema.rules import STATES
from copula_shirley.schema.schema import Column, Schema

Part = tuple[float, float]
HOW = "name=value, name=low..high, name=a,b or a comparison such as name>=value"
#: Part of a step of a grid by which a number is beside another one, more than is rounding.
SLIGHTLY = 1e-3
OPERATORS = (">=", "<=", "=", ">", "<")


@dataclass(frozen=True)
class Condition:
    """The numbers that a column may have: those inside one of the parts, both ends included.

    Parts ascend and share no number. A missing value is the part from -inf to -inf.
    """

    parts: tuple[Part, ...]

    @classmethod
    def any_of(cls, parts: Iterable[Part], step: float = 0.0) -> Condition:
        """The union of parts; those without a number of the grid between them become one."""
        found: list[Part] = []
        for low, high in sorted(parts):
            if found and np.isfinite(found[-1][1]) and low <= found[-1][1] + step * (1 + 1e-6):
                found[-1] = found[-1][0], max(high, found[-1][1])
            elif not found or found[-1] != (low, high):
                found.append((low, high))
        return cls(tuple(found))

    def met(self, numbers: FloatArray) -> NDArray[np.bool_]:
        """Which numbers fulfil the condition."""
        within = np.zeros(len(numbers), dtype=bool)
        for low, high in self.parts:
            within |= (low <= numbers) & (numbers <= high)
        return within

    def both(self, other: Condition) -> Condition:
        """What fulfils both conditions; without parts if nothing does."""
        pairs = [(max(a, c), min(b, d)) for a, b in self.parts for c, d in other.parts]
        return Condition.any_of((low, high) for low, high in pairs if low <= high)


def conditions(given: Mapping[str, Any], schema: Schema) -> dict[str, Condition]:
    """Conditions as numbers of the declared domain.

    A pair ``(low, high)`` is an interval of an ordered column, both ends included, in which None is
    an open end. A list holds values or pairs of which one must be met. None is a missing value.

    Examples
    --------
    >>> schema = Schema((Column("age", "integer", minimum=0, maximum=9),))
    >>> conditions({"age": (3, 5)}, schema)["age"]
    Condition(parts=((3.0, 5.0),))
    >>> conditions({"age": [1, (4, None)]}, schema)["age"]
    Condition(parts=((1.0, 1.0), (4.0, 9.0)))
    """
    if not isinstance(given, Mapping):
        raise SettingError(f"given ({shown(given)}) must be a mapping from columns to values")
    return {name: _condition(_column(name, schema), value) for name, value in given.items()}


def given_from_texts(texts: Sequence[str], schema: Schema) -> dict[str, Any]:
    """Conditions from what was typed, checked against the schema.

    Several texts about one column must all be met.

    Examples
    --------
    >>> schema = Schema((Column("age", "integer", minimum=0, maximum=9),))
    >>> given_from_texts(["age=3..5"], schema)
    {'age': Condition(parts=((3.0, 5.0),))}
    >>> given_from_texts(["age>2", "age<=7"], schema)
    {'age': Condition(parts=((3.0, 7.0),))}
    """
    given: dict[str, Condition] = {}
    for text in texts:
        name, operator, value = _split(text, schema)
        column = _column(name, schema)
        found = _Reader(column, text if operator != "=" else value).condition(operator, value)
        if name in given:
            found = given[name].both(found)
            if not found.parts:
                rule = "contradicts another condition on this column: no value fulfils both"
                raise SettingError(f"given {name!r} ({text}) {rule}")
        given[name] = found
    return given


def _split(text: str, schema: Schema) -> tuple[str, str, str]:
    """Column, operator and value; a name may hold signs that are operators elsewhere."""
    if known := _known(text, schema):
        return known
    found = re.match(r"(.+?)\s*(>=|<=|=|>|<)", text, re.DOTALL)
    if found is None:
        raise SettingError(f"given ({shown(text)}) must be {HOW}")
    return found[1], found[2], text[found.end() :]


def _known(text: str, schema: Schema) -> tuple[str, str, str] | None:
    """A column of the schema with which a text begins, the operator behind it, and the value."""
    for name in sorted(schema.names, key=len, reverse=True):
        rest = text.removeprefix(name).lstrip()
        operator = next(filter(rest.startswith, OPERATORS), "")
        if text.startswith(name) and operator:
            return name, operator, rest.removeprefix(operator)
    return None


def given_from_card(said: str, schema: Schema) -> dict[str, Any]:
    """The conditions that a card names, as they were typed, with commas between them."""
    texts: list[str] = []
    for part in said.split(", ") if said else []:
        if texts and not _known(part, schema):
            texts[-1] += f", {part}"  # a category may hold a comma
        else:
            texts.append(part)
    return given_from_texts(texts, schema)


def _column(name: str, schema: Schema) -> Column:
    if name not in schema.names:
        known = ", ".join(schema.names)
        raise SettingError(f"given ({shown(name)}) must be a column of the schema: {known}")
    return schema[name]


def _condition(column: Column, value: Any) -> Condition:
    """What one entry of ``given`` asks for."""
    if isinstance(value, Condition):
        return value
    said = "..".join(map(str, value)) if isinstance(value, tuple) else repr(value)
    reader = _Reader(column, said)
    if isinstance(value, list | set | frozenset):
        if not value:
            raise reader.error("must list at least one value")
        return reader.union([reader.part(one) for one in value])
    return reader.union([reader.part(value)])


class _Reader:
    """Reads conditions on one column; errors quote what was said of it."""

    def __init__(self, column: Column, said: str) -> None:
        self.column, self.domain, self.said = column, column.domain, said

    def error(self, rule: str) -> SettingError:
        return SettingError(f"given {self.column.name!r} ({self.said}) {rule}")

    def union(self, parts: Iterable[Part]) -> Condition:
        # categories stay apart: rules are about single ones
        neighbours = self.domain.is_discrete and not self.domain.is_listed
        return Condition.any_of(parts, float(neighbours))

    # -- what was typed -------------------------------------------------------------

    def condition(self, operator: str, text: str) -> Condition:
        """The condition of an operator and what stands behind it."""
        if operator == "=":
            return self.union(self.typed(text))
        if not self.column.is_ordered:
            raise self.error(f"must be a category or a list of some: {operator} needs an order")
        first, last = self.span(self.domain.typed(text))
        low, high = self.domain.number_range
        strict = "=" not in operator
        if "<" in operator:
            return self.union([self.inside(low, self.beside(first, -np.inf) if strict else last)])
        return self.union([self.inside(self.beside(last, np.inf) if strict else first, high)])

    def typed(self, text: str) -> list[Part]:
        """The parts that a text names: a value, an interval, or several of them."""
        listed = self.column.is_listed and self.domain.typed(text) in self.domain.categories
        if text == "" and self.column.missing:
            return [self.part(None)]
        if listed:
            return [self.part(self.domain.typed(text))]
        if text == STATES[0] and self.column.missing:  # the word of rules
            return [self.part(None)]
        several = next(csv.reader([text], skipinitialspace=True), []) or [text]
        if len(several) > 1:
            return [part for one in several for part in self.typed(one)]
        text = several[0]
        low, dots, high = text.partition("..")
        if dots and self.column.is_ordered:
            ends = (None if end == "" else self.domain.typed(end) for end in (low, high))
            return [self.part(tuple(ends))]
        return [self.part(self.domain.typed(text))]

    # -- values ---------------------------------------------------------------------

    def part(self, value: Any) -> Part:
        """The numbers of a value, or of a pair of them."""
        if not isinstance(value, tuple):
            return self.inside(*self.span(value))
        if not self.column.is_ordered:
            raise self.error("must be one category, or a list of some: an interval needs an order")
        if len(value) != 2:
            raise self.error("must be a value, a pair (low, high) or a list")
        low, high = self.domain.number_range  # an end that is left open is the declared bound
        low = low if value[0] is None else self.span(value[0])[0]
        high = high if value[1] is None else self.span(value[1])[1]
        if low > high:
            raise self.error("must have its lower end first")
        return self.inside(low, high)

    def span(self, value: Any) -> Part:
        """The first and the last number that one value stands for."""
        try:
            return self.domain.span(value)
        except ValueError as error:
            raise self.error(str(error)) from None

    def beside(self, number: float, side: float) -> float:
        """A number between this one and the next point of the grid, or the next number."""
        step = np.copysign(self.domain.step_size, side) * SLIGHTLY
        return float(number + step if step else np.nextafter(number, side))

    def inside(self, low: float, high: float) -> Part:
        """The part from one number to another, on the grid of the column."""
        step = self.domain.step_size
        if step and np.isfinite(low):
            first, last = np.ceil(low / step - 1e-6), np.floor(high / step + 1e-6)
            if first > last:
                rule = f"holds no value of the resolution {self.column.resolution}"
                if self.domain.is_discrete:
                    rule = f"holds no value of the declared domain: {self.domain.words}"
                raise self.error(rule)
            low, high = self.domain.round(np.array([first * step, last * step])).tolist()
        elif low > high:
            raise self.error(f"holds no value of the declared domain: {self.domain.words}")
        return float(low), float(high)
