from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tables import whole_numbers

from copula_shirley import SettingError
from copula_shirley.errors import ArtefactError
from copula_shirley.rows.memory import MemoryRows
from copula_shirley.thesis.histograms import Atoms, split_rows
from copula_shirley.thesis.margins import TRIM, Margin, from_uniforms, pseudo_observations, to_mass

HALVES = {"histogram": 0.5, "copula": 0.5}

# -- split -----------------------------------------------------------------------------


def test_six_rows_split_in_thirds() -> None:
    shares = {"a": 1 / 3, "b": 1 / 6, "c": 0.5}
    parts = split_rows(np.arange(6), shares, "replace-one", np.random.default_rng(0))
    assert {name: len(rows) for name, rows in parts.items()} == {"a": 2, "b": 1, "c": 3}
    with pytest.raises(SettingError, match="too few"):
        split_rows(np.arange(1), HALVES, "replace-one", np.random.default_rng(0))


@given(st.integers(2, 60), st.floats(0.01, 0.99), st.integers(1, 4), st.integers(0, 5))
def test_parts_are_disjoint_and_whole(people: int, share: float, rows: int, seed: int) -> None:
    shares, units = {"a": share, "b": 1 - share}, np.repeat(np.arange(people), rows)
    for neighbours in ("replace-one", "add-remove"):
        parts = split_rows(units, shares, neighbours, np.random.default_rng(seed))
        assert sorted(np.concatenate(list(parts.values()))) == list(range(len(units)))
        assert not set(units[parts["a"]]) & set(units[parts["b"]])
        again = split_rows(units, shares, neighbours, np.random.default_rng(seed))
        assert parts["a"].tolist() == again["a"].tolist()
        if neighbours == "replace-one":
            assert len(parts["a"]) and len(parts["b"])
            assert abs(len(parts["a"]) / rows - share * people) <= 1


def test_adding_a_row_moves_no_other_row() -> None:
    """Under add/remove each unit is dealt alone, so neighbours differ in one part."""
    for seed in range(20):
        small = split_rows(np.arange(30), HALVES, "add-remove", np.random.default_rng(seed))
        large = split_rows(np.arange(31), HALVES, "add-remove", np.random.default_rng(seed))
        for name, rows in small.items():
            assert set(rows.tolist()) == set(large[name].tolist()) - {30}


# -- histograms ------------------------------------------------------------------------


def rows_of(numbers: np.ndarray) -> MemoryRows:
    return MemoryRows(whole_numbers("x", 10_000), {"x": numbers}, codes={})


def test_six_rows_counted_by_hand() -> None:
    ages = np.array([30.0, 20.0, 30.0, -np.inf, 50.0, 30.0])
    atoms = Atoms("x", np.array([-np.inf, 20.0, 30.0, 40.0, 50.0]))
    for rows in (ages, ages[::-1]):  # a published port counted in order of appearance
        assert rows_of(rows).count([atoms])[0].tolist() == [1, 1, 3, 0, 1]
    for outside in (25.0, 51.0):
        with pytest.raises(AssertionError):
            rows_of(np.array([outside])).count([atoms])


@given(st.lists(st.integers(-5, 1000) | st.floats(-1e12, 1e12), min_size=1, max_size=40))
def test_mass_is_a_distribution(noisy: list[float]) -> None:
    counts = np.maximum(noisy, 0.0)
    expected = counts / counts.sum() if counts.any() else np.full(len(counts), 1 / len(counts))
    assert to_mass(np.array(noisy, float)) == pytest.approx(expected)


# -- margins ---------------------------------------------------------------------------


def test_six_rows_by_hand() -> None:
    """Histogram rows 1, 1, 2, 4: F jumps to 1/2, 3/4 and 1; copula rows 0, 3 and 4."""
    margin = Margin.of(np.array([1.0, 2.0, 4.0]), np.array([0.5, 0.25, 0.25]))
    x = np.array([0, 1, 2, 3, 4, 9.0])
    assert margin.cdf(x).tolist() == [0, 0.5, 0.75, 0.75, 1, 1]
    assert margin.cdf(x, left=True).tolist() == [0, 0, 0.5, 0.75, 0.75, 1]
    copula_rows = np.array([[0.0], [3.0], [4.0]])
    u = pseudo_observations(copula_rows, [margin])
    assert u.ravel().tolist() == [TRIM, 0.75, 1 - TRIM]
    below = pseudo_observations(copula_rows, [margin], left=True)
    assert below.ravel().tolist() == [TRIM, 0.75, 0.75]
    drawn = from_uniforms(np.array([[0, 0.3, 0.5, 0.6, 0.75, 0.8, 1]]).T, [margin])
    assert drawn.ravel().tolist() == [1, 1, 1, 2, 2, 4, 4]


def test_missing_values_lie_below_all_others() -> None:
    margin = Margin.of(np.array([-np.inf, 1.0]), np.array([0.25, 0.75]))
    assert margin.cdf(np.array([-np.inf, 1.0])).tolist() == [0.25, 1.0]
    assert margin.quantile(np.array([0.2, 0.3])).tolist() == [-np.inf, 1.0]


@given(st.lists(st.integers(-3, 20), min_size=1, max_size=12), st.floats(0, 1))
def test_quantile_is_the_generalised_inverse(noisy: list[int], u: float) -> None:
    margin = Margin.of(np.arange(len(noisy)) * 2.0, to_mass(np.array(noisy, float)))
    values = margin.cdf(np.linspace(-1, 30, 50))
    assert np.all(np.diff(values) >= 0) and values[-1] == 1
    atoms = margin.atoms[margin.mass > 0]
    assert margin.quantile(margin.cdf(atoms)).tolist() == atoms.tolist()
    (x,) = margin.quantile(np.array([u]))
    assert x in atoms and margin.cdf(x) >= u
    smaller = atoms[atoms < x]
    if len(smaller):  # no smaller atom with mass reaches u
        assert margin.cdf(smaller[-1]) < u


@pytest.mark.parametrize(
    ("atoms", "cumulative", "words"),
    [
        ([0.0, 1.0], [1.0], "as many atoms"),
        ([1.0, 1.0], [0.5, 1.0], "ascend"),
        ([0.0, 1.0], [0.5, 0.9], "rise to 1"),
        ([0.0, 1.0, 2.0], [0.5, 0.4, 1.0], "rise to 1"),
    ],
)
def test_a_file_holds_a_distribution(
    atoms: list[float], cumulative: list[float], words: str
) -> None:
    with pytest.raises(ArtefactError, match=words):
        Margin.restored(np.array(atoms), np.array(cumulative))


@pytest.mark.parametrize(
    ("atom", "inside"), [(0, True), (9, True), (-1, False), (10, False), (0.5, False)]
)
def test_atoms_of_a_file_are_numbers_of_the_column(atom: float, inside: bool) -> None:
    (column,) = whole_numbers("x", 9)
    margin = Margin(np.array([atom], dtype=float), np.ones(1))
    assert margin.inside(column) == inside
    missing = Margin(np.array([-np.inf, atom]), np.array([0.5, 1.0]))
    assert not missing.inside(column)
    assert missing.inside(replace(column, missing=True)) == inside
