"""What a schema file may hold, as JSON Schema for editors; made from the kinds of columns."""

from __future__ import annotations

from typing import Any

from copula_shirley.schema.column import KINDS, LONGEST_REMARK, PROVENANCES
from copula_shirley.schema.file_format import THOUSANDS
from copula_shirley.schema.rules import LEARNED, ON_BROKEN

SOURCE = {"type": "string", "minLength": 1, "maxLength": LONGEST_REMARK}
WHO_SAYS = {"enum": ["declared", "drafted"]}
#: Of every column, whatever its kind.
SHARED: dict[str, Any] = {
    "missing": {"type": "boolean", "description": "values may be missing"},
    "provenance": {
        "enum": list(PROVENANCES),
        "default": "declared",
        "description": "where kind and domain are known from; without it they count as declared",
    },
    "source": {**SOURCE, "description": "such as: codebook 2019, p. 4"},
    "draft": {"type": "string", "description": "digest of drafted values; leave it as it is"},
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
LEFT_OUT = {"reason": SOURCE, "replace": {"enum": ["drop", "id"]}, "provenance": WHO_SAYS}


def json_schema() -> dict[str, Any]:
    columns = {"type": "object", "additionalProperties": {"oneOf": list(map(_column, KINDS))}}
    left_out = {**_object(LEFT_OUT), "type": ["object", "null"]}
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
    return _object({**fields, "provenance": who, "source": SOURCE}, key, *needed)


def _object(properties: dict[str, Any], *required: str) -> dict[str, Any]:
    found = {"type": "object", "properties": properties, "additionalProperties": False}
    return {**found, "required": list(required)} if required else found
