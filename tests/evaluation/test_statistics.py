from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from copula_shirley import Column, Schema
from evaluation import kolmogorov_smirnov, spearman_drift

SCHEMA = Schema(
    (
        Column("x", "integer", minimum=0, maximum=9, missing=True),
        Column("c", "categorical", categories=("a", "b", "z")),
    )
)


def test_six_rows_by_hand() -> None:
    real = pd.DataFrame({"x": [1, 2, 3, 4, 5, 6], "c": list("aabbzz")})
    synthetic = pd.DataFrame({"x": [1, 2, 3, 9, 9, 9], "c": list("aaaaaz")})
    # F of x differs most at 6 (1 against 1/2); of c at "a" (1/3 against 5/6)
    assert kolmogorov_smirnov(real, synthetic, SCHEMA) == pytest.approx({"x": 0.5, "c": 0.5})


def test_a_missing_value_lies_below_all_others() -> None:
    real = pd.DataFrame({"x": [np.nan, 5.0], "c": ["a", "a"]})
    synthetic = pd.DataFrame({"x": [0.0, 5.0], "c": ["a", "a"]})
    assert kolmogorov_smirnov(real, synthetic, SCHEMA)["x"] == 0.5


def test_drift_by_hand() -> None:
    real = pd.DataFrame({"x": [1, 2, 3], "c": list("abz")})  # rank correlation 1
    synthetic = pd.DataFrame({"x": [3, 2, 1], "c": list("abz")})  # rank correlation -1
    drift = spearman_drift(real, synthetic, SCHEMA)
    assert drift == pytest.approx({"mean": 1.0, "maximum": 2.0, "off_diagonal_mean": 2.0})


def test_a_constant_column_counts_as_uncorrelated() -> None:
    real = pd.DataFrame({"x": [1, 2, 3], "c": list("abz")})
    constant = pd.DataFrame({"x": [1, 1, 1], "c": list("abz")})
    assert spearman_drift(real, constant, SCHEMA)["off_diagonal_mean"] == pytest.approx(1.0)


@given(st.lists(st.tuples(st.integers(0, 9), st.sampled_from("abz")), min_size=2, max_size=30))
def test_a_table_is_at_distance_zero_from_itself_in_any_order(rows: list[tuple[int, str]]) -> None:
    table = pd.DataFrame(rows, columns=["x", "c"])
    turned = table[::-1].reset_index(drop=True)
    assert set(kolmogorov_smirnov(table, turned, SCHEMA).values()) == {0.0}
    assert spearman_drift(table, turned, SCHEMA)["maximum"] == pytest.approx(0, abs=1e-12)
