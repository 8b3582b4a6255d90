from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from copula_shirley import Column
from copula_shirley.private_vine.margins import (
    Level,
    agree,
    groups_of,
    mass_of,
    ranges_of,
    smooth,
    spread_of,
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


# -- ranges -----------------------------------------------------------------------------


@given(st.integers(1, 1000))
def test_ranges_are_nested_and_about_equal(size: int) -> None:
    found = ranges_of(Column("x", "integer", minimum=0, maximum=size - 1), size)
    assert [int(groups.max()) + 1 for groups in found] == [5, 25] * (size >= 50)
    for groups in found:
        assert (np.diff(groups) >= 0).all() and np.ptp(np.bincount(groups)) <= 1
    if len(found) == 2:
        assert all(len(set(found[0][found[1] == fine])) == 1 for fine in range(25))


def test_columns_without_order_have_no_ranges() -> None:
    names = tuple(f"c{i}" for i in range(80))
    assert ranges_of(Column("x", "categorical", categories=names), 80) == []
    assert len(ranges_of(Column("x", "categorical", categories=names, ordered=True), 80)) == 2


def leveled(truth: np.ndarray, sigmas: tuple[float, ...], seed: int) -> list[Level]:
    rng = np.random.default_rng(seed)
    column = Column("x", "integer", minimum=0, maximum=len(truth) - 1)
    groups = [*ranges_of(column, len(truth)), np.arange(len(truth))]
    return [
        Level(g, np.bincount(g, truth) + rng.normal(0, s, g.max() + 1), s)
        for g, s in zip(groups, sigmas, strict=True)
    ]


def system(levels: list[Level]) -> np.ndarray:
    """The equations of the levels over their noise, and above them one for the known sum."""
    rows = [np.full((1, len(levels[-1].group)), 1e4)]
    for level in levels:
        inside = level.group[None, :] == np.arange(len(level.counts))[:, None]
        rows.append(inside / level.sigma)
    return np.concatenate(rows)


def test_ranges_and_cells_agree_by_least_squares() -> None:
    truth = np.random.default_rng(0).gamma(2, 500, 60)
    levels = leveled(truth, (3.0, 5.0, 10.0), 1)
    answers = [1e4 * truth.sum(), *np.concatenate([lv.counts / lv.sigma for lv in levels])]
    best = np.linalg.lstsq(system(levels), np.array(answers), rcond=None)[0]
    assert agree(levels, float(truth.sum())) == pytest.approx(best, rel=1e-6)


def test_the_noise_of_groups_is_that_of_least_squares() -> None:
    levels = leveled(np.full(100, 500.0), (12.0, 8.0, 10.0), 0)
    groups = np.repeat([0, 1, 2, 3, 4], [1, 6, 33, 20, 40])
    own = np.eye(5)[groups]
    covariance = np.linalg.inv(system(levels).T @ system(levels))
    known = np.sqrt(np.diag(own.T @ covariance @ own))
    assert spread_of(groups, levels, 0.0) == pytest.approx(known, rel=1e-4)
    cells = np.linalg.inv(system(levels[-1:]).T @ system(levels[-1:]))
    alone = np.sqrt(np.diag(own.T @ cells @ own))
    assert spread_of(groups, levels[-1:], 0.0) == pytest.approx(alone, rel=1e-4)
    # a total that is not known well adds to every group in proportion
    for some in (levels, levels[-1:]):
        more = spread_of(groups, some, 30.0) ** 2 - spread_of(groups, some, 0.0) ** 2
        assert more == pytest.approx((np.bincount(groups) * 0.3) ** 2)


def test_exact_counts_stay() -> None:
    truth = np.random.default_rng(0).integers(0, 50, 60).astype(float)
    assert agree(leveled(truth, (0.0, 0.0, 0.0), 1), float(truth.sum())) == pytest.approx(truth)


def test_ranges_keep_a_cumulative_share_near_the_truth() -> None:
    column = Column("x", "integer", minimum=0, maximum=199)
    cells = column.domain.cells()
    truth = np.round(4000 * np.exp(-np.arange(200) / 30) / 30)

    def error(levels: list[Level]) -> float:
        mass = mass_of(column, cells, levels, float(truth.sum()))
        return float(np.abs(np.cumsum(mass) - np.cumsum(truth) / truth.sum()).max())

    # the same budget: 70 % for cells and 15 % for each level of ranges, or all of it for cells
    both = [error(leveled(truth, (15 / 0.15**0.5,) * 2 + (15 / 0.7**0.5,), s)) for s in range(20)]
    cells_only = [error(leveled(truth, (1.0, 1.0, 15.0), s)[-1:]) for s in range(20)]
    assert np.mean(both) < 0.75 * np.mean(cells_only)


def test_a_flat_column_stays_flat() -> None:
    column = Column("x", "integer", minimum=0, maximum=99)
    truth = np.full(100, 100.0)
    errors = []
    for seed in range(20):
        levels = leveled(truth, (80 / 0.15**0.5,) * 2 + (80 / 0.7**0.5,), seed)
        mass = mass_of(column, column.domain.cells(), levels, 10_000.0)
        errors.append(np.abs(mass - 0.01).sum() / 2)
    assert np.mean(errors) < 0.06  # ranges that are taken as they are counted leave .12


# -- smoothing and groups ---------------------------------------------------------------


@pytest.mark.parametrize(
    "bounds",
    [
        {"minimum": -17_592_186_044_415, "maximum": 127, "special": (0,)},
        {"minimum": 0, "maximum": 10**13, "special": (300_000_000_001,)},
        {"minimum": -(10**15), "maximum": 10**15, "special": (-1, 0, 2)},
    ],
)
def test_cells_that_are_far_narrower_than_others(bounds: dict[str, Any]) -> None:
    column = Column("x", "integer", **bounds)
    cells = column.domain.cells()
    place = int(
        np.argmin(np.where(np.isin(cells.first, column.special), np.inf, cells.last - cells.first))
    )
    truth = np.zeros(len(cells.first))
    truth[place] = 400.0
    for seed in range(5):
        mass = mass_of(column, cells, leveled(truth, (2.5, 2.5, 1.0), seed), 400.0)
        assert mass[place] == pytest.approx(1, abs=0.05) and mass.sum() == pytest.approx(1)


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


def test_reweighting_without_noise_rakes_to_the_tables() -> None:
    cells = [np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1])]
    targets = [
        NoisyTable((0,), np.array([30.0, 70.0]), np.zeros(2)),
        NoisyTable((1,), np.array([60.0, 40.0]), np.zeros(2)),
    ]
    weights, _ = reweight(cells, targets, np.full(4, 25.0), kappa=1.0, sweeps=50)
    assert np.bincount(cells[0], weights) == pytest.approx([30, 70])
    assert np.bincount(cells[1], weights) == pytest.approx([60, 40])


def test_reweighting_trusts_noisy_tables_less() -> None:
    cells = [np.array([0, 1])]
    drawn = np.array([50.0, 50.0])
    tables = [NoisyTable((0,), np.array([90.0, 10.0]), np.full(2, s)) for s in (1.0, 10.0, 1000.0)]
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
