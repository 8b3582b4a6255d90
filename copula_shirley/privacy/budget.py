"""What may be spent, and how much one unit can change a count."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal, get_args

from copula_shirley.errors import SettingError

NeighbourName = Literal["replace-one", "add-remove"]
NEIGHBOURS: tuple[str, ...] = get_args(NeighbourName)
#: Noise for less, or for more, is not computed well by floating-point mechanisms.
SMALLEST_EPSILON, LARGEST_EPSILON = 1e-9, 1e15


@dataclass(frozen=True)
class Budget:
    """A pair (epsilon, delta).

    Examples
    --------
    >>> Budget(1.0)
    Budget(epsilon=1.0, delta=0.0)
    """

    epsilon: float
    delta: float = 0.0

    def __post_init__(self) -> None:
        check_epsilon(self.epsilon)
        if not _is_number(self.delta) or not 0 <= self.delta < 1:
            raise SettingError(f"delta ({self.delta!r}) must be in [0, 1)")

    def __str__(self) -> str:
        text = f"epsilon {self.epsilon:.6g}"
        return text + (f", delta {self.delta:.3g}" if self.delta else "")


@dataclass(frozen=True)
class Total:
    """A sum of costs; unlike a budget it may be zero."""

    epsilon: float
    delta: float = 0.0
    rho: float = 0.0

    __str__ = Budget.__str__


def check_epsilon(epsilon: Any) -> None:
    if not _is_number(epsilon) or not SMALLEST_EPSILON <= epsilon <= LARGEST_EPSILON:
        raise SettingError(
            f"epsilon ({epsilon!r}) must be a positive number from {SMALLEST_EPSILON:g} to "
            f"{LARGEST_EPSILON:g}"
        )


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


@dataclass(frozen=True)
class Sensitivity:
    """How much one unit can change a vector of counts, in both norms."""

    l1: float
    l2: float


def histogram_sensitivity(neighbours: str, rows_per_unit: int = 1) -> Sensitivity:
    """Sensitivity of one histogram of counts.

    Adding or removing a row changes one cell by one. Replacing a row lowers one cell and raises
    another: 2 in the L1 norm (thesis 4.2.2), sqrt(2) in L2. A unit with k rows can put all of them
    into one cell, and so multiplies both by k.

    Examples
    --------
    >>> histogram_sensitivity("replace-one").l1
    2.0
    >>> histogram_sensitivity("add-remove", rows_per_unit=5).l1
    5.0
    """
    if neighbours not in NEIGHBOURS:
        raise SettingError(f"neighbours ({neighbours!r}) must be one of {', '.join(NEIGHBOURS)}")
    cells = 2 if neighbours == "replace-one" else 1
    return Sensitivity(l1=float(cells * rows_per_unit), l2=math.sqrt(cells) * rows_per_unit)
