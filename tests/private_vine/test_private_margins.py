from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from copula_shirley import Column
from copula_shirley.private_vine.margins import (
    combined,
    groups_of,
    smooth,
    to_simplex,
)
from copula_shirley.private_vine.reweighting import NoisyTable, pick, reweight


@given(
    st.lists(st.floats(-1e3, 1e3), min_size=1, max_size=20),
    st.floats(0.1, 1e3),
    st.lists(st.floats(0.1, 10), min_size=20, max_size=20),
)
def test_a_cell_moves_the_more_the_noisier_it_is(
    values: list[float], total: float, noise: list[float]
) -> None:
    """The conditions of Karush, Kuhn and Tucker for the nearest point of the simplex."""
    variance = np.array(noise[: len(values)])
    found = to_simplex(np.array(values), total, variance)
    assert (found >= 0).all() and found.sum() == pytest.approx(total)
    price = (np.array(values) - found) / variance
    inner = found > 1e-9
    assert price[inner] == pytest.approx(price[inner].mean(), abs=1e-6)
    assert (price[~inner] <= price[inner].mean() + 1e-6).all()


def test_a_total_that_rounding_hides() -> None:
    found = to_simplex(np.array([1e6, 3.0, -2.0]), 1e-13)
    assert (found >= 0).all() and found.sum() < 1e-9


def test_counts_that_are_measured_twice_have_the_noise_of_both() -> None:
    found, variance = combined(
        np.array([10.0, 0.0]), np.array([4.0, 1.0]), np.array([20.0, 4]), 2.0
    )
    assert found.tolist() == [15.0, 0.8] and variance.tolist() == [2.0, 0.8]
    exact, nothing = combined(np.array([1.0]), np.array([4.0]), np.array([3.0]), 0.0)
    assert exact == pytest.approx(3) and nothing == pytest.approx(0)


# -- smoothing and groups ---------------------------------------------------------------


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


@pytest.mark.parametrize("width", ["even", "uneven"])
def test_smoothing_of_many_cells_is_as_good_as_the_best_pieces(
    width: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Steps, a heap and a bump: nearly what the exact pieces give, from dyadic ones."""
    rng = np.random.default_rng(1)
    x = np.arange(1500)
    widths = rng.uniform(0.5, 1.5, 1500) if width == "uneven" else np.ones(1500)
    truth = np.where(x > 701, 40.0, 5.0) + 60 * np.exp(-(((x - 300) / 40) ** 2))
    truth[1001] = 400.0
    noisy = widths * truth + rng.normal(0, 8, 1500)
    alone = x == 0
    exact = smooth(noisy, widths, alone, 8.0)
    monkeypatch.setattr("copula_shirley.private_vine.margins.MOST_EXACT", 200)
    found = smooth(noisy, widths, alone, 8.0)
    off, best, raw = (np.abs(own - widths * truth).mean() for own in (found, exact, noisy))
    assert off < 1.5 * best < 0.4 * raw
    assert found[0] == pytest.approx(noisy[0]) and found[1001] == pytest.approx(noisy[1001])
    assert found.sum() == pytest.approx(exact.sum(), rel=0.01)
    # more pieces than can be put together again stay dyadic
    jumps = np.where(x % 4 < 2, 500.0, 0.0)
    assert (
        np.abs(smooth(jumps + rng.normal(0, 8, 1500), np.ones(1500), alone, 8.0) - jumps).mean() < 8
    )


def test_groups_by_hand() -> None:
    numbers = Column("x", "integer", minimum=0, maximum=9)
    mass = np.array([0.5, 0.05, 0.05, 0.05, 0.05, 0.06, 0.06, 0.06, 0.06, 0.06])
    groups = groups_of(numbers, mass, 4, 0.0)
    assert groups[0] == 0 and (groups[1:] > 0).all()  # a heap stays alone
    assert np.bincount(groups, mass)[1:] == pytest.approx(1 / 6, abs=0.05)
    jobs = Column("x", "categorical", categories=tuple("abcd"))
    assert groups_of(jobs, np.array([0.5, 0.01, 0.48, 0.01]), 4, 0.05).tolist() == [0, 2, 1, 2]


def test_reweighting_without_noise_rakes_to_the_tables() -> None:
    cells = [np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1])]
    targets = [
        NoisyTable((0,), (2,), np.array([30.0, 70.0]), np.zeros(2)),
        NoisyTable((1,), (2,), np.array([60.0, 40.0]), np.zeros(2)),
    ]
    weights, _ = reweight(cells, targets, np.full(4, 25.0), kappa=1.0, sweeps=50)
    assert np.bincount(cells[0], weights) == pytest.approx([30, 70])
    assert np.bincount(cells[1], weights) == pytest.approx([60, 40])


def test_reweighting_trusts_noisy_tables_less() -> None:
    cells = [np.array([0, 1])]
    drawn = np.array([50.0, 50.0])
    counts = np.array([90.0, 10.0])
    tables = [NoisyTable((0,), (2,), counts, np.full(2, s)) for s in (1.0, 10.0, 1000.0)]
    results = [reweight(cells, [table], drawn, 1.0, 20)[0][0] for table in tables]
    assert results == sorted(results, reverse=True)
    assert results[0] == pytest.approx(90, abs=1) and results[2] == pytest.approx(50, abs=0.1)


@given(st.lists(st.floats(0.01, 10), min_size=1, max_size=20), st.integers(0, 200))
def test_a_systematic_sample_hits_every_weight(weights: list[float], n: int) -> None:
    order = np.arange(len(weights))
    kept = pick(np.array(weights), order, n, np.random.default_rng(0))
    counts = np.bincount(kept, minlength=len(weights)) if n else np.zeros(len(weights))
    expected = np.array(weights) / sum(weights) * n
    assert (np.abs(counts - expected) <= 1 + 1e-9).all()
