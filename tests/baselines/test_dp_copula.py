from __future__ import annotations

from dataclasses import replace
from itertools import combinations, product
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import spearmanr
from tables import whole_numbers

from copula_shirley import Budget, Column, Ledger, Schema
from copula_shirley.baselines import DPCopula
from copula_shirley.baselines.copula import (
    UNIT,
    BlockCorrelations,
    Concordances,
    Lengths,
    Spectrum,
    concordance,
    nearest_correlation,
)
from copula_shirley.experiments import load_dataset
from copula_shirley.measure.curator import Curator
from copula_shirley.measure.queries import Best, Numbers
from copula_shirley.privacy.ledger import histogram_sensitivity
from copula_shirley.privacy.noise import SeededNoise
from copula_shirley.rows.memory import MemoryRows
from copula_shirley.thesis.margins import Margin


def brute_force(rows: Any) -> int:
    """Concordant less discordant pairs of rows with two numbers each."""
    signs = [np.sign(a[0] - b[0]) * np.sign(a[1] - b[1]) for a, b in combinations(rows, 2)]
    return int(sum(signs))


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=2, max_size=25))
def test_concordance_is_tau_a_and_not_tau_b(rows: list[tuple[int, int]]) -> None:
    assert concordance(*np.array(rows, float).T) == brute_force(rows)


@pytest.mark.parametrize("neighbours", ["replace-one", "add-remove"])
def test_sensitivity_of_concordance_by_brute_force(neighbours: str) -> None:
    """Over tables of 4 rows with 3 values, and all their neighbours."""
    rng = np.random.default_rng(0)
    n, worst = 4, 0
    values = list(product(range(3), repeat=2))
    for _ in range(300):
        rows = [values[i] for i in rng.integers(0, 9, n)]
        for new in values:
            other = [*rows[:-1], new] if neighbours == "replace-one" else [*rows, new]
            worst = max(worst, abs(brute_force(rows) - brute_force(other)))
    public = n if neighbours == "replace-one" else n + 1
    assert worst <= Concordances(("x", "y"), public, 1, rng).reach.l1


def test_one_row_turns_the_correlation_of_its_block_by_the_whole_reach() -> None:
    margin = Margin.of(np.arange(10.0), np.full(10, 0.1))
    sums = BlockCorrelations(("x", "y"), {"x": margin, "y": margin}, 1, np.random.default_rng(0))
    found = []
    for last in (9, 0):  # of two rows: both columns rise, or one of them falls
        codes = {"x": np.array([0, 9], np.int32), "y": np.array([5, last], np.int32)}
        numbers = {name: cells.astype(float) for name, cells in codes.items()}
        found.append(int(sums.numbers(MemoryRows(whole_numbers("xy"), numbers, codes=codes))[0]))
    assert found == [UNIT, -UNIT] and sums.reach.l1 == sums.reach.l2 == 2 * UNIT


def test_concordance_of_many_rows_is_exact() -> None:
    first = np.arange(300_000.0)
    assert concordance(first, first) == 300_000 * 299_999 // 2
    # one row out of order: it is discordant with the 299,998 between
    turned = np.append(first[1:-1], [first[0], first[-1]])
    assert concordance(first, turned) == 300_000 * 299_999 // 2 - 2 * 299_998


def gaussian_sample(n: int = 20_000) -> tuple[pd.DataFrame, Schema]:
    rng = np.random.default_rng(1)
    mixing = np.array([[1, 0, 0], [0.8, 0.6, 0], [-0.5, 0.3, 0.81]])
    z = rng.normal(size=(n, 3)) @ mixing.T
    table = pd.DataFrame(np.clip(z, -4.99, 4.99), columns=list("abc"))
    columns = (Column(c, "continuous", minimum=-5, maximum=5, cells=400) for c in "abc")
    return table, Schema(tuple(columns))


@pytest.mark.parametrize("variant", ["kendall", "mle"])
def test_noise_off_keeps_the_spearman_matrix(variant: Any) -> None:
    table, schema = gaussian_sample()
    synthetic = DPCopula(None, variant=variant, random_state=0).fit(table, schema).sample(40_000)
    gap = np.abs(spearmanr(table).statistic - spearmanr(synthetic).statistic).max()
    assert gap < 0.02
    assert (synthetic["a"] % 1 != 0).mean() > 0.9  # not cut to whole numbers


def test_the_made_set_keeps_its_correlations() -> None:
    """The thesis' port of DP-Copula lost A-C: -.13 instead of -.96."""
    made = load_dataset("made")
    synthetic = DPCopula(8.0, random_state=0).fit(made.table, made.schema).sample(5000)
    for other in "BCD":
        real, kept = (t["A"].corr(t[other], method="spearman") for t in (made.table, synthetic))
        assert kept * np.sign(real) >= 0.8 * abs(real)


def test_repair_gives_the_nearest_correlation_matrix() -> None:
    rng = np.random.default_rng(0)
    for _ in range(50):
        noisy = np.clip(np.tril(rng.normal(0, 0.8, (6, 6)), -1), -1, 1)
        repaired = nearest_correlation(noisy + noisy.T + np.eye(6))
        assert np.diag(repaired) == pytest.approx(1)
        np.linalg.cholesky(repaired)
    # the example of Higham (2002), section 4: distance .5278 to the nearest matrix
    matrix = np.array([[1.0, 1.0, 0.0], [1.0, 1.0, 1.0], [0.0, 1.0, 1.0]])
    repaired = nearest_correlation(matrix)
    assert np.linalg.norm(matrix - repaired) == pytest.approx(0.5278, abs=1e-3)
    assert repaired[0, 1] == pytest.approx(0.7607, abs=1e-3)


def histogram_rows(cells: np.ndarray) -> MemoryRows:
    """Rows of one column with these cells."""
    codes = {"x": cells.astype(np.int32)}
    return MemoryRows(whole_numbers("x", 999), {"x": cells.astype(float)}, codes=codes)


def smoothed(counts: np.ndarray, epsilon: float, seed: int = 0) -> np.ndarray:
    """Counts by EFPA."""
    spectrum = Spectrum(("x",), len(counts), histogram_sensitivity("replace-one"))
    held = histogram_rows(np.repeat(np.arange(len(counts)), counts))
    curator = Curator(held, Ledger(Budget(epsilon)), SeededNoise(np.random.default_rng(seed)))
    lengths = Lengths(("x",), spectrum, epsilon / 2)
    best = int(curator.answer(Best("efpa", [lengths], 0.5)).values[0][0])  # noqa: PD011
    first = replace(spectrum, kept=best + 1)
    return spectrum.inverse(curator.answer(Numbers("efpa", [first], 0.5)).values[0])  # noqa: PD011


def test_efpa_beats_plain_noise_on_a_smooth_histogram() -> None:
    counts = np.round(400 * np.exp(-(((np.arange(256) - 100) / 40) ** 2))).astype(np.int64)
    smooth, plain = [], []
    for seed in range(20):
        smooth.append(np.abs(smoothed(counts, 0.05, seed) - counts).mean())
        noisy = SeededNoise(np.random.default_rng(seed)).laplace(counts, 2 / 0.05)
        plain.append(np.abs(noisy - counts).mean())
    assert np.mean(smooth) < 0.5 * np.mean(plain)
    exact = np.random.default_rng(0).integers(0, 100, 64)
    assert smoothed(exact, 1e9) == pytest.approx(exact, abs=0.01)


@pytest.mark.parametrize(("neighbours", "k"), [("replace-one", 1), ("add-remove", 2)])
def test_efpa_sensitivity_by_brute_force(neighbours: str, k: int) -> None:
    """All changes of a unit: of the coefficients in both norms, and of the scores of lengths."""
    m, unit = 12, histogram_sensitivity(neighbours, k)
    spectrum = Spectrum(("x",), m, unit)
    lengths = Lengths(("x",), spectrum, 0.1)
    rng = np.random.default_rng(0)
    start = rng.integers(0, m, 40)
    for _ in range(200):
        own, other = rng.integers(0, m, k), rng.integers(0, m, k)
        without = np.append(start, other) if neighbours == "replace-one" else start
        tables = [histogram_rows(codes) for codes in (np.append(start, own), without)]
        change = np.abs(np.subtract(*(spectrum.numbers(t) for t in tables)))
        assert np.all(np.cumsum(change) <= spectrum.reaches)
        assert np.sqrt((change**2).sum()) <= spectrum.in_norm
        moved = np.abs(np.subtract(*(lengths.numbers(t) for t in tables)))
        assert moved.max() <= lengths.reach.l1


@pytest.mark.parametrize("variant", ["kendall", "mle"])
@pytest.mark.parametrize("names", ["x", "xy"])
def test_one_column_and_constant_columns_work(variant: Any, names: str) -> None:
    table = pd.DataFrame({"x": [2] * 50, "y": [0, 1] * 25})[list(names)]
    model = DPCopula(1.0, variant=variant, random_state=0).fit(table, whole_numbers(names, 3))
    assert len(model.sample(10)) == 10
