"""A privacy card as one page that needs nothing but itself.

Names of columns and categories are untrusted text: everything is escaped, no script runs, and
nothing is fetched. The page carries the card as JSON for machines, and ends in the digest of all
that stands before it. Equal cards of one version of this package give equal pages.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined, TemplateError
from markupsafe import Markup

from copula_shirley.errors import ArtefactError
from copula_shirley.privacy.card import Card
from copula_shirley.privacy.card_words import RANDOMNESS, percent, unit_in_words
from copula_shirley.privacy.ledger import Ledger

HERE = Path(__file__).parent
TEMPLATE, STYLE = "card.html.jinja", "card.css"
PROVENANCES = {
    "declared": "known beforehand, as the curator says",
    "drafted": "read off the rows, a fact about them that nothing protects",
    "measured": "read off noisy counts that the budget paid for",
}
MOODS = {
    "proved": "good",
    "proved, but weak": "warn",
    "proved, but not for release": "warn",
    "nothing proved": "bad",
}
#: Before and after the digest at the end of a page.
DIGEST_START, DIGEST_END = "<!--sha256:", "-->\n"


def page_of(card: Card, file: Mapping[str, str] | None = None, made: str | None = None) -> str:
    """The page of a card.

    ``file`` has name and sha256 of the file that the card lies beside, and what was ``given`` for
    its rows; ``made`` says when.
    """
    ledger = Ledger.from_dict(card.ledger)
    summary = dict(ledger.summary())
    try:
        mood, randomness = MOODS[card.words.verdict], RANDOMNESS[card.randomness]
    except KeyError as error:
        raise ArtefactError(f"the card is not readable: {error} is no such word") from None
    domains = {c.domain for c in card.columns}
    try:
        page = (
            _environment()
            .get_template(TEMPLATE)
            .render(
                card=card,
                file=file,
                made=made,
                mood=mood,
                **{name: summary[name] for name in ("claimed", "proved", "spent")},
                by_zcdp=summary.get("by zCDP"),
                unit=unit_in_words(ledger),
                unprotected=ledger.grouped_unprotected(),
                randomness=randomness,
                provenances=PROVENANCES,
                seen={"measured" if d == "private" else d for d in domains},
                percent=percent,
                style=Markup((HERE / STYLE).read_text(encoding="utf-8")),
                template_id=template_id(),
                data=Markup(_embeddable({"card": card.to_dict(), "file": file, "made": made})),
            )
        )
    except TemplateError as error:
        raise ArtefactError(f"the card is not readable: {error}") from None
    return page + DIGEST_START + digest_of(page.encode("utf-8", "replace")) + DIGEST_END


def digest_of(page: bytes) -> str:
    return hashlib.sha256(page).hexdigest()


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
    """Names the look of the page: pages of the same look can be made again and compared."""
    parts = [(HERE / name).read_bytes() for name in (TEMPLATE, STYLE)]
    return hashlib.sha256(b"\0".join(parts)).hexdigest()[:12]


def _embeddable(value: Any) -> str:
    """JSON that no HTML parser can take for markup."""
    text = json.dumps(value, allow_nan=False)
    for sign in "<>&":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return text
