"""Lines of the leaderboard: means, intervals, ranks, the best of each column."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from scipy.stats import rankdata

from copula_shirley.experiments.estimates import Estimate, estimate
from copula_shirley.experiments.report.words import SIGNS, Row, guarantee
from copula_shirley.experiments.run.store import figures_of

#: Generators that nobody competes with: the ceiling and the floor.
REFERENCES = ("real", "uniform")
#: Parts of a spec that stand beside the data set's name where they differ within a report.
CONTEXT = {"rows": "{} rows", "folds": "{} folds", "unit": "unit {}", "profile": "{} classifiers"}
SHOWN_VALUES = 12


@dataclass(frozen=True)
class Score:
    """A figure of a line.

    Parameters
    ----------
    values : tuple of float
        A value per fold. Seeds of one fold share their rows and are no independent runs: they are
        averaged first.
    runs : tuple of float
        The values of the runs behind them.

    Examples
    --------
    >>> score = Score((1.0, 2.0, 3.0))
    >>> score.mean, round(score.half, 4), Score((1.0,)).half is None
    (2.0, 2.4841, True)
    """

    values: tuple[float, ...]
    runs: tuple[float, ...] = ()

    @cached_property
    def over_folds(self) -> Estimate:
        """Mean and interval."""
        return estimate(self.values)

    @property
    def mean(self) -> float:
        """Mean over folds."""
        return self.over_folds.mean

    @property
    def half(self) -> float | None:
        """Half the width of the 95 % interval; None for a single fold, which has none."""
        return self.over_folds.reach if self.over_folds.folds > 1 else None

    def told(self, unit: str = "") -> str:
        """Mean, interval and the values of the runs."""
        found, runs = self.over_folds, self.runs or self.values
        values = ", ".join(f"{value:.4g}" for value in runs[:SHOWN_VALUES])
        values += ", …" if len(runs) > SHOWN_VALUES else ""
        if found.folds < 2:
            text = f"{found.mean:.6g}{unit}; one fold, no interval"
            return f"{text}; {len(runs)} runs: {values}" if len(runs) > 1 else text
        interval = f"95 % interval {found.low:.5g} to {found.high:.5g}; {found.folds} folds"
        many = f", {len(runs)} runs" if len(runs) > found.folds else ""
        return f"mean {found.mean:.6g}{unit}; {interval}{many}: {values}"


@dataclass(frozen=True)
class Promise:
    """What a generator claims and what is proved, and how the one stands to the other."""

    claimed: str
    proved: str
    mark: str
    sentence: str

    @property
    def sign(self) -> str:
        """The mark as a sign."""
        return SIGNS[self.mark]


@dataclass(frozen=True)
class Standing:
    """Where a line stands among those with its data set and epsilon."""

    ranks: Mapping[str, float] = field(default_factory=dict)
    best: frozenset[str] = frozenset()

    @property
    def mean(self) -> float | None:
        """Mean rank; None if nothing was ranked."""
        return float(np.mean(list(self.ranks.values()))) if self.ranks else None


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
        """Epsilon as people write it."""
        return "off" if self.epsilon is None else f"{self.epsilon:g}"

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
        return {name: _over_folds(some) for name, some in values.items()}

    @property
    def privacy(self) -> Mapping[str, Any]:
        """What the first finished run says of privacy."""
        return self.done[0].get("privacy", {}) if self.done else {}

    @property
    def promise(self) -> Promise | None:
        """What it claims and proves; None if no run has finished."""
        if not self.privacy:
            return None
        claimed, proved = (
            str(self.privacy.get(key) or "not stated") for key in ("claimed", "proved")
        )
        return Promise(claimed, proved, *guarantee(claimed, proved))

    @property
    def at(self) -> str:
        """Its epsilon as the end of a phrase; a reference has none."""
        alone = self.reference and self.epsilon is None
        return "" if alone else f", epsilon {self.epsilon_text}"


def _over_folds(runs: Sequence[tuple[int, float]]) -> Score:
    """Seeds averaged within folds, from the fold and the value of each run."""
    folds: dict[int, list[float]] = {}
    for fold, value in runs:
        folds.setdefault(fold, []).append(value)
    means = (float(np.mean(some)) for some in folds.values())
    return Score(tuple(means), tuple(value for _, value in runs))


def lines_of(rows: Iterable[Row]) -> list[Line]:
    """Group runs by data set, epsilon and generator, in the order of the runs."""
    rows = list(rows)
    datasets, names = _dataset_names(rows), _generator_names(rows)
    groups: dict[tuple[str, str, float | None], list[Row]] = {}
    for row, dataset, name in zip(rows, datasets, names, strict=True):
        groups.setdefault((dataset, name, row["run"]["epsilon"]), []).append(row)
    lines = [Line(*key, tuple(some)) for key, some in groups.items()]
    order = {dataset: i for i, dataset in enumerate(dict.fromkeys(datasets))}
    return sorted(lines, key=lambda line: (order[line.dataset], _size(line.epsilon)))


def _size(epsilon: float | None) -> float:
    """No noise is an epsilon without end."""
    return math.inf if epsilon is None else epsilon


def _dataset_names(rows: Sequence[Row]) -> list[str]:
    """Name of each row's data set, with what else sets runs apart: never averaged together."""
    seen: dict[tuple[str, str], set[str]] = {}
    for row in rows:
        for key in CONTEXT:
            known = seen.setdefault((row["run"]["dataset"], key), set())
            known.add(str(row["run"].get(key)))
    names = []
    for row in rows:
        run = row["run"]
        apart = [
            "all rows" if run.get(key) is None else text.format(run[key])
            for key, text in CONTEXT.items()
            if len(seen[run["dataset"], key]) > 1
        ]
        names.append(run["dataset"] + (f" ({', '.join(apart)})" if apart else ""))
    return names


def _generator_names(rows: Sequence[Row]) -> list[str]:
    """Label and variant; settings too where they differ under one label."""
    plain = [
        ", ".join(filter(None, (row["run"]["generator"], row["run"]["variant"]))) for row in rows
    ]
    settings = [
        json.dumps([row["run"]["use"], row["run"]["settings"]], sort_keys=True) for row in rows
    ]
    kinds: dict[str, set[str]] = {}
    for name, setting in zip(plain, settings, strict=True):
        kinds.setdefault(name, set()).add(setting)
    return [
        name if len(kinds[name]) == 1 else f"{name} {setting}"
        for name, setting in zip(plain, settings, strict=True)
    ]


# -- ranks -----------------------------------------------------------------------


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
    groups: dict[tuple[str, float | None], list[Line]] = {}
    for line in lines:
        if line.done and not line.reference:
            groups.setdefault((line.dataset, line.epsilon), []).append(line)
    found: dict[Line, Standing] = {}
    for group in groups.values():
        ranks: dict[Line, dict[str, float]] = {line: {} for line in group}
        best: dict[Line, set[str]] = {line: set() for line in group}
        for metric, direction in better.items():
            able = [line for line in group if metric in line.figures]
            if direction == "none" or not able:
                continue
            losses = [loss(line.figures[metric].mean, direction) for line in able]
            least, most = min(losses), max(losses)
            for line, rank, value in zip(able, rankdata(losses), losses, strict=True):
                ranks[line][metric] = float(rank)
                if value == least < most:
                    best[line].add(metric)
        found |= {line: Standing(ranks[line], frozenset(best[line])) for line in group}
    return found
