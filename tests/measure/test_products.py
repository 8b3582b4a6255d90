"""Sums of products: by hand, and what one unit can change."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from copula_shirley import Column, Schema
from copula_shirley.measure.products import STEPS, Products, in_steps, sums_of_products
from copula_shirley.rows.memory import MemoryRows

SCHEMA = Schema(
    (
        Column("a", "integer", minimum=10, maximum=20, missing=True),
        Column("b", "continuous", minimum=-1, maximum=1),
    )
)
RANGES = {"a": (10.0, 20.0), "b": (-1.0, 1.0)}


def sums(a: list[float | None], b: list[float]) -> np.ndarray:
    table = pd.DataFrame({"a": pd.array(a, dtype="Int64"), "b": b})
    return Products(RANGES).numbers(MemoryRows.of(table, SCHEMA))


def test_sums_by_hand() -> None:
    # shares: a 0, 1/2, 1 and b 1/2, 1, 0; the last row lacks a and counts nowhere
    found = sums([10, 15, 20, None], [0.0, 1.0, -1.0, 1.0]) / STEPS
    # rows rows, rows a, rows b, a a, a b, b b
    assert found.tolist() == [3, 1.5, 1.5, 1.25, 0.5, 1.25]


def test_steps_are_rounded_and_end_at_the_bounds() -> None:
    numbers = np.array([-np.inf, 9, 10, 10 + 10 * 0.6 / STEPS, 20, 25])
    assert in_steps(numbers, 10.0, 20.0).tolist() == [0, 0, 0, 1, STEPS, STEPS]
    half = np.array([STEPS // 2 + 1])
    # (2^19 + 1)^2 / 2^20 = 2^18 + 1 + 2^-20
    assert sums_of_products([half])[0] == STEPS // 4 + 1


one_row = st.tuples(st.integers(10, 20), st.floats(-1, 1))


@given(st.lists(one_row, min_size=1, max_size=5), st.lists(one_row, min_size=1, max_size=3))
def test_a_unit_changes_the_sums_by_its_reach_at_the_most(
    others: list[tuple[int, float]], own: list[tuple[int, float]]
) -> None:
    more, less = (sums(*map(list, zip(*rows, strict=True))) for rows in (others + own, others))
    change = (more - less).astype(float)
    reach = Products(RANGES, len(own)).reach
    assert np.abs(change).sum() <= reach.l1
    assert np.linalg.norm(change) <= reach.l2 * (1 + 1e-12)


def test_the_reach_is_reached_and_no_larger() -> None:
    change = (sums([10, 20], [0.0, 1.0]) - sums([10], [0.0])).astype(float)
    reach = Products(RANGES).reach
    assert change.tolist() == [STEPS] * 6
    assert (change.sum(), np.linalg.norm(change)) == pytest.approx((reach.l1, reach.l2))
