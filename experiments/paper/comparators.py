"""The five comparators that make findings of a claim from scores."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import msgspec
import pandas as pd

from copula_shirley.experiments.estimates import Estimate, estimate
from copula_shirley.experiments.paper.coefficients import PAIRS, PREFIX, reference
from copula_shirley.experiments.paper.findings import (
    Answer,
    Finding,
    Needs,
    above,
    at_most,
    told,
)
from copula_shirley.experiments.paper.printed import PANELS, SHIRLEY, STRONG_ATTACK, epsilon_text
from copula_shirley.experiments.paper.scores import Scores, aligned, in_common

#: Experiments that vary a setting of COPULA-SHIRLEY; what is compared are the settings.
SETTINGS = ("ratio", "encoders", "mechanisms", "truncation")
#: How far apart figures may be and still count as alike; RMSE relative to the lowest.
MARGINS = {
    "ks": 0.02,
    "spearman_drift": 0.02,
    "mcc_binary": 0.05,
    "mcc_multiclass": 0.05,
    "rmse": 0.05,
    "membership_hamming": 0.02,
    STRONG_ATTACK: 0.02,
}
#: Absolute errors of the coefficients of table 5.2, averaged over these pairs.
ERRORS = {"mean absolute error": PAIRS, "mean absolute error in the halves of A": PAIRS[5:]}
FAULTS = (
    "(a) d histograms of the same rows cost d times epsilon; (b) the vine is fitted to raw "
    "records; (c) the bins are the data's distinct values; (d) WOE and GLMM codes are exact "
    "statistics of private labels; see the ledger of any fit (shirley inspect) and "
    "README, The privacy label"
)


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
        return self.claim.statistic == "value" and PANELS.get(self.metric, ("", False))[1]

    def __str__(self) -> str:
        """Data set, statistic, measure and epsilon."""
        known = {name: title for name, (title, _) in PANELS.items()}
        known[STRONG_ATTACK] = "attack with all rows"
        spread = "spread of " if self.claim.statistic == "spread" else ""
        noise = "" if self.epsilon is None else f", epsilon {epsilon_text(self.epsilon)}"
        name = known.get(self.metric, self.metric.replace("_", " "))
        return f"{self.dataset}, {spread}{name}{noise}:"

    def values(self, name: str) -> pd.Series[float]:
        """Figures of a generator, or of a setting of COPULA-SHIRLEY, by fold, seed and epsilon."""
        experiment = self.claim.experiment
        if self.metric in ERRORS:
            return self.errors(name)[list(ERRORS[self.metric])].mean(axis=1)
        if self.metric == "seconds":
            fit, sample = (
                self.scores.values(experiment, f"{part}_seconds", self.dataset, name)
                for part in ("fit", "sample")
            )
            return (fit + sample).dropna()
        who = (SHIRLEY, name) if experiment in SETTINGS else (name, "")
        return self.scores.values(experiment, self.metric, self.dataset, *who, self.epsilon)

    def errors(self, name: str) -> pd.DataFrame:
        """Absolute errors of the seven coefficients, a line per fold."""
        parts = {}
        for pair, truth in zip(PAIRS, reference(), strict=True):
            where = ("multivariate", f"{PREFIX}{pair}", self.dataset, name, "", self.epsilon)
            parts[pair] = (self.scores.values(*where) - truth).abs().groupby("fold").mean()
        return pd.DataFrame(parts).dropna()

    def common(self, names: Sequence[str]) -> dict[str, pd.Series[float]]:
        """Figures of those that have any, at the epsilons and folds that all of them have."""
        parts = {name: part for name in names if len(part := self.values(name))}
        return in_common(parts) if parts else {}

    def means(self, names: Sequence[str]) -> pd.DataFrame:
        """The same, means by fold: a column for each of those that have any."""
        parts = self.common(names)
        return pd.DataFrame({name: part.groupby("fold").mean() for name, part in parts.items()})


def places(claim: Claim, scores: Scores, datasets: Sequence[str]) -> Iterator[Place]:
    """Every data set with every metric; at every epsilon if each counts for itself."""
    for dataset in datasets:
        epsilons = scores.epsilons(claim.experiment, dataset) if claim.epsilons == "each" else []
        for metric in claim.metrics:
            for epsilon in epsilons or (None,):
                yield Place(claim, scores, dataset, metric, epsilon)


def spread(part: pd.Series[float]) -> pd.Series[float]:
    """Standard deviation over epsilons, by fold; seeds are averaged first."""
    return part.groupby(["fold", "epsilon"]).mean().groupby("fold").std().dropna()


# -- who is compared with whom ---------------------------------------------------


@dataclass(frozen=True)
class Side:
    """One side of a comparison: a name and its figures."""

    name: str
    figures: pd.Series[float]

    @property
    def axes(self) -> list[str]:
        """What the figures go by: fold, seed, epsilon, or some of them."""
        return [str(name) for name in self.figures.index.names]


def pairs(place: Place) -> Iterator[tuple[Side, Side]]:
    """Each of ``who`` with each of ``than``."""
    claim = place.claim
    if claim.epsilons == "ends":
        yield from _ends(place)
        return
    if claim.in_turn:
        found = list(zip(claim.who, claim.than, strict=True))
    else:
        found = [
            (who, than) for who in _whom(place, claim.who) for than in _whom(place, claim.than)
        ]
    for names in found:
        sides = [Side(name, place.values(name)) for name in names]
        if claim.statistic == "spread":
            parts = place.common(names)
            sides = [Side(name, spread(part)) for name, part in parts.items()]
        if len(sides) == 2 and all(len(side.figures) for side in sides):
            yield sides[0], sides[1]


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


def _ends(place: Place) -> Iterator[tuple[Side, Side]]:
    """Each of ``who`` at the smallest epsilon with itself at the largest."""
    claim, scores = place.claim, place.scores
    epsilons = scores.epsilons(claim.experiment, place.dataset)
    for name in claim.who if len(epsilons) > 1 else ():
        ends = []
        for epsilon in (epsilons[-1], epsilons[0]):
            part = Place(claim, scores, place.dataset, place.metric, epsilon).values(name)
            ends.append(
                Side(f"{name} at epsilon {epsilon_text(epsilon)}", part.droplevel("epsilon"))
            )
        if all(len(side.figures) for side in ends):
            yield ends[0], ends[1]


# -- the comparators -------------------------------------------------------------


def compared(place: Place, relative: bool = False) -> Iterator[tuple[Estimate, str]]:
    """How much better the first side is, over the folds that both have; in words too."""
    factor = place.claim.factor
    for who, than in pairs(place):
        more, less = (who, than) if place.upward else (than, who)
        high, low = aligned(more.figures, less.figures, more.axes)
        unit = min(float(high.mean()), float(low.mean())) if relative else 1.0
        found = estimate((high - low * factor) / unit)
        what = "difference" if factor == 1 else f"less {factor:g} times that"
        if found.folds:
            sides = f"{more.name} {high.mean():.3f}, {less.name} {low.mean():.3f}"
            yield found, f"{place} {sides}, {what} {told(found)}"


def better(place: Place) -> Iterator[Finding]:
    """Whether one figure is better (by a factor) than another."""
    for found, words in compared(place):
        yield Finding(above(found), words, found.folds)


def hardly_better(place: Place) -> Iterator[Finding]:
    """Whether one figure is better by less than the margin, or not at all."""
    margin, relative = MARGINS[place.metric], place.metric == "rmse"
    fails_above = place.claim.fails_above
    for found, words in compared(place, relative):
        answer = at_most(found, margin, margin if fails_above is None else fails_above)
        bound = f"margin {margin:g}{' of the lowest' if relative else ''}"
        yield Finding(answer, f"{words}, {bound}", found.folds)


def below(place: Place) -> Iterator[Finding]:
    """Whether a statistic is below the bound."""
    bound = place.claim.bound
    for found, words in _statistics(place):
        if found.folds:
            answer = above(-found, -bound)
            yield Finding(answer, f"{place} {words}, bound {bound:g}", found.folds)


def _statistics(place: Place) -> Iterator[tuple[Estimate, str]]:
    """The statistic of each of ``who`` that has figures, in words too."""
    claim = place.claim
    everybody = [*claim.who, *claim.than]
    if claim.statistic == "beaten":
        errors = {name: part for name in everybody if len(part := place.errors(name))}
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
            ranks = means.rank(axis=1, ascending=not PANELS[place.metric][1])
            found = estimate(ranks[name] if len(means.columns) == len(everybody) else [])
            words = f"{name} mean rank {told(found, '')} of {len(everybody)}"
        yield found, words


def recorded(claim: Claim, scores: Scores, datasets: Sequence[str]) -> Iterator[Finding]:
    """What the runs have on record: proofs, runs left out, who is the best where."""
    facts = {"proved": _proved, "left out": _left_out, "best differs": _best_differs}
    return facts[claim.fact](claim, scores, datasets)


def _proved(claim: Claim, scores: Scores, _: Sequence[str]) -> Iterator[Finding]:
    """Whether the ledgers prove the epsilon wherever one is claimed."""
    done = scores.done
    own = done[done["generator"].isin(claim.who) & done["epsilon"].notna()].drop_duplicates("id")
    kept = (own["proved"] == own["claimed"]) & (own["proved"] != "nothing")
    words = (
        f"{len(own)} runs claim an epsilon, the ledgers of {int(kept.sum())} prove it (proved: "
        f"{', '.join(sorted(set(own['proved'])))})"
    )
    if len(own):
        faults = "" if kept.all() else f"; {FAULTS}"
        folds = own["fold"].nunique()
        yield Finding("holds" if kept.all() else "fails", f"{words}{faults}", folds)


def _left_out(claim: Claim, scores: Scores, datasets: Sequence[str]) -> Iterator[Finding]:
    """Whether settings were left out on a data set because they ask for too much."""
    part = scores.frame[scores.frame["experiment"] == claim.experiment]
    part = part[part["variant"].isin(claim.who)]
    for dataset in datasets:
        own = part[part["dataset"] == dataset]
        skipped = own[(own["status"] != "done") & own["reason"].str.contains("one-hot|memory|took")]
        if len(own):
            reason = skipped["reason"].iloc[0] if len(skipped) else "it ran"
            words, folds = f"{dataset}: {reason}", own["fold"].nunique()
            yield Finding("holds" if len(skipped) else "fails", words, folds)


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
    if len(found) < 2:
        return
    words = "; ".join(
        f"{dataset} {best}, next {second} {told(gap)}"
        for dataset, (best, second, gap) in found.items()
    )
    gaps = [gap for _, _, gap in found.values()]
    one = len({best for best, _, _ in found.values()}) == 1
    sure = all(above(gap) == "holds" for gap in gaps)
    answer: Answer = ("fails" if one else "holds") if sure else "open"
    yield Finding(answer, f"lowest: {words}", min(gap.folds for gap in gaps))


_BY_PLACE: dict[str, Callable[[Place], Iterator[Finding]]] = {
    "better": better,
    "hardly better": hardly_better,
    "alike": hardly_better,  # of the best against the worst
    "below": below,
}


def findings_of(claim: Claim, scores: Scores, datasets: Sequence[str]) -> list[Finding]:
    """The comparisons that decide a claim, on some data sets."""
    datasets = [name for name in datasets if name not in claim.but_for]
    if claim.comparator == "recorded":
        return list(recorded(claim, scores, datasets))
    compare = _BY_PLACE[claim.comparator]
    return [found for place in places(claim, scores, datasets) for found in compare(place)]
