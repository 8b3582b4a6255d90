"""Tables that are made by a recipe, with the schema that somebody would have declared.

Uniforms of a copula, through margins that real tables have: nominal columns, money with zeros,
whole numbers with ties, missing values. The same recipe makes the same table.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd
from scipy import stats

from copula_shirley import Column, Schema
from copula_shirley.schema.domain import FloatArray

Family = Literal["gaussian", "t", "clayton", "gumbel", "mixture"]
#: Columns that depend on each other by an Archimedean copula; degrees of freedom of the t copula;
#: Gaussian clouds of a mixture.
BLOCK, FREEDOM, CLOUDS = 5, 3, 3
#: Rows with zero in a column of money, its bound, and the spread of its logarithm.
ZEROS, MOST_MONEY, SPREAD = 0.3, 1_000_000.0, 1.5
MOST_CATEGORIES = 12


@dataclass(frozen=True)
class Recipe:
    """A table to be made; shares are of columns, ``missing`` is of the values of half of them."""

    rows: int
    columns: int
    family: Family = "gaussian"
    nominal: float = 0.4
    #: Money: skewed, with zeros.
    skewed: float = 0.2
    #: Whole numbers of few values.
    ties: float = 0.2
    missing: float = 0.0
    seed: int = 0

    def make(self) -> tuple[pd.DataFrame, Schema]:
        rng = np.random.default_rng(self.seed)
        uniforms = copula(self.family, self.rows, self.columns, rng)
        flipped = rng.random(self.columns) < 0.5
        uniforms[:, flipped] = 1 - uniforms[:, flipped]
        places = (np.arange(self.columns) + 0.5) / self.columns  # exact shares
        kinds = np.searchsorted(np.cumsum([self.nominal, self.skewed, self.ties]), places)
        makers = (_nominal, _money, _ties, _plain)
        series: dict[str, Any] = {}
        columns = []
        for j, kind in enumerate(rng.permutation(kinds)):
            values, fields = makers[kind](uniforms[:, j], rng)
            absent = bool(self.missing) and j % 2 == 1
            if absent:
                values[rng.random(self.rows) < self.missing] = -np.inf
            column = Column(f"c{j:03d}", missing=absent, **fields)
            series[column.name] = column.domain.from_numbers(values)
            columns.append(column)
        return pd.DataFrame(series), Schema(tuple(columns))


def copula(family: Family, n: int, d: int, rng: np.random.Generator) -> FloatArray:
    """Rows of d uniforms; signs and strengths differ from pair to pair."""
    if family in ("clayton", "gumbel"):
        sizes = [min(BLOCK, d - start) for start in range(0, d, BLOCK)]
        blocks = [_archimedean(family, n, size, rng) for size in sizes]
        return np.concatenate(blocks, axis=1)[:, rng.permutation(d)]
    if family == "mixture":
        cloud = rng.integers(CLOUDS, size=n)
        found = np.empty((n, d))
        for c in range(CLOUDS):
            here = cloud == c
            found[here] = rng.normal(0, 1.5, d) + _factors(int(here.sum()), d, rng)
        return np.asarray((stats.rankdata(found, axis=0) - 0.5) / n)
    scores = _factors(n, d, rng)
    if family == "t":
        scores /= np.sqrt(rng.chisquare(FREEDOM, (n, 1)) / FREEDOM)
        return np.asarray(stats.t(FREEDOM).cdf(scores))
    return np.asarray(stats.norm.cdf(scores))


def _factors(n: int, d: int, rng: np.random.Generator) -> FloatArray:
    """Normal scores that depend by a few factors."""
    loads = rng.normal(size=(max(1, d // 8), d))
    share = rng.uniform(0.2, 0.9, d)  # of the variance that is common
    loads *= np.sqrt(share) / np.linalg.norm(loads, axis=0)
    common = rng.normal(size=(n, len(loads))) @ loads
    return np.asarray(common + np.sqrt(1 - share) * rng.normal(size=(n, d)))


def _archimedean(family: str, n: int, d: int, rng: np.random.Generator) -> FloatArray:
    """Marshall and Olkin 1988: exponentials over a frailty that their row shares."""
    tau = rng.uniform(0.15, 0.65)
    exponentials = rng.exponential(size=(n, d))
    if family == "clayton":
        theta = 2 * tau / (1 - tau)
        frailty = rng.gamma(1 / theta, size=(n, 1))
        return np.asarray((1 + exponentials / np.maximum(frailty, 1e-300)) ** (-1 / theta))
    alpha = 1 - tau  # 1 / theta; a positive stable frailty (Kanter 1975)
    angle, own = rng.uniform(0, np.pi, (n, 1)), rng.exponential(size=(n, 1))
    frailty = np.sin(alpha * angle) / np.sin(angle) ** (1 / alpha)
    frailty *= (np.sin((1 - alpha) * angle) / own) ** ((1 - alpha) / alpha)
    return np.asarray(np.exp(-((exponentials / frailty) ** alpha)))


Made = tuple[FloatArray, dict[str, Any]]


def _nominal(u: FloatArray, rng: np.random.Generator) -> Made:
    """Categories of uneven sizes, whose order says nothing."""
    size = int(rng.integers(2, MOST_CATEGORIES + 1))
    weights = rng.permutation(1 / np.arange(1, size + 1))
    places = np.searchsorted(np.cumsum(weights / weights.sum())[:-1], u)
    names = tuple(f"v{i:02d}" for i in range(size))
    return rng.permutation(size)[places].astype(float), {"kind": "categorical", "categories": names}


def _money(u: FloatArray, rng: np.random.Generator) -> Made:
    scores = stats.norm.ppf(np.clip((u - ZEROS) / (1 - ZEROS), 1e-9, 1 - 1e-9))
    values = np.where(u < ZEROS, 0.0, np.exp(rng.uniform(5, 9) + SPREAD * scores))
    bounds = {"minimum": 0, "maximum": MOST_MONEY, "resolution": 0.01}
    return np.minimum(np.round(values, 2), MOST_MONEY), {"kind": "continuous", **bounds}


def _ties(u: FloatArray, rng: np.random.Generator) -> Made:
    mean = rng.uniform(1, 8)
    values = np.minimum(stats.poisson(mean).ppf(np.clip(u, 0, 1 - 1e-12)), 30)
    return values, {"kind": "integer", "minimum": 0, "maximum": 30}


def _plain(u: FloatArray, rng: np.random.Generator) -> Made:
    mean, spread = rng.uniform(30, 70), rng.uniform(5, 20)
    values = mean + spread * stats.norm.ppf(np.clip(u, 1e-12, 1 - 1e-12))
    bounds = {"minimum": -100, "maximum": 200, "resolution": 0.1}
    return np.clip(np.round(values, 1), -100, 200), {"kind": "continuous", **bounds}
