"""Noise in shares: each of m holders adds some, and that of the honest ones suffices.

h = m - t holders are honest when t collude. Colluders know their own shares, so what protects is
the sum of the other h; what colluders add on top is a function of what they know.

Gaussian shares
---------------
A share is discrete Gaussian noise N_Z(0, s^2), drawn exactly by OpenDP.

*Lemma. At every whole z the sum of h shares has a probability that is within e^r and e^-r times
that of N_Z(0, h s^2), with r = 5 sum_{k=1}^{h-1} exp(-2 pi^2 s^2 k / (k + 1)), for s >= 2.*

1. N_Z(0, a^2) and N_Z(0, b^2) add up to a law that is proportional at z to
   sum_j exp(-j^2 / 2a^2 - (z - j)^2 / 2b^2)
   = exp(-z^2 / 2(a^2 + b^2)) sum_j exp(-(j - x)^2 / 2c^2), c^2 = a^2 b^2 / (a^2 + b^2), for an x
   that depends on z.
2. By Poisson's formula the second sum is c sqrt(2 pi) (1 + 2 sum_{n>=1} q^(n^2) cos(2 pi n x)) with
   q = exp(-2 pi^2 c^2), so within 1 - e and 1 + e times a constant, e = 2 q / (1 - q). Both laws
   sum to 1, so their ratio is at most 1 somewhere and at least 1 somewhere: it is between
   (1 - e) / (1 + e) and its inverse, whose logarithm is 2 artanh(e) <= 5 q for q <= e^-39.
3. By induction: if the sum of k shares is within e^r of N_Z(0, k s^2), then with one more share it
   is within e^r of N_Z(0, k s^2) + N_Z(0, s^2), and that is within e^(5q) of N_Z(0, (k + 1) s^2),
   where c^2 = s^2 k / (k + 1).

(Kairouz, Liu and Steinke 2021 have the same sum with the same factor, tau / 2.)

*What it costs.* Let all answers have d cells. Whatever is asked, each next question chosen by
earlier answers, any event has with shares a probability within e^(dr) and e^(-dr) times the one
with N_Z(0, h s^2): the ratios of the cells multiply. If that noise is (e0, d0)-DP, the shares are
(e0 + 2 d r, d0 e^(dr))-DP. So a ledger sets aside what is between the rho of (epsilon, delta) and
the rho of (epsilon - 2 d r, delta e^(-dr)) with d = ``MOST_CELLS``, and charges the rest as it
charges discrete Gaussian noise of parameter sqrt(h) s, in zCDP or in GDP. For shares of 2 and more
it is about 1e-9 in epsilon. (The bound of Kairouz, Liu and Steinke in zCDP alone would forgo what
GDP gains, some 7 % of noise.)

Laplace shares
--------------
For a delta of 0 a share is the difference of two Polya variables: P(k) goes by
Gamma(k + 1/h) / k! p^k with p = exp(-1 / b). h of them sum to a geometric variable, so h shares sum
to discrete Laplace noise of scale b, exactly. A Polya variable is drawn by rejection from the
geometric law: k is kept with the chance prod_{i<k} (1 + h i) / (h + h i), the ratio of the two laws
up to a constant, each factor a coin of whole numbers. The geometric variable is that of Canonne,
Kamath and Steinke (2020, algorithm 2), of whole numbers as well, for b as a fraction.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from copula_shirley.errors import SettingError
from copula_shirley.privacy.noise import Integers, NoiseSource, check_scale

#: Parameter of the smallest Gaussian share: the lemma is for this and more.
LEAST_SHARE = 2.0
ROUNDING = 1e-12
#: Cells of all answers of a session, those of attempts that failed included.
MOST_CELLS = 2**24
#: A scale of Laplace shares is rounded up to a multiple of one part in so many.
FINENESS = 1024
#: Variables that are drawn at a time.
BATCH = 2**16

Words = NDArray[np.uint64]
Flags = NDArray[np.bool_]


def log_ratio(share: float, honest: int) -> float:
    """Largest logarithm of the ratio of the lemma, for shares of this parameter.

    Examples
    --------
    >>> log_ratio(2.0, 1), log_ratio(2.0, 50) < 1e-16
    (0.0, True)
    """
    exponents = (-2 * math.pi**2 * share**2 * k / (k + 1) for k in range(1, honest))
    return 5 * math.fsum(map(math.exp, exponents))


@dataclass(frozen=True)
class Shares:
    """How many holders add noise, and how many of them may collude."""

    holders: int
    colluding: int

    @property
    def honest(self) -> int:
        """Holders whose noise must suffice."""
        return self.holders - self.colluding

    @property
    def wider(self) -> float:
        """The noise of all holders, in standard deviations of what suffices."""
        return math.sqrt(self.holders / self.honest)

    def enough(self, scale: float, *, gaussian: bool) -> float:
        """The noise of the honest holders: that of a scale, and no smaller than shares can be."""
        return max(scale, LEAST_SHARE * math.sqrt(self.honest)) if gaussian else scale

    def added(
        self, counts: Integers, scale: float, source: NoiseSource, *, gaussian: bool
    ) -> Integers:
        """Counts with one holder's share of noise; all that suffices has this scale."""
        if gaussian:
            share = scale / math.sqrt(self.honest)
            if share < LEAST_SHARE * (1 - ROUNDING):
                raise SettingError(
                    f"share of noise ({share:.3g}) must be at least {LEAST_SHARE:g}: smaller ones "
                    "do not add up to Gaussian noise"
                )
            return np.asarray(source.gaussian(counts, share))
        size = int(np.size(counts))
        draws = [polya(self.honest, scale, size, source.words) for _ in range(2)]
        return np.asarray(counts + (draws[0] - draws[1]).reshape(np.shape(counts)))


# -- whole numbers by whole coins ----------------------------------------------------

#: Gives so many random words.
Source = Callable[[int], Words]


def below(limits: Words, words: Source) -> Words:
    """A uniform whole number below each of these, by rejection: no number is more likely."""
    limits = np.asarray(limits, dtype=np.uint64)
    # 2^64 mod limit words would make the first numbers more likely
    spare = (np.uint64(2**64 - 1) % limits + np.uint64(1)) % limits
    found, open_ = np.zeros(len(limits), dtype=np.uint64), np.arange(len(limits))
    while len(open_):
        drawn = words(len(open_))
        kept = drawn <= np.uint64(2**64 - 1) - spare[open_]
        found[open_[kept]] = drawn[kept] % limits[open_[kept]]
        open_ = open_[~kept]
    return found


def falling(numerators: Words, denominator: int, words: Source) -> Flags:
    """Coins of chance exp(-numerator / denominator), at most 1 (Canonne et al., algorithm 1)."""
    heads = np.zeros(len(numerators), dtype=bool)
    running, k = np.arange(len(numerators)), 1
    while len(running):  # the number of tosses is odd with that chance
        limits = np.full(len(running), denominator * k, dtype=np.uint64)
        on = below(limits, words) < numerators[running]
        heads[running[~on]] = k % 2 == 1
        running, k = running[on], k + 1
    return heads


def geometric(scale: float, size: int, words: Source) -> Integers:
    """P(k) goes by exp(-k / scale); the scale is rounded up to a fraction."""
    check_scale(scale)
    parts, found = math.ceil(scale * FINENESS), np.zeros(size, dtype=np.int64)
    todo = np.arange(size)
    while len(todo):
        start = below(np.full(len(todo), parts, dtype=np.uint64), words)
        kept = falling(start, parts, words)
        done = todo[kept]
        whole, running = np.zeros(len(done), dtype=np.uint64), np.arange(len(done))
        while len(running):
            on = falling(np.ones(len(running), dtype=np.uint64), 1, words)
            running = running[on]
            whole[running] += np.uint64(1)
        found[done] = (start[kept] + np.uint64(parts) * whole) // np.uint64(FINENESS)
        todo = todo[~kept]
    return found


def polya(honest: int, scale: float, size: int, words: Source) -> Integers:
    """Variables of which ``honest`` sum to one of ``geometric``."""
    if honest == 1:
        return geometric(scale, size, words)
    found, todo = np.zeros(size, dtype=np.int64), np.arange(size)
    while len(todo):
        many = min(BATCH, len(todo) * math.ceil(min(scale, BATCH) + 1))  # about 1 in scale is kept
        drawn = geometric(scale, many, words)
        kept, running, i = np.ones(many, dtype=bool), np.flatnonzero(drawn > 0), 0
        while len(running):
            limits = np.full(len(running), honest + honest * i, dtype=np.uint64)
            on = below(limits, words) < 1 + honest * i
            kept[running[~on]] = False
            i += 1
            running = running[on & (drawn[running] > i)]
        drawn = drawn[kept][: len(todo)]
        found[todo[: len(drawn)]] = drawn
        todo = todo[len(drawn) :]
    return found
