"""What a guarantee means for a person: the best that any attacker can do.

An attacker who knows everything but one unit (a row, or a person) looks at a release and decides
whether the unit was in the data. He is wrong about some who were not (false positives) and right
about some who were (true positives). Differential privacy bounds the second by the first, whatever
he knows and computes: this is its trade-off function (Wasserman and Zhou 2010; Kairouz, Oh and
Viswanath 2015; Dong, Roth and Su 2022).

Bounds
------
With P and Q the laws of the release on neighbouring tables, (epsilon, delta)-DP says for every
event that P(S) <= e^epsilon Q(S) + delta, and the same with P and Q swapped. Let S be "he says
yes", of chance f under Q (false positives) and t under P (true positives).

- S itself: t <= e^epsilon f + delta.
- Its complement, swapped: 1 - f <= e^epsilon (1 - t) + delta, so t <= 1 - e^-epsilon (1 - delta -
  f).

Rho-zCDP that fails with a chance of at most delta_0 means (epsilon, delta(epsilon) + delta_0)-DP
for every epsilon >= 0, by the conversion of ``copula_shirley.privacy.zcdp``. Each of them is a
bound, so their minimum is one; where the search for it is inexact, what it finds is still a bound.

Where the same rho is mu^2 / 2 of mu-GDP, the curve is known: t <= G(f) = Phi(Phi^-1(f) + mu) (Dong,
Roth and Su 2022). If it fails with a chance of delta_0, P and Q are (1 - delta_0) of laws P' and Q'
with that curve and delta_0 of others; so t <= delta_0 + (1 - delta_0) P'(S), and Q'(S) is at most
f / (1 - delta_0): t <= delta_0 + G(f / (1 - delta_0)).
"""

from __future__ import annotations

import math
from functools import lru_cache

import scipy

from copula_shirley.errors import SettingError
from copula_shirley.privacy.zcdp import log_delta

#: The false-positive rates that a card shows.
FALSE_POSITIVES = (0.01, 0.05, 0.5)
#: From here on e^epsilon is no longer a float, and the bound is 1 anyway.
LARGEST = 700.0
#: Points at which the curve of a rho is searched before the best is refined.
POINTS = 64
#: The curve ends where delta is about e^-this.
DEPTH = 40.0


def most_true_positives(
    false_positives: float,
    epsilon: float,
    delta: float = 0.0,
    *,
    rho: float = 0.0,
    failing: float = 0.0,
    gdp: bool = False,
) -> float:
    """The largest true-positive rate of any attacker at a false-positive rate.

    The guarantee is (epsilon, delta), and rho-zCDP but for an event of chance ``failing``, if rho
    is above 0; with ``gdp`` it is sqrt(2 rho)-GDP, too.

    Examples
    --------
    >>> most_true_positives(0.05, 0.0)
    0.05
    >>> round(most_true_positives(0.05, 1.0), 4)  # e times as many
    0.1359
    >>> round(most_true_positives(0.05, 1.0, 1e-9, rho=0.01497), 4)  # Gaussian noise: fewer
    0.0752
    """
    if not 0 <= false_positives <= 1:
        raise SettingError(f"false_positives ({false_positives!r}) must be in [0, 1]")
    bound = _bound(false_positives, epsilon, delta)
    if rho > 0 and gdp:
        bound = min(bound, _gdp_bound(false_positives, math.sqrt(2 * rho), failing))
    elif rho > 0:
        bound = min(bound, _zcdp_bound(false_positives, rho, failing))
    return max(bound, false_positives)  # who tosses a coin gets that


def _bound(false_positives: float, epsilon: float, delta: float) -> float:
    """Both sides of the definition of (epsilon, delta)-DP."""
    if epsilon > LARGEST:
        return 1.0
    yes = math.exp(epsilon) * false_positives + delta
    no = 1 - math.exp(-epsilon) * (1 - delta - false_positives)
    return min(1.0, yes, no)


def _gdp_bound(false_positives: float, mu: float, failing: float) -> float:
    shifted = scipy.special.ndtri(min(1.0, false_positives / (1 - failing))) + mu
    return min(1.0, failing + float(scipy.special.ndtr(shifted)))


@lru_cache(64)
def _curve(rho: float) -> tuple[tuple[float, float], ...]:
    """Pairs (epsilon, delta) that rho implies."""
    end = rho + 2 * math.sqrt(rho * DEPTH)
    epsilons = [end * (i / (POINTS - 1)) ** 2 for i in range(POINTS)]
    return tuple((epsilon, math.exp(log_delta(rho, epsilon))) for epsilon in epsilons)


def _zcdp_bound(false_positives: float, rho: float, failing: float) -> float:
    def at(epsilon: float) -> float:
        return _bound(false_positives, epsilon, math.exp(log_delta(rho, epsilon)) + failing)

    curve = _curve(rho)
    found = [_bound(false_positives, epsilon, delta + failing) for epsilon, delta in curve]
    best = min(range(POINTS), key=lambda i: found[i])
    low, high = curve[max(best - 1, 0)][0], curve[min(best + 1, POINTS - 1)][0]
    finer = scipy.optimize.minimize_scalar(at, bounds=(low, high), method="bounded")
    return float(min(found[best], finer.fun))
