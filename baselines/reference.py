"""Reference rows of every comparison: the training rows, and the domain alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from copula_shirley.fitted import Progress, RandomState
from copula_shirley.generator import Generator
from copula_shirley.privacy.ledger import Ledger, Reason
from copula_shirley.rows.admitted import Held
from copula_shirley.rows.memory import MemoryRows
from copula_shirley.schema.domain import FloatArray, Grid
from copula_shirley.schema.schema import Column, OnUnknown, Schema


@dataclass(kw_only=True, eq=False, repr=False)
class _Reference(Generator):
    """A generator without a budget."""

    on_unknown: OnUnknown = "refuse"
    random_state: RandomState = None

    def _check_settings(self, schema: Schema) -> None:
        pass

    def open_ledger(self, schema: Schema) -> Ledger:
        return Ledger(None)

    def _state(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        return {}, {}

    def _restore(self, state: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
        self._grid = Grid(self.schema_)


class Real(_Reference):
    """Draws the training rows themselves: the ceiling of use, and no privacy at all.

    It refuses to be saved and to be used by the command line, because that would publish the data.
    """

    name: ClassVar[str] = "real"
    publishable: ClassVar[bool] = False
    provable: ClassVar[bool] = False

    def _fit(
        self, rows: MemoryRows, ledger: Ledger, rng: np.random.Generator, progress: Progress
    ) -> None:
        ledger.record_unprotected("rows", "all of them", Reason.TRAINING_ROWS)
        self._rows = rows

    def _draw(self, n: int, rng: np.random.Generator) -> dict[str, FloatArray]:
        """All rows once, shuffled; with replacement where more are asked for."""
        whole = [rng.permutation(len(self._rows)) for _ in range(n // len(self._rows) + 1)]
        return self._rows.take(np.concatenate(whole)[:n])


class Uniform(_Reference):
    """Draws from the declared domain without a look at the rows: the floor of use."""

    name: ClassVar[str] = "uniform"
    exact_noise: ClassVar[bool] = True  # none at all
    uses_rows: ClassVar[bool] = False

    def _fit(
        self, rows: MemoryRows, ledger: Ledger, rng: np.random.Generator, progress: Progress
    ) -> None:
        self._grid = Grid(rows.schema)

    def _learn_functions(self, held: Held, ledger: Ledger, rng: np.random.Generator) -> None:
        """Nothing is learned: every combination has the default, or the first value."""

    def _dtype_to_keep(self, column: Column, series: pd.Series) -> str:
        return column.domain.private_storage

    def _size_to_keep(self, rows: int) -> int:
        return 1_000  # the number of rows is a fact about them

    def _draw(self, n: int, rng: np.random.Generator) -> dict[str, FloatArray]:
        codes = {name: rng.integers(0, size, n) for name, size in self._grid.sizes.items()}
        return self._grid.numbers(codes, rng)
