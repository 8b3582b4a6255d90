from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm

from copula_shirley import SettingError
from copula_shirley.privacy.ledger import Sensitivity, histogram_sensitivity
from copula_shirley.privacy.mechanisms import MECHANISMS, DiffprivlibNoise

ZEROS = np.zeros(4000, dtype=np.int64)


def draws(mechanism: str, epsilon: float, sensitivity: Sensitivity, seed: int = 0) -> np.ndarray:
    noise = DiffprivlibNoise(np.random.default_rng(seed))
    return noise.add(
        ZEROS, mechanism=mechanism, epsilon=epsilon, delta=1e-3, sensitivity=sensitivity
    )


@pytest.mark.parametrize("neighbours", ["replace-one", "add-remove"])
@pytest.mark.parametrize("rows", [1, 5])
def test_laplace_has_the_scale_of_its_sensitivity(neighbours: str, rows: int) -> None:
    sensitivity = histogram_sensitivity(neighbours, rows)
    # E|X| of Laplace(b) is b, with standard error b/sqrt(4000) = 1.6 %; 5 standard errors
    scale = np.abs(draws("laplace", 0.5, sensitivity)).mean()
    assert scale == pytest.approx(sensitivity.l1 / 0.5, rel=0.08)


@pytest.mark.parametrize("neighbours", ["replace-one", "add-remove"])
def test_geometric_has_the_variance_of_its_sensitivity(neighbours: str) -> None:
    sensitivity = histogram_sensitivity(neighbours)
    noise = draws("geometric", 0.5, sensitivity)
    alpha = np.exp(-0.5 / sensitivity.l1)
    assert np.all(noise == np.round(noise))
    # the variance of 4,000 draws has a relative standard error of sqrt(5/4000) = 3.5 %
    assert noise.var() == pytest.approx(2 * alpha / (1 - alpha) ** 2, rel=0.18)


def test_gaussian_has_the_analytic_scale() -> None:
    """Balle and Wang 2018, theorem 8: sigma solves the exact privacy condition."""
    sensitivity = histogram_sensitivity("replace-one")
    sigma = draws("gaussian", 1.0, sensitivity).std()
    ratio = sensitivity.l2 / sigma
    delta = norm.cdf(ratio / 2 - 1 / ratio) - np.e * norm.cdf(-ratio / 2 - 1 / ratio)
    # sigma is known to 1.1 % from 4,000 draws; delta falls by some 10 % per 1 % of sigma
    assert delta == pytest.approx(1e-3, rel=0.5)


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_same_seed_same_noise_and_other_seed_other_noise(mechanism: str) -> None:
    sensitivity = histogram_sensitivity("replace-one")
    assert np.array_equal(draws(mechanism, 1.0, sensitivity), draws(mechanism, 1.0, sensitivity))
    assert not np.array_equal(
        draws(mechanism, 1.0, sensitivity), draws(mechanism, 1.0, sensitivity, seed=1)
    )


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_without_a_seed_two_sources_differ(mechanism: str) -> None:
    def noise() -> np.ndarray:
        return DiffprivlibNoise(None).add(
            ZEROS[:50],
            mechanism=mechanism,
            epsilon=0.01,
            delta=1e-3,
            sensitivity=Sensitivity(2.0, 1.5),
        )

    assert not np.array_equal(noise(), noise())


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_epsilon_to_infinity_gives_the_counts(mechanism: str) -> None:
    counts = np.array([0, 3, 1000])
    noise = DiffprivlibNoise(np.random.default_rng(0))
    sensitivity = histogram_sensitivity("replace-one")
    got = noise.add(counts, mechanism=mechanism, epsilon=1e12, delta=1e-3, sensitivity=sensitivity)
    # the Gaussian is calibrated at epsilon 500, where sigma is still about .05
    assert got == pytest.approx(counts, abs=0.3 if mechanism == "gaussian" else 1e-6)


def test_seeded_noise_says_so() -> None:
    assert "not for release" in DiffprivlibNoise(np.random.default_rng(0)).label
    assert "operating system" in DiffprivlibNoise(None).label


@pytest.mark.parametrize(
    ("mechanism", "epsilon", "delta", "named"),
    [
        ("exponential", 1.0, 0.0, "mechanism"),
        ("gaussian", 1.0, 0.0, "delta"),
        ("gaussian", 1.0, 1e-12, "delta"),
        ("laplace", 0.0, 0.0, "epsilon"),
        ("laplace", float("nan"), 0.0, "epsilon"),
        ("laplace", 1.0, 1.5, "delta"),
    ],
)
def test_bad_settings_are_refused(mechanism: str, epsilon: float, delta: float, named: str) -> None:
    noise = DiffprivlibNoise(None)
    with pytest.raises(SettingError, match=named):
        noise.add(
            ZEROS,
            mechanism=mechanism,
            epsilon=epsilon,
            delta=delta,
            sensitivity=Sensitivity(1.0, 1.0),
        )
