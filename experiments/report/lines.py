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

from copula_shirley.experiments.estimates import Estimate, estimate
from copula_shirley.experiments.report.words import Promise
from copula_shirley.experiments.run.store import Row, figures_of

#: Generators that nobody competes with: the ceiling and the floor.
REFERENCES = ("real", "uniform")
#: Parts of a spec that stand beside the data set's name where they differ within a report.
CONTEXT = {"rows": "{} rows", "folds": "{} folds", "unit": "unit {}", "profile": "{} classifiers"}
SHOWN_VALUES = 12


@dataclass(frozen=True)
class Score:
    """A figure of a line: its estimate over folds, and the values of the runs."""

    estimate: Estimate
    runs: tuple[float, ...]

    @classmethod
    def of(cls, runs: Sequence[tuple[int, float]]) -> Score:
        """From the fold and the value of each run.

        Seeds of one fold share their rows and are no independent runs: they are averaged first.

        Examples
        --------
        >>> score = Score.of([(0, 0.5), (0, 1.5), (1, 2.0), (2, 3.0)])
        >>> score.mean, round(score.half, 4), Score.of([(0, 1.0)]).half is None
        (2.0, 2.4841, True)
        """
        folds: dict[int, list[float]] = {}
        for fold, value in runs:
            folds.setdefault(fold, []).append(value)
        means = estimate(float(np.mean(some)) for some in folds.values())
        return cls(means, tuple(value for _, value in runs))

    @property
    def mean(self) -> float:
        return self.estimate.mean

    @property
    def half(self) -> float | None:
        """Half the width of the 95 % interval; None for a single fold, which has none."""
        return self.estimate.reach if self.estimate.folds > 1 else None

    def told(self, unit: str = "") -> str:
        """Mean, interval and the values of the runs."""
        found, runs = self.estimate, self.runs
        values = ", ".join(f"{value:.4g}" for value in runs[:SHOWN_VALUES])
        values += ", …" if len(runs) > SHOWN_VALUES else ""
        if found.folds < 2:
            text = f"{found.mean:.6g}{unit}; one fold, no interval"
            return f"{text}; {len(runs)} runs: {values}" if len(runs) > 1 else text
        interval = f"95 % interval {found.low:.5g} to {found.high:.5g}; {found.folds} folds"
        many = f", {len(runs)} runs" if len(runs) > found.folds else ""
        return f"mean {found.mean:.6g}{unit}; {interval}{many}: {values}"


@dataclass(frozen=True, eq=False)
class Line:
    """All runs of one generator (and variant) on one data set with one epsilon."""

    dataset: str
    name: str
    epsilon: float | None
    rows: tuple[Row, ...]

    @property
    def reference(self) -> str:
        """``real`` or ``uniform`` if this is a reference, else nothing."""
        use = self.rows[0]["run"]["use"]
        return use if use in REFERENCES else ""

    @property
    def epsilon_text(self) -> str:
        return "off" if self.epsilon is None else f"{self.epsilon:g}"

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
        return Promise.of(*said)


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
    kinds = Counter(
        (dataset, key)
        for dataset, key, _ in {(r["dataset"], k, str(r.get(k))) for r in runs for k in CONTEXT}
    )
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


@dataclass(frozen=True)
class Standing:
    """Where a line stands among those with its data set and epsilon."""

    ranks: dict[str, float] = field(default_factory=dict)
    best: set[str] = field(default_factory=set)

    @property
    def mean(self) -> float | None:
        """Mean rank; None if nothing was ranked."""
        return float(np.mean(list(self.ranks.values()))) if self.ranks else None


def loss(value: float, better: str) -> float:
    """A value such that less is better; an attack is as bad as it beats a coin.

    Examples
    --------
    >>> loss(0.25, "lower"), loss(0.25, "higher"), loss(0.75, "0.5"), loss(0.25, "0.5")
    (0.25, -0.25, 0.25, 0.0)
    """
    if better == "higher":
        return -value
    return max(value - 0.5, 0.0) if better == "0.5" else value


def standings(lines: Sequence[Line], better: Mapping[str, str]) -> dict[Line, Standing]:
    """Rank the lines of each data set and epsilon, metric by metric.

    References are not ranked, nor are metrics without a direction. Equal values share the mean
    of their ranks. The best of a column is marked unless all are equally good.
    """
    found = {line: Standing() for line in lines if line.done and not line.reference}
    for group in dict.fromkeys((line.dataset, line.epsilon) for line in found):
        for metric, direction in better.items():
            able = [line for line in found if (line.dataset, line.epsilon) == group]
            able = [line for line in able if metric in line.figures]
            if direction == "none" or not able:
                continue
            losses = [loss(line.figures[metric].mean, direction) for line in able]
            for line, rank, value in zip(able, rankdata(losses), losses, strict=True):
                found[line].ranks[metric] = float(rank)
                if value == min(losses) < max(losses):
                    found[line].best.add(metric)
    return found
