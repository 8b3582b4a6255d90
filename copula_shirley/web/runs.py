"""A run: its start, progress, card, pictures and files, and a look beside the rows."""

from __future__ import annotations

from shlex import quote
from typing import Any

from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, Response

from copula_shirley.errors import SettingError, ShirleyError
from copula_shirley.rows.tables import read_table
from copula_shirley.schema.schema import Schema
from copula_shirley.web.bars import bars_of, compared
from copula_shirley.web.budget import refused_release, settings_of
from copula_shirley.web.process import SCHEMA, Child, Run
from copula_shirley.web.views import in_thread, run_of, shown, takes_form, to, work_of
from copula_shirley.web.work import Work

#: A card holds its own style, and loads nothing.
CARD_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; sandbox"
#: A report has a script of its own, and says by its digest that no other one runs.
REPORT_POLICY = f"{CARD_POLICY} allow-scripts; script-src 'unsafe-inline'"


# -- a run -------------------------------------------------------------------------------


@takes_form
async def start_run(request: Request, form: FormData) -> Response:
    work = work_of(request)
    try:
        settings = settings_of(form, work.settings)
        if work.schema is not None and (
            why := settings.generator(work.schema).unproved(work.schema)
        ):
            raise SettingError(f"nothing would be proved about privacy: {why[0]}")
        key, planned = (str(form.get(name, "")) for name in ("key", "planned"))
        run = await in_thread(work.start, key, planned, settings)
    except ShirleyError as error:
        return await refused_release(request, work, error)
    return to(f"/t/{work.id}/runs/{run.number}")


@takes_form
async def another_run(request: Request, form: FormData) -> Response:
    work = work_of(request)
    work.another(str(form.get("key", "")))
    return to(f"/t/{work.id}/release")


def _about_run(work: Work, run: Run) -> dict[str, Any]:
    settings, ledger = run.job.settings, run.job.ledger
    words = [f"--epsilon {settings.epsilon:g}", f"--delta {settings.delta:g}"]
    words += [f"--rows-about {settings.rows}", f"--releases {quote(ledger)}"]
    words += ["--domain measured"] * any(c.provenance == "private" for c in run.schema)
    words += ["--on-unknown clip"] * (settings.on_unknown == "clip")
    words += ["--accept-poor"] * settings.accept_poor
    # An uploaded table lies where the curator has it, which the page does not know.
    table, out = work.data.name if work.uploaded else str(work.data), f"{work.stem}-synthetic.csv"
    model = f"{work.stem}.shirley"
    shell = [
        f"shirley fit {quote(table)} --schema schema.yaml {' '.join(words)} -o {quote(model)}",
        f"shirley sample {quote(model)} -o {quote(out)}",
        f"shirley verify {quote(out)}",
    ]
    how = f"epsilon={settings.epsilon:g}, delta={settings.delta:g}"
    how += ", domain='measured'" if "--domain measured" in words else ""
    how += ", on_unknown='clip'" if settings.on_unknown == "clip" else ""
    python = [
        "from copula_shirley import PrivateVine, ReleaseLedger, Schema, read_table",
        "schema = Schema.read('schema.yaml')",
        f"ledger = ReleaseLedger.open({ledger!r})",
        f"with ledger.reserve(PrivateVine({how}), schema, 'again') as reservation:",
        f"    model = reservation.fit(read_table({table!r}, schema))",
        f"model.sample().to_csv({out!r}, index=False)",
    ]
    return {"work": work, "run": run, "step": "release", "shell": shell, "python": python}


def run_page(request: Request) -> Response:
    work, run = run_of(request)
    return shown(request, "run", **_about_run(work, run))


def run_status(request: Request) -> Response:
    _, run = run_of(request)
    return _status(run)


def _status(child: Child) -> Response:
    return JSONResponse({"state": child.state, "stage": child.stage, "share": child.share})


@takes_form
async def stop_run(request: Request, _: FormData) -> Response:
    work, run = run_of(request)
    await in_thread(run.stop)
    return to(f"/t/{work.id}/runs/{run.number}")


def download(request: Request) -> Response:
    """A file of a release by its name; no other one can be asked for."""
    _, run = run_of(request)
    name = request.path_params["name"]
    path = run.files.get(name)
    if path is None:
        return Response("There is no such file.\n", 404, media_type="text/plain")
    if name == run.result["card"] and "show" in request.query_params:
        headers = {"Content-Security-Policy": CARD_POLICY}
        return FileResponse(path, media_type="text/html", headers=headers)
    return FileResponse(path, media_type="application/octet-stream", filename=name)


# -- beside the real rows ----------------------------------------------------------------


def _beside(request: Request, error: str = "") -> Response:
    work, run = run_of(request)
    code, about = 422 if error else 200, {"work": work, "run": run, "step": "release"}
    return shown(request, "compare", code, error=error, **about)


def comparison(request: Request) -> Response:
    return _beside(request)


@takes_form
async def compare(request: Request, _: FormData) -> Response:
    """Read the rows and show them beside the synthetic ones: for this screen alone."""
    work, run = run_of(request)
    if run.state == "done" and run.comparison is None:
        try:
            run.comparison = await in_thread(_compared, work, run)
        except ShirleyError as error:
            return _beside(request, str(error))
    return to(f"/t/{work.id}/runs/{run.number}/compare")


def _compared(work: Work, run: Run) -> list[dict[str, Any]]:
    schema = Schema.read(run.folder / SCHEMA)
    real = schema.clipped(read_table(work.data, schema), schema.names)
    return compared(run.result["bars"], bars_of(real, schema))


@takes_form
async def make_report(request: Request, form: FormData) -> Response:
    """Begin the evaluation report, or stop it."""
    work, run = run_of(request)
    if form.get("then") == "stop" and run.report is not None:
        await in_thread(run.report.stop)
    else:
        await in_thread(work.judge, run)
    return to(f"/t/{work.id}/runs/{run.number}/compare#report")


def report(request: Request) -> Response:
    _, run = run_of(request)
    if run.report is None or run.report.state != "done":
        return Response("There is no report yet.\n", 404, media_type="text/plain")
    headers = {"Content-Security-Policy": REPORT_POLICY}
    return FileResponse(run.report.path, media_type="text/html", headers=headers)


def report_status(request: Request) -> Response:
    _, run = run_of(request)
    return _status(run.report or run)
