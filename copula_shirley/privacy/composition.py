"""What spends cost together.

Spends on the same rows add up (sequential composition, theorem 2.2). Spends on disjoint parts of
the rows cost their maximum (parallel composition, theorem 2.3): one unit lies in one part. If the
*value* of a record decides its part, the k rows of a unit can lie in k parts, and replacing it can
touch k more: so many of the dearest parts are added.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated

import msgspec

from copula_shirley.errors import SettingError
from copula_shirley.privacy.budget import Total

ALL_ROWS = "all rows"
#: A part of a cost; whether sums are finite is checked where they are made.
Cost = Annotated[float, msgspec.Meta(ge=0)]
#: Parts of a split, and splits, of a ledger in a file; those of our methods have three and one.
Few = msgspec.Meta(max_length=100)


@dataclass(frozen=True)
class Spend:
    """One noisy answer that was paid for."""

    stage: str
    what: str
    mechanism: str
    epsilon: Cost
    delta: Cost
    rows: str
    rho: Cost = 0.0


@dataclass(frozen=True)
class Partition:
    """A split of a set of rows into disjoint parts."""

    whole: str
    parts: Annotated[tuple[str, ...], Few]
    by_value: bool


def names_of_rows(splits: Iterable[Partition]) -> set[str]:
    """All rows and the parts of splits, each of which has new names for parts of known rows."""
    known = {ALL_ROWS}
    for split in splits:
        check_rows(split.whole, known)
        if len(set(split.parts)) < len(split.parts) or known & set(split.parts):
            raise SettingError(
                f"parts ({', '.join(split.parts)}) must have new and different names"
            )
        known.update(split.parts)
    return known


def check_rows(rows: str, known: set[str]) -> None:
    if rows not in known:
        raise SettingError(f"rows ({rows!r}) must be one of {', '.join(sorted(known))}")


def total_cost(
    spends: Iterable[Spend], splits: Iterable[Partition], neighbours: str, rows_per_unit: int
) -> Total:
    """The cost of all spends for one unit, of so many rows."""
    own: dict[str, list[Spend | Total]] = defaultdict(list)
    inside: dict[str, list[Partition]] = defaultdict(list)
    for spend in spends:
        own[spend.rows].append(spend)
    for split in splits:
        inside[split.whole].append(split)
    # each row of the unit, before and after, may be in another part
    most = 2 * rows_per_unit if neighbours == "replace-one" else rows_per_unit

    def total(rows: str) -> Total:
        parts = [
            (list(map(total, split.parts)), most if split.by_value else 1) for split in inside[rows]
        ]

        def add_up(name: str) -> float:
            costs = [getattr(cost, name) for cost in own[rows]]
            for some, many in parts:
                costs += sorted((getattr(part, name) for part in some), reverse=True)[:many]
            return math.fsum(costs)

        return Total(add_up("epsilon"), add_up("delta"), add_up("rho"))

    return total(ALL_ROWS)
