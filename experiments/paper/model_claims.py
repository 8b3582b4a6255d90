"""Claims of thesis 5.2.5 and 5.2.8: the generators over epsilon, figures 5.5 to 5.8."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pandas as pd

from experiments.paper.findings import (
    Case,
    Finding,
    answer,
    compare,
    not_shown,
    told,
)
from experiments.paper.printed import (
    BAYES,
    COPULA,
    HISTOGRAM,
    PANELS,
    SHIRLEY,
    STRONG_ATTACK,
    THESIS,
    epsilon_text,
)
from experiments.paper.scores import Scores, aligned, estimate

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


def below(generators: Sequence[str], metrics: Sequence[str], bound: float) -> Findings:
    """The mean over epsilons stays below a bound."""

    def findings(scores: Scores, datasets: Sequence[str]) -> list[Finding]:
        found = []
        for dataset in datasets:
            for metric in metrics:
                for name in generators:
                    mean = scores.estimate("models", metric, dataset, name)
                    if mean.folds:
                        word = answer(-mean, -bound)
                        words = f"{dataset}, {PANELS[metric][0]}: {name} {told(mean, '')}"
                        found.append(Finding(word, f"{words}, bound {bound:g}", mean.folds))
        return found

    return findings


def risk_falls(scores: Scores, datasets: Sequence[str], metric: str = ATTACK) -> list[Finding]:
    """Whether the attack does worse at the smallest epsilon than with the least noise."""
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
                    f"fall {told(fall)}"
                )
                found.append(Finding(answer(fall), words, fall.folds))
    return found


def spread(scores: Scores, dataset: str, metric: str, generator: str) -> pd.Series[float]:
    """Standard deviation over epsilons, by fold."""
    values = scores.values("models", metric, dataset, generator)
    return values.groupby("fold").std().dropna()


def steadier(first: str, other: str) -> Findings:
    """One generator's figures vary less over epsilon than another's."""

    def findings(scores: Scores, datasets: Sequence[str]) -> list[Finding]:
        found = []
        for dataset in datasets:
            for metric in PANELS:
                own, theirs = (spread(scores, dataset, metric, g) for g in (first, other))
                both = own.index.intersection(theirs.index)
                if both.empty:
                    continue
                less = estimate(theirs.loc[both] - own.loc[both])
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
            parts = {n: scores.values("models", metric, dataset, n) for n in THESIS}
            means = pd.DataFrame({n: part.groupby("fold").mean() for n, part in parts.items()})
            means = means.dropna()
            if len(means):
                ranks = means.rank(axis=1, ascending=not upward)[SHIRLEY]
                rank = estimate(ranks)
                # at most second: below 2.5 on the average of the folds
                word = answer(-rank, -2.5)
                words = f"{dataset}, {title}: mean rank {told(rank, '')} of 4"
                found.append(Finding(word, words, rank.folds))
    return found


def best_differs(scores: Scores, datasets: Sequence[str]) -> list[Finding]:
    """Whether the generator with the least risk is another one on another data set."""
    best = {}
    folds = []
    for dataset in datasets:
        means = {name: scores.estimate("models", ATTACK, dataset, name) for name in THESIS}
        known = {name: each for name, each in means.items() if each.folds}
        if known:
            name = min(known, key=lambda n: known[n].mean)
            best[dataset] = f"{name} ({known[name].mean:.3f})"
            folds.append(known[name].folds)
    if len(best) < 2:
        return []
    names = {words.split(" (")[0] for words in best.values()}
    words = "least risk: " + ", ".join(f"{dataset} {name}" for dataset, name in best.items())
    return [Finding("holds" if len(names) > 1 else "fails", words, min(folds))]


def strong_attack(scores: Scores, datasets: Sequence[str]) -> list[Finding]:
    """The same question to the attack with all synthetic rows."""
    return not_shown(risk_falls(scores, datasets, STRONG_ATTACK))


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
