"""Where in its file stands what is wrong with a schema."""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress

from copula_shirley.errors import SchemaError
from copula_shirley.files.strict_yaml import lines_of, load_yaml
from copula_shirley.files.texts import shown
from copula_shirley.schema.rule_entries import rules_from

Lines = Mapping[tuple[str, ...], int]


def line_of(text: str, message: str) -> int | None:
    r"""The line of a schema's YAML text that an error is about; None where none is known.

    Examples
    --------
    >>> text = "columns:\n  age: {kind: integer}\n  pay:\n    kind: number\n"
    >>> line_of(text, "column 'pay': kind ('number') must be one of ...")
    4
    >>> line_of(text, "column 'age': minimum is missing"), line_of(text, "something else")
    (2, None)
    """
    with suppress(Exception):  # a text that cannot be read, for which there is another message
        lines = lines_of(text)
        path = _column(lines, message) or _rule(text, message) or _entry(message)
        return lines.get(path, lines.get(path[:-1]))
    return None


def _column(lines: Lines, message: str) -> tuple[str, ...]:
    """The entry of a column, and of the field if one is named behind it."""
    bare = re.sub(r"^(left_out: |person )", "", message)
    parts = ("left_out",) if message.startswith("left_out") else ("columns", "left_out")
    named = [path for path in lines if len(path) == 2 and path[0] in parts]
    for path in sorted(named, key=lambda path: -len(path[1])):
        for said in (f"column {path[1]!r}", f"column {shown(path[1])}"):
            if bare.startswith(said):
                field = re.match(r": (\w+)", bare.removeprefix(said))
                return (*path, field[1]) if field and (*path, field[1]) in lines else path
    return ("person",) if message.startswith(("person", "max_rows")) else ()


def _rule(text: str, message: str) -> tuple[str, ...]:
    """The entry of a rule, which is named by its place or by its own words."""
    if place := re.match(r"rules, entry (\d+): ", message):
        return "rules", str(int(place[1]) - 1)
    entries = load_yaml(text).get("rules") if message.startswith("rule ") else None
    for i, entry in enumerate(entries or ()):
        with suppress(SchemaError):
            if message.startswith(f"rule {str(rules_from([entry])[0])!r}"):
                return "rules", str(i)
    return ()


def _entry(message: str) -> tuple[str, ...]:
    """An entry of the whole schema."""
    found = re.match(r"unknown schema entry \('(.+)'\)|(?:schema )?(\w+)", message)
    return (found[1] or found[2],) if found else ()
