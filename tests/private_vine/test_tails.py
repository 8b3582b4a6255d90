from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from copula_shirley import Column, PrivateVine, Schema
from copula_shirley.privacy.budget import Sensitivity
from copula_shirley.private_vine.allocation import allocation
from copula_shirley.private_vine.generator import Calibration
from copula_shirley.private_vine.intervals import Intervals
from copula_shirley.private_vine.tails import (
    falling,
    falling_ends,
    geometric,
    octaves,
    shares,
    slopes,
    with_tails,
)
from copula_shirley.schema.domain import FloatArray

SIGMA, CLEAR = 20.0, 100.0


def money(**settings: object) -> Column:
    fields = {"minimum": 0, "maximum": 10**7} | settings
    return Column("x", "integer", **fields)  # type: ignore[arg-type]


def noisy_counts(own: Intervals, true: FloatArray, seed: int) -> FloatArray:
    return true + np.random.default_rng(seed).normal(0, SIGMA, len(own)).round()


def test_octaves_have_the_sign_of_their_numbers() -> None:
    own = Intervals.of(money(minimum=-5, maximum=9, special=(6,), missing=True))
    wide = Intervals.of(money(minimum=-4000, maximum=4000, special=(6,), missing=True))
    assert len(own) == 16 and octaves(own)[0] == 0  # a missing value has no magnitude
    found = dict(zip(wide.low.tolist(), octaves(wide).tolist(), strict=True))
    assert [found[x] for x in (0, 1, 2, 4, 6, 7, 8, 2048)] == [0, 1, 2, 3, 3, 3, 4, 12]
    assert [found[x] for x in (-1, -3, -7, -15)] == [-1, -2, -3, -4]


def test_noise_beyond_the_scale_of_the_data_makes_no_rows() -> None:
    """It moved means by a factor of ten."""
    own = Intervals.of(money())
    true = np.where((own.low >= 64) & (own.low < 1024), 2500.0, 0.0)
    means = []
    for seed in range(20):
        finer, rows = with_tails(own, noisy_counts(own, true, seed), SIGMA, CLEAR, 10_000.0)
        assert rows.sum() == pytest.approx(10_000) and (rows >= 0).all()
        assert rows[finer.low >= 16_384].sum() < 20
        means.append(rows @ (finer.low + finer.high) / 2 / 10_000)
    expected = true @ (own.low + own.high - 1) / 2 / 10_000
    assert np.mean(means) == pytest.approx(expected, rel=0.1)


def test_rows_that_no_octave_shows_alone_are_not_all_lost() -> None:
    """Beyond the scale of one side the other has three times 60 rows, each under the threshold."""
    own = Intervals.of(money(minimum=-2000, maximum=2000, special=tuple(range(-30, 31))))
    true = np.where((own.high <= -31) & (own.low >= -127), 300.0, 0.0)
    true[(own.low >= -30) & (own.low <= 30)] = 100.0
    true[(own.low >= 128) & (own.low < 1024)] = 60.0
    kept = []
    for seed in range(20):
        finer, rows = with_tails(own, noisy_counts(own, true, seed), SIGMA, CLEAR, true.sum())
        assert rows.sum() == pytest.approx(true.sum())
        kept.append(rows[finer.low >= 128].sum())
    assert 110 < np.mean(kept) < 200  # of 180


def test_a_log_normal_tail_is_found_below_the_noise() -> None:
    """Octaves of 60 and 15 rows under noise of 20: the mean is within a tenth."""
    own = Intervals.of(money(maximum=10**8))
    drawn = np.random.default_rng(0).lognormal(6, 1.4, 20_000).round()
    true = np.bincount(own.index(drawn), minlength=len(own)).astype(float)
    means = []
    for seed in range(20):
        finer, rows = with_tails(own, noisy_counts(own, true, seed), SIGMA, CLEAR, 20_000.0)
        means.append(rows @ (finer.low + finer.high) / 2 / 20_000)
    assert np.mean(means) == pytest.approx(drawn.mean(), rel=0.1)
    assert np.std(means) < 0.15 * drawn.mean()


def test_special_values_in_a_tail_keep_their_counts() -> None:
    own = Intervals.of(money(special=(99_999,)))
    true = np.where((own.low >= 64) & (own.low < 1024), 2500.0, 0.0)
    true[own.low == 99_999] = 60.0  # too few to stand out
    finer, rows = with_tails(own, true, SIGMA, CLEAR, 10_060.0)
    assert rows[finer.low == 99_999] == pytest.approx(60, abs=15)


def test_all_counts_stay_where_none_stands_out() -> None:
    own = Intervals.of(money())
    finer, rows = with_tails(own, np.full(len(own), 4.0), SIGMA, CLEAR, 4.0 * len(own))
    assert finer is own and rows == pytest.approx(4)


def test_exact_tails_are_continued() -> None:
    for fall in (0.5, 0.25, 0.1):
        counts = 1e6 * fall ** np.arange(8.0)
        noise = np.where(np.arange(8) < 6, 1.0, 1e9)  # nothing is known of the last two
        assert falling(counts, noise, 4)[:3] == pytest.approx(counts[4:7], rel=0.3)
    assert falling(np.array([40.0, 20, 0, 0]), np.ones(4), 2).sum() < 5


def test_a_density_that_falls_with_the_square_is_cut_so() -> None:
    """Half of the rows between 1024 and 2047 lie below 4 / 3 of 1024."""
    own = Intervals.of(money())
    middle = (own.low + own.high) / 2
    rows = (own.high - own.low) * 1e12 / np.maximum(middle, 0.5) ** 2
    slope = slopes(own, rows)
    place = own.low.tolist().index(1024)
    assert slope[place] == pytest.approx(-2, abs=0.01)
    finer, parent = own.divided(np.where(own.low == 1024, 64, 1))
    share = shares(finer, parent, slope)
    assert np.bincount(parent, share) == pytest.approx(1)
    inside = parent == place
    assert share[inside & (finer.high <= 1024 * 4 / 3)].sum() == pytest.approx(0.5, abs=0.03)
    assert share[~inside] == pytest.approx(1)


def test_exact_counts_are_taken_to_have_the_chance_of_a_cell() -> None:
    """Weights that tried to meet exact tables were those of a few rows."""
    exact = allocation(20_000, 10, 2, Calibration(None, Sensitivity(1, 1)), targeted=True)
    assert exact.groups == 20 and exact.least_noise == pytest.approx(5)  # 25 rows a cell
    assert exact.kappa == pytest.approx(2 / 5)


def test_the_tail_of_a_fit() -> None:
    """Log-normal bills with zeros, declared a thousand times too wide."""
    rng = np.random.default_rng(0)
    n = 20_000
    bills = np.where(rng.random(n) < 0.3, 0, rng.lognormal(5, 1.2, n).round(2))
    table = pd.DataFrame({"bill": bills, "sex": rng.integers(0, 2, n)})
    bounds = {"minimum": 0, "maximum": 5e7, "resolution": 0.01}
    schema = Schema(
        (
            Column("bill", "continuous", **bounds),  # type: ignore[arg-type]
            Column("sex", "integer", minimum=0, maximum=1),
        )
    )
    for seed in range(3):
        drawn = PrivateVine(0.5, random_state=seed).fit(table, schema).sample(n)["bill"]
        assert drawn.mean() == pytest.approx(bills.mean(), rel=0.15)
        assert (drawn == 0).mean() == pytest.approx(0.3, abs=0.02)
        for q in (0.5, 0.75, 0.9, 0.95, 0.99):
            assert drawn.quantile(q) == pytest.approx(np.quantile(bills, q), rel=0.15), (seed, q)
        assert drawn.max() < 10 * bills.max()


# -- ends of columns of few values ---------------------------------------------------------


def visits(top: int, rows: FloatArray, sigma: float, seed: int) -> tuple[Intervals, FloatArray]:
    """Cells of a column of whole numbers from 0 on, and noisy counts of them."""
    own = Intervals.of(Column("x", "integer", minimum=0, maximum=top))
    true = np.append(rows, np.zeros(len(own) - len(rows)))
    return own, true + np.random.default_rng(seed).normal(0, sigma, len(own))


def test_rows_of_a_wide_last_group_fall_off() -> None:
    """1,000 rows somewhere from 4 to 900: spread evenly they had a mean of 452."""
    true = 8000 * 0.5 ** np.arange(12.0)
    groups = np.minimum(np.arange(901), 4)
    rows = np.append(true[:4], np.full(897, true[4:].sum() / 897))
    sums, means = np.bincount(groups, rows).astype(float), []
    for seed in range(20):
        own, noisy = visits(900, true, SIGMA, seed)
        found = falling_ends(own, rows, noisy, SIGMA, groups, sums, np.full(5, SIGMA**2))
        assert found[:4] == pytest.approx(rows[:4])  # what stands out stays
        assert np.bincount(groups, found) == pytest.approx(sums)
        means.append(found @ own.low / found.sum())
    assert rows @ np.arange(901.0) / rows.sum() > 20
    assert np.mean(means) == pytest.approx(true @ np.arange(12) / true.sum(), rel=0.1)


def test_a_heap_in_the_last_group_stays() -> None:
    true = np.array([500.0, 500, 500, 500, 500, 500, 500, 500, 500, 9000])
    own, noisy = visits(25, true, SIGMA, 0)
    groups = np.repeat([0, 1, 2], [5, 4, 17])
    rows = np.append(true, np.full(16, 5.0))
    sums = np.bincount(groups, rows).astype(float)
    found = falling_ends(own, rows, noisy, SIGMA, groups, sums, np.full(3, SIGMA**2))
    assert found[:10] == pytest.approx(rows[:10])
    assert found[10:].sum() == pytest.approx(80)


def test_values_that_stand_out_together_are_no_tail() -> None:
    """Thirty days of 50 rows under noise of 40: none stands out alone, and all are alike."""
    own, noisy = visits(29, np.full(30, 50.0), 40.0, 0)
    rows = np.full(30, 50.0)
    found = falling_ends(own, rows, noisy, 40.0, np.arange(30), rows, np.full(30, 1600.0))
    assert found[6:24] == pytest.approx(50)
    assert np.abs(found - rows).sum() < 300  # of 1,500 rows


def test_a_tail_goes_on_from_the_density_before_it() -> None:
    tails = geometric(np.ones(1000), 100.0, 200.0)
    assert tails.sum(axis=1) == pytest.approx(200) and (np.diff(tails) < 0).all()
    # the integral of 100 exp(-x / 2) from 0 to 1, and a tail that falls half as fast
    assert tails[0, 0] == pytest.approx(200 * (1 - np.exp(-0.5)))
    assert tails[1, 0] == pytest.approx(200 * (1 - np.exp(-0.25)))


def test_the_mean_of_counts_in_a_wide_domain() -> None:
    """Few have many visits, up to 900 are declared: noise put rows anywhere up to there."""
    n = 10_000
    table = pd.DataFrame({"visits": np.random.default_rng(1).geometric(0.4, n) - 1})
    schema = Schema((Column("visits", "integer", minimum=0, maximum=900),))
    for seed in range(3):
        drawn = PrivateVine(0.2, random_state=seed).fit(table, schema).sample(n)["visits"]
        assert drawn.mean() == pytest.approx(table["visits"].mean(), rel=0.2)
        assert abs(drawn.quantile(0.99) - table["visits"].quantile(0.99)) <= 4
