"""What the three baselines share: a declared domain, a proved budget, one curator.

Every baseline is a function of noisy answers about the rows and of public facts. Without a seed its
noise is exact, so it may be published. A schema that was drafted from the data is the one way in
which its proof is lost, and the ledger says so.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from copula_shirley.errors import SettingError
from copula_shirley.generator import Generator
from copula_shirley.measure.calibration import Calibration
from copula_shirley.measure.curator import Curator
from copula_shirley.measure.queries import Queries, Query, Tables
from copula_shirley.privacy.ledger import NEIGHBOURS, Budget, Ledger, check_epsilon
from copula_shirley.privacy.noise import Integers, check_mechanism
from copula_shirley.rows.memory import MemoryRows
from copula_shirley.rows.rows import Chunk
from copula_shirley.schema.domain import Grid
from copula_shirley.schema.schema import Column, Schema

#: Share of epsilon for the number of rows, where that is private (add/remove).
SIZE_SHARE = 0.02


@dataclass(frozen=True)
class Declared:
    """Cell map of declared cells; of no column: the number of rows."""

    names: tuple[str, ...]
    shape: tuple[int, ...]

    def cells(self, chunk: Chunk) -> NDArray[np.intp]:
        """The joint cell of each row."""
        if self.names == ("rows",):
            return np.zeros(len(chunk), dtype=np.intp)
        codes = [chunk.codes[name] for name in self.names]
        return np.asarray(np.ravel_multi_index(codes, self.shape), dtype=np.intp)


class Baseline(Generator):
    """A generator whose whole release is covered by its ledger.

    Attributes
    ----------
    released_ : dict
        Every noisy answer about the rows, before any post-processing.
    """

    exact_noise: ClassVar[bool] = True
    epsilon: float | None
    mechanism: str
    neighbours: str
    released_: dict[str, Integers]
    _public_rows: int

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
        return Ledger(
            budget,
            claimed=budget,
            neighbours=self.neighbours,
            unit="row" if schema.person is None else "person",
            rows_per_unit=1 if schema.person is None else schema.max_rows,
            zcdp=budget is not None and budget.delta > 0,
        )

    def calibration(self, ledger: Ledger) -> Calibration:
        """How much noise a share of the budget buys."""
        return Calibration(self._budget(), ledger.sensitivity())

    def _curator(self, rows: MemoryRows, ledger: Ledger, rng: np.random.Generator) -> Curator:
        """Who answers all questions of this fit; nobody else looks at the rows."""
        source = None if self.epsilon is None else self.noise_source(rng)
        codes = {k: v.astype(np.int32) for k, v in self._grid.codes(rows.numbers).items()}
        held = MemoryRows(rows.schema, rows.numbers, rows.units, codes=codes)
        self.released_ = {}
        return self.curator_class(held, ledger, source, self.calibration(ledger))

    _grid: Grid

    def _ask(self, query: Query) -> Queries[Integers]:
        """The noisy numbers that answer a query about one thing, flat."""
        (numbers,) = (yield query).values  # noqa: PD011  (no table of pandas)
        self.released_[f"{query.stage} {query.in_words}"] = numbers
        return numbers

    def _ask_size(self, share: float) -> Queries[int]:
        """The noisy number of rows.

        One unit changes it by no more than a histogram.
        """
        noisy = yield from self._ask(
            Tables("size", [Declared(("rows",), (1,))], share, what="rows")
        )
        return max(2, int(noisy[0]))

    def _size_is_public(self, schema: Schema) -> bool:
        """Replacing one row leaves the number of rows; replacing one person may not."""
        return self.neighbours == "replace-one" and schema.max_rows == 1

    def _size_to_keep(self, rows: int) -> int:
        # a file holds shares of cells, which do not say how many rows there were
        return getattr(self, "_public_rows", rows)

    def _dtype_to_keep(self, column: Column, series: pd.Series) -> str:
        return column.domain.private_storage
