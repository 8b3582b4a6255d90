"""DP-Histogram: independent draws from noisy margins (thesis 5.2)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from copula_shirley.baselines.base import MarginBaseline
from copula_shirley.fitted import Progress
from copula_shirley.measure.queries import Queries
from copula_shirley.privacy.ledger import Budget, Ledger
from copula_shirley.privacy.noise import Integers
from copula_shirley.rows.memory import MemoryRows
from copula_shirley.schema.domain import FloatArray, Grid
from copula_shirley.schema.schema import Schema
from copula_shirley.thesis.histograms import check_noise


@dataclass(kw_only=True, eq=False, repr=False)
class DPHistogram(MarginBaseline):
    """Independent noisy margins on the declared domain.

    Examples
    --------
    >>> import pandas as pd
    >>> from copula_shirley import Column
    >>> schema = Schema((Column("x", "integer", minimum=0, maximum=3),))
    >>> model = DPHistogram(1.0, random_state=0).fit(pd.DataFrame({"x": [0, 1, 1, 3] * 9}), schema)
    >>> model.ledger_.proved.epsilon
    1.0
    """

    name: ClassVar[str] = "dp-histogram"

    #: Spent by the Gaussian mechanism only, whose costs add up in zCDP.
    delta: float = 1e-3
    #: "honest" shares epsilon between the columns. "thesis" spends all of it on each, which costs
    #: it as many times as there are columns: the ledger claims epsilon and proves the multiple.
    accounting: Literal["honest", "thesis"] = "honest"

    def _delta(self) -> float:
        return self.delta if self.mechanism == "gaussian" else 0.0

    def _check_settings(self, schema: Schema) -> None:
        super()._check_settings(schema)
        shared = self.accounting == "honest"
        check_noise(self.mechanism, self.epsilon, self._delta(), len(schema), shared=shared)

    def open_ledger(self, schema: Schema) -> Ledger:
        ledger = super().open_ledger(schema)
        if self.epsilon is not None and self.accounting == "thesis":
            ledger.budget = Budget(self.epsilon * len(schema), self._delta() * len(schema))
        return ledger

    def _fit(
        self, rows: MemoryRows, ledger: Ledger, rng: np.random.Generator, progress: Progress
    ) -> None:
        self._grid = Grid(rows.schema)
        noisy = self._run(self._learn(progress), rows, ledger, rng)
        self._margins = {name: self._margin(counts) for name, counts in noisy.items()}
        if not self._size_is_public(rows.schema):
            # each noisy histogram says how many rows there are: post-processing
            sizes = [counts.sum() for counts in noisy.values()]
            self._public_rows = max(1, round(float(np.mean(sizes))))

    def _learn(self, progress: Progress) -> Queries[dict[str, Integers]]:
        """The noisy histogram of each column."""
        names, noisy = self._grid.sizes, {}
        share = 1.0 / len(names) if self.accounting == "honest" else 1.0
        for i, name in enumerate(names):
            progress(f"histogram of {name}", i / len(names))
            noisy[name] = yield from self._ask_cells("histogram", (name,), share)
        return noisy

    def _draw(self, n: int, rng: np.random.Generator) -> dict[str, FloatArray]:
        return self._numbers_at((rng.random(n) for _ in self._margins), rng)
