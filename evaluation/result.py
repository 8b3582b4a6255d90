"""What a metric says: one number, and what stands behind it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, is_dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binomtest, norm


@dataclass(frozen=True)
class Result:
    """A value and its breakdown.

    ``value`` is never NaN: where there is nothing to measure, it is the metric's worth and the
    detail has a ``note``. ``detail`` holds ``columns``, ``pairs`` or ``classes`` (which one is
    bad), ``interval`` (95 %), ``note`` (what was special), and what else the metric documents.
    """

    value: float
    detail: Mapping[str, Any] = field(default_factory=dict)


def pair(*names: str) -> str:
    """The key of several columns together; names with a bar in them are quoted.

    Examples
    --------
    >>> pair("age", "sex")
    'age | sex'
    >>> pair("age | sex", "job")
    "'age | sex' | job"
    """
    return " | ".join(repr(name) if "|" in name else name for name in names)


def rates(hits: Mapping[str, NDArray[Any]]) -> dict[str, dict[str, Any]]:
    """The share of successes of each attack that was tried, with its 95 % Wilson interval.

    Examples
    --------
    >>> found = rates({"train": np.repeat([True, False], 5), "nobody": np.array([])})
    >>> found["train"]["rate"], [round(end, 3) for end in found["train"]["interval"]], len(found)
    (0.5, [0.237, 0.763], 1)
    """
    found = {}
    for who, own in hits.items():
        if trials := len(own):
            interval = binomtest(int(own.sum()), trials).proportion_ci(method="wilson")
            ends = float(interval.low), float(interval.high)
            found[who] = {"rate": int(own.sum()) / trials, "interval": ends, "trials": trials}
    return found


def advantage_interval(
    first: NDArray[Any], second: NDArray[Any], spread: float = 0.0
) -> tuple[float, tuple[float, float]]:
    """Difference of two mean success rates with its 95 % interval.

    Each array holds a success in [0, 1] per attacked person. Two made-up persons, one success
    and one failure, join each side (Agresti and Caffo 2000): without them the interval of an
    attack that always fails would have no width. If successes depend on each other, their
    difference has a larger standard deviation, the ``spread``.

    Examples
    --------
    >>> gain, (low, high) = advantage_interval(np.ones(10), np.zeros(10))
    >>> gain, round(low, 2), high
    (1.0, 0.61, 1.0)
    """
    gain = float(np.mean(first) - np.mean(second))
    padded = [np.append(np.asarray(x, dtype=float), [0.0, 1.0]) for x in (first, second)]
    middle = float(padded[0].mean() - padded[1].mean())
    error = np.sqrt(sum(x.var() / len(x) for x in padded))
    reach = float(norm.ppf(0.975) * max(error, spread))
    return gain, (max(middle - reach, -1.0), min(middle + reach, 1.0))


def jsonable(value: Any) -> Any:
    """What JSON can hold; an unbounded end of an interval is null."""
    if is_dataclass(value) and not isinstance(value, type):
        value = asdict(value)
    if isinstance(value, dict):
        return {str(key): jsonable(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [jsonable(entry) for entry in value]
    if isinstance(value, np.ndarray | np.generic):
        return jsonable(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if isinstance(value, str | int | float | None) else str(value)
