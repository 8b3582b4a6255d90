"""What messages say of options and of entries of a schema, in the words of the page."""

from __future__ import annotations

import re

#: How the page offers ``on_unknown``.
ON_UNKNOWN = {"refuse": "refuse the table", "clip": "take the nearest that it allows"}
_CLIP = f"“{ON_UNKNOWN['clip']}” at the release"
_YAML = "in the whole schema as YAML, at the rules"
#: What a message says, and what the page says in its place; in this order.
_WORDS = {
    r"on_unknown='clip' \(--on-unknown clip\)|--on-unknown clip": _CLIP,
    r"\(other: \.\.\., on_unknown='clip'\)": f"(other: ..., {_YAML}, and {_CLIP})",
    r"on_unknown='clip'": _CLIP,
    r"consider --person .+?, so": "choose it as the column that names the person, so",
    r"'per: person' keeps that, in the entry of a column,": (
        "“same in all rows of a person”, ticked below its kind, keeps that"
    ),
    r"^max_rows (\d[\d,]*)": r"At most \1 rows each",
    r"max_rows (\d[\d,]*)": r"at most \1 rows each",
    r"max_rows \(": "the stated most (",
    r"max_rows": "number of rows of a person",
}


def page_words(message: str) -> str:
    """A message as the page says it.

    Examples
    --------
    >>> page_words("With max_rows 6 and --on-unknown clip")
    'With at most 6 rows each and “take the nearest that it allows” at the release'
    """
    for said, words in _WORDS.items():
        message = re.sub(said, words, message)
    return message
