"""Schemas as metadata of CSV on the Web (W3C, 2015), made from their Table Schemas.

What CSVW cannot say stands under names of our own (absolute URLs), which other tools pass over.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from copula_shirley.schema.table_schema import to_table_schema
from copula_shirley.schema.table_schema_fields import OURS, Told

if TYPE_CHECKING:
    from copula_shirley.schema.schema import Schema

#: The name of what no standard says.
OURS_URL = "urn:copula-shirley:schema"
#: Signs of dates as Python and as Unicode have them.
SIGNS = {"%Y": "yyyy", "%m": "MM", "%d": "dd", "%H": "HH", "%M": "mm", "%S": "ss"}
DATES = {"yyyyMMdd", "yyyy-MM-dd"} | {
    sign.join(parts) for sign in "-/." for parts in (("dd", "MM", "yyyy"), ("MM", "dd", "yyyy"))
}
CLOCKS = {"HH:mm:ss", "HHmmss", "HH:mm", "HHmm"}
BOUNDS = ("minimum", "maximum")


def to_csvw(schema: Schema, url: str, told: Told) -> dict[str, Any]:
    """The metadata of the table that lies at a URL, or at a path beside them."""
    said = to_table_schema(schema)
    columns = [_column(field, told) for field in said["fields"]]
    return {
        "@context": "http://www.w3.org/ns/csvw",
        "url": url,
        "dialect": {"delimiter": schema.file.separator, "encoding": schema.file.encoding},
        "null": said["missingValues"],
        "tableSchema": {"columns": columns},
        OURS_URL: plain_json(said[OURS]),
    }


def _column(field: Mapping[str, Any], told: Told) -> dict[str, Any]:
    limits = field.get("constraints", {})
    found = {
        "titles": field["name"],
        "datatype": TYPES[field["type"]](field, limits, told),
        "required": limits.get("required", False),
        OURS_URL: plain_json({**field.get(OURS, {}), **_unsaid(field, limits)}),
    }
    return {key: value for key, value in found.items() if value != {}}


def plain_json(value: Any) -> Any:
    """A value without what is None in its mappings, which JSON-LD does not keep."""
    if isinstance(value, Mapping):
        return {key: plain_json(inner) for key, inner in value.items() if inner is not None}
    return [plain_json(inner) for inner in value] if isinstance(value, list | tuple) else value


def _unsaid(field: Mapping[str, Any], limits: Mapping[str, Any]) -> dict[str, Any]:
    """Lists of numbers, their order, and bounds of moments in a format of their own."""
    found = {"ordered": True} if field.get("categoriesOrdered") else {}
    if field["type"] in ("integer", "number") and "enum" in limits:
        return {**found, "categories": limits["enum"]}
    if field.get("format", "default") != "default" or field.get("bareNumber") is False:
        found |= {end: limits[end] for end in BOUNDS if end in limits}
    return found


# -- by type ----------------------------------------------------------------------------------


def _text(_: Any, limits: Mapping[str, Any], __: Told) -> dict[str, Any]:
    listed = limits.get("enum")
    if not listed:
        return {"base": "string"}
    # of regular expressions only what all tools know: no sign is escaped that needs none
    texts = [re.sub(r"([\\^$.|?*+()\[\]{}/])", r"\\\1", text) for text in listed]
    return {"base": "string", "format": f"^({'|'.join(texts)})$"}


def _number(field: Mapping[str, Any], limits: Mapping[str, Any], _: Told) -> dict[str, Any]:
    signs = {key: field[key] for key in ("decimalChar", "groupChar") if key in field}
    if field.get("bareNumber") is False:  # no number by CSVW: a sign of money stands beside it
        return {"base": "string"}
    listed = limits.get("enum")
    ends = {end: limits[end] for end in BOUNDS if end in limits}
    if listed:
        ends = dict(zip(BOUNDS, (min(listed), max(listed)), strict=True))
    found = {"base": field["type"], **ends}
    return {**found, "format": signs} if signs else found


def _moment(field: Mapping[str, Any], limits: Mapping[str, Any], told: Told) -> dict[str, Any]:
    how = field["format"]
    if how in ("default", "any"):
        if field["type"] != "date":
            return {"base": "string"}  # with fractions of seconds, or without
        return {"base": "date", **{end: limits[end] for end in BOUNDS if end in limits}}
    pattern = re.sub("%[A-Za-z]", lambda sign: SIGNS.get(sign[0], sign[0]), how)
    date, _, clock = pattern.replace("ddT", "dd ").partition(" ")
    if date not in DATES or (clock and clock not in CLOCKS):
        told(f"column {field['name']!r}: CSVW has no dates such as {how}; they are texts there")
        return {"base": "string"}
    # readers differ in whether bounds are written in this format: they stand beside the datatype
    return {"base": "dateTime" if clock else "date", "format": pattern}


Typed = Callable[[Mapping[str, Any], Mapping[str, Any], Told], dict[str, Any]]
TYPES: dict[str, Typed] = {
    "string": _text,
    "integer": _number,
    "number": _number,
    "boolean": lambda *_: {"base": "boolean", "format": "True|False"},
    "date": _moment,
    "datetime": _moment,
    "duration": lambda *_: {"base": "duration"},
}
