"""Means over folds with their intervals: what the report and the paper say of every figure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import isnan, nan, sqrt

import numpy as np
from scipy.stats import t as student

#: Fewer folds are no evidence for or against anything.
FEWEST_FOLDS = 3


@dataclass(frozen=True)
class Estimate:
    """A mean over folds with its 95 % interval and its range; one fold has no interval."""

    mean: float
    low: float
    high: float
    folds: int
    least: float = nan
    most: float = nan

    @property
    def reach(self) -> float:
        """Half the width of the interval, 0 if there is none."""
        return 0.0 if isnan(self.high) else self.high - self.mean

    @property
    def whiskers(self) -> tuple[float, float]:
        """How far to draw below and above the mean."""
        # two folds have an interval thirteen times as wide as their distance: draw the folds
        if self.folds >= FEWEST_FOLDS:
            return self.mean - self.low, self.high - self.mean
        return (self.mean - self.least, self.most - self.mean) if self.folds == 2 else (0.0, 0.0)

    def __truediv__(self, unit: float) -> Estimate:
        """The estimate in another unit."""
        parts = (self.mean, self.low, self.high, self.least, self.most)
        mean, low, high, least, most = (part / unit for part in parts)
        return Estimate(mean, low, high, self.folds, least, most)

    def __neg__(self) -> Estimate:
        """The other way round."""
        return Estimate(-self.mean, -self.high, -self.low, self.folds, -self.most, -self.least)


def estimate(values: Iterable[float]) -> Estimate:
    """Mean and 95 % interval of Student's t.

    The training rows of two folds overlap, so that the interval is somewhat too narrow.

    Examples
    --------
    >>> found = estimate([1.0, 2.0, 3.0])  # 2 -+ 4.303 * 1 / sqrt(3)
    >>> round(found.low, 3), found.mean, round(found.high, 3), found.folds
    (-0.484, 2.0, 4.484, 3)
    """
    numbers = np.asarray(list(values), dtype=float)
    numbers = numbers[~np.isnan(numbers)]
    if not len(numbers):
        return Estimate(nan, nan, nan, 0)
    mean = float(numbers.mean())
    ends = float(numbers.min()), float(numbers.max())
    if len(numbers) == 1:
        return Estimate(mean, nan, nan, 1, *ends)
    reach = student.ppf(0.975, len(numbers) - 1) * numbers.std(ddof=1) / sqrt(len(numbers))
    return Estimate(mean, mean - float(reach), mean + float(reach), len(numbers), *ends)
