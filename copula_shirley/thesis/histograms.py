"""Split of the rows and noisy histograms of single columns (thesis 4.2.2 and 5.3)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from copula_shirley.errors import SettingError
from copula_shirley.measure.calibration import Calibration, Price
from copula_shirley.measure.queries import Query
from copula_shirley.privacy.floating import analytic_scale
from copula_shirley.privacy.ledger import Budget, Sensitivity
from copula_shirley.rows.rows import Chunk
from copula_shirley.schema.domain import FloatArray


def split_rows(
    units: NDArray[np.intp],
    shares: Mapping[str, float],
    neighbours: str,
    rng: np.random.Generator,
) -> dict[str, NDArray[np.intp]]:
    """Deal whole units (rows, or people with all their rows) to named parts (Algorithm 2, line 2).

    The part of a unit never depends on its values, so that one changed unit changes one part. Under
    replacement the number of units is public and the parts have exact sizes. Under add/remove exact
    sizes would betray it, and an added unit would push another one across the cut; there each unit
    is dealt by an independent draw.

    ``units`` has for each row the number of its unit, from 0; ``shares`` add up to one. Returned
    are the row positions of each part, ascending.

    Examples
    --------
    >>> parts = split_rows(np.arange(6), {"histogram": 0.5, "copula": 0.5}, "replace-one",
    ...                    np.random.default_rng(0))
    >>> len(parts["histogram"]), len(parts["copula"])
    (3, 3)
    """
    n = int(units.max()) + 1
    names = list(shares)
    if neighbours == "add-remove":
        dealt = rng.choice(len(names), size=n, p=[shares[name] for name in names])
    else:
        if n < len(names):
            raise SettingError(
                f"the table has {n} rows or people, too few to be split into "
                f"{len(names)} parts ({', '.join(names)})"
            )
        cuts = np.rint(np.cumsum([shares[name] for name in names]) * n).astype(int)
        # each part keeps at least one unit
        for i in range(len(names)):
            cuts[i] = min(max(cuts[i], i + 1), n - (len(names) - 1 - i))
        dealt = np.empty(n, dtype=np.intp)
        dealt[rng.permutation(n)] = np.searchsorted(cuts, np.arange(n), side="right")
    return {name: np.flatnonzero(dealt[units] == i) for i, name in enumerate(names)}


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

    Laplace and geometric noise have scale L1 / epsilon, which costs epsilon; Gaussian noise has the
    analytic scale of Balle and Wang (2018).
    """

    def __init__(self, cost: Budget | None, unit: Sensitivity, mechanism: str) -> None:
        self.budget = cost
        self.unit = unit
        self.mechanism = mechanism

    @property
    def gaussian(self) -> bool:
        return self.mechanism == "gaussian"

    def price(self, query: Query) -> Price:
        assert self.budget is not None
        return Price(self.mechanism, self.budget.epsilon, self.budget.delta)

    def scale(self, share: float, count: int, *, distances: bool = False) -> float:
        if self.budget is None:
            return 0.0
        if self.gaussian:
            return analytic_scale(self.budget.epsilon, self.budget.delta, self.unit.l2)
        return self.unit.l1 / self.budget.epsilon
