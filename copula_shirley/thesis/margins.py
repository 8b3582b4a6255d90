"""Margins: the step CDF of a column, its inverse, and pseudo-observations.

Thesis 4.2.2 (Algorithm 2, lines 4 to 9) and 4.2.4 (Algorithm 4, lines 3 to 5).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from copula_shirley.schema.domain import FloatArray

#: Pseudo-observations stay this far from 0 and 1, as vinecopulib keeps them.
TRIM = 1e-10


@dataclass(frozen=True)
class Margin:
    """A distribution on ascending atoms, with its right-continuous step CDF.

    Examples
    --------
    >>> margin = Margin.of(np.array([1.0, 2.0, 5.0]), np.array([0.5, 0.25, 0.25]))
    >>> margin.cdf(np.array([0.0, 1.0, 3.0, 5.0])).tolist()
    [0.0, 0.5, 0.75, 1.0]
    >>> margin.quantile(np.array([0.0, 0.5, 0.51, 1.0])).tolist()
    [1.0, 1.0, 2.0, 5.0]
    """

    atoms: FloatArray
    cumulative: FloatArray

    @classmethod
    def of(cls, atoms: FloatArray, mass: FloatArray) -> Margin:
        """Build the margin; atoms of mass 0 take part in the CDF only."""
        cumulative = np.minimum(np.cumsum(mass), 1.0)
        # rounding must not leave a sliver above the last atom that has mass
        cumulative[np.flatnonzero(mass)[-1] :] = 1.0
        return cls(np.asarray(atoms, dtype=float), cumulative)

    @property
    def mass(self) -> FloatArray:
        """Probability of each atom."""
        return np.diff(self.cumulative, prepend=0.0)

    def cdf(self, numbers: FloatArray) -> FloatArray:
        """F(x); a value between atoms takes F of the atom below it, 0 below all."""
        below = np.searchsorted(self.atoms, numbers, side="right")
        return np.append(0.0, self.cumulative)[below]

    def left_cdf(self, numbers: FloatArray) -> FloatArray:
        """F(x-), the limit from the left."""
        below = np.searchsorted(self.atoms, numbers, side="left")
        return np.append(0.0, self.cumulative)[below]

    def quantile(self, uniforms: FloatArray) -> FloatArray:
        """The least atom x with F(x) >= u, among the atoms that have mass."""
        first = np.flatnonzero(self.cumulative > 0)[0]
        where = np.searchsorted(self.cumulative, uniforms, side="left")
        return self.atoms[np.clip(where, first, len(self.atoms) - 1)]


def pseudo_observations(numbers: FloatArray, margins: Sequence[Margin]) -> FloatArray:
    """Apply F to each column of a matrix: u = F(x), kept inside (0, 1).

    The result is a deterministic function of raw rows: F is noisy, x is not.
    """
    columns = [margin.cdf(numbers[:, j]) for j, margin in enumerate(margins)]
    return np.clip(np.column_stack(columns), TRIM, 1 - TRIM)


def left_limits(numbers: FloatArray, margins: Sequence[Margin]) -> FloatArray:
    """F(x-) for each column of a matrix, for vines on discrete columns."""
    columns = [margin.left_cdf(numbers[:, j]) for j, margin in enumerate(margins)]
    return np.clip(np.column_stack(columns), TRIM, 1 - TRIM)


def from_uniforms(uniforms: FloatArray, margins: Sequence[Margin]) -> FloatArray:
    """Apply each column's quantile function to a matrix of uniforms."""
    return np.column_stack([m.quantile(uniforms[:, j]) for j, m in enumerate(margins)])
