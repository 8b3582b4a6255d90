from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from copula_shirley import Column, Schema
from copula_shirley.evaluation import evaluate

NUMBER = Column("n", "continuous", minimum=0, maximum=99, missing=True)
LETTER = Column("c", "categorical", categories=("a", "b", "z"), missing=True)


def means(column: Column, real: Any, synthetic: Any) -> pd.Series:
    """Training and test rows are the two halves of the real ones."""
    real, synthetic = (pd.DataFrame({column.name: list(v)}) for v in (real, synthetic))
    half = len(real) // 2
    tables = real[:half], real[half:], synthetic
    return evaluate(*tables, Schema((column,)), metrics=["coverage_means"]).iloc[0]


def test_the_mean_of_a_number_by_hand() -> None:
    # synthetic mean 4, deviation sqrt(10 / 5), reach 1.96 * 1.414 / sqrt(6) = 1.1316
    synthetic = [2.0, 3, 4, 5, 6, 4]
    missed = means(NUMBER, [1.0, 2, 3, 1, 2, 3], synthetic)
    assert missed["value"] == 0
    detail = missed["detail"]["intervals"]["n"]
    assert detail["interval"] == pytest.approx((4 - 1.1316, 4 + 1.1316), abs=1e-3)
    assert detail["real"] == 2
    # the mean of training and test rows together, 3, lies inside
    assert means(NUMBER, [3.0, 3, 3, 3], synthetic)["value"] == 1
    assert means(NUMBER, [0.0, 0, 6, 6], synthetic)["value"] == 1


def test_the_shares_of_categories_by_hand() -> None:
    # a share of 3 in 6 has the Wilson interval .5 +- 1.96 / (1 + 3.84 / 6) *
    # sqrt(.25 / 6 + 3.84 / 144) = .1876 to .8124
    assert means(LETTER, "aaaabb", "aaabbb")["value"] == 1  # 4/6 and 2/6
    assert means(LETTER, "aaaaab", "aaabbb")["value"] == 0  # 5/6 and 1/6
    # a share of 0 in 6 has 0 to 3.84 / 6 / (1 + 3.84 / 6) = .3903: z with 2/6 is covered, so
    # are a 2/6 and b 2/6
    assert means(LETTER, "aabbzz", "aaabbb")["value"] == 1
    # z with 3/6 is not, a 1/6 is not, b 2/6 is: one of three
    assert means(LETTER, "abbzzz", "aaabbb")["value"] == pytest.approx(1 / 3)


def test_missing_values() -> None:
    # a category of its own among categories
    assert means(LETTER, ["a", None] * 3, ["a", None] * 3)["value"] == 1
    assert means(LETTER, ["a", None] * 3, "aaaaaa")["value"] == 0
    # a 3/6 is covered by .1876 to .8124, b with 0 is not, the gap with 3/6 is not by 0 to .3903
    assert means(LETTER, ["a", None] * 3, "aaabbb")["value"] == pytest.approx(1 / 3)
    # and left out of a mean
    nan = np.nan
    assert means(NUMBER, [2.0, nan, 2.0, nan], [1.0, 3.0, nan])["value"] == 1
    assert means(NUMBER, [nan, nan], [nan, nan, nan])["value"] == 1
    assert means(NUMBER, [nan, nan], [1.0, 2.0])["value"] == 0
    assert means(NUMBER, [1.0, 2.0], [nan, nan])["value"] == 0


def test_one_synthetic_row_has_an_interval_of_no_width() -> None:
    assert means(NUMBER, [2.0, 2.0], [2.0])["value"] == 1
    assert means(NUMBER, [2.0, 3.0], [2.0])["value"] == 0


def test_dates_and_booleans() -> None:
    day = Column("d", "datetime", minimum="2020-01-01", maximum="2020-12-31", resolution="1D")
    days = pd.date_range("2020-01-01", periods=10)
    assert means(day, days, days)["value"] == 1
    assert means(day, days, days + pd.Timedelta("90D"))["value"] == 0
    yes = Column("b", "boolean")
    assert means(yes, [True, False] * 5, [True, False] * 5)["value"] == 1
    assert means(yes, [True, False] * 50, [True] * 100)["value"] == 0


def test_unknown_categories_take_the_place_of_known_ones() -> None:
    assert means(LETTER, "aaaaaa", ["new"] * 6)["value"] == 0


# -- coefficients --------------------------------------------------------------------------

LINE = Schema(
    (
        Column("x", "integer", minimum=0, maximum=9, missing=True),
        Column("w", "integer", minimum=0, maximum=9, missing=True),
        Column("y", "continuous", minimum=0, maximum=99, missing=True),
    )
)


def coefficients(real: dict[str, Any], synthetic: dict[str, Any]) -> pd.Series:
    tables = [pd.DataFrame(t).astype(float) for t in (real, synthetic)]
    schema = Schema(tuple(column for column in LINE if column.name in real))
    frame = evaluate(
        tables[0], *tables, schema, {"regression": "y"}, metrics=["coverage_coefficients"]
    )
    return frame.iloc[0]


def test_coefficients_by_hand() -> None:
    # x is 0 or 2, scaled to -1 or 1. Synthetic means 2 and 6: constant 4, slope 2; squares of
    # the residuals 2 + 2 over 6 - 2 are 1, errors 1 / sqrt(6), intervals +- .8002
    synthetic = {"x": [0, 0, 0, 2, 2, 2], "y": [1, 2, 3, 5, 6, 7]}
    # real means 1.5 and 7.5: constant 4.5, which is covered, and slope 3, which is not
    found = coefficients({"x": [0, 0, 2, 2], "y": [1, 2, 7, 8]}, synthetic)
    assert found["detail"]["columns"] == {"constant": 1.0, "x": 0.0}
    assert found["value"] == 0.5
    intervals = found["detail"]["intervals"]
    assert intervals["x"]["interval"] == pytest.approx((2 - 0.8002, 2 + 0.8002), abs=1e-3)
    assert intervals["x"]["real"] == pytest.approx(3)
    assert intervals["constant"]["interval"] == pytest.approx((3.1998, 4.8002), abs=1e-3)


def test_exact_lines_have_intervals_of_no_width() -> None:
    real = {"x": [0, 1, 2, 3, 4, 5], "y": [1, 3, 5, 7, 9, 11]}  # 6 at the mean of x, slope 2
    assert coefficients(real, real)["value"] == 1
    # slope 3, but 6 at the mean of x = 2.5
    steeper = {"x": [1, 2, 3, 4], "y": [1.5, 4.5, 7.5, 10.5]}
    found = coefficients(real, steeper)
    assert found["detail"]["columns"] == {"constant": 1.0, "x": 0.0}


def test_what_the_synthetic_rows_do_not_determine_is_not_covered() -> None:
    real = {"x": [0, 1, 2, 3], "y": [1, 3, 5, 7]}
    found = coefficients(real, {"x": [1, 1, 1], "y": [3, 3, 3]})
    assert found["detail"]["columns"]["x"] == 0
    twins = {"x": [0, 1, 2, 3, 4], "w": [0, 1, 2, 3, 4], "y": [0, 1, 2, 3, 4]}
    apart = {"x": [0, 1, 2, 3, 4], "w": [1, 0, 4, 2, 3], "y": [0, 1, 2, 3, 4]}
    found = coefficients(apart, twins)
    assert found["detail"]["columns"]["x"] == found["detail"]["columns"]["w"] == 0
    # and what the real rows do not determine is left out
    found = coefficients(twins, apart)
    assert set(found["detail"]["columns"]) == {"constant"}


def test_gaps_have_a_coefficient_of_their_own() -> None:
    real = {"x": [0, 1, 2, np.nan, np.nan], "y": [1, 3, 5, 8, 8]}
    found = coefficients(real, real)
    assert found["detail"]["columns"] == {"constant": 1.0, "x": 1.0, "x missing": 1.0}
    without = coefficients(real, {"x": [0, 1, 2], "y": [1, 3, 5]})
    assert without["detail"]["columns"]["x missing"] == 0


def test_a_target_that_is_never_known() -> None:
    known, gone = {"x": [0, 1], "y": [1, 3]}, {"x": [0, 1], "y": [np.nan] * 2}
    assert "every synthetic row" in coefficients(known, gone)["detail"]["note"]
    assert "every real row" in coefficients(gone, known)["detail"]["note"]


# Once wrong: the mean of nothing, NaN
def test_real_rows_that_determine_nothing() -> None:
    gone = {"x": [np.nan] * 4, "y": [1, 2, 3, 4]}
    found = coefficients(gone, gone)
    assert 0 <= found["value"] <= 1
    assert "note" in found["detail"]


def test_perfect_rows_cover_four_times_in_five() -> None:
    # 83 % is what the module says of perfect rows, as many as real ones
    rng = np.random.default_rng(0)
    columns = tuple(Column(f"x{i}", "continuous", minimum=-99, maximum=99) for i in range(400))
    names = [column.name for column in columns]
    train, test = (pd.DataFrame(rng.normal(size=(40, 400)), columns=names) for _ in range(2))
    synthetic = pd.DataFrame(rng.normal(size=(80, 400)), columns=names)
    frame = evaluate(train, test, synthetic, Schema(columns), metrics=["coverage_means"])
    # 400 columns: standard error .019
    assert frame["value"].iloc[0] == pytest.approx(0.83, abs=0.06)
    assert frame["detail"].iloc[0]["perfect rows"] == pytest.approx(0.834, abs=1e-3)
    # Once wrong: 83 % promised for any number of rows. Four times as many synthetic ones have
    # intervals of half the width: 1.96 / sqrt(1 + 4) = .8765 standard deviations, 62 %
    many = pd.DataFrame(rng.normal(size=(320, 400)), columns=names)
    frame = evaluate(train, test, many, Schema(columns), metrics=["coverage_means"])
    assert frame["detail"].iloc[0]["perfect rows"] == pytest.approx(0.6192, abs=1e-3)
    assert frame["value"].iloc[0] == pytest.approx(0.62, abs=0.07)
