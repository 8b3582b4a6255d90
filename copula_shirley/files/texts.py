r"""Texts of strangers that are shown: they must not steer a terminal nor turn a line around.

A column called ``"\x1b[2K\rproved: epsilon 0.1"`` would paint a label of its own when a model is
inspected, and U+202E shows what follows it backwards.
"""

from __future__ import annotations

import reprlib
import unicodedata
from collections.abc import Sequence
from typing import Any

#: General categories of Unicode that are refused: controls (escape, backspace), formats
#: (directions, zero widths, soft hyphens), halves of characters, line and paragraph separators.
REFUSED = {"Cc", "Cf", "Cs", "Zl", "Zp"}
#: Letters and signs that show nothing: with them different names look the same.
BLANK = "\u034f\u115f\u1160\u2800\u3164\uffa0"
#: Formats that Persian, Indian scripts and emoji are written with: zero width (non-)joiner.
JOINERS = "\u200c\u200d"
#: Controls that a value of several lines may hold; what prints it shows it in one line.
SPACES = "\t\n\r"
#: Names of columns or rules that a message has.
NAMED = 5
#: Values in messages are cut; an alias in YAML can make a small text very long.
SHORT = reprlib.Repr()
SHORT.maxlevel, SHORT.maxlist, SHORT.maxtuple = 3, 12, 12
SHORT.maxstring = SHORT.maxother = SHORT.maxlong = 120


def odd_character(text: str, *, spaces: bool = False) -> str | None:
    r"""The name (U+001B) of the first character that must not be shown; None without one.

    With ``spaces`` tabs and line ends are allowed, as in categories.

    Examples
    --------
    >>> odd_character("Größe"), odd_character("a\x1b[31m"), odd_character("a\nb", spaces=True)
    (None, 'U+001B', None)
    """
    if text.isascii() and text.isprintable():  # the quick way for nearly all
        return None
    allowed = JOINERS + SPACES if spaces else JOINERS
    for c in text:
        if c not in allowed and (unicodedata.category(c) in REFUSED or c in BLANK):
            return f"U+{ord(c):04X}"
    return None


def one_line(text: str) -> str:
    """A text as one line that every terminal takes: no control codes, no half characters."""
    return "".join(
        c if c.isprintable() or c in JOINERS else c.encode("unicode_escape").decode()
        for c in " ".join(text.split())
    )


def shown(value: Any) -> str:
    """A value in an error message: enough to find it, however large it is."""
    try:
        return SHORT.repr(value)
    except (ValueError, RecursionError):  # a number of 5,000 digits
        return f"<{type(value).__name__}>"


def stated(value: Any) -> str:
    """The value of an entry in an error message: None is one that a file does not have."""
    return "not given" if value is None else shown(value)


def some(names: Sequence[str]) -> str:
    """The first names of several, and how many more there are.

    Examples
    --------
    >>> some(["age", "job"]), some(list("abcdefg"))
    ("'age', 'job'", "'a', 'b', 'c', 'd', 'e' and 2 more")
    """
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return ", ".join(map(repr, names[:NAMED])) + more


def is_text(value: str) -> bool:
    """Whether a text can be written to a file: an escape may name half of a character."""
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True
