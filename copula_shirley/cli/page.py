"""``shirley page``: serve the page to one browser on this machine until it is stopped."""

from __future__ import annotations

import ipaddress
import shutil
import socket
import tempfile
import webbrowser
from pathlib import Path
from typing import Annotated, Any

import python_multipart  # noqa: F401  (forms need it; missing extras show at once)
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
    browser: Annotated[
        bool, option(OUTPUT, "Open the page in the browser.", "--browser/--no-browser")
    ] = False,
) -> None:
    """Serve a page in the browser that leads from a table to a release; nothing leaves the machine.

    Stop it with Ctrl+C; uploaded tables and drafts are deleted then.
    """
    remote = host != "localhost" and not _is_loopback(host)
    if remote and not allow_remote:
        raise SettingError(
            f"host ({host!r}) must be 127.0.0.1 or localhost: others could reach the rows; "
            "add --allow-remote if they shall"
        )
    hosts = (*LOOPBACK, host, *([socket.gethostname()] if remote else []))
    bound, session = _bound(host, port), Session()
    folder = Path(tempfile.mkdtemp(prefix="shirley-page-"))  # for nobody else to read
    desk = Desk(folder)
    try:
        if remote:
            alarm("Other machines can reach this page, and what is sent to it is not encrypted.")
        shown = socket.gethostname() if host in ("0.0.0.0", "::") else host
        address = f"http://{shown}:{bound.getsockname()[1]}/?token={session.token}"
        messages.print(f"The page is at {address}", soft_wrap=True, markup=False, highlight=False)
        messages.print("The address works once. Ctrl+C stops the page and deletes what it copied.")
        if browser:
            webbrowser.open(address)
        _serve(guarded(page_app(desk, session), session, hosts, max_upload * 2**20), bound)
    finally:
        desk.stop()
        shutil.rmtree(folder, ignore_errors=True)


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
