"""What a paper prints, read from ``claims.yaml``, and the verdict on each of its numbers."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Literal

import msgspec
import pandas as pd

Status = Literal["confirmed", "not confirmed"]


@dataclass(frozen=True)
class Found:
    """What an experiment found: figures by name, and tables by their captions."""

    figures: dict[str, float]
    tables: dict[str, pd.DataFrame] = field(default_factory=dict)


class Claim(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A printed number, and between which bounds our figure must lie to confirm it."""

    key: str
    text: str
    place: str
    printed: str
    #: The name of our figure.
    figure: str
    rule: str
    least: float = -math.inf
    most: float = math.inf
    #: Why ours may differ.
    why: str = ""


class Paper(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A paper and its claims."""

    title: str
    about: str
    claims: tuple[Claim, ...]


@dataclass(frozen=True)
class Verdict:
    """What became of a claim."""

    claim: Claim
    ours: float

    @property
    def status(self) -> Status:
        inside = self.claim.least <= self.ours <= self.claim.most
        return "confirmed" if inside else "not confirmed"


@cache
def papers() -> dict[str, Paper]:
    """Every paper by its name."""
    file = Path(__file__).with_name("claims.yaml")
    return msgspec.yaml.decode(file.read_bytes(), type=dict[str, Paper])


def compared(paper: Paper, figures: Mapping[str, float]) -> list[Verdict]:
    """The verdict on every claim of a paper."""
    return [Verdict(claim, figures[claim.figure]) for claim in paper.claims]


def verdict_table(found: list[Verdict]) -> pd.DataFrame:
    """Printed numbers beside ours; why they differ stands only where they do."""
    lines = []
    for verdict in found:
        claim = verdict.claim
        why = claim.why if verdict.status == "not confirmed" else ""
        lines.append(
            {
                "claim": claim.text,
                "place": claim.place,
                "printed": claim.printed,
                "ours": written(verdict.ours),
                "verdict": verdict.status,
                "rule": " ".join(filter(None, [claim.rule, why])),
            }
        )
    return pd.DataFrame(lines)


def written(value: float) -> str:
    """A figure as it is printed.

    Examples
    --------
    >>> [written(value) for value in (6.5810534, 34210.5, 0.00281, 5.0, 3e-15, math.inf)]
    ['6.581', '34,210', '0.00281', '5', '3e-15', 'inf']
    """
    if abs(value) >= 1e4 and math.isfinite(value):
        return f"{value:,.0f}"
    return f"{value:.4g}"
