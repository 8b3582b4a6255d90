from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from copula_shirley.local.coins import Wave
from copula_shirley.local.oracles import Coins, simulated
from copula_shirley.local.square_wave import channel, decoded, half_width, wave_of


def informed(b: float, epsilon: float) -> float:
    """The most nats that reports of a wave of this half width tell about values in [0, 1]."""
    near = 2 * b * math.exp(epsilon)
    return math.log(1 + 2 * b) - math.log(near + 1) + epsilon * near / (near + 1)


@pytest.mark.parametrize("epsilon", [0.2, 1.0, 2.0, 4.0])
def test_the_width_is_the_one_that_tells_most(epsilon: float) -> None:
    best = minimize_scalar(lambda b: -informed(b, epsilon), bounds=(1e-4, 2), method="bounded")
    assert half_width(epsilon) == pytest.approx(best.x, abs=1e-4)


@pytest.mark.parametrize("cells", [2, 7, 30])
@pytest.mark.parametrize("epsilon", [0.01, 1.0, 3.0, 8.0])
def test_the_channel_is_one_and_keeps_its_ratio(cells: int, epsilon: float) -> None:
    one = wave_of(cells, epsilon)
    matrix = channel(one)
    assert matrix.shape == (one.outputs, cells)
    assert matrix.sum(axis=0) == pytest.approx(np.ones(cells))
    assert (matrix.max(axis=1) / matrix.min(axis=1)).max() <= math.exp(epsilon) * (1 + 1e-12)
    for report in range(one.outputs):
        exact = [float(one.probability(report, cell)) for cell in range(cells)]
        assert matrix[report] == pytest.approx(exact)


def test_without_a_width_it_is_randomised_response() -> None:
    assert wave_of(20, 8.0) == Wave.of(20, 8.0)


def test_a_smooth_margin_comes_back_from_few_reports() -> None:
    rng = np.random.default_rng(0)
    true = np.exp(-((np.arange(60) - 30) ** 2) / 200)
    true /= true.sum()
    one = wave_of(60, 1.0)
    tally = simulated(one, rng.choice(60, 50_000, p=true), Coins(rng))
    found = decoded(one, tally)
    assert found.sum() == pytest.approx(1) and 0.5 * np.abs(found - true).sum() < 0.1
    assert 0.5 * np.abs(true - 1 / 60).sum() > 0.3  # an even guess
