"""A first description of a table, read off its rows for a curator to review."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from copula_shirley.errors import SchemaError
from copula_shirley.files.texts import odd_character
from copula_shirley.schema import identifiers
from copula_shirley.schema.column import KINDS, Column, LeftOut
from copula_shirley.schema.values import absent, as_floats

if TYPE_CHECKING:
    from copula_shirley.schema.schema import Schema

#: What counts as nearly all, and how many values are few.
MOSTLY, FEW = 0.8, 20

DRAFT_NOTE = f"""\
# DRAFT, read from the data: whoever reads it learns something about the rows. Keep it to yourself.
# Review every entry of 'columns' against public documentation:
# - Bounds and categories that you know: widen them to what could occur, then write
#   'provenance: declared' and where you know them from, such as 'source: codebook 2019, p. 4'.
#   Values that are still those of the 'draft' digest are refused as declared without a source.
# - Bounds and categories that you do not know: 'provenance: private' with only the kind:
#   PrivateVine with --domain measured measures bounds and categories with noise.
# - What stays 'drafted' is a fact about the rows: nothing is proved of a release that rests on it.
# Categories that fewer than {identifiers.RARE} rows have are not listed, since they may be those of
# one person; while the column is drafted they count as its 'other' category.
# Columns under 'left_out' look like identifiers: no model learns from them. For each of them
# choose 'replace: drop' (the synthetic table lacks it) or 'replace: id' (numbers 1, 2, 3, ...), and
# write 'provenance: declared' where you agree with the reason, which is published; or
# take it out of the list and make it 'person: {{column: ..., max_rows: ...}}', if it says whose row
# it is; or describe it in 'columns' with categories that you know from documentation.
"""


def draft_column(name: str, series: pd.Series, whose: pd.Series | None = None) -> Column | LeftOut:
    """Describe one column by looking at it, or leave it out.

    With ``whose``, a number for the person of each row, people are counted instead of rows.
    """
    gaps = absent(series)
    missing, known = bool(gaps.any()), as_numbers(series[~gaps])
    values: Any = known
    if isinstance(known.dtype, pd.CategoricalDtype):
        values = known.dtype.categories
        if not all(isinstance(v, str | int | float | np.generic) for v in values):
            known = known.astype(values.dtype)
    if any(isinstance(v, str) and odd_character(v, spaces=True) for v in values):
        why = "a value holds a control character, which a schema cannot list"
        return LeftOut(name, why, provenance="drafted")
    shared: dict[str, Any] = {"name": name, "missing": missing, "provenance": "drafted"}
    if known.empty:  # nothing to see: one placeholder of the column's dtype beside "missing"
        kind = kind_of(known.dtype)
        least = KINDS[kind].least
        ends = {end: least["minimum"] for end in ("minimum", "maximum") if end in least}
        listed = ("unknown",) if "categories" in least else ()
        return Column(kind=kind, categories=listed, **ends, **shared)
    _check_storable(name, known)
    each = known
    if whose is not None:
        whose = whose[~gaps]
        once = pd.DataFrame({"value": known.to_numpy(dtype=object), "whose": whose.to_numpy()})
        each = known[~once.duplicated().to_numpy()]
    for may_identify, rows in ((False, known), (True, each)):
        reason = identifiers.why_left_out(name, each) if may_identify else None
        if reason is not None:
            break
        for kind, cls in reversed(KINDS.items()):
            fields = cls.draft(rows) if cls.may_identify == may_identify else None
            if fields is not None:
                return Column(kind=kind, **fields, **shared)
    return LeftOut(name, reason, provenance="drafted")


def as_numbers(known: pd.Series) -> pd.Series:
    """Objects that are all numbers, decimal ones and very large ones too, as such."""
    types = set(map(type, known)) if known.dtype == object else set()
    if not types or not types <= {int, float, Decimal}:
        return known
    numbers = as_floats(known)
    if not np.isfinite(numbers).all():
        rule = "holds infinite values or numbers beyond any double; none may occur"
        raise SchemaError(f"column {known.name!r}: {rule}")
    return pd.Series(numbers, known.index, name=known.name)


def kind_of(dtype: Any) -> str:
    """The kind of a column by its dtype alone, which can be a fact about single rows."""
    letter = getattr(dtype, "kind", "O")
    return next((kind for kind, cls in KINDS.items() if letter in cls.letters), "categorical")


def _check_storable(name: str, known: pd.Series) -> None:
    """Refuse lists and the like, which can be no category."""
    if pd.api.types.is_numeric_dtype(known.dtype):
        return
    storable = tuple(t for cls in KINDS.values() for t in cls.types)
    kinds = {type(v).__name__ for v in known if not isinstance(v, storable)}
    if kinds:
        raise SchemaError(
            f"column {name!r}: holds values of type {min(kinds)}; store texts, numbers or dates"
        )


def draft_notes(table: pd.DataFrame, schema: Schema) -> list[str]:
    """What a curator should look at first in a drafted schema; no value is quoted."""
    notes = [f"column {left.name!r} is left out: {left.reason}" for left in schema.left_out]
    people = [
        left.name
        for left in schema.left_out
        if identifiers.names_people(left.reason or "")
        and 2 * FEW < table[left.name].nunique() < MOSTLY * table[left.name].count()
    ]
    if people and schema.person is None:
        notes.append(
            f"column {people[0]!r} looks like the same person in several rows: consider "
            f"--person {people[0]}, so that people are protected with all their rows"
            + (f" (or {', '.join(people[1:])})" if people[1:] else "")
        )
    for column in schema:
        if not column.is_listed:
            continue
        if column.other is not None:
            notes.append(
                f"column {column.name!r}: values that fewer than {identifiers.RARE} rows have are "
                f"not listed; they count as {column.other!r}"
            )
        known = table[column.name].dropna()
        texts = known.map(lambda value: isinstance(value, str))
        numeric = pd.to_numeric(known[texts], errors="coerce").notna()
        if MOSTLY < numeric.mean() < 1:
            notes.append(
                f"column {column.name!r}: nearly all values are numbers; if a text stands for "
                "missing ones, name it with --missing"
            )
    return notes
