"""What a schema file may hold, as JSON Schema for editors; made from the kinds of columns."""

from __future__ import annotations

from typing import Any

from copula_shirley.schema.column import KINDS, PROVENANCES
from copula_shirley.schema.file_format import THOUSANDS
from copula_shirley.schema.left_out import FAKES, LOCALE
from copula_shirley.schema.rules import LEARNED, LEAST_SHARE, MOST_SHARES, ON_BROKEN
from copula_shirley.schema.values import LONGEST_REMARK

SOURCE = {"type": "string", "minLength": 1, "maxLength": LONGEST_REMARK}
DRAFT = {"type": "string", "description": "digest of drafted values; leave it as it is"}
WHO_SAYS = {"enum": ["declared", "drafted"]}
PER = {"const": "person", "description": "the same in all rows of a person"}
#: Of every column, whatever its kind.
SHARED: dict[str, Any] = {
    "missing": {"type": "boolean", "description": "values may be missing"},
    "per": PER,
    "provenance": {
        "enum": list(PROVENANCES),
        "default": "declared",
        "description": "where kind and domain are known from; without it they count as declared",
    },
    "source": {**SOURCE, "description": "such as: codebook 2019, p. 4"},
    "draft": DRAFT,
}
PERSON: dict[str, Any] = {
    "column": {"type": ["string", "integer"]},
    "max_rows": {"type": "integer", "minimum": 1},
    "provenance": WHO_SAYS,
    "source": SOURCE,
    "draft": {"type": "integer"},
}
TEXTS = {"type": "array", "items": {"type": ["string", "number"]}}
FILE: dict[str, Any] = {
    "separator": {"type": "string", "minLength": 1, "maxLength": 1, "default": ","},
    "encoding": {"type": "string", "default": "utf-8"},
    "decimal": {"enum": [".", ","]},
    "thousands": {"enum": list(THOUSANDS), "description": "between groups of three digits"},
    "symbols": {**TEXTS, "description": "taken off numbers, such as €"},
    "missing": {**TEXTS, "description": "what stands for missing values, beside nothing"},
    "strip": {"type": "boolean", "description": "spaces around texts are no part of them"},
    "sheet": {"type": "string", "minLength": 1, "maxLength": 31, "description": "of a workbook"},
    "provenance": WHO_SAYS,
}
NAME: dict[str, Any] = {"type": ["string", "integer"]}
NAMES: dict[str, Any] = {"type": "array", "items": NAME, "minItems": 1, "uniqueItems": True}
PLAIN_VALUE = {"type": ["string", "number", "boolean", "null"]}
ROWS = {"type": "array", "items": {"type": "array", "items": PLAIN_VALUE}, "minItems": 1}
GAP: dict[str, Any] = {
    "type": "object",
    "properties": {end: {"type": ["number", "string"]} for end in ("minimum", "maximum")},
    "additionalProperties": False,
}
CONDITIONS = {
    "type": "object",
    "minProperties": 1,
    "description": "a value, several, a range such as 50..120, missing or present",
    "additionalProperties": {
        "anyOf": [PLAIN_VALUE, {"type": "array", "items": PLAIN_VALUE, "minItems": 1}]
    },
}
COMBINATIONS: dict[str, Any] = {
    "type": "object",
    "properties": {"columns": NAMES, "rows": ROWS},
    "additionalProperties": False,
}
#: By the entry that names a rule: what stands under it and beside it, and what must.
RULES: dict[str, tuple[dict[str, Any], tuple[str, ...]]] = {
    "order": (
        {
            "order": {**NAMES, "description": "each is at most the next one"},
            "gap": {"anyOf": [GAP, {"type": "array", "items": GAP}]},
            "strict": {"type": "boolean"},
        },
        (),
    ),
    "computed": (
        {
            "computed": NAME,
            "as": {"type": "string", "description": "such as round(weight / height ** 2, 1)"},
            "tolerance": {"type": "number", "minimum": 0, "description": "for real rows"},
            "missing": {"enum": ["any", "all"]},
        },
        ("as",),
    ),
    "function": (
        {
            "function": NAME,
            "of": {"anyOf": [NAME, NAMES]},
            "table": {"anyOf": [{"const": LEARNED}, {"type": "object"}, ROWS]},
            "default": PLAIN_VALUE,
            "share": {
                "type": "number",
                "minimum": LEAST_SHARE,
                "maximum": MOST_SHARES,
                "description": "of the budget, for a table that is learned",
            },
        },
        ("of", "table"),
    ),
    "one_hot": ({"one_hot": NAMES, "exactly": {"const": 1}, "at_most": {"const": 1}}, ()),
    **{
        key: ({key: {**COMBINATIONS, "required": ["columns", "rows"]}}, ())
        for key in ("allowed", "forbidden")
    },
    "when": ({"when": CONDITIONS, "then": CONDITIONS}, ("then",)),
}
LEFT_OUT: dict[str, Any] = {
    "reason": SOURCE,
    "provenance": WHO_SAYS,
    "pattern": {"type": "string", "pattern": "[{]n.*[}]", "description": 'such as "P-{n:07}"'},
    "fake": {"enum": list(FAKES), "description": "what Faker makes up"},
    "locale": {"type": "string", "pattern": LOCALE.pattern, "description": "such as de_DE"},
    "per": PER,
}
#: Columns that no model learns from, among the others.
BESIDE = {
    "drop": ("reason", "provenance"),
    "id": ("reason", "provenance", "pattern", "per"),
    "fake": ("reason", "provenance", "fake", "locale", "per"),
}


def json_schema() -> dict[str, Any]:
    words: dict[str, Any] = {"enum": ["drop", "id"]}
    columns = {
        "type": "object",
        "additionalProperties": {"oneOf": [*map(_column, KINDS), *_beside("kind"), words]},
    }
    left_out = {"oneOf": [*_beside("replace"), words, {"type": "null"}]}
    file = {
        "format": {"const": 1},
        "file": {**_object(FILE), "type": ["object", "null"]},
        "person": _object(PERSON, "column"),
        "left_out": {"type": "object", "additionalProperties": left_out},
        "columns": {**columns, "minProperties": 1},
        "rules": {"type": ["array", "null"], "items": {"oneOf": list(map(_rule, RULES))}},
        "on_broken": {
            "enum": list(ON_BROKEN),
            "description": "rows of the table that break a rule",
        },
    }
    draft = "https://json-schema.org/draft/2020-12/schema"
    title = "schema of copula-shirley: the public description of a table"
    return {"$schema": draft, "title": title, **_object(file, "columns")}


def _column(kind: str) -> dict[str, Any]:
    """An entry of ``columns``; without a domain it must not be called declared."""
    fields = {"kind": {"const": kind}, **KINDS[kind].fields, **SHARED}
    to_buy = {"properties": {"provenance": {"enum": ["private", "drafted"]}}}
    closed = {"required": list(KINDS[kind].least)}
    return _object(fields, "kind") | {"anyOf": [closed, {**to_buy, "required": ["provenance"]}]}


def _rule(key: str) -> dict[str, Any]:
    fields, needed = RULES[key]
    who = {"enum": list(PROVENANCES)} if key == "function" else WHO_SAYS
    return _object({**fields, "provenance": who, "source": SOURCE, "draft": DRAFT}, key, *needed)


def _beside(key: str) -> list[dict[str, Any]]:
    """Entries of columns that no model learns from; without ``replace`` one is dropped."""
    found = []
    for kind, names in BESIDE.items():
        needed = [key] * (key == "kind" or kind != "drop") + ["fake"] * (kind == "fake")
        entry = {key: {"const": kind}, **{name: LEFT_OUT[name] for name in names}}
        found.append(_object(entry, *needed))
    return found


def _object(properties: dict[str, Any], *required: str) -> dict[str, Any]:
    found = {"type": "object", "properties": properties, "additionalProperties": False}
    return {**found, "required": list(required)} if required else found
