"""Lines of the leaderboard: means, intervals, ranks, the best of each column."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from scipy.stats import rankdata

from copula_shirley.evaluation.report.words import Measure
from copula_shirley.experiments.estimates import Estimate, estimate
from copula_shirley.experiments.report.words import Promise
from copula_shirley.experiments.run.store import Row, figures_of
from copula_shirley.experiments.specs import epsilon_text

#: Generators that nobody competes with: the ceiling and the floor.
REFERENCES = ("real", "uniform")
#: Parts of a spec that stand beside the data set's name where they differ within a report.
CONTEXT = {"rows": "{} rows", "folds": "{} folds", "unit": "unit {}", "profile": "{} classifiers"}
SHOWN_VALUES = 12
#: Mean ranks of a leaderboard, and whether they are over attacks: one hides the other in a sum.
RANKS = {"use_rank": False, "attack_rank": True}
#: Parts of a leaderboard, so that who proves less than he claims stands above nobody who does not.
STANDINGS = {
    "proved": "Proved: the promise on the label holds for the whole release",
    "unproved": (
        "Not proved: no proof is known for what the label claims, so that their figures are not "
        "bought with privacy; ranked among themselves"
    ),
    "failed": "No figures",
    "reference": (
        "References, not ranked: the training rows themselves and rows drawn without any data"
    ),
}


@dataclass(frozen=True)
class Score(Estimate):
    """A figure of a line: its estimate over folds, and the values of the runs."""

    runs: tuple[float, ...] = ()

    @classmethod
    def of(cls, runs: Sequence[tuple[int, float]]) -> Score:
        """From the fold and the value of each run.

        Seeds of one fold share their rows and are no independent runs: they are averaged first.
        """
        folds: dict[int, list[float]] = {}
        for fold, value in runs:
            folds.setdefault(fold, []).append(value)
        means = estimate(float(np.mean(some)) for some in folds.values())
        return cls(**vars(means), runs=tuple(value for _, value in runs))

    @property
    def half(self) -> float | None:
        """Half the width of the 95 % interval; None for a single fold, which has none."""
        return self.reach if self.folds > 1 else None

    def told(self, unit: str = "") -> str:
        """Mean, interval and the values of the runs."""
        values = ", ".join(f"{value:.4g}" for value in self.runs[:SHOWN_VALUES])
        values += ", …" if len(self.runs) > SHOWN_VALUES else ""
        many = len(self.runs)
        if self.folds < 2:
            text = f"{self.mean:.6g}{unit}; one fold, no interval"
            return f"{text}; {many} runs: {values}" if many > 1 else text
        interval = f"95 % interval {self.low:.5g} to {self.high:.5g}; {self.folds} folds"
        more = f", {many} runs" if many > self.folds else ""
        return f"mean {self.mean:.6g}{unit}; {interval}{more}: {values}"


@dataclass(eq=False)
class Line:
    """All runs of one generator (and variant) on one data set with one epsilon.

    ``rank_lines`` says its rank in each metric among the lines of its data set, epsilon and
    standing, in which metrics it is the best of them, and which of them are attacks.
    """

    dataset: str
    name: str
    epsilon: float | None
    rows: tuple[Row, ...]
    ranks: dict[str, float] = field(default_factory=dict)
    best: set[str] = field(default_factory=set)
    attacks: set[str] = field(default_factory=set)

    @property
    def reference(self) -> str:
        """``real`` or ``uniform`` if this is a reference, else nothing."""
        use = self.rows[0]["run"]["use"]
        return use if use in REFERENCES else ""

    @property
    def epsilon_text(self) -> str:
        return epsilon_text(self.epsilon)

    @property
    def at(self) -> str:
        """Its epsilon as the end of a phrase; a reference has none."""
        alone = self.reference and self.epsilon is None
        return "" if alone else f", epsilon {self.epsilon_text}"

    @cached_property
    def done(self) -> tuple[Row, ...]:
        """Runs with figures, the first fold and seed first."""
        done = (row for row in self.rows if row["status"] == "done")
        return tuple(sorted(done, key=lambda row: (row["run"]["seed"], row["run"]["fold"])))

    @cached_property
    def figures(self) -> dict[str, Score]:
        """Every figure by name, seconds and megabytes too."""
        values: dict[str, list[tuple[int, float]]] = {}
        for row in self.done:
            for name, value in figures_of(row).items():
                if value is not None:
                    values.setdefault(name, []).append((row["run"]["fold"], float(value)))
        return {name: Score.of(some) for name, some in values.items()}

    @property
    def privacy(self) -> Mapping[str, Any]:
        """What the first finished run says of privacy."""
        return self.done[0].get("privacy", {}) if self.done else {}

    @property
    def promise(self) -> Promise | None:
        """What it claims and proves; None if no run has finished."""
        if not self.privacy:
            return None
        said = (str(self.privacy.get(key) or "not stated") for key in ("claimed", "proved"))
        return Promise(*said)

    @property
    def standing(self) -> str:
        """A key of ``STANDINGS``: with whom it may be compared."""
        if self.reference:
            return "reference"
        if self.promise is None:
            return "failed"
        return "proved" if self.promise.holds else "unproved"

    def rank(self, attacks: bool) -> float | None:
        """Mean rank in metrics of use or in attacks; None if nothing was ranked."""
        own = [rank for name, rank in self.ranks.items() if (name in self.attacks) == attacks]
        return float(np.mean(own)) if own else None

    @property
    def statuses(self) -> Counter[str]:
        return Counter(row["status"] for row in self.rows)

    @property
    def message(self) -> str:
        """Why there are no figures, if there are none."""
        if self.done:
            return ""
        many = len(self.rows)
        what = ", ".join(f"{status} in {n} of {many} runs" for status, n in self.statuses.items())
        reason = str(self.rows[0].get("reason", "")).strip()
        return f"No figures: {what}. {reason[:1].upper()}{reason[1:300]}"

    @property
    def values(self) -> dict[str, Any]:
        """What each column of the leaderboard sorts by."""
        promise = self.promise
        return {
            "generator": self.name,
            "dataset": self.dataset,
            "claimed": promise.claimed if promise else "",
            "proved": promise.proved if promise else "",
            **{name: float(f"{score.mean:.6g}") for name, score in self.figures.items()},
            **{kind: round(self.rank(a) or 0.0, 6) or None for kind, a in RANKS.items()},
            "runs": len(self.done),
            "epsilon": min(size(self.epsilon), 1e99),  # JSON has no number without end
        }

    def tip(self, measure: Measure) -> str:
        """A figure with its interval, and what was special about it in any of the runs."""
        details = (row["figures"].get(measure.name, {}).get("detail", {}) for row in self.done)
        notes = dict.fromkeys(str(detail["note"]) for detail in details if detail.get("note"))
        told = f"{measure.label}: {self.figures[measure.name].told()}"
        return "; ".join([told, *notes, *(["best here"] if measure.name in self.best else [])])


def size(epsilon: float | None) -> float:
    """An epsilon for sorting: no noise is one without end."""
    return math.inf if epsilon is None else epsilon


def lines_of(rows: Iterable[Row]) -> list[Line]:
    """Group runs by data set, epsilon and generator, in the order of the runs."""
    rows = list(rows)
    datasets, names = _dataset_names(rows), _generator_names(rows)
    groups: dict[tuple[str, str, float | None], list[Row]] = {}
    for row, dataset, name in zip(rows, datasets, names, strict=True):
        groups.setdefault((dataset, name, row["run"]["epsilon"]), []).append(row)
    lines = [Line(*key, tuple(some)) for key, some in groups.items()]
    order = list(dict.fromkeys(datasets))
    return sorted(lines, key=lambda line: (order.index(line.dataset), size(line.epsilon)))


def _dataset_names(rows: Sequence[Row]) -> list[str]:
    """Name of each row's data set, with what else sets runs apart: never averaged together."""
    runs = [row["run"] for row in rows]
    seen = {(run["dataset"], key, str(run.get(key))) for run in runs for key in CONTEXT}
    kinds = Counter((dataset, key) for dataset, key, _ in seen)
    names = []
    for run in runs:
        apart = [
            "all rows" if run.get(key) is None else text.format(run[key])
            for key, text in CONTEXT.items()
            if kinds[run["dataset"], key] > 1
        ]
        names.append(run["dataset"] + (f" ({', '.join(apart)})" if apart else ""))
    return names


def _generator_names(rows: Sequence[Row]) -> list[str]:
    """Label and variant; settings too where they differ under one label."""
    runs = [row["run"] for row in rows]
    plain = [", ".join(filter(None, (run["generator"], run["variant"]))) for run in runs]
    settings = [json.dumps([run["use"], run["settings"]], sort_keys=True) for run in runs]
    pairs = list(zip(plain, settings, strict=True))
    kinds = Counter(name for name, _ in set(pairs))
    return [name if kinds[name] == 1 else f"{name} {setting}" for name, setting in pairs]


# -- ranks -----------------------------------------------------------------------


def loss(value: float, better: str) -> float:
    """A value such that less is better; an attack is as bad as it beats a coin."""
    if better == "higher":
        return -value
    return max(value - 0.5, 0.0) if better == "0.5" else value


def rank_lines(lines: Sequence[Line], measures: Mapping[str, Measure]) -> None:
    """Rank the lines of each data set, epsilon and standing, metric by metric.

    References are not ranked, nor are metrics without a direction, nor who stands alone. Equal
    values share the mean of their ranks. The best of a column is marked unless all are equally
    good.
    """
    groups: dict[Any, list[Line]] = {}
    for line in lines:
        for metric in () if line.reference else line.figures.keys() & measures.keys():
            key = (line.dataset, line.epsilon, line.standing, metric)
            groups.setdefault(key, []).append(line)
    for (*_, metric), some in groups.items():
        measure = measures[metric]
        if measure.better == "none" or len(some) < 2:  # who is alone has no rank
            continue
        losses = [loss(line.figures[metric].mean, measure.better) for line in some]
        for line, rank, value in zip(some, rankdata(losses), losses, strict=True):
            line.ranks[metric] = float(rank)
            if value == min(losses) < max(losses):
                line.best.add(metric)
            if measure.attack:
                line.attacks.add(metric)


def leaderboard(lines: Sequence[Line], measures: Mapping[str, Measure]) -> dict[str, list[Line]]:
    """The lines by standing, ranked; within each by data set and epsilon, the most useful first."""
    rank_lines(lines, measures)
    datasets = list(dict.fromkeys(line.dataset for line in lines))

    def order(line: Line) -> tuple[int, float, float]:
        return datasets.index(line.dataset), size(line.epsilon), size(line.rank(attacks=False))

    found = {standing: [x for x in lines if x.standing == standing] for standing in STANDINGS}
    return {standing: sorted(some, key=order) for standing, some in found.items() if some}
