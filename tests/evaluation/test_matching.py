from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from copula_shirley.evaluation.attacks.matching import BLOCK, CHUNK, agreement_counts


def check(n: int, m: int, d: int, values: int, seed: int = 0, fewest: int = 0) -> None:
    """Compare with a count of all pairs, value by value."""
    rng = np.random.default_rng(seed)
    records, rows = (rng.integers(0, values, (size, d)).astype(np.int32) for size in (n, m))
    same = (records[:, None, :] == rows).sum(axis=2)
    expected = np.stack([(same == k).sum(axis=1) for k in range(d + 1)], axis=1)
    expected[:, :fewest] = 0
    assert (agreement_counts(records, rows, fewest) == expected).all()


def codes(*rows: tuple[int, ...]) -> NDArray[np.int32]:
    return np.array(rows, dtype=np.int32)


def test_six_rows_by_hand() -> None:
    rows = codes((0, 0, 0), (0, 0, 1), (0, 1, 1), (1, 1, 1), (2, 2, 2), (2, 2, 0))
    # the first record agrees in 3, 2, 1, 0, 0, 1 columns; the second in 0, 1, 2, 3, 0, 0
    found = agreement_counts(codes((0, 0, 0), (1, 1, 1)), rows)
    assert found.tolist() == [[2, 2, 1, 1], [3, 1, 1, 1]]
    # values that only one side holds
    assert agreement_counts(codes((7,), (0,)), codes((3,), (0,))).tolist() == [[2, 0], [1, 1]]


sizes = st.tuples(st.integers(1, 12), st.integers(1, 40), st.integers(1, 40), st.integers(1, 5))


@given(sizes, st.integers(0), st.integers(0, 41))
def test_equals_brute_force(sizes: tuple[int, int, int, int], seed: int, fewest: int) -> None:
    check(*sizes, seed, fewest)


@pytest.mark.parametrize("m", [63, 64, 65, BLOCK - 1, BLOCK, BLOCK + 1, 2 * BLOCK + 3])
@pytest.mark.parametrize("fewest", [0, 1, 4])
def test_more_rows_than_one_block(m: int, fewest: int) -> None:
    check(5, m, 6, 3, fewest=fewest)


def test_more_records_than_one_chunk_and_many_values() -> None:
    check(CHUNK + 3, 20, 3, 4)
    check(40, BLOCK + 9, 2, 3 * BLOCK)


@pytest.mark.parametrize("d", [1, 3, 7, 8, 31, 64, 100])
def test_a_record_that_agrees_everywhere(d: int) -> None:
    check(1, BLOCK + 1, d, 1)
