"""``shirley page``: serve the page to one browser on this machine until it is stopped."""

from __future__ import annotations

import ipaddress
import socket
import tempfile
import webbrowser
from contextlib import closing
from functools import partial
from html import escape
from pathlib import Path
from typing import Annotated, Any

import python_multipart  # noqa: F401  (forms need it; missing extras show at once)
import typer
import uvicorn

from copula_shirley.cli.options import DATA, OUTPUT, option
from copula_shirley.cli.terminal import alarm, messages
from copula_shirley.errors import SettingError
from copula_shirley.web.app import page_app
from copula_shirley.web.guard import LOOPBACK, Session, guarded
from copula_shirley.web.work import Desk


def page(
    host: Annotated[str, option(OUTPUT, "Address to listen on.")] = LOOPBACK[0],
    port: Annotated[int, option(OUTPUT, "Port; 0 takes a free one.", min=0, max=65535)] = 0,
    allow_remote: Annotated[
        bool,
        option(
            OUTPUT,
            "Listen on an address that other machines reach, without encryption.",
            "--allow-remote",
        ),
    ] = False,
    max_upload: Annotated[
        int, option(DATA, "Largest table that is uploaded, in MiB.", min=1)
    ] = 1024,
    folder: Annotated[
        Path | None, option(OUTPUT, "Where tables and releases are kept, for you alone.")
    ] = None,
    browser: Annotated[
        bool, option(OUTPUT, "Open the page in the browser.", "--browser/--no-browser")
    ] = False,
) -> None:
    """Serve a page in the browser that leads from a table to a release; nothing leaves the machine.

    Stop it with Ctrl+C; copies of uploaded tables are deleted then. Schemas and releases are kept
    until you forget them on the page.
    """
    remote = host != "localhost" and not _is_loopback(host)
    if remote and not allow_remote:
        raise SettingError(
            f"host ({host!r}) must be 127.0.0.1 or localhost: others could reach the rows; "
            "add --allow-remote if they shall"
        )
    named = f"[{host}]" if ":" in host else host
    hosts = (*LOOPBACK, host, named, *([socket.gethostname()] if remote else []))
    place = folder or Path(typer.get_app_dir("shirley", roaming=False)) / "page"
    place = place.expanduser().absolute()
    session = Session()
    with _bound(host, port) as bound, closing(_desk(place)) as desk, closing(session):
        if remote:
            alarm("Other machines can reach this page, and what is sent to it is not encrypted.")
        shown = socket.gethostname() if host in ("0.0.0.0", "::") else named
        address = f"http://{shown}:{bound.getsockname()[1]}/?token={session.token}"
        say = partial(messages.print, soft_wrap=True, markup=False, highlight=False)
        say(f"The page is at {address}")
        say(
            "The address works once. Ctrl+C stops the page. Schemas and releases are kept in "
            f"{place} until you forget them there; copies of uploaded tables are deleted."
        )
        if browser:
            session.entry_file = entry_file(place, address)
            webbrowser.open(session.entry_file.as_uri())
        _serve(guarded(page_app(desk, session), session, hosts, max_upload * 2**20), bound)


def _desk(folder: Path) -> Desk:
    try:
        return Desk(folder)
    except OSError as error:
        reason = error.strerror or error
        raise SettingError(f"folder ({str(folder)!r}) cannot be used: {reason}") from None


def entry_file(folder: Path, address: str) -> Path:
    """A file for the user alone that leads the browser in: others see what processes are told."""
    number, name = tempfile.mkstemp(".html", "open-", folder)
    with open(number, "w", encoding="utf-8") as file:
        file.write(
            '<!doctype html><meta charset="utf-8"><meta name="referrer" content="no-referrer">'
            f'<meta http-equiv="refresh" content="0;url={escape(address)}">'
            f'<title>shirley</title><a href="{escape(address)}">To the page</a>\n'
        )
    return Path(name)


def _serve(app: Any, bound: socket.socket) -> None:
    how: Any = {"log_config": None, "access_log": False, "server_header": False}
    # a log of requests would hold the token, a traceback could quote rows
    config = uvicorn.Config(
        app, log_level=100, proxy_headers=False, ws="none", timeout_graceful_shutdown=2, **how
    )
    uvicorn.Server(config).run(sockets=[bound])


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _bound(host: str, port: int) -> socket.socket:
    """A socket that listens there, or one error."""
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        return socket.create_server((host, port), family=family)
    except OSError as error:
        where = f"host ({host!r}), port ({port})"
        raise SettingError(f"{where} cannot be listened on: {error.strerror or error}") from None
