"""The claims of chapter V, read from ``claims.yaml``, and the verdict on each of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

import msgspec

from copula_shirley.experiments.estimates import FEWEST_FOLDS
from copula_shirley.experiments.paper.chapter import LARGEST, STAND_IN, title_of
from copula_shirley.experiments.paper.comparators import Claim, Finding, Needs, findings_of
from copula_shirley.experiments.paper.scores import Scores

Status = Literal["confirmed", "not confirmed", "cannot be tested here"]
#: How many comparisons a sentence spells out.
SPELLED = 4


@dataclass(frozen=True)
class Verdict:
    """What became of a claim."""

    claim: Claim
    status: Status
    sentence: str


@cache
def claims() -> tuple[Claim, ...]:
    """Every claim, in the order of the thesis."""
    file = Path(__file__).with_name("claims.yaml")
    return msgspec.yaml.decode(file.read_bytes(), type=tuple[Claim, ...])


def verdicts(scores: Scores) -> list[Verdict]:
    """The verdict on every claim."""
    return [decide(claim, scores) for claim in claims()]


def decide(claim: Claim, scores: Scores) -> Verdict:
    """The verdict on a claim, from the figures alone.

    Of a claim about Texas, the verdict on its stand-in is told but decides nothing.
    """
    there = scores.datasets(claim.experiment)
    names = there if claim.dataset is None else [claim.dataset]
    if findings := findings_of(claim, scores, [name for name in names if name in there]):
        status = judged(findings, claim.needs)
        where = f" Data sets: {', '.join(there)}." if there and claim.dataset is None else ""
        return Verdict(claim, status, sentence(findings, status) + where)
    if claim.dataset == LARGEST:
        words = "Texas may not be passed on and is not here."
        if other := findings_of(claim, scores, [STAND_IN] if STAND_IN in there else []):
            status = judged(other, claim.needs)
            words += f" On the stand-in {STAND_IN} it would be: {status}. {sentence(other, status)}"
    elif claim.dataset is not None:
        words = f"{title_of(claim.dataset)} is not among the results."
    elif not (scores.frame["experiment"] == claim.experiment).any():
        words = f"The experiment {claim.experiment} was not run."
    elif not there:
        words = f"No run of the experiment {claim.experiment} came to an end with figures."
    else:
        words = f"The results of {claim.experiment} lack what is to be compared."
    return Verdict(claim, "cannot be tested here", words)


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
    return "cannot be tested here" if _few_folds(findings) < FEWEST_FOLDS else "not confirmed"


def _few_folds(findings: Sequence[Finding]) -> int:
    """The fewest folds behind a comparison that is open."""
    return min(finding.folds for finding in findings if finding.answer == "open")


def sentence(findings: Sequence[Finding], status: Status) -> str:
    """Contradicted or left open, counts, then the numbers: those that decide first."""
    counts = Counter(finding.answer for finding in findings)
    first = ("holds",) if status == "confirmed" else ("fails", "open", "holds")
    ordered = sorted(findings, key=lambda f: (*first, f.answer).index(f.answer))
    spelled = "; ".join(f"{f.words} [{f.answer}]" for f in ordered[:SPELLED])
    more = f"; and {len(findings) - SPELLED} more" if len(findings) > SPELLED else ""
    head = ""
    if status == "cannot be tested here":
        few = _few_folds(findings)
        head = "One fold decides nothing. " if few == 1 else f"{few} folds do not decide it. "
    if status == "not confirmed":
        head = "Contradicted: " if counts["fails"] else "Left open: "
    if len(findings) > 1:
        head += (
            f"{counts['holds']} of {len(findings)} comparisons hold, {counts['fails']} fail, "
            f"{counts['open']} are open: "
        )
    return f"{head}{spelled}{more}."
