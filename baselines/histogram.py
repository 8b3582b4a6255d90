"""DP-Histogram: independent draws from noisy margins (thesis 5.2)."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import numpy as np

from copula_shirley.baselines.base import Baseline, Declared
from copula_shirley.errors import SettingError
from copula_shirley.generator import Progress, RandomState
from copula_shirley.measure.queries import Queries, Tables
from copula_shirley.measure.transcript import run
from copula_shirley.privacy.ledger import Budget, Ledger, check_epsilon
from copula_shirley.privacy.noise import Integers, check_mechanism
from copula_shirley.restoring import restored_margin
from copula_shirley.rows.memory import MemoryRows
from copula_shirley.schema.domain import FloatArray, Grid
from copula_shirley.schema.schema import OnUnknown, Schema
from copula_shirley.thesis.histograms import to_mass
from copula_shirley.thesis.margins import Margin


class DPHistogram(Baseline):
    """Independent noisy margins on the declared domain.

    Parameters
    ----------
    epsilon : float or None
        Budget of the whole release; None for no noise.
    mechanism : {"laplace", "geometric", "gaussian"}
        Discrete noise on counts; "laplace" and "geometric" are the same.
    delta : float
        Spent by the Gaussian mechanism only, whose costs add up in zCDP.
    accounting : {"honest", "thesis"}
        "honest" shares epsilon between the columns. "thesis" spends all of it on
        each, which costs as many times epsilon as there are columns: the ledger
        claims epsilon and proves the multiple.
    neighbours, on_unknown, random_state
        As for every generator.

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

    def __init__(
        self,
        epsilon: float | None = 1.0,
        *,
        mechanism: str = "laplace",
        delta: float = 1e-3,
        accounting: Literal["honest", "thesis"] = "honest",
        neighbours: str = "replace-one",
        on_unknown: OnUnknown = "refuse",
        random_state: RandomState = None,
    ) -> None:
        self.epsilon = epsilon
        self.mechanism = mechanism
        self.delta = delta
        self.accounting = accounting
        self.neighbours = neighbours
        self.on_unknown = on_unknown
        self.random_state = random_state

    def _delta(self) -> float:
        return self.delta if self.mechanism == "gaussian" else 0.0

    def _check_settings(self, schema: Schema) -> None:
        super()._check_settings(schema)
        if self.accounting not in ("honest", "thesis"):
            raise SettingError(f"accounting ({self.accounting!r}) must be honest or thesis")
        if self.epsilon is not None and self.accounting == "honest":
            check_epsilon(self.epsilon / len(schema))
            check_mechanism(self.mechanism, self._delta() / len(schema))
        elif self._delta() * len(schema) >= 1:
            raise SettingError(
                f"delta ({self.delta!r}) times {len(schema)} columns must be below 1"
            )

    def _open_ledger(self, schema: Schema) -> Ledger:
        ledger = super()._open_ledger(schema)
        if self.epsilon is not None and self.accounting == "thesis":
            ledger.budget = Budget(self.epsilon * len(schema), self._delta() * len(schema))
        return ledger

    def _fit(
        self, rows: MemoryRows, ledger: Ledger, rng: np.random.Generator, progress: Progress
    ) -> None:
        self._grid = Grid(rows.schema)
        noisy = run(self._learn(progress), self._curator(rows, ledger, rng))
        self._margins = {
            name: Margin.of(np.arange(len(counts), dtype=float), to_mass(counts.astype(float)))
            for name, counts in noisy.items()
        }
        # each noisy histogram says how many rows there are: post-processing
        noisy_size = max(1, round(float(np.mean([counts.sum() for counts in noisy.values()]))))
        self._public_rows = len(rows) if self._size_is_public(rows.schema) else noisy_size

    def _learn(self, progress: Progress) -> Queries[dict[str, Integers]]:
        """The noisy histogram of each column."""
        sizes, noisy = self._grid.sizes, {}
        share = 1.0 / len(sizes) if self.accounting == "honest" else 1.0
        for i, (name, size) in enumerate(sizes.items()):
            progress(f"histogram of {name}", i / len(sizes))
            query = Tables("histogram", [Declared((name,), (size,))], share, what=name)
            noisy[name] = yield from self._ask(query)
        return noisy

    def _draw(self, n: int, rng: np.random.Generator) -> dict[str, FloatArray]:
        codes = {
            name: margin.quantile(rng.random(n)).astype(np.intp)
            for name, margin in self._margins.items()
        }
        return self._grid.numbers(codes, rng)

    def _state(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        return {}, {f"cumulative_{i}": m.cumulative for i, m in enumerate(self._margins.values())}

    def _restore(self, state: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
        self._grid = Grid(self.schema_)
        self._margins = {
            name: restored_margin(np.arange(size, dtype=float), arrays[f"cumulative_{i}"])
            for i, (name, size) in enumerate(self._grid.sizes.items())
        }
