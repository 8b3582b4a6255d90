"""Fit each variant of each generator on one fold of a data set and score it."""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from rich.console import Console
from rich.progress import track
from rich.table import Table

from baselines import DPCopula, DPHistogram, PrivBayes, Real, Uniform
from copula_shirley import CopulaShirley, Generator, PrivacyWarning, PrivateVine
from evaluation import evaluate
from experiments.datasets import Dataset

SEED = 0
TEST_SHARE = 0.2
#: Metrics in the table, and their headings.
SHOWN = {
    "ks": "KS",
    "spearman_drift": "drift",
    "tvd2": "tvd2",
    "mcc_binary": "MCC",
    "mcc_multiclass": "MCC multi",
    "rmse": "RMSE",
    "membership_hamming_all": "attack",
}
HEADINGS = ["generator", "claimed", "proved", *SHOWN.values(), "fit", "sample"]


@dataclass(frozen=True)
class Score:
    """What one generator was worth on one fold."""

    label: str
    claimed: str
    proved: str
    figures: pd.DataFrame
    fit_seconds: float
    sample_seconds: float

    def value(self, metric: str) -> float:
        """One figure of the evaluation."""
        values: list[float] = list(self.figures.loc[self.figures["metric"] == metric, "value"])
        return values[0]

    @property
    def ks(self) -> dict[str, float]:
        """The Kolmogorov-Smirnov distance of each column."""
        details: list[dict[str, dict[str, float]]] = list(self.figures["detail"])
        return details[list(self.figures["metric"]).index("ks")]["columns"]

    def cells(self) -> list[str]:
        """Its line in a table, under ``HEADINGS``."""
        figures = [f"{self.value(metric):.3f}" for metric in SHOWN]
        seconds = [f"{self.fit_seconds:.1f} s", f"{self.sample_seconds:.1f} s"]
        return [self.label, self.claimed, self.proved, *figures, *seconds]


def variants(target: str, epsilon: float) -> dict[str, Generator]:
    """The generators to compare."""
    noise: dict[str, Any] = {"epsilon": epsilon, "random_state": SEED}
    vine: dict[str, Any] = {**noise, "target": target}
    return {
        "real rows": Real(random_state=SEED),
        "PrivateVine": PrivateVine(**vine),
        "CopulaShirley, thesis": CopulaShirley(**vine),
        "CopulaShirley, honest margins": CopulaShirley(**vine, accounting="honest"),
        "PrivBayes, degree 3": PrivBayes(**noise),
        "PrivBayes, theta-useful": PrivBayes(**noise, degree=None),
        "DP-Copula, Kendall": DPCopula(**noise),
        "DP-Copula, MLE": DPCopula(**noise, variant="mle"),
        "DP-Histogram": DPHistogram(**noise),
        "uniform": Uniform(random_state=SEED),
    }


def score_all(dataset: Dataset, epsilon: float, console: Console) -> list[Score]:
    """Score every variant; real rows are the ceiling and uniform ones the floor."""
    train, test = split_fold(dataset)
    scores = []
    generators = variants(dataset.tasks["binary"], epsilon)
    for label, generator in track(generators.items(), "fit and score", console=console):
        start = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PrivacyWarning)  # the table says it
            generator.fit(train, dataset.schema)
        fitted = time.perf_counter()
        synthetic = generator.sample(len(dataset.table))
        drawn = time.perf_counter()
        ledger = generator.ledger_
        claimed, proved = str(ledger.claimed or "nothing"), str(ledger.proved or "nothing")
        scores.append(
            Score(
                label,
                claimed,
                proved,
                evaluate(
                    train, test, synthetic, dataset.schema, dataset.tasks, SEED, metrics=list(SHOWN)
                ),
                fitted - start,
                drawn - fitted,
            )
        )
    console.print(_table(scores))
    return scores


def split_fold(dataset: Dataset) -> tuple[pd.DataFrame, pd.DataFrame]:
    """A training and a test fold; all rows of a person are in one of them."""
    table = dataset.table
    units = np.arange(len(table))
    if dataset.person is not None:
        units = pd.factorize(table[dataset.person])[0]
    chosen = np.random.default_rng(SEED).random(units.max() + 1) < TEST_SHARE
    return table[~chosen[units]], table[chosen[units]]


def _table(scores: list[Score]) -> Table:
    table = Table(*HEADINGS)
    for score in scores:
        table.add_row(*score.cells())
    return table
