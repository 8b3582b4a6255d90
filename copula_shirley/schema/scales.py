"""Columns of numbers whose equal histogram cells would tell little, by their declared bounds."""

from __future__ import annotations

from collections.abc import Iterable

from copula_shirley.schema.column import Column
from copula_shirley.schema.values import is_number

#: Largest magnitude in smallest ones from which a range is called wide: four decades.
WIDE = 10_000


def is_wide(column: Column) -> bool:
    """Whether a declared range spans decades and nobody said how it is counted.

    Examples
    --------
    >>> [is_wide(Column("x", "integer", minimum=0, maximum=m)) for m in (120, 500_000)]
    [False, True]
    >>> is_wide(Column("x", "integer", minimum=0, maximum=500_000, scale="linear"))
    False
    """
    said = column.open or column.scale is not None or column.cells is not None
    if said or not column.domain.has_magnitudes:
        return False
    low, high = column.domain.number_range
    least = low if low > 0 else -high if high < 0 else 0.0
    return max(-low, high) >= WIDE * max(least, column.domain.step_size, 1.0)


def notes_on_scales(columns: Iterable[Column]) -> list[str]:
    """What to write where equal cells would hold most values in few of them, in one sentence."""
    wide = [column for column in columns if is_wide(column)]
    if not wide:
        return []
    first = wide[0].domain
    low, high = (wide[0].minimum, wide[0].maximum)
    end = low + (high - low) / first.equal_cells()
    to = f"{end:,.0f}" if is_number(end) else str(end)
    names = ", ".join(repr(column.name) for column in wide)
    return [
        f"this model counts {names} in equal cells, and {low} to {to} is one of {wide[0].name!r}. "
        "Where most values are small, as sums of money are, write scale: log into the schema, so "
        "that cells begin at powers of two; scale: linear keeps equal cells"
    ]
