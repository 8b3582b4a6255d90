"""Claims of thesis 5.2.5 and 5.2.8: the generators over epsilon, figures 5.5 to 5.8."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pandas as pd

from copula_shirley.experiments.paper.findings import (
    Answer,
    Case,
    Finding,
    answer,
    at_most,
    compare,
    told,
)
from copula_shirley.experiments.paper.printed import (
    BAYES,
    COPULA,
    HISTOGRAM,
    PANELS,
    SHIRLEY,
    STRONG_ATTACK,
    THESIS,
    epsilon_text,
)
from copula_shirley.experiments.paper.scores import Estimate, Scores, aligned, estimate, in_common
from copula_shirley.experiments.paper.setting_claims import MARGINS

Findings = Callable[[Scores, Sequence[str]], list[Finding]]
ATTACK = "membership_hamming"
#: An MCC below this is a failure; an attack below that is decent protection.
FAILURE, DECENT = 0.05, 0.55


def better(
    first: Sequence[str], others: Sequence[str], metrics: Sequence[str], each_epsilon: bool = False
) -> Findings:
    """Each of some generators does better than each other one, over all epsilons or at each."""

    def findings(scores: Scores, datasets: Sequence[str]) -> list[Finding]:
        found = []
        for dataset in datasets:
            epsilons: list[float | None] = [None]
            if each_epsilon:
                epsilons = list(scores.epsilons("models", dataset))
            for metric in metrics:
                for own in first:
                    for other in others:
                        for epsilon in epsilons:
                            sides = [
                                Case("models", metric, dataset, name, "", epsilon)
                                for name in (own, other)
                            ]
                            high, low = sides if PANELS[metric][1] else sides[::-1]
                            found += compare(scores, high, low)
        return found

    return findings


def common(
    scores: Scores, metric: str, dataset: str, generators: Sequence[str]
) -> dict[str, pd.Series[float]]:
    """Figures of the generators that have any, at the epsilons and folds that all of them have."""
    parts = {name: scores.values("models", metric, dataset, name) for name in generators}
    parts = {name: part for name, part in parts.items() if len(part)}
    return in_common(parts) if parts else {}


def below(generators: Sequence[str], metrics: Sequence[str], bound: float) -> Findings:
    """The mean over epsilons stays below a bound."""

    def findings(scores: Scores, datasets: Sequence[str]) -> list[Finding]:
        found = []
        for dataset in datasets:
            for metric in metrics:
                for name, part in common(scores, metric, dataset, generators).items():
                    mean = estimate(part.groupby("fold").mean())
                    if mean.folds:
                        word = answer(-mean, -bound)
                        words = f"{dataset}, {PANELS[metric][0]}: {name} {told(mean, '')}"
                        found.append(Finding(word, f"{words}, bound {bound:g}", mean.folds))
        return found

    return findings


def risk_stays(scores: Scores, datasets: Sequence[str], metric: str = ATTACK) -> list[Finding]:
    """Whether the attack does as well at the smallest epsilon as with the least noise."""
    margin = MARGINS[ATTACK]
    found = []
    for dataset in datasets:
        epsilons = scores.epsilons("models", dataset)
        if len(epsilons) < 2:
            continue
        ends = (epsilons[0], epsilons[-1])
        for name in THESIS:
            most, least = (Case("models", metric, dataset, name, "", e) for e in ends)
            high, low = aligned(most.values(scores), least.values(scores))
            fall = estimate(high - low)
            if fall.folds:
                title = "membership attack" if metric == ATTACK else "attack with all rows"
                words = (
                    f"{dataset}, {title}: {name} {high.mean():.3f} at epsilon "
                    f"{epsilon_text(ends[0])}, {low.mean():.3f} at {epsilon_text(ends[1])}, "
                    f"fall {told(fall)}, margin {margin:g}"
                )
                found.append(Finding(at_most(fall, margin, shown=0.0), words, fall.folds))
    return found


def spread(values: pd.Series[float]) -> pd.Series[float]:
    """Standard deviation over epsilons, by fold; seeds are averaged first."""
    return values.groupby(["fold", "epsilon"]).mean().groupby("fold").std().dropna()


def steadier(first: str, other: str) -> Findings:
    """One generator's figures vary less over epsilon than another's."""

    def findings(scores: Scores, datasets: Sequence[str]) -> list[Finding]:
        found = []
        for dataset in datasets:
            for metric in PANELS:
                parts = common(scores, metric, dataset, (first, other))
                if len(parts) < 2:
                    continue
                own, theirs = (spread(parts[name]) for name in (first, other))
                less = estimate(theirs - own)
                if not less.folds:
                    continue
                words = (
                    f"{dataset}, {PANELS[metric][0]}: spread of {other} {theirs.mean():.3f}, of "
                    f"{first} {own.mean():.3f}, difference {told(less)}"
                )
                found.append(Finding(answer(less), words, less.folds))
        return found

    return findings


def second_or_first(scores: Scores, datasets: Sequence[str]) -> list[Finding]:
    """Whether COPULA-SHIRLEY is among the best two of four, for each measure and data set."""
    found = []
    for dataset in datasets:
        for metric, (title, upward) in PANELS.items():
            parts = common(scores, metric, dataset, THESIS)
            means = pd.DataFrame({n: part.groupby("fold").mean() for n, part in parts.items()})
            if len(means) and len(parts) == len(THESIS):
                ranks = means.rank(axis=1, ascending=not upward)[SHIRLEY]
                rank = estimate(ranks)
                # at most second: below 2.5 on the average of the folds
                word = answer(-rank, -2.5)
                words = f"{dataset}, {title}: mean rank {told(rank, '')} of 4"
                found.append(Finding(word, words, rank.folds))
    return found


def least_risk(scores: Scores, dataset: str) -> tuple[str, str, Estimate] | None:
    """The generator with the least risk, the next, and the paired difference between them."""
    parts = common(scores, ATTACK, dataset, THESIS)
    means = pd.DataFrame({name: part.groupby("fold").mean() for name, part in parts.items()})
    if len(parts) < 2 or means.empty:
        return None
    best, second = means.mean().sort_values(kind="stable").index[:2]
    return best, second, estimate(means[second] - means[best])


def best_differs(scores: Scores, datasets: Sequence[str]) -> list[Finding]:
    """Whether the generator with the least risk is another one on another data set.

    Open unless it is below the next one, by a paired interval, on each data set.
    """
    known = {dataset: least_risk(scores, dataset) for dataset in datasets}
    found = {dataset: each for dataset, each in known.items() if each is not None}
    if len(found) < 2:
        return []
    words = "least risk: " + "; ".join(
        f"{dataset} {best}, next {second} {told(gap)}"
        for dataset, (best, second, gap) in found.items()
    )
    names = {best for best, _, _ in found.values()}
    word: Answer = "holds" if len(names) > 1 else "fails"
    if any(answer(gap) != "holds" for _, _, gap in found.values()):
        word = "open"
    return [Finding(word, words, min(gap.folds for _, _, gap in found.values()))]


def strong_attack(scores: Scores, datasets: Sequence[str]) -> list[Finding]:
    """The same question to the attack with all synthetic rows."""
    return risk_stays(scores, datasets, STRONG_ATTACK)


def ties(scores: Scores, datasets: Sequence[str]) -> list[Finding]:
    """Whether .95 times the RMSE of COPULA-SHIRLEY is below PrivBayes's somewhere."""
    found = []
    for dataset in datasets:
        for epsilon in scores.epsilons("models", dataset):
            theirs, own = (
                Case("models", "rmse", dataset, n, "", epsilon) for n in (BAYES, SHIRLEY)
            )
            found += compare(scores, theirs, own, factor=0.95)
    held = [f for f in found if f.answer == "holds"]
    return held[:1] or [f for f in found if f.answer == "open"] or found


def least_two(scores: Scores, datasets: Sequence[str]) -> list[Finding]:
    """COPULA-SHIRLEY and DP-Histogram are below the others in KS."""
    return better([SHIRLEY, HISTOGRAM], [BAYES, COPULA], ["ks"])(scores, datasets)


def except_largest(findings: Findings) -> Findings:
    """A claim about all data sets but Texas (or its stand-in)."""
    return lambda scores, datasets: findings(
        scores, [name for name in datasets if name not in ("texas", "diabetes130")]
    )
