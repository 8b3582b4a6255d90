"""Zero-concentrated differential privacy: costs that add up, and what they mean.

A mechanism with rho-zCDP composes by adding rho (Bun and Steinke 2016). A sum of rho means
(epsilon, delta)-DP for every delta, by the conversion of Canonne, Kamath and Steinke (2020,
proposition 12): delta = min over alpha > 1 of
exp((alpha - 1)(alpha rho - epsilon)) / (alpha - 1) * (1 - 1/alpha)^alpha.

Costs
-----
- Discrete Gaussian noise of parameter sigma on whole numbers of L2 sensitivity s: s^2 / (2 sigma^2)
  (Canonne, Kamath, Steinke 2020, theorem 4).
- An epsilon-DP mechanism: epsilon^2 / 2 (Bun and Steinke 2016, proposition 1.4).
- The exponential mechanism with parameter epsilon: epsilon^2 / 8 (Cesar and Rogers 2021; Rogers and
  Steinke 2021), since its privacy loss lies in an interval of width epsilon.
"""

from __future__ import annotations

import math
from functools import lru_cache

import scipy

from copula_shirley.errors import SettingError

#: Orders alpha - 1 are searched between these powers of e.
ORDERS = (-12.0, 30.0)


def log_delta(rho: float, epsilon: float) -> float:
    """Logarithm of the least delta that the conversion gives."""

    def at(log_order: float) -> float:
        order = math.exp(log_order)  # alpha - 1
        alpha = 1 + order
        return order * (alpha * rho - epsilon) - log_order + alpha * (log_order - math.log1p(order))

    best = scipy.optimize.minimize_scalar(
        at, bounds=ORDERS, method="bounded", options={"xatol": 1e-10}
    )
    # any order is a valid bound, so an inexact minimum errs on the safe side
    return float(min(best.fun, 0.0))


@lru_cache(4096)
def epsilon_of(rho: float, delta: float) -> float:
    """The epsilon of rho-zCDP at a given delta; never too small.

    Examples
    --------
    >>> round(epsilon_of(0.1, 1e-6), 3)
    2.142
    """
    if rho == 0:
        return 0.0
    goal = math.log(delta)
    high = rho + 2 * math.sqrt(rho * -goal)  # Bun and Steinke 2016, proposition 1.3
    if log_delta(rho, 0.0) <= goal:
        return 0.0
    while log_delta(rho, high) > goal:  # orders that are searched are too large for a huge rho
        high *= 2
    found = float(
        scipy.optimize.brentq(lambda e: log_delta(rho, e) - goal, 0.0, high, xtol=1e-14, rtol=1e-14)
    )
    while log_delta(rho, found) > goal:  # rounding of the root
        found *= 1 + 1e-12
    return found


@lru_cache(256)
def rho_of(epsilon: float, delta: float) -> float:
    """The largest rho that means (epsilon, delta)-DP; never too large.

    Examples
    --------
    >>> rho = rho_of(1.0, 1e-9)
    >>> round(rho, 5), round(epsilon_of(rho, 1e-9), 9)
    (0.01497, 1.0)
    """
    if not 0 < delta < 1:
        raise SettingError(f"delta ({delta!r}) must be in (0, 1) for zCDP")
    goal = math.log(delta)
    low, high = 0.0, epsilon
    while log_delta(high, epsilon) <= goal:
        high *= 2
    while high - low > 1e-15 * high:
        middle = (low + high) / 2
        if middle in (low, high):
            break
        if log_delta(middle, epsilon) <= goal:
            low = middle
        else:
            high = middle
    return low
