from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from copula_shirley import Column, Schema
from copula_shirley.evaluation import evaluate, kolmogorov_smirnov, spearman_drift

SCHEMA = Schema(
    (
        Column("x", "integer", minimum=0, maximum=9, missing=True),
        Column("c", "categorical", categories=("a", "b", "z")),
    )
)
REAL = pd.DataFrame({"x": [1, 2, 3, 4, 5, 6], "c": list("aabbzz")})
SHORT = pd.DataFrame({"x": [1, 2, 3], "c": list("abz")})
DRIFTS = ["spearman_drift", "spearman_drift_max", "spearman_drift_off_diagonal"]


def line(metric: str, synthetic: pd.DataFrame, train: pd.DataFrame = REAL) -> tuple[float, Any]:
    found = evaluate(train, REAL, synthetic, SCHEMA, metrics=[metric]).iloc[0]
    return found["value"], found["detail"]


def test_six_rows_by_hand() -> None:
    synthetic = pd.DataFrame({"x": [1, 2, 3, 9, 9, 9], "c": list("aaaaaz")})
    # F of x differs most at 6 (1 against 1/2); of c at "a" (1/3 against 5/6)
    expected = {"x": 0.5, "c": 0.5}
    assert kolmogorov_smirnov(REAL, synthetic, SCHEMA) == pytest.approx(expected)
    # the metric is the mean over the columns, 1/2 and 0
    assert line("ks", synthetic.assign(c=REAL["c"])) == (0.25, {"columns": {"x": 0.5, "c": 0.0}})
    # it compares with the test rows and not with the training rows
    assert line("ks", REAL, train=REAL.assign(x=9))[0] == 0
    assert line("ks", REAL.assign(x=9))[0] == 0.5


def test_missing_values_lie_below_and_unknown_categories_after_all_others() -> None:
    real = pd.DataFrame({"x": [np.nan, 5.0], "c": ["a", "z"]})
    synthetic = pd.DataFrame({"x": [0.0, 5.0], "c": ["new", "other"]})
    # F of the real rows is 1 at "z", where that of the synthetic ones is 0
    assert kolmogorov_smirnov(real, synthetic, SCHEMA) == {"x": 0.5, "c": 1.0}


@pytest.mark.parametrize(
    ("x", "expected"),
    [
        # rank correlations 1 and -1
        ([3, 2, 1], {"mean": 1.0, "maximum": 2.0, "off_diagonal_mean": 2.0}),
        # a constant column counts as uncorrelated
        ([1, 1, 1], {"mean": 0.5, "maximum": 1.0, "off_diagonal_mean": 1.0}),
    ],
)
def test_drift_by_hand(x: list[int], expected: dict[str, float]) -> None:
    assert spearman_drift(SHORT, SHORT.assign(x=x), SCHEMA) == pytest.approx(expected)


def test_the_three_drifts_by_hand() -> None:
    turned = REAL.assign(c=list("zzbbaa"))
    # centred ranks of x: -2.5 ... 2.5, squares sum to 17.5; of c: -2 -2 0 0 2 2, to 16;
    # products sum to 5 + 3 + 0 + 0 + 3 + 5 = 16, so rho = 16 / sqrt(17.5 * 16), turned -rho
    gap = 2 * 16 / np.sqrt(17.5 * 16)
    for metric, expected in zip(DRIFTS, (gap / 2, gap, gap), strict=True):  # two of four entries
        value, detail = line(metric, turned)
        assert value == pytest.approx(expected)
        assert detail["pairs"] == {"x | c": pytest.approx(gap)}
        assert detail["columns"] == pytest.approx({"x": gap, "c": gap})


@pytest.mark.parametrize(("name", "value"), [("c", "a"), ("x", np.nan)])
def test_a_constant_synthetic_column_is_named(name: str, value: Any) -> None:
    found, detail = line("spearman_drift_max", REAL.assign(**{name: value}))
    assert found == pytest.approx(16 / np.sqrt(17.5 * 16))
    assert "constant" in detail["note"] and detail["note"].endswith(f": {name}")


def test_one_column_has_no_drift() -> None:
    one = REAL[["x"]]
    frame = evaluate(one, one, one + 1, Schema(SCHEMA.columns[:1]), metrics=DRIFTS)
    assert frame["value"].tolist() == [0, 0, 0]


def test_validity_by_hand() -> None:
    # rows 2 (10 > 9), 3 (unknown category) and 4 (both) are wrong: 3 of 6 rows are valid
    synthetic = {"x": [1, 10, 3, -1, np.nan, 9], "c": ["a", "b", "new", "new", "z", "z"]}
    value, detail = line("validity", pd.DataFrame(synthetic))
    assert value == 0.5 and detail["columns"] == pytest.approx({"x": 4 / 6, "c": 4 / 6})
