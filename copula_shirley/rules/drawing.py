"""Rows of a table with rules out of the rows of a model: what breaks a rule is drawn again."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from itertools import product
from typing import Any

import numpy as np

from copula_shirley.errors import SettingError
from copula_shirley.rules.check import Flags, Values
from copula_shirley.rules.coordinates import LEAST_KEPT, MOST_TRIED, Coordinates, listed
from copula_shirley.schema.conditions import conditions
from copula_shirley.schema.domain import MISSING, FloatArray

#: Rows that are drawn before the share of those that are kept is looked at; the least share that
#: fulfils conditions of ``given``; and rows that are drawn at a time where most are rejected.
ENOUGH, LEAST_GIVEN, MOST_AT_ONCE = 4_000, 2e-4, 200_000


def drawn(
    coordinates: Coordinates,
    draw: Callable[[int], Mapping[str, FloatArray]],
    n: int,
    given: Mapping[str, Any] | None = None,
) -> dict[str, FloatArray]:
    """Rows that keep all rules, and conditions of ``given``, out of those of a model.

    ``draw`` gives so many rows in the coordinates of the model. How many are rejected follows
    from the model, so it may be told.
    """
    parts: list[dict[str, FloatArray]] = []
    got = tried = ruled_out = 0
    lost = {str(check.rule): 0 for check in coordinates.checks}
    wanted = conditions(given or {}, coordinates.schema)
    while not parts or got < n:
        rate = max((got + 1) / (tried + 2), LEAST_GIVEN) if tried else 1.0
        size = min(math.ceil((n - got) / rate * (1.1 if tried else 1.0)), MOST_AT_ONCE)
        values, good = coordinates.left(draw(max(size, 100) if tried else size))
        tried, ruled_out = tried + len(good), ruled_out + int((~good).sum())
        if not good.all():
            _blame(coordinates, values, good, lost)
        for name, wish in wanted.items():
            good = good & wish.met(values[name])
        parts.append({name: column[good] for name, column in values.items()})
        got += int(good.sum())
        if tried >= ENOUGH:
            _check_kept(tried, ruled_out, got, n, lost)
    return {name: np.concatenate([part[name] for part in parts])[:n] for name in parts[0]}


def _blame(coordinates: Coordinates, values: Values, good: Flags, lost: dict[str, int]) -> None:
    """Count the rejected rows by rule; one without a broken rule is beyond some bounds."""
    bad = {name: np.where(np.isposinf(v), MISSING, v)[~good] for name, v in values.items()}
    for check in coordinates.checks:
        beyond = np.zeros(int((~good).sum()), dtype=bool)
        for name in {check.rule.names[0], *check.rule.names} if check in coordinates.kept else ():
            beyond |= np.isposinf(values[name])[~good]
            beyond |= np.isneginf(bad[name]) & (not coordinates.schema[name].missing)
        lost[str(check.rule)] += int((beyond | check.broken(bad)).sum())


def _check_kept(tried: int, ruled_out: int, got: int, n: int, lost: Mapping[str, int]) -> None:
    if tried - ruled_out < LEAST_KEPT * tried:
        worst = sorted((rule for rule in lost if lost[rule]), key=lambda rule: -lost[rule])
        raise SettingError(
            f"rules leave fewer than {LEAST_KEPT:.0%} of the rows that the model draws: "
            f"{listed(worst)}. See that they agree with each other and with the bounds and "
            "categories of their columns; a larger epsilon may help, too"
        )
    check_given_kept(tried, got, n)


def check_given_kept(tried: int, got: int, n: int) -> None:
    """Refuse to go on where next to no row fulfils the conditions."""
    if got < min(n, LEAST_GIVEN * tried):
        raise SettingError(
            f"given (all together): fewer than {LEAST_GIVEN:.2%} of the rows that the model draws "
            "fulfil these conditions; wider ones are needed"
        )


def check_given(coordinates: Coordinates, given: Mapping[str, Any]) -> None:
    """Refuse conditions under which no row can keep a rule, before any is drawn."""
    wanted = conditions(given, coordinates.schema)
    for check in coordinates.checks:
        own = [name for name in check.columns if name in wanted]
        parts = [wanted[name].parts for name in own]
        if math.prod(map(len, parts)) > MOST_TRIED:  # from the least to the largest value
            parts = [((one[0][0], one[-1][1]),) for one in parts]
        if not any(
            check.possible(coordinates.ranges | dict(zip(own, each, strict=True)))
            for each in product(*parts)
        ):
            rule = f"contradicts the rule {str(check.rule)!r}"
            raise SettingError(f"given ({', '.join(own)}) {rule}")
