"""One comparison and what it says; many comparisons and what they say together.

A comparison is a paired difference over folds with its 95 % interval. It holds if the interval
lies on the claimed side, fails if it lies on the other, and is open if it lies on both or if there
are too few folds.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from copula_shirley.experiments.estimates import FEWEST_FOLDS, Estimate

Answer = Literal["holds", "fails", "open"]
Needs = Literal["all", "most", "one"]
Status = Literal["confirmed", "not confirmed", "cannot be tested here"]
#: How many comparisons a sentence spells out.
SPELLED = 4


@dataclass(frozen=True)
class Finding:
    """One comparison: its answer, its numbers in words, and how many folds stand behind it."""

    answer: Answer
    words: str
    folds: int


def above(found: Estimate, bound: float = 0.0) -> Answer:
    """Whether an estimate is above a bound; few folds leave it open, however alike they are."""
    if found.folds < FEWEST_FOLDS:
        return "open"
    if found.low > bound:
        return "holds"
    return "fails" if found.high < bound else "open"


def at_most(found: Estimate, margin: float, fails_above: float) -> Answer:
    """Whether a difference is below a margin; it fails where it is surely above ``fails_above``.

    A wide interval is no evidence that there is no difference: it is open.

    Examples
    --------
    >>> from copula_shirley.experiments.estimates import estimate
    >>> at_most(estimate([0.0, 0.001, -0.001]), 0.02, 0.0)
    'holds'
    >>> at_most(estimate([0.0, 0.1, -0.1]), 0.02, 0.0)
    'open'
    """
    if above(found, fails_above) == "holds":
        return "fails"
    return "holds" if above(found, margin) == "fails" else "open"


def told(found: Estimate, sign: str = "+") -> str:
    """An estimate in words; a difference has its sign."""
    if found.folds < 2:
        return f"{found.mean:{sign}.3f} (no interval)"
    return f"{found.mean:{sign}.3f} ({found.low:{sign}.3f} to {found.high:{sign}.3f})"


def judged(findings: Sequence[Finding], needs: Needs) -> Status:
    """All, most or one of the comparisons hold, or not; open ones of few folds decide nothing."""
    counts, total = Counter(finding.answer for finding in findings), len(findings)
    enough = {"all": total, "most": total // 2 + 1, "one": 1}[needs]
    # so many may fail before the claim cannot hold any more
    too_many = {"all": 1, "most": total / 2, "one": total}[needs]
    if counts["holds"] >= enough:
        return "confirmed"
    if counts["fails"] >= too_many:
        return "not confirmed"
    few = min(finding.folds for finding in findings if finding.answer == "open") < FEWEST_FOLDS
    return "cannot be tested here" if few else "not confirmed"


def sentence(findings: Sequence[Finding], status: Status) -> str:
    """Contradicted or left open, counts, then the numbers: those that decide first."""
    counts = Counter(finding.answer for finding in findings)
    first = ("holds",) if status == "confirmed" else ("fails", "open", "holds")
    ordered = sorted(findings, key=lambda f: (*first, f.answer).index(f.answer))
    spelled = "; ".join(f"{f.words} [{f.answer}]" for f in ordered[:SPELLED])
    more = f"; and {len(findings) - SPELLED} more" if len(findings) > SPELLED else ""
    head = ""
    if status == "cannot be tested here":
        few = min(f.folds for f in findings if f.answer == "open")
        head = "One fold decides nothing. " if few == 1 else f"{few} folds do not decide it. "
    if status == "not confirmed":
        head = "Contradicted: " if counts["fails"] else "Left open: "
    if len(findings) > 1:
        head += (
            f"{counts['holds']} of {len(findings)} comparisons hold, {counts['fails']} fail, "
            f"{counts['open']} are open: "
        )
    return f"{head}{spelled}{more}."
