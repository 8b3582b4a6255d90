"""How much a release may tell: budget, plan, made-up rows, and the release ledger."""

from __future__ import annotations

import math
from typing import Any
from urllib.parse import urlencode

from starlette.datastructures import FormData, QueryParams
from starlette.requests import Request
from starlette.responses import Response

from copula_shirley import tasks
from copula_shirley.errors import SettingError, ShirleyError
from copula_shirley.files.texts import some
from copula_shirley.privacy.budget import Budget, check_epsilon
from copula_shirley.publish.releases import ReleaseLedger, within
from copula_shirley.schema.schema import Schema
from copula_shirley.web.bars import bars_of, compared
from copula_shirley.web.process import Settings
from copula_shirley.web.views import in_thread, refused, shown, takes_form, to, typed_path, work_of
from copula_shirley.web.words import ON_UNKNOWN
from copula_shirley.web.work import Work

#: Cap of a new ledger unless told otherwise, and the names under which forms send settings.
CAP = {"epsilon": 3.0, "delta": 1e-8}
MOST_ROWS = 10**12
#: Rows of a preview that are shown, and the most pairs of columns.
SHOWN_ROWS, SHOWN_PAIRS = 8, 12
#: Settings that the address of a plan and of a preview holds.
SENT = ("epsilon", "delta", "rows", "on_unknown")


def number_of(given: FormData | QueryParams, name: str, default: float) -> float:
    text = str(given.get(name, "")).strip()
    try:
        found = float(text) if text else default
    except ValueError:
        found = math.nan
    if not math.isfinite(found):
        raise SettingError(f"{name} ({text!r}) must be a number, such as 0.5 or 1e-9")
    return found


def settings_of(given: FormData | QueryParams, before: Settings) -> Settings:
    """The settings that a form sends; what it leaves out stays."""
    epsilon = number_of(given, "epsilon", before.epsilon)
    delta = number_of(given, "delta", before.delta)
    rows = number_of(given, "rows", before.rows)
    try:
        check_epsilon(epsilon)
    except ShirleyError as error:
        raise SettingError(f"epsilon ({epsilon:g}): {error}") from None
    if not 0 <= rows <= MOST_ROWS or rows != int(rows):  # 0: not said yet
        raise SettingError(f"rows ({rows:g}) must be a whole number from 1 to {MOST_ROWS:,}")
    sent = "epsilon" in given
    clip = given.get("on_unknown") == "clip" if sent else before.on_unknown == "clip"
    poor = bool(given.get("accept_poor")) if sent else before.accept_poor
    return Settings(epsilon, delta, int(rows), "clip" if clip else "refuse", poor)


def query_of(settings: Settings) -> str:
    return urlencode({name: getattr(settings, name) for name in SENT})


def drafts_of(schema: Schema) -> list[tuple[str, str]]:
    """What was read off the rows and nobody has confirmed, and the step where one can."""
    columns = [column.name for column in schema if column.provenance == "drafted"]
    left = [each.name for each in schema.left_out if each.provenance == "drafted"]
    rules = sum(rule.provenance == "drafted" for rule in schema.rules)
    found = {
        f"what may stand in {some(columns)}": ("schema", columns),
        f"that {some(left)} {'is' if len(left) == 1 else 'are'} left out": ("schema", left),
        "how the file is written": ("schema", schema.file.provenance == "drafted"),
        "how many rows a person has": ("schema", schema.person_provenance == "drafted"),
        f"{rules} {'rule' if rules == 1 else 'rules'}": ("rules", rules),
    }
    return [(text, step) for text, (step, there) in found.items() if there]


def _about_release(work: Work, settings: Settings) -> dict[str, Any]:
    """What is known before the release, from public information alone."""
    assert work.schema is not None
    about: dict[str, Any] = {"settings": settings, "step": "release", "work": work, "cap": CAP}
    about |= {"planned": None, "outlook": None, "pairs": [], "unproved": [], "trouble": ""}
    about |= {"ledger": None, "after": None, "over": False, "most_pairs": SHOWN_PAIRS}
    about["on_unknown"] = ON_UNKNOWN
    about["query"] = query_of(settings)
    about["place"] = str(work.ledger or work.source.with_name(f"{work.stem}.releases.json"))
    try:
        if work.ledger is not None:
            about["ledger"] = ReleaseLedger.open(work.ledger)
        generator = settings.generator(work.schema)
        if reasons := generator.unproved(work.schema):
            about["unproved"] = drafts_of(work.schema) or [(text, "schema") for text in reasons]
        if settings.rows:
            about["planned"] = planned = tasks.plan(work.schema, settings.rows, generator)
            about["outlook"] = generator.outlook(work.schema, settings.rows)
            about["pairs"] = sorted(planned.pairs.items(), key=lambda pair: -pair[1])
        if about["ledger"] is not None and not about["unproved"]:
            ledger = about["ledger"]
            about["after"] = ledger.total_with(ledger.price(generator, work.schema))
            about["over"] = not within(about["after"], ledger.cap)
    except ShirleyError as error:
        about["trouble"] = str(error)
    return about


async def release(request: Request) -> Response:
    work = work_of(request)
    if work.schema is None:
        return to(f"/t/{work.id}/people")
    try:
        settings = settings_of(request.query_params, work.settings)
    except ShirleyError as error:
        return await refused_release(request, work, error)
    return shown(request, "release", **await in_thread(_about_release, work, settings))


async def preview(request: Request) -> Response:
    """Made-up rows as a fit with these settings would draw them; no row of the table is read."""
    work = work_of(request)
    settings = work.settings
    try:
        settings = settings_of(request.query_params, settings)
        if work.schema is None or not settings.rows:
            raise SettingError("a preview needs a schema and about how many rows there are")
        found = await in_thread(settings.generator(work.schema).preview, work.schema, settings.rows)
        tables = (found.drawn, found.even)
        bars = await in_thread(lambda: compared(*(bars_of(t, found.schema) for t in tables)))
    except ShirleyError as error:
        return await refused_release(request, work, error, settings)
    rows = found.drawn.head(SHOWN_ROWS)
    texts = rows.apply(lambda values: values.astype(str).where(values.notna(), ""))
    about: dict[str, Any] = {"work": work, "settings": settings, "step": "release"}
    about |= {"query": query_of(settings), "names": [*rows], "bars": bars}
    about["cells"] = texts.to_numpy().tolist()
    return shown(request, "preview", **about, unknown=found.unknown)


@takes_form
async def set_ledger(request: Request, form: FormData) -> Response:
    """Open the release ledger, or start one."""
    work = work_of(request)
    try:
        path = typed_path(form.get("ledger"))
        if path.suffix != ".json":
            raise SettingError(f"ledger ({str(path)!r}) must end in .json")
        if not path.exists():
            cap = Budget(*(number_of(form, f"cap_{n}", CAP[n]) for n in ("epsilon", "delta")))
            unit = "person" if work.person is not None else "row"
            await in_thread(lambda: ReleaseLedger.new(path, cap, unit=unit))  # type: ignore[arg-type]
        work.ledger = ReleaseLedger.open(path).path
        work.settings = settings_of(form, work.settings)
    except (ShirleyError, OSError) as error:
        return await refused_release(request, work, error)
    return to(f"/t/{work.id}/release")


async def refused_release(
    request: Request, work: Work, error: Exception, settings: Settings | None = None
) -> Response:
    """The release step once more, with what was wrong."""
    about = await in_thread(_about_release, work, settings or work.settings)
    return refused(request, "release", error, **about)
