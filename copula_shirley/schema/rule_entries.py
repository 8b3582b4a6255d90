"""Rules as they stand in a schema file, and the public tables that it names."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Any

from copula_shirley.errors import SchemaError
from copula_shirley.files.atomic import read_text
from copula_shirley.files.strict_yaml import LARGEST_YAML
from copula_shirley.files.texts import shown
from copula_shirley.schema.rules import (
    REMARKS,
    Allowed,
    Computed,
    Function,
    Implies,
    OneHot,
    Order,
    Rule,
    name_of,
    names_of,
)

MOST_RULES = 500
#: By the entry that names them.
KEYS: dict[str, type[Rule]] = {
    **{cls.key: cls for cls in (Order, Computed, Function, OneHot, Allowed, Implies)},
    "forbidden": Allowed,
}
CONSTANT = (
    "constant: that a column is the same in all rows of a person is said where it is described: "
    "birth_date: {kind: datetime, ..., per: person}, beside person: {column: ..., max_rows: ...}"
)


def rules_from(entry: Any) -> tuple[Rule, ...]:
    """The rules of a schema file."""
    if not isinstance(entry, list):
        raise SchemaError(f"rules ({shown(entry)}) must be a list of rules")
    if len(entry) > MOST_RULES:
        raise SchemaError(f"rules ({len(entry):,}) must be at most {MOST_RULES:,}")
    found = []
    for i, one in enumerate(entry, 1):
        try:
            found.append(_rule(one))
        except (SchemaError, TypeError) as error:
            raise SchemaError(f"rules, entry {i}: {error}") from None
    return tuple(found)


def _rule(entry: Any) -> Rule:
    if isinstance(entry, Mapping) and "constant" in entry:
        raise SchemaError(CONSTANT)
    keys = [key for key in KEYS if isinstance(entry, Mapping) and key in entry]
    if len(keys) != 1:
        raise SchemaError(f"({shown(entry)}) must have one of the entries {', '.join(KEYS)}")
    kind = KEYS[keys[0]]
    known = (keys[0], *kind.beside, *REMARKS)
    for key in entry:
        if key not in known:
            comma = "; quote a text with a comma in { }" if entry[key] is None else ""
            raise SchemaError(f"unknown entry ({shown(key)}); known are {', '.join(known)}{comma}")
    return kind.of_entry(entry, {k: entry[k] for k in REMARKS if entry.get(k) is not None})


def with_tables(entry: Any, folder: Path) -> Any:
    """The entry of a schema file with the tables that it names, which are as public as itself."""
    rules = entry.get("rules") if isinstance(entry, Mapping) else None
    if not isinstance(rules, list):
        return entry
    return {**entry, "rules": [_with_table(rule, folder) for rule in rules]}


def _with_table(rule: Any, folder: Path) -> Any:
    table = rule.get("table") if isinstance(rule, Mapping) else None
    if not isinstance(table, Mapping) or set(table) != {"file"} or "function" not in rule:
        return rule
    place, column = PurePosixPath(str(table["file"])), name_of("function", rule["function"])
    if place.is_absolute() or ".." in place.parts or "\\" in str(place):
        raise SchemaError(f"table ({shown(str(place))}) must name a file beside the schema")
    path = folder / place
    wanted = [*names_of("of", rule.get("of")), column]
    text = read_text(path, LARGEST_YAML, SchemaError, f"table of {column!r}")
    lines = csv.DictReader(io.StringIO(text.removeprefix("\ufeff")))
    try:
        rows = [[line[name] or None for name in wanted] for line in lines]
    except (KeyError, csv.Error):
        names = ", ".join(wanted)
        raise SchemaError(f"{str(path)!r} must be a CSV file with the columns {names}") from None
    return {**rule, "table": rows}
