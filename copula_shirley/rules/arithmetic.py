"""Sums, products, quotients and differences of dates that hold in all rows of a table."""

from __future__ import annotations

import keyword
from collections.abc import Iterator, Sequence
from itertools import combinations, permutations

import numpy as np

from copula_shirley.rules.check import ROUNDING, Flags
from copula_shirley.rules.seen import ENOUGH, Places, Seen, Suggestion
from copula_shirley.schema.domain import FloatArray
from copula_shirley.schema.expressions import DAY, FUNCTIONS, MOMENT, NUMBER
from copula_shirley.schema.rules import Computed

#: Signs and numbers of parts, in the order in which they are tried; "-" is between dates, and a sum
#: of one part is a copy of a column before it.
WAYS = (("+", 1), ("-", 2), ("+", 2), ("*", 2), ("+", 3), ("+", 4), ("/", 2))
#: Rows that show most candidates false; columns that are tried, the first ones.
GLANCE, MOST_COLUMNS = 64, 24
#: A column of fewer values is no amount.
LEAST_VALUES = 3
#: Share of rows that may still fit when a part of the expression is taken from other rows.
BY_CHANCE = 0.5


def computed_columns(seen: Seen) -> Iterator[Suggestion]:
    """Columns that are computed from others, each by the shortest expression."""
    parts_of: dict[str, set[str]] = {}
    for column, parts, sign in _candidates(seen):
        ahead = {name for part in parts for name in (part, *parts_of.get(part, ()))}
        if column in parts_of or column in ahead:
            continue
        good = _holds(seen, column, parts, sign, slice(None))
        bound = ~seen.missing(column)
        if not good.all() or bound.sum() < ENOUGH or not _telling(seen, column, parts, sign):
            continue
        parts_of[column] = ahead
        rule = Computed(column, f" {sign} ".join(map(_quoted, parts)), provenance="drafted")
        yield Suggestion((rule,), f"holds in all {bound.sum():,} rows that have the values")


def _candidates(seen: Seen) -> Iterator[tuple[str, tuple[str, ...], str]]:
    """What a few rows do not contradict: a column, its parts, and the sign between them."""
    numbers = [n for n in seen.of_quantity(NUMBER) if _varies(seen, n)]
    numbers, moments = numbers[:MOST_COLUMNS], seen.of_quantity(MOMENT)[:MOST_COLUMNS]
    glance = seen.few[:: max(len(seen.few) // GLANCE, 1)]
    for sign, size in WAYS:
        for column in numbers:
            others = moments if sign == "-" else [name for name in numbers if name != column]
            if size == 1:
                others = numbers[: numbers.index(column)]
            several = list((combinations if sign in "+*" else permutations)(others, size))
            for parts in _unrefuted(seen, column, several, sign, glance):
                if _holds(seen, column, parts, sign, seen.few).all():
                    yield column, parts, sign


def _unrefuted(
    seen: Seen, column: str, several: Sequence[tuple[str, ...]], sign: str, rows: Places
) -> list[tuple[str, ...]]:
    """The candidates that fit a glance of rows, all at once."""
    if not several:
        return []
    names = list(dict.fromkeys(name for parts in several for name in parts))
    values = np.stack([seen.amounts(name)[rows] for name in names])
    place = {name: i for i, name in enumerate(names)}
    chosen = np.array([[place[name] for name in parts] for parts in several])
    made = _made([values[chosen[:, i]] for i in range(chosen.shape[1])], sign)
    good = np.all(_near(seen, column, made, seen.amounts(column)[rows]), axis=1).tolist()
    return [parts for parts, fits in zip(several, good, strict=True) if fits]


def _made(parts: Sequence[FloatArray], sign: str) -> FloatArray:
    with np.errstate(all="ignore"):
        match sign:
            case "+":
                found = np.sum(parts, axis=0)
            case "*":
                found = parts[0] * parts[1]
            case "/":
                found = parts[0] / parts[1]
            case _:  # of moments, in days
                found = (parts[0] - parts[1]) / DAY
    return np.where(np.isfinite(found), found, np.nan)


def _near(seen: Seen, column: str, made: FloatArray, own: FloatArray) -> Flags:
    """Whether results are the column's values, to its resolution, and missing where these are."""
    step = seen.columns[column].domain.step_size
    allowed = 0.5 * step + ROUNDING * np.maximum(np.abs(own), step or 1.0)
    with np.errstate(invalid="ignore"):
        near = np.abs(own - made) <= allowed
    return np.asarray(near | (np.isnan(own) & np.isnan(made)))


def _holds(seen: Seen, column: str, parts: Sequence[str], sign: str, rows: Places | slice) -> Flags:
    values = [seen.amounts(part)[rows] for part in parts]
    return _near(seen, column, _made(values, sign), seen.amounts(column)[rows])


def _telling(seen: Seen, column: str, parts: Sequence[str], sign: str) -> bool:
    """Whether every part matters: taken from other rows it seldom gives the same result."""
    own = seen.amounts(column)[seen.few]
    for part in parts:
        rows = [seen.others if name == part else seen.few for name in parts]
        values = [seen.amounts(n)[where] for n, where in zip(parts, rows, strict=True)]
        good = _near(seen, column, _made(values, sign), own)
        if good[~np.isnan(own)].mean() > BY_CHANCE:
            return False
    return True


def _varies(seen: Seen, name: str) -> bool:
    own = seen.amounts(name)[seen.few]
    return len(np.unique(own[~np.isnan(own)])) >= LEAST_VALUES


def _quoted(name: str) -> str:
    plain = name.isidentifier() and not keyword.iskeyword(name) and name not in FUNCTIONS
    return name if plain else f"`{name}`"
