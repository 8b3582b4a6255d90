"""What one value means in a column of a declared kind, whatever the other rows hold.

Domains that are measured are private only if each value is read by itself: if one row decided how
others are read (as pandas does when it finds the type of a column), adding it would change many
counts, and noise for one row would not hide it. So nothing here looks at more than one value, and
values that are equal (1, 1.0, True, Decimal(1)) are read alike.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from copula_shirley.errors import SchemaError
from copula_shirley.files.texts import odd_character, shown

#: Texts of numbers: no words (nan, inf), no underscores, no digits of other scripts.
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
#: Texts of truth values, as Python, R, SQL and JSON write them.
TRUTHS = {"True": True, "TRUE": True, "true": True, "False": False, "FALSE": False, "false": False}
#: Whole numbers from here on are not all doubles.
INEXACT = 2**53
#: Types of which equal values are one in a hash table, and that ``numpy`` makes floats of.
SIMPLE = {int, float, bool, type(None)}
#: What one text of a file means; and how many of them are read.
Meaning = Callable[[str], Any]
Reader = Callable[[Sequence[str]], NDArray[np.object_]]
#: Letters of a ``source``, or of the reason why a column is left out.
LONGEST_REMARK = 200
NO_MOMENT = np.datetime64("NaT", "us")


# -- one value ------------------------------------------------------------------------


def number_of(value: Any) -> float:
    """A value as a number; NaN if it is none, or a text of none that a double can hold.

    Examples
    --------
    >>> [number_of(v) for v in (12, "12.50", " 1e3", True, "12,5", "nan", 10**400, None)]
    [12.0, 12.5, 1000.0, 1.0, nan, nan, nan, nan]
    """
    if isinstance(value, str):
        text = value.strip()
        number = float(text) if NUMBER.fullmatch(text) else math.nan
        return number if math.isfinite(number) else math.nan
    if not isinstance(value, int | float | np.integer | np.floating | np.bool_ | Decimal):
        return math.nan
    if isinstance(value, np.timedelta64):  # numpy counts it among the integers
        return math.nan
    try:
        return float(value)
    except (ValueError, ArithmeticError):  # a signalling NaN; beyond any double
        return math.nan


def truth_of(value: Any) -> bool | None:
    """A value as a truth value, None if it is none; 1 and 0 are true and false.

    Examples
    --------
    >>> [truth_of(v) for v in ("TRUE", "false", 1, "0", 0.0, "yes", 2)]
    [True, False, True, False, False, None, None]
    """
    if isinstance(value, str) and value in TRUTHS:
        return TRUTHS[value]
    return {0.0: False, 1.0: True}.get(number_of(value))


def moment_of(value: Any, text_format: str | None) -> np.datetime64:
    """A value as a moment in UTC, or NaT; texts by the format, without one as ISO 8601."""
    try:
        if text_format is not None and isinstance(value, int | float | np.number):
            value = _digits(value) or value  # a date such as 20200131 that was read as a number
        if isinstance(value, str):
            if text_format is None:
                value = datetime.fromisoformat(value)
            else:
                value = datetime.strptime(value, text_format)
        if isinstance(value, np.datetime64):
            value = pd.Timestamp(value)  # numpy's own cast wraps what is too far out
        if isinstance(value, pd.Timestamp):
            if value.tzinfo is not None:
                value = value.tz_convert("UTC").tz_localize(None)
            moment: np.datetime64 = value.as_unit("us").to_datetime64()
            return moment
        if not isinstance(value, date) or value is pd.NaT:  # a number is no date
            return NO_MOMENT
        if isinstance(value, datetime) and value.tzinfo is not None:
            value = value.astimezone(UTC).replace(tzinfo=None)
        return np.datetime64(value, "us")
    except (ValueError, OverflowError):  # no date, or before the first year or after the last
        return NO_MOMENT


def label_of(value: Any) -> Any:
    """A value as a category out of no list, None if it can be none; "1" and 1.0 are 1."""
    value = scalar(value)
    if isinstance(value, str):
        if value in ("True", "False"):
            return value == "True"
        if odd_character(value, spaces=True):
            return None  # no schema takes it: half of a character, or what steers a terminal
        short = len(value) <= 15 and value.removeprefix("-").isdecimal()
        return int(value) if short and str(int(value)) == value else value
    if isinstance(value, float):
        if not math.isfinite(value):
            return None
        value = int(value) if value == int(value) else value
    # a whole number beyond is another one as soon as a gap in its column makes doubles of all
    known = isinstance(value, bool) or (isinstance(value, int | float) and abs(value) < INEXACT)
    return value if known else None


def is_number(value: Any) -> bool:
    """Whether a value is a finite number; truth values are none."""
    number = isinstance(value, int | float | np.integer | np.floating)
    return (
        number and not isinstance(value, bool) and (isinstance(value, int) or math.isfinite(value))
    )


def scalar(value: Any) -> Any:
    """A numpy scalar as one of Python."""
    return value.item() if isinstance(value, np.generic) else value


def plain(value: Any) -> Any:
    """A numpy or pandas scalar as what YAML and JSON can hold."""
    if isinstance(value, timedelta):
        return str(pd.Timedelta(value))
    if isinstance(value, date):
        stamp = pd.Timestamp(value)
        return str(stamp.date()) if stamp == stamp.normalize() else str(stamp)
    return scalar(value)


def _digits(value: Any) -> str | None:
    """The text of a whole number."""
    number = number_of(value)
    return str(int(number)) if math.isfinite(number) and number == int(number) else None


# -- many values ----------------------------------------------------------------------


def as_floats(series: pd.Series) -> NDArray[np.float64]:
    """``number_of`` each value, so NaN where it is none. Dates and durations are none."""
    dtype = series.dtype
    if pd.api.types.is_numeric_dtype(dtype) and dtype.kind in "biuf":
        return series.to_numpy(dtype=float, na_value=np.nan)
    if dtype.kind in "mMc" or pd.api.types.is_datetime64_any_dtype(dtype):
        return np.full(len(series), np.nan)
    values = series.to_numpy(dtype=object)
    with suppress(OverflowError):
        if set(map(type, values)) <= SIMPLE:
            return values.astype(float)
    return np.fromiter(map(number_of, values), dtype=float, count=len(values))


def absent(series: pd.Series) -> NDArray[np.bool_]:
    """Which values are missing."""
    try:
        return series.isna().to_numpy()
    except ArithmeticError:  # pandas compares values, which a signalling NaN of decimal forbids
        plain = [None if isinstance(v, Decimal) and v.is_nan() else v for v in series]
        return pd.Series(plain, dtype=object).isna().to_numpy()


def position_in(categories: Collection[Any]) -> Callable[[Any], int]:
    """The position of a value in a closed list of categories; -2 if it is in none.

    A text is first looked for as it is, then as the number or truth value that it spells, so that
    the texts of a file are the categories 1 and True where these are listed, and "007" is not 7.
    A whole number is looked for as a text, too: a reader of files may have made 1 of "1".

    Examples
    --------
    >>> [*map(position_in((1, "1.0", "x")), ("1", 1.0, "1.0", True, "2", [1]))]
    [0, 0, 1, 0, -2, -2]
    >>> [*map(position_in(("1", "007")), (1, 7))]
    [0, -2]
    """
    listed = {category: i for i, category in enumerate(categories)}
    spelt = any(not isinstance(category, str) for category in categories)

    def position(value: Any) -> int:
        try:
            found = listed.get(value)
        except (TypeError, ArithmeticError):  # what has no hash can be no category
            return -2
        if found is None and spelt and isinstance(value, str):
            found = listed.get(TRUTHS[value] if value in TRUTHS else number_of(value))
        if found is None and not isinstance(value, str):
            found = listed.get(_digits(value))
        return -2 if found is None else found

    return position


def positions(categories: Collection[Any], series: pd.Series) -> NDArray[np.intp]:
    """Position of each value in a closed list; -1 missing, -2 unknown."""
    where = position_in(categories)
    if series.dtype == object and not set(map(type, series)) <= SIMPLE | {str}:
        found = np.array([where(value) for value in series], dtype=np.intp)
        return np.where(absent(series), -1, found)
    codes, distinct = pd.factorize(series, use_na_sentinel=True)
    return np.array([*map(where, distinct), -1], dtype=np.intp)[codes]


def check_remark(what: str, text: Any) -> None:
    """Refuse what is no short printable text."""
    good = text is None or (isinstance(text, str) and text.strip() and text.isprintable())
    if not good or len(text or "") > LONGEST_REMARK:
        rule = f"must be a printable text of at most {LONGEST_REMARK} letters"
        raise SchemaError(f"{what} ({shown(text)}) {rule}")
