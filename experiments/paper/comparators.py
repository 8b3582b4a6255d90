"""The five comparators that make findings of a claim from scores.

A finding is one comparison: a paired difference over folds with its 95 % interval. It holds if the
interval lies on the claimed side, fails if it lies on the other, and is open if it lies on both or
if there are too few folds.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Literal

import msgspec
import pandas as pd

from copula_shirley.experiments.estimates import FEWEST_FOLDS, Estimate, estimate
from copula_shirley.experiments.paper.chapter import CHAPTER, SHIRLEY, STRONG_ATTACK
from copula_shirley.experiments.paper.coefficients import PAIRS
from copula_shirley.experiments.paper.scores import Scores, by_fold
from copula_shirley.experiments.specs import epsilon_text

Answer = Literal["holds", "fails", "open"]
Needs = Literal["all", "most", "one"]
#: Experiments that vary a setting of COPULA-SHIRLEY; what is compared are the settings.
SETTINGS = ("ratio", "encoders", "mechanisms", "truncation")


class Claim(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A claim of the thesis and how it is decided; ``claims.yaml`` says what the fields mean."""

    key: str
    text: str
    place: str
    rule: str
    comparator: Literal["better", "hardly better", "alike", "below", "recorded"]
    experiment: str = ""
    who: tuple[str, ...] = ()
    than: tuple[str, ...] = ()
    in_turn: bool = False
    metrics: tuple[str, ...] = ()
    statistic: Literal["value", "spread", "rank", "beaten", "highest"] = "value"
    epsilons: Literal["all", "each", "ends"] = "all"
    factor: float = 1.0
    bound: float = 0.0
    fails_above: float | None = None
    fact: Literal["", "proved", "left out", "best differs"] = ""
    needs: Needs = "all"
    dataset: str | None = None
    but_for: tuple[str, ...] = ()
    why: str = ""
    faults: str = ""


@dataclass(frozen=True)
class Finding:
    """One comparison: its answer, its numbers in words, and how many folds stand behind it."""

    answer: Answer
    words: str
    folds: int


def at_most(found: Estimate, bound: float, fails_above: float) -> Answer:
    """Whether an estimate is below a bound; it fails where it is surely above ``fails_above``.

    Few folds leave it open, however alike they are. A wide interval is no evidence that there is
    no difference: it is open.

    Examples
    --------
    >>> at_most(estimate([0.0, 0.001, -0.001]), 0.02, 0.0)
    'holds'
    >>> at_most(estimate([0.0, 0.1, -0.1]), 0.02, 0.0)
    'open'
    """
    if found.folds < FEWEST_FOLDS:
        return "open"
    if found.low > fails_above:
        return "fails"
    return "holds" if found.high < bound else "open"


def told(found: Estimate, sign: str = "+") -> str:
    """An estimate in words; a difference has its sign."""
    if found.folds < 2:
        return f"{found.mean:{sign}.3f} (no interval)"
    return f"{found.mean:{sign}.3f} ({found.low:{sign}.3f} to {found.high:{sign}.3f})"


def findings_of(claim: Claim, scores: Scores, datasets: Sequence[str]) -> list[Finding]:
    """The comparisons that decide a claim, on some data sets."""
    datasets = [name for name in datasets if name not in claim.but_for]
    if claim.comparator == "recorded":
        facts = {"proved": _proved, "left out": _left_out, "best differs": _best_differs}
        return list(facts[claim.fact](claim, scores, datasets))
    compare = _below if claim.comparator == "below" else _compared
    return [found for place in places(claim, scores, datasets) for found in compare(place)]


# -- figures ---------------------------------------------------------------------


@dataclass(frozen=True)
class Place:
    """Where a claim is looked at: its scores on one data set, by one metric, at one epsilon."""

    claim: Claim
    scores: Scores
    dataset: str
    metric: str
    epsilon: float | None = None

    @property
    def upward(self) -> bool:
        """Whether more is better."""
        measure = CHAPTER.measures.get(self.metric)
        return self.claim.statistic == "value" and measure is not None and measure.upward

    def __str__(self) -> str:
        """Data set, statistic, measure and epsilon."""
        known = {name: measure.title for name, measure in CHAPTER.measures.items()}
        known[STRONG_ATTACK] = "attack with all rows"
        spread = "spread of " if self.claim.statistic == "spread" else ""
        noise = "" if self.epsilon is None else f", epsilon {epsilon_text(self.epsilon)}"
        name = known.get(self.metric, self.metric.replace("_", " "))
        return f"{self.dataset}, {spread}{name}{noise}:"

    def values(self, name: str, epsilon: float | None = None) -> pd.Series[float]:
        """Figures of a generator, or of a setting of COPULA-SHIRLEY, by fold, seed and epsilon."""
        experiment = self.claim.experiment
        who = (SHIRLEY, name) if experiment in SETTINGS else (name, "")
        where = (experiment, self.metric, self.dataset, *who)
        return self.scores.values(*where, self.epsilon if epsilon is None else epsilon)

    def means(self, names: Sequence[str]) -> pd.DataFrame:
        """Means (or spreads) by fold: a column for each of those that have any, in common."""
        parts = [self.values(name) for name in names]
        return by_fold(names, parts, self.claim.statistic == "spread")


def places(claim: Claim, scores: Scores, datasets: Sequence[str]) -> Iterator[Place]:
    """Every data set with every metric; at every epsilon if each counts for itself."""
    for dataset in datasets:
        epsilons = scores.epsilons(claim.experiment, dataset) if claim.epsilons == "each" else []
        for metric in claim.metrics:
            for epsilon in epsilons or (None,):
                yield Place(claim, scores, dataset, metric, epsilon)


def pairs(place: Place) -> Iterator[pd.DataFrame]:
    """Figures by fold of each of ``who`` beside each of ``than``."""
    claim = place.claim
    if claim.epsilons == "ends":
        yield from _ends(place)
        return
    in_turn = zip(claim.who, claim.than, strict=True)
    each = product(_whom(place, claim.who), _whom(place, claim.than))
    yield from map(place.means, in_turn if claim.in_turn else each)


def _whom(place: Place, names: Sequence[str]) -> Sequence[str]:
    """Names as they are, or the settings that a word stands for."""
    if not {"others", "best", "worst"} & set(names):
        return names
    claim = place.claim
    others = place.scores.variants(claim.experiment)
    others = [name for name in others if name not in (*claim.who, *claim.than)]
    if "others" in names:
        return others
    means = {name: float(part.mean()) for name in others if len(part := place.values(name))}
    pick = max if place.upward == ("best" in names) else min
    return [pick(means, key=lambda name: means[name])] if means else []


def _ends(place: Place) -> Iterator[pd.DataFrame]:
    """Each of ``who`` at the smallest epsilon beside itself at the largest."""
    epsilons = place.scores.epsilons(place.claim.experiment, place.dataset)
    for name in place.claim.who if len(epsilons) > 1 else ():
        ends = epsilons[-1], epsilons[0]
        names = [f"{name} at epsilon {epsilon_text(epsilon)}" for epsilon in ends]
        yield by_fold(names, [place.values(name, e).droplevel("epsilon") for e in ends])


# -- the comparators -------------------------------------------------------------


def _compared(place: Place) -> Iterator[Finding]:
    """How much better one side is: by a factor, or by less than the margin or not at all."""
    claim, hardly = place.claim, place.claim.comparator != "better"
    for both in pairs(place):
        if len(both.columns) < 2 or both.empty:
            continue
        (less, low), (more, high) = list(both.items())[:: -1 if place.upward else 1]
        means = high.mean(), low.mean()
        unit = min(means) if hardly and place.metric == "rmse" else 1.0
        found = estimate((high - low * claim.factor) / unit)
        what = "difference" if claim.factor == 1 else f"less {claim.factor:g} times that"
        sides = f"{more} {means[0]:.3f}, {less} {means[1]:.3f}"
        words = f"{place} {sides}, {what} {told(found)}"
        if not hardly:
            yield Finding(at_most(-found, 0.0, 0.0), words, found.folds)
            continue
        margin = CHAPTER.measures[place.metric.removesuffix("_all")].margin
        fails_above = margin if claim.fails_above is None else claim.fails_above
        words += f", margin {margin:g}{' of the lowest' if place.metric == 'rmse' else ''}"
        yield Finding(at_most(found, margin, fails_above), words, found.folds)


def _below(place: Place) -> Iterator[Finding]:
    """Whether a statistic is below the bound."""
    bound = place.claim.bound
    for found, words in _statistics(place):
        if found.folds:
            answer = at_most(found, bound, bound)
            yield Finding(answer, f"{place} {words}, bound {bound:g}", found.folds)


def _statistics(place: Place) -> Iterator[tuple[Estimate, str]]:
    """The statistic of each of ``who`` that has figures, in words too."""
    claim = place.claim
    everybody = [*claim.who, *claim.than]
    if claim.statistic == "beaten":
        errors = {
            name: part.groupby("fold").mean()
            for name in everybody
            if len(part := place.scores.errors(place.dataset, name, "", place.epsilon))
        }
        if claim.who[0] in errors and len(errors) > 1:
            every = pd.concat(errors, axis=1, join="inner")
            best = every.T.groupby(level=1).min().T
            lost = (every[claim.who[0]] > best).to_numpy(dtype=float).sum(axis=1)
            found = estimate(lost)
            yield found, f"{claim.who[0]} beaten in {told(found, '')} of {len(PAIRS)}"
        return
    means = place.means(everybody)
    for name in (name for name in claim.who if name in means):
        found = estimate(means[name])
        words = f"{name} {told(found, '')}"
        if claim.statistic == "highest":
            top = found.most
            found = Estimate(top, top, top, found.folds)
            words = f"{name} at most {top:.3f} in {found.folds} folds"
        if claim.statistic == "rank":
            ranks = means.rank(axis=1, ascending=not CHAPTER.measures[place.metric].upward)
            found = estimate(ranks[name] if len(means.columns) == len(everybody) else [])
            words = f"{name} mean rank {told(found, '')} of {len(everybody)}"
        yield found, words


def _proved(claim: Claim, scores: Scores, _: Sequence[str]) -> Iterator[Finding]:
    """Whether the ledgers prove the epsilon wherever one is claimed."""
    done = scores.done
    own = done[done["generator"].isin(claim.who) & done["epsilon"].notna()].drop_duplicates("id")
    proved = (own["proved"] == own["claimed"]) & (own["proved"] != "nothing")
    words = (
        f"{len(own)} runs claim an epsilon, the ledgers of {int(proved.sum())} prove it (proved: "
        f"{', '.join(sorted(set(own['proved'])))})"
    )
    if len(own):
        words += "" if proved.all() else f"; {claim.faults}"
        yield Finding("holds" if proved.all() else "fails", words, own["fold"].nunique())


def _left_out(claim: Claim, scores: Scores, datasets: Sequence[str]) -> Iterator[Finding]:
    """Whether settings were left out on a data set because they ask for too much."""
    part = scores.frame[scores.frame["experiment"] == claim.experiment]
    part = part[part["variant"].isin(claim.who)]
    for dataset in datasets:
        own = part[part["dataset"] == dataset]
        skipped = own[(own["status"] != "done") & own["reason"].str.contains("one-hot|memory|took")]
        if len(own):
            words = f"{dataset}: {[*skipped['reason'], 'it ran'][0]}"
            yield Finding("holds" if len(skipped) else "fails", words, own["fold"].nunique())


def _best_differs(claim: Claim, scores: Scores, datasets: Sequence[str]) -> Iterator[Finding]:
    """Whether the lowest is another one on another data set.

    Open unless it is below the next one, by a paired interval, on each data set.
    """
    found: dict[str, tuple[str, str, Estimate]] = {}
    for place in places(claim, scores, datasets):
        means = place.means(claim.who)
        if len(means.columns) > 1 and len(means):
            best, second = means.mean().sort_values(kind="stable").index[:2]
            found[place.dataset] = best, second, estimate(means[second] - means[best])
    if len(found) > 1:
        words = [f"{name} {a}, next {b} {told(gap)}" for name, (a, b, gap) in found.items()]
        bests, _, gaps = zip(*found.values(), strict=True)
        sure = all(at_most(-gap, 0.0, 0.0) == "holds" for gap in gaps)
        answer: Answer = ("fails" if len({*bests}) == 1 else "holds") if sure else "open"
        yield Finding(answer, f"lowest: {'; '.join(words)}", min(gap.folds for gap in gaps))
