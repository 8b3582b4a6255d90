from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from copula_shirley import Budget, BudgetError, Column, Ledger, Schema
from copula_shirley.measure.curator import Curator
from copula_shirley.measure.queries import Tables
from copula_shirley.privacy.floating import DiffprivlibNoise
from copula_shirley.rows.memory import MemoryRows
from copula_shirley.thesis.histograms import Atoms, ThesisCalibration, to_mass


def test_six_rows_counted_by_hand() -> None:
    ages = np.array([30.0, 20.0, 30.0, -np.inf, 50.0, 30.0])
    for rows in (ages, ages[::-1]):  # a published port counted in order of appearance
        cells = Atoms("x", np.array([-np.inf, 20.0, 30.0, 40.0, 50.0])).places(rows)
        assert np.bincount(cells, minlength=5).tolist() == [1, 1, 3, 0, 1]


@pytest.mark.parametrize("number", [1.5, 9.0])
def test_a_number_off_the_domain_is_no_count(number: float) -> None:
    with pytest.raises(AssertionError):
        Atoms("x", np.array([1.0, 2.0])).places(np.array([number]))


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


def asked(counts: np.ndarray, ledger: Ledger, seed: int = 0, name: str = "x") -> np.ndarray:
    """The noisy counts of rows that have these counts, by the curator."""
    rows = {name: np.repeat(np.arange(len(counts), dtype=float), counts)}
    calibration = ThesisCalibration(ledger.budget, ledger.sensitivity(), "laplace")
    source = DiffprivlibNoise(np.random.default_rng(seed))
    schema = Schema((Column(name, "continuous", minimum=0, maximum=1e4),))
    held = MemoryRows(schema, rows, codes={})
    curator = Curator(held, ledger, source, calibration)
    atoms = Atoms(name, np.arange(len(counts), dtype=float))
    (noisy,) = curator.answer(Tables("histogram", [atoms], 1.0, what=name)).values
    return noisy


@pytest.mark.parametrize(
    ("neighbours", "rows", "scale"), [("replace-one", 1, 4), ("add-remove", 3, 6)]
)
def test_noise_scale_is_what_the_ledger_implies(neighbours: str, rows: int, scale: float) -> None:
    ledger = Ledger(Budget(0.5), neighbours=neighbours, unit="person", rows_per_unit=rows)
    noisy = asked(np.full(4000, 3), ledger, seed=3)
    # 5 standard errors of the mean absolute value of 4,000 Laplace draws
    assert np.abs(noisy - 3).mean() == pytest.approx(scale, rel=0.08)
    with pytest.raises(BudgetError):
        asked(np.array([1, 2]), ledger, name="y")
    assert [spend.what for spend in ledger.spends] == ["x"]
