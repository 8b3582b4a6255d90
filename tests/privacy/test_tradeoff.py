"""The best any attacker can do, against closed forms and exact curves."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm

from copula_shirley import SettingError
from copula_shirley.privacy.meaning import FALSE_POSITIVES, most_true_positives
from copula_shirley.privacy.zcdp import epsilon_of

RATES = st.floats(0, 1)
EPSILONS = st.floats(0, 12)
RHOS = st.floats(1e-6, 8)


def test_closed_forms() -> None:
    e = math.e
    assert most_true_positives(0.01, 1.0) == pytest.approx(0.01 * e)
    assert most_true_positives(0.5, 1.0) == pytest.approx(1 - 0.5 / e)
    # both sides meet where f = 1 / (1 + e^epsilon): randomised response
    assert most_true_positives(1 / (1 + e), 1.0) == pytest.approx(e / (1 + e))
    assert most_true_positives(0.0, 3.0, 0.125) == 0.125
    assert most_true_positives(0.25, 0.0, 0.125) == 0.375
    assert most_true_positives(0.01, math.log(2), 0.1) == pytest.approx(0.12)
    assert most_true_positives(1.0, 1.0) == most_true_positives(0.3, 1e15) == 1.0
    assert most_true_positives(0.3, 0.0) == 0.3


@given(EPSILONS, st.integers(1, 9))
def test_randomised_response_is_never_above(epsilon: float, tenth: int) -> None:
    """A mechanism that is exactly epsilon-DP, with an attacker who mixes its two answers."""
    keep = 1 / (1 + math.exp(-epsilon))
    mix = tenth / 10
    said_yes, said_no = mix, mix / 2  # chances of guessing yes on either answer
    true = keep * said_yes + (1 - keep) * said_no
    false = (1 - keep) * said_yes + keep * said_no
    assert true <= most_true_positives(false, epsilon) + 1e-12


@given(RATES, RATES, EPSILONS, RHOS)
def test_more_false_positives_allow_more_true_ones(
    one: float, other: float, epsilon: float, rho: float
) -> None:
    low, high = sorted((one, other))
    for costs in ({"rho": 0.0}, {"rho": rho}):
        fewer, more = (most_true_positives(f, epsilon, 1e-6, **costs) for f in (low, high))
        assert fewer <= more + 1e-7  # the search ends within about 1e-8


@given(st.floats(1e-4, 1 - 1e-4), RHOS, st.sampled_from([1e-12, 1e-9, 1e-6, 1e-3]))
def test_zcdp_lies_between_the_gaussian_curve_and_epsilon_delta(
    rate: float, rho: float, delta: float
) -> None:
    """The Gaussian mechanism with mu = sqrt(2 rho) is rho-zCDP, so no bound is below its curve."""
    epsilon = epsilon_of(rho, delta)
    bound = most_true_positives(rate, epsilon, delta, rho=rho)
    gaussian = norm.cdf(norm.ppf(rate) + math.sqrt(2 * rho))
    assert bound >= gaussian - 1e-12
    assert bound <= most_true_positives(rate, epsilon, delta)


@pytest.mark.parametrize("rate", FALSE_POSITIVES)
@pytest.mark.parametrize("rho", [0.001, 0.015, 0.4, 3.0])
def test_no_pair_of_a_fine_grid_is_better(rate: float, rho: float) -> None:
    bound = most_true_positives(rate, 1e3, rho=rho)
    for step in range(1, 120):
        delta = 10 ** (-step / 10)
        assert bound <= most_true_positives(rate, epsilon_of(rho, delta), delta) + 1e-7


def test_the_chance_of_failing_is_added() -> None:
    without = most_true_positives(0.0, 1e3, rho=0.1)
    assert most_true_positives(0.0, 1e3, rho=0.1, failing=1e-3) == pytest.approx(without + 1e-3)
    with pytest.raises(SettingError, match=r"false_positives \(1.5\)"):
        most_true_positives(1.5, 1.0)
