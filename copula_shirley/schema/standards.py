"""Files of other standards: written from a schema, and read as one."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from copula_shirley.errors import ArtefactError, SchemaError, SettingError
from copula_shirley.files.atomic import read_bytes, read_text
from copula_shirley.files.digest import file_sha256
from copula_shirley.files.plain_json import parse_json
from copula_shirley.files.strict_yaml import LARGEST_YAML, load_yaml
from copula_shirley.schema.croissant import to_croissant
from copula_shirley.schema.csvw import to_csvw
from copula_shirley.schema.schema import Schema
from copula_shirley.schema.table_schema import to_data_package
from copula_shirley.schema.table_schema_fields import Told
from copula_shirley.schema.table_schema_reading import from_descriptor, with_schemas

STANDARDS = ("table-schema", "data-package", "csvw", "croissant")


def converted(
    path: Path, to: str, data: str | None, source: str | None, resource: str | None, told: Told
) -> Schema | str:
    """A schema file as the text of a standard, or the schema of a file of a standard.

    ``data`` is the published table that is described: a path from the folder of the file, or a URL.
    """
    with _named(path):
        entry = _read(path)
        if _is_ours(entry):
            return _written(Schema.read(path), to, data, path, told)
        return _described(entry, path, source, resource, told)


def imported(path: Path, source: str | None, resource: str | None, told: Told) -> Schema:
    """The schema of a file: one of ours, or of a standard that is read."""
    with _named(path):
        entry = _read(path)
        return (
            Schema.read(path)
            if _is_ours(entry)
            else _described(entry, path, source, resource, told)
        )


@contextmanager
def _named(path: Path) -> Iterator[None]:
    """Name the file in what is wrong with it."""
    try:
        yield
    except SchemaError as error:
        named = repr(str(path)) in str(error)
        raise SchemaError(str(error) if named else f"{str(path)!r}: {error}") from None


def _is_ours(entry: Any) -> bool:
    return isinstance(entry, Mapping) and "columns" in entry


def _described(
    entry: Any, path: Path, source: str | None, resource: str | None, told: Told
) -> Schema:
    said = with_schemas(entry, lambda name: _read(path.parent / name))
    return Schema.from_dict(from_descriptor(said, source, resource, told))


def _read(path: Path) -> Any:
    """The content of a JSON or YAML file."""
    if path.suffix != ".json":
        return load_yaml(read_text(path, LARGEST_YAML, SchemaError, "file"))
    try:
        return parse_json(read_bytes(path, LARGEST_YAML, SchemaError, "file"))
    except (SchemaError, ArtefactError) as error:
        raise SchemaError(str(error)) from None
    except (ValueError, RecursionError):
        raise SchemaError(f"{str(path)!r} is not readable as JSON") from None


def _written(schema: Schema, to: str, data: str | None, path: Path, told: Told) -> str:
    """The text of a file of a standard."""
    if to not in STANDARDS:
        raise SettingError(f"to ({to!r}) must be one of {', '.join(STANDARDS)}")
    parts = [*schema, *schema.left_out, *schema.rules, schema.file]
    drafted = sum(part.provenance == "drafted" for part in parts)
    if drafted := drafted + (schema.person_provenance == "drafted"):
        told(
            f"{drafted} of the schema's entries were drafted from rows, and the file tells "
            "something about these: review the schema before you give it away"
        )
    url = data or f"{path.stem}.csv"
    if data is None and to in ("data-package", "csvw"):
        told(f"the table is called {url}; name another one with --data")
    if to == "table-schema":
        found = schema.to_table_schema()
    elif to == "data-package":
        found = to_data_package(schema, url)
    elif to == "csvw":
        found = to_csvw(schema, url, told)
    else:
        found = to_croissant(schema, url, _digest(path.parent, data), told)
    return json.dumps(found, indent=2, ensure_ascii=False) + "\n"


def _digest(folder: Path, data: str | None) -> str:
    """The digest of the published table, without which there is no Croissant."""
    if data is None or not (folder / data).is_file():
        rule = "must name the published table, beside the schema, whose digest Croissant needs"
        raise SettingError(f"data ({data!r}) {rule}")
    return file_sha256(folder / data)
