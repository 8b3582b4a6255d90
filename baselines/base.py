"""What the three baselines share: a declared domain, a proved budget, vectorised noise.

Every baseline is a function of noisy answers about the rows and of public facts.
A schema that was drafted from the data is the one way in which its proof is lost,
and the ledger says so.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from copula_shirley.errors import SettingError
from copula_shirley.generator import Generator
from copula_shirley.privacy.ledger import ALL_ROWS, NEIGHBOURS, Budget, Ledger, check_epsilon
from copula_shirley.privacy.mechanisms import NumpyNoise, check_mechanism
from copula_shirley.schema.domain import FloatArray
from copula_shirley.schema.schema import Column, Schema

#: Share of epsilon for the number of rows, where that is private (add/remove).
SIZE_SHARE = 0.02


class Baseline(Generator):
    """A generator whose whole release is covered by its ledger.

    Attributes
    ----------
    released_ : dict
        Every noisy answer about the rows, before any post-processing.
    """

    epsilon: float | None
    mechanism: str
    neighbours: str
    released_: dict[str, FloatArray]

    def _check_settings(self, schema: Schema) -> None:
        if self.epsilon is not None:
            check_epsilon(self.epsilon)
        if self.neighbours not in NEIGHBOURS:
            allowed = ", ".join(NEIGHBOURS)
            raise SettingError(f"neighbours ({self.neighbours!r}) must be one of {allowed}")
        check_mechanism(self.mechanism, self._delta())

    def _delta(self) -> float:
        """Delta that the mechanism spends; 0 unless a subclass has one."""
        return 0.0

    def _budget(self) -> Budget | None:
        return None if self.epsilon is None else Budget(self.epsilon, self._delta())

    def _open_ledger(self, schema: Schema) -> Ledger:
        """A unit is a row, or a person with all rows if the schema names one."""
        budget = self._budget()
        seeded = self.random_state is not None
        return Ledger(
            budget,
            claimed=budget,
            neighbours=self.neighbours,
            unit="row" if schema.person is None else "person",
            rows_per_unit=1 if schema.person is None else schema.max_rows,
            seeded=seeded,
        )

    def _noise(self, ledger: Ledger, rng: np.random.Generator) -> NumpyNoise:
        noise = NumpyNoise(rng, seeded=self.random_state is not None)
        ledger.randomness = noise.label if self.epsilon is not None else "no noise"
        self.released_ = {}
        return noise

    def _release(
        self,
        stage: str,
        name: str,
        counts: NDArray[np.int64],
        cost: Budget | None,
        noise: NumpyNoise,
        ledger: Ledger,
    ) -> FloatArray:
        """Answer one histogram query, charged before noise is drawn.

        Whatever its cells, one unit changes a histogram of all rows by
        ``ledger.sensitivity()``.
        """
        if cost is None:
            ledger.record_unprotected(stage, name, "noise is off: exact counts")
            answer = counts.astype(float)
        else:
            ledger.charge(stage, name, self.mechanism, cost.epsilon, cost.delta, ALL_ROWS)
            answer = noise.add(
                counts,
                mechanism=self.mechanism,
                epsilon=cost.epsilon,
                delta=cost.delta,
                sensitivity=ledger.sensitivity(),
            )
        self.released_[f"{stage} {name}"] = answer
        return answer

    def _public_size(
        self, rows: int, noise: NumpyNoise, ledger: Ledger, epsilon: float | None
    ) -> int:
        """The number of rows, or a noisy one where a unit can be added or removed.

        Replacing one row leaves the number as it is, so there it is public.
        Replacing one *person* by another can change it by their rows.
        """
        if epsilon is None:
            return rows
        noisy = self._release("size", "rows", np.array([rows]), Budget(epsilon), noise, ledger)
        return max(2, round(float(noisy[0])))

    def _size_is_public(self, schema: Schema) -> bool:
        return self.neighbours == "replace-one" and schema.max_rows == 1

    def _size_to_keep(self, rows: int) -> int:
        # a file holds shares of cells, which do not say how many rows there were
        return getattr(self, "_public_rows", rows)

    def _dtype_to_keep(self, column: Column, series: pd.Series) -> str:
        return column.domain.private_storage

    _public_rows: int
