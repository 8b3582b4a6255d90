from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from copula_shirley.evaluation.attacks.matching import BLOCK, CHUNK, agreement_counts

Table = NDArray[np.int32]


def brute_force(records: Table, rows: Table, fewest: int = 0) -> list[list[int]]:
    d = records.shape[1]
    counts = [[0] * (d + 1) for _ in records]
    for line, record in zip(counts, records.tolist(), strict=True):
        for row in rows.tolist():
            agreeing = sum(a == b for a, b in zip(record, row, strict=True))
            if agreeing >= fewest:
                line[agreeing] += 1
    return counts


def table(rng: np.random.Generator, n: int, d: int, values: int) -> Table:
    return rng.integers(0, values, (n, d)).astype(np.int32)


def test_six_rows_by_hand() -> None:
    records = np.array([[0, 0, 0], [1, 1, 1]], dtype=np.int32)
    rows = np.array(
        [[0, 0, 0], [0, 0, 1], [0, 1, 1], [1, 1, 1], [2, 2, 2], [2, 2, 0]], dtype=np.int32
    )
    # the first record agrees in 3, 2, 1, 0, 0, 1 columns; the second in 0, 1, 2, 3, 0, 0
    assert agreement_counts(records, rows).tolist() == [[2, 2, 1, 1], [3, 1, 1, 1]]
    assert agreement_counts(records, rows, 2).tolist() == [[0, 0, 1, 1], [0, 0, 1, 1]]


@given(
    d=st.integers(1, 40),
    n=st.integers(1, 12),
    m=st.integers(1, 40),
    values=st.integers(1, 5),
    fewest=st.integers(0, 41),
    seed=st.integers(0, 2**32 - 1),
)
def test_equals_brute_force(d: int, n: int, m: int, values: int, fewest: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    records, rows = table(rng, n, d, values), table(rng, m, d, values)
    assert agreement_counts(records, rows, fewest).tolist() == brute_force(records, rows, fewest)


@pytest.mark.parametrize("m", [1, 63, 64, 65, BLOCK - 1, BLOCK, BLOCK + 1, 2 * BLOCK + 3])
@pytest.mark.parametrize("fewest", [0, 1, 4])
def test_more_rows_than_one_block(m: int, fewest: int) -> None:
    rng = np.random.default_rng(m)
    records, rows = table(rng, 5, 6, 3), table(rng, m, 6, 3)
    counts = agreement_counts(records, rows, fewest)
    assert counts.tolist() == brute_force(records, rows, fewest)
    if fewest == 0:
        assert (counts.sum(axis=1) == m).all()


def test_more_records_than_one_chunk() -> None:
    rng = np.random.default_rng(0)
    records, rows = table(rng, CHUNK + 3, 3, 4), table(rng, 20, 3, 4)
    same = (records[:, None, :] == rows).sum(axis=2)
    expected = np.stack([(same == k).sum(axis=1) for k in range(4)], axis=1)
    assert (agreement_counts(records, rows) == expected).all()


@pytest.mark.parametrize("d", [1, 2, 3, 7, 8, 15, 16, 31, 32, 63, 64, 100])
def test_a_single_record_that_agrees_everywhere(d: int) -> None:
    record = np.zeros((1, d), dtype=np.int32)
    rows = np.zeros((BLOCK + 1, d), dtype=np.int32)
    assert agreement_counts(record, rows).tolist() == [[0] * d + [BLOCK + 1]]


@pytest.mark.parametrize("fewest", range(6))
def test_fewest_only_clears_what_lies_below(fewest: int) -> None:
    rng = np.random.default_rng(1)
    records, rows = table(rng, 9, 5, 2), table(rng, 600, 5, 2)
    whole = agreement_counts(records, rows)
    some = agreement_counts(records, rows, fewest)
    assert (some[:, fewest:] == whole[:, fewest:]).all()
    assert not some[:, :fewest].any()


def test_values_that_only_one_side_holds() -> None:
    records, rows = np.array([[7], [0]], dtype=np.int32), np.array([[3], [0]], dtype=np.int32)
    assert agreement_counts(records, rows).tolist() == [[2, 0], [1, 1]]
