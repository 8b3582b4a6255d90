"""Discrete Gaussian noise against the curve of Gaussian differential privacy, by brute force."""

from __future__ import annotations

import math
from functools import reduce

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import logsumexp, ndtri_exp
from scipy.stats import norm

from copula_shirley.errors import SettingError
from copula_shirley.measure.calibration import Calibration
from copula_shirley.measure.curator import Curator
from copula_shirley.privacy.gdp import discrete_scale, log_delta, pays, unit_mu
from copula_shirley.privacy.ledger import Budget, Ledger, Sensitivity
from copula_shirley.privacy.meaning import most_true_positives
from copula_shirley.privacy.noise import SeededNoise
from copula_shirley.privacy.zcdp import epsilon_of, rho_of

#: Parameters of discrete Gaussian noises that one row changes by 1 each, delta, and epsilon by
#: dp-accounting 0.6.0; ``test_the_table_is_that_of_dp_accounting`` makes it again.
DP_ACCOUNTING = (
    ((10.0,), 1e-9, 0.534762),
    ((1.5,), 1e-6, 3.130126),
    ((4.0,) * 10, 1e-9, 4.771739),
    ((3.0, 5.0, 9.0, 20.0), 1e-5, 1.586814),
    ((30.0,) * 40, 1e-9, 1.166764),
)


def losses(sigma: float, v: int = 1) -> dict[float, float]:
    """The privacy loss of a count that changes by v under noise of sigma, and its chances."""
    k = np.arange(-math.ceil(14 * sigma) - v, math.ceil(14 * sigma) + v + 1)
    chance = np.exp(-(k**2) / (2 * sigma**2))
    return dict(zip((2 * k * v + v * v) / (2 * sigma**2), chance / chance.sum(), strict=True))


def composed(one: dict[float, float], other: dict[float, float]) -> dict[float, float]:
    found: dict[float, float] = {}
    for loss, chance in one.items():
        for more, also in other.items():
            key = round(loss + more, 9)
            found[key] = found.get(key, 0.0) + chance * also
    return found


def true_delta(distribution: dict[float, float], epsilon: float) -> float:
    """The delta of a privacy loss distribution: the mean of (1 - e^(epsilon - loss))^+."""
    return math.fsum(
        -math.expm1(epsilon - loss) * chance
        for loss, chance in distribution.items()
        if loss > epsilon
    )


# -- the lemma ---------------------------------------------------------------------------


@pytest.mark.parametrize("sigma", [0.578, 0.6, 0.7, 0.85, 1.0, 1.3, 2.0, 3.7, 10.0, 41.5, 150.0])
def test_quantiles_of_the_noise_are_nowhere_further_apart_than_mu(sigma: float) -> None:
    k = np.arange(-math.ceil(41 * sigma), math.ceil(41 * sigma) + 1)
    logs = -(k**2) / (2 * sigma**2)
    tails = np.logaddexp.accumulate((logs - logsumexp(logs))[::-1])[::-1]  # P(Z >= k)
    h = -ndtri_exp(tails[(k >= 1) & (k < 38 * sigma)])
    apart = np.array([2 * h[0], *np.diff(h)])  # h(0) = -h(1)
    assert apart.max() <= unit_mu(sigma) * (1 + 1e-9)
    # 1 / sigma is not enough, and what is claimed is not much more than what is needed
    assert apart[0] > 1 / sigma
    if sigma >= 1:
        assert unit_mu(sigma) < 1.004 * apart.max()


@given(st.floats(1e-7, math.sqrt(6)))
def test_scale_and_mu_are_inverse(mu: float) -> None:
    assert unit_mu(discrete_scale(mu)) == pytest.approx(mu, rel=1e-7)
    assert discrete_scale(mu) >= 1 / mu


def test_no_mu_is_told_of_too_little_noise() -> None:
    assert unit_mu(0.5) == math.inf
    # the scale for more than the lemma covers is its last one, which is more noise and no less
    assert discrete_scale(100.0) == discrete_scale(math.sqrt(6))


# -- against exact privacy losses ----------------------------------------------------------

NOISES: dict[str, list[tuple[float, int]]] = {
    "one row, one table": [(1.0, 1)],
    "little noise": [(0.6, 1)],
    "much noise": [(12.0, 1)],
    "a row is replaced": [(2.0, 1), (2.0, 1)],
    "three rows in one cell": [(3.0, 3)],
    "three rows in three cells": [(3.0, 1)] * 3,
    "five rows in two cells": [(4.0, 3), (4.0, 2)],
    "questions of different noise": [(1.3, 1), (2.7, 2)],
    "many tables": [(2.5, 1)] * 7,
}


@pytest.mark.parametrize("name", NOISES)
def test_delta_of_discrete_noise_is_below_the_gaussian_curve(name: str) -> None:
    noises = NOISES[name]
    found = reduce(composed, (losses(sigma, v) for sigma, v in noises))
    rho = sum((v * unit_mu(sigma)) ** 2 for sigma, v in noises) / 2
    steps = [0.0, *sorted(found)] + [loss * 1.001 for loss in sorted(found) if loss > 0]
    near = [e for e in steps if 0 <= e <= rho + 8 * math.sqrt(2 * rho)]
    for epsilon in near[:: max(1, len(near) // 200)]:
        assert true_delta(found, epsilon) <= math.exp(log_delta(rho, epsilon)) * (1 + 1e-6) + 1e-13


def test_without_the_correction_the_gaussian_curve_would_be_passed() -> None:
    """Discrete noise of sigma is not (1 / sigma)-GDP."""
    found = losses(1.0)
    curve = [(true_delta(found, e), math.exp(log_delta(0.5, e))) for e in np.linspace(0, 3, 61)]
    assert any(true > 1.01 * claimed for true, claimed in curve)


@pytest.mark.parametrize(("sigmas", "delta", "theirs"), DP_ACCOUNTING)
def test_epsilon_is_just_above_that_of_dp_accounting(
    sigmas: tuple[float, ...], delta: float, theirs: float
) -> None:
    """Non-adaptive composition of fixed noises by numbers, which ours bounds for adaptive ones."""
    ours = epsilon_of(sum(unit_mu(sigma) ** 2 for sigma in sigmas) / 2, delta, gdp=True)
    assert theirs <= ours <= theirs * (1.005 if min(sigmas) > 2 else 1.015)
    zcdp = epsilon_of(sum(1 / (2 * sigma**2) for sigma in sigmas), delta)
    assert zcdp > 1.045 * ours


@pytest.mark.slow
@pytest.mark.parametrize(("sigmas", "delta", "theirs"), DP_ACCOUNTING)
def test_the_table_is_that_of_dp_accounting(
    sigmas: tuple[float, ...], delta: float, theirs: float
) -> None:
    pld = pytest.importorskip("dp_accounting.pld.privacy_loss_distribution")
    step = {"value_discretization_interval": 1e-5, "use_connect_dots": True}
    parts = [pld.from_discrete_gaussian_mechanism(sigma, **step) for sigma in sigmas]
    total = reduce(lambda one, other: one.compose(other), parts)
    assert total.get_epsilon_for_delta(delta) == pytest.approx(theirs, rel=1e-5)


# -- conversions ---------------------------------------------------------------------------


@given(st.floats(1e-5, 100.0), st.floats(1e-30, 0.3))
def test_rho_and_epsilon_are_inverse_and_tighter_than_zcdp(epsilon: float, delta: float) -> None:
    rho = rho_of(epsilon, delta, gdp=True)
    assert log_delta(rho, epsilon) <= math.log(delta)
    assert epsilon_of(rho, delta, gdp=True) == pytest.approx(epsilon, rel=1e-8)
    assert rho >= rho_of(epsilon, delta)


@pytest.mark.parametrize("mu", [0.05, 0.3, 1.0, 4.0])
@pytest.mark.parametrize("epsilon", [0.0, 0.1, 1.0, 5.0])
def test_delta_is_that_of_balle_and_wang(mu: float, epsilon: float) -> None:
    direct = norm.cdf(mu / 2 - epsilon / mu) - math.exp(epsilon) * norm.cdf(-mu / 2 - epsilon / mu)
    assert math.exp(log_delta(mu * mu / 2, epsilon)) == pytest.approx(direct, rel=1e-9, abs=1e-15)


@pytest.mark.parametrize("failing", [0.0, 1e-3])
def test_the_best_attacker_follows_the_curve(failing: float) -> None:
    found = [most_true_positives(f, 9.0, 0.1, rho=0.5, failing=failing, gdp=True) for f in (0, 0.1)]
    assert found[0] == pytest.approx(failing)
    most = norm.cdf(norm.ppf(0.1 / (1 - failing)) + 1) + failing
    assert found[1] == pytest.approx(most)
    assert most < most_true_positives(0.1, 9.0, 0.1, rho=0.5, failing=failing)


# -- ledgers ---------------------------------------------------------------------------------


def ledger(**more: object) -> Ledger:
    return Ledger(Budget(1.0, 1e-9), neighbours="add-remove", zcdp=True, **more)  # type: ignore[arg-type]


def test_a_ledger_tells_both_accounts_and_older_ones_are_read() -> None:
    told = ledger(gdp=True)
    rho = rho_of(1.0, 1e-9, gdp=True)
    told.charge_rho("margins", "age", "discrete gaussian", rho)
    assert told.spent.epsilon == pytest.approx(1.0, rel=1e-9) and told.proved == told.spent
    other = told.by_zcdp
    assert other is not None and other.epsilon == pytest.approx(epsilon_of(rho, 1e-9))
    assert 1.04 < other.epsilon < 1.06
    assert f"by zCDP    {other}" in str(told)
    entry = told.to_dict()
    assert entry["by_zcdp"]["epsilon"] == other.epsilon
    assert Ledger.from_dict(entry).to_dict() == entry
    # a ledger that knows nothing of it is written and read as before: its noise was not made for it
    older = ledger()
    older.charge_rho("margins", "age", "discrete gaussian", rho_of(1.0, 1e-9))
    assert not {"gdp", "by_zcdp"} & older.to_dict().keys() and older.by_zcdp is None
    assert not Ledger.from_dict(older.to_dict()).gdp


def test_what_is_not_gaussian_is_not_counted_in_gdp() -> None:
    for mechanism in ("exponential", "discrete laplace"):
        with pytest.raises(SettingError, match=r"must be 'discrete gaussian'"):
            ledger(gdp=True).charge_rho("choice", "tree", mechanism, 1e-3)
    entry = ledger().to_dict() | {"gdp": True}
    entry["spends"] = [
        {"stage": "choice", "what": "tree", "mechanism": "exponential", "rows": "all rows"}
        | {"epsilon": 0.0, "delta": 0.0, "rho": 1e-3}
    ]
    with pytest.raises(SettingError, match=r"must be 'discrete gaussian'"):
        Ledger.from_dict(entry)
    with pytest.raises(SettingError, match="gdp"):
        Ledger(Budget(1.0), gdp=True)


def test_noise_and_ledger_count_alike() -> None:
    for gdp in (False, True):
        noise = Calibration(Budget(1.0, 1e-9), Sensitivity(1.0, 1.0), gdp=gdp)
        with pytest.raises(SettingError, match="rho of GDP"):
            Curator(None, ledger(gdp=not gdp), SeededNoise(np.random.default_rng(0)), noise)


def test_a_large_budget_stays_in_zcdp() -> None:
    one, two = Sensitivity(1.0, 1.0), Sensitivity(2.0, 2.0)
    for epsilon, unit, gdp in ((8.0, one, True), (12.0, one, False), (12.0, two, True)):
        rho, other = (rho_of(epsilon, 1e-9, gdp=gdp) for gdp in (True, False))
        assert pays(rho, other, unit) == gdp
        scales = [
            Calibration(Budget(epsilon, 1e-9), unit, gdp=gdp).scale(0.5, 1) for gdp in (True, False)
        ]
        assert (scales[0] <= scales[1]) == gdp


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 8.0])
@pytest.mark.parametrize("count", [1, 7, 100])
def test_the_same_promise_needs_less_noise(epsilon: float, count: int) -> None:
    budget, unit = Budget(epsilon, 1e-9), Sensitivity(1.0, 1.0)
    scales = [Calibration(budget, unit, gdp=gdp).scale(0.45, count) for gdp in (True, False)]
    assert 0.94 < scales[0] / scales[1] < (0.97 if count > 1 else 0.99)
