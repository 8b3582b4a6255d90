"""What the figures of a report mean, in words."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass

from copula_shirley.evaluation.report.words import Measure
from copula_shirley.experiments.run.store import Row
from copula_shirley.privacy.card_words import is_weak

#: How a claim stands to its proof: the sign before what is proved, and both in words.
MARKS = {
    "kept": ("✓", "Claims {claimed} and proves it"),
    "weak": ("!", "Claims {claimed} and proves it; above epsilon 10 that says next to nothing"),
    "broken": ("✗", "Claims {claimed} and proves nothing"),
    "unknown": ("?", "Claims {claimed}; we know of no proof"),
    "other": ("≠", "Claims {claimed}; what is proved is {proved}"),
    "more": ("✓", "Claims {claimed}; what is proved is {proved}"),
    "none": ("", "Claims nothing and proves nothing"),
}


def measures_of(rows: Iterable[Row]) -> dict[str, Measure]:
    """Every metric of the finished runs, in the order of appearance."""
    found: dict[str, Measure] = {}
    for row in rows:
        for name, figure in row.get("figures", {}).items():
            if name not in found:
                found[name] = Measure.of(name, figure)
    return found


def seconds(value: float) -> str:
    """A duration.

    Examples
    --------
    >>> seconds(0.0312), seconds(2.66), seconds(75.2), seconds(7300)
    ('0.03 s', '2.7 s', '75 s', '2.0 h')
    """
    if value < 10:
        return f"{value:.2f} s" if value < 1 else f"{value:.1f} s"
    return f"{value:.0f} s" if value < 3600 else f"{value / 3600:.1f} h"


def bar(value: float) -> int:
    """A bar in hundredths: .01 seconds or megabytes are no bar, a million are a full one."""
    return round(100 * min(max(math.log10(max(value, 1e-9)) + 2, 0) / 8, 1))


@dataclass(frozen=True)
class Promise:
    """What a generator claims and what is proved, and how the one stands to the other.

    Examples
    --------
    >>> Promise("epsilon 1", "nothing").sentence
    'Claims epsilon 1 and proves nothing.'
    """

    claimed: str
    proved: str

    @property
    def mark(self) -> str:
        if self.proved == "not known":
            return "unknown"
        if self.claimed == self.proved:
            kept = "weak" if self.is_weak else "kept"
            return "none" if self.proved == "nothing" else kept
        if self.proved == "nothing":
            return "broken"
        return "more" if self.claimed == "nothing" else "other"

    @property
    def holds(self) -> bool:
        """Whether what is claimed, or more, is proved."""
        return self.mark in ("kept", "weak", "more")

    @property
    def is_weak(self) -> bool:
        """Whether the epsilon that is proved is so large that nobody is protected much."""
        found = re.match(r"epsilon ([\d.e+-]+)", self.proved)
        return found is not None and is_weak(float(found[1]))

    @property
    def sign(self) -> str:
        return MARKS[self.mark][0]

    @property
    def sentence(self) -> str:
        return f"{MARKS[self.mark][1].format(**vars(self))}."
