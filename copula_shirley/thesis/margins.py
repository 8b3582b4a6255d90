"""Margins: the step CDF of a column, its inverse, and pseudo-observations.

Thesis 4.2.2 (Algorithm 2, lines 4 to 9) and 4.2.4 (Algorithm 4, lines 3 to 5).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from copula_shirley.errors import ArtefactError
from copula_shirley.restoring import floats
from copula_shirley.schema.domain import MISSING, FloatArray
from copula_shirley.schema.schema import Column

#: Pseudo-observations stay this far from 0 and 1, as vinecopulib keeps them.
TRIM = 1e-10


def to_mass(noisy_counts: FloatArray) -> FloatArray:
    """Turn noisy counts into a probability mass.

    Negative counts become 0, as in the thesis. Where all are 0 the mass is uniform (the thesis does
    not say).
    """
    positive = np.maximum(noisy_counts, 0.0)
    largest = positive.max()
    if largest <= 0:
        return np.full(len(positive), 1.0 / len(positive))
    positive = positive / largest  # so that neither tiny nor huge counts break the sum
    return np.asarray(positive / positive.sum())


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
        """The margin of a mass; atoms of mass 0 take part in the CDF only."""
        cumulative = np.minimum(np.cumsum(mass), 1.0)
        # rounding must not leave a sliver above the last atom that has mass
        cumulative[np.flatnonzero(mass)[-1] :] = 1.0
        return cls(np.asarray(atoms, dtype=float), cumulative)

    @classmethod
    def restored(cls, atoms: Any, cumulative: Any) -> Margin:
        """A margin from the arrays of a file, if they are those of a distribution."""
        atoms, cumulative = floats(atoms), floats(cumulative)
        if atoms.ndim != 1 or not atoms.size or atoms.shape != cumulative.shape:
            raise ArtefactError("a margin must have as many atoms as shares")
        if np.any(np.diff(atoms) <= 0):
            raise ArtefactError("the atoms of a margin must ascend")
        if np.any(np.diff(cumulative) < 0) or cumulative[0] < 0 or cumulative[-1] != 1.0:
            raise ArtefactError("the shares of a margin must rise to 1")
        return cls(atoms, cumulative)

    def inside(self, column: Column) -> bool:
        """Whether all atoms are numbers of the column."""
        cells = column.domain.cells()
        known = self.atoms[self.atoms != MISSING]
        first = cells.first[np.isfinite(cells.first)][0]
        wrong = (known < first) | (known > cells.last[-1])
        if cells.step:
            wrong |= known != np.round(known)
        return not wrong.any() and (len(known) == len(self.atoms) or column.missing)

    @property
    def mass(self) -> FloatArray:
        return np.diff(self.cumulative, prepend=0.0)

    def cdf(self, numbers: FloatArray, *, left: bool = False) -> FloatArray:
        """F(x), or its limit F(x-) from the left.

        A value between atoms takes F of the atom below it, 0 below all.
        """
        below = np.searchsorted(self.atoms, numbers, side="left" if left else "right")
        return np.append(0.0, self.cumulative)[below]

    def quantile(self, uniforms: FloatArray) -> FloatArray:
        """The least atom x with F(x) >= u, among the atoms that have mass."""
        first = np.flatnonzero(self.cumulative > 0)[0]
        where = np.searchsorted(self.cumulative, uniforms, side="left")
        return self.atoms[np.clip(where, first, len(self.atoms) - 1)]


def pseudo_observations(
    numbers: FloatArray, margins: Sequence[Margin], *, left: bool = False
) -> FloatArray:
    """Apply F to each column of a matrix: u = F(x), or F(x-), kept inside (0, 1).

    The result is a deterministic function of raw rows: F is noisy, x is not.
    """
    columns = [margin.cdf(numbers[:, j], left=left) for j, margin in enumerate(margins)]
    return np.clip(np.column_stack(columns), TRIM, 1 - TRIM)


def from_uniforms(uniforms: FloatArray, margins: Sequence[Margin]) -> FloatArray:
    return np.column_stack([m.quantile(uniforms[:, j]) for j, m in enumerate(margins)])
