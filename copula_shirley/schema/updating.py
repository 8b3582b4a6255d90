"""A new draft of a table whose schema was reviewed in part: what was reviewed is kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from copula_shirley.schema.schema import Schema


def updated(old: Schema, new: Schema, names: Sequence[str]) -> tuple[Schema, list[str]]:
    """The old schema with drafted entries as a new draft of the table has them, and notes.

    ``names`` are the columns of the table, in order. Kept is what is not ``drafted``: columns, what
    is left out, the person and the file; and whatever a draft does not describe.
    """
    columns = {c.name: c for c in old if c.provenance != "drafted"}
    left = {c.name: c for c in old.left_out if c.provenance != "drafted"}
    notes = [
        f"column {name!r} is kept from the schema, and is not in the table"
        for name in (*columns, *left)
        if name not in names
    ]
    known = {*columns, *left}
    columns |= {c.name: c for c in new if c.name not in known}
    left |= {c.name: c for c in new.left_out if c.name not in known}
    place = {name: i for i, name in enumerate(names)}
    person: dict[str, Any] = {}
    if new.person != old.person or old.person_provenance == "drafted":
        about = ("person", "max_rows", "person_provenance", "person_source", "person_draft")
        person = {field: getattr(new, field) for field in about}
    for name in filter(None, [new.person]):
        columns.pop(name, None)
        left.pop(name, None)
    return replace(
        old,
        columns=tuple(sorted(columns.values(), key=lambda c: place.get(c.name, len(place)))),
        left_out=tuple(sorted(left.values(), key=lambda c: place.get(c.name, len(place)))),
        file=new.file,
        **person,
    ), notes
