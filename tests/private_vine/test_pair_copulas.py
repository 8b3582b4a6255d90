"""Pair copulas on grids: h-functions, their inverses, and what is made of noisy tables."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from copula_shirley.private_vine.allocation import ROWS_PER_NOISE
from copula_shirley.private_vine.pair_copula import (
    PairCopula,
    best_family,
    cell_mass,
    cell_of,
    edges_of,
    pair_copula,
    rake,
    shrink_singular,
    shrink_to,
)


@st.composite
def checkerboards(draw: st.DrawFn, least: float = 1e-3) -> PairCopula:
    """Any grid and any mass; with ``least`` 0 some cells are empty."""
    classes, a, b = draw(st.integers(1, 3)), draw(st.integers(1, 6)), draw(st.integers(1, 6))
    rng = np.random.default_rng(draw(st.integers(0, 10_000)))
    edges = [np.stack([edges_of(rng.uniform(0.05, 1, k)) for _ in range(classes)]) for k in (a, b)]
    mass = rng.uniform(least, 1, (classes, a, b))
    if least == 0:
        mass *= rng.random(mass.shape) < 0.6
        mass[..., 0] += 1e-3  # no line is empty
    return PairCopula(edges[0], edges[1], mass / mass.sum(axis=(1, 2), keepdims=True), "any")


def uniform_margins(copula: PairCopula) -> PairCopula:
    """A copula in the strict sense, from a checkerboard."""
    widths = [np.diff(edges, axis=1) for edges in (copula.edges_a, copula.edges_b)]
    raked = [rake(m, a, b, sweeps=500) for m, a, b in zip(copula.mass, *widths, strict=True)]
    return PairCopula(copula.edges_a, copula.edges_b, np.stack(raked), "copula")


def points(copula: PairCopula, n: int, seed: int = 0) -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(seed)
    return rng.random(n), rng.random(n), rng.integers(0, len(copula.mass), n)


@given(checkerboards() | checkerboards(least=0))
def test_h_and_its_inverse_are_inverse_and_empty_cells_are_never_drawn(copula: PairCopula) -> None:
    share, given_, label = points(copula, 300)
    value = copula.inverse(share, given_, label)
    assert np.abs(copula.h(value, given_, label) - share).max() < 1e-12
    places = zip((copula.edges_a, copula.edges_b), (given_, value), strict=True)
    i, j = (cell_of(edges, at, label) for edges, at in places)
    inside = np.abs(value[:, None] - copula.edges_b[label]).min(axis=1) > 1e-12
    assert (copula.mass[label, i, j][inside] > 0).all()
    if (copula.mass > 0).all():
        back = copula.inverse(copula.h(share, given_, label), given_, label)
        assert np.abs(back - share).max() < 1e-12


@given(checkerboards(least=0))
def test_h_is_a_distribution_function(copula: PairCopula) -> None:
    _, given_, label = points(copula, 50)
    steps = np.linspace(0, 1, 101)
    ladder = np.stack([copula.h(np.full(50, v), given_, label) for v in steps])
    assert np.abs(ladder[0]).max() == 0
    assert np.abs(ladder[-1] - 1).max() < 1e-14
    assert (np.diff(ladder, axis=0) >= -1e-15).all()
    for end in (0.0, 1.0):
        found = copula.inverse(np.full(50, end), given_, label)
        assert ((found >= 0) & (found <= 1)).all()


@settings(max_examples=20)
@given(checkerboards())
def test_turned_exchanges_the_variables(copula: PairCopula) -> None:
    copula = uniform_margins(copula)
    turned = copula.turned()
    again = turned.turned()
    assert np.array_equal(again.mass, copula.mass) and again.family == copula.family
    assert np.array_equal(turned.edges_a, copula.edges_b)
    # P(a in cell i, b <= v) from both sides, at the edges of the grid
    for y, mass in enumerate(copula.mass):
        for one, edges, at, table in (
            (copula, copula.edges_a[y], copula.edges_b[y], mass),
            (turned, copula.edges_b[y], copula.edges_a[y], mass.T),
        ):
            middle, label = (edges[1:] + edges[:-1]) / 2, np.full(len(edges) - 1, y)
            for j, v in enumerate(at):
                found = one.h(np.full(len(middle), v), middle, label) * np.diff(edges)
                assert np.abs(found - table[:, :j].sum(axis=1)).max() < 1e-8  # raking stops there


def test_h_by_hand() -> None:
    edges = np.array([[0.0, 0.5, 1.0]])
    copula = PairCopula(edges, edges, np.array([[[0.4, 0.1], [0.1, 0.4]]]), "checkerboard")
    label = np.zeros(4, dtype=int)
    value, below = np.array([0.25, 0.5, 0.75, 0.25]), np.array([0.1, 0.1, 0.1, 0.9])
    assert copula.h(value, below, label) == pytest.approx([0.4, 0.8, 0.9, 0.1])
    assert copula.inverse(np.array([0.4, 0.8, 0.9, 0.1]), below, label) == pytest.approx(value)
    # tau of this density: 4 * (P(concordant) / 2 ...) = .3
    assert copula.tau == pytest.approx(0.3)
    three = copula.for_classes(3)
    assert three.mass.shape == (3, 2, 2)
    assert three.h(value, below, np.array([0, 1, 2, 2])) == pytest.approx([0.4, 0.8, 0.9, 0.1])


def test_edges_ascend_from_0_to_1() -> None:
    for mass in ([1.0], [0.0, 3.0, 1.0], [5.0, 0.0, 0.0]):
        edges = edges_of(np.array(mass))
        assert edges[0] == 0 and edges[-1] == 1 and (np.diff(edges) > 0).all()
        assert np.diff(edges) == pytest.approx(np.array(mass) / sum(mass), abs=1e-7)


def test_raking_meets_both_margins() -> None:
    rng = np.random.default_rng(0)
    rows, columns = rng.dirichlet(np.ones(4)), rng.dirichlet(np.ones(6))
    raked = rake(rng.random((4, 6)) + 0.1, rows, columns, sweeps=200)
    assert raked.sum(axis=1) == pytest.approx(rows, abs=1e-12)
    assert raked.sum(axis=0) == pytest.approx(columns, abs=1e-12)


def test_noise_is_shrunk_away_and_signal_is_not() -> None:
    rng = np.random.default_rng(0)
    noise = rng.normal(0, 3, (10, 20))
    assert not shrink_singular(noise * 0.8, 3).any()  # all values are below the noise's edge
    signal = 200 * np.outer(rng.normal(size=10), rng.normal(size=20))
    error = shrink_singular(signal + noise, 3) - signal
    assert np.linalg.norm(error) < 0.7 * np.linalg.norm(noise)
    assert np.array_equal(shrink_singular(noise, 0.0), noise)
    assert shrink_singular(signal.T + noise.T, 3) == pytest.approx(
        shrink_singular(signal + noise, 3).T
    )


def test_without_noise_the_table_is_kept() -> None:
    rng = np.random.default_rng(1)
    table = rng.integers(5, 90, (3, 4, 2)).astype(float)
    rows, columns = table.sum(axis=1), table.sum(axis=0)
    copula = pair_copula(table, 0.0, rows, columns, families=True)
    assert copula.family == "checkerboard"
    for y in range(2):
        assert copula.mass[y] == pytest.approx(table[:, :, y] / table[:, :, y].sum(), rel=1e-6)
    kept = shrink_to(table[..., 0], np.ones((3, 4)), 0.0, rows[:, 0], columns[:, 0])
    assert kept == pytest.approx(table[..., 0], rel=1e-6)


@pytest.mark.parametrize("tau", [-0.6, 0.3, 0.7])
def test_a_family_is_found_again_from_noisy_counts(tau: float) -> None:
    import pyvinecopulib as pv  # noqa: PLC0415

    family = pv.families.gaussian
    core = pv.Bicop(family, 0, pv.Bicop(family).tau_to_parameters(tau))
    edges, n, sigma = np.linspace(0, 1, 9), 20_000, 20.0
    noise = np.random.default_rng(3).normal(0, sigma, (8, 8))
    noisy = n * cell_mass(core, edges, edges) + noise
    found = best_family(noisy, edges, edges, sigma)
    assert found.family.name == "gaussian"
    assert found.tau == pytest.approx(tau, abs=0.02)
    margin = np.full((8, 1), n / 8)
    copula = pair_copula(noisy[:, :, None], sigma, margin, margin, families=True)
    assert copula.family.startswith("gaussian")
    assert copula.tau == pytest.approx(tau, abs=0.03)
    assert copula.mass.sum() == pytest.approx(1) and (copula.mass > 0).all()
    widths = np.diff(copula.edges_a[0])
    assert copula.mass[0].sum(axis=1) == pytest.approx(widths, abs=2e-3)


@pytest.mark.parametrize("seed", range(8))
def test_pure_noise_gives_almost_independence(seed: int) -> None:
    """Tables are so coarse that a cell holds three standard deviations of noise."""
    rng = np.random.default_rng(seed)
    margin = np.full((6, 1), 100.0)
    sigma = 600 / 36 / ROWS_PER_NOISE
    noisy = 600 / 36 + rng.normal(0, sigma, (6, 6, 1))
    assert abs(pair_copula(noisy, sigma, margin, margin, families=True).tau) < 0.15


def test_a_smooth_checkerboard_keeps_its_cells_and_gains_dependence() -> None:
    """Inside its cells a plain checkerboard is independent, and so loses correlation."""
    mass = np.full((4, 4), 0.01) + np.eye(4) * 0.21
    cube = 1000 * mass[:, :, None] / mass.sum()
    margin = cube.sum(axis=1)
    plain = pair_copula(cube, 0.0, margin, margin, families=False)
    smooth = pair_copula(cube, 0.0, margin, margin, families=True)
    assert (plain.family, smooth.family) == ("checkerboard", "smooth checkerboard")
    fine = smooth.mass[0].reshape(4, 12, 4, 12).sum(axis=(1, 3))
    assert fine == pytest.approx(plain.mass[0], abs=1e-9)
    assert smooth.tau > plain.tau + 0.01
