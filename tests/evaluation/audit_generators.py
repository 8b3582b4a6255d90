"""Generators of known privacy, small and fast, for the tests of audits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from copula_shirley import Budget, Ledger, Schema
from copula_shirley.privacy.noise import SeededNoise
from copula_shirley.schema.domain import Grid


class NoisyHistogram:
    """Counts of one column with discrete Laplace noise: exactly epsilon-DP.

    ``factor`` shrinks the noise without telling the ledger.
    """

    def __init__(
        self,
        epsilon: float = 1.0,
        *,
        neighbours: str = "add-remove",
        factor: float = 1.0,
        random_state: int | None = None,
    ) -> None:
        self.epsilon = epsilon
        self.neighbours = neighbours
        self.factor = factor
        self.random_state = random_state

    def fit(self, table: pd.DataFrame, schema: Schema) -> NoisyHistogram:
        self._rng = np.random.default_rng(self.random_state)
        column = schema.columns[0]
        budget = Budget(self.epsilon)
        self.ledger_ = Ledger(budget, claimed=budget, neighbours=self.neighbours)
        self.ledger_.charge("histogram", column.name, "discrete laplace", self.epsilon)
        scale = self.factor * self.ledger_.sensitivity().l1 / self.epsilon
        codes = Grid((column,)).codes({column.name: column.domain.to_numbers(table[column.name])})
        counts = np.bincount(codes[column.name], minlength=column.size)
        self.counts_, self._name = self.release(counts, scale), column.name
        return self

    def release(self, counts: np.ndarray, scale: float) -> np.ndarray:
        return SeededNoise(self._rng).laplace(counts, scale)

    def _state(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        return {}, {"counts": self.counts_}

    def sample(self, n: int) -> pd.DataFrame:
        mass = np.maximum(self.counts_, 0) + 1e-9
        return pd.DataFrame({self._name: self._rng.choice(len(mass), n, p=mass / mass.sum())})


class Favourite(NoisyHistogram):
    """The most frequent category, by the exponential mechanism.

    Replacing a row changes each count by 1, so the scale is 2 / epsilon.
    """

    def release(self, counts: np.ndarray, scale: float) -> np.ndarray:
        return np.eye(len(counts))[SeededNoise(self._rng).choose(counts, scale)]


class Copies:
    """Draws the rows themselves; no ledger, no white box."""

    def fit(self, table: pd.DataFrame) -> None:
        self.table = table

    def sample(self, n: int) -> pd.DataFrame:
        return self.table.iloc[np.arange(n) % len(self.table)].reset_index(drop=True)


class Constant(Copies):
    """Looks at nothing but names."""

    def sample(self, n: int) -> pd.DataFrame:
        return pd.DataFrame(0, index=range(n), columns=self.table.columns)
