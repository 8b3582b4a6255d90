"""Values that are distorted by noise, and what can be told of them (Agrawal and Srikant 2000).

Their measure of privacy: if a value can be told with a confidence of c to lie in an interval of
some width, that width is the privacy at c; in percent of the width of the value's domain.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from copula_shirley.local.reconstruction import reconstructed
from copula_shirley.schema.domain import FloatArray

Law = Literal["uniform", "gaussian"]
LAWS: tuple[Law, ...] = ("uniform", "gaussian")
#: Cells of a value's domain.
CELLS = 50
CONFIDENCE = 0.95
Cells = NDArray[np.intp]


def interval(law: Law, confidence: float) -> float:
    """Width of the shortest interval of this confidence: in alphas for U(-alpha, alpha), or sigmas.

    Examples
    --------
    >>> interval("uniform", 0.95), round(interval("gaussian", 0.95), 2)
    (1.9, 3.92)
    """
    if law == "uniform":
        return 2 * confidence
    return float(2 * stats.norm.ppf((1 + confidence) / 2))


@dataclass(frozen=True)
class Distortion:
    """Noise on the values of an attribute from ``low`` to ``high``, of so much privacy.

    ``level`` is the width of the interval of 95 % confidence, as a share of the domain's.
    """

    law: Law
    level: float
    low: float
    high: float

    @property
    def scale(self) -> float:
        """Alpha or sigma."""
        return self.level * (self.high - self.low) / interval(self.law, CONFIDENCE)

    def distorted(self, values: FloatArray, rng: np.random.Generator) -> FloatArray:
        if self.law == "uniform":
            return values + rng.uniform(-self.scale, self.scale, len(values))
        return values + rng.normal(0.0, self.scale, len(values))

    def cells(self, values: FloatArray) -> Cells:
        """The cell of each value; those beyond the domain are in the first and the last one."""
        places = (values - self.low) / (self.high - self.low) * CELLS
        return places.astype(np.intp).clip(0, CELLS - 1)

    def _edges(self) -> FloatArray:
        """Edges of the cells of distorted values, which reach beyond the domain on both sides."""
        width = (self.high - self.low) / CELLS
        reach = self.scale if self.law == "uniform" else 4 * self.scale
        beyond = int(np.ceil(reach / width))
        return np.asarray(self.low + np.arange(-beyond, CELLS + beyond + 1) * width)

    def channel(self) -> FloatArray:
        """The chance of each cell of distorted values, given the middle of each cell of values."""
        edges, width = self._edges(), (self.high - self.low) / CELLS
        middles = self.low + (np.arange(CELLS) + 0.5) * width
        cdf: Any = stats.norm(0, self.scale).cdf
        if self.law == "uniform":
            cdf = stats.uniform(-self.scale, 2 * self.scale).cdf
        chances = np.diff(cdf(edges[:, None] - middles), axis=0)
        return np.asarray(chances + 1e-12)  # a value beside its cell's middle can reach further

    def shares(self, distorted: FloatArray) -> FloatArray:
        """The reconstructed share of each cell."""
        edges = self._edges()
        counts = np.histogram(distorted.clip(edges[0], edges[-1]), edges)[0]
        return reconstructed(counts, self.channel())

    def reconstructed(self, distorted: FloatArray) -> Cells:
        """Cells whose histogram is the reconstructed one, in the order of the distorted values."""
        ends = np.rint(np.cumsum(self.shares(distorted)) * len(distorted)).astype(np.intp)
        ends[-1] = len(distorted)
        counts = np.diff(ends, prepend=0)
        cells = np.empty(len(distorted), dtype=np.intp)
        cells[np.argsort(distorted, kind="stable")] = np.repeat(np.arange(CELLS), counts)
        return cells
