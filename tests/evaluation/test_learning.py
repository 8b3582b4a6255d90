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
WORDS = Schema((SCHEMA["x"], Column("y", "categorical", categories=("no", "yes"))))
GAP, NO, YES = np.nan, ["no"] * 2, ["yes"] * 2


def table(x: str, y: list[Any], times: int = 1) -> pd.DataFrame:
    letters = [None if v == "-" else v for v in x] * times
    return pd.DataFrame({"x": letters, "y": y * times})


def line(task: str, test: pd.DataFrame, synthetic: pd.DataFrame, **more: Any) -> tuple[float, Any]:
    metric = f"mcc_{task}" if task != "regression" else "rmse"
    schema = more.pop("schema", BINARY if task == "binary" else SCHEMA)
    tables = more.pop("train", test), test, synthetic
    found = evaluate(*tables, schema, {task: "y"}, 0, metrics=[metric], **more).iloc[0]
    return found["value"], found["detail"]


def test_multiclass_mcc_by_hand() -> None:
    # predicted 0 0 1 1 2 2, true 0 1 1 1 2 0: c = 4 right of s = 6; predicted 2 2 2, true 2 3 1:
    # (c s - sum p t) / sqrt((s^2 - sum p^2)(s^2 - sum t^2)) = (24 - 12) / sqrt(24 * 22)
    taught = table("abc", [0, 1, 2], 10)  # trees need a few rows of each
    value, detail = line("multiclass", table("aabbcc", [0, 1, 1, 1, 2, 0]), taught)
    assert value == pytest.approx(12 / np.sqrt(24 * 22))
    assert detail["classes"] == pytest.approx({"0": 1 / 2, "1": 2 / 3, "2": 1.0})
    # a class absent from the synthetic rows:
    # predicted 0 0 1 1 0 1, true 0 0 1 1 2 2: (24 - 12) / sqrt((36 - 18)(36 - 12))
    test, taught = table("aabbab", [0, 0, 1, 1, 2, 2]), table("ab", [0, 1], 10)
    value, detail = line("multiclass", test, taught)
    assert value == pytest.approx(12 / np.sqrt(18 * 24)) and detail["classes"]["2"] == 0
    assert detail["note"] == "never predicted, absent from the synthetic rows: 2"


def test_binary_mcc_by_hand() -> None:
    # predicted 0 0 0 1 1 1: two right of each, one wrong of each, (4 - 1) / sqrt(3*3*3*3)
    test, taught = table("aaabbb", [0, 0, 1, 1, 1, 0]), table("ab", [0, 1], 10)
    value, detail = line("binary", test, taught)
    assert value == pytest.approx(1 / 3)
    assert detail["classes"] == pytest.approx({"0": 2 / 3, "1": 2 / 3})
    assert detail["target"] == "y" and "'n_estimators': 100, 'max_depth': 6" in detail["model"]
    _, detail = line("binary", test, taught, profile="thesis")
    assert "'n_estimators': 512, 'max_depth': 64" in detail["model"]


@pytest.mark.parametrize(
    ("test", "taught", "expected", "classes", "note"),
    [
        # Once wrong: sklearn warns where truth and prediction are one and the same class
        (("ab", [1, 1]), ("ab", [1, 1]), 0, {"1": 1}, "nothing to predict"),
        # one class is taught, or there is nothing to tell apart
        (("aabb", [0, 0, 1, 1]), ("ab", [0, 0]), 0, {"0": 1, "1": 0}, ": 1"),
        (("aabb", [0, 0, 0, 0]), ("ab", [0, 1]), 0, {"0": 0.5}, ""),
        (("a", [1]), ("b", [0]), 0, {"1": 0}, ": 1"),
        # a missing target is a class
        (("aabb", [0, 0, GAP, GAP]), ("ab", [0, GAP]), 1, {"missing": 1, "0": 1}, ""),
        (("aabb", [0, 0, GAP, GAP]), ("ab", [0, 1]), 0.5, {"missing": 0, "0": 1}, ": missing"),
        # a missing feature is a value like others
        (("aa--", [0, 0, 1, 1]), ("a-", [0, 1]), 1, {"0": 1, "1": 1}, ""),
        (("aabb", [*NO, *YES]), ("ab", ["no", "yes"]), 1, {"no": 1, "yes": 1}, ""),
        # an unknown class is learned, and never right. Predicted no no new new, true no no yes
        # yes: 2 of 4 right, predicted 2 0 2, true 2 2 0: (8 - 4) / sqrt((16 - 8)(16 - 8))
        (("aabb", [*NO, *YES]), ("ab", ["no", "new"]), 0.5, {"no": 1, "yes": 0}, ": yes"),
    ],
)
def test_special_classes(test: Any, taught: Any, expected: float, classes: Any, note: str) -> None:
    schema = WORDS if "no" in classes else BINARY
    value, detail = line("binary", table(*test), table(*taught, 10), schema=schema)
    assert value == pytest.approx(expected) and detail["classes"] == classes
    assert detail.get("note", "").endswith(note) and ("note" in detail) == bool(note)


# -- regression ----------------------------------------------------------------------------

LINE = Schema(
    (
        Column("x", "integer", minimum=0, maximum=9, missing=True),
        Column("y", "continuous", minimum=0, maximum=99, missing=True),
    )
)


def points(x: list[Any], y: list[Any]) -> pd.DataFrame:
    return pd.DataFrame({"x": x, "y": y}, dtype=float)


def regression(test: pd.DataFrame, synthetic: pd.DataFrame, **more: Any) -> tuple[float, Any]:
    return line("regression", test, synthetic, **{"schema": LINE, **more})


def test_rmse_by_hand() -> None:
    synthetic = points([0, 1, 2, 3, 4, 5], [1, 3, 5, 7, 9, 11])  # y = 1 + 2 x
    test = points([0, 1, 2, 3, 4, 5], [1, 3, 5, 7, 9, 17])  # off by 6 once: sqrt(36 / 6)
    value, detail = regression(test, synthetic, train=points([1, 2], [4, 6]))
    assert value == pytest.approx(np.sqrt(6))
    # the mean of the training rows is 5: 16 + 4 + 0 + 4 + 16 + 144 = 184 over six
    assert detail["guessing the mean"] == pytest.approx(np.sqrt(184 / 6))
    assert detail["target"] == "y"


@pytest.mark.parametrize(
    ("test", "synthetic", "expected"),
    [
        # rows without a target are left out: 13 against 11
        (
            points([0, 1, 5, 7], [1, 3, 13, GAP]),
            points([0, 1, 2, 9], [1, 3, 5, GAP]),
            np.sqrt(4 / 3),
        ),
        # known rows lie on y = 1 + 2 x with mean x = 1; missing ones have y = 8, which the flag
        # explains: 1 + 2 * 1 + 5
        (points([GAP, 0], [8, 1]), points([0, 1, 2, GAP, GAP], [1, 3, 5, 8, 8]), 0),
        # without a gap in the synthetic rows the mean is all there is: 3 against 8, 1 against 1
        (points([GAP, 0], [8, 1]), points([0, 1, 2], [1, 3, 5]), np.sqrt(25 / 2)),
        # a constant feature predicts the mean
        (points([0, 5], [4, 6]), points([3, 3], [4, 6]), 1),
    ],
)
def test_gaps_and_constants(test: pd.DataFrame, synthetic: pd.DataFrame, expected: float) -> None:
    assert regression(test, synthetic)[0] == pytest.approx(expected, abs=1e-9)


def test_a_target_that_is_never_known() -> None:
    known, gone = points([0, 1], [3, 4]), points([0, 1], [GAP, GAP])
    value, detail = regression(known, gone)
    # 0 is predicted: sqrt((9 + 16) / 2)
    assert value == pytest.approx(np.sqrt(12.5)) and "0 is predicted" in detail["note"]
    value, detail = regression(gone, known)
    assert value == 0 and "every test row" in detail["note"]
    _, detail = regression(known, known, train=gone)
    assert detail["guessing the mean"] == pytest.approx(np.sqrt(12.5))


def test_a_date_is_a_target_in_its_steps() -> None:
    day = Column("y", "datetime", minimum="2020-01-01", maximum="2020-12-31", resolution="1D")
    days = pd.to_datetime(["2020-01-01", "2020-01-03", "2020-01-05"])
    synthetic = pd.DataFrame({"x": [0, 1, 2], "y": days})
    test = pd.DataFrame({"x": [0, 1], "y": days[[0, 2]]})  # days 0 and 4, predicted 0 and 2
    found, _ = regression(test, synthetic, schema=Schema((LINE["x"], day)))
    assert found == pytest.approx(np.sqrt(2))


@pytest.mark.parametrize("huge", [1e39, -1e300])
# Once wrong: XGBoost refuses numbers beyond float32, squares overflow
@pytest.mark.parametrize("metric", ["mcc_binary", "rmse", "detection_auc", "coverage_means"])
def test_numbers_far_out_of_bounds_are_scored(metric: str, huge: float) -> None:
    schema = Schema((LINE["y"], Column("z", "integer", minimum=0, maximum=1), LINE["x"]))
    rows = pd.DataFrame({"y": np.arange(20.0), "z": [0, 1] * 10, "x": [1.0, 2.0] * 10})
    wild, tasks = rows.assign(y=[huge, *range(1, 20)]), {"binary": "z", "regression": "x"}
    found = evaluate(rows, rows, wild, schema, tasks, 0, metrics=[metric])
    assert np.isfinite(found["value"].iloc[0])
