"""Rows of people with several rows each, out of the rows of a model.

What the model draws is put together into people (``copula_shirley.rules.grouping``). The constants
of a person are those of one of her rows; in the others what follows from them is derived anew, and
every rule is checked. All of this is made of drawn rows, so it costs no privacy. Rows of a person
have nothing else in common: how one stay depends on her last one is not modelled.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from copula_shirley.rules.check import Flags
from copula_shirley.rules.coordinates import Coordinates
from copula_shirley.rules.drawing import ENOUGH, LEAST_GIVEN, MOST_AT_ONCE, check_given_kept, drawn
from copula_shirley.rules.grouping import grouped, weight_of
from copula_shirley.schema.conditions import conditions
from copula_shirley.schema.domain import FloatArray
from copula_shirley.schema.expressions import MOMENT

#: Rows, and people with the most rows, from which people are put together, at the least: of few
#: rows none would be near.
LEAST_ROWS, LEAST_PEOPLE = 10_000, 20
#: Of a constant on which nothing depends: its values are near where nothing else is at stake.
LEAST_WEIGHT = 1e-4
#: Rows of a person whose constants are tried for all of hers.
TRIES = 20
Columns = dict[str, FloatArray]


def drawn_people(
    coordinates: Coordinates,
    draw: Callable[[int], Mapping[str, FloatArray]],
    n: int,
    given: Mapping[str, Any],
    rng: np.random.Generator,
) -> Columns:
    """Rows of people, side by side, and under the name of the person column a number for each.

    The last person may lack rows. Conditions of ``given`` on what varies between rows of a person
    leave those of her rows that fulfil them.
    """
    schema = coordinates.schema
    fixed = {name: wish for name, wish in given.items() if name in schema.constants}
    varying = {name: wish for name, wish in given.items() if name not in fixed}
    wanted = conditions(varying, schema)
    parts: list[Columns] = []
    got = tried = people = 0
    while not parts or got < n:
        rate = max((got + 1) / (tried + 2), LEAST_GIVEN) if tried else 1.0
        size = max(math.ceil((n - got) / rate * 1.1), LEAST_ROWS, LEAST_PEOPLE * schema.max_rows)
        size = min(size, MOST_AT_ONCE)
        values, whose = _people(coordinates, drawn(coordinates, draw, size, fixed), rng)
        good = np.ones(len(whose), dtype=bool)
        for name, wish in wanted.items():
            good &= wish.met(values[name])
        tried, got = tried + len(good), got + int(good.sum())
        numbers = np.unique(whose[good], return_inverse=True)[1]
        found = {name: column[good] for name, column in values.items()}
        found[str(schema.person)] = (numbers + people).astype(float)
        parts.append(found)
        people += int(numbers.max(initial=-1)) + 1
        if tried >= ENOUGH:
            check_given_kept(tried, got, n)
    return {name: np.concatenate([part[name] for part in parts])[:n] for name in parts[0]}


def _people(
    coordinates: Coordinates, rows: Columns, rng: np.random.Generator
) -> tuple[Columns, NDArray[np.intp]]:
    """Rows of people in an order by chance, each one's by her first date, and whose they are."""
    schema, count = coordinates.schema, len(next(iter(rows.values())))
    sizes = np.ones(count) if coordinates.size is None else rows.pop(coordinates.size.name)
    near = [rows[name] for name in schema.constants]
    derived = [name for change in coordinates.changes if not change.made for name in change.derived]
    others = [(rows[c.name], c.nominal) for c in schema if not c.per and c.name not in derived]
    weights = [max(weight_of(column, others, rng), LEAST_WEIGHT) for column in near]
    order, starts = grouped(sizes, near, weights, rng)
    whose = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    rows = {name: column[order] for name, column in rows.items()}
    values, good = _with_constants(coordinates, rows, starts, whose, rng)
    rank = rng.permutation(len(starts) - 1)[whose]
    dates = [c.name for c in schema if not c.per and c.domain.quantity == MOMENT]
    place = np.lexsort([*(values[name] for name in dates[:1]), rank])
    place = place[good[place]]
    return {name: column[place] for name, column in values.items()}, rank[place]


def _with_constants(
    coordinates: Coordinates,
    rows: Columns,
    starts: NDArray[np.intp],
    whose: NDArray[np.intp],
    rng: np.random.Generator,
) -> tuple[Columns, Flags]:
    """All rows of a person with the constants of one of them, and which of them keep all rules.

    If some break a rule with these constants, those of her other rows are tried one by one. The
    row that constants are taken from always keeps the rules.
    """
    sizes = np.diff(starts)
    first = (rng.random(len(sizes)) * sizes).astype(np.intp)
    values = {name: column.copy() for name, column in rows.items()}
    good, ahead = np.ones(len(whose), dtype=bool), np.arange(len(whose))
    for i in range(TRIES):
        source = (starts[:-1] + (first + i) % sizes)[whose[ahead]]
        part = {name: column[ahead] for name, column in rows.items()}
        part |= {name: rows[name][source] for name in coordinates.schema.constants}
        part, good[ahead] = coordinates.again(part)
        for name, column in part.items():
            values[name][ahead] = column
        ahead = np.flatnonzero(np.isin(whose, whose[ahead[~good[ahead]]]))
        if len(ahead) == 0:
            break
    return values, good
