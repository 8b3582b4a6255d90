"""The tidy frame as the paper's figures and verdicts read it: by fold, in pairs, with intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from math import nan
from typing import Any

import numpy as np
import pandas as pd

from copula_shirley.errors import SettingError
from copula_shirley.experiments.estimates import Estimate, estimate
from copula_shirley.experiments.paper.printed import DATASETS, GENERATORS, REAL

#: Columns of texts; an empty cell of a CSV file is an empty text.
TEXTS = ("experiment", "dataset", "generator", "variant", "status", "reason", "claimed", "proved")
ORIGIN_TEXTS = ("unit", "profile", "commit", "dirty", "time", "made_by", "id", "metric")
NUMBERS = ("epsilon", "fold", "seed", "folds", "rows", "value")


def prepared(frame: pd.DataFrame) -> pd.DataFrame:
    """The frame with texts and numbers where they belong, also after a trip through CSV.

    Raises
    ------
    SettingError
        If a column is lacking.
    """
    lacking = [name for name in (*TEXTS, *ORIGIN_TEXTS, *NUMBERS) if name not in frame.columns]
    if lacking:
        raise SettingError(f"figures must have the columns of a tidy frame; {lacking} are lacking")
    frame = frame.copy()
    for name in (*TEXTS, *ORIGIN_TEXTS):
        frame[name] = frame[name].astype(object).where(frame[name].notna(), "").map(str)
    for name in NUMBERS:
        try:
            frame[name] = pd.Series([_number(v) for v in frame[name]], frame.index, dtype=float)
        except (TypeError, ValueError):
            raise SettingError(f"figures: column {name!r} must hold numbers") from None
    return frame.reset_index(drop=True)


def _number(value: Any) -> float:
    """A number, or none; texts are read by Python, which gives back what was written."""
    return nan if value is None or value is pd.NA or value == "" else float(value)


class Scores:
    """Figures of the runs that are done.

    Parameters
    ----------
    frame : DataFrame
        What ``prepared`` gave.
    """

    def __init__(self, frame: pd.DataFrame) -> None:
        self.frame = frame
        self.done = frame[frame["status"] == "done"]
        keys = ["experiment", "metric", "dataset", "generator", "variant"]
        self._parts = {
            key: part.assign(epsilon=part["epsilon"].fillna(np.inf))
            .groupby(["fold", "seed", "epsilon"])["value"]
            .mean()
            for key, part in self.done.groupby(keys, sort=False)
        }

    def datasets(self, experiment: str) -> list[str]:
        """The data sets with at least one figure, in the order of the thesis."""
        part = self.done[self.done["experiment"] == experiment]
        found = list(dict.fromkeys(part["dataset"]))
        return sorted(found, key=lambda name: (*DATASETS, name).index(name))

    def generators(self, experiment: str, dataset: str) -> list[str]:
        """Generators with figures, ours last, without ``real``."""
        part = self.done[self.done["experiment"] == experiment]
        found = list(dict.fromkeys(part.loc[part["dataset"] == dataset, "generator"]))
        found = [name for name in found if name != REAL]
        return sorted(found, key=lambda name: (*GENERATORS, name).index(name))

    def variants(self, experiment: str) -> list[str]:
        """Varied settings in the order in which they ran, without ``real``."""
        part = self.frame[(self.frame["experiment"] == experiment) & (self.frame["variant"] != "")]
        return list(dict.fromkeys(part["variant"]))

    def epsilons(self, experiment: str, dataset: str | None = None) -> list[float]:
        """Epsilons from off (infinite) to the smallest, of all generators but ``real``."""
        part = self.done[self.done["experiment"] == experiment]
        part = part[part["generator"] != REAL]
        if dataset is not None:
            part = part[part["dataset"] == dataset]
        return sorted(part["epsilon"].fillna(np.inf).unique(), reverse=True)

    def values(
        self,
        experiment: str,
        metric: str,
        dataset: str,
        generator: str,
        variant: str = "",
        epsilon: float | None = None,
    ) -> pd.Series[float]:
        """One figure by fold, seed and epsilon; empty if nobody has it.

        Over all epsilons only folds count that have each of them: a fold that is still under way
        would bring other epsilons to the mean.
        """
        key = (experiment, metric, dataset, generator, variant)
        part = self._parts.get(key)
        if part is None:
            index = pd.MultiIndex.from_arrays([[], [], []], names=["fold", "seed", "epsilon"])
            return pd.Series(np.empty(0), index=index)
        if epsilon is not None:
            return part[part.index.get_level_values("epsilon") == epsilon]
        return _whole(part)

    def estimate(
        self,
        experiment: str,
        metric: str,
        dataset: str,
        generator: str,
        variant: str = "",
        epsilon: float | None = None,
    ) -> Estimate:
        """Mean over folds with its interval; seeds (and epsilons) of a fold are averaged first."""
        part = self.values(experiment, metric, dataset, generator, variant, epsilon)
        return estimate(part.groupby("fold").mean())


def _whole(part: pd.Series[float]) -> pd.Series[float]:
    """The folds that have every epsilon of a series."""
    folds, epsilons = (part.index.get_level_values(name) for name in ("fold", "epsilon"))
    counts = pd.Series(epsilons, index=folds).groupby(level=0).nunique()
    return part[folds.isin(counts.index[counts == epsilons.nunique()])]


def in_common(parts: Mapping[str, pd.Series[float]]) -> dict[str, pd.Series[float]]:
    """What all have: the same folds, seeds and epsilons, and only whole folds."""
    both = reduce(pd.Index.intersection, (part.index for part in parts.values()))
    return {name: _whole(part.loc[both]) for name, part in parts.items()}


def aligned(
    first: pd.Series[float], second: pd.Series[float], on: Sequence[str] = ("fold", "seed")
) -> tuple[pd.Series[float], pd.Series[float]]:
    """What both have, by fold: values that agree in ``on``, averaged within a fold."""
    left, right = (part.groupby(list(on)).mean() for part in (first, second))
    both = left.index.intersection(right.index)
    return left.loc[both].groupby("fold").mean(), right.loc[both].groupby("fold").mean()


def paired(
    first: pd.Series[float], second: pd.Series[float], on: Sequence[str] = ("fold", "seed")
) -> Estimate:
    """Interval of first less second over the folds that both have."""
    left, right = aligned(first, second, on)
    return estimate(left - right)
