"""Columns of lengths of time, such as stays and waiting times."""

from __future__ import annotations

import datetime as dt
import re
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from copula_shirley.schema.dates import FARTHEST, Timed, fields_of
from copula_shirley.schema.domain import TEXT
from copula_shirley.schema.expressions import LENGTH
from copula_shirley.schema.kind import SCALE

#: Letters of a text of a duration; a longer one is none.
LONGEST = 60
#: As clocks and pandas write them: 1:30:00, 2 days 03:00:00, -1 days +23:00:00.
CLOCK = re.compile(
    r"(?:(?P<D>[+-]?\d+) days?,? ?)?(?P<sign>[+-]?)"
    r"(?P<H>\d+):(?P<M>[0-5]\d):(?P<S>[0-5]\d(?:\.\d+)?)",
    re.ASCII,
)
#: ISO 8601 without months and years, whose lengths differ: P1DT2H. pandas reads PT1.5H as 5:00:01.
ISO = re.compile(
    r"(?P<sign>[+-]?)P(?=[\dT])(?:(?P<W>\d+)W)?(?:(?P<D>\d+)D)?"
    r"(?:T(?=\d)(?:(?P<H>\d+)H)?(?:(?P<M>\d+)M)?(?:(?P<S>\d+(?:\.\d+)?)S)?)?",
    re.ASCII,
)
#: Numbers with units: 1h, 1.5 h, 90min, 1d 2h, 2 days.
UNITS = re.compile(
    r"(?P<sign>[+-]?)(?=\d)(?:(?P<W>{n}) ?(?:W|w|weeks?))? ?(?:(?P<D>{n}) ?(?:D|d|days?))? ?"
    r"(?:(?P<H>{n}) ?(?:h|hours?))? ?(?:(?P<M>{n}) ?(?:min|minutes?))? ?"
    r"(?:(?P<S>{n}) ?(?:s|seconds?))? ?(?:(?P<ms>{n}) ?ms)? ?(?:(?P<us>{n}) ?us)?".replace(
        "{n}", r"\d+(?:\.\d+)?"
    ),
    re.ASCII,
)
#: Microseconds of each part.
PARTS = {"W": 7 * 86_400_000_000, "D": 86_400_000_000, "H": 3_600_000_000, "M": 60_000_000}
PARTS |= {"S": 1_000_000, "ms": 1_000, "us": 1}
NONE = np.timedelta64("NaT", "us")
#: How texts of a declared format are written, and what a draft takes for it.
FORMATS = {"HH:MM:SS": CLOCK, "ISO": ISO}


def duration_of(text: str) -> np.timedelta64:
    """A text as a length of time, cut to microseconds; NaT if it is none.

    Examples
    --------
    >>> [str(duration_of(t)) for t in ("1:30:00", "PT1.5S", "1.5 h", "-1 days +23:00:00", "5")]
    ['5400000000 microseconds', '1500000 microseconds', '5400000000 microseconds', \
'-3600000000 microseconds', 'NaT']
    """
    text = text.strip()
    patterns = (CLOCK, ISO, UNITS) if 0 < len(text) <= LONGEST else ()
    found = next((m for m in (p.fullmatch(text) for p in patterns) if m), None)
    if found is None:
        return NONE
    parts = {k: Fraction(v) * PARTS[k] for k, v in found.groupdict().items() if v and k in PARTS}
    days = parts.pop("D", Fraction(0)) if found.re is CLOCK else Fraction(0)  # with its own sign
    whole = int(days + (-1 if found["sign"] == "-" else 1) * sum(parts.values()))
    return np.timedelta64(whole, "us") if abs(whole) < 2**62 else NONE


def text_of(value: dt.timedelta, text_format: str = "HH:MM:SS") -> str:
    """A length of time as a text that ``duration_of`` reads; hours may exceed 24.

    Examples
    --------
    >>> [text_of(dt.timedelta(hours=h), f) for h in (51.5, -1) for f in FORMATS]
    ['51:30:00', 'PT51H30M', '-01:00:00', '-PT1H']
    """
    whole = round(value / dt.timedelta(microseconds=1))
    seconds, parts = divmod(abs(whole), PARTS["S"])
    minutes, seconds = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    sign, fraction = "-" * (whole < 0), f".{parts:06}".rstrip("0.") if parts else ""
    if text_format == "HH:MM:SS":
        return f"{sign}{hours:02}:{minutes:02}:{seconds:02}{fraction}"
    said = [f"{hours}H" * bool(hours), f"{minutes}M" * bool(minutes)]
    left = f"{seconds}{fraction}S" if seconds or fraction else ""
    return f"{sign}PT{''.join(said)}{left}" if whole else "PT0S"


class Duration(Timed):
    """Lengths of time."""

    fields: ClassVar[dict[str, Any]] = {
        **fields_of(
            'shortest, such as 0s or "1:30:00"',
            "longest, such as P1DT2H or 30 days",
            {"enum": [*FORMATS], "description": "how drawn durations are written; all are read"},
        ),
        "scale": SCALE,
    }
    has_magnitudes = True
    quantity = LENGTH
    plural = "durations"
    stored = "duration"
    least: ClassVar[dict[str, Any]] = {"minimum": "0s", "maximum": "1h"}
    dtype = "timedelta64[us]"
    origin = pd.Timedelta(0)
    letters = "m"
    fitting = ("m", "")
    types = (dt.timedelta,)
    what = "a duration such as 1:30:00, P1DT2H or 1h"

    @classmethod
    def value_of(cls, value: Any, text_format: str | None) -> Any:
        if isinstance(value, str):
            return duration_of(value)
        if not isinstance(value, dt.timedelta | np.timedelta64) or pd.isna(value):
            return NONE
        try:
            found = pd.Timedelta(value).as_unit("us").to_timedelta64()
        except (OverflowError, ValueError):  # too far out
            return NONE
        return found

    def bound_of(self, value: Any) -> tuple[Any, str]:
        bound = self.value_of(value, None)
        known = pd.Timedelta(bound) if abs(bound) <= np.timedelta64(FARTHEST, "D") else pd.NaT
        return known, f"{self.what}, in quotes where it has colons, within {FARTHEST:,} days"

    def normalise(self) -> dict[str, Any]:
        if self.column.format is not None and self.column.format not in [*FORMATS]:
            rule = f"must be one of {', '.join(FORMATS)}"
            raise self.column.error("format", self.column.format, rule)
        return super().normalise()

    @staticmethod
    def texts(values: pd.Series, text_format: str) -> pd.Series:
        said = [None if pd.isna(v) else text_of(v, text_format) for v in values]
        return pd.Series(said, dtype=object)

    @classmethod
    def draft(cls, known: pd.Series) -> dict[str, Any] | None:
        def plain(value: Any) -> bool:  # codes such as "5 D" are none
            text = isinstance(value, str) and not UNITS.fullmatch(value)
            return text or isinstance(value, dt.timedelta)

        values = cls.read_values(known) if all(map(plain, known)) else pd.Series([pd.NaT])
        if values.isna().any():
            return None
        texts = [v.strip() for v in known if isinstance(v, str)]
        fits = (f for f, p in FORMATS.items() if texts and all(map(p.fullmatch, texts)))
        found = next(fits, None)
        days = found == "HH:MM:SS" and any("day" in text for text in texts)
        return {**cls.drafted(values), "format": None if days else found}

    @property
    def private_storage(self) -> str:
        return TEXT if self.column.format else "timedelta64[ns]"

    def storage(self, series: pd.Series) -> str:
        return self.private_storage
