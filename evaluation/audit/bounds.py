"""What counts of an event on two neighbouring tables say about epsilon, rho and mu.

A mechanism is (epsilon, delta)-DP if P(E on D) <= exp(epsilon) P(E on D') + delta for every event E
and all neighbours D, D'. So one event of one pair is enough to bound epsilon from below:

    epsilon >= ln((P(E on D) - delta) / P(E on D')).

Both chances are unknown; n runs on each table count the event. Clopper and Pearson (1934) give an
exact lower end of the first and an upper end of the second, each wrong with a chance of at most
alpha/2, so the bound holds with confidence 1 - alpha. Nothing is assumed about the mechanism. The
event must be fixed before the counts are looked at: it is learnt on other runs
(``evaluation.audit.distinguisher``).

What a claim implies where an audit has power
---------------------------------------------
No audit sees an event of chance 1e-9, so a claim (epsilon, 1e-9) is also tested by what follows
from it:

- (epsilon, delta)-DP implies (epsilon, delta')-DP for every delta' >= delta, by definition.
- rho-zCDP implies (epsilon', delta')-DP for every delta', with the epsilon' of
  ``copula_shirley.privacy.zcdp.epsilon_of``: at delta' = 0.01 that is far below epsilon.
- rho-zCDP says D_alpha(M(D) || M(D')) <= rho alpha for every alpha > 1. Data processing: looking at
  the event alone does not raise D_alpha, so the divergence of two coins with the chances of the
  event bounds rho from below (``rho_between``).
- A release that is only Gaussian noise of L2 sensitivity s and deviation sigma is mu-GDP with
  mu = s / sigma (Dong, Roth and Su 2022), also when composed adaptively, and mu = sqrt(2 rho). Then
  no event has Phi^-1(P(E on D)) - Phi^-1(P(E on D')) above mu.

Guesses about many units at once
--------------------------------
Where each of m units is in the table or not (or is one row or another) by a coin of its own,
somebody who knows all other coins guesses each coin (``evaluation.audit.canaries``). For one unit,
given the others, the two tables are neighbours, so with p = P(guessed in | in) and q = P(guessed in
| out) the claim limits p against q and 1 - q against 1 - p. Let a = (p + 1 - q) / 2 be the chance
to be right. Both limits are convex in (p, q) and stay the same when (p, q) becomes (1 - q, 1 - p),
so for a given a they are the mildest at p = a, q = 1 - a: an a above 1/2 shows at least what an
event of these chances shows. All of it is monotone in a and a unit's limit is that of all units, so
it holds for the average of a over units too, that is for the mean share of right guesses of a run.
Runs are independent; guesses within a run need not be (``mean_lower``).
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import log_ndtr, logsumexp
from scipy.stats import beta

FloatArray = NDArray[np.float64]
#: Confidence of the bounds that are reported.
CONFIDENCE = 0.95
#: Where a claim with a delta is tested too.
DELTA = 1e-2
#: Orders at which divergences of an event are taken; 1 is the Kullback-Leibler divergence.
ORDERS = (1.0, 1.1, 1.25, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 16.0, 32.0, 64.0)
#: Parts of the wealth that ``mean_lower`` stakes.
STAKES = (1.0, 1 / 2, 1 / 4, 1 / 8, 1 / 16, 1 / 32)


def clopper_pearson(hits: Any, runs: int, alpha: float) -> tuple[FloatArray, FloatArray]:
    """Lower and upper end of a chance, each wrong with a chance of at most ``alpha``.

    Examples
    --------
    >>> low, high = clopper_pearson(0, 100, 0.025)
    >>> float(low), round(float(high), 4)
    (0.0, 0.0362)
    """
    hits = np.asarray(hits, dtype=float)
    low = np.where(hits > 0, beta.ppf(alpha, hits, runs - hits + 1), 0.0)
    high = np.where(hits < runs, beta.ppf(1 - alpha, hits + 1, runs - hits), 1.0)
    # beta.ppf is NaN where a parameter is 0, which np.where has replaced
    return np.asarray(low, dtype=float), np.asarray(high, dtype=float)


@lru_cache(64)
def ends(runs: int, alpha: float) -> tuple[FloatArray, FloatArray]:
    """Both ends for 0, 1, ..., ``runs`` hits, for a bound of confidence 1 - ``alpha``."""
    with np.errstate(all="ignore"):
        return clopper_pearson(np.arange(runs + 1), runs, alpha / 2)


def rho_between(p: Any, q: Any) -> FloatArray:
    """The rho that an event shows: the largest D_alpha / alpha of two coins with its chances."""
    p, q = np.asarray(p, dtype=float), np.asarray(q, dtype=float)
    best = np.zeros(np.shape(p))
    with np.errstate(all="ignore"):
        for order in ORDERS:
            if order == 1.0:
                rest = np.where(p < 1, (1 - p) * np.log((1 - p) / (1 - q)), 0.0)
                value = p * np.log(p / q) + rest
            else:
                mean = p**order * q ** (1 - order) + (1 - p) ** order * (1 - q) ** (1 - order)
                value = np.log(mean) / (order - 1) / order
            # the ends are the worst case only where the chances are still in order
            best = np.maximum(best, np.where((p > q) & np.isfinite(value), value, 0.0))
    return np.asarray(best)


def mean_lower(values: Any, alpha: float) -> float:
    """Lower bound on the mean of independent values in [0, 1], wrong with a chance <= ``alpha``.

    By betting (Waudby-Smith and Ramdas 2024): who stakes a part theta of what he has on values
    above m has, from 1, the product of 1 - theta + theta value / m. If the mean is m or less, no
    factor is above 1 on average, nor is their product, nor the average over several theta; so it
    reaches 1 / alpha with a chance of at most alpha (Markov). The bound is the largest m at which
    it does. Values that vary little give a bound far better than that of a coin with their mean.

    Examples
    --------
    >>> round(mean_lower([0.6, 0.5] * 100, 0.05), 2), mean_lower([0.0] * 100, 0.05)
    (0.54, 0.0)
    """
    values, stakes = np.asarray(values, dtype=float), np.array(STAKES)[:, None]

    def reached(mean: float) -> bool:
        with np.errstate(divide="ignore"):
            logs = np.log1p(stakes * (values / mean - 1)).sum(axis=1)
        return bool(logsumexp(logs) - math.log(len(STAKES)) >= -math.log(alpha))

    low, high = 0.0, 1.0
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if reached(middle) else (low, middle)
    return low if low > 1e-9 else 0.0


def gaussian_delta(mu: float, epsilon: float) -> float:
    """The delta of mu-GDP at an epsilon (Balle and Wang 2018, theorem 8)."""
    first = log_ndtr(mu / 2 - epsilon / mu)
    second = epsilon + log_ndtr(-mu / 2 - epsilon / mu)
    return float(np.exp(first) - np.exp(second))


def gaussian_mu(epsilon: float, delta: float) -> float:
    """The largest mu that means (epsilon, delta)-DP.

    Examples
    --------
    >>> round(gaussian_mu(1.0, 0.126936737), 6)
    1.0
    """
    high = 1.0
    while gaussian_delta(high, epsilon) < delta:
        high *= 2
    return float(brentq(lambda mu: gaussian_delta(mu, epsilon) - delta, 1e-9, high))
