from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from copula_shirley import Budget, BudgetError, Ledger
from copula_shirley.privacy.mechanisms import DiffprivlibNoise
from copula_shirley.thesis.histograms import count, noisy_counts, to_mass


def test_six_rows_counted_by_hand() -> None:
    ages = np.array([30.0, 20.0, 30.0, -np.inf, 50.0, 30.0])
    atoms = np.array([-np.inf, 20.0, 30.0, 40.0, 50.0])
    assert count(ages, atoms).tolist() == [1, 1, 3, 0, 1]


def test_counts_do_not_depend_on_the_order_of_rows() -> None:
    """A fault of a published port: counts attached to values in order of appearance."""
    rows = np.array([3.0, 1.0, 1.0, 2.0])
    assert count(rows, np.array([1.0, 2.0, 3.0])).tolist() == [2, 1, 1]
    assert count(rows[::-1], np.array([1.0, 2.0, 3.0])).tolist() == [2, 1, 1]


def test_a_number_off_the_domain_is_no_count() -> None:
    with pytest.raises(AssertionError):
        count(np.array([1.5]), np.array([1.0, 2.0]))
    with pytest.raises(AssertionError):
        count(np.array([9.0]), np.array([1.0, 2.0]))


@given(arrays(float, st.integers(1, 40), elements=st.floats(-1e12, 1e12)))
def test_mass_is_a_distribution(noisy: np.ndarray) -> None:
    mass = to_mass(noisy)
    assert np.all(mass >= 0)
    assert mass.sum() == pytest.approx(1)
    if np.all(noisy <= 0):
        assert mass == pytest.approx(1 / len(noisy))
    else:
        assert np.all(mass[noisy <= 0] == 0)


@given(st.lists(st.integers(0, 1000), min_size=1, max_size=20).filter(any))
def test_exact_counts_give_the_plain_histogram(counts: list[int]) -> None:
    assert to_mass(np.array(counts, float)) == pytest.approx(np.array(counts) / sum(counts))


def test_the_ledger_is_charged_before_noise_is_drawn() -> None:
    class Watched(DiffprivlibNoise):
        drawn = 0

        def add(self, *args: object, **kwargs: object) -> np.ndarray:
            Watched.drawn += 1
            return super().add(*args, **kwargs)  # type: ignore[arg-type]

    ledger = Ledger(Budget(1.0))
    noise = Watched(np.random.default_rng(0))
    counts = np.array([1, 2])
    noisy_counts("x", counts, Budget(0.8), mechanism="laplace", noise=noise, ledger=ledger)
    with pytest.raises(BudgetError):
        noisy_counts("y", counts, Budget(0.8), mechanism="laplace", noise=noise, ledger=ledger)
    assert Watched.drawn == 1
    assert [spend.what for spend in ledger.spends] == ["x"]


@pytest.mark.parametrize(
    ("neighbours", "rows", "scale"), [("replace-one", 1, 4), ("add-remove", 3, 6)]
)
def test_noise_scale_is_what_the_ledger_implies(neighbours: str, rows: int, scale: float) -> None:
    ledger = Ledger(Budget(0.5), neighbours=neighbours, unit="person", rows_per_unit=rows)
    noise = DiffprivlibNoise(np.random.default_rng(3))
    counts = np.full(4000, 100)
    noisy = noisy_counts("x", counts, Budget(0.5), mechanism="laplace", noise=noise, ledger=ledger)
    # 5 standard errors of the mean absolute value of 4,000 Laplace draws
    assert np.abs(noisy - 100).mean() == pytest.approx(scale, rel=0.08)
