"""One comparison and what it says; many comparisons and the verdict on a claim.

A comparison is a paired difference over folds with its 95 % interval. It holds if the interval
lies on the claimed side, fails if it lies on the other, and is open if it lies on both or if there
are too few folds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import pandas as pd

from copula_shirley.experiments.paper.printed import LARGEST, PANELS, STAND_IN, TITLES, epsilon_text
from copula_shirley.experiments.paper.scores import (
    FEWEST_FOLDS,
    Estimate,
    Scores,
    aligned,
    estimate,
    paired,
)

Answer = Literal["holds", "fails", "open"]
Status = Literal["confirmed", "not confirmed", "cannot be tested here"]
#: How many comparisons a sentence spells out.
SPELLED = 4


@dataclass(frozen=True)
class Finding:
    """One comparison.

    Parameters
    ----------
    answer : {"holds", "fails", "open"}
    words : str
        The comparison with its numbers.
    folds : int
        How many folds stand behind it.
    """

    answer: Answer
    words: str
    folds: int


@dataclass(frozen=True)
class Claim:
    """A claim of the thesis.

    Parameters
    ----------
    key : str
        A short name.
    place : str
        Where it stands in the thesis.
    text : str
        What is claimed, in our words.
    rule : str
        How it is decided.
    experiment : str
    findings : callable
        The comparisons, from scores and the data sets to look at.
    needs : {"all", "most"}
        Which of the comparisons have to hold.
    dataset : str, optional
        The claim is about this data set alone.
    why : str
        Why ours may differ from what is printed, if that is known.
    """

    key: str
    place: str
    text: str
    rule: str
    experiment: str
    findings: Callable[[Scores, Sequence[str]], list[Finding]]
    needs: Literal["all", "most"] = "all"
    dataset: str | None = None
    why: str = ""


@dataclass(frozen=True)
class Verdict:
    """What became of a claim."""

    claim: Claim
    status: Status
    sentence: str


def decide(claim: Claim, scores: Scores) -> Verdict:
    """The verdict on a claim, from the figures alone."""
    datasets = scores.datasets(claim.experiment)
    if claim.dataset is not None:
        return _on_one(claim, scores, datasets)
    findings = claim.findings(scores, datasets)
    if not findings:
        return Verdict(claim, "cannot be tested here", lack(claim, scores, datasets))
    status = judged(findings, claim.needs)
    where = f" Data sets: {', '.join(datasets)}." if datasets else ""
    return Verdict(claim, status, sentence(findings, status) + where)


def _on_one(claim: Claim, scores: Scores, datasets: Sequence[str]) -> Verdict:
    """A claim about one data set; for Texas, the stand-in is told but decides nothing."""
    name = str(claim.dataset)
    found = claim.findings(scores, [name]) if name in datasets else []
    if found:
        status = judged(found, claim.needs)
        return Verdict(claim, status, sentence(found, status))
    words = f"{TITLES[name]} is not among the results."
    if name == LARGEST:
        words = "Texas may not be passed on and is not here."
        other = claim.findings(scores, [STAND_IN]) if STAND_IN in datasets else []
        if other:
            status = judged(other, claim.needs)
            words += f" On the stand-in {STAND_IN} it would be: {status}. {sentence(other, status)}"
    return Verdict(claim, "cannot be tested here", words)


def lack(claim: Claim, scores: Scores, datasets: Sequence[str]) -> str:
    """Why there is nothing to compare."""
    part = scores.frame[scores.frame["experiment"] == claim.experiment]
    if part.empty:
        return f"The experiment {claim.experiment} was not run."
    if not datasets:
        return f"No run of the experiment {claim.experiment} came to an end with figures."
    return f"The results of {claim.experiment} lack what is to be compared."


def judged(findings: Sequence[Finding], needs: Literal["all", "most"]) -> Status:
    """All or most of the comparisons hold, or not; open ones of few folds decide nothing."""
    holds, fails = (sum(f.answer == word for f in findings) for word in ("holds", "fails"))
    total = len(findings)
    if holds == total or (needs == "most" and holds > total / 2):
        return "confirmed"
    if (fails and needs == "all") or fails >= total / 2:
        return "not confirmed"
    if min(f.folds for f in findings if f.answer == "open") < FEWEST_FOLDS:
        return "cannot be tested here"
    return "not confirmed"


def sentence(findings: Sequence[Finding], status: Status) -> str:
    """Contradicted or left open, counts, then the numbers: those that decide first."""
    counts = {word: sum(f.answer == word for f in findings) for word in ("holds", "fails", "open")}
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


# -- comparisons -----------------------------------------------------------------


@dataclass(frozen=True)
class Case:
    """Whose figure of which measure: a cell of an experiment."""

    experiment: str
    metric: str
    dataset: str
    generator: str
    variant: str = ""
    epsilon: float | None = None

    @property
    def name(self) -> str:
        """What tells it from the other side."""
        return self.variant or self.generator

    def values(self, scores: Scores) -> pd.Series[float]:
        """Its figures by fold, seed and epsilon."""
        return scores.values(
            self.experiment, self.metric, self.dataset, self.generator, self.variant, self.epsilon
        )


def answer(found: Estimate, bound: float = 0.0) -> Answer:
    """Whether a difference is above a bound; few folds leave it open, however alike they are."""
    if found.folds < FEWEST_FOLDS:
        return "open"
    if found.low > bound:
        return "holds"
    return "fails" if found.high < bound else "open"


def at_most(found: Estimate, margin: float, shown: float) -> Answer:
    """Whether a difference is below a margin; it fails where it is shown to be above ``shown``.

    A wide interval is no evidence that there is no difference: it is open.

    Examples
    --------
    >>> at_most(estimate([0.0, 0.001, -0.001]), 0.02, shown=0.0)
    'holds'
    >>> at_most(estimate([0.0, 0.1, -0.1]), 0.02, shown=0.0)
    'open'
    """
    if answer(found, shown) == "holds":
        return "fails"
    return "holds" if answer(found, margin) == "fails" else "open"


def compare(scores: Scores, more: Case, less: Case, factor: float = 1.0) -> list[Finding]:
    """Whether one case has more than (``factor`` times) another; nothing if one has no figures."""
    axes = ("fold", "seed", "epsilon")
    high, low = aligned(more.values(scores), less.values(scores), axes)
    found = estimate(high - low * factor)
    if not found.folds:
        return []
    words = (
        f"{label(more)} {more.name} {high.mean():.3f}, {less.name} {low.mean():.3f}, "
        f"{'difference' if factor == 1 else f'less {factor:g} times that'} {told(found)}"
    )
    return [Finding(answer(found), words, found.folds)]


def label(case: Case) -> str:
    """Data set, measure and epsilon of a case."""
    name = PANELS.get(case.metric, (case.metric.replace("_", " "), True))[0]
    noise = "" if case.epsilon is None else f", epsilon {epsilon_text(case.epsilon)}"
    return f"{case.dataset}, {name}{noise}:"


def told(found: Estimate, sign: str = "+") -> str:
    """An estimate in words; a difference has its sign."""
    if found.folds < 2:
        return f"{found.mean:{sign}.3f} (no interval)"
    return f"{found.mean:{sign}.3f} ({found.low:{sign}.3f} to {found.high:{sign}.3f})"


def near(
    scores: Scores, cases: Sequence[Case], margin: float, relative: bool = False
) -> list[Finding]:
    """Whether the highest and the lowest of some cases are at most a margin apart."""
    values = {case: case.values(scores) for case in cases}
    values = {case: each for case, each in values.items() if len(each)}
    if len(values) < 2:
        return []
    ranked = sorted(values, key=lambda case: float(values[case].mean()))
    low, high = ranked[0], ranked[-1]
    unit = float(values[low].mean()) if relative else 1.0
    found = paired(values[high] / unit, values[low] / unit)
    if not found.folds:
        return []
    words = f"{label(low)} {low.name} to {high.name} {told(found)} apart, margin {margin:g}"
    if relative:
        words += " of the lowest"
    return [Finding(at_most(found, margin, margin), words, found.folds)]


def little_more(
    scores: Scores,
    more: Case,
    less: Case,
    margin: float,
    *,
    relative: bool = False,
    shown: float | None = None,
) -> list[Finding]:
    """Whether one case has at most a margin more than another; it may have less.

    It fails where it has more than ``shown``, or than the margin, for sure.
    """
    axes = ("fold", "seed", "epsilon")
    high, low = aligned(more.values(scores), less.values(scores), axes)
    unit = min(float(high.mean()), float(low.mean())) if relative else 1.0
    found = estimate((high - low) / unit)
    if not found.folds:
        return []
    words = (
        f"{label(more)} {more.name} {high.mean():.3f}, {less.name} {low.mean():.3f}, difference "
        f"{told(found)}, margin {margin:g}{' of the lowest' if relative else ''}"
    )
    word = at_most(found, margin, margin if shown is None else shown)
    return [Finding(word, words, found.folds)]
