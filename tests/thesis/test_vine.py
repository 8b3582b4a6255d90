from __future__ import annotations

from pathlib import Path

import msgspec
import numpy as np
import pytest
import pyvinecopulib as pv
from scipy.stats import kendalltau, norm

from copula_shirley import SettingError
from copula_shirley.errors import ArtefactError
from copula_shirley.pictures import edges_of, graphs_of, plot_trees, trees_table
from copula_shirley.thesis.vine import (
    collapse,
    family_set,
    fit_pair,
    fit_vine,
    sample_vine,
    vine_from_json,
    vine_to_json,
)

FAST = ["indep", "gaussian"]


def discrete_table(rows: int = 1500, columns: int = 4, levels: int = 6) -> np.ndarray:
    """Pseudo-observations of dependent columns with few values each.

    They stay off the corner (1, 1), where vinecopulib's densities overflow and the last bit of a
    sum decides what an optimiser finds.
    """
    rng = np.random.default_rng(5)
    z = rng.normal(size=(rows, columns))
    for j in range(1, columns):
        z[:, j] = 0.7 * z[:, j - 1] + 0.7 * z[:, j]
    ranks = norm.cdf(z / z.std(axis=0))
    return np.ceil(ranks * levels) / (levels + 1)


def plain_fit(u: np.ndarray, families: object, types: list[str] | None = None, **controls: object):  # type: ignore[no-untyped-def]
    asked = pv.FitControlsVinecop(
        selection_criterion="aic",
        tree_criterion="rho",
        family_set=family_set(families),  # type: ignore[arg-type]
        **controls,
    )
    return pv.Vinecop.from_data(np.asfortranarray(u), asked, var_types=types or [])


def assert_alike(ours: pv.Vinecop, theirs: pv.Vinecop, data: np.ndarray, rel: float) -> None:
    """The same edges, and a log-likelihood that is near."""
    edges = [
        {
            (frozenset(e["conditioned"]), frozenset(e["conditioning"]))
            for tree in vine.get_trees()
            for e in tree
        }
        for vine in (ours, theirs)
    ]
    assert edges[0] == edges[1]
    logliks = [vine.loglik(np.asfortranarray(data)) for vine in (ours, theirs)]
    assert logliks[0] == pytest.approx(logliks[1], rel=rel)


def test_collapse_by_hand() -> None:
    points = np.array([[0.2, 0.5], [0.1, 0.5], [0.2, 0.5], [0.2, 0.4], [0.1, 0.5], [0.2, 0.5]])
    distinct, weights = collapse(points)
    assert distinct.tolist() == [[0.1, 0.5], [0.2, 0.4], [0.2, 0.5]]
    assert weights.tolist() == [2, 1, 3]


def test_repeating_points_give_the_vine_of_a_plain_fit() -> None:
    u = discrete_table()
    ours = fit_vine(u, truncation=2)
    assert_alike(ours, plain_fit(u, "all", trunc_lvl=2), u, 1e-3)


def test_continuous_points_give_the_vine_of_a_plain_fit() -> None:
    u = pv.utils.to_pseudo_obs(np.random.default_rng(0).normal(size=(300, 4)).cumsum(axis=1))
    ours = fit_vine(u, families="one-parameter", truncation=None)
    assert_alike(ours, plain_fit(u, "one-parameter"), u, 1e-6)


def test_discrete_columns_give_the_vine_of_a_plain_fit() -> None:
    u = discrete_table(600, 3)
    left = np.clip(u - 1 / 7, 1e-10, 1)
    families = [*FAST, "clayton"]
    ours = fit_vine(u, families=families, left=left, discrete=[True] * 3)
    data = np.hstack([u, left])
    assert ours.var_types == ["d"] * 3
    assert_alike(ours, plain_fit(data, families, ["d"] * 3, trunc_lvl=2), data, 1e-3)


def test_weights_do_not_dilute_the_likelihood() -> None:
    """pyvinecopulib scales weights to a mean of one, which would favour few parameters."""
    u, families = discrete_table(1500, 2), family_set("parametric")
    pair, loglik = fit_pair(families, "aic", u)
    assert loglik == pytest.approx(pair.loglik(np.asfortranarray(u)), rel=1e-9)
    controls = pv.FitControlsBicop(family_set=families)
    plain = pv.Bicop.from_data(np.asfortranarray(u), controls)
    assert (pair.family, pair.rotation) == (plain.family, plain.rotation)


def test_auto_truncation_agrees_with_vinecopulib() -> None:
    rng = np.random.default_rng(11)
    for _ in range(4):
        z = rng.normal(size=(800, 5))
        z[:, 1] += z[:, 0]
        z[:, 2] += z[:, 1]
        u = pv.utils.to_pseudo_obs(z)
        ours = fit_vine(u, truncation="auto", families=FAST)
        assert ours.trunc_lvl == plain_fit(u, FAST, select_trunc_lvl=True).trunc_lvl < 4


@pytest.mark.parametrize(("asked", "trees"), [(1, 1), (2, 2), (None, 3), (99, 3)])
def test_truncation_level(asked: int | None, trees: int) -> None:
    told: list[str] = []
    vine = fit_vine(
        discrete_table(200),
        truncation=asked,
        families=FAST,
        progress=lambda stage, _: told.append(stage),
    )
    assert vine.trunc_lvl == trees
    assert told == [f"vine tree {i} of {trees}" for i in range(1, trees + 1)]


def test_sampling_keeps_dependence_and_uniform_margins() -> None:
    vine = fit_vine(discrete_table(), families=["gaussian"])
    u, again, other = (
        sample_vine(vine, 4000, np.random.default_rng(seed), threads)
        for seed, threads in ((0, 1), (0, 2), (1, 1))
    )
    assert np.array_equal(u, again) and not np.array_equal(u, other)
    assert u.shape == (4000, 4) and u.min() > 0 and u.max() < 1
    for edge in vine.get_trees()[0]:
        a, b = (i - 1 for i in edge["conditioned"])
        # the standard error of Kendall's tau from 4,000 rows is about .01
        tau = edge["pair_copula"].tau
        assert kendalltau(u[:, a], u[:, b]).statistic == pytest.approx(tau, abs=0.04)
    assert np.abs(u.mean(axis=0) - 0.5).max() < 0.025


def test_a_vine_in_a_file_is_checked_before_the_library_reads_it() -> None:
    """The library believes what it reads: a wrong size would end the process."""
    whole = vine_to_json(fit_vine(discrete_table(200), families=FAST))
    assert vine_to_json(vine_from_json(whole)) == whole
    for good, bad in (
        ('"d": 4', '"d": 5'),
        ('"t": 2', '"t": 9'),
        ('"nobs_": 0', '"nobs_": 7'),
        ('"Gaussian"', '"Student"'),
        ('"pc0"', '"pc7"'),
        ('"shape": [1, 1]', '"shape": [2, 1]'),
        ('"order": [', '"order": [1, '),
        ('"var_types": ["c", ', '"var_types": ['),
        ('"data": [[', '"data": [[1, '),
    ):
        assert good in whole
        with pytest.raises((ArtefactError, msgspec.ValidationError, KeyError)):
            vine_from_json(whole.replace(good, bad))


@pytest.mark.parametrize("shape", [(1, 3), (10, 3), (50, 1)])
def test_too_little_to_fit_is_independence(shape: tuple[int, int]) -> None:
    vine = fit_vine(np.full(shape, 0.5))
    assert sample_vine(vine, 7, np.random.default_rng(0)).shape == (7, shape[1])


def test_the_trees_can_be_read_and_drawn(tmp_path: Path) -> None:
    vine = fit_vine(discrete_table(300), families=["gaussian"], truncation=None)
    names = ["a", "b", "c", "d"]
    edges = trees_table(vine, names)
    assert edges["tree"].tolist() == [1, 1, 1, 2, 2, 3]
    assert set(edges["family"]) == {"gaussian"} and edges["tau"].between(-1, 1).all()
    graphs = graphs_of((edge for edge, _ in edges_of(vine)), names)
    assert sorted(graphs[0].nodes) == names
    # the nodes of a tree are the edges of the one before it
    assert [len(graph) for graph in graphs] == [4, 3, 2]
    plot_trees(graphs, tmp_path / "trees.png")
    assert (tmp_path / "trees.png").read_bytes().startswith(b"\x89PNG")
    with pytest.raises(SettingError, match=r"\.png"):
        plot_trees(graphs, tmp_path / "trees.xyz")
