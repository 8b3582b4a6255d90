"""JSON of strangers, read with limits; JSON of ours, in one form for each value."""

from __future__ import annotations

import hashlib
import json
import math
import re
from typing import Any

from copula_shirley.errors import ArtefactError
from copula_shirley.files.texts import all_texts, odd_character

#: JSON within JSON; ours has 6 levels.
DEEPEST = 50
#: Whole numbers of a header; seeds have 63 bits.
LARGEST_WHOLE_NUMBER = 2**64
#: Escaped or not, what may be a control character; most files have neither.
ODD = re.compile(r"\\u|[^\n\r\t -~]")
#: Relative difference of numbers that two machines may make of the same sums.
ROUNDING = 1e-6


def parse_json(content: bytes) -> Any:
    """JSON without what JSON has not, or what no model needs; every fault is a ValueError.

    That of a text that nobody should be shown is an ArtefactError.
    """
    text = content.decode("utf-8")
    _check_depth(text)
    value = json.loads(
        text,
        object_pairs_hook=_object,
        parse_constant=_constant,
        parse_float=_float,
        parse_int=_whole,
    )
    if ODD.search(text):
        for part in all_texts(value):
            odd = odd_character(part, spaces=True)
            if odd:
                raise ArtefactError(f"the text {part!a:.120} must not hold {odd}")
    return value


def _check_depth(text: str) -> None:
    """Refuse brackets within brackets beyond the limit; those in texts count too little."""
    depth, inside = 0, re.compile(r'"(?:[^"\\]|\\.)*"?|[\[\]{}]', re.DOTALL)
    for found in inside.finditer(text):
        if found[0] in "[{":
            depth += 1
        elif found[0] in "]}":
            depth -= 1
        if depth > DEEPEST:
            raise ValueError("nested too deeply")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    entry = dict(pairs)
    if len(entry) < len(pairs):
        raise ValueError("a key stands twice")
    return entry


def _constant(text: str) -> float:
    raise ValueError(f"{text} is no number")


def _float(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError("a number is too large")
    return value


def _whole(text: str) -> int:
    if len(text) > 21 or abs(value := int(text)) > LARGEST_WHOLE_NUMBER:
        raise ValueError("a number is too large")
    return value


def canonical(value: Any) -> bytes:
    """JSON with sorted names and without spaces: equal values give equal bytes."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return text.encode("ascii")


def sha256_of(value: Any) -> str:
    """The digest of a value's canonical JSON.

    Examples
    --------
    >>> sha256_of({"b": (1, 2), "a": 0.5}) == sha256_of({"a": 0.5, "b": [1, 2]})
    True
    """
    return hashlib.sha256(canonical(value)).hexdigest()


def close(one: Any, other: Any) -> bool:
    """Whether two values of JSON are equal, but for the last digits of floats.

    Examples
    --------
    >>> close({"a": [1.0]}, {"a": (1.0000000001,)}), close(True, 1)
    (True, False)
    """
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(close(one[k], other[k]) for k in one)
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return len(one) == len(other) and all(map(close, one, other))
    numbers = [isinstance(v, int | float) and not isinstance(v, bool) for v in (one, other)]
    if all(numbers) and isinstance(one, float) | isinstance(other, float):
        return math.isclose(one, other, rel_tol=ROUNDING)
    return type(one) is type(other) and bool(one == other)
