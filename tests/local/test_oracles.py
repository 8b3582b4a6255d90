from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy.linalg import hadamard

from copula_shirley.errors import ReportError
from copula_shirley.local.coins import ONE, Hadamard, Unary, Wave
from copula_shirley.local.oracles import (
    Coins,
    best,
    estimated,
    simulated,
    tallied,
    variance,
)

KINDS = {
    "k-RR": lambda eps, k: Wave.of(k, eps),
    "OUE": lambda eps, k: Unary.of(k, eps),
    "Hadamard": lambda eps, k: Hadamard.of(k, eps),
}


@pytest.mark.parametrize(
    ("kind", "formula"),
    [
        ("k-RR", lambda e, k: (k - 2 + e) / (e - 1) ** 2),
        ("OUE", lambda e, _: 4 * e / (e - 1) ** 2),
        ("Hadamard", lambda e, _: ((e + 1) / (e - 1)) ** 2),
    ],
)
def test_variances_are_those_of_the_literature(kind: str, formula: Any) -> None:
    for eps in (0.5, 1.0, 2.0, 4.0):
        for cells in (2, 32, 100):
            assert variance(KINDS[kind](eps, cells)) == pytest.approx(
                formula(math.exp(eps), cells), rel=1e-5
            )


@pytest.mark.parametrize("kind", KINDS)
def test_counts_are_unbiased_with_the_stated_variance(kind: str) -> None:
    one, people = KINDS[kind](1.0, 6), np.repeat(np.arange(6), [600, 300, 60, 30, 10, 0])
    coins = Coins(np.random.default_rng(1))
    n, runs = len(people), 600
    found = np.array([estimated(one, simulated(one, people, coins), n) for _ in range(runs)])
    true = np.bincount(people, minlength=6)
    spread = np.sqrt([n * variance(one, m / n) for m in true])
    assert np.all(np.abs(found.mean(axis=0) - true) < 4.5 * spread / math.sqrt(runs))
    assert np.allclose(found.std(axis=0) / spread, 1, atol=4.5 / math.sqrt(2 * runs))


def test_an_estimate_by_hand() -> None:
    # of 10 reports 6 name cell 0; true 3/4, other 1/4: (6 - 2.5) / .5
    one = Wave(2, 3 * ONE // 4)
    assert estimated(one, np.array([6, 4]), 10).tolist() == [7.0, 3.0]
    # 8 reports, bit 1 set in 4; true 1/2, other 1/4: (4 - 2) / .25
    assert estimated(Unary(2, ONE // 4), np.array([2, 4]), 8).tolist() == [0.0, 8.0]
    # rows 0 and 1 of [[1, 1], [1, -1]], signs never turned but by 1/4: (n + s) / 2 speak
    one = Hadamard(2, 3 * ONE // 4)
    tally, n = tallied(one, [[0, 0], [1, 1], [1, 1], [0, 0]])
    assert (tally.tolist(), n) == ([2, -2], 4)
    # for cell 0 (4 + 0) / 2 = 2 speak, for cell 1 (4 + 4) / 2 = 4: (4 - 2) / .25
    assert estimated(one, tally, n).tolist() == [0.0, 8.0]


def test_signs_are_those_of_a_hadamard_matrix() -> None:
    matrix = hadamard(8)
    assert all((-1) ** Hadamard.sign(r, c) == matrix[r, c] for r in range(8) for c in range(8))


@pytest.mark.parametrize("kind", KINDS)
def test_real_reports_and_simulated_ones_are_tallied_alike(kind: str) -> None:
    one, people = KINDS[kind](3.0, 4), np.repeat([0, 2], [300, 100])
    tally, n = tallied(one, (one.draw(int(cell)) for cell in people))
    assert (n, tally.shape) == (400, (one.outputs,))
    assert simulated(one, people, Coins()).shape == tally.shape
    spread = np.sqrt([400 * variance(one, m / 400) for m in (300, 0, 100, 0)])
    assert np.all(np.abs(estimated(one, tally, n) - [300, 0, 100, 0]) < 7 * spread)


def test_bulk_coins_are_exact_at_the_ends_and_even() -> None:
    for coins in (Coins(), Coins(np.random.default_rng(0))):
        assert not coins.heads(0, 1000).any() and coins.heads(ONE, 1000).all()
        found = np.bincount(coins.below(3, 30_000), minlength=3)
        assert len(found) == 3 and np.all(np.abs(found - 10_000) < 700)
    assert Coins().facts.for_release and not Coins(np.random.default_rng(0)).facts.for_release


def test_numbers_that_would_make_shares_uneven_are_drawn_again() -> None:
    drawn = [np.array([ONE - 1, 5], dtype=np.uint32), np.array([7], dtype=np.uint32)]

    class Scripted(Coins):
        def words(self, n: int) -> Any:
            return drawn.pop(0)

    # 2^32 - 1 is beyond the last multiple of 3, 2^32 - 1: it must go
    assert Scripted().below(3, 2).tolist() == [1, 2]


def test_the_best_is_by_variance_and_by_length() -> None:
    # k-RR below 3 e^epsilon + 2 cells
    for eps in (0.5, 1.0, 2.0, 4.0):
        limit = math.floor(3 * math.exp(eps) + 2)
        assert isinstance(best(limit, eps), Wave) and isinstance(best(limit + 1, eps), Unary)
    assert [KINDS[kind](1.0, 1000).length for kind in KINDS] == [10, 1000, 11]
    assert isinstance(best(1000, 1.0, most_bits=20), Hadamard)
    assert isinstance(best(1000, 1.0, most_bits=10), Wave)
    with pytest.raises(ReportError, match=r"most_bits \(9\) must be at least 10"):
        best(1000, 1.0, most_bits=9)
    with pytest.raises(ReportError, match="square wave"):
        estimated(Wave.of(5, 1.0, 2), np.zeros(9), 1)
