"""What the figures of a report mean, in words."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import msgspec

from copula_shirley.experiments.run.store import Row

ATTACKS = ("attribute_inference", "singling_out")
#: How a direction is shown and read.
DIRECTIONS = {
    "lower": ("↓", "lower is better"),
    "higher": ("↑", "higher is better"),
    "0.5": ("→.5", ".5 is a coin: no more than that is best"),
    "none": ("", "a description, not ranked"),
}
#: How a claim stands to its proof: the sign before what is proved, and both in words.
MARKS = {
    "kept": ("✓", "Claims {claimed} and proves it"),
    "broken": ("✗", "Claims {claimed} and proves nothing"),
    "unknown": ("?", "Claims {claimed}; we know of no proof"),
    "other": ("≠", "Claims {claimed}; what is proved is {proved}"),
    "more": ("✓", "Claims {claimed}; what is proved is {proved}"),
    "none": ("", "Claims nothing and proves nothing"),
}

#: Short heading and meaning of the metrics that we know.
KNOWN = msgspec.yaml.decode(
    Path(__file__).with_name("metrics.yaml").read_bytes(), type=dict[str, tuple[str, str]]
)


def heading(name: str) -> str:
    """A short heading of a figure."""
    return KNOWN[name][0] if name in KNOWN else name.replace("_", " ")


@dataclass(frozen=True)
class Measure:
    """A metric as it stands in a report."""

    name: str
    label: str
    about: str
    better: str
    bounds: tuple[float | None, float | None]

    @property
    def arrow(self) -> str:
        return DIRECTIONS[self.better][0]

    @property
    def attack(self) -> bool:
        """Whether it says how well an attack went."""
        return self.better == "0.5" or self.name in ATTACKS

    @property
    def tip(self) -> str:
        return f"{self.name}: {self.about or self.label}; {DIRECTIONS[self.better][1]}"


def measures_of(rows: Iterable[Row]) -> dict[str, Measure]:
    """Every metric of the finished runs, in the order of appearance."""
    found: dict[str, Measure] = {}
    for row in rows:
        for name, figure in row.get("figures", {}).items():
            if name not in found:
                about = KNOWN.get(name, ("", ""))[1]
                better = figure["better"] if figure["better"] in DIRECTIONS else "none"
                low, high = figure.get("bounds") or (None, None)
                found[name] = Measure(name, heading(name), about, better, (low, high))
    return found


def number(value: float) -> str:
    """A figure as it stands in a table.

    Examples
    --------
    >>> number(0.12345), number(12.345), number(1234.5), number(-0.0001)
    ('0.123', '12.35', '1,234', '0.000')
    """
    if abs(value) >= 100:
        return f"{value:,.0f}"
    text = f"{value:.2f}" if abs(value) >= 10 else f"{value:.3f}"
    return text.replace("-", "", 1) if float(text) == 0 else text


def short(guaranteed: str) -> str:
    r"""A guarantee in Greek letters.

    Examples
    --------
    >>> print(ascii(short("epsilon 1, delta 1e-09")))
    '\u03b5\xa01, \u03b4\xa01e\u201109'
    """
    # spaces and a hyphen at which no line is broken
    text = guaranteed.replace("epsilon ", "ε\xa0").replace("delta ", "δ\xa0")
    return text.replace("e-", "e\u2011")


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
            return "none" if self.proved == "nothing" else "kept"
        if self.proved == "nothing":
            return "broken"
        return "more" if self.claimed == "nothing" else "other"

    @property
    def sign(self) -> str:
        return MARKS[self.mark][0]

    @property
    def sentence(self) -> str:
        return f"{MARKS[self.mark][1].format(**vars(self))}."
