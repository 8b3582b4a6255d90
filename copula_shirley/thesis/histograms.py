"""Noisy histograms of single columns (thesis 4.2.2 and 5.3)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from copula_shirley.privacy.ledger import ALL_ROWS, Budget, Ledger
from copula_shirley.privacy.mechanisms import NoiseSource
from copula_shirley.schema.domain import FloatArray


def count(numbers: FloatArray, atoms: FloatArray) -> NDArray[np.int64]:
    """Count how often each atom occurs; every number must be an atom.

    Parameters
    ----------
    numbers : array of float
    atoms : array of float
        Ascending and distinct.

    Examples
    --------
    >>> count(np.array([2.0, 1.0, 2.0]), np.array([1.0, 2.0, 3.0])).tolist()
    [1, 2, 0]
    """
    where = np.searchsorted(atoms, numbers)
    if np.any(where == len(atoms)) or np.any(atoms[np.minimum(where, len(atoms) - 1)] != numbers):
        raise AssertionError("a number outside the histogram's domain")
    return np.bincount(where, minlength=len(atoms)).astype(np.int64)


def count_cells(codes: NDArray[np.intp], size: int) -> NDArray[np.int64]:
    """Count how often each cell occurs.

    Examples
    --------
    >>> count_cells(np.array([0, 2, 2]), 3).tolist()
    [1, 0, 2]
    """
    return np.bincount(codes, minlength=size).astype(np.int64)


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


def noisy_counts(
    name: str,
    counts: NDArray[np.int64],
    cost: Budget,
    *,
    mechanism: str,
    noise: NoiseSource,
    ledger: Ledger,
    rows: str = ALL_ROWS,
) -> FloatArray:
    """Counts of one attribute with noise, charged before the noise is drawn.

    One unit (a row, or a person with several) changes the counts of one
    attribute by ``ledger.sensitivity()``: all of its rows may sit in one bin.
    Each attribute is a spend of its own, on the same rows as the others.
    """
    ledger.charge("histogram", name, mechanism, cost.epsilon, cost.delta, rows)
    return noise.add(
        counts,
        mechanism=mechanism,
        epsilon=cost.epsilon,
        delta=cost.delta,
        sensitivity=ledger.sensitivity(),
    )
