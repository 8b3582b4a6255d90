"""Both sources of release noise have the distributions that they name."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import chisquare

from copula_shirley.errors import SettingError
from copula_shirley.privacy.noise import NoiseSource, SecureNoise, SeededNoise

#: The secure source has no seed: its tests may fail by chance once in a million runs.
CHANCE = 1e-6


@pytest.fixture(params=["secure", "seeded"])
def source(request: pytest.FixtureRequest) -> NoiseSource:
    return SecureNoise() if request.param == "secure" else SeededNoise(np.random.default_rng(3))


def fits(drawn: np.ndarray, weight: np.ndarray, reach: int) -> bool:
    """Whether whole numbers follow weights on -reach .. reach; the tails are one cell."""
    cells = np.clip(drawn, -reach, reach) + reach
    counts = np.bincount(cells, minlength=2 * reach + 1)
    wide = np.arange(-40 * reach, 40 * reach + 1)
    mass = weight(wide) / weight(wide).sum()
    expected = np.bincount(np.clip(wide, -reach, reach) + reach, mass)
    return chisquare(counts, expected * len(drawn)).pvalue > CHANCE


def test_gaussian_noise_is_the_discrete_gaussian(source: NoiseSource) -> None:
    drawn = source.gaussian(np.full(4000, 7), 1.5) - 7
    assert fits(drawn, lambda k: np.exp(-(k**2) / (2 * 1.5**2)), 4)


def test_laplace_noise_is_the_discrete_laplace(source: NoiseSource) -> None:
    drawn = source.laplace(np.full(4000, -3), 1.2) + 3
    assert fits(drawn, lambda k: np.exp(-np.abs(k) / 1.2), 4)


def test_the_choice_is_the_exponential_mechanism(source: NoiseSource) -> None:
    scores = np.array([0, 1, 3])
    picked = [source.choose(scores, 1.5) for _ in range(3000)]
    chances = np.exp(scores / 1.5) / np.exp(scores / 1.5).sum()
    assert chisquare(np.bincount(picked, minlength=3), 3000 * chances).pvalue > CHANCE


def test_shapes_and_whole_numbers_survive(source: NoiseSource) -> None:
    for noisy in (
        source.gaussian(np.zeros((2, 3), int), 2.0),
        source.laplace(np.zeros((0,), int), 2.0),
    ):
        assert noisy.dtype == np.int64
    assert source.gaussian(np.zeros((2, 3), int), 2.0).shape == (2, 3)


def test_a_seed_repeats_and_is_said() -> None:
    a, b = (SeededNoise(np.random.default_rng(1)).gaussian(np.arange(50), 9.0) for _ in range(2))
    assert np.array_equal(a, b)
    exact, seeded = SecureNoise().facts, SeededNoise.facts
    assert exact.for_release and "operating system" in str(exact)
    assert seeded.seeded and not seeded.for_release and "not for release" in str(seeded)


def test_a_category_is_released_from_its_threshold_on(source: NoiseSource) -> None:
    tally = {("str", "many"): 900, ("str", "few"): 2, ("missing", None): 1}
    ((noisy, labels),) = source.discover([tally], 1.0, 400, gaussian=True)
    assert labels == ["many"] and len(noisy) == 2 and abs(noisy[0] - 900) < 50


def test_large_scales_keep_their_spread() -> None:
    noise = SeededNoise(np.random.default_rng(0))
    drawn = noise.gaussian(np.zeros(20_000, int), 1e6)
    assert drawn.std() == pytest.approx(1e6, rel=0.03)  # six standard errors


@pytest.mark.parametrize("scale", [0.0, -1.0, float("inf"), float("nan")])
def test_impossible_scales_are_refused(source: NoiseSource, scale: float) -> None:
    with pytest.raises(SettingError, match="noise scale"):
        source.gaussian(np.zeros(1, int), scale)
