"""Who may talk to the page: one browser, on this machine, that was given the printed address.

A page on 127.0.0.1 can be reached by every web site that the curator's browser shows. So

- the ``Host`` must be ours, which stops DNS rebinding (a foreign name that leads to 127.0.0.1);
- the token of the printed address is good for one visit, which gets a cookie that no script reads
  and no other site sends; nothing is answered without it;
- what changes something is a POST that the browser says comes from our own page (``Origin`` and
  ``Sec-Fetch-Site``), of a known length, with the token of our forms;
- answers may load nothing from elsewhere, run no inline script, and are kept by no cache.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field
from pathlib import Path

from starlette.datastructures import Headers, MutableHeaders, QueryParams
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import HTTPConnection
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

LOOPBACK = ("127.0.0.1", "localhost")
#: Bytes of a form without an uploaded table: schemas have at most 16 MiB.
LARGEST_FORM = 2**25
#: Where a table is uploaded.
UPLOADS = "/tables"
#: Brings the cookie. A redirect would not do: if a file or another program opened the address,
#: browsers would not send a strict cookie with what it leads to.
LET_IN = (
    '<!doctype html><meta charset="utf-8"><meta http-equiv="refresh" content="0;url=/">'
    '<title>shirley</title><a href="/">To the tables</a>\n'
)
#: Headers of every answer; a card brings its own policy, since it holds its own style.
HEADERS = {
    "Content-Security-Policy": "default-src 'self'; base-uri 'none'; form-action 'self'; "
    "frame-ancestors 'none'; object-src 'none'",
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    # not no-referrer: then browsers send "Origin: null" with our own forms
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}


@dataclass
class Session:
    """The secrets of one run of the page."""

    #: In the printed address, good for one visit.
    token: str | None = field(default_factory=lambda: secrets.token_urlsafe(24))
    cookie: str = field(default_factory=lambda: secrets.token_urlsafe(32))
    form: str = field(default_factory=lambda: secrets.token_urlsafe(32))
    #: Pages on other ports share the cookies of 127.0.0.1.
    name: str = field(default_factory=lambda: f"shirley-{secrets.token_hex(4)}")
    #: A file that leads the browser to the printed address, until one has come.
    entry_file: Path | None = None

    def knows(self, connection: HTTPConnection) -> bool:
        return same(connection.cookies.get(self.name, ""), self.cookie)

    def takes(self, token: str) -> bool:
        """Whether a token is the one of the printed address, which then is used up."""
        right = self.token is not None and same(token, self.token)
        if right:
            self.token = None
            self.close()
        return right

    def close(self) -> None:
        """Take away the file with the token."""
        if self.entry_file is not None:
            self.entry_file.unlink(missing_ok=True)


def same(given: str, known: str) -> bool:
    """Whether two secrets are the same, in a time that tells nothing."""
    return secrets.compare_digest(given.encode("utf-8", "replace"), known.encode())


class Guard:
    """Lets requests through that may be answered, and gives all answers their headers."""

    def __init__(self, app: ASGIApp, session: Session, largest_upload: int) -> None:
        self.app, self.session, self.largest_upload = app, session, largest_upload

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        if scope["type"] != "http":  # no web socket is ever opened
            if scope["type"] == "lifespan":
                await self.app(scope, receive, send)
            return
        answer = self._refusal(scope)
        await (answer or self.app)(scope, receive, with_headers)

    def _refusal(self, scope: Scope) -> Response | None:
        """Why a request is not answered, or the cookie for a token; None if it may pass."""
        connection, method = HTTPConnection(scope), scope["method"]
        token = QueryParams(scope["query_string"]).get("token")
        if method == "GET" and token is not None and self.session.takes(token):
            answer = HTMLResponse(LET_IN)
            answer.set_cookie(
                self.session.name, self.session.cookie, httponly=True, samesite="strict"
            )
            return answer
        if not self.session.knows(connection):
            return _refused(403, "Open the address that 'shirley page' printed; it works once.")
        if token is not None:  # a reload of the printed address
            return RedirectResponse("/", status_code=303)
        if method in ("GET", "HEAD"):
            return None
        if method != "POST":
            return _refused(405, "The page knows GET and POST.")
        return self._refused_post(scope["path"], Headers(scope=scope))

    def _refused_post(self, path: str, headers: Headers) -> Response | None:
        origin, own = headers.get("origin"), f"http://{headers.get('host')}"
        if headers.get("sec-fetch-site") != "same-origin" or origin != own:
            return _refused(403, "This form does not come from the page itself.")
        length = headers.get("content-length", "")
        if not length.isascii() or not length.isdigit():
            return _refused(411, "A form must say how long it is.")
        most = self.largest_upload if path == UPLOADS else LARGEST_FORM
        if int(length) > most:
            return _refused(
                413,
                f"This has {int(length) / 2**20:,.0f} MiB; at most {most / 2**20:,.0f} are taken. "
                "Name the file by its path instead: then it is not copied.",
            )
        return None


def _refused(code: int, text: str) -> Response:
    return PlainTextResponse(f"{text}\n", status_code=code)


def guarded(
    app: ASGIApp, session: Session, hosts: tuple[str, ...] = LOOPBACK, largest_upload: int = 2**30
) -> ASGIApp:
    """An application behind the guard."""
    inner = Guard(app, session, largest_upload)
    return TrustedHostMiddleware(inner, allowed_hosts=list(hosts), www_redirect=False)
