"""What metrics are called and how figures are written in reports."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

ATTACKS = ("attribute_inference", "singling_out")
#: How a direction is shown and read.
DIRECTIONS = {
    "lower": ("↓", "lower is better"),
    "higher": ("↑", "higher is better"),
    "0.5": ("→.5", ".5 is a coin: no more than that is best"),
    "none": ("", "a description, not ranked"),
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

    @classmethod
    def of(cls, name: str, figure: Mapping[str, Any]) -> Measure:
        """From a figure with its ``better`` and perhaps its ``bounds``."""
        better = figure["better"] if figure["better"] in DIRECTIONS else "none"
        low, high = figure.get("bounds") or (None, None)
        return cls(name, heading(name), KNOWN.get(name, ("", ""))[1], better, (low, high))

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
