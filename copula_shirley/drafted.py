"""What a schema says of the rows because it was drafted from them, and what to do about it."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from copula_shirley.files.texts import some
from copula_shirley.privacy.ledger import Reason
from copula_shirley.schema.schema import Schema

#: A draft proves nothing for one of these reasons; the text says what a curator does about it.
ADVICE = {
    Reason.DRAFTED_LEFT_OUT: "what is left out ({names}) was drafted from the rows: "
    "set provenance: declared where you agree with the reason",
    Reason.DRAFTED_PEOPLE: "{names} was counted in the rows: declare it with a source",
    Reason.DRAFTED_FILE: "how texts are read ({names}) was drafted from the rows: set provenance: "
    "declared there where you agree",
    Reason.DRAFTED_RULE: "rules ({names}) were drafted from the rows: set provenance: "
    "declared where you know from documentation that every row keeps the rule",
} | dict.fromkeys(
    (Reason.DRAFTED_DOMAIN, Reason.DRAFTED_KIND),
    "kinds, bounds and categories ({names}) were drafted from the rows: review "
    "them, set provenance: declared and a source where you know all of it, and provenance: private "
    "where you know the kind alone (private-vine with --domain measured buys the rest)",
)


def uses_of_drafts(schema: Schema, bought: Collection[str]) -> Iterator[tuple[str, Reason]]:
    """What a schema says of the rows because it was drafted from them."""
    for name in schema.drafted:
        yield name, Reason.DRAFTED_KIND if name in bought else Reason.DRAFTED_DOMAIN
    for left in schema.left_out:
        if left.provenance == "drafted":
            yield left.name, Reason.DRAFTED_LEFT_OUT
    if schema.person is not None and schema.person_provenance == "drafted":
        yield f"max_rows of {schema.person}", Reason.DRAFTED_PEOPLE
    if schema.file.provenance == "drafted":
        yield "file", Reason.DRAFTED_FILE
    for rule in schema.rules:
        if rule.provenance == "drafted":
            yield str(rule), Reason.DRAFTED_RULE


def advice(schema: Schema, bought: Collection[str]) -> list[str]:
    """What to do about each kind of draft in a schema; empty if nothing was drafted."""
    drafted: dict[str, list[str]] = {}
    for name, reason in uses_of_drafts(schema, bought):
        drafted.setdefault(ADVICE[reason], []).append(name)
    return [text.format(names=some(names)) for text, names in drafted.items()]
