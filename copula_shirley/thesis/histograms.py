"""Split of the rows and noisy histograms of single columns (thesis 4.2.2 and 5.3)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from copula_shirley.errors import SettingError
from copula_shirley.measure.calibration import Calibration, Price
from copula_shirley.measure.queries import Query
from copula_shirley.privacy.budget import check_epsilon
from copula_shirley.privacy.floating import analytic_scale
from copula_shirley.privacy.ledger import Budget, Sensitivity
from copula_shirley.rows.rows import Chunk
from copula_shirley.schema.domain import FloatArray

#: For less, rounding makes diffprivlib's analytic Gaussian too narrow (seen from 1e-10 on).
SMALLEST_DELTA = 1e-9


def split_rows(
    units: NDArray[np.intp], shares: Mapping[str, float], neighbours: str, rng: np.random.Generator
) -> dict[str, NDArray[np.intp]]:
    """Deal whole units (rows, or people with all their rows) to named parts (Algorithm 2, line 2).

    The part of a unit never depends on its values, so that one changed unit changes one part. Under
    replacement the number of units is public and the parts have exact sizes. Under add/remove exact
    sizes would betray it, and an added unit would push another one across the cut; there each unit
    is dealt by an independent draw.

    ``units`` has for each row the number of its unit, from 0; ``shares`` add up to one. Returned
    are the row positions of each part, ascending.
    """
    n = int(units.max()) + 1
    count, sizes = len(shares), list(shares.values())
    if neighbours == "add-remove":
        dealt = rng.choice(count, size=n, p=sizes)
    else:
        if n < count:
            raise SettingError(
                f"the table has {n} rows or people, too few to be split into "
                f"{count} parts ({', '.join(shares)})"
            )
        cuts = np.rint(np.cumsum(sizes) * n).astype(int)
        cuts = cuts.clip(np.arange(count) + 1, n - count + 1 + np.arange(count))  # a unit each
        dealt = np.empty(n, dtype=np.intp)
        dealt[rng.permutation(n)] = np.searchsorted(cuts, np.arange(n), side="right")
    return {name: np.flatnonzero(dealt[units] == i) for i, name in enumerate(shares)}


def check_noise(
    mechanism: str, epsilon: float | None, delta: float, columns: int, *, shared: bool
) -> None:
    """Refuse a budget that cannot be shared by the columns, or spent on each of them."""
    if epsilon is not None:
        check_epsilon(epsilon)
        check_epsilon(epsilon / columns if shared else epsilon)
    least, most = 0.0, 1.0
    if mechanism == "gaussian":
        least, most = SMALLEST_DELTA * (columns if shared else 1), 1.0 / (1 if shared else columns)
    if not isinstance(delta, int | float) or not least <= delta < most:
        raise SettingError(
            f"delta ({delta!r}) must be at least {least:g} and below {most:.3g} for mechanism "
            f"{mechanism!r} and {columns} columns"
        )


@dataclass(frozen=True, eq=False)
class Atoms:
    """Cell map from the number of a row to the atom that it equals; atoms ascend."""

    name: str
    atoms: FloatArray

    @property
    def names(self) -> tuple[str, ...]:
        return (self.name,)

    @property
    def shape(self) -> tuple[int, ...]:
        return (len(self.atoms),)

    def cells(self, chunk: Chunk) -> NDArray[np.intp]:
        """The atom of each row; every number must be one."""
        numbers = chunk.numbers[self.name]
        where = np.searchsorted(self.atoms, numbers)
        if np.any(self.atoms.take(where, mode="clip") != numbers):
            raise AssertionError("a number outside the histogram's domain")
        return where


class ThesisCalibration(Calibration):
    """Noise of the thesis: epsilon (and the Gaussian's delta) for the histogram of each column.

    All costs are in epsilon. Those of Gaussian noise have a delta, too, and its scale is the
    analytic one of Balle and Wang (2018).
    """

    def __init__(self, cost: Budget | None, unit: Sensitivity, mechanism: str) -> None:
        super().__init__(cost, unit)
        self.mechanism = mechanism

    @property
    def zcdp(self) -> bool:
        return False

    @property
    def gaussian(self) -> bool:
        return self.mechanism == "gaussian"

    def price(self, query: Query) -> Price:
        delta = 0.0 if self.budget is None else query.share * self.budget.delta
        return Price(self.mechanism, query.share * self.total, delta)

    def scale_of(self, share: float, reach: Sensitivity, count: int = 1) -> float:
        if self.budget is None or not self.gaussian:
            return super().scale_of(share, reach, count)
        together = reach.l2 * math.sqrt(count)
        return analytic_scale(share * self.total, share * self.budget.delta, together)
