"""From a table to its schema: the first steps of the page."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from starlette.datastructures import FormData, UploadFile
from starlette.requests import Request
from starlette.responses import Response

from copula_shirley import tasks
from copula_shirley.errors import SettingError, ShirleyError
from copula_shirley.rows.formats import check_format, format_of
from copula_shirley.rows.headers import header
from copula_shirley.schema.column import KINDS
from copula_shirley.schema.schema import Schema
from copula_shirley.web.imports import imported
from copula_shirley.web.schema_form import (
    FILE_WORDS,
    LEFT_OUT,
    SOURCES,
    Row,
    declared_rows,
    marked,
    rows_of,
    schema_from,
    typed_rows,
    with_people,
)
from copula_shirley.web.views import (
    desk_of,
    in_thread,
    plain_name,
    refused,
    shown,
    takes_form,
    to,
    typed_path,
    work_of,
)
from copula_shirley.web.work import UPLOAD, Work

#: A schema of which the curator knows the names of columns alone.
PLAIN_KIND = "categorical"


# -- choose the table ----------------------------------------------------------------


def start(request: Request) -> Response:
    return shown(request, "start", desk=desk_of(request), step="table", path="")


@takes_form
async def add_table(request: Request, form: FormData) -> Response:
    """Take a table to work on; or the file of one that is gone, which must have its columns."""
    desk = desk_of(request)
    path, again = str(form.get("path", "")).strip(), desk.works.get(str(form.get("work", "")))
    folder = desk.new_folder() if again is None else again.folder
    try:
        data, uploaded = await in_thread(_chosen, path, form.get("file"), folder)
        names, file = await in_thread(header, data)
        if again is not None and names != again.names:
            raise SettingError(f"{data.name!r} must have the columns {', '.join(again.names)}")
    except ShirleyError as error:
        if again is not None:
            return refused(request, "people", error, **_about_people(again))
        shutil.rmtree(folder, ignore_errors=True)
        more: dict[str, Any] = {"desk": desk, "step": "table", "path": path}
        return refused(request, "start", error, **more)
    if again is None:
        work = desk.add(Work(folder, data, names, file, uploaded))
        return to(f"/t/{work.id}/people")
    again.data, again.uploaded = data, uploaded
    again.keep()
    return to(f"/t/{again.id}/{'schema' if again.schema else 'people'}")


def _chosen(path: str, upload: Any, folder: Path) -> tuple[Path, bool]:
    """The file that was named or uploaded, and whether it is a copy."""
    uploaded = isinstance(upload, UploadFile) and bool(upload.filename)
    if uploaded == bool(path):
        raise SettingError("name the table by its path, or choose a file: one of the two")
    if path:
        return typed_path(path), False
    name = plain_name(upload)
    check_format(name)
    place = folder / UPLOAD / name
    shutil.rmtree(place.parent, ignore_errors=True)
    place.parent.mkdir(mode=0o700)
    with place.open("xb") as file:
        shutil.copyfileobj(upload.file, file)
    return place, True


@takes_form
async def end(request: Request, _: FormData) -> Response:
    await in_thread(desk_of(request).end, work_of(request))
    return to("/")


# -- people, and where the schema comes from -----------------------------------------


def people(request: Request) -> Response:
    return shown(request, "people", **_about_people(work_of(request)))


def _about_people(work: Work, typed: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """What the step shows: what was typed, or what is known."""
    kind = format_of(work.data)
    known = {"person": work.person, "max_rows": work.max_rows if work.person else "", "how": ""}
    labels = kind is not None and kind.codebook is not None
    return {"work": work, "step": "table", "labels": labels, "typed": {**known, **(typed or {})}}


def _most_rows(text: str, person: str) -> int:
    """How many rows a person has at most, as it was typed."""
    if not (text.isascii() and text.isdigit()):
        rule = f"must be a whole number, 1 or more: how many rows each {person!r} has at most"
        raise SettingError(f"rows of a person ({text!r}) {rule}")
    return int(text)


@takes_form
async def set_people(request: Request, form: FormData) -> Response:
    work = work_of(request)
    try:
        person, most = str(form.get("person", "")) or None, str(form.get("max_rows", "")).strip()
        if person is not None and person not in work.names:
            raise SettingError(f"person ({person!r}) must be a column of the table")
        if person is None and most not in ("", "1"):
            rule = "need the column that names the person: choose it, or leave the number empty"
            raise SettingError(f"rows of a person ({most!r}) {rule}")
        max_rows = 1 if person is None else _most_rows(most, person)
        found, notes = await in_thread(_begun, work, form, person)
        if person is not None or found.person is None or form.get("how") != "file":
            found = with_people(found, person, max_rows)
    except ShirleyError as error:
        return refused(request, "people", error, **_about_people(work, form))
    files = form.get("how") == "file"
    work.schema, work.notes, work.imported = found, [] if files else notes, notes if files else []
    work.person, work.max_rows = found.person, found.max_rows
    return to(f"/t/{work.id}/schema")


def _begun(work: Work, form: FormData, person: str | None) -> tuple[Schema, list[str]]:
    """The first schema: drafted from the rows, read from a file, or the names alone."""
    how = str(form.get("how"))
    if how == "file":
        return imported(form, work.folder, None, work.names, person)
    if how == "names":
        names = [name for name in work.names if name != person]
        return replace(Schema.of_kinds(dict.fromkeys(names, PLAIN_KIND)), file=work.file), []
    if how != "draft":
        raise SettingError("say where the schema shall come from")
    place, labels = work.folder / "draft.yaml", bool(form.get("declare_labels"))
    _, notes = tasks.draft(work.data, place, person=person, force=True, declare_labels=labels)
    return Schema.read(place), notes


# -- the schema as a table -------------------------------------------------------------


def _about_schema(work: Work, **more: Any) -> dict[str, Any]:
    own = {"kinds": KINDS, "left_out": LEFT_OUT, "sources": SOURCES, "known_from": ""}
    own |= {"file_words": FILE_WORDS, "importing": False, "max_rows": work.max_rows}
    return {**own, "work": work, "step": "schema", **more}


def schema_table(request: Request) -> Response:
    work = work_of(request)
    if work.schema is None:
        return to(f"/t/{work.id}/people")
    rows = rows_of(work.schema, work.names)
    return shown(request, "schema", **_about_schema(work, rows=rows))


@takes_form
async def save_schema(request: Request, form: FormData) -> Response:
    work = work_of(request)
    if work.schema is None:
        return to(f"/t/{work.id}/people")
    known_from, which = str(form.get("known_from", "")).strip(), str(form.get("declare", ""))
    count = min(len(form), sum(key.startswith("name.") for key in form))
    rows = typed_rows(form, count)
    try:
        rows = declared_rows(rows, which, known_from)
        work.schema = await in_thread(_saved, work.schema, rows, form, which)
        work.max_rows = work.schema.max_rows
    except ShirleyError as error:
        about = _about_schema(work, rows=marked(rows, str(error)), known_from=known_from)
        about["max_rows"] = form.get("max_rows", work.max_rows)
        return refused(request, "schema", error, **about)
    if which:
        return to(f"/t/{work.id}/schema" + (f"#c{which}" if which.isdigit() else ""))
    return to(f"/t/{work.id}/rules" if form.get("then") == "rules" else f"/t/{work.id}/schema")


def _saved(schema: Schema, rows: list[Row], form: FormData, which: str) -> Schema:
    """The schema with what was typed of columns, and of how many rows a person has."""
    found = schema_from(rows, schema, file_known=which in ("all", "file"))
    if found.person is None or "max_rows" not in form:
        return found
    most = _most_rows(str(form["max_rows"]).strip(), found.person)
    same = most == found.max_rows and which != "all"
    return found if same else with_people(found, found.person, most)


@takes_form
async def import_schema(request: Request, form: FormData) -> Response:
    """Take what a schema file or a codebook says of the columns; the others stay as they are."""
    work = work_of(request)
    if work.schema is None:
        return to(f"/t/{work.id}/people")
    try:
        own = (form, work.folder, work.schema, work.names, work.person)
        found, notes = await in_thread(imported, *own)
    except ShirleyError as error:
        rows = rows_of(work.schema, work.names)
        return refused(request, "schema", error, **_about_schema(work, rows=rows, importing=True))
    work.schema, work.imported = found, notes
    work.person, work.max_rows = found.person, found.max_rows
    return to(f"/t/{work.id}/schema")
