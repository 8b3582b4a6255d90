"""Frictionless Table Schemas and data packages (versions 1 and 2) as schemas.

What they say and a schema cannot keep is told in a note each. They do not say where they are known
from: without a word of the curator what comes of them counts as drafted, which proves nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any

from copula_shirley.errors import SchemaError, SettingError
from copula_shirley.files.texts import shown
from copula_shirley.schema.column import KINDS
from copula_shirley.schema.file_format import THOUSANDS
from copula_shirley.schema.table_schema_fields import KNOWN, OURS, Field, Told

#: What is read of each part of a descriptor; anything else is told.
TABLE = {"$schema", "fields", "missingValues", "primaryKey", "uniqueKeys", OURS}
RESOURCE = {
    *("$schema", "name", "type", "profile", "path", "format", "mediatype", "encoding"),
    *("dialect", "schema"),
}
#: Parts of a dialect, with the only values of some that tables are read with.
DIALECT: dict[str, Any] = {
    **dict.fromkeys(("delimiter", "skipInitialSpace", "nullSequence", "lineTerminator")),
    **dict.fromkeys(("$schema", "csvddfVersion", "caseSensitiveHeader")),
    **{"header": True, "quoteChar": '"', "doubleQuote": True},
}
#: How files are read that say nothing else.
USUAL = {"separator": ",", "encoding": "utf-8", "decimal": "."}


def from_descriptor(
    descriptor: Any, source: str | None, resource: str | None, told: Told
) -> dict[str, Any]:
    """A Table Schema, or the resource of a data package that has it, as a schema file has it.

    With a source it is declared, without one drafted.
    """
    known_from = "drafted" if source is None else "declared"
    table = _resource(descriptor, resource)
    said = table["schema"]
    if not isinstance(said, Mapping):
        rule = "must be a Table Schema, or a path of one beside the package"
        raise SchemaError(f"resource: schema ({shown(said)}) {rule}")
    if not isinstance(said.get("fields"), list):
        raise SchemaError("table schema: fields must be a list of fields")
    fields = [Field(field, told) for field in said["fields"]]
    for part, known, what in ((said, TABLE, "table schema"), (table, RESOURCE, "resource")):
        for key in (k for k in part if k not in known):
            told(f"{what}: {key!a:.60} is not kept")
    words = Counter(key for field in fields for key in field.said if key not in KNOWN)
    for key, count in words.items():
        told(f"{key!a:.60} of {count} fields is not kept")
    ours, unique = _ours(said), _unique(said, fields, told)
    passed = {*ours["left_out"], str((ours.get("person") or {}).get("column"))}
    columns, left = dict[str, Any](), dict[str, Any]()
    for field in fields:
        if field.name in columns or field.name in left:
            raise SchemaError(f"table schema: field {field.name!r} stands twice")
        if field.name in passed:
            continue
        entry = field.entry(field.name in unique)
        if "replace" in entry and OURS not in field.said:
            left[field.name] = {**entry, "provenance": known_from}
        else:
            columns[field.name] = _column(field, entry, source)
    if not columns:
        reasons = [f"{name!a:.60} ({entry['reason']})" for name, entry in left.items()]
        raise SchemaError(f"table schema: no field is left: {', '.join(reasons) or 'it has none'}")
    _tell_of_open(fields, columns, told)
    file = {**file_of(table, told), **ours.pop("file")}
    if file:
        file = {"provenance": known_from, **file}
    left |= ours.pop("left_out")
    return {**ours, "columns": columns, "file": file or None, "left_out": left or None}


def with_schemas(descriptor: Any, read: Callable[[str], Any]) -> Any:
    """A data package with the schemas that it names by paths beside it."""
    if not isinstance(descriptor, Mapping) or not isinstance(descriptor.get("resources"), list):
        return descriptor
    resources = []
    for resource in descriptor["resources"]:
        path = resource.get("schema") if isinstance(resource, Mapping) else None
        place = PurePosixPath(path) if isinstance(path, str) else None
        beside = place and not (place.is_absolute() or ".." in place.parts or ":" in str(place))
        resources.append({**resource, "schema": read(str(place))} if beside else resource)
    return {**descriptor, "resources": resources}


def _resource(descriptor: Any, wanted: str | None) -> dict[str, Any]:
    """The resource of a data package; of a bare Table Schema one that says nothing else."""
    if not isinstance(descriptor, Mapping):
        raise SchemaError("a table schema or data package must be a mapping")
    if "@context" in descriptor:
        raise SchemaError(
            "@context: files of CSVW and Croissant are written only; read is a Table Schema or a "
            "data package of Frictionless"
        )
    if "fields" in descriptor:
        return {"schema": descriptor}
    if "resources" not in descriptor:
        if "schema" not in descriptor:
            raise SchemaError("it must have the entry fields, as a Table Schema has, or resources")
        return dict(descriptor)
    listed = descriptor["resources"]
    resources = [r for r in listed if isinstance(r, Mapping)] if isinstance(listed, list) else []
    tables = {str(r.get("name")): dict(r) for r in resources if "schema" in r}
    if wanted is None and len(tables) == 1:
        return next(iter(tables.values()))
    if wanted not in tables:
        names = ", ".join(f"{name!a:.60}" for name in tables) or "none with one"
        raise SettingError(f"resource ({shown(wanted)}) must name one with a schema: {names}")
    return tables[wanted]


def _ours(said: Mapping[str, Any]) -> dict[str, Any]:
    """What copula-shirley wrote beside the standard."""
    found = said.get(OURS) or {}
    parts = ("file", "left_out", "person")
    if not isinstance(found, Mapping) or not all(
        isinstance(found.get(key) or {}, Mapping) for key in parts
    ):
        raise SchemaError(f"table schema: {OURS} ({shown(found)}) must be a mapping of mappings")
    return {**found, "file": dict(found.get("file") or {}), "left_out": found.get("left_out") or {}}


def _column(field: Field, entry: dict[str, Any], source: str | None) -> dict[str, Any]:
    """The entry of a column with what copula-shirley wrote of it, and where it is known from."""
    ours = field.said.get(OURS, {})
    merged = {"provenance": "drafted", **entry, **ours}
    lacks = any(merged.get(end) is None for end in _least(merged))
    if lacks and OURS not in field.said:
        merged.pop("resolution", None)
    if source is not None and ours.get("provenance") == "drafted":
        field.told("was drafted from rows, which is no documentation: review it in the schema")
    elif source is not None and merged["provenance"] == "drafted":
        merged |= {"provenance": "private" if lacks else "declared", "source": source}
    return {key: value for key, value in merged.items() if value is not None}


def _tell_of_open(fields: Sequence[Field], columns: Mapping[str, Any], told: Told) -> None:
    """Name the columns without bounds or categories, which must be written or bought."""
    lacking = [
        repr(field.name)
        for field in fields
        if OURS not in field.said
        and any(end not in columns[field.name] for end in _least(columns.get(field.name)))
    ]
    if lacking:
        told(
            f"no bounds or categories are given for {', '.join(lacking)}: write them into the "
            "schema, or set provenance: private and buy them (--domain measured)"
        )


def _least(entry: Mapping[str, Any] | None) -> Collection[str]:
    """What an entry of a column must say."""
    kind = KINDS.get((entry or {}).get("kind", ""))
    return kind.least if kind is not None else ()


def _unique(said: Mapping[str, Any], fields: Sequence[Field], told: Told) -> set[str]:
    """Names of the fields of which each value stands in one row only."""
    primary, others = said.get("primaryKey") or [], said.get("uniqueKeys") or []
    keys = [[primary] if isinstance(primary, str) else primary, *others]
    found = {field.name for field in fields if field.limits.get("unique") is True}
    for key in filter(None, keys):
        if not isinstance(key, list) or not all(isinstance(name, str) for name in key):
            raise SchemaError(f"table schema: key ({shown(key)}) must be a list of fields")
        if len(key) == 1:
            found.add(key[0])
        else:
            told(f"a key of several fields ({', '.join(map(shown, key))}) is not kept")
    return found


# -- how texts are read ------------------------------------------------------------------------


def file_of(resource: Mapping[str, Any], told: Told) -> dict[str, Any]:
    """How the texts of a file are read, as a schema file has it."""
    dialect, said = resource.get("dialect") or {}, resource["schema"]
    if not isinstance(dialect, Mapping):
        told("resource: a dialect in another file is not kept")
        dialect = {}
    for key, value in dialect.items():
        if key not in DIALECT or DIALECT[key] not in (None, value):
            told(f"dialect: {key!a:.60} ({shown(value)}) is not kept")
    gaps = [*_gaps(said, told), dialect.get("nullSequence")]
    if "" not in gaps:
        told("an empty text counts as a missing value")
    for field in said["fields"]:
        if "missingValues" in field:
            told(f"field {field['name']!r}: missingValues count in every column")
            gaps += _gaps(field, told)
    found = {
        "separator": dialect.get("delimiter"),
        "encoding": resource.get("encoding"),
        "strip": dialect.get("skipInitialSpace") or None,
        "missing": [text for text in dict.fromkeys(gaps) if text] or None,
        **_signs(said["fields"], told),
    }
    return {k: v for k, v in found.items() if v is not None and USUAL.get(k) != v}


def _gaps(part: Mapping[str, Any], told: Told) -> list[str | None]:
    """Texts that stand for missing values."""
    listed = part.get("missingValues", [""])
    values = listed if isinstance(listed, list) else [None]
    texts = [value.get("value") if isinstance(value, Mapping) else value for value in values]
    if not all(isinstance(text, str) for text in texts):
        raise SchemaError(f"table schema: missingValues ({shown(listed)}) must be a list of texts")
    if any(isinstance(value, Mapping) and "label" in value for value in values):
        told("labels of missing values are not kept")
    return texts


def _signs(fields: Sequence[Mapping[str, Any]], told: Told) -> dict[str, Any]:
    """How numbers are written; in one way for all columns."""
    numbers = [f for f in fields if f.get("type") in ("integer", "number")]
    points = [f.get("decimalChar", ".") for f in numbers if f["type"] == "number"]
    groups = [f["groupChar"] for f in numbers if f.get("groupChar")]
    for what, signs in (("decimalChar", points), ("groupChar", groups)):
        if any(sign != signs[0] for sign in signs):
            told(f"{what} differs between fields; {shown(signs[0])} counts in all of them")
    if any(f.get("bareNumber") is False and OURS not in f for f in numbers):
        told("bareNumber: name what stands around numbers under file, such as symbols: [EUR]")
    group = groups[0] if groups else None
    if group is not None and group not in THOUSANDS:
        told(f"groupChar ({shown(group)}) is not kept")
        group = None
    return {"decimal": points[0] if points else None, "thousands": group}
