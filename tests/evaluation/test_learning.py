from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from copula_shirley import Column, Schema
from copula_shirley.evaluation import evaluate

SCHEMA = Schema(
    (
        Column("x", "categorical", categories=("a", "b", "c"), missing=True),
        Column("y", "integer", minimum=0, maximum=2, missing=True),
    )
)
BINARY = Schema((SCHEMA["x"], Column("y", "integer", minimum=0, maximum=1, missing=True)))


def table(x: str, y: list[Any], times: int = 1) -> pd.DataFrame:
    return pd.DataFrame(
        {"x": [None if v == "-" else v for v in x] * times, "y": np.array(y * times, dtype=float)}
    )


def line(task: str, test: pd.DataFrame, synthetic: pd.DataFrame, **more: Any) -> pd.Series:
    metric = f"mcc_{task}" if task != "regression" else "rmse"
    schema = BINARY if task == "binary" else SCHEMA
    frame = evaluate(
        more.pop("train", test), test, synthetic, more.pop("schema", schema),
        {task: "y"}, 0, metrics=[metric], **more,
    )  # fmt: skip
    return frame.iloc[0]


#: What the classifier learns: a is 0, b is 1, c is 2. Trees need a few rows of each.
TAUGHT = table("abc", [0, 1, 2], 10)


def test_binary_mcc_by_hand() -> None:
    # predicted 0 0 0 1 1 1: two right of each, one wrong of each, (4 - 1) / sqrt(3*3*3*3)
    found = line("binary", table("aaabbb", [0, 0, 1, 1, 1, 0]), table("ab", [0, 1], 10))
    assert found["value"] == pytest.approx(1 / 3)
    assert found["detail"]["classes"] == pytest.approx({"0": 2 / 3, "1": 2 / 3})
    assert found["detail"]["target"] == "y"
    assert "'n_estimators': 100, 'max_depth': 6" in found["detail"]["model"]


def test_multiclass_mcc_by_hand() -> None:
    # predicted 0 0 1 1 2 2, true 0 1 1 1 2 0: c = 4 right of s = 6; predicted 2 2 2, true 2 3 1:
    # (c s - sum p t) / sqrt((s^2 - sum p^2)(s^2 - sum t^2)) = (24 - 12) / sqrt(24 * 22)
    found = line("multiclass", table("aabbcc", [0, 1, 1, 1, 2, 0]), TAUGHT)
    assert found["value"] == pytest.approx(12 / np.sqrt(24 * 22))
    assert found["detail"]["classes"] == pytest.approx({"0": 1 / 2, "1": 2 / 3, "2": 1.0})


def test_a_class_absent_from_the_synthetic_rows() -> None:
    # predicted 0 0 1 1 0 1, true 0 0 1 1 2 2: (24 - 12) / sqrt((36 - 18)(36 - 12))
    found = line("multiclass", table("aabbab", [0, 0, 1, 1, 2, 2]), table("ab", [0, 1], 10))
    assert found["value"] == pytest.approx(12 / np.sqrt(18 * 24))
    assert found["detail"]["classes"]["2"] == 0
    assert found["detail"]["note"] == "never predicted, absent from the synthetic rows: 2"


# Once wrong: sklearn warns where truth and prediction are one and the same class
@pytest.mark.parametrize("task", ["binary", "multiclass"])
def test_one_class_everywhere(task: str) -> None:
    found = line(task, table("ab", [1, 1]), table("ab", [1, 1]))
    assert found["value"] == 0


@pytest.mark.parametrize("task", ["binary", "multiclass"])
def test_a_single_class_is_worth_nothing(task: str) -> None:
    found = line(task, table("aabb", [0, 0, 1, 1]), table("ab", [0, 0]))
    assert found["value"] == 0
    assert found["detail"]["classes"] == {"0": 1.0, "1": 0.0}
    assert found["detail"]["note"].endswith(": 1")
    # the test rows have a single class: there is nothing to tell apart
    assert line(task, table("aabb", [0, 0, 0, 0]), TAUGHT)["value"] == 0
    assert line(task, table("a", [1]), table("b", [2]))["value"] == 0


def test_a_missing_target_is_a_class() -> None:
    taught = table("ab", [0, np.nan], 10)
    found = line("binary", table("aabb", [0, 0, np.nan, np.nan]), taught)
    assert found["value"] == 1
    assert found["detail"]["classes"] == {"missing": 1.0, "0": 1.0}
    lost = line("binary", table("aabb", [0, 1, np.nan, np.nan]), table("ab", [0, 1], 10))
    assert lost["detail"]["note"].endswith(": missing")


def test_a_missing_feature_is_a_value_like_others() -> None:
    taught = table("a-", [0, 1], 10)
    assert line("binary", table("aa--", [0, 0, 1, 1]), taught)["value"] == 1


def test_labels_of_categories() -> None:
    schema = Schema((SCHEMA["x"], Column("y", "categorical", categories=("no", "yes"))))
    test = table("aabb", [0, 0, 1, 1]).assign(y=["no", "no", "yes", "yes"])
    taught = table("ab", [0, 1], 10).assign(y=["no", "yes"] * 10)
    found = line("binary", test, taught, schema=schema)
    assert found["detail"]["classes"] == {"no": 1.0, "yes": 1.0}
    # an unknown class is learned, and never right
    unknown = taught.assign(y=["no", "new"] * 10)
    found = line("binary", test, unknown, schema=schema)
    # predicted no no new new, true no no yes yes: 2 of 4 right, predicted 2 0 2, true 2 2 0:
    # (8 - 4) / sqrt((16 - 8)(16 - 8))
    assert found["value"] == pytest.approx(1 / 2)
    assert found["detail"]["classes"] == {"no": 1.0, "yes": 0.0}
    assert found["detail"]["note"].endswith(": yes")


def test_the_profile_of_the_thesis() -> None:
    found = line("binary", table("aabb", [0, 0, 1, 1]), table("ab", [0, 1], 10), profile="thesis")
    assert found["value"] == 1
    assert "'n_estimators': 512, 'max_depth': 64" in found["detail"]["model"]


# -- regression ----------------------------------------------------------------------------

LINE = Schema(
    (
        Column("x", "integer", minimum=0, maximum=9, missing=True),
        Column("y", "continuous", minimum=0, maximum=99, missing=True),
    )
)


def points(x: list[Any], y: list[Any]) -> pd.DataFrame:
    return pd.DataFrame({"x": np.array(x, dtype=float), "y": np.array(y, dtype=float)})


def test_rmse_by_hand() -> None:
    synthetic = points([0, 1, 2, 3, 4, 5], [1, 3, 5, 7, 9, 11])  # y = 1 + 2 x
    test = points([0, 1, 2, 3, 4, 5], [1, 3, 5, 7, 9, 17])  # off by 6 once: sqrt(36 / 6)
    found = line("regression", test, synthetic, schema=LINE, train=points([1, 2], [4, 6]))
    assert found["value"] == pytest.approx(np.sqrt(6))
    # the mean of the training rows is 5: 16 + 4 + 0 + 4 + 16 + 144 = 184 over six
    assert found["detail"]["guessing the mean"] == pytest.approx(np.sqrt(184 / 6))
    assert found["detail"]["target"] == "y"


def test_rows_without_a_target_are_left_out() -> None:
    synthetic = points([0, 1, 2, 9], [1, 3, 5, np.nan])
    test = points([0, 1, 5, 7], [1, 3, 13, np.nan])  # 13 against 11: sqrt(4 / 3)
    test.loc[2, "y"] = 13
    found = line("regression", test, synthetic, schema=LINE)
    assert found["value"] == pytest.approx(np.sqrt(4 / 3))


def test_a_missing_feature_takes_the_mean_and_raises_a_flag() -> None:
    # known rows lie on y = 1 + 2 x with mean x = 1; missing ones have y = 8, which the flag
    # explains: 1 + 2 * 1 + 5
    synthetic = points([0, 1, 2, np.nan, np.nan], [1, 3, 5, 8, 8])
    test = points([np.nan, 0], [8, 1])
    assert line("regression", test, synthetic, schema=LINE)["value"] == pytest.approx(0, abs=1e-9)
    # without a gap in the synthetic rows the mean is all there is: 3 against 8, and 1 against 1
    plain = points([0, 1, 2], [1, 3, 5])
    found = line("regression", test, plain, schema=LINE)
    assert found["value"] == pytest.approx(np.sqrt(25 / 2))


def test_a_target_that_is_never_known() -> None:
    known, gone = points([0, 1], [3, 4]), points([0, 1], [np.nan, np.nan])
    found = line("regression", known, gone, schema=LINE)
    # 0 is predicted: sqrt((9 + 16) / 2)
    assert found["value"] == pytest.approx(np.sqrt(12.5))
    assert "0 is predicted" in found["detail"]["note"]
    found = line("regression", gone, known, schema=LINE)
    assert found["value"] == 0 and "every test row" in found["detail"]["note"]
    found = line("regression", known, known, schema=LINE, train=gone)
    assert found["detail"]["guessing the mean"] == pytest.approx(np.sqrt(12.5))


def test_a_constant_feature_predicts_the_mean() -> None:
    found = line("regression", points([0, 5], [4, 6]), points([3, 3], [4, 6]), schema=LINE)
    assert found["value"] == pytest.approx(1)


def test_a_date_is_a_target_in_its_steps() -> None:
    day = Column("y", "datetime", minimum="2020-01-01", maximum="2020-12-31", resolution="1D")
    schema = Schema((LINE["x"], day))
    days = pd.to_datetime(["2020-01-01", "2020-01-03", "2020-01-05"])
    synthetic = pd.DataFrame({"x": [0, 1, 2], "y": days})
    test = pd.DataFrame({"x": [0, 1], "y": days[[0, 2]]})  # days 0 and 4, predicted 0 and 2
    assert line("regression", test, synthetic, schema=schema)["value"] == pytest.approx(np.sqrt(2))


@pytest.mark.parametrize("huge", [1e39, -1e300])
# Once wrong: XGBoost refuses numbers beyond float32, squares overflow
@pytest.mark.parametrize("metric", ["mcc_binary", "rmse", "detection_auc", "coverage_means"])
def test_numbers_far_out_of_bounds_are_scored(metric: str, huge: float) -> None:
    schema = Schema((LINE["y"], Column("z", "integer", minimum=0, maximum=1), LINE["x"]))
    rows = pd.DataFrame({"y": np.arange(20.0), "z": [0, 1] * 10, "x": [1.0, 2.0] * 10})
    wild = rows.assign(y=[huge, *range(1, 20)])
    found = evaluate(
        rows, rows, wild, schema, {"binary": "z", "regression": "x"}, 0, metrics=[metric]
    )
    assert np.isfinite(found["value"].iloc[0])
