"""Both sources of release noise have the distributions that they name."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import chisquare

from copula_shirley.errors import SettingError
from copula_shirley.privacy.noise import ReleaseNoise, SecureNoise, SeededNoise, noise_of

#: The secure source has no seed: its tests may fail by chance once in a million runs.
CHANCE = 1e-6


@pytest.fixture(params=["secure", "seeded"])
def source(request: pytest.FixtureRequest) -> ReleaseNoise:
    return SecureNoise() if request.param == "secure" else SeededNoise(np.random.default_rng(3))


def fits(drawn: np.ndarray, weight: np.ndarray, reach: int) -> bool:
    """Whether whole numbers follow weights on -reach .. reach; the tails are one cell."""
    cells = np.clip(drawn, -reach, reach) + reach
    counts = np.bincount(cells, minlength=2 * reach + 1)
    wide = np.arange(-40 * reach, 40 * reach + 1)
    mass = weight(wide) / weight(wide).sum()
    expected = np.bincount(np.clip(wide, -reach, reach) + reach, mass)
    return chisquare(counts, expected * len(drawn)).pvalue > CHANCE


def test_gaussian_noise_is_the_discrete_gaussian(source: ReleaseNoise) -> None:
    drawn = source.gaussian(np.full(4000, 7), sigma=1.5) - 7
    assert fits(drawn, lambda k: np.exp(-(k**2) / (2 * 1.5**2)), 4)


def test_laplace_noise_is_the_discrete_laplace(source: ReleaseNoise) -> None:
    drawn = source.laplace(np.full(4000, -3), scale=1.2) + 3
    assert fits(drawn, lambda k: np.exp(-np.abs(k) / 1.2), 4)


def test_the_choice_is_the_exponential_mechanism(source: ReleaseNoise) -> None:
    scores = np.array([0.0, 1.0, 2.5])
    picked = [source.choose(scores, scale=1.5) for _ in range(3000)]
    chances = np.exp(scores / 1.5) / np.exp(scores / 1.5).sum()
    assert chisquare(np.bincount(picked, minlength=3), 3000 * chances).pvalue > CHANCE


def test_shapes_and_whole_numbers_survive(source: ReleaseNoise) -> None:
    for noisy in (
        source.gaussian(np.zeros((2, 3), int), 2.0),
        source.laplace(np.zeros((0,), int), 2.0),
    ):
        assert noisy.dtype == np.int64
    assert source.gaussian(np.zeros((2, 3), int), 2.0).shape == (2, 3)


def test_a_seed_repeats_and_is_said() -> None:
    a, b = (noise_of(np.random.default_rng(1)).gaussian(np.arange(50), 9.0) for _ in range(2))
    assert np.array_equal(a, b)
    assert noise_of(np.random.default_rng(1)).seeded and not noise_of(None).seeded
    assert "not for release" in SeededNoise.label and "operating system" in SecureNoise().label


def test_large_scales_keep_their_spread() -> None:
    noise = SeededNoise(np.random.default_rng(0))
    drawn = noise.gaussian(np.zeros(20_000, int), 1e6)
    assert drawn.std() == pytest.approx(1e6, rel=0.03)  # six standard errors


@pytest.mark.parametrize("scale", [0.0, -1.0, float("inf"), float("nan")])
def test_impossible_scales_are_refused(source: ReleaseNoise, scale: float) -> None:
    with pytest.raises(SettingError, match="noise scale"):
        source.gaussian(np.zeros(1, int), scale)
