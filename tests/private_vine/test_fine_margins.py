from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from copula_shirley import Column, PrivateVine, Schema
from copula_shirley.measure.calibration import Calibration
from copula_shirley.privacy.ledger import Budget, Sensitivity
from copula_shirley.private_vine.leaves import LeafKey, Leaves, with_shares

BELL = Calibration(Budget(1.0, 1e-9), Sensitivity(1, 1))
STEEP = Calibration(Budget(1.0, 0.0), Sensitivity(1, 1))


def column(**settings: object) -> Column:
    fields = {"minimum": 0, "maximum": 10, "resolution": 0.1, "cells": 5} | settings
    return Column("x", "continuous", **fields)  # type: ignore[arg-type]


def test_leaves_are_the_cells_at_first() -> None:
    leaves = Leaves.of(column(), column().domain.cells())
    assert leaves.low.tolist() == [0, 20, 40, 60, 80]
    assert leaves.high.tolist() == [20, 40, 60, 80, 101]  # the last value belongs to the domain
    assert leaves.values.tolist() == [20, 20, 20, 20, 21]  # noqa: PD011


def test_a_value_with_a_cell_of_its_own_is_no_part_of_the_next() -> None:
    own = column(special=(0,))
    leaves = Leaves.of(own, own.domain.cells())
    assert (leaves.low[:2].tolist(), leaves.high[:2].tolist()) == ([0, 1], [1, 20])


def test_cut_by_hand() -> None:
    leaves = Leaves.of(column(), column().domain.cells())
    found = leaves.cut(np.array([100.0, 3, 3, 3, 3]), sigma=1.0)
    assert found is not None
    finer, parent = found
    assert parent.tolist() == [0] * 20 + [1, 2, 3, 4]
    assert finer.low[:3].tolist() == [0, 1, 2] and finer.high[19] == 20
    assert leaves.cut(np.array([3.0, 3, 3, 3, 3]), sigma=1.0) is None


def test_heaps_keep_their_count_and_the_rest_is_evened_out() -> None:
    leaves = Leaves.of(column(), column().domain.cells())
    rows = np.array([100.0, 0, 0, 0, 0])
    finer, parent = leaves.cut(rows, sigma=1.0) or pytest.fail("no cut")
    counts = np.zeros(len(parent))
    counts[:20] = 1.0
    counts[7] = 81.0
    shares = with_shares(finer, parent, rows, counts, sigma=1.0).share
    assert shares[7] == pytest.approx(0.81) and shares[:7] == pytest.approx(0.01)
    assert shares[:20].sum() == pytest.approx(1) and shares[20:].tolist() == [1, 1, 1, 1]


def test_noise_alone_makes_no_heaps() -> None:
    own = column(resolution=0.001, cells=50)
    leaves = Leaves.of(own, own.domain.cells())
    rows = np.full(50, 1000.0)
    finer, parent = leaves.cut(rows, sigma=30.0) or pytest.fail("no cut")
    heaps = []
    for seed in range(20):
        noise = np.random.default_rng(seed).normal(0, 30, len(parent))
        counts = finer.share * rows[finer.cell] + noise
        shares = with_shares(finer, parent, rows, counts, 30.0, BELL.largest(len(parent)))
        heaps.append(int(shares.heap.sum()))
    assert len(parent) == 5000 and np.mean(heaps) < 1, heaps


@pytest.mark.parametrize("many", [10, 100, 5000])
def test_the_largest_of_many_noises(many: int) -> None:
    rng = np.random.default_rng(0)
    for noise, drawn in (
        (BELL, rng.normal(0, 1, (400, many))),
        (STEEP, rng.laplace(0, 0.5**0.5, (400, many))),
    ):
        beyond = (drawn > noise.largest(many)).sum(axis=1).mean()
        assert 0.05 < beyond < 0.6


@given(
    st.lists(st.integers(0, 100), min_size=1, max_size=30),
    st.sampled_from([0.1, 0.25, None]),
    st.integers(1, 7),
    st.booleans(),
)
def test_every_number_lies_in_one_leaf_and_is_drawn_there(
    tenths: list[int], resolution: float | None, cells: int, missing: bool
) -> None:
    own = column(resolution=resolution, cells=cells, missing=missing, special=(0,))
    grid = own.domain.cells()
    numbers = np.array(tenths) / 10
    if resolution is not None:
        numbers = np.round(numbers / resolution) * resolution
    numbers = np.append(numbers, -np.inf) if missing else numbers
    codes = grid.index(numbers)
    leaves = Leaves.of(own, grid)
    found = leaves.cut(np.full(grid.size, 1000.0), sigma=1.0)
    assert found is not None
    finer, parent = found
    places = finer.leaf_of(numbers, codes)
    assert (finer.cell[places] == codes).all()
    key = LeafKey(finer, parent)
    assert key.shape[0] == 1 + key.new.sum()
    known = np.isfinite(numbers)
    steps = numbers[known] if resolution is None else np.rint(numbers[known] / resolution)
    inside = (finer.low[places[known]] <= steps) & (steps < finer.high[places[known]])
    # the upper bound of a domain without a grid belongs to its last leaf
    assert (inside | (resolution is None) & (numbers[known] == 10)).all()
    drawn = finer.draw(numbers, codes, np.random.default_rng(0))
    rounded = own.domain.round(drawn)
    assert (grid.index(rounded) == codes).all()


def test_a_heap_deep_inside_a_cell_survives() -> None:
    rng = np.random.default_rng(0)
    values = np.where(rng.random(4000) < 0.3, 13.731893, np.round(rng.random(4000) * 100, 6))
    table = pd.DataFrame({"x": values, "y": rng.integers(0, 2, 4000)})
    schema = Schema(
        (
            Column("x", "continuous", minimum=0, maximum=100, resolution=1e-6, cells=100),
            Column("y", "integer", minimum=0, maximum=1),
        )
    )
    rows = PrivateVine(2.0, random_state=0).fit(table, schema).sample(4000)
    assert (rows["x"] == 13.731893).mean() == pytest.approx(0.3, abs=0.03)
    assert rows["x"].nunique() > 2000  # and the others are numbers, not cells
