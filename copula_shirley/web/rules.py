"""Rules between columns: one by one, or in the YAML of the whole schema."""

from __future__ import annotations

from typing import Any

from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import Response

from copula_shirley import tasks
from copula_shirley.errors import SchemaError, ShirleyError
from copula_shirley.schema.places import line_of
from copula_shirley.schema.schema import Schema
from copula_shirley.web.schema_form import changed_rules
from copula_shirley.web.views import in_thread, refused, shown, takes_form, to, work_of
from copula_shirley.web.words import ON_UNKNOWN
from copula_shirley.web.work import Work


def rules(request: Request) -> Response:
    work = work_of(request)
    if work.schema is None:
        return to(f"/t/{work.id}/people")
    return shown(request, "rules", **_about_rules(work))


def _about_rules(work: Work, text: str | None = None) -> dict[str, Any]:
    """The rules one by one, and the whole schema, as it is or as it was typed."""
    assert work.schema is not None
    own = {"work": work, "step": "rules", "typed": text is not None, "adding": {}}
    own["nearest"] = ON_UNKNOWN["clip"]
    shown_text = work.schema.to_yaml() if text is None else text
    return own | {"names": work.schema.names, "text_of_schema": shown_text}


@takes_form
async def change_rules(request: Request, form: FormData) -> Response:
    """Add a rule, take one away, or say of all where they are known from."""
    work = work_of(request)
    if work.schema is None:
        return to(f"/t/{work.id}/people")
    try:
        found = await in_thread(changed_rules, work.schema, form)
        if "rule" in form:
            await in_thread(work.settings.generator(found).check_settings, found)
    except ShirleyError as error:
        about = _about_rules(work) | {"adding": form}
        return refused(request, "rules", error, **about)
    work.schema = found
    return to(f"/t/{work.id}/rules")


@takes_form
async def save_rules(request: Request, form: FormData) -> Response:
    work = work_of(request)
    if work.schema is None:
        return to(f"/t/{work.id}/people")
    then = str(form.get("then", ""))
    text = str(form.get("yaml", "")) or work.schema.to_yaml()
    try:
        found = await in_thread(_parsed, text)
        if then == "suggest":
            found, work.notes = await in_thread(_suggested, work, found)
        if then == "check":
            work.findings = await in_thread(tasks.check, work.data, found)
    except ShirleyError as error:
        return refused(request, "rules", error, **_about_rules(work, text))
    work.schema, work.person, work.max_rows = found, found.person, found.max_rows
    return to(f"/t/{work.id}/rules" + ("#findings" if then == "check" else ""))


def _suggested(work: Work, schema: Schema) -> tuple[Schema, list[str]]:
    """The schema with rules that all rows keep: it reads the rows, as it was asked to."""
    place = work.folder / "draft.yaml"
    schema.write(place)
    _, notes = tasks.draft(work.data, place, person=schema.person, update=True, suggest_rules=True)
    found = Schema.read(place)
    return found, notes


def _parsed(text: str) -> Schema:
    """A schema from its text; errors name the line."""
    try:
        return Schema.from_yaml(text)
    except SchemaError as error:
        line = line_of(text, str(error))
        where = "" if line is None else f"line {line}: "
        raise SchemaError(f"{where}{error}") from None
