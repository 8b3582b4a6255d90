from __future__ import annotations

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
    return pd.DataFrame(
        {
            "x": rng.integers(low, low + 40, n),
            "c": rng.choice(["a", "b"], n),
            "b": rng.random(n) < 0.5,
        }
    )


def line(metric: str, test: pd.DataFrame, synthetic: pd.DataFrame, seed: int = 0) -> pd.Series:
    return evaluate(test, test, synthetic, SCHEMA, None, seed, metrics=[metric]).iloc[0]


def test_copies_cannot_be_told_apart() -> None:
    test = rows(60)
    found = line("detection_auc", test, test)
    assert found["value"] == 0.5
    assert found["detail"]["raw"] <= 0.5 and found["detail"]["rows of each"] == 60


def test_disjoint_rows_are_always_told_apart() -> None:
    # the trees cut somewhere in the gap, and a row of another fold may lie beside the cut
    assert line("detection_auc", rows(60), rows(60, 1, low=50))["value"] > 0.98
    assert line("detection_auc", rows(60), rows(60).assign(c="z"))["value"] == 1
    assert line("detection_auc", rows(60), rows(60).assign(x=np.nan))["value"] == 1


def test_draws_of_the_same_distribution_are_hardly_told_apart() -> None:
    # the standard error of an AUC of 200 and 200 rows is .029
    assert line("detection_auc", rows(200), rows(200, 1))["value"] < 0.6


def test_as_many_rows_of_each() -> None:
    for n, m in ((30, 80), (80, 30)):
        found = line("detection_auc", rows(n), rows(m, 1))
        assert found["detail"]["rows of each"] == 30


def test_constant_tables() -> None:
    same = pd.DataFrame({"x": [1] * 8, "c": ["a"] * 8, "b": [True] * 8})
    assert line("detection_auc", same, same)["value"] == 0.5
    assert line("propensity_mse", same, same)["value"] == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("n", [1, 4])
def test_too_few_rows(n: int) -> None:
    found = line("detection_auc", rows(60), rows(n, 1, low=50))
    assert found["value"] == 0.5 and found["detail"]["note"] == "fewer than 5 rows to tell apart"
    assert 0 <= line("propensity_mse", rows(60), rows(n, 1))["value"] <= 0.25


# -- pMSE ----------------------------------------------------------------------------------

ONE = Schema((Column("c", "categorical", categories=("a", "b", "z"), missing=True),))


def shares(test: str, synthetic: str) -> pd.Series:
    tables = [pd.DataFrame({"c": [None if v == "-" else v for v in t]}) for t in (test, synthetic)]
    return evaluate(tables[0], *tables, ONE, None, 0, metrics=["propensity_mse"]).iloc[0]


def test_identical_rows_have_no_propensity() -> None:
    found = line("propensity_mse", rows(50), rows(50))
    assert found["value"] == pytest.approx(0, abs=1e-12)
    assert found["detail"]["ratio"] == pytest.approx(0, abs=1e-9)


def test_propensity_by_hand() -> None:
    # of the a 1 in 4 is synthetic, of the b 3 in 4: always 1/4 from 1/2. C = 1e4 shrinks so few
    # rows by a thousandth or two
    assert shares("aaab", "abbb")["value"] == pytest.approx(1 / 16, rel=5e-3)
    # three categories: chances 1/3, 2/3, 1/2 of 3, 3, 2 rows: (6 / 36 + 0) / 8
    assert shares("aabz", "abbz")["value"] == pytest.approx(6 / 36 / 8, rel=5e-3)
    # a gap is a category
    assert shares("aaa-", "a---")["value"] == pytest.approx(1 / 16, rel=5e-3)


def test_disjoint_rows_have_the_worst_propensity() -> None:
    assert shares("aaaa", "bbbb")["value"] == pytest.approx(0.25, abs=1e-3)
    assert line("propensity_mse", rows(40), rows(40, 1, low=50))["value"] > 0.2


def test_one_category_alone() -> None:
    found = shares("aaaa", "aaaa")
    assert found["value"] == 0 and found["detail"]["note"] == "all rows are equal"


# Once wrong: about 2. (k - 1) / (16 n) holds for synthetic rows whose parameters were fitted
# to the very rows they are compared with; rows independent of them have (k - 1) / (8 n)
def test_the_ratio_of_perfect_rows_is_about_one() -> None:
    ratios = [
        line("propensity_mse", rows(300, 2 * s), rows(300, 2 * s + 1))["detail"]["ratio"]
        for s in range(30)
    ]
    # a mean of 30 chi-squared ratios with 3 degrees of freedom: standard error .15
    assert np.mean(ratios) == pytest.approx(1, abs=0.5)
