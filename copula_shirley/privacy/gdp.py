"""Gaussian differential privacy: what discrete Gaussian noise costs exactly, and what it means.

A mechanism is mu-GDP if its answers about neighbours are as hard to tell apart as N(0, 1) and
N(mu, 1) are (Dong, Roth and Su 2022). That is tighter than the rho-zCDP of the same noise, with
rho = mu^2 / 2, but it is a theorem about continuous noise. Here is what holds for noise on whole
numbers. Z is discrete Gaussian noise of parameter sigma: P(Z = k) goes by exp(-k^2 / 2 sigma^2).

Lemma
-----
*A whole number that changes by v between neighbours, plus Z, is (|v| D)-GDP for every D with
D^2 <= 6 and D^2 (1 - D^2 / 12) >= 1 / sigma^2.*

1. Let h(k) = Phi^-1(P(Z < k)) for whole k. The best tests between Z and Z + v, v > 0, say yes from
   some k on: they are wrong with chances 1 - Phi(h(k)) and Phi(h(k - v)). Between two such tests
   their trade-off is a straight line, and that of N(0, 1) and N(mu, 1) is convex. So Z and Z + v
   are mu-GDP if h(k) - h(k - v) <= mu for all k, and |v| d-GDP with d = sup h(k + 1) - h(k).
2. The sup is attained or is the limit 1 / sigma, since h(k) = k / sigma + O(log(k) / k); and
   D > 1 / sigma. Let it be attained at k. With q(y) the mass of N(0, 1) between y - d/2 and
   y + d/2, P(Z = k) = q(y) for some y, and its neighbours lie on intervals beside it that are no
   longer than d: P(Z = k - 1) <= q(y - d) and P(Z = k + 1) <= q(y + d). So
   exp(-1 / sigma^2) = P(Z = k - 1) P(Z = k + 1) / P(Z = k)^2 <= q(y - d) q(y + d) / q(y)^2.
3. (log q)''(y) = Var(y) - 1, with Var(y) the variance of N(0, 1) inside that interval. Var is even
   and falls with |y|. (For y > 0 its derivative is -E (X - m)^3 with m the mean, and that moment is
   not negative: with f the density of X, f(m + s) - f(m - s) has one sign while both points are in
   the interval, and is positive when only m + s is, since m is nearer to the left end. As
   E (X - m) = 0 the first sign is negative; after a single change from negative to positive the
   integral against s^3 is at least a positive multiple of that against s, which is 0.) So the
   second difference of log q with step d, an average of (log q)'' by a symmetric tent, is largest
   at y = 0: 1 / sigma^2 >= F(d) with F(d) = 2 log(q(0) / q(d)).
4. Var(0) <= d^2 / 12, the variance of a uniform number, since N(0, 1) inside a symmetric interval
   is a mixture of narrower uniform ones. The tent has mass d^2, so F(d) >= d^2 - d^4 / 12.
   F grows: F'(d) = 2 d (E (1 + u)^2 - E u^2), the means by two laws of u on [-1/2, 1/2], where
   |1 + u| >= 1/2 >= |u|. Now F(D) >= D^2 (1 - D^2 / 12) >= 1 / sigma^2 >= F(d), and so D >= d.

For sigma of 1 and more D is at most half a percent above the d that is needed (``tests``); it is
1 / sqrt(sigma^2 - 1/12), nearly.

Composition
-----------
*If an algorithm asks one question after the other, each chosen by earlier answers, and the sum of
its |v|^2 D^2 over all numbers of all questions is at most mu^2 whatever the answers are, all of it
is mu-GDP.* By Blackwell's theorem the two laws of a noisy number are the images of N(0, 1) and
N(|v| D, 1) under one random map. N(|v| D, 1) is, in units of its time T = v^2 D^2, what Brownian
motion with drift 0 or 1 moves in T: an increment of N(0, T) or N(T, T), divided by sqrt(T). So all
answers can be made from a path of it, each from the stretch after the last one, whose length
earlier answers decide. No more than the time mu^2 is used, and its end tells as much about the
drift as the whole path: N(0, mu^2) or N(mu^2, mu^2), that is mu-GDP. (Fully adaptive composition of
GDP: Smith and Thakurta 2022.) Here v is what *this* pair of neighbours changes, and L2 sensitivity
bounds the sum of v^2.

*A query that fails with a chance of delta_0* (a category of one unit is released) has laws
(1 - delta_0) P + delta_0 P' and (1 - delta_0) Q + delta_0 Q' with P and Q as above; the chances add
up, and each event has P(S) <= e^epsilon Q(S) + delta(epsilon) + delta_0.

So costs add up as rho = mu^2 / 2. As D >= 1 / sigma, a spend of rho is rho-zCDP, too: both hold.
"""

from __future__ import annotations

import math

import scipy

from copula_shirley.privacy.budget import Sensitivity

#: The one mechanism that is counted so.
DISCRETE_GAUSSIAN = "discrete gaussian"
#: The largest D^2 of the lemma.
LARGEST_SQUARE = 6.0
#: What rounding of Mills' ratio and of logarithms may change, with room to spare.
ROUNDING = 1e-14


def discrete_scale(mu: float) -> float:
    """Parameter of the discrete Gaussian noise that makes a count that changes by 1 mu-GDP.

    Examples
    --------
    >>> round(discrete_scale(0.1), 5), round(discrete_scale(1.0), 5)  # 1 / mu, and a little more
    (10.00417, 1.04447)
    """
    square = min(mu * mu, LARGEST_SQUARE)
    return 1 / math.sqrt(square * (1 - square / 12))


def unit_mu(scale: float) -> float:
    """The mu of a count that changes by 1 by the parameter of its noise, which is so inverted.

    Examples
    --------
    >>> round(unit_mu(discrete_scale(0.1)), 12)
    0.1
    """
    least = 1 / scale**2
    if least > 3 * (1 + ROUNDING):
        return math.inf
    return math.sqrt(-6 * math.expm1(math.log1p(-min(least / 3, 1 - ROUNDING)) / 2))


def pays(rho: float, by_zcdp: float, unit: Sensitivity) -> bool:
    """Whether a budget, of so much rho in GDP and in zCDP, buys no more noise in GDP.

    Judged by a table that takes half of it: most take less. Of a large budget zCDP buys less noise
    (below that of one row), since D is then well above 1 / sigma.

    Examples
    --------
    >>> pays(0.7966, 0.7328, Sensitivity(1, 1))  # epsilon 8 and delta 1e-9
    True
    >>> pays(2.6592, 2.4687, Sensitivity(1, 1))  # epsilon 16
    False
    """
    return discrete_scale(math.sqrt(rho) / unit.l2) <= unit.l2 / math.sqrt(by_zcdp)


def log_delta(rho: float, epsilon: float) -> float:
    """Logarithm of the delta of mu-GDP with mu^2 = 2 rho, rounded up.

    Delta is Phi(-a) - e^epsilon Phi(-b) with a = epsilon / mu - mu / 2 and b = a + mu (Balle and
    Wang 2018, theorem 8). With Mills' ratio M that is phi(a) (M(a) - M(b)): nothing overflows.
    """
    mu = math.sqrt(2 * rho)
    a = epsilon / mu - mu / 2
    density = -a * a / 2 * (1 - ROUNDING) - math.log(2 * math.pi) / 2
    if a <= 0:
        delta = scipy.special.ndtr(-a) - math.exp(density) * _mills(a + mu)
        return float(math.log(min(1.0, delta + ROUNDING)))
    return float(density + math.log(_mills(a) * (1 + ROUNDING) - _mills(a + mu)))


def _mills(x: float) -> float:
    return float(math.sqrt(math.pi / 2) * scipy.special.erfcx(x / math.sqrt(2)))
