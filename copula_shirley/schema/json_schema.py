"""What a schema file may hold, as JSON Schema for editors; made from the kinds of columns."""

from __future__ import annotations

from typing import Any

from copula_shirley.schema.column import KINDS, LONGEST_REMARK, PROVENANCES
from copula_shirley.schema.file_format import THOUSANDS

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


def _object(properties: dict[str, Any], *required: str) -> dict[str, Any]:
    found = {"type": "object", "properties": properties, "additionalProperties": False}
    return {**found, "required": list(required)} if required else found
