"""What the three baselines share: a declared domain, a proved budget, one curator.

Every baseline is a function of noisy answers about the rows and of public facts. Without a seed its
noise is exact, so it may be published. A schema that was drafted from the data is the one way in
which its proof is lost, and the ledger says so.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, ClassVar, Literal, TypeVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from copula_shirley.fitted import RandomState
from copula_shirley.generator import Generator
from copula_shirley.measure.calibration import Calibration
from copula_shirley.measure.curator import Curator
from copula_shirley.measure.queries import Declared, Queries, Query, Tables
from copula_shirley.measure.transcript import run, sharing
from copula_shirley.privacy.budget import Budget, NeighbourName
from copula_shirley.privacy.ledger import Ledger
from copula_shirley.privacy.noise import Integers
from copula_shirley.rows.memory import MemoryRows
from copula_shirley.schema.domain import FloatArray, Grid
from copula_shirley.schema.scales import notes_on_scales
from copula_shirley.schema.schema import Column, OnUnknown, Schema
from copula_shirley.settings import check_choices
from copula_shirley.thesis.margins import Margin, to_mass

T = TypeVar("T")
#: Share of epsilon for the number of rows, where that is private (add/remove).
SIZE_SHARE = 0.02


@dataclass(eq=False, repr=False)
class Baseline(Generator):
    """A generator whose whole release is covered by its ledger.

    Attributes
    ----------
    released_ : dict
        Every noisy answer about the rows, before any post-processing.
    """

    exact_noise: ClassVar[bool] = True

    #: Budget of the whole release; None for no noise.
    epsilon: float | None = 1.0
    _: KW_ONLY
    #: Discrete noise on counts; "laplace" and "geometric" are the same.
    mechanism: Literal["laplace", "geometric", "gaussian"] = "laplace"
    neighbours: NeighbourName = "replace-one"
    #: Values outside the schema are refused or clipped.
    on_unknown: OnUnknown = "refuse"
    #: A seed makes noise and rows repeatable: for experiments only.
    random_state: RandomState = None
    #: Cells of the columns; set by a fit.
    _grid: Grid = field(init=False)

    def _check_settings(self, schema: Schema) -> None:
        check_choices(self)
        self._budget()  # refuses what is none

    def _delta(self) -> float:
        """Delta that the mechanism spends; 0 unless a subclass has one."""
        return 0.0

    def _budget(self) -> Budget | None:
        return None if self.epsilon is None else Budget(self.epsilon, self._delta())

    def open_ledger(self, schema: Schema) -> Ledger:
        return Ledger.of(schema, self._budget(), self.neighbours)

    def notes(self, schema: Schema) -> list[str]:
        return notes_on_scales(schema)

    def _curator(self, rows: MemoryRows, ledger: Ledger, rng: np.random.Generator) -> Curator:
        """Who answers all questions of this fit; nobody else looks at the rows."""
        self._public_rows = len(rows) if self._size_is_public(rows.schema) else 0  # not yet known
        self.released_: dict[str, Integers] = {}
        source = None if self.epsilon is None else self.noise_source(rng)
        codes = {k: v.astype(np.int32) for k, v in self._grid.codes(rows.numbers).items()}
        held = MemoryRows(rows.schema, rows.numbers, rows.units, codes=codes)
        calibration = Calibration(self._budget(), ledger.sensitivity())
        return self.curator_class(held, ledger, source, calibration)

    def _run(
        self, learning: Queries[T], rows: MemoryRows, ledger: Ledger, rng: np.random.Generator
    ) -> T:
        """What an algorithm learns with the budget that learned functions leave."""
        asking = sharing(learning, self.coordinates_.share_left)
        return run(asking, self._curator(rows, ledger, rng))

    def _ask(self, query: Query) -> Queries[Integers]:
        """The noisy numbers that answer a query about one thing, flat."""
        (numbers,) = (yield query).values  # noqa: PD011  (no table of pandas)
        self.released_[f"{query.stage} {query.in_words}"] = numbers
        return numbers

    def _ask_cells(self, stage: str, names: tuple[str, ...], share: float) -> Queries[Integers]:
        """The noisy counts of the joint cells of some columns."""
        cells = Declared(names, tuple(self._grid.sizes[name] for name in names))
        return (yield from self._ask(Tables(stage, [cells], share, what=" x ".join(names))))

    def _ask_size(self) -> Queries[float]:
        """Learn the number of rows where it is private, and return the share that is left.

        One unit changes it by no more than a histogram.
        """
        if self._public_rows:
            return 1.0
        query = Tables("size", [Declared(("rows",), (1,))], SIZE_SHARE, what="rows")
        self._public_rows = max(2, int((yield from self._ask(query))[0]))
        return 1.0 - SIZE_SHARE

    def _size_is_public(self, schema: Schema) -> bool:
        """Replacing one row leaves the number of rows; replacing one person may not."""
        return self.neighbours == "replace-one" and schema.max_rows == 1

    def _size_to_keep(self, rows: int) -> int:
        # a file holds shares of cells, which do not say how many rows there were
        return getattr(self, "_public_rows", rows)

    def _dtype_to_keep(self, column: Column, series: pd.Series) -> str:
        return column.domain.private_storage


class MarginBaseline(Baseline):
    """A baseline that draws each column by the inverse of its noisy margin."""

    _margins: dict[str, Margin]

    def _margin(self, noisy: NDArray[Any]) -> Margin:
        return Margin.of(np.arange(float(len(noisy))), to_mass(noisy.astype(float)))

    def _numbers_at(
        self, uniforms: Iterable[FloatArray], rng: np.random.Generator
    ) -> dict[str, FloatArray]:
        """Numbers of all columns at uniforms, which are those of one column after the other."""
        codes = {
            name: margin.quantile(u).astype(np.intp)
            for (name, margin), u in zip(self._margins.items(), uniforms, strict=True)
        }
        return self._grid.numbers(codes, rng)

    def _state(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        return {}, {f"cumulative_{i}": m.cumulative for i, m in enumerate(self._margins.values())}

    def _restore(self, state: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
        self._grid = Grid(self.schema_)
        self._margins = {
            name: Margin.restored(np.arange(size, dtype=float), arrays[f"cumulative_{i}"])
            for i, (name, size) in enumerate(self._grid.sizes.items())
        }
