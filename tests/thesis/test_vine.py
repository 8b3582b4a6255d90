from __future__ import annotations

import numpy as np
import pytest
import pyvinecopulib as pv
from scipy.stats import kendalltau, norm

from copula_shirley import SettingError
from copula_shirley.thesis.vine import (
    VineSettings,
    collapse,
    family_set,
    fit_pair,
    fit_vine,
    sample_vine,
)
from copula_shirley.trees import plot_trees, tree_graphs, trees_table


def discrete_table(rows: int = 1500, columns: int = 5, levels: int = 6) -> np.ndarray:
    """Pseudo-observations of dependent columns with few values each.

    They stay off the corner (1, 1), where vinecopulib's densities overflow and
    the last bit of a sum decides what an optimiser finds.
    """
    rng = np.random.default_rng(5)
    z = rng.normal(size=(rows, columns))
    for j in range(1, columns):
        z[:, j] = 0.7 * z[:, j - 1] + 0.7 * z[:, j]
    ranks = norm.cdf(z / z.std(axis=0))
    return np.ceil(ranks * levels) / (levels + 1)


def plain_fit(u: np.ndarray, **controls: object) -> pv.Vinecop:
    settings = pv.FitControlsVinecop(selection_criterion="aic", tree_criterion="rho", **controls)
    return pv.Vinecop.from_data(np.asfortranarray(u), settings)


def same_edges(ours: pv.Vinecop, theirs: pv.Vinecop) -> bool:
    def edges(vine: pv.Vinecop) -> set[tuple[frozenset[int], frozenset[int]]]:
        return {
            (frozenset(e["conditioned"]), frozenset(e["conditioning"]))
            for tree in vine.get_trees()
            for e in tree
        }

    return edges(ours) == edges(theirs)


def test_collapse_by_hand() -> None:
    points = np.array([[0.2, 0.5], [0.1, 0.5], [0.2, 0.5], [0.2, 0.4], [0.1, 0.5], [0.2, 0.5]])
    distinct, weights = collapse(points)
    assert distinct.tolist() == [[0.1, 0.5], [0.2, 0.4], [0.2, 0.5]]
    assert weights.tolist() == [2, 1, 3]


@pytest.mark.parametrize("families", ["parametric", "all"])
def test_repeating_points_give_the_vine_of_a_plain_fit(families: str) -> None:
    u = discrete_table()
    ours = fit_vine(u, VineSettings(families=families, truncation=2))
    theirs = plain_fit(u, trunc_lvl=2, family_set=family_set(families))
    assert same_edges(ours, theirs)
    ours_loglik, theirs_loglik = (v.loglik(np.asfortranarray(u)) for v in (ours, theirs))
    assert ours_loglik == pytest.approx(theirs_loglik, rel=1e-3)


def test_continuous_points_give_the_vine_of_a_plain_fit() -> None:
    u = pv.utils.to_pseudo_obs(np.random.default_rng(0).normal(size=(300, 4)).cumsum(axis=1))
    ours = fit_vine(u, VineSettings(families="one-parameter", truncation=None))
    theirs = plain_fit(u, family_set=family_set("one-parameter"))
    assert same_edges(ours, theirs)
    assert ours.loglik(np.asfortranarray(u)) == pytest.approx(
        theirs.loglik(np.asfortranarray(u)), rel=1e-6
    )


def test_discrete_columns_give_the_vine_of_a_plain_fit() -> None:
    u = discrete_table(600, 3)
    left = np.clip(u - 1 / 7, 1e-10, 1)
    families = ["indep", "gaussian", "clayton"]
    settings = VineSettings(families=families)
    ours = fit_vine(u, settings, left=left, discrete=[True] * 3)
    data = np.asfortranarray(np.hstack([u, left]))
    controls = pv.FitControlsVinecop(
        tree_criterion="rho",
        trunc_lvl=2,
        family_set=family_set(families),
    )
    theirs = pv.Vinecop.from_data(data, controls, var_types=["d"] * 3)
    assert ours.var_types == ["d"] * 3
    assert ours.loglik(data) == pytest.approx(theirs.loglik(data), rel=1e-3)


def test_weights_do_not_dilute_the_likelihood() -> None:
    """pyvinecopulib scales weights to a mean of one, which would favour few parameters."""
    u = discrete_table(1500, 2)
    pair, loglik = fit_pair(u, family_set("parametric"))
    assert loglik == pytest.approx(pair.loglik(np.asfortranarray(u)), rel=1e-9)
    plain = pv.Bicop.from_data(
        np.asfortranarray(u), pv.FitControlsBicop(family_set=family_set("parametric"))
    )
    assert (pair.family, pair.rotation) == (plain.family, plain.rotation)


def test_auto_truncation_agrees_with_vinecopulib() -> None:
    rng = np.random.default_rng(11)
    for _ in range(4):
        z = rng.normal(size=(800, 5))
        z[:, 1] += z[:, 0]
        z[:, 2] += z[:, 1]
        u = pv.utils.to_pseudo_obs(z)
        families = ["indep", "gaussian"]
        ours = fit_vine(u, VineSettings(truncation="auto", families=families))
        theirs = plain_fit(u, select_trunc_lvl=True, family_set=family_set(families))
        assert ours.trunc_lvl == theirs.trunc_lvl < 4


@pytest.mark.parametrize(("asked", "trees"), [(1, 1), (3, 3), (None, 4), (99, 4)])
def test_truncation_level(asked: int | None, trees: int) -> None:
    u = discrete_table(200)
    settings = VineSettings(truncation=asked, families=["indep", "gaussian"])
    assert fit_vine(u, settings).trunc_lvl == trees


def test_progress_names_the_trees() -> None:
    told: list[str] = []
    settings = VineSettings(families=["gaussian"], truncation=2)
    fit_vine(discrete_table(200), settings, progress=lambda stage, _: told.append(stage))
    assert told == ["vine tree 1 of 2", "vine tree 2 of 2"]


def test_sampling_keeps_dependence_and_uniform_margins() -> None:
    vine = fit_vine(discrete_table(), VineSettings(families=["gaussian"]))
    u = sample_vine(vine, 4000, np.random.default_rng(0))
    assert u.shape == (4000, 5) and u.min() > 0 and u.max() < 1
    fitted = {frozenset(e["conditioned"]): e["pair_copula"].tau for e in vine.get_trees()[0]}
    for pair, tau in fitted.items():
        a, b = (i - 1 for i in pair)
        # the standard error of Kendall's tau from 4,000 rows is about .01
        assert kendalltau(u[:, a], u[:, b]).statistic == pytest.approx(tau, abs=0.04)
    assert np.abs(u.mean(axis=0) - 0.5).max() < 0.025


def test_samples_depend_on_the_seed_and_not_on_threads() -> None:
    vine = fit_vine(discrete_table(300), VineSettings(families=["gaussian", "clayton"]))
    one, two = (sample_vine(vine, 5000, np.random.default_rng(1), t) for t in (1, 2))
    other = sample_vine(vine, 5000, np.random.default_rng(2), 1)
    assert np.array_equal(one, two) and not np.array_equal(one, other)


@pytest.mark.parametrize("shape", [(1, 3), (10, 3), (50, 1)])
def test_too_little_to_fit_is_independence(shape: tuple[int, int]) -> None:
    vine = fit_vine(np.full(shape, 0.5), VineSettings())
    u = sample_vine(vine, 7, np.random.default_rng(0))
    assert u.shape == (7, shape[1])


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("families", "martian"),
        ("families", []),
        ("families", ["gaussian", "martian"]),
        ("criterion", "r2"),
        ("tree_criterion", "pearson"),
        ("truncation", 0),
        ("truncation", -1),
        ("truncation", "never"),
        ("truncation", True),
        ("threads", 0),
    ],
)
def test_bad_settings_are_refused(setting: str, value: object) -> None:
    with pytest.raises(SettingError, match=setting):
        VineSettings(**{setting: value})  # type: ignore[arg-type]


def test_the_trees_can_be_read_and_drawn(tmp_path) -> None:  # type: ignore[no-untyped-def]
    vine = fit_vine(discrete_table(300, 4), VineSettings(families=["gaussian"], truncation=None))
    names = ["a", "b", "c", "d"]
    edges = trees_table(vine, names)
    assert edges["tree"].tolist() == [1, 1, 1, 2, 2, 3]
    assert set(edges["family"]) == {"gaussian"} and edges["tau"].between(-1, 1).all()
    first, second, third = tree_graphs(vine, names)
    assert sorted(first.nodes) == names
    # the nodes of a tree are the edges of the one before it
    assert (len(second), len(third)) == (3, 2)
    plot_trees(tree_graphs(vine, names), tmp_path / "trees.png")
    assert (tmp_path / "trees.png").read_bytes().startswith(b"\x89PNG")
    with pytest.raises(SettingError, match=r"\.png"):
        plot_trees(tree_graphs(vine, names), tmp_path / "trees.xyz")
