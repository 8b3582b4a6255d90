"""Intervals, pairs, coefficients and tables, by hand."""

from __future__ import annotations

from math import sqrt
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from paper_frames import lines, lost, models, scores

from copula_shirley.errors import SettingError
from copula_shirley.experiments.estimates import estimate
from copula_shirley.experiments.paper.coefficients import (
    SHOWN_ROWS,
    scatter_rows,
    with_coefficients,
)
from copula_shirley.experiments.paper.gather import read, write
from copula_shirley.experiments.paper.scores import Scores, by_fold, prepared
from copula_shirley.experiments.paper.tables import (
    failures,
    origins,
    table_5_1,
    table_5_2,
    table_of_models,
)


@pytest.mark.parametrize(
    ("values", "reach", "whisker"),
    [
        ([1.0, 2.0, 3.0], 4.302653 / sqrt(3), 4.302653 / sqrt(3)),  # t(2, .975)
        ([1.0, 2.0], 12.7062 / 2, 0.5),  # two folds are drawn as they are
        ([2.0], 0.0, 0.0),
    ],
)
def test_intervals_by_hand(values: list[float], reach: float, whisker: float) -> None:
    found = estimate(values)
    assert found.mean == np.mean(values) and found.folds == len(values)
    assert found.reach == pytest.approx(reach, rel=1e-5)
    assert found.whiskers == pytest.approx((whisker, whisker), rel=1e-5)
    assert estimate([]).folds == 0


def test_seeds_of_a_fold_are_averaged_first() -> None:
    first = lines("models", "PrivBayes", {"ks": 0.0}, folds=(0, 1), seed=0)
    second = lines("models", "PrivBayes", {"ks": 1.0}, folds=(0,), seed=1)
    found = scores(first, second).estimate("models", "ks", "compas", "PrivBayes")
    assert found.folds == 2
    assert found.mean == pytest.approx((0.5 + 0.01) / 2)


def test_pairs_take_the_folds_and_epsilons_that_both_have() -> None:
    parts = [
        lines("models", "PrivBayes", {"ks": 0.5}, epsilon=1.0, folds=(0, 1, 2)),
        lines("models", "PrivBayes", {"ks": 9.0}, epsilon=8.0, folds=(0, 1, 2)),
        lines("models", "DP-Copula", {"ks": 0.2}, epsilon=1.0, folds=(1, 2, 3)),
    ]
    names, frame = ("PrivBayes", "DP-Copula"), scores(*parts)
    found = by_fold(names, [frame.values("models", "ks", "compas", name) for name in names])
    assert list(found.index) == [1, 2] and tuple(found.columns) == names
    assert list(found["PrivBayes"] - found["DP-Copula"]) == pytest.approx([0.3, 0.3])


def test_a_fold_under_way_does_not_count_for_the_mean_over_epsilons() -> None:
    parts = [
        lines("models", "PrivBayes", {"ks": 0.1}, epsilon=None, folds=(0, 1, 2)),
        lines("models", "PrivBayes", {"ks": 0.5}, epsilon=1.0, folds=(0, 1)),
    ]
    found = scores(*parts).estimate("models", "ks", "compas", "PrivBayes")
    assert found.folds == 2
    assert found.mean == pytest.approx((0.3 + 0.31) / 2)
    alone = scores(*parts).estimate("models", "ks", "compas", "PrivBayes", "", float("inf"))
    assert alone.folds == 3


# -- the frame -------------------------------------------------------------------


def test_a_frame_survives_csv(tmp_path: Path) -> None:
    found = [*models(), lost("models", "PrivBayes", "failed", "x", epsilon=None)]
    frame = prepared(pd.DataFrame(found))
    frame.loc[0, "value"] = 0.1 + 0.2  # 0.30000000000000004
    write(frame, tmp_path / "results.csv")
    again, rows = read(tmp_path / "results.csv")
    pd.testing.assert_frame_equal(frame, again, check_dtype=False, check_exact=True)
    assert rows.empty
    some = pd.DataFrame({"generator": ["PrivateVine"] * 2, "epsilon": [1.0, np.nan]})
    some[list("ABCDEF")] = 0.25
    write(some, tmp_path / "scatter.csv")
    pd.testing.assert_frame_equal(read(tmp_path / "results.csv")[1], some, check_dtype=False)


def test_what_is_no_frame_is_refused() -> None:
    frame = pd.DataFrame(models()).astype({"value": object})
    with pytest.raises(SettingError, match="'proved'"):
        prepared(frame.drop(columns="proved"))
    frame.loc[0, "value"] = "many"
    with pytest.raises(SettingError, match="'value' must hold numbers"):
        prepared(frame)


# -- coefficients and tables ----------------------------------------------------------


def made_frame() -> tuple[pd.DataFrame, dict[str, pd.DataFrame]]:
    rng = np.random.default_rng(0)
    names = ("COPULA-SHIRLEY", "PrivateVine")
    found = [
        line
        for name in names
        for epsilon in (None, 1.0)
        for line in lines("multivariate", name, {"ks": 0.1}, dataset="made", epsilon=epsilon)
    ]
    frame = pd.DataFrame(found)
    tables = {
        key: pd.DataFrame(rng.normal(size=(600, 6)), columns=list("ABCDEF"))
        for key in frame["id"].unique()
    }
    return frame, tables


def test_coefficients_join_the_frame_and_rows_are_kept_for_the_scatter_plots() -> None:
    frame, tables = made_frame()
    more = with_coefficients(frame, tables)
    assert len(more) == len(frame) + 7 * len(tables)
    own = more[(more["id"] == frame["id"][0]) & (more["metric"] == "spearman A-B")]
    table = tables[frame["id"][0]]
    assert own["value"].iloc[0] == pytest.approx(table["A"].corr(table["B"], method="spearman"))
    rows = scatter_rows(prepared(frame), tables)
    assert len(rows) == 4 * SHOWN_ROWS
    assert list(rows.columns) == ["generator", "epsilon", *"ABCDEF"]


def test_errors_of_table_5_2_by_hand() -> None:
    frame, tables = made_frame()
    table = table_5_2(Scores(prepared(with_coefficients(frame, tables))))
    shirley = table[(table["generator"] == "COPULA-SHIRLEY") & (table["source"] == "thesis")]
    # |.0011| + |.0010| + |.0444| + |.1224| + |.0041| + |.2397| + |.1353| = .5480
    assert float(shirley["mean abs. error"].iloc[0]) == pytest.approx(0.5480 / 7, abs=1e-4)


def test_table_5_1_sums_fit_and_sample_beside_the_print() -> None:
    seconds = {"fit_seconds": 60.0, "sample_seconds": 30.0}
    table = table_5_1(scores(lines("runtime", "DP-Copula", seconds, dataset="diabetes130")))
    assert list(table.iloc[0, :4]) == [
        "diabetes130 (stand-in for Texas)", "DP-Copula", "17.945", "1.500"
    ]  # fmt: skip


def test_the_models_table_says_claimed_and_proved() -> None:
    table = table_of_models(scores(models()), "compas")
    assert len(table) == 5 * 2 + 1
    assert list(table["claimed"][:2]) == ["nothing", "epsilon 0.1"]
    assert set(table["proved"]) == {"nothing"}


def test_failures_alike_are_one_line() -> None:
    frame = scores(
        models(),
        [lost("models", name, "skipped", "not here", dataset="texas") for name in ("a", "b")],
        [lost("encoders", "c", "failed", "Error: x\ntrace", variant="encoder onehot")],
    ).frame
    found = failures(frame)
    assert list(found["runs"]) == [2, 1]
    assert list(found["who"]) == ["2 generators", "c encoder onehot"]
    assert found["reason"].iloc[1] == "Error: x"


def test_origins_name_commit_and_versions() -> None:
    found = origins(scores(models(), lines("ratio", "x", {"ks": 1.0}, dirty=True)).frame)
    assert list(found["commit"]) == ["abcdef0123", "abcdef0123 (files differed)"]
    assert "numpy 2.4.6" in found["made by"].iloc[0]
