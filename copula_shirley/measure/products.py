"""Sums of products of columns, of which a least-squares regression is made (Cai and Kou 2017).

Every value is a whole number of steps of 2^-20 of its column's declared range: 0 at the least
value, 2^20 at the largest. The product of two of them is divided by 2^20 and rounded, so it is
again such a number; the column "rows" is 2^20 in every row. Sums of whole numbers are exact, in any
order.

Privacy: of d columns, "rows" among them, there are L = d (d + 1) / 2 products of two. In one row
each lies between 0 and 2^20, whatever stands in it (a row with a missing value has 0 in all of
them). So adding or removing a row changes the L sums by at most L 2^20 in the L1 norm and
sqrt(L) 2^20 in L2, which a row of the largest values reaches. Replacing a row is at most the same:
each product moves by at most 2^20, and the sum of "rows" times "rows" stays. A person with k rows
changes k times as much.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from copula_shirley.privacy.ledger import Sensitivity
from copula_shirley.rows.memory import MemoryRows
from copula_shirley.rows.rows import Integers
from copula_shirley.schema.domain import FloatArray

#: Steps of a column's range; a sum of so many rows, 2^43, still has 63 bits.
STEPS = 2**20


@dataclass(frozen=True)
class Products:
    """The sums of the products of the rows' number and of columns, given their ranges.

    They are the upper triangle of a matrix, row by row.
    """

    ranges: Mapping[str, tuple[float, float]]
    rows_per_unit: int = 1

    @property
    def names(self) -> tuple[str, ...]:
        return ("rows", *self.ranges)

    @property
    def size(self) -> int:
        """How many sums there are."""
        return math.comb(len(self.names) + 1, 2)

    @property
    def reach(self) -> Sensitivity:
        """The argument stands at the head of the module."""
        most = float(STEPS * self.rows_per_unit)
        return Sensitivity(self.size * most, math.sqrt(self.size) * most)

    def numbers(self, rows: MemoryRows) -> Integers:
        known = np.all([np.isfinite(rows.numbers[name]) for name in self.ranges], axis=0)
        steps = [np.where(known, STEPS, 0).astype(np.int64)]
        for name, ends in self.ranges.items():
            steps.append(np.where(known, in_steps(rows.numbers[name], *ends), 0))
        return sums_of_products(steps)


def in_steps(numbers: FloatArray, low: float, high: float) -> Integers:
    """Numbers as steps of their range; those beyond it, and missing ones, are at its ends."""
    shares = (np.maximum(numbers, low) - low) / (high - low)
    steps: Integers = np.rint(np.minimum(shares, 1.0) * STEPS).astype(np.int64)
    return steps


def sums_of_products(steps: list[Integers]) -> Integers:
    """The sum of each product of two, in steps."""
    found = []
    for i, first in enumerate(steps):
        found += [int(((first * second + STEPS // 2) // STEPS).sum()) for second in steps[i:]]
    return np.array(found, dtype=np.int64)


def matrix_of(sums: FloatArray) -> FloatArray:
    """The whole symmetric matrix of its upper triangle.

    Examples
    --------
    >>> matrix_of(np.array([1.0, 2.0, 3.0])).tolist()
    [[1.0, 2.0], [2.0, 3.0]]
    """
    size = math.isqrt(2 * len(sums))
    matrix = np.zeros((size, size))
    matrix[np.triu_indices(size)] = sums
    return np.asarray(matrix + np.triu(matrix, 1).T)
