from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from copula_shirley import SettingError
from copula_shirley.thesis.split import split_rows

HALVES = {"histogram": 0.5, "copula": 0.5}


def test_six_rows_split_in_thirds() -> None:
    shares = {"a": 1 / 3, "b": 1 / 6, "c": 0.5}
    parts = split_rows(np.arange(6), shares, "replace-one", np.random.default_rng(0))
    assert {name: len(rows) for name, rows in parts.items()} == {"a": 2, "b": 1, "c": 3}


@given(st.integers(2, 60), st.floats(0.01, 0.99), st.integers(0, 5))
def test_parts_are_disjoint_and_whole(n: int, share: float, seed: int) -> None:
    shares = {"a": share, "b": 1 - share}
    for neighbours in ("replace-one", "add-remove"):
        parts = split_rows(np.arange(n), shares, neighbours, np.random.default_rng(seed))
        together = np.concatenate(list(parts.values()))
        assert sorted(together.tolist()) == list(range(n))
    parts = split_rows(np.arange(n), shares, "replace-one", np.random.default_rng(seed))
    assert all(len(rows) for rows in parts.values())
    assert abs(len(parts["a"]) - share * n) <= 1


def test_all_rows_of_a_person_are_in_one_part() -> None:
    units = np.repeat(np.arange(50), 4)
    for neighbours in ("replace-one", "add-remove"):
        parts = split_rows(units, HALVES, neighbours, np.random.default_rng(1))
        assert not set(units[parts["histogram"]]) & set(units[parts["copula"]])


def test_adding_a_row_moves_no_other_row() -> None:
    """Under add/remove each unit is dealt alone, so neighbours differ in one part."""
    for seed in range(20):
        small = split_rows(np.arange(30), HALVES, "add-remove", np.random.default_rng(seed))
        large = split_rows(np.arange(31), HALVES, "add-remove", np.random.default_rng(seed))
        for name, rows in small.items():
            assert set(rows.tolist()) == set(large[name].tolist()) - {30}


def test_the_split_is_random_and_repeatable() -> None:
    def first(seed: int) -> list[int]:
        parts = split_rows(np.arange(100), HALVES, "replace-one", np.random.default_rng(seed))
        return parts["histogram"].tolist()

    assert first(0) == first(0) != first(1)


def test_too_few_rows_are_refused() -> None:
    with pytest.raises(SettingError, match="too few"):
        split_rows(np.arange(1), HALVES, "replace-one", np.random.default_rng(0))
