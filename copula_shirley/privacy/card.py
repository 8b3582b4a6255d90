"""The privacy card: what was promised for a fitted model, and what that means for a person.

A card is made of ledger, schema and settings, never of rows, so it tells nothing that the model
does not tell. It is plain JSON, stands in the model file, and is shown as a page
(``copula_shirley.privacy.card_page``).
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping
from importlib.metadata import version
from typing import Any

import msgspec
from msgspec import UNSET, Struct, UnsetType, structs

from copula_shirley.errors import ArtefactError
from copula_shirley.files.plain_json import canonical, differences, sha256_of
from copula_shirley.files.versions import versions
from copula_shirley.privacy.card_words import Bound, Words, meaning_of, randomness_of, words_of
from copula_shirley.privacy.ledger import Ledger
from copula_shirley.rules.check import Check
from copula_shirley.rules.coordinates import Coordinates
from copula_shirley.rules.functions import STAGE
from copula_shirley.schema.schema import Schema

FORMAT = 2
PACKAGES = ("copula-shirley", "numpy", "opendp", "pyvinecopulib")
#: Rows for each category of a nominal column below which its card warns.
ROWS_PER_CATEGORY = 10


class ColumnFacts(Struct, frozen=True, forbid_unknown_fields=True):
    """Where the domain of a column comes from."""

    name: str
    kind: str
    domain: str
    cells: int
    source: str | None
    as_drafted: bool


class PersonFacts(Struct, frozen=True, forbid_unknown_fields=True):
    """Where the most rows of a person come from."""

    max_rows: int | None
    domain: str
    source: str | None
    as_drafted: bool


class RuleFacts(Struct, frozen=True, forbid_unknown_fields=True):
    """A rule between columns, how synthetic rows keep it, and where it is known from."""

    rule: str
    kept_by: str
    provenance: str
    source: str | None


class TrustFacts(Struct, frozen=True, forbid_unknown_fields=True):
    """Whom people have to trust, where rows are with several holders, or with nobody (local)."""

    model: str
    #: 0 where people report themselves.
    holders: int
    #: Holders that may collude.
    colluding: int
    #: Public keys (Ed25519) by name.
    roster: dict[str, str]
    #: Parameter of the smallest share of noise.
    least_share: float
    words: list[str]


class Card(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The privacy card of a fitted model; ``card["meaning"]`` gives plain JSON values."""

    format: int = FORMAT
    generator: str
    ledger: dict[str, Any]
    columns: list[ColumnFacts]
    person: PersonFacts | None
    left_out: list[dict[str, str | None]]
    domain_warnings: list[str]
    randomness: str
    meaning: list[Bound] | None
    versions: dict[str, str]
    settings_sha256: str
    schema_sha256: str
    words: Words
    #: Only of schemas with rules; ``on_broken`` says what became of rows that broke one.
    rules: list[RuleFacts] | UnsetType = UNSET
    on_broken: str | UnsetType = UNSET
    #: Only where no single curator has all rows.
    trust: TrustFacts | UnsetType = UNSET

    @classmethod
    def of(
        cls,
        name: str,
        ledger: Ledger,
        schema: Schema,
        settings: Mapping[str, Any],
        rows: int,
        trust: TrustFacts | None = None,
    ) -> Card:
        """The card of what the generator ``name`` fitted.

        ``rows`` is the number that the model keeps: noisy, or public.
        """
        columns = [
            ColumnFacts(
                c.name, c.kind, c.provenance, c.size, c.source, _as_drafted(c.provenance, c.draft)
            )
            for c in schema
        ]
        person, known = None, schema.person_provenance
        if schema.person is not None:
            as_drafted = _as_drafted(known, schema.person_draft)
            person = PersonFacts(schema.max_rows, known, schema.person_source, as_drafted)
        card = cls(
            generator=name,
            ledger=ledger.to_dict(),
            columns=columns,
            person=person,
            left_out=[{"name": left.name, **left.to_dict()} for left in schema.left_out],
            domain_warnings=domain_warnings(schema, rows),
            versions=versions(PACKAGES),
            settings_sha256=sha256_of(settings),
            schema_sha256=sha256_of(schema.to_dict()),
            rules=rules_of(schema, settings, ledger) or UNSET,
            on_broken=schema.on_broken if schema.rules or schema.constants else UNSET,
            trust=trust or UNSET,
            **_derived(ledger, name),
        )
        return cls.from_dict(json.loads(canonical(card.to_dict())))  # as a file will give it back

    @classmethod
    def from_dict(cls, entry: Any) -> Card:
        """The card that ``to_dict`` gave, or one ``ArtefactError``."""
        known = entry.get("format") if isinstance(entry, dict) else FORMAT
        if known != FORMAT:
            raise ArtefactError(f"the card has format {known!r:.30}, this version knows {FORMAT}")
        try:
            return msgspec.convert(entry, cls)
        except msgspec.ValidationError as error:
            raise ArtefactError(f"the card is not readable: {error}") from None

    def to_dict(self) -> dict[str, Any]:
        found: dict[str, Any] = msgspec.to_builtins(self, order="sorted")
        return found

    def __getitem__(self, name: str) -> Any:
        return self.to_dict()[name]

    def to_html(self) -> str:
        from copula_shirley.privacy.card_page import page_of  # noqa: PLC0415  (slow)

        return page_of(self)

    def _repr_html_(self) -> str:
        """In notebooks: a frame of its own, so that the page's style stays inside."""
        from markupsafe import escape  # noqa: PLC0415  (slow)

        page = escape(self.to_html())
        return f'<iframe srcdoc="{page}" style="width: 100%; height: 30em; border: 0"></iframe>'

    def differences(self, true: Card) -> list[str]:
        """What this card says otherwise than the true one.

        Versions are those of the fit, which nothing else records, and another version of this
        package may have found other words: their types alone are asked for.
        """
        free: dict[str, Any] = {"versions": self.versions}
        if self.versions.get("copula-shirley") != version("copula-shirley"):
            free["words"] = self.words
        return list(differences(self.to_dict(), structs.replace(true, **free).to_dict(), "card"))

    def contradictions(self) -> list[str]:
        """What does not follow from the entries of the card's own ledger."""
        ledger = Ledger.from_dict(self.ledger)
        derived = _derived(ledger, self.generator)
        found = self.unlike(structs.replace(self, ledger=ledger.to_dict(), **derived))
        if ledger.domains != {c.name: c.domain for c in self.columns}:
            found.append("the card's domains are not those of its ledger")
        return found

    def unlike(self, true: Card) -> list[str]:
        """All that this card says otherwise than the true one, words included."""
        found, by = self.differences(true), self.versions.get("copula-shirley")
        if self.words != true.words and by != version("copula-shirley"):
            found.append(f"the card's words are not those of this version, or {by} had others")
        return found


def _as_drafted(provenance: str, draft: Any) -> bool:
    return provenance == "declared" and draft is not None


def _derived(ledger: Ledger, name: str) -> dict[str, Any]:
    return {
        "randomness": randomness_of(ledger),
        "meaning": meaning_of(ledger),
        "words": words_of(ledger, name),
    }


def rules_of(schema: Schema, settings: Mapping[str, Any], ledger: Ledger) -> list[RuleFacts]:
    """The rules of a schema, and how what a ledger is about keeps them."""
    coordinates = Coordinates.under(schema, settings)
    return [
        RuleFacts(str(c.rule), _way(coordinates, c, ledger), c.rule.provenance, c.rule.source)
        for c in (*coordinates.checks, *coordinates.constants)
    ]


def _way(coordinates: Coordinates, check: Check, ledger: Ledger) -> str:
    """How a rule is kept, in words; a function that nobody paid for was learned in another way."""
    if check in coordinates.learned and not ledger.spends:
        exact = any(use.stage == STAGE for use in ledger.unprotected)
        default = "its default, or the first value of the column"
        return "an exact table of the rows, without noise" if exact else default
    return coordinates.way(check)


def domain_warnings(schema: Schema, rows: int) -> list[str]:
    """Columns with too many categories to be public knowledge, or too few to be of use.

    ``rows`` is the number that the model keeps: noisy, or public.
    """
    long = [
        f"Column {c.name!r} has {len(c.categories):,} categories, more than a tenth of the number "
        "of rows: a list that long may hold values of single rows."
        for c in schema
        if c.nominal and c.provenance != "private" and ROWS_PER_CATEGORY * len(c.categories) > rows
    ]
    return long + [
        f"Column {c.name!r} is {c.categories[0]!r} in every row: no category rose above the noise. "
        "Declare its categories, or spend a larger epsilon."
        for c in schema
        if c.provenance == "private" and len(c.categories) == 1
    ]


def card_of(model: Any) -> Card:
    """The card of a model: the old name of ``model.card()``."""
    warnings.warn("card_of(model) is now model.card()", DeprecationWarning, stacklevel=2)
    card: Card = model.card()
    return card


def card_html(card: Card | Mapping[str, Any], *file_and_date: Any) -> str:
    """The page of a card: the old name of ``card.to_html()``."""
    from copula_shirley.privacy.card_page import page_of  # noqa: PLC0415  (slow)

    warnings.warn("card_html(card) is now card.to_html()", DeprecationWarning, stacklevel=2)
    return page_of(card if isinstance(card, Card) else Card.from_dict(dict(card)), *file_and_date)
