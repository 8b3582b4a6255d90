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

from copula_shirley import CopulaShirley, Generator, PrivacyWarning
from copula_shirley.schema import Schema
from evaluation import kolmogorov_smirnov, spearman_drift
from experiments.datasets import Dataset

SEED = 0
TEST_SHARE = 0.2


@dataclass(frozen=True)
class Score:
    """What one generator was worth on one fold."""

    label: str
    claimed: str
    proved: str
    ks: dict[str, float]
    drift: dict[str, float]
    fit_seconds: float
    sample_seconds: float

    @property
    def mean_ks(self) -> float:
        """The thesis' figure: the mean over the columns."""
        return float(np.mean(list(self.ks.values())))


def variants(target: str, epsilon: float) -> dict[str, Generator]:
    """The generators to compare."""
    shared: dict[str, Any] = {"epsilon": epsilon, "target": target, "random_state": SEED}
    return {
        "CopulaShirley, thesis": CopulaShirley(**shared),
        "CopulaShirley, thesis, discrete vine": CopulaShirley(**shared, discrete=True),
        "CopulaShirley, honest margins": CopulaShirley(**shared, accounting="honest"),
        "CopulaShirley, no noise": CopulaShirley(**{**shared, "epsilon": None}),
    }


def score_all(dataset: Dataset, epsilon: float, console: Console) -> list[Score]:
    """Score every variant, and the training rows themselves as the ceiling."""
    train, test = split_fold(dataset)
    plain = dataset.schema
    scores = [_score("training rows (ceiling)", "nothing", "nothing", train, test, plain, 0, 0)]
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
        times = fitted - start, drawn - fitted
        scores.append(_score(label, claimed, proved, synthetic, test, plain, *times))
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


def _score(
    label: str,
    claimed: str,
    proved: str,
    synthetic: pd.DataFrame,
    test: pd.DataFrame,
    schema: Schema,
    fit_seconds: float,
    sample_seconds: float,
) -> Score:
    ks = kolmogorov_smirnov(test, synthetic, schema)
    drift = spearman_drift(test, synthetic, schema)
    return Score(label, claimed, proved, ks, drift, fit_seconds, sample_seconds)


def _table(scores: list[Score]) -> Table:
    table = Table("generator", "claimed", "proved", "KS", "drift", "fit", "sample")
    for s in scores:
        seconds = (f"{s.fit_seconds:.1f} s", f"{s.sample_seconds:.1f} s")
        numbers = (f"{s.mean_ks:.4f}", f"{s.drift['mean']:.4f}")
        table.add_row(s.label, s.claimed, s.proved, *numbers, *seconds)
    return table
