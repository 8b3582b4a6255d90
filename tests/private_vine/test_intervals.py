from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from copula_shirley import Column, PrivateVine, Schema
from copula_shirley.measure.calibration import Calibration
from copula_shirley.privacy.ledger import Budget, Sensitivity
from copula_shirley.private_vine.intervals import HEAP_PARTS, Intervals, rows_of_parts

BELL = Calibration(Budget(1.0, 1e-9), Sensitivity(1, 1))
STEEP = Calibration(Budget(1.0, 0.0), Sensitivity(1, 1))


def money(**settings: object) -> Column:
    fields = {"minimum": -3, "maximum": 5000} | settings
    return Column("x", "integer", **fields)  # type: ignore[arg-type]


def whole(column: Column) -> Intervals:
    """One cell for every value of a column."""
    own = Intervals.of(column)
    flags = np.zeros(1, dtype=bool)
    return Intervals(column, own.low[:1], own.high[-1:], flags)


def test_columns_of_few_values_have_a_cell_for_each() -> None:
    own = Intervals.of(Column("x", "integer", minimum=-2, maximum=3, missing=True))
    assert own.low.tolist()[1:] == [-2, -1, 0, 1, 2, 3] and (own.values == 1).all()  # noqa: PD011
    assert own.index(np.array([-np.inf, -2, 3])).tolist() == [0, 1, 6]


def test_first_cells_follow_magnitude_on_both_sides_of_zero() -> None:
    own = Intervals.of(money(special=(100,)))
    low = own.low.tolist()
    assert low == [-3, -1, 0, 1, 2, 4, 8, 16, 32, 64, 100, 101, 128, 256, 512, 1024, 2048, 4096]
    assert own.high.tolist() == [*low[1:], 5001]
    cents = Intervals.of(Column("x", "continuous", minimum=0, maximum=100, resolution=0.01))
    assert cents.low.tolist()[:4] == [0, 1, 2, 4] and cents.high[-1] == 10_001


def test_dates_keep_their_declared_cells() -> None:
    day = {"minimum": "2000-01-01", "maximum": "2030-01-01", "resolution": "1D"}
    own = Column("x", "datetime", **day)  # type: ignore[arg-type]
    assert len(Intervals.of(own)) == own.domain.cells().size


def test_points_that_doubles_do_not_tell_apart_are_found() -> None:
    """A sample under a condition on a number beyond 2**53 steps had no cell to come from."""
    cents = Column("x", "continuous", minimum=-1e15, maximum=1e15, resolution=0.01)
    largest = Column("x", "integer", minimum=0, maximum=2**53)
    for column, value in ((cents, -217328050813990.0), (cents, 1e15), (largest, 2.0**53)):
        own = Intervals.of(column)
        _, left = own.between(value, value)
        assert np.flatnonzero(left).tolist() == own.index(np.array([value])).tolist()


def test_cut_by_hand() -> None:
    own = Intervals.of(money())
    rows = np.where(own.low == 1024, 100.0, 3.0)
    finer, parent = own.cut(rows, sigma=1.0, big=0.0) or pytest.fail("no cut")
    place = own.low.tolist().index(1024)
    parts = np.flatnonzero(parent == place)
    assert len(parts) == 50  # two rows for each standard deviation
    assert finer.low[parts[0]] == 1024 and finer.high[parts[-1]] == 2048
    assert (finer.low[1:] == finer.high[:-1]).all()
    assert own.cut(np.full(len(own), 3.0), sigma=1.0, big=0.0) is None
    assert own.cut(rows, sigma=1.0, big=200.0) is None
    heap = Intervals(own.column, own.low, own.high, own.low == 1024)
    found = heap.cut(rows, sigma=1.0, big=200.0) or pytest.fail("no cut")
    assert (np.bincount(found[1]) > 1).sum() == 1 and len(found[1]) == len(own) - 1 + HEAP_PARTS


def test_the_heaviest_cells_are_cut_where_there_would_be_too_many() -> None:
    """Without noise every value is a heap: 20,000 rows made 18 million cells."""
    own = Intervals.of(Column("x", "continuous", minimum=0, maximum=1))
    rows = np.arange(len(own), dtype=float) + 50
    finer, parent = own.cut(rows, 0.0, 0.0, 450) or pytest.fail("no cut")
    cut = np.bincount(parent) > 1
    assert 350 < len(finer) <= 450 and not cut[:-4].any() and cut[-4:].all()
    assert own.cut(rows, 0.0, 0.0, len(own)) is None


def test_heaps_keep_their_count_and_the_rest_is_evened_out() -> None:
    own = whole(money(minimum=0, maximum=1999))
    finer, parent = own.cut(np.array([100.0]), sigma=1.0, big=0.0) or pytest.fail("no cut")
    counts = np.ones(len(parent))
    counts[7] = 60.0
    found, rows = rows_of_parts(finer, parent, np.array([100.0]), counts, sigma=1.0)
    assert rows[7] == pytest.approx(60) and rows.sum() == pytest.approx(100)
    assert rows[:7] == pytest.approx(40 / (len(rows) - 1)) and found.heap.tolist().count(True) == 1


def test_noise_alone_makes_no_heaps() -> None:
    own = whole(money(minimum=0, maximum=10**6))
    finer, parent = own.cut(np.array([10_000.0]), 30.0, 0.0) or pytest.fail("no cut")
    heaps = []
    for seed in range(50):
        noisy = 10_000 / len(parent) + np.random.default_rng(seed).normal(0, 30, len(parent))
        largest = BELL.largest(len(parent))
        found, _ = rows_of_parts(finer, parent, np.array([10_000.0]), noisy, 30.0, largest)
        heaps.append(int(found.heap.sum()))
    assert len(parent) == 100 and np.mean(heaps) < 1, heaps


@pytest.mark.parametrize("many", [10, 100, 5000])
def test_the_largest_of_many_noises(many: int) -> None:
    rng = np.random.default_rng(0)
    for noise, drawn in (
        (BELL, rng.normal(0, 1, (400, many))),
        (STEEP, rng.laplace(0, 0.5**0.5, (400, many))),
    ):
        beyond = (drawn > noise.largest(many)).sum(axis=1).mean()
        assert 0.05 < beyond < 0.6


@settings(max_examples=30)
@given(
    st.lists(st.integers(-100, 100), min_size=1, max_size=30),
    st.sampled_from([0.1, 0.25, None]),
    st.booleans(),
    st.tuples(st.integers(-100, 100), st.integers(0, 100)),
)
def test_every_number_lies_in_one_interval_and_is_drawn_there(
    tenths: list[int], resolution: float | None, missing: bool, ends: tuple[int, int]
) -> None:
    own = Column(
        "x", "continuous", minimum=-10, maximum=10, resolution=resolution, missing=missing,
        special=(-5, 0, 10),
    )  # fmt: skip
    numbers = np.append(np.array(tenths) / 10, [-10.0, -5.0, 0.0, 10.0])
    if resolution is not None:
        numbers = np.clip(np.round(numbers / resolution) * resolution, -10, 10)
    numbers = np.append(numbers, -np.inf) if missing else numbers
    intervals = Intervals.of(own)
    cut = intervals.cut(np.full(len(intervals), 1000.0), 1.0, 0.0)
    for cells in (intervals, cut[0] if cut else intervals):
        assert (cells.low[1 + missing :] == cells.high[missing:-1]).all()
        places = cells.index(numbers)
        drawn = cells.draw(places, np.random.default_rng(0))
        assert (cells.index(drawn) == places).all()
        assert not own.domain.outside(own.domain.from_numbers(drawn)).any()
        low, high = ends[0] / 10, min((ends[0] + ends[1]) / 10, 10)
        if resolution is not None:
            low, high = (np.round(end / resolution) * resolution for end in (low, high))
        inside, left = cells.between(low, high)
        chosen = (numbers >= low - 1e-9) & (numbers <= high + 1e-9)
        assert (left[places[chosen]] > 0).all() and left.min() >= 0 and left.max() <= 1
        again = inside.draw(places[chosen], np.random.default_rng(1))
        assert ((again >= low - 1e-9) & (again <= high + 1e-9)).all()


@pytest.mark.parametrize(
    ("high", "step", "tabled"),
    [(40, 1, True), (99_999, 1, True), (1e9, 0.01, False), (7, None, False)],
)
def test_intervals_that_stand_in_a_table_are_those_of_a_search(
    high: float, step: float | None, tabled: bool
) -> None:
    column = Column("x", "continuous", minimum=-3, maximum=high, resolution=step, missing=True)
    own, rng = Intervals.of(column), np.random.default_rng(0)
    own = own.divided(np.where(own.high - own.low > 8, 4, 1))[0]
    numbers = np.concatenate(
        [rng.uniform(-4, high * 1.1, 500), rng.uniform(-4, 9, 500), [-np.inf, -3, high, 0, 1e12]]
    )
    points = np.rint(numbers / step) if step else numbers
    expected = [max(sum(low <= point for low in own.low) - 1, 0) for point in points]
    assert own.index(numbers).tolist() == expected
    assert (own._of_points is not None) == tabled


def test_a_heap_deep_inside_a_cell_survives() -> None:
    rng = np.random.default_rng(0)
    values = np.where(rng.random(4000) < 0.3, 13.731893, np.round(rng.random(4000) * 100, 6))
    table = pd.DataFrame({"x": values, "y": rng.integers(0, 2, 4000)})
    schema = Schema(
        (
            Column("x", "continuous", minimum=0, maximum=100, resolution=1e-6),
            Column("y", "integer", minimum=0, maximum=1),
        )
    )
    rows = PrivateVine(2.0, random_state=0).fit(table, schema).sample(4000)
    assert (rows["x"] == 13.731893).mean() == pytest.approx(0.3, abs=0.03)
    assert rows["x"].nunique() > 2000  # and the others are numbers, not cells
