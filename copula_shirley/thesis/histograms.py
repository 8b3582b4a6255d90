"""Noisy histograms of single columns (thesis 4.2.2 and 5.3)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from copula_shirley.measure.calibration import Calibration, Price
from copula_shirley.measure.queries import Query
from copula_shirley.privacy.floating import analytic_scale
from copula_shirley.privacy.ledger import Budget, Sensitivity
from copula_shirley.rows.rows import Chunk
from copula_shirley.schema.domain import FloatArray


@dataclass(frozen=True, eq=False)
class Atoms:
    """Cell map from the number of a row to the atom that it equals.

    Parameters
    ----------
    name : str
        The column.
    atoms : array of float
        Ascending and distinct.

    Examples
    --------
    >>> Atoms("x", np.array([1.0, 2.0, 3.0])).places(np.array([2.0, 1.0, 2.0])).tolist()
    [1, 0, 1]
    """

    name: str
    atoms: FloatArray

    @property
    def names(self) -> tuple[str, ...]:
        """The column."""
        return (self.name,)

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of atoms."""
        return (len(self.atoms),)

    def cells(self, chunk: Chunk) -> NDArray[np.intp]:
        """The atom of each row."""
        return self.places(chunk.numbers[self.name])

    def places(self, numbers: FloatArray) -> NDArray[np.intp]:
        """The atom that each number equals; every number must be one."""
        atoms = self.atoms
        where = np.searchsorted(atoms, numbers)
        if np.any(where == len(atoms)) or np.any(
            atoms[np.minimum(where, len(atoms) - 1)] != numbers
        ):
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
        """Whether noise is Gaussian, and not Laplace."""
        return self.mechanism == "gaussian"

    def price(self, query: Query) -> Price:
        """What the histogram of one column is charged."""
        assert self.budget is not None
        return Price(self.mechanism, self.budget.epsilon, self.budget.delta)

    def scale(self, share: float, count: int, *, distances: bool = False) -> float:
        """Parameter of the noise of one histogram."""
        if self.budget is None:
            return 0.0
        if self.gaussian:
            return analytic_scale(self.budget.epsilon, self.budget.delta, self.unit.l2)
        return self.unit.l1 / self.budget.epsilon


def to_mass(noisy_counts: FloatArray) -> FloatArray:
    """Turn noisy counts into a probability mass.

    Negative counts become 0, as in the thesis. Where all noisy counts are 0
    nothing was learnt, and the mass is uniform (the thesis does not say).

    Examples
    --------
    >>> to_mass(np.array([3.0, -1.0, 1.0])).tolist()
    [0.75, 0.0, 0.25]
    >>> to_mass(np.array([-2.0, 0.0])).tolist()
    [0.5, 0.5]
    """
    kept = np.maximum(noisy_counts, 0.0)
    largest = kept.max()
    if largest <= 0:
        return np.full(len(kept), 1.0 / len(kept))
    kept = kept / largest  # so that neither tiny nor huge counts break the sum
    return np.asarray(kept / kept.sum())
