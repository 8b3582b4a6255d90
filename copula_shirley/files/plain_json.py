"""JSON of strangers, read with limits; JSON of ours, in one form for each value."""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Iterator
from typing import Any

from copula_shirley.errors import ArtefactError
from copula_shirley.files.texts import odd_character, shown

#: JSON within JSON; ours has 6 levels.
DEEPEST = 50
#: Whole numbers of a header; seeds have 63 bits.
LARGEST_WHOLE_NUMBER = 2**64
#: Pattern of possible control characters; most texts have none.
UNUSUAL = re.compile(r"[^\n\r\t -~]")
#: Relative difference of numbers that two machines may make of the same sums.
ROUNDING = 1e-6


def parse_json(content: bytes) -> Any:
    """JSON without what JSON has not, or what no model needs; every fault is a ValueError.

    That of a text that nobody should be shown is an ArtefactError.
    """
    value = json.loads(content.decode("utf-8"), object_pairs_hook=_object)
    _check(value, DEEPEST)
    return value


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    entry = dict(pairs)
    if len(entry) < len(pairs):
        raise ValueError("a key stands twice")
    return entry


def _check(value: Any, depth: int) -> None:
    """Refuse texts that nobody should be shown, numbers that are none, and deep nesting."""
    if isinstance(value, dict | list):
        if depth == 0:
            raise ValueError("nested too deeply")
        for inner in (*value, *value.values()) if isinstance(value, dict) else value:
            _check(inner, depth - 1)
    elif isinstance(value, str):
        if UNUSUAL.search(value) and (odd := odd_character(value, spaces=True)):
            raise ArtefactError(f"the text {value!a:.120} must not hold {odd}")
    elif isinstance(value, int) and abs(value) > LARGEST_WHOLE_NUMBER:
        raise ValueError("a number is too large")
    elif isinstance(value, float) and not math.isfinite(value):
        raise ValueError("a number is none, or too large")


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


def differences(said: Any, true: Any, place: str) -> Iterator[str]:
    """Where a value of JSON is another one than it must be, but for the last digits of floats.

    Examples
    --------
    >>> list(differences({"a": [1.0, 2], "b": 0}, {"a": (1.0000000001, 3)}, "card"))
    ["card: 'b' is no part of it", 'card.a[1] is 2, and must be 3']
    """
    if isinstance(said, dict) and isinstance(true, dict):
        yield from (f"{place}: {name!r} is no part of it" for name in said if name not in true)
        yield from (f"{place}: {name!r} is missing" for name in true if name not in said)
        for name in [name for name in true if name in said]:
            yield from differences(said[name], true[name], f"{place}.{name}")
    elif isinstance(said, list | tuple) and isinstance(true, list | tuple):
        if len(said) != len(true):
            yield f"{place} has {len(said)} entries, and must have {len(true)}"
        for i, (one, other) in enumerate(zip(said, true, strict=False)):
            yield from differences(one, other, f"{place}[{i}]")
    else:
        numbers = [isinstance(v, int | float) and not isinstance(v, bool) for v in (said, true)]
        if all(numbers) and isinstance(said, float) | isinstance(true, float):
            same = math.isclose(said, true, rel_tol=ROUNDING)
        else:
            same = type(said) is type(true) and bool(said == true)
        if not same:
            yield f"{place} is {shown(said)}, and must be {shown(true)}"
