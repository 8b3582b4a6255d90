"""The addresses of the page. GET shows and changes nothing; what spends or changes is a POST."""

from __future__ import annotations

from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import Mount, Route

from copula_shirley.privacy.card_page import HERE as CARD
from copula_shirley.privacy.card_page import STYLE
from copula_shirley.web import budget, rules, runs, steps
from copula_shirley.web.guard import Session
from copula_shirley.web.views import HERE, shown
from copula_shirley.web.work import Desk

#: Files that every page loads; the style of cards is that of the page.
STATIC = {
    "card.css": CARD / STYLE,
    **{name: HERE / "static" / name for name in ("page.css", "page.js", "icon.svg")},
}


def static(request: Request) -> Response:
    path = STATIC.get(request.path_params.get("name", "icon.svg"))
    if path is None:
        raise HTTPException(404, "There is no such file.")
    return FileResponse(path)


def fault(request: Request, error: Exception) -> Response:
    """What went wrong, without a traceback, which could quote rows."""
    if isinstance(error, HTTPException):
        return shown(request, "message", error.status_code, text=str(error.detail))
    return shown(request, "message", 500, text=f"internal error ({type(error).__name__})")


def page_app(desk: Desk, session: Session) -> Starlette:
    """The application without its guard."""
    get: Any = {"methods": ["GET"]}
    post: Any = {"methods": ["POST"]}
    table = [
        Route("/people", steps.people, **get),
        Route("/people", steps.set_people, **post),
        Route("/schema", steps.schema_table, **get),
        Route("/schema", steps.save_schema, **post),
        Route("/import", steps.import_schema, **post),
        Route("/rules", rules.rules, **get),
        Route("/rules", rules.save_rules, **post),
        Route("/rule", rules.change_rules, **post),
        Route("/release", budget.release, **get),
        Route("/preview", budget.preview, **get),
        Route("/ledger", budget.set_ledger, **post),
        Route("/runs", runs.start_run, **post),
        Route("/another", runs.another_run, **post),
        Route("/end", steps.end, **post),
        Route("/runs/{number:int}", runs.run_page, **get),
        Route("/runs/{number:int}/status", runs.run_status, **get),
        Route("/runs/{number:int}/stop", runs.stop_run, **post),
        Route("/runs/{number:int}/files/{name}", runs.download, **get),
        Route("/runs/{number:int}/compare", runs.comparison, **get),
        Route("/runs/{number:int}/compare", runs.compare, **post),
        Route("/runs/{number:int}/report", runs.report, **get),
        Route("/runs/{number:int}/report", runs.make_report, **post),
        Route("/runs/{number:int}/report/status", runs.report_status, **get),
    ]
    routes = [
        Route("/", steps.start, **get),
        Route("/tables", steps.add_table, **post),
        Route("/static/{name}", static, **get),
        Route("/favicon.ico", static, **get),
        Mount("/t/{work}", routes=table),
    ]
    handlers: Any = {HTTPException: fault, Exception: fault}
    app = Starlette(routes=routes, exception_handlers=handlers)
    app.state.desk, app.state.session = desk, session
    return app
