"""How the texts of a file stand for values: its separator, encoding, decimal sign and gaps.

Like the rest of a schema this is public and the same for each row, so that a text is read by itself
(``copula_shirley.schema.values``). A draft that looked at the file says so in ``provenance``: one
row can decide which texts stand for missing values.
"""

from __future__ import annotations

import codecs
import dataclasses
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from copula_shirley.errors import SchemaError
from copula_shirley.files.texts import is_text, odd_character, shown
from copula_shirley.schema.values import Meaning, Reader, number_of

#: What may stand between groups of three digits; a space may be of any width.
THOUSANDS = (",", ".", "'", "\u2019", " ", "_")
SPACES = "[ \u00a0\u202f\u2009]"
#: Encodings of Python that are none of tables.
NOT_OF_FILES = {
    *("idna", "punycode", "unicode_escape", "raw_unicode_escape", "undefined", "utf_7"),
    *("mbcs", "oem"),
}
#: Names of sheets as spreadsheets take them.
SHEET = re.compile(r"(?!')[^\[\]:*?/\\]{1,31}(?<!')")
#: Texts of a column whose meanings are remembered.
MOST_TEXTS = 100_000
#: Texts that stand for missing values or are taken off numbers, and letters of one.
MOST_NAMED, LONGEST_NAMED = 1000, 100


@dataclass(frozen=True)
class FileFormat:
    """How the texts of a file are read; what a CSV file needs beside commas, UTF-8 and 1234.5.

    ``thousands`` may stand between groups of three digits, ``symbols`` such as € before or behind
    a number. An empty text is missing, and so is what ``missing`` names: numbers by their value.
    With ``strip`` spaces around a text are no part of it. Of a workbook, ``sheet`` is read.

    Examples
    --------
    >>> file = FileFormat(decimal=",", thousands=".", symbols=("€",), missing=("k.A.", "-9"))
    >>> [file.number(text) for text in ("1.234,50 €", "-2", "1.5")]
    [1234.5, -2.0, nan]
    >>> file.reader()(["a", "k.A.", ""]).tolist()
    ['a', None, None]
    """

    separator: str = ","
    encoding: str = "utf-8"
    decimal: str = "."
    thousands: str | None = None
    symbols: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    strip: bool = False
    provenance: str = "declared"
    sheet: str | None = None

    def __post_init__(self) -> None:
        for field in ("symbols", "missing"):
            object.__setattr__(self, field, self._texts(field))
        separator = self.separator
        one = isinstance(separator, str) and len(separator) == 1 and is_text(separator)
        if not one or separator.isalnum() or separator in '"\r\n\0\ufeff':
            raise self._error("separator", 'must be one sign, such as ; or "\\t"')
        if self.decimal not in (".", ","):
            raise self._error("decimal", "must be . or ,")
        if self.thousands is not None and self.thousands not in THOUSANDS:
            raise self._error("thousands", "must be one of , . ' _ or a space")
        if self.thousands == self.decimal:
            raise self._error("thousands", f"must differ from decimal ({self.decimal!r})")
        try:
            codec = codecs.lookup(self.encoding).name.replace("-", "_")
            known = codec not in NOT_OF_FILES and "a".encode(codec) != b""
        except (LookupError, TypeError, ValueError):
            known = False
        if not known:
            raise self._error("encoding", "must be a known one, such as utf-8 or cp1252")
        if any(any(c.isdigit() or c in "+-.,'" for c in text) for text in self.symbols):
            raise self._error("symbols", "must hold no digits and no signs of numbers")
        if not isinstance(self.strip, bool):
            raise self._error("strip", "must be true or false")
        sheet = self.sheet
        named = isinstance(sheet, str) and SHEET.fullmatch(sheet) and not odd_character(sheet)
        if sheet is not None and not named:
            raise self._error(
                "sheet", "must be a name of a sheet: 1 to 31 letters, none of []:*?/\\"
            )
        if self.provenance not in ("declared", "drafted"):
            raise self._error("provenance", "must be declared or drafted")

    def _texts(self, field: str) -> tuple[str, ...]:
        value = getattr(self, field)
        listed = [] if isinstance(value, str) or not isinstance(value, Iterable) else list(value)
        texts = [str(v) if type(v) in (int, float) else v for v in listed]
        good = all(
            isinstance(t, str) and t and len(t) <= LONGEST_NAMED and not odd_character(t)
            for t in texts
        )
        if (not listed and value not in ((), [])) or not good or len(texts) > MOST_NAMED:
            rule = f"must be a list of at most {MOST_NAMED:,} texts of {LONGEST_NAMED} letters"
            raise self._error(field, rule)
        return tuple(dict.fromkeys(texts))

    def _error(self, field: str, rule: str) -> SchemaError:
        return SchemaError(f"file: {field} ({shown(getattr(self, field))}) {rule}")

    def told(self, missing: Iterable[str] = (), sheet: str | None = None) -> FileFormat:
        """The same with more texts that stand for missing values, or of another sheet."""
        gaps = (*self.missing, *missing)
        return dataclasses.replace(self, missing=gaps, sheet=sheet or self.sheet)

    # -- what texts mean -----------------------------------------------------------------

    @property
    def has_plain_numbers(self) -> bool:
        """Whether numbers are written as Python writes them."""
        return self.decimal == "." and self.thousands is None and not self.symbols

    def number(self, text: str) -> float:
        """A text as a number; NaN if it is none."""
        if self.has_plain_numbers:
            return number_of(text)
        plain = self.numeral(text)
        return math.nan if plain is None else number_of(plain)

    def numeral(self, text: str) -> str | None:
        """A number as Python writes it; None where the text is none."""
        found = self._numeral.fullmatch(text.strip())
        if found is None:
            return None
        sign, inner, whole, part, exponent = (group or "" for group in found.groups())
        if (sign and inner) or not whole + part:
            return None
        return f"{sign or inner}{re.sub(r'[^0-9]', '', whole)}.{part}{exponent}"

    @cached_property
    def _numeral(self) -> re.Pattern[str]:
        between = {None: None, " ": SPACES}.get(self.thousands, re.escape(self.thousands or ""))
        groups = rf"\d{{1,3}}(?:{between}\d{{3}})+|" if between else ""
        sign = "|".join(map(re.escape, sorted(self.symbols, key=len, reverse=True)))
        symbol = rf"(?:(?:{sign})\s*)?" if sign else ""
        return re.compile(
            rf"(?P<sign>[+-]?)\s*{symbol}(?P<inner>[+-]?)(?P<whole>{groups}\d*)"
            rf"(?:{re.escape(self.decimal)}(?P<part>\d*))?(?P<exponent>[eE][+-]?\d+)?\s*{symbol}",
            re.ASCII,
        )

    @cached_property
    def missing_numbers(self) -> frozenset[float]:
        """The numbers among the texts that stand for missing values."""
        return frozenset(n for n in map(self.number, self.missing) if not math.isnan(n))

    def reader(self, meaning: Meaning | None = None) -> Reader:
        """How texts of a file are read: None where they stand for a missing value.

        ``meaning`` says what the others mean; without it they stay as they are. Each is read once,
        and equal values share one object; a column with a value of its own in each row is not all
        kept.
        """
        gaps, strip = {"", *self.missing}, self.strip

        @lru_cache(MOST_TEXTS)
        def read(text: str) -> Any:
            bare = text.strip() if strip else text
            if bare in gaps:
                return None
            return meaning(bare) if meaning else bare

        return lambda texts: np.fromiter(map(read, texts), dtype=object, count=len(texts))

    # -- YAML ------------------------------------------------------------------------------

    def to_dict(self) -> dict[str, Any]:
        """Every field that differs from its default, and the provenance; empty where none does."""
        fields = {f.name: (getattr(self, f.name), f.default) for f in dataclasses.fields(self)}
        found = {
            name: list(value) if isinstance(value, tuple) else value
            for name, (value, default) in fields.items()
            if value != default
        }
        return {**found, "provenance": self.provenance} if found else {}

    @classmethod
    def from_dict(cls, entry: Any) -> FileFormat:
        """The format that ``to_dict`` wrote."""
        if entry is None:
            return cls()
        known = [field.name for field in dataclasses.fields(cls)]
        if not isinstance(entry, Mapping) or set(entry) - set(known):
            raise SchemaError(f"file ({shown(entry)}) must be a mapping of {', '.join(known)}")
        return cls(**{str(k): v for k, v in entry.items() if v is not None})


#: Commas, UTF-8, decimal points, and only nothing is missing.
PLAIN = FileFormat()
