"""Bounds on epsilon, rho and mu, against hand-computed and exact values."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import binom, binomtest, multinomial, norm

from copula_shirley.evaluation.audit.bounds import ends, gaussian_mu, mean_lower, rho_between
from copula_shirley.evaluation.audit.claim import Limit


def chances(more: Any, fewer: Any, runs: int, alpha: float) -> Any:
    low, high = ends(runs, alpha)
    return low[more], high[fewer]


def epsilon_lower(more: Any, fewer: Any, runs: int, delta: float, alpha: float) -> Any:
    return Limit("epsilon", delta).bound(*chances(more, fewer, runs, alpha))


@pytest.mark.parametrize("runs", [7, 50])
def test_ends_are_those_of_the_exact_binomial_test(runs: int) -> None:
    low, high = ends(runs, 0.05)
    for hits in range(runs + 1):
        interval = binomtest(hits, runs).proportion_ci(0.95, method="exact")
        assert low[hits] == pytest.approx(interval.low, abs=1e-12)
        assert high[hits] == pytest.approx(interval.high, abs=1e-12)


def test_the_bound_by_hand() -> None:
    # no hit in 100: the upper end is 1 - 0.025^(1/100); 100 hits: the lower end is 0.025^(1/100)
    end = 0.025 ** (1 / 100)
    assert float(epsilon_lower(100, 0, 100, 0.0, 0.05)) == pytest.approx(math.log(end / (1 - end)))
    by_hand = math.log((end - 0.01) / (1 - end))
    assert float(epsilon_lower(100, 0, 100, 0.01, 0.05)) == pytest.approx(by_hand)
    assert float(epsilon_lower(0, 100, 100, 0.0, 0.05)) == 0.0
    assert float(epsilon_lower(50, 50, 100, 0.0, 0.05)) == 0.0


@pytest.mark.parametrize(
    ("p", "q", "delta"), [(0.5, 0.2, 0.0), (0.9, 0.3, 0.05), (0.05, 0.01, 0.0)]
)
@pytest.mark.parametrize("alpha", [0.05, 0.001])
def test_the_bound_is_wrong_no_more_often_than_alpha(
    p: float, q: float, delta: float, alpha: float
) -> None:
    """Exactly: the chance of all pairs of counts whose bound is above the truth."""
    runs = 40
    truth = math.log((p - delta) / q)
    more, fewer = np.meshgrid(np.arange(runs + 1), np.arange(runs + 1), indexing="ij")
    chance = binom.pmf(more, runs, p) * binom.pmf(fewer, runs, q)
    wrong = chance[epsilon_lower(more, fewer, runs, delta, alpha) > truth].sum()
    assert wrong <= alpha


@pytest.mark.parametrize("chances", [(0.2, 0.5, 0.3), (0.9, 0.0, 0.1), (0.01, 0.98, 0.01)])
@pytest.mark.parametrize("alpha", [0.05, 0.2])
def test_the_bound_on_a_mean_is_wrong_no_more_often_than_alpha(
    chances: tuple[float, float, float], alpha: float
) -> None:
    """Exactly, over all outcomes of runs whose share is 0, 1/2 or 1."""
    runs, shares = 12, np.array([0.0, 0.5, 1.0])
    wrong = 0.0
    for none in range(runs + 1):
        for half in range(runs + 1 - none):
            counts = (none, half, runs - none - half)
            if mean_lower(np.repeat(shares, counts), alpha) > np.dot(shares, chances):
                wrong += multinomial.pmf(counts, runs, chances)
    assert wrong <= alpha


def test_the_bound_on_a_mean_by_hand() -> None:
    # all runs 1: each sixth of the wealth grows by 1 - theta + theta / m in each run, to 1 / .05
    mean = mean_lower([1.0] * 100, 0.05)
    stakes = np.array([1, 1 / 2, 1 / 4, 1 / 8, 1 / 16, 1 / 32])
    assert np.mean((1 - stakes + stakes / mean) ** 100) == pytest.approx(20, rel=1e-6)
    assert mean_lower([0.0] * 100, 0.05) == 0.0
    steady = mean_lower([0.6] * 400, 0.05)
    coins = mean_lower([1.0, 0.0, 1.0, 0.0, 1.0] * 80, 0.05)
    assert 0.59 < steady < 0.6 and 0.5 < coins < 0.56  # runs that vary little tell more


def test_rho_by_hand_is_a_divergence_of_two_coins() -> None:
    runs = 30
    low, high = ends(runs, 0.05)
    p, q = low[28], high[4]
    kl = p * math.log(p / q) + (1 - p) * math.log((1 - p) / (1 - q))
    second = math.log(p**2 / q + (1 - p) ** 2 / (1 - q)) / 2  # D_2 / 2
    assert float(rho_between(p, q)) >= max(kl, second) - 1e-12
    assert float(rho_between(p, q)) <= kl * 1.2
    assert float(rho_between(low[4], high[28])) == 0.0


@pytest.mark.parametrize("mu", [1.0, 3.0])
def test_gaussian_events_never_show_more_than_their_rho_and_mu(mu: float) -> None:
    """With many runs the ends are almost the chances themselves."""
    runs = 30_000
    cuts = np.linspace(-2, 2 + mu, 41)
    more = np.rint(norm.sf(cuts - mu) * runs).astype(int)
    fewer = np.rint(norm.sf(cuts) * runs).astype(int)
    rho = rho_between(*chances(more, fewer, runs, 0.05))
    assert rho.max() <= mu**2 / 2
    assert rho.max() >= 0.5 * mu**2 / 2
    bound = Limit("mu").bound(*chances(more, fewer, runs, 0.05))
    assert bound.max() <= mu
    assert bound.max() == pytest.approx(mu, abs=0.1)


@pytest.mark.parametrize(("epsilon", "delta"), [(0.5, 1e-2), (1.0, 1e-6), (8.0, 1e-9)])
def test_gaussian_mu_by_integration(epsilon: float, delta: float) -> None:
    mu = gaussian_mu(epsilon, delta)

    def excess(x: float) -> float:
        return max(float(norm.pdf(x - mu)) - math.exp(epsilon) * float(norm.pdf(x)), 0.0)

    start = epsilon / mu + mu / 2  # where the two densities cross
    assert quad(excess, start, start + 12, epsabs=1e-14)[0] == pytest.approx(delta, rel=1e-3)
