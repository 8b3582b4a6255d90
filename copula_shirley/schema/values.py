"""What one value means in a column of a declared kind, whatever the other rows hold.

Domains that are bought are private only if each value is read by itself: if one row decided how
others are read (as pandas does when it finds the type of a column), adding it would change many
counts, and noise for one row would not hide it. So nothing here looks at more than one value, and
values that are equal (1, 1.0, True, Decimal(1)) are read alike.
"""

from __future__ import annotations

import math
import re
import reprlib
from collections.abc import Callable, Collection, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from copula_shirley.files.texts import odd_character

if TYPE_CHECKING:
    from copula_shirley.schema.schema import Column

#: Texts of numbers: no words (nan, inf), no underscores, no digits of other scripts.
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
#: Most numbers of a file; others are read one by one.
PLAIN = r"^-?[0-9]{1,20}(\.[0-9]{1,30})?([eE][+-]?[0-9]{1,2})?$"
#: Texts of truth values, as Python, R, SQL and JSON write them.
TRUTHS = {"True": True, "TRUE": True, "true": True, "False": False, "FALSE": False, "false": False}
#: Whole numbers from here on are not all doubles.
INEXACT = 2**53
#: Types of which equal values are one in a hash table, and that ``numpy`` makes floats of.
SIMPLE = {int, float, bool, type(None)}
NO_MOMENT = np.datetime64("NaT", "us")
#: Values in messages are cut; an alias in YAML can make a small text very long.
SHORT = reprlib.Repr()
SHORT.maxlevel, SHORT.maxlist, SHORT.maxtuple = 3, 12, 12
SHORT.maxstring = SHORT.maxother = SHORT.maxlong = 120


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
        if isinstance(value, pd.Timestamp):
            if value.tzinfo is not None:
                value = value.tz_convert("UTC").tz_localize(None)
            value = value.to_datetime64()
        if isinstance(value, np.datetime64):
            moment: np.datetime64 = value.astype("datetime64[us]")
            return moment
        if not isinstance(value, date) or value is pd.NaT:  # a number is no date
            return NO_MOMENT
        if isinstance(value, datetime) and value.tzinfo is not None:
            value = value.astimezone(UTC).replace(tzinfo=None)
        return np.datetime64(value, "us")
    except (ValueError, OverflowError):  # no date, or before the first year or after the last
        return NO_MOMENT


def numbers_of(series: pd.Series) -> NDArray[np.float64]:
    """``number_of`` each value of a series of objects or texts."""
    values = series.to_numpy(dtype=object)
    try:
        if set(map(type, values)) <= SIMPLE:
            return values.astype(float)
    except OverflowError:
        pass
    return np.fromiter(map(number_of, values), dtype=float, count=len(values))


def _digits(value: Any) -> str | None:
    """The text of a whole number."""
    number = number_of(value)
    return str(int(number)) if math.isfinite(number) and number == int(number) else None


def bound_of(value: Any, text_format: str | None) -> np.datetime64:
    """A bound of dates, or NaT: texts as ISO 8601, else by the format of the column's own texts.

    Nothing is guessed: 05.02.2022 is no date without a format.
    """
    moment = moment_of(value, None)
    return moment_of(value, text_format) if np.isnat(moment) and text_format else moment


class Positions:
    """The position of a value in a closed list of categories; -2 if it is in none.

    A text is first looked for as it is, then as the number or truth value that it spells, so that
    the texts of a file are the categories 1 and True where these are listed, and "007" is not 7.
    A whole number is looked for as a text, too: a reader of files may have made 1 of "1".

    Examples
    --------
    >>> where = Positions((1, "1.0", "x"))
    >>> [where.of(v) for v in ("1", 1.0, "1.0", True, "2", [1])]
    [0, 0, 1, 0, -2, -2]
    >>> Positions(("1", "007")).of(1), Positions(("1", "007")).of(7)
    (0, -2)
    """

    def __init__(self, categories: Collection[Any]) -> None:
        self._listed = {category: i for i, category in enumerate(categories)}
        self._spelt = any(not isinstance(category, str) for category in categories)

    def of(self, value: Any) -> int:
        """The position of one value."""
        try:
            found = self._listed.get(value)
        except (TypeError, ArithmeticError):  # what has no hash can be no category
            return -2
        if found is None and self._spelt and isinstance(value, str):
            number: float | bool = TRUTHS[value] if value in TRUTHS else number_of(value)
            found = self._listed.get(number)
        if found is None and not isinstance(value, str):
            found = self._listed.get(_digits(value))
        return -2 if found is None else found


def label_of(value: Any, kind: str = "categorical") -> Any:
    """A value as a category out of no list, None if it can be none; "1" and 1.0 are 1.

    In a column of numbers or truth values a text that is none of them is no category.
    """
    if isinstance(value, np.generic):
        value = value.item()
    if kind == "boolean":
        return truth_of(value)
    if isinstance(value, str) and kind in ("integer", "continuous"):
        value = number_of(value)
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
    if isinstance(value, bool) or (isinstance(value, int | float) and abs(value) < INEXACT):
        return value
    return None


def absent(series: pd.Series) -> NDArray[np.bool_]:
    """Which values are missing."""
    try:
        return series.isna().to_numpy()
    except ArithmeticError:  # pandas compares values, which a signalling NaN of decimal forbids
        plain = [None if isinstance(v, Decimal) and v.is_nan() else v for v in series]
        return pd.Series(plain, dtype=object).isna().to_numpy()


# -- texts of a file ---------------------------------------------------------------


def reader_of(
    column: Column | None, missing: Collection[str]
) -> Callable[[Sequence[str]], NDArray[np.object_]]:
    """How the texts of a file are read in a column: None where they stand for a missing value.

    Numbers and truth values become such, and a text that is none of them stays as it is. A number
    stands for a missing value by its value, so that -9.00 does if "-9" is named. Without a column
    texts stay texts.
    """
    cache = Cache(_meaning(column, {"", *missing}))

    def each(texts: Sequence[str]) -> NDArray[np.object_]:
        return np.fromiter(map(cache.__getitem__, texts), dtype=object, count=len(texts))

    if column is None or column.kind not in ("integer", "continuous"):
        return each
    whole = column.kind == "integer"
    gaps = [n for n in map(number_of, missing) if not math.isnan(n)]

    def numbers(texts: Sequence[str]) -> NDArray[np.object_]:
        """The same as ``each``, plain numbers faster: Arrow rounds them as Python does."""
        fields = pa.array(texts, pa.string())
        matched = pc.match_substring_regex(fields, PLAIN)
        read = pc.cast(pc.if_else(matched, fields, "0"), pa.float64()).to_numpy()
        plain = matched.to_numpy(zero_copy_only=False)
        values: NDArray[np.object_] = read.astype(object)
        if whole:
            plain &= np.abs(read) < INEXACT
            integral = plain & (read == np.rint(read))
            values[integral] = read[integral].astype(np.int64)
        values[np.isin(read, gaps)] = None
        rest = np.flatnonzero(~plain)
        values[rest] = each([texts[i] for i in rest.tolist()])
        return values

    return numbers


def _meaning(column: Column | None, missing: Collection[str]) -> Callable[[str], Any]:
    """What one text means in a column."""
    if column is None or column.kind in ("datetime", "categorical"):
        listed = () if column is None else column.categories
        # texts that are listed stay as they are
        where = None if all(isinstance(c, str) for c in listed) else Positions(listed)

        def text(value: str) -> Any:
            if value in missing:
                return None
            found = -2 if where is None else where.of(value)
            return value if found < 0 else listed[found]

        return text
    gaps = {n for n in map(number_of, missing) if not math.isnan(n)}
    whole = column.kind == "integer"

    def number(value: str) -> Any:
        found = number_of(value)
        if value in missing or found in gaps:
            return None
        if math.isnan(found):
            return value
        return int(found) if whole and found == int(found) else found

    def truth(value: str) -> Any:
        found = truth_of(value)
        if value in missing:
            return None
        return value if found is None else found

    return truth if column.kind == "boolean" else number


class Cache(dict[str, Any]):
    """What texts mean, each read once; equal values share one object."""

    MOST = 100_000

    def __init__(self, read: Callable[[str], Any]) -> None:
        super().__init__()
        self._read = read

    def __missing__(self, text: str) -> Any:
        """Read a new text; a column with a value of its own in each row is not all kept."""
        value = self._read(text)
        if len(self) < self.MOST:
            self[text] = value
        return value


def shown(value: Any) -> str:
    """A value in an error message: enough to find it, however large it is."""
    try:
        text = SHORT.repr(value)
    except (ValueError, RecursionError):  # a number of 5,000 digits
        text = f"<{type(value).__name__}>"
    return text
