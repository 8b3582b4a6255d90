"""Schemas as Croissant 1.0 (MLCommons), made from their Table Schemas.

Croissant says how a published file is read, so it needs that file: its name and its digest. Bounds
and what else it cannot say stand under ``urn:copula-shirley:``, which other tools pass over.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from copula_shirley.schema.csvw import plain_json
from copula_shirley.schema.table_schema import to_table_schema
from copula_shirley.schema.table_schema_fields import OURS, Told

if TYPE_CHECKING:
    from copula_shirley.schema.schema import Schema

CONFORMS_TO = "http://mlcommons.org/croissant/1.0"
#: Names of Croissant that are those of its own vocabulary.
TERMS = (
    *("citeAs", "column", "extract", "field", "fileObject", "fileProperty", "fileSet", "format"),
    *("includes", "isLiveDataset", "jsonPath", "key", "md5", "parentField", "path", "recordSet"),
    *("references", "regex", "repeated", "replace", "separator", "source", "subField"),
    *("samplingRate", "equivalentProperty", "transform"),
)
CONTEXT: dict[str, Any] = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "sc": "https://schema.org/",
    "cr": "http://mlcommons.org/croissant/",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "dct": "http://purl.org/dc/terms/",
    "conformsTo": "dct:conformsTo",
    "data": {"@id": "cr:data", "@type": "@json"},
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    OURS: {"@id": "urn:copula-shirley:schema", "@type": "@json"},
    **{term: f"cr:{term}" for term in TERMS},
}
TYPES = {
    "integer": "sc:Integer",
    "number": "sc:Float",
    "boolean": "sc:Boolean",
    "date": "sc:Date",
    "datetime": "sc:DateTime",
}


def to_croissant(schema: Schema, url: str, sha256: str, told: Told) -> dict[str, Any]:
    """The description of the published table that lies at a URL, or at a path beside it."""
    said, name = to_table_schema(schema), url.rsplit("/", 1)[-1]
    told("license, creator, datePublished and url are yours to add")
    if schema.file.separator != "," or schema.file.decimal != ".":
        told("Croissant reads separators , and decimal points only: publish the table with them")
    fields = said["fields"]
    file = {
        "@type": "cr:FileObject",
        "@id": quote(name),
        "name": name,
        "contentUrl": url,
        "encodingFormat": "text/csv",
        "sha256": sha256,
    }
    rows = {
        "@type": "cr:RecordSet",
        "@id": "rows",
        "name": "rows",
        "field": [_field(field, quote(name)) for field in fields],
    }
    lists = [_enumeration(field) for field in fields if _listed(field)]
    return {
        "@context": CONTEXT,
        "@type": "sc:Dataset",
        "name": name.partition(".")[0],
        "description": f"A synthetic table of {len(fields)} columns.",
        "conformsTo": CONFORMS_TO,
        "distribution": [file],
        "recordSet": [rows, *lists],
        OURS: said[OURS],
    }


def _id(field: Mapping[str, Any]) -> str:
    """The name of a field as a part of an IRI, which has no spaces."""
    return quote(field["name"], safe="")


def _list_id(field: Mapping[str, Any]) -> str:
    return f"values_of_{_id(field)}"


def _listed(field: Mapping[str, Any]) -> list[Any]:
    found: list[Any] = field.get("constraints", {}).get("enum", [])
    return found


def _field(field: Mapping[str, Any], file: str) -> dict[str, Any]:
    limits, ours = field.get("constraints", {}), field.get(OURS, {})
    unsaid = {**{k: v for k, v in limits.items() if k != "enum"}, **ours}
    source: dict[str, Any] = {"fileObject": {"@id": file}, "extract": {"column": field["name"]}}
    if field.get("format", "default") not in ("default", "any"):
        source["format"] = field["format"]
    found = {
        "@type": "cr:Field",
        "@id": f"rows/{_id(field)}",
        "name": field["name"],
        "dataType": TYPES.get(field["type"], "sc:Text"),
        "source": source,
        OURS: plain_json(unsaid),
    }
    if _listed(field):
        found["references"] = {"field": {"@id": f"{_list_id(field)}/value"}}
    return found


def _enumeration(field: Mapping[str, Any]) -> dict[str, Any]:
    """The closed list of a column, as a table of its own."""
    value = f"{_list_id(field)}/value"
    typed = {"@id": value, "@type": "cr:Field", "name": "value"}
    return {
        "@type": "cr:RecordSet",
        "@id": _list_id(field),
        "name": f"values of {field['name']}",
        "dataType": "sc:Enumeration",
        "key": {"@id": value},
        "field": [{**typed, "dataType": TYPES.get(field["type"], "sc:Text")}],
        "data": [{value: listed} for listed in _listed(field)],
    }
