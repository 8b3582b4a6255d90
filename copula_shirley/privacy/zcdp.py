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

Where every mechanism is mu-GDP with mu^2 = 2 rho, too, the sum of rho means more: with ``gdp`` the
functions convert by the curve of Gaussian noise (``copula_shirley.privacy.gdp``).
"""

from __future__ import annotations

import math
from functools import lru_cache

import scipy

from copula_shirley.errors import SettingError
from copula_shirley.privacy import gdp as gaussian

#: Orders alpha - 1 are searched between these powers of e.
ORDERS = (-12.0, 30.0)


def log_delta(rho: float, epsilon: float, *, gdp: bool = False) -> float:
    """Logarithm of the least delta that the conversion gives."""
    if gdp:
        return gaussian.log_delta(rho, epsilon)

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
def epsilon_of(rho: float, delta: float, *, gdp: bool = False) -> float:
    """The epsilon of rho-zCDP (or of GDP) at a given delta; never too small.

    Examples
    --------
    >>> round(epsilon_of(0.1, 1e-6), 3), round(epsilon_of(0.1, 1e-6, gdp=True), 3)
    (2.142, 1.995)
    """
    if rho == 0:
        return 0.0
    goal = math.log(delta)
    high = rho + 2 * math.sqrt(rho * -goal)  # Bun and Steinke 2016, proposition 1.3

    def above(epsilon: float) -> float:
        return log_delta(rho, epsilon, gdp=gdp) - goal

    if above(0.0) <= 0:
        return 0.0
    while above(high) > 0:  # orders that are searched are too large for a huge rho
        high *= 2
    found = float(scipy.optimize.brentq(above, 0.0, high, xtol=1e-14, rtol=1e-14))
    while above(found) > 0:  # rounding of the root
        found *= 1 + 1e-12
    return found


@lru_cache(256)
def rho_of(epsilon: float, delta: float, *, gdp: bool = False) -> float:
    """The largest rho that means (epsilon, delta)-DP in zCDP (or in GDP); never too large.

    Examples
    --------
    >>> rho = rho_of(1.0, 1e-9)
    >>> round(rho, 5), round(epsilon_of(rho, 1e-9), 9)
    (0.01497, 1.0)
    """
    if not 0 < delta < 1:
        raise SettingError(f"delta ({delta!r}) must be in (0, 1) for a cost in rho")
    goal = math.log(delta)
    low, high = 0.0, epsilon
    while log_delta(high, epsilon, gdp=gdp) <= goal:
        high *= 2
    while high - low > 1e-15 * high:
        middle = (low + high) / 2
        if middle in (low, high):
            break
        if log_delta(middle, epsilon, gdp=gdp) <= goal:
            low = middle
        else:
            high = middle
    return low
