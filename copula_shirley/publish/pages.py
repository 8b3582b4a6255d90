"""The page of a privacy card beside its file: written, and read back with limits."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct

from copula_shirley.errors import ArtefactError
from copula_shirley.files.archive import LARGEST_HEADER
from copula_shirley.files.atomic import read_bytes
from copula_shirley.files.digest import file_sha256
from copula_shirley.files.plain_json import parse_json
from copula_shirley.files.texts import one_line
from copula_shirley.privacy.card import Card
from copula_shirley.privacy.card_page import DIGEST_END, DIGEST_START, digest_of, page_of

START, END = '<script type="application/json" id="card">', "</script>"


class AboutFile(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """What a card says of the file that it lies beside: nothing that could be a promise."""

    name: Annotated[str, Meta(max_length=255)]
    sha256: Annotated[str, Meta(pattern=r"\A[0-9a-f]{64}\Z")]
    #: The condition under which the rows of a table were drawn.
    given: Annotated[str, Meta(pattern="[=<>]")] | None = None


class Page(Struct, frozen=True, forbid_unknown_fields=True):
    """What a page carries for machines."""

    card: Any
    file: AboutFile | None
    #: Date and time, in UTC.
    made: Annotated[str, Meta(pattern=r"\A\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00\Z")] | None


def write_page(
    page: Path, card: Card, name: str, content: Path, given: Sequence[str] | None = None
) -> None:
    """Write the card of a file to ``page``.

    The file will be called ``name``, its bytes are in ``content`` now, and its rows were drawn
    under the conditions ``given``, as they were typed.
    """
    file = {"name": one_line(name), "sha256": file_sha256(content)}
    if given:
        file["given"] = one_line(", ".join(given))
    made = datetime.now(UTC).isoformat(timespec="seconds")
    page.write_text(page_of(card, file, made), encoding="utf-8", errors="replace", newline="")


def read_page(path: Path) -> tuple[Page, bytes]:
    """What a page carries for machines, and its bytes; or one ``ArtefactError``."""
    where = repr(str(path))
    content = read_bytes(path, LARGEST_HEADER, ArtefactError, "card")
    try:
        text = content.decode("utf-8")
        start = text.index(START) + len(START)
        said = parse_json(text[start : text.index(END, start)].encode())
        return msgspec.convert(said, Page), content
    except ArtefactError as error:
        raise ArtefactError(f"card {where} is damaged: {error}") from None
    except msgspec.ValidationError as error:
        raise ArtefactError(f"{where} is no privacy card of this project: {error}") from None
    except (ValueError, RecursionError):
        raise ArtefactError(f"{where} is no privacy card of this project") from None


def is_whole(content: bytes) -> bool:
    """Whether a page ends in the digest of what stands before it."""
    body, _, end = content.rpartition(DIGEST_START.encode())
    return end == (digest_of(body) + DIGEST_END).encode()
