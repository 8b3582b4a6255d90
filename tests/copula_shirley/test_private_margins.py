from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from copula_shirley import Column
from copula_shirley.private_margins import groups_of, smooth, to_simplex
from copula_shirley.tilt import Target, pick, tilt


@given(st.lists(st.floats(-1e3, 1e3), min_size=1, max_size=20), st.floats(0.1, 1e3))
def test_the_simplex_is_reached_and_nothing_is_nearer(values: list[float], total: float) -> None:
    found = to_simplex(np.array(values), total)
    assert (found >= 0).all() and found.sum() == pytest.approx(total)
    for i in range(len(values)):  # no vertex lies in the direction of the values
        vertex = np.zeros(len(values))
        vertex[i] = total
        assert (vertex - found) @ (np.array(values) - found) <= 1e-6 * (1 + total) * 1e3


def test_smoothing_finds_the_steps_and_keeps_a_heap() -> None:
    rng = np.random.default_rng(0)
    truth = np.repeat([100.0, 20.0], 30)
    truth[40] = 200.0
    noisy = truth + rng.normal(0, 8, 60)
    alone = np.zeros(60, dtype=bool)
    found = smooth(noisy, np.ones(60), alone, 8.0)
    assert np.abs(found - truth).mean() < 0.4 * np.abs(noisy - truth).mean()
    assert found[40] == pytest.approx(200, abs=30)
    alone[10] = True
    assert smooth(noisy, np.ones(60), alone, 8.0)[10] == pytest.approx(noisy[10])


def test_groups_by_hand() -> None:
    numbers = Column("x", "integer", minimum=0, maximum=9)
    mass = np.array([0.5, 0.05, 0.05, 0.05, 0.05, 0.06, 0.06, 0.06, 0.06, 0.06])
    groups = groups_of(numbers, mass, 4, 0.0)
    assert groups[0] == 0 and (groups[1:] > 0).all()  # a heap stays alone
    assert np.bincount(groups, mass)[1:] == pytest.approx(1 / 6, abs=0.05)
    jobs = Column("x", "categorical", categories=tuple("abcd"))
    assert groups_of(jobs, np.array([0.5, 0.01, 0.48, 0.01]), 4, 0.05).tolist() == [0, 2, 1, 2]


def test_the_tilt_without_noise_rakes_to_the_tables() -> None:
    cells = [np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1])]
    targets = [
        Target((0,), np.array([30.0, 70.0]), np.zeros(2)),
        Target((1,), np.array([60.0, 40.0]), np.zeros(2)),
    ]
    weights, _ = tilt(cells, targets, np.full(4, 25.0), kappa=1.0, sweeps=50)
    assert np.bincount(cells[0], weights) == pytest.approx([30, 70])
    assert np.bincount(cells[1], weights) == pytest.approx([60, 40])


def test_the_tilt_trusts_noisy_tables_less() -> None:
    cells = [np.array([0, 1])]
    drawn = np.array([50.0, 50.0])
    results = [
        tilt(cells, [Target((0,), np.array([90.0, 10.0]), np.full(2, s))], drawn, 1.0, 20)[0][0]
        for s in (1.0, 10.0, 1000.0)
    ]
    assert results == sorted(results, reverse=True)
    assert results[0] == pytest.approx(90, abs=1) and results[2] == pytest.approx(50, abs=0.1)


@given(st.lists(st.floats(0.01, 10), min_size=1, max_size=20), st.integers(0, 200))
def test_a_systematic_sample_hits_every_weight(weights: list[float], n: int) -> None:
    order = np.arange(len(weights))
    kept = pick(np.array(weights), order, n, np.random.default_rng(0))
    counts = np.bincount(kept, minlength=len(weights)) if n else np.zeros(len(weights))
    expected = np.array(weights) / sum(weights) * n
    assert (np.abs(counts - expected) <= 1 + 1e-9).all()
