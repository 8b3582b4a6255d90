"""The tidy frame as the paper's figures and verdicts read it: by fold, in pairs, with intervals."""

from __future__ import annotations

from collections.abc import Sequence
from math import nan
from typing import Any, TypeVar

import numpy as np
import pandas as pd

from copula_shirley.errors import SettingError
from copula_shirley.experiments.estimates import Estimate, estimate
from copula_shirley.experiments.paper.chapter import CHAPTER, REAL, in_order
from copula_shirley.experiments.paper.coefficients import PAIRS, PREFIX, reference

#: Columns of texts; an empty cell of a CSV file is an empty text.
TEXTS = (
    "experiment", "dataset", "generator", "variant", "status", "reason", "claimed", "proved",
    "unit", "profile", "commit", "dirty", "time", "made_by", "id", "metric",
)  # fmt: skip
NUMBERS = ("epsilon", "fold", "seed", "folds", "rows", "value")
#: Absolute errors of the coefficients of table 5.2, averaged over these pairs.
ERRORS = {"mean absolute error": PAIRS, "mean absolute error in the halves of A": PAIRS[5:]}
Figures = TypeVar("Figures", "pd.Series[float]", pd.DataFrame)


def prepared(
    frame: pd.DataFrame,
    texts: Sequence[str] = TEXTS,
    numbers: Sequence[str] = NUMBERS,
    what: str = "figures",
) -> pd.DataFrame:
    """The frame with texts and numbers where they belong, also after a trip through CSV."""
    lacking = [name for name in (*texts, *numbers) if name not in frame.columns]
    if lacking:
        raise SettingError(f"{what} must have the columns of a tidy frame; {lacking} are lacking")
    frame = frame.reset_index(drop=True)
    for name in texts:
        frame[name] = frame[name].astype(object).where(frame[name].notna(), "").map(str)
    for name in numbers:
        values = frame[name].astype(object)
        try:  # Python reads texts, and gives back what was written
            frame[name] = values.where(values.notna() & (values != ""), nan).astype(float)
        except (TypeError, ValueError):
            raise SettingError(f"{what}: column {name!r} must hold numbers") from None
    return frame


class Scores:
    """Figures of the runs that are done, from a frame that ``prepared`` gave."""

    def __init__(self, frame: pd.DataFrame) -> None:
        self.frame = frame
        self.done = frame[frame["status"] == "done"]
        keys = ["experiment", "metric", "dataset", "generator", "variant"]
        done = self.done.assign(epsilon=self.done["epsilon"].fillna(np.inf))
        self._parts = {
            key: part.groupby(["fold", "seed", "epsilon"])["value"].mean()
            for key, part in done.groupby(keys, sort=False)
        }

    def runs(self, experiment: str, dataset: str | None = None) -> pd.DataFrame:
        """Figures of an experiment, of all data sets or of one."""
        part = self.done[self.done["experiment"] == experiment]
        return part if dataset is None else part[part["dataset"] == dataset]

    def datasets(self, experiment: str) -> list[str]:
        """The data sets with at least one figure, in the order of the thesis."""
        return in_order(self.runs(experiment)["dataset"], CHAPTER.datasets)

    def generators(self, experiment: str, dataset: str) -> list[str]:
        """Generators with figures, ours last, without ``real``."""
        found = in_order(self.runs(experiment, dataset)["generator"], CHAPTER.generators)
        return [name for name in found if name != REAL]

    def variants(self, experiment: str) -> list[str]:
        """Varied settings in the order in which they ran, without ``real``."""
        part = self.frame[(self.frame["experiment"] == experiment) & (self.frame["variant"] != "")]
        return list(dict.fromkeys(part["variant"]))

    def epsilons(self, experiment: str, dataset: str | None = None) -> list[float]:
        """Epsilons from off (infinite) to the smallest, of all generators but ``real``."""
        part = self.runs(experiment, dataset)
        found = part.loc[part["generator"] != REAL, "epsilon"]
        return sorted(found.fillna(np.inf).unique(), reverse=True)

    def promises(
        self, experiment: str, dataset: str, generator: str, epsilon: float
    ) -> dict[str, str]:
        """What a generator claims and what its ledger proves."""
        own = self.runs(experiment, dataset)
        own = own[(own["generator"] == generator) & (own["epsilon"].fillna(np.inf) == epsilon)]
        return {name: ", ".join(dict.fromkeys(own[name])) for name in ("claimed", "proved")}

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
        where = (dataset, generator, variant, epsilon)
        if metric == "seconds":
            fit, sample = (
                self.values(experiment, f"{part}_seconds", *where) for part in ("fit", "sample")
            )
            return (fit + sample).dropna()
        if metric in ERRORS:
            return self.errors(*where)[list(ERRORS[metric])].mean(axis=1)
        part = self._parts.get((experiment, metric, dataset, generator, variant))
        if part is None:
            index = pd.MultiIndex.from_arrays([[], [], []], names=["fold", "seed", "epsilon"])
            return pd.Series(np.empty(0), index=index)
        if epsilon is not None:
            return part[part.index.get_level_values("epsilon") == epsilon]
        return _whole(part)

    def errors(self, *where: Any) -> pd.DataFrame:
        """Absolute errors of the seven coefficients, a column each."""
        found = {
            pair: (self.values("multivariate", f"{PREFIX}{pair}", *where) - truth).abs()
            for pair, truth in zip(PAIRS, reference(), strict=True)
        }
        return pd.DataFrame(found).dropna()

    def estimate(self, *where: Any) -> Estimate:
        """Mean of ``values`` over folds with its interval; those of a fold are averaged first."""
        return estimate(self.values(*where).groupby("fold").mean())


def _whole(part: Figures) -> Figures:
    """The folds that have every epsilon."""
    if "epsilon" not in part.index.names:
        return part
    folds, epsilons = (part.index.get_level_values(name) for name in ("fold", "epsilon"))
    counts = pd.Series(epsilons, index=folds).groupby(level=0).nunique()
    return part[folds.isin(counts.index[counts == epsilons.nunique()])]


def by_fold(
    names: Sequence[str], parts: Sequence[pd.Series[float]], spread: bool = False
) -> pd.DataFrame:
    """Means by fold: a column for each of those that have figures, where all of them have any.

    With ``spread`` the standard deviations over epsilons instead; seeds are averaged first.
    """
    there = [(name, part) for name, part in zip(names, parts, strict=True) if len(part)]
    if not there:
        return pd.DataFrame()
    keys, figures = zip(*there, strict=True)
    both = _whole(pd.concat(figures, axis=1, join="inner", keys=keys))
    if spread:
        both = both.groupby(["fold", "epsilon"]).mean().groupby("fold").std().dropna()
    means: pd.DataFrame = both.groupby("fold").mean()
    return means
