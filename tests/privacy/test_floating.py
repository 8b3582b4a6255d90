"""The thesis' noise: diffprivlib's, of the scale that the sensitivity asks for."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm

from copula_shirley import Budget, SettingError
from copula_shirley.privacy.floating import DiffprivlibNoise
from copula_shirley.privacy.ledger import Sensitivity, histogram_sensitivity
from copula_shirley.thesis.histograms import ThesisCalibration, check_noise

MECHANISMS = ("laplace", "geometric", "gaussian")

ZEROS = np.zeros(4000, dtype=np.int64)


def draws(
    mechanism: str, epsilon: float, sensitivity: Sensitivity, seed: int | None = 0
) -> np.ndarray:
    calibration = ThesisCalibration(Budget(epsilon, 1e-3), sensitivity, mechanism)
    rng = None if seed is None else np.random.default_rng(seed)
    source = DiffprivlibNoise(rng, geometric=mechanism == "geometric")
    draw = source.gaussian if calibration.gaussian else source.laplace
    return draw(ZEROS, calibration.scale(1.0, 1))


@pytest.mark.parametrize("neighbours", ["replace-one", "add-remove"])
@pytest.mark.parametrize("rows", [1, 5])
def test_laplace_and_geometric_have_the_scale_of_their_sensitivity(
    neighbours: str, rows: int
) -> None:
    sensitivity = histogram_sensitivity(neighbours, rows)
    # E|X| of Laplace(b) is b, with standard error b/sqrt(4000) = 1.6 %; 5 standard errors
    scale = np.abs(draws("laplace", 0.5, sensitivity)).mean()
    assert scale == pytest.approx(sensitivity.l1 / 0.5, rel=0.08)
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
def test_seeds_repeat_and_their_absence_does_not(mechanism: str) -> None:
    known = histogram_sensitivity("replace-one")
    first, same, other, free, again = (
        draws(mechanism, 1.0, known, seed) for seed in (0, 0, 1, None, None)
    )
    assert np.array_equal(first, same)
    assert not np.array_equal(first, other) and not np.array_equal(free, again)
    # the Gaussian is calibrated at epsilon 500, where sigma is still about .05
    exact = draws(mechanism, 1e12, known)
    assert exact == pytest.approx(ZEROS, abs=0.3 if mechanism == "gaussian" else 1e-6)


def test_it_says_that_it_is_not_for_release() -> None:
    free, seeded = (DiffprivlibNoise(r).facts for r in (None, np.random.default_rng(0)))
    assert "floating point: not for release" in str(free) and not free.for_release
    assert "seeded: for experiments, not for release" in str(seeded) and seeded.seeded


@pytest.mark.parametrize(
    ("mechanism", "epsilon", "delta", "shared", "named"),
    [
        ("gaussian", 1.0, 0.0, False, "delta"),
        ("gaussian", None, 1e-12, False, "delta"),
        ("gaussian", 1.0, 3e-9, True, "delta"),
        ("gaussian", 1.0, 0.25, False, "delta .* below 0.25 for mechanism 'gaussian' and 4 col"),
        ("laplace", 1.0, 1.5, True, "delta"),
        ("laplace", 3e-9, 0.0, True, "epsilon"),
    ],
)
def test_bad_settings_are_refused(
    mechanism: str, epsilon: float | None, delta: float, shared: bool, named: str
) -> None:
    with pytest.raises(SettingError, match=named):
        check_noise(mechanism, epsilon, delta, 4, shared=shared)
