"""A schema out of files: one of ours with its lists, a codebook as Table Schema, a data package."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from starlette.datastructures import FormData, UploadFile

from copula_shirley import tasks
from copula_shirley.errors import SchemaError, SettingError
from copula_shirley.files.strict_yaml import LARGEST_YAML
from copula_shirley.schema.schema import Schema
from copula_shirley.web.views import plain_name, typed_path

#: What the file of a schema may end in; others that come with it are lists that it names.
DESCRIBES = (".yaml", ".yml", ".json")
#: Why a column is left out that no line of the file is about.
NOT_DESCRIBED = "the imported file does not describe it"


def imported(
    form: FormData, folder: Path, schema: Schema | None, names: Sequence[str], person: str | None
) -> tuple[Schema, list[str]]:
    """The schema of the table with what the file says, and notes."""
    path = str(form.get("import_path", "")).strip()
    uploads = [
        each
        for each in form.getlist("import_files")
        if isinstance(each, UploadFile) and each.filename
    ]
    if bool(path) == bool(uploads):
        raise SettingError("name the schema file by its path, or choose it: one of the two")
    own = {key: str(form.get(key, "")).strip() or None for key in ("known_from", "resource")}
    if path:
        found, notes = tasks.import_schema(_described(typed_path(path)), **own)
        return merged(schema, found, names, person), notes
    with TemporaryDirectory(dir=folder) as place:
        kept = [_kept(each, Path(place)) for each in uploads]
        try:
            found, notes = tasks.import_schema(_main(kept), **own)
        except SchemaError as error:  # nobody knows the folder
            raise SchemaError(str(error).replace(f"{place}/", "")) from None
    return merged(schema, found, names, person), notes


def _kept(upload: UploadFile, folder: Path) -> Path:
    name, content = plain_name(upload), upload.file.read(LARGEST_YAML + 1)
    if len(content) > LARGEST_YAML:
        raise SettingError(f"file ({name!r}) must have at most {LARGEST_YAML / 2**20:.0f} MiB")
    place = folder / name
    place.write_bytes(content)
    return place


def _main(files: Sequence[Path]) -> Path:
    """The one that describes the table; a list that it names may be YAML, too."""
    found = [file for file in files if file.suffix.lower() in DESCRIBES]
    if len(found) > 1:
        texts = {file: file.read_text("utf-8", errors="replace") for file in found}
        named = [f for f in found if any(f.name in t for g, t in texts.items() if g != f)]
        found = [file for file in found if file not in named]
    if len(found) != 1:
        names = ", ".join(file.name for file in files)
        rule = "must be one schema (.yaml, .json), with the lists that it names"
        raise SettingError(f"files ({names}) {rule}")
    return found[0]


def _described(path: Path) -> Path:
    if path.suffix.lower() not in DESCRIBES:
        raise SettingError(f"file ({str(path)!r}) must end in {' or '.join(DESCRIBES)}")
    return path


def merged(
    schema: Schema | None, found: Schema, names: Sequence[str], person: str | None
) -> Schema:
    """The schema with the columns, people, rules and file format that are found.

    What only the schema knows stays; a column of the table that neither knows is left out.
    """
    entry, new = ({} if each is None else each.to_dict() for each in (schema, found))
    own = found.person or person
    told = [*new["columns"], *new.get("left_out", {})]
    for name in (*told, *filter(None, [found.person])):
        if name not in names:
            rule = f"is not in the table, which has {', '.join(names)}"
            raise SchemaError(f"column {name!r} of the file {rule}")
    columns, left = dict(entry.get("columns", {})), dict(entry.get("left_out", {}))
    for name in names:
        if name in told:
            columns.pop(name, None)
            left.pop(name, None)
        elif name not in columns and name not in left and name != own:
            left[name] = {"replace": "drop", "reason": NOT_DESCRIBED, "provenance": "declared"}
    columns |= new["columns"]
    if own is not None:
        columns.pop(own, None)
    left |= new.get("left_out", {})
    kept = {name: columns[name] for name in names if name in columns}
    return Schema.from_dict({**entry, **new, "columns": kept, "left_out": left or None})
