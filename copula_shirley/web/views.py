"""What all pages share: templates, forms with their token, and the table of an address."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import cache
from pathlib import Path, PurePath
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import FormData, UploadFile
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from copula_shirley.errors import SettingError
from copula_shirley.web.guard import Session, same
from copula_shirley.web.process import Run
from copula_shirley.web.words import page_words
from copula_shirley.web.work import Desk, Work

HERE = Path(__file__).parent
#: Fields of one form: a schema of a thousand columns has some 8,000.
MOST_FIELDS = 50_000
#: A schema and the lists that it names.
MOST_FILES = 500
STEPS = ("table", "schema", "rules", "release")
in_thread = run_in_threadpool
Handler = Callable[[Request, FormData], Awaitable[Response]]


@cache
def environment() -> Environment:
    found = Environment(
        loader=FileSystemLoader(HERE / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    found.filters["page_words"] = page_words
    return found


def shown(request: Request, template: str, code: int = 200, **more: Any) -> HTMLResponse:
    """A page; an ``error`` is shown at its top."""
    session: Session = request.app.state.session
    own = {"form_token": session.form, "error": "", "work": None, "step": "", "steps": STEPS}
    text = environment().get_template(f"{template}.html.jinja").render(**{**own, **more})
    return HTMLResponse(text, status_code=code)


def refused(request: Request, template: str, error: Exception, **more: Any) -> HTMLResponse:
    """A page again, with what was wrong."""
    return shown(request, template, 422, error=str(error), **more)


def to(path: str) -> Response:
    """Lead on by a GET, so that a reload sends no form again."""
    return RedirectResponse(path, status_code=303)


def takes_form(handler: Handler) -> Callable[[Request], Awaitable[Response]]:
    """Give a handler the form of one of our own pages, and keep what it changed of the table.

    What was uploaded with the form is closed.
    """

    async def handled(request: Request) -> Response:
        session: Session = request.app.state.session
        async with request.form(
            max_files=MOST_FILES, max_fields=MOST_FIELDS, max_part_size=2**24
        ) as form:
            if not same(str(form.get("form_token", "")), session.form):
                raise HTTPException(403, "This form is of another run of the page; open it again.")
            answer = await handler(request, form)
        work = desk_of(request).works.get(request.path_params.get("work", ""))
        if work is not None:
            await in_thread(work.keep)
        return answer

    return handled


def desk_of(request: Request) -> Desk:
    found: Desk = request.app.state.desk
    return found


def work_of(request: Request) -> Work:
    """The table that the address names."""
    found = desk_of(request).works.get(request.path_params["work"])
    if found is None:
        raise HTTPException(404, "There is no such table here any more.")
    return found


def run_of(request: Request) -> tuple[Work, Run]:
    work, number = work_of(request), request.path_params["number"]
    if not 1 <= number <= len(work.runs):
        raise HTTPException(404, "There is no such run.")
    return work, work.runs[number - 1]


def plain_name(upload: UploadFile) -> str:
    """The last part of the name of an uploaded file, under which it is kept."""
    name = PurePath(str(upload.filename).replace("\\", "/")).name
    if not name or name.startswith(".") or not name.isprintable() or len(name.encode()) > 200:
        raise SettingError("the name of the file must be an ordinary one, such as table.csv")
    return name


def typed_path(text: Any) -> Path:
    """The path that was typed into a form; ``~`` is one's home."""
    typed = str(text or "").strip()
    try:
        found = Path(typed).expanduser().absolute()
    except RuntimeError:
        raise SettingError(f"path ({typed!r}) begins with the home of nobody") from None
    if "\0" in typed:
        raise SettingError(f"path ({typed!r}) must be that of a file")
    return found
