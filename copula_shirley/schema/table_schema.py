"""Schemas as Frictionless Table Schemas (Data Package 2.0), which many tools read.

What that standard cannot say (rules, ids, where a domain is known from, the resolution of numbers)
stands under the property ``copula-shirley`` of the schema and of each field, which other tools pass
over. It is what ``table_schema_reading`` does not find without it, so nothing is lost on the way
back; where a field is edited, the edited standard part counts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import pandas as pd

from copula_shirley.schema.column import Column
from copula_shirley.schema.dates import DAY, Datetime
from copula_shirley.schema.file_format import FileFormat
from copula_shirley.schema.left_out import LeftOut
from copula_shirley.schema.table_schema_fields import OURS, Field
from copula_shirley.schema.table_schema_reading import file_of
from copula_shirley.schema.values import plain

if TYPE_CHECKING:
    from copula_shirley.schema.schema import Schema

TABLE_SCHEMA = "https://datapackage.org/profiles/2.0/tableschema.json"
DATA_PACKAGE = "https://datapackage.org/profiles/2.0/datapackage.json"
#: Signs of a format of dates that tell a time of the day.
CLOCK = ("%H", "%I", "%M", "%S", "%f", "%X", "%c")
#: How moments without a format are written to a CSV file.
MOMENT = "%Y-%m-%d %H:%M:%S"


def to_table_schema(schema: Schema, resource: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The synthetic table as a Table Schema, for a resource of a data package if one is given."""
    columns = [_field(column, schema.file) for column in schema]
    found: dict[str, Any] = {
        "$schema": TABLE_SCHEMA,
        "fields": [*columns, *map(_replaced, schema.replaced.values())],
        "missingValues": ["", *schema.file.missing],
    }
    file = schema.file.to_dict()
    told = file_of({**(resource or {}), "schema": found}, lambda _: None)
    beside = {k: v for k, v in schema.to_dict().items() if k not in ("columns", "file", "format")}
    found[OURS] = {"format": 1, **beside, "file": _difference(file, told)}
    return found


def to_data_package(schema: Schema, path: str) -> dict[str, Any]:
    """A schema as a data package of one table, which lies at a path or URL."""
    stem = path.rsplit("/", 1)[-1].partition(".")[0].lower()
    resource = {
        "name": "".join(c if c.isascii() and c.isalnum() else "-" for c in stem) or "table",
        "type": "table",
        "path": path,
        "format": "csv",
        "mediatype": "text/csv",
        "encoding": schema.file.encoding,
        "dialect": {"delimiter": schema.file.separator},
    }
    resource["schema"] = to_table_schema(schema, resource)
    return {"$schema": DATA_PACKAGE, "resources": [resource]}


def _field(column: Column, file: FileFormat) -> dict[str, Any]:
    """A column as a field, with what the standard cannot say of it."""
    field: dict[str, Any] = {"name": column.name, **FIELDS[column.kind](column)}
    constraints = {} if column.open else field.pop("constraints", {})
    field["constraints"] = {"required": not column.missing, **constraints}
    if field["type"] in ("integer", "number"):
        if field["type"] == "number" and file.decimal != ".":
            field["decimalChar"] = file.decimal
        if file.thousands is not None:
            field["groupChar"] = file.thousands
        if file.symbols:
            field["bareNumber"] = False
    told = Field(field, lambda _: None).entry()
    return {**field, OURS: _difference(column.to_dict(), told)}


def _difference(own: Mapping[str, Any], told: Mapping[str, Any]) -> dict[str, Any]:
    """What is said beside what is told, so that ``{**told, **difference}`` is ``own``."""
    beside = {key: value for key, value in own.items() if told.get(key) != value}
    return beside | {key: None for key in told if key not in own}


def _replaced(left: LeftOut) -> dict[str, Any]:
    """A column of made-up values, which stands in a synthetic table."""
    numbered = left.replace == "id" and left.pattern is None
    return {"name": left.name, "type": "integer" if numbered else "string"}


# -- by kind of column ---------------------------------------------------------------------


def _numbers(column: Column) -> dict[str, Any]:
    ends = {"minimum": plain(column.minimum), "maximum": plain(column.maximum)}
    return {"type": "integer" if column.is_whole else "number", "constraints": ends}


def _categories(column: Column) -> dict[str, Any]:
    types, listed = set(map(type, column.categories)), list(column.categories)
    if not types or not types <= {int, float}:
        typed, listed = "string", list(dict.fromkeys(map(str, listed)))
    else:
        typed = "integer" if types == {int} else "number"
    field: dict[str, Any] = {"type": typed}
    if not listed:
        return field
    field["constraints"] = {"enum": listed}
    if typed != "number":
        field |= {"categories": listed, "categoriesOrdered": column.ordered}
    return field


def _moments(column: Column) -> dict[str, Any]:
    step, how = pd.Timedelta(column.resolution or "1s"), column.format
    daily = step % DAY == pd.Timedelta(0)
    if how is None and not daily:
        how = MOMENT if step >= pd.Timedelta("1s") else "any"
    clock = how is not None and (how == "any" or any(sign in how for sign in CLOCK))
    field = {"type": "datetime" if clock or not daily else "date", "format": how or "default"}
    if column.open:
        return field
    ends = pd.Series([column.minimum, column.maximum])
    texts = ends.map(plain) if how in (None, "any") else Datetime.texts(ends, how)
    return {**field, "constraints": dict(zip(("minimum", "maximum"), texts, strict=True))}


def _durations(column: Column) -> dict[str, Any]:
    """The standard knows one way to write durations; its own library refuses bounds of them."""
    return {"type": "duration" if column.format == "ISO" else "string"}


FIELDS: dict[str, Callable[[Column], dict[str, Any]]] = {
    # geopoints of the standard have longitude first, and no bounds
    "place": lambda _: {"type": "string"},
    "categorical": _categories,
    "boolean": lambda _: {"type": "boolean"},
    "integer": _numbers,
    "continuous": _numbers,
    "datetime": _moments,
    "duration": _durations,
}
