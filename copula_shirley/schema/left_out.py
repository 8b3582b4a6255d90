"""Columns that no model learns from: dropped, numbered anew, or made up."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from copula_shirley.errors import SchemaError
from copula_shirley.files.texts import is_text, odd_character, shown, stated
from copula_shirley.schema.values import check_remark

#: What stands in the place of a column; each is also a ``kind`` among the columns of a schema file.
REPLACEMENTS = ("drop", "id", "fake")
#: What Faker may make up, by its own names: methods that need nothing but a language.
FAKES = (
    *("name", "first_name", "last_name", "prefix", "user_name", "email", "phone_number"),
    *("address", "street_address", "street_name", "building_number", "postcode", "city"),
    *("country", "company", "job", "iban", "bban", "ssn", "license_plate", "credit_card_number"),
    *("url", "domain_name", "ipv4", "ipv6", "mac_address", "uuid4", "word", "sentence", "text"),
)
LOCALE = re.compile(r"[a-z]{2,3}_[A-Z]{2}")
#: A text with the number of the row in it, perhaps filled with zeros.
PATTERN = re.compile(r"(?P<before>[^{}]*)\{n(?::0(?P<width>[1-9]|1[0-9]))?\}(?P<behind>[^{}]*)")
LONGEST_PATTERN = 100
#: What a column may be drawn for, once: each row, or each person.
PER = (None, "person")


@dataclass(frozen=True)
class LeftOut:
    """A column of the table that no model learns from, such as names; its values are never read.

    The ``reason`` is for people; it is public, like the name. The synthetic table lacks the column
    (``replace="drop"``), has the numbers 1, 2, ... in its place ("id"), by a ``pattern`` such as
    ``"P-{n:07}"``, or what Faker makes up ("fake"): a ``fake`` such as ``"name"`` in a language
    (``locale="de_DE"``); one for each row, or with ``per="person"`` one for all rows of a person.
    ``provenance`` tells who left it out: the curator ("declared"), or a draft that looked at the
    rows ("drafted").

    Examples
    --------
    >>> LeftOut("patient", replace="id", pattern="P-{n:04}").numbered(17)
    'P-0017'
    """

    name: str
    reason: str | None = None
    replace: str = "drop"
    provenance: str = "declared"
    pattern: str | None = None
    fake: str | None = None
    locale: str | None = None
    per: str | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name or not is_text(self.name):
            raise SchemaError(f"left_out: column name ({shown(self.name)}) must be a text")
        check_remark(f"left_out: column {shown(self.name)}: reason", self.reason)
        allowed = {"replace": REPLACEMENTS, "provenance": ("declared", "drafted")}
        for field, words in allowed.items():
            if getattr(self, field) not in words:
                raise self._error(field, f"must be {' or '.join(words)}")
        for field, goes_with in (("pattern", "id"), ("fake", "fake"), ("locale", "fake")):
            if getattr(self, field) is not None and self.replace != goes_with:
                raise self._error(field, f"goes with {goes_with}, not with {self.replace}")
        if self.per not in PER or (self.per and self.replace == "drop"):
            raise self._error("per", "must be person, of an id or a fake, or be left out")
        if self.pattern is not None:
            good = isinstance(self.pattern, str) and len(self.pattern) <= LONGEST_PATTERN
            if not good or odd_character(self.pattern) or not PATTERN.fullmatch(self.pattern):
                raise self._error("pattern", "must be a text with one {n} or such as {n:07}")
        if self.replace == "fake" and self.fake not in FAKES:
            raise self._error("fake", f"must be one of {', '.join(FAKES)}")
        locale = self.locale
        if locale is not None and not (isinstance(locale, str) and LOCALE.fullmatch(locale)):
            raise self._error("locale", "must be such as de_DE")

    def _error(self, field: str, rule: str) -> SchemaError:
        value = stated(getattr(self, field))
        return SchemaError(f"left_out: column {shown(self.name)}: {field} ({value}) {rule}")

    def numbered(self, n: int) -> int | str:
        """The identifier of row n, counted from 1."""
        found = PATTERN.fullmatch(self.pattern) if self.pattern is not None else None
        if found is None:
            return n
        return f"{found['before']}{n:0{found['width'] or 1}}{found['behind']}"

    def to_dict(self) -> dict[str, str | None]:
        """What is said of the column, without its name; only what is said of what replaces it."""
        kept = ("reason", "replace", "provenance")
        return {k: v for k, v in vars(self).items() if k in kept or (k != "name" and v is not None)}

    @classmethod
    def from_dict(cls, entry: Any) -> tuple[LeftOut, ...]:
        """The left-out columns of a schema file."""
        known = [field.name for field in fields(cls)][1:]
        if entry is not None and not isinstance(entry, Mapping):
            rule = f"must be a mapping of columns to {', '.join(known)}"
            raise SchemaError(f"left_out ({shown(entry)}) {rule}")
        found = []
        for name, given in (entry or {}).items():
            about = {"replace": given} if isinstance(given, str) else {} if given is None else given
            if not isinstance(about, Mapping) or set(about) - set(known):
                rule = f"must be a mapping of {', '.join(known)}"
                raise SchemaError(f"left_out: column {shown(str(name))} ({shown(given)}) {rule}")
            found.append(cls(str(name), **{k: v for k, v in about.items() if v is not None}))
        return tuple(found)


def apart(columns: Mapping[Any, Any]) -> tuple[list[tuple[str, Any]], dict[Any, Any]]:
    """The columns of a schema file that are described, and those that no model learns from.

    The latter are called ``remarks: drop`` or ``patient: {kind: id, pattern: "P-{n}"}``.
    """
    described, left = [], {}
    for name, entry in columns.items():
        kind = entry.get("kind") if isinstance(entry, Mapping) else entry
        if isinstance(kind, str) and kind in REPLACEMENTS:
            own = dict(entry) if isinstance(entry, Mapping) else {}
            own.pop("kind", None)
            left[name] = {**own, "replace": kind}
        else:
            described.append((str(name), entry))
    return described, left
