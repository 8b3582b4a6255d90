from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from copula_shirley import Column, Schema
from copula_shirley.evaluation import evaluate

SCHEMA = Schema(
    (
        Column("x", "integer", minimum=0, maximum=99, missing=True),
        Column("c", "categorical", categories=("a", "b", "z"), missing=True),
        Column("b", "boolean"),
    )
)


def rows(n: int, seed: int = 0, low: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    numbers, letters = rng.integers(low, low + 40, n), rng.choice(["a", "b"], n)
    return pd.DataFrame({"x": numbers, "c": letters, "b": rng.random(n) < 0.5})


def line(
    metric: str, test: pd.DataFrame, synthetic: pd.DataFrame, schema: Schema = SCHEMA
) -> tuple[float, Any]:
    found = evaluate(test, test, synthetic, schema, None, 0, metrics=[metric]).iloc[0]
    return found["value"], found["detail"]


def test_copies_cannot_be_told_apart() -> None:
    value, detail = line("detection_auc", rows(60), rows(60))
    assert value == 0.5 and detail["raw"] <= 0.5 and detail["rows of each"] == 60
    value, detail = line("propensity_mse", rows(50), rows(50))
    assert (value, detail["ratio"]) == pytest.approx((0, 0), abs=1e-9)


@pytest.mark.parametrize(
    ("synthetic", "least"),
    [
        # the trees cut somewhere in the gap, and a row of another fold may lie beside the cut
        (rows(60, 1, low=50), 0.98),
        (rows(60).assign(c="z"), 1),
        (rows(60).assign(x=np.nan), 1),
    ],
)
def test_disjoint_rows_are_always_told_apart(synthetic: pd.DataFrame, least: float) -> None:
    assert line("detection_auc", rows(60), synthetic)[0] >= least


def test_draws_of_the_same_distribution_are_hardly_told_apart() -> None:
    # the standard error of an AUC of 200 and 200 rows is .029
    value, detail = line("detection_auc", rows(200), rows(300, 1))
    assert value < 0.6 and detail["rows of each"] == 200


@pytest.mark.parametrize("n", [1, 4])
def test_too_few_rows(n: int) -> None:
    found = line("detection_auc", rows(60), rows(n, 1, low=50))
    assert found == (0.5, {"note": "fewer than 5 rows to tell apart"})
    assert 0 <= line("propensity_mse", rows(60), rows(n, 1))[0] <= 0.25


@pytest.mark.parametrize(
    ("test", "synthetic", "expected"),
    [
        # of the a 1 in 4 is synthetic, of the b 3 in 4: always 1/4 from 1/2. C = 1e4 shrinks so
        # few rows by a thousandth or two
        ("aaab", "abbb", 1 / 16),
        # three categories: chances 1/3, 2/3, 1/2 of 3, 3, 2 rows: (6 / 36 + 0) / 8
        ("aabz", "abbz", 6 / 36 / 8),
        ("aaa-", "a---", 1 / 16),  # a gap is a category
        ("aaaa", "bbbb", 0.25),  # the worst there is
        ("aaaa", "aaaa", 0),
    ],
)
def test_propensity_by_hand(test: str, synthetic: str, expected: float) -> None:
    schema = Schema((SCHEMA["c"],))
    real, made = (
        pd.DataFrame({"c": [None if v == "-" else v for v in some]}) for some in (test, synthetic)
    )
    value, detail = line("propensity_mse", real, made, schema)
    assert value == pytest.approx(expected, rel=5e-3)
    assert (detail.get("note") == "all rows are equal") == (expected == 0)
    if expected == 0:
        assert line("detection_auc", real, made, schema)[0] == 0.5


# Once wrong: about 2. (k - 1) / (16 n) holds for synthetic rows whose parameters were fitted
# to the very rows they are compared with; rows independent of them have (k - 1) / (8 n)
def test_the_ratio_of_perfect_rows_is_about_one() -> None:
    pairs = [(rows(300, 2 * s), rows(300, 2 * s + 1)) for s in range(30)]
    ratios = [line("propensity_mse", *pair)[1]["ratio"] for pair in pairs]
    # a mean of 30 chi-squared ratios with 3 degrees of freedom: standard error .15
    assert np.mean(ratios) == pytest.approx(1, abs=0.5)
