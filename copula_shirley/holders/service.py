"""A holder behind HTTPS: the messages that are carried by hand elsewhere, one request each.

The service takes a message of the coordinator and gives this holder's reply, after the same checks.
Whoever asks must show the token; what is sent twice gets the same reply again, byte by byte. Why a
message was refused is told to this holder alone: a fault of its table is private. An agreement is
stored and not signed: a person compares its fingerprint and runs ``shirley holder join``.
"""

from __future__ import annotations

import hmac
import tempfile
from collections.abc import Callable
from pathlib import Path
from threading import Lock

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from copula_shirley.errors import ShirleyError
from copula_shirley.holders.folders import IN, OUT, kept_reply, open_holder, respond
from copula_shirley.holders.messages import ENDING, Message

#: Bytes of a message.
LARGEST = 2**26
PATH = "/messages"


def service(folder: Path, token: str, told: Callable[[str], None]) -> Starlette:
    """The application of one holder; ``told`` gets why a message was refused."""
    open_holder(folder)  # a folder that is none is refused now
    one_at_a_time = Lock()

    def answered(content: bytes) -> bytes | None:
        with one_at_a_time, tempfile.TemporaryDirectory(dir=folder) as place:
            arrived = Path(place) / f"message{ENDING}"
            arrived.write_bytes(content)
            message = Message.read(arrived)
            if message.kind == "agreement":
                message.write(folder / IN / f"agreement{ENDING}")
                found = next((folder / OUT).glob(f"signature.*{ENDING}"), None)
                return None if found is None else found.read_bytes()
            reply = kept_reply(folder, message) or respond(folder, message)
            return None if reply is None else reply.read_bytes()

    async def messages(request: Request) -> Response:
        given = request.headers.get("authorization", "")
        if not hmac.compare_digest(given.encode(), f"Bearer {token}".encode()):
            return Response("the token is not that of this holder\n", 401)
        content = bytearray()
        async for block in request.stream():
            content += block
            if len(content) > LARGEST:
                return Response("the message is too large\n", 413)
        try:
            reply = await run_in_threadpool(answered, bytes(content))
        except ShirleyError as error:
            told(str(error))
            return Response("refused; the holder knows why\n", 409)
        except Exception as error:  # its text may quote rows
            told(f"internal error ({type(error).__name__})")
            return Response("refused; the holder knows why\n", 500)
        if reply is None:
            return Response("there is no reply to this message yet\n", 425)
        return Response(reply, media_type="application/octet-stream")

    return Starlette(routes=[Route(PATH, messages, methods=["POST"])])
