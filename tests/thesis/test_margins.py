from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from copula_shirley.thesis.histograms import to_mass
from copula_shirley.thesis.margins import (
    TRIM,
    Margin,
    from_uniforms,
    left_limits,
    pseudo_observations,
)

counts = st.lists(st.integers(-3, 20), min_size=1, max_size=12)


def margin_of(noisy: list[int]) -> Margin:
    return Margin.of(np.arange(len(noisy), dtype=float) * 2, to_mass(np.array(noisy, float)))


def test_six_rows_by_hand() -> None:
    """Histogram rows 1, 1, 2, 4: F jumps to 1/2, 3/4 and 1; copula rows 0, 3 and 4."""
    margin = Margin.of(np.array([1.0, 2.0, 4.0]), np.array([0.5, 0.25, 0.25]))
    assert margin.cdf(np.array([0, 1, 2, 3, 4, 9.0])).tolist() == [0, 0.5, 0.75, 0.75, 1, 1]
    assert margin.left_cdf(np.array([0, 1, 2, 3, 4, 9.0])).tolist() == [0, 0, 0.5, 0.75, 0.75, 1]
    u = pseudo_observations(np.array([[0.0], [3.0], [4.0]]), [margin])
    assert u.ravel().tolist() == [TRIM, 0.75, 1 - TRIM]
    below = left_limits(np.array([[0.0], [3.0], [4.0]]), [margin])
    assert below.ravel().tolist() == [TRIM, 0.75, 0.75]
    assert margin.quantile(np.array([0, 0.3, 0.5, 0.6, 0.75, 0.8, 1])).tolist() == [
        1,
        1,
        1,
        2,
        2,
        4,
        4,
    ]


def test_missing_values_lie_below_all_others() -> None:
    margin = Margin.of(np.array([-np.inf, 1.0]), np.array([0.25, 0.75]))
    assert margin.cdf(np.array([-np.inf, 1.0])).tolist() == [0.25, 1.0]
    assert margin.quantile(np.array([0.2, 0.3])).tolist() == [-np.inf, 1.0]


@given(counts, st.floats(0, 1))
def test_quantile_is_the_generalised_inverse(noisy: list[int], u: float) -> None:
    margin = margin_of(noisy)
    x = margin.quantile(np.array([u]))
    assert margin.cdf(x)[0] >= u
    smaller = margin.atoms[(margin.atoms < x[0]) & (margin.mass > 0)]
    if len(smaller):  # no smaller atom with mass reaches u
        assert margin.cdf(smaller[-1:])[0] < u


@given(counts)
def test_quantile_of_the_cdf_gives_each_atom_with_mass(noisy: list[int]) -> None:
    margin = margin_of(noisy)
    atoms = margin.atoms[margin.mass > 0]
    assert margin.quantile(margin.cdf(atoms)).tolist() == atoms.tolist()


@given(counts)
def test_atoms_without_mass_are_never_drawn(noisy: list[int]) -> None:
    margin = margin_of(noisy)
    drawn = margin.quantile(np.linspace(0, 1, 101))
    assert set(drawn.tolist()) <= set(margin.atoms[margin.mass > 0].tolist())


@given(counts)
def test_cdf_is_monotone_and_ends_in_one(noisy: list[int]) -> None:
    margin = margin_of(noisy)
    values = margin.cdf(np.linspace(-1, 30, 50))
    assert np.all(np.diff(values) >= 0)
    assert values[-1] == 1
    assert margin.mass.sum() == pytest.approx(1)


def test_uniforms_reproduce_the_mass() -> None:
    margin = Margin.of(np.array([1.0, 2.0, 3.0]), np.array([0.2, 0.3, 0.5]))
    u = (np.arange(1000) + 0.5) / 1000
    drawn = from_uniforms(u[:, None], [margin])[:, 0]
    assert [np.mean(drawn == v) for v in (1, 2, 3)] == pytest.approx([0.2, 0.3, 0.5], abs=1e-9)
