"""Reports of places that are the less alike the farther apart: geo-indistinguishability.

A report names a cell of a place column's grid, a near one more likely than a far one: with e the
epsilon for each kilometre, cell z has a chance in proportion to exp(-e d(z, x) / 2) for somebody in
cell x. Divided by their sums, these chances under two cells that lie d km apart differ by a factor
of at most exp(e d): the weights by exp(e d / 2) (triangle inequality), the sums by as much again
(Andres et al. 2013; here by the exponential mechanism, McSherry and Talwar 2007). That is on the
whole grid with its borders; nothing is clamped.

Chances are whole numbers of 2^32, and both promises are computed from them, rounded up:
``epsilon_per_km``, and ``epsilon``, the local differential privacy between any two cells. A map of
many people is reconstructed by maximum likelihood (``reconstruction``).
"""

from __future__ import annotations

import math
import secrets
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from copula_shirley.errors import ReportError
from copula_shirley.local.coins import ONE, SLACK, epsilon_of
from copula_shirley.local.oracles import Coins
from copula_shirley.local.reconstruction import reconstructed
from copula_shirley.schema.column import Column
from copula_shirley.schema.domain import FloatArray

#: Cells of a grid: time goes with the cube of their number.
MOST_CELLS = 1024
#: Above the error of a difference of two logarithms of chances, each of them at most 23.
ROUNDING = 64 * SLACK


@dataclass(frozen=True, eq=False)
class GeoChannel:
    """The chances of reports on a grid.

    Examples
    --------
    >>> home = Column("home", "place", minimum="0, 0", maximum="0.1, 0.1", resolution="3km")
    >>> channel = GeoChannel.of(home, 0.5)
    >>> bool(channel.epsilon_per_km <= 0.5 < channel.epsilon)
    True
    """

    #: Out of 2^32, of each report (rows) in each cell (columns).
    chances: NDArray[np.int64]
    #: Kilometres from cell to cell.
    distances: FloatArray

    @classmethod
    def of(cls, column: Column, epsilon_per_km: float) -> GeoChannel:
        """The channel of a place column that promises so much for each kilometre."""
        if not column.domain.nearest_metres:
            raise ReportError(f"column {column.name!r} must be of kind place, with several cells")
        if column.size - column.missing > MOST_CELLS or column.missing:
            raise ReportError(
                f"column {column.name!r} must have at most {MOST_CELLS:,} cells and none for "
                "missing values"
            )
        known = isinstance(epsilon_per_km, int | float) and not isinstance(epsilon_per_km, bool)
        if not known or not 0 < epsilon_per_km < math.inf:
            raise ReportError(f"epsilon_per_km ({epsilon_per_km!r}) must be a positive number")
        middles = column.domain.middles / 1000  # type: ignore[attr-defined]
        distances = np.sqrt(((middles[:, None] - middles) ** 2).sum(axis=2))
        # whole chances are cut down, by up to 1 of 2^32: asked for a little less, they keep it
        asked = float(epsilon_per_km)
        for _ in range(60):
            found = cls(_whole(np.exp(-asked * distances / 2)), distances)
            if found.epsilon_per_km <= epsilon_per_km:
                return found
            asked *= 0.99
        raise ReportError(
            f"epsilon_per_km ({epsilon_per_km:g}) is too small for this grid: chances of 32 bits "
            "differ by more"
        )

    @property
    def epsilon(self) -> float:
        """Epsilon of a report between any two cells."""
        most, least = self.chances.max(axis=1), self.chances.min(axis=1)
        worst = max(Fraction(int(a), int(b)) for a, b in zip(most, least, strict=True))
        return epsilon_of(worst)

    @property
    def epsilon_per_km(self) -> float:
        """The largest logarithm of a ratio of chances, for each kilometre between the cells."""
        logs = np.log(self.chances)
        worst = 0.0
        for x in range(len(self.distances)):
            other = np.arange(x)
            apart = np.abs(logs[:, other] - logs[:, [x]]).max(axis=0, initial=0.0) + ROUNDING
            worst = max(worst, float((apart / self.distances[x, other]).max(initial=0.0)))
        return worst * (1 + SLACK)

    def draw(self, cell: int) -> int:
        """A report of somebody in this cell, by an exact coin of the operating system."""
        ends = np.cumsum(self.chances[:, cell])
        return int(np.searchsorted(ends, secrets.randbelow(ONE), side="right"))

    def simulated(self, cells: NDArray[np.integer[Any]], coins: Coins) -> NDArray[np.int64]:
        """How often each cell is reported by people in these cells, each by a coin of her own."""
        found = np.zeros(len(self.chances), dtype=np.int64)
        for cell, many in enumerate(np.bincount(cells, minlength=len(self.distances))):
            ends = np.cumsum(self.chances[:, cell])
            said = np.searchsorted(ends, coins.words(int(many)), side="right")
            found += np.bincount(said, minlength=len(found))
        return found

    def decoded(self, tally: NDArray[Any]) -> FloatArray:
        """Shares of the cells that explain the reports best."""
        return reconstructed(tally, self.chances / ONE)

    @property
    def words(self) -> list[str]:
        """Both promises, for a card."""
        return [
            f"Geo-indistinguishable: epsilon {self.epsilon_per_km:.3g} for each km between two "
            "places, at the resolution of the grid.",
            f"The same report is locally differentially private with epsilon {self.epsilon:.3g} "
            "between any two places of the grid.",
        ]


def _whole(weights: FloatArray) -> NDArray[np.int64]:
    """Chances out of 2^32 in proportion to the weights of each column, none of them 0."""
    shares = np.floor(weights / weights.sum(axis=0) * ONE)
    found: NDArray[np.int64] = np.maximum(shares, 1).astype(np.int64)
    # what is left goes to the true cell, which is the likeliest
    np.fill_diagonal(found, found.diagonal() + ONE - found.sum(axis=0))
    if found.min() < 1:
        raise ReportError("epsilon_per_km must be smaller on so many cells")
    return found
