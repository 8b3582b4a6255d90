"""Conditions on synthetic rows: ``given={"sex": "Female", "age": (30, 40)}``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from copula_shirley.errors import SettingError
from copula_shirley.schema.schema import Column, Schema


@dataclass(frozen=True)
class Condition:
    """What a column must be: cells ``first`` to ``last`` of the declared domain.

    ``low`` and ``high`` are the numbers in them that are allowed, both ends included.
    """

    first: int
    last: int
    low: float = -np.inf
    high: float = np.inf


def conditions(given: Mapping[str, Any], schema: Schema) -> dict[str, Condition]:
    """Conditions as numbers and cells of the declared domain.

    A pair (low, high) is an interval of an ordered column, both ends included; None is a missing
    value, or an open end.

    Examples
    --------
    >>> schema = Schema((Column("age", "integer", minimum=0, maximum=9),))
    >>> conditions({"age": (3, 5)}, schema)["age"]
    Condition(first=3, last=5, low=3.0, high=5.0)
    """
    if not isinstance(given, Mapping):
        raise SettingError(f"given ({given!r}) must be a mapping from columns to values")
    return {name: _condition(_column(name, schema), value) for name, value in given.items()}


def given_from_texts(texts: Sequence[str], schema: Schema) -> dict[str, Any]:
    """Conditions from ``name=value`` and ``name=low..high``, checked against the schema.

    Examples
    --------
    >>> schema = Schema((Column("age", "integer", minimum=0, maximum=9),))
    >>> given_from_texts(["age=3..5"], schema)
    {'age': (3, 5)}
    """
    given: dict[str, Any] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals:
            raise SettingError(f"given ({text!r}) must be name=value or name=low..high")
        if name in given:
            raise SettingError(f"given ({name!r}) must be named once")
        given[name] = _from_text(_column(name, schema), value)
    conditions(given, schema)
    return given


def _column(name: str, schema: Schema) -> Column:
    if name not in schema.names:
        known = ", ".join(schema.names)
        raise SettingError(f"given ({name!r}) must be a column of the schema: {known}")
    return schema[name]


def _from_text(column: Column, text: str) -> Any:
    """A value of the column from what was typed; an empty text is a missing value."""
    if text == "" and column.missing:
        return None
    low, dots, high = text.partition("..")
    if dots and not column.is_listed:
        return tuple(None if end == "" else _from_text(column, end) for end in (low, high))
    return column.domain.typed(text)


def _condition(column: Column, value: Any) -> Condition:
    domain = column.domain
    if not isinstance(value, tuple | list):
        low = high = _number(column, value, value)
    elif not column.is_ordered:
        raise _error(column, value, "must be one category: an interval needs an order")
    elif len(value) != 2:
        raise _error(column, value, "must be a value or a pair (low, high)")
    else:  # an end that is left open is the declared bound
        bounds = zip(value, domain.number_range, strict=True)
        low, high = (b if end is None else _number(column, value, end) for end, b in bounds)
    if low > high:
        raise _error(column, value, "must have its lower end first")
    step = domain.step_size
    if step and np.isfinite(low):
        first, last = np.ceil(low / step - 1e-6), np.floor(high / step + 1e-6)
        if first > last:
            raise _error(column, value, f"holds no value of the resolution {column.resolution}")
        low, high = domain.round(np.array([first * step, last * step])).tolist()
    first, last = domain.cells().index(np.array([low, high]))
    return Condition(int(first), int(last), low, high)


def _number(column: Column, value: Any, end: Any) -> float:
    try:
        series = column.domain.read_end(end)
    except ValueError as error:
        raise _error(column, value, str(error)) from None
    if column.domain.outside(series)[0]:
        rule = f"must lie in the declared domain: {column.domain.words}"
        raise _error(column, value, rule)
    return float(column.domain.to_numbers(series)[0])


def _error(column: Column, value: Any, rule: str) -> SettingError:
    shown = "..".join(map(str, value)) if isinstance(value, tuple) else repr(value)
    return SettingError(f"given {column.name!r} ({shown}) {rule}")
