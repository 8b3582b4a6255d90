"""A privacy card as one page that needs nothing but itself, and back.

Names of columns and categories are untrusted text: everything is escaped, no script runs, and
nothing is fetched. The page carries the card as JSON for machines, and ends in the digest of all
that stands before it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined, TemplateError
from markupsafe import Markup

from copula_shirley.cli.ending import one_line
from copula_shirley.errors import ArtefactError
from copula_shirley.files.archive import LARGEST_HEADER, parse_json
from copula_shirley.files.atomic import check_regular
from copula_shirley.files.digest import file_sha256
from copula_shirley.privacy.ledger import Ledger
from copula_shirley.publish.card import RANDOMNESS, percent, unit_in_words

HERE = Path(__file__).parent
TEMPLATE, STYLE = "card.html.jinja", "card.css"
PROVENANCES = {
    "declared": "known beforehand, as the curator says",
    "drafted": "read off the rows, a fact about them that nothing protects",
    "bought": "read off noisy counts that the budget paid for",
}
MOODS = {"proved": "good", "proved, but not for release": "warn", "nothing proved": "bad"}
START, END = '<script type="application/json" id="card">', "</script>"
SEAL, CLOSE = b"<!--sha256:", b"-->\n"


def card_html(
    card: Mapping[str, Any], file: Mapping[str, str] | None = None, made: str | None = None
) -> str:
    """The page of a card.

    Parameters
    ----------
    card : dict
        From ``card_of`` or ``Generator.card``.
    file : dict, optional
        Name and sha256 of the file that the card lies beside, and what was ``given`` for its rows.
    made : str, optional
        When.
    """
    try:
        page = _rendered(card, file, made)
    except (LookupError, TypeError, AttributeError, ValueError, ArithmeticError, TemplateError):
        raise ArtefactError("the card is not readable: it lacks entries, or they are odd") from None
    digest = hashlib.sha256(page.encode("utf-8", "replace")).hexdigest()
    return page + SEAL.decode() + digest + CLOSE.decode()


def _rendered(card: Mapping[str, Any], file: Mapping[str, str] | None, made: str | None) -> str:
    ledger = Ledger.from_dict(card["ledger"])
    summary = dict(ledger.summary())
    domains = {c["domain"] for c in card["columns"]}
    return (
        _environment()
        .get_template(TEMPLATE)
        .render(
            card=card,
            file=file,
            made=made,
            ledger=card["ledger"],
            words=card["words"],
            meaning=card["meaning"],
            mood=MOODS[card["words"]["verdict"]],
            claimed=summary["claimed"],
            proved=summary["proved"],
            spent=summary["spent"],
            unit=unit_in_words(ledger),
            unprotected=ledger.grouped_unprotected(),
            randomness=RANDOMNESS[card["randomness"]],
            provenances=PROVENANCES,
            seen={"bought" if d == "private" else d for d in domains},
            percent=percent,
            style=Markup((HERE / STYLE).read_text(encoding="utf-8")),
            template_id=template_id(),
            data=Markup(_embeddable({"card": card, "file": file, "made": made})),
        )
    )


@lru_cache(1)
def _environment() -> Environment:
    return Environment(
        loader=FileSystemLoader(HERE),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


@lru_cache(1)
def template_id() -> str:
    """Names the look of the page: pages of the same look can be compared."""
    parts = [(HERE / name).read_bytes() for name in (TEMPLATE, STYLE)]
    return hashlib.sha256(b"\0".join(parts)).hexdigest()[:12]


def _embeddable(value: Any) -> str:
    """JSON that no HTML parser can take for markup."""
    text = json.dumps(value, allow_nan=False)
    for sign in "<>&":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return text


def write_page(
    page: Path,
    card: Mapping[str, Any],
    name: str,
    content: Path,
    given: Sequence[str] | None = None,
) -> None:
    """Write the card of a file to ``page``.

    Parameters
    ----------
    page : path to write
    card : the card
    name : what the file is called once it is in its place
    content : where its bytes are now
    given : conditions under which its rows were drawn, as they were typed
    """
    file = {"name": one_line(name), "sha256": file_sha256(content)}
    if given:
        file["given"] = one_line(", ".join(given))
    made = datetime.now(UTC).isoformat(timespec="seconds")
    page.write_text(card_html(card, file, made), encoding="utf-8", errors="replace", newline="")


def read_page(path: Path) -> dict[str, Any]:
    """What a page carries for machines: card, file, made; and whether its digest fits."""
    where = repr(str(path))
    check_regular(path, ArtefactError)
    try:
        with open(path, "rb") as file:
            content = file.read(LARGEST_HEADER + 1)
    except OSError as error:
        reason = "does not exist" if isinstance(error, FileNotFoundError) else "cannot be read"
        raise ArtefactError(f"card {where} {reason}") from None
    if len(content) > LARGEST_HEADER:
        raise ArtefactError(f"card {where} must have at most {LARGEST_HEADER:,} bytes")
    body, mark, end = content.rpartition(SEAL)
    try:
        text = content.decode("utf-8")
        start = text.index(START) + len(START)
        data = parse_json(text[start : text.index(END, start)].encode())
    except ArtefactError as error:
        raise ArtefactError(f"card {where} is damaged: {error}") from None
    except (ValueError, RecursionError):
        raise ArtefactError(f"{where} is no privacy card of this project") from None
    if not isinstance(data, dict) or data.keys() != {"card", "file", "made"}:
        raise ArtefactError(f"{where} is no privacy card of this project")
    digest = hashlib.sha256(body).hexdigest().encode()
    return {**data, "whole": bool(mark) and end == digest + CLOSE, "text": text}
