"""Reconstruction of a histogram from randomised reports."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from copula_shirley.local.reconstruction import reconstructed, smoothed


def likelihood(counts: np.ndarray, channel: np.ndarray, shares: np.ndarray) -> float:
    return float(counts @ np.log(np.maximum(channel @ shares, 1e-300)))


def test_one_step_by_hand() -> None:
    # from 1/2 and 1/2, report 0 comes from cell 0 with .8 / (.8 + .4) = 2/3, report 1 with .2 / .8
    channel = np.array([[0.8, 0.4], [0.2, 0.6]])
    found = reconstructed([3, 1], channel, steps=1)
    assert found == pytest.approx([(3 * 2 / 3 + 1 / 4) / 4, (3 / 3 + 3 / 4) / 4])


def test_reports_that_are_expected_bring_back_the_law() -> None:
    rng = np.random.default_rng(0)
    channel = np.eye(6) + 0.3 * rng.random((6, 6))
    channel /= channel.sum(axis=0)
    law = rng.dirichlet(np.ones(6))
    found = reconstructed(1e6 * channel @ law, channel, steps=5000, tolerance=0)
    assert found == pytest.approx(law, abs=1e-6)


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 2**30))
def test_the_likelihood_rises_to_its_maximum(seed: int) -> None:
    rng = np.random.default_rng(seed)
    channel = rng.dirichlet(np.ones(5), size=4).T
    counts = rng.integers(0, 50, 5).astype(float) + 1
    values = [likelihood(counts, channel, reconstructed(counts, channel, steps=n, tolerance=0))
              for n in (1, 2, 5, 20, 3000)]  # fmt: skip
    assert np.diff(values).min() >= -1e-9

    def cost(free: np.ndarray) -> float:
        weights = np.exp(free - free.max())
        return -likelihood(counts, channel, weights / weights.sum())

    best = min(minimize(cost, rng.normal(size=4)).fun for _ in range(3))
    assert values[-1] >= -best - 1e-2


def test_shares_stay_shares() -> None:
    rng = np.random.default_rng(1)
    channel = rng.dirichlet(np.ones(30), size=20).T
    for smoothing in (False, True):
        found = reconstructed(rng.poisson(3, 30), channel, smoothing=smoothing)
        assert found.min() >= 0 and found.sum() == pytest.approx(1)
    assert reconstructed(np.zeros(30), channel).tolist() == [1 / 20] * 20
    law = rng.dirichlet(np.ones(7))
    assert smoothed(law).sum() == pytest.approx(1)
    # a report that no value explains is left out of the account
    assert reconstructed([5, 5], np.array([[1.0, 1.0], [0.0, 0.0]])).sum() == pytest.approx(1)


def test_it_stops_when_steps_cannot_be_told_apart() -> None:
    channel = np.array([[0.75, 0.25], [0.25, 0.75]])
    early = reconstructed([60, 40], channel, tolerance=10.0)
    assert early == pytest.approx(reconstructed([60, 40], channel, steps=1))
