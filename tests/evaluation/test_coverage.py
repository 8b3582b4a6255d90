from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from copula_shirley import Column, Schema
from copula_shirley.evaluation import evaluate

NUMBER = Column("n", "continuous", minimum=0, maximum=99, missing=True)
LETTER = Column("c", "categorical", categories=("a", "b", "z"), missing=True)
DAY = Column("d", "datetime", minimum="2020-01-01", maximum="2020-12-31", resolution="1D")
YES = Column("b", "boolean")
DAYS = pd.date_range("2020-01-01", periods=10)
GAP = np.nan


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


@pytest.mark.parametrize(
    ("column", "real", "synthetic", "expected"),
    [
        # a share of 3 in 6 has the Wilson interval .5 +- 1.96 / (1 + 3.84 / 6) *
        # sqrt(.25 / 6 + 3.84 / 144) = .1876 to .8124: 4/6 and 2/6 lie inside, 5/6 and 1/6 do not
        (LETTER, "aaaabb", "aaabbb", 1),
        (LETTER, "aaaaab", "aaabbb", 0),
        # a share of 0 in 6 has 0 to 3.84 / 6 / (1 + 3.84 / 6) = .3903: z with 2/6 is covered, so
        # are a 2/6 and b 2/6
        (LETTER, "aabbzz", "aaabbb", 1),
        # z with 3/6 is not, a 1/6 is not, b 2/6 is: one of three
        (LETTER, "abbzzz", "aaabbb", 1 / 3),
        # a gap is a category of its own: a 3/6 is covered by .1876 to .8124, b with 0 is not, the
        # gap with 3/6 is not by 0 to .3903
        (LETTER, ["a", None] * 3, ["a", None] * 3, 1),
        (LETTER, ["a", None] * 3, "aaaaaa", 0),
        (LETTER, ["a", None] * 3, "aaabbb", 1 / 3),
        # an unknown category takes the place of a known one
        (LETTER, "aaaaaa", ["new"] * 6, 0),
        # and gaps are left out of a mean
        (NUMBER, [2.0, GAP, 2.0, GAP], [1.0, 3.0, GAP], 1),
        (NUMBER, [GAP, GAP], [GAP, GAP, GAP], 1),
        (NUMBER, [GAP, GAP], [1.0, 2.0], 0),
        (NUMBER, [1.0, 2.0], [GAP, GAP], 0),
        # one synthetic row has an interval of no width
        (NUMBER, [2.0, 2.0], [2.0], 1),
        (NUMBER, [2.0, 3.0], [2.0], 0),
        (DAY, DAYS, DAYS, 1),
        (DAY, DAYS, DAYS + pd.Timedelta("90D"), 0),
        (YES, [True, False] * 5, [True, False] * 5, 1),
        (YES, [True, False] * 50, [True] * 100, 0),
    ],
)
def test_means_and_shares(column: Column, real: Any, synthetic: Any, expected: float) -> None:
    assert means(column, real, synthetic)["value"] == pytest.approx(expected)


# -- coefficients --------------------------------------------------------------------------


def coefficients(real: dict[str, Any], synthetic: dict[str, Any]) -> Any:
    """The detail, with the value."""
    tables = [pd.DataFrame(t).astype(float) for t in (real, synthetic)]
    columns = [Column(n, "continuous", minimum=0, maximum=99, missing=True) for n in real]
    tasks, names = {"regression": "y"}, ["coverage_coefficients"]
    found = evaluate(tables[0], *tables, Schema(tuple(columns)), tasks, metrics=names).iloc[0]
    return {**found["detail"], "value": found["value"]}


def test_coefficients_by_hand() -> None:
    # x is 0 or 2, scaled to -1 or 1. Synthetic means 2 and 6: constant 4, slope 2; squares of
    # the residuals 2 + 2 over 6 - 2 are 1, errors 1 / sqrt(6), intervals +- .8002
    synthetic = {"x": [0, 0, 0, 2, 2, 2], "y": [1, 2, 3, 5, 6, 7]}
    # real means 1.5 and 7.5: constant 4.5, which is covered, and slope 3, which is not
    found = coefficients({"x": [0, 0, 2, 2], "y": [1, 2, 7, 8]}, synthetic)
    assert found["columns"] == {"constant": 1.0, "x": 0.0} and found["value"] == 0.5
    intervals = found["intervals"]
    assert intervals["x"]["interval"] == pytest.approx((2 - 0.8002, 2 + 0.8002), abs=1e-3)
    assert intervals["x"]["real"] == pytest.approx(3)
    assert intervals["constant"]["interval"] == pytest.approx((3.1998, 4.8002), abs=1e-3)


EXACT = {"x": [0, 1, 2, 3, 4, 5], "y": [1, 3, 5, 7, 9, 11]}  # 6 at the mean of x, slope 2
GAPS = {"x": [0, 1, 2, GAP, GAP], "y": [1, 3, 5, 8, 8]}
TWINS = {"x": [0, 1, 2, 3, 4], "w": [0, 1, 2, 3, 4], "y": [0, 1, 2, 3, 4]}
APART = {**TWINS, "w": [1, 0, 4, 2, 3]}


@pytest.mark.parametrize(
    ("real", "synthetic", "expected"),
    [
        # exact lines have intervals of no width
        (EXACT, EXACT, {"constant": 1, "x": 1}),
        # slope 3, but 6 at the mean of x = 2.5
        (EXACT, {"x": [1, 2, 3, 4], "y": [1.5, 4.5, 7.5, 10.5]}, {"constant": 1, "x": 0}),
        # what the synthetic rows do not determine is not covered
        (EXACT, {"x": [1, 1, 1], "y": [3, 3, 3]}, {"constant": 0, "x": 0}),
        (APART, TWINS, {"constant": 1, "x": 0, "w": 0}),
        (
            {"x": [0, 1, 2, 3], "y": [5] * 4},
            {"x": [1.5] * 3, "y": [5] * 3},
            {"constant": 1, "x": 0},
        ),
        # and what the real rows do not determine is left out
        (TWINS, APART, {"constant": 1}),
        # gaps have a coefficient of their own
        (GAPS, GAPS, {"constant": 1, "x": 1, "x missing": 1}),
        (GAPS, {"x": [0, 1, 2], "y": [1, 3, 5]}, {"constant": 1, "x": 1, "x missing": 0}),
    ],
)
def test_which_coefficients_are_covered(real: Any, synthetic: Any, expected: Any) -> None:
    found = coefficients(real, synthetic)
    assert found["columns"] == expected


def test_rows_that_determine_nothing() -> None:
    known, gone = {"x": [0, 1], "y": [1, 3]}, {"x": [0, 1], "y": [GAP] * 2}
    assert "every synthetic row" in coefficients(known, gone)["note"]
    assert "every real row" in coefficients(gone, known)["note"]
    # Once wrong: the mean of nothing, NaN
    nothing = {"x": [GAP] * 4, "y": [1, 2, 3, 4]}
    found = coefficients(nothing, nothing)
    assert found["value"] == 1 and "note" in found


@pytest.mark.parametrize(("n", "perfect", "error"), [(80, 0.834, 0.06), (320, 0.6192, 0.07)])
def test_perfect_rows_cover_as_often_as_is_said(n: int, perfect: float, error: float) -> None:
    # Once wrong: 83 % promised for any number of rows. Four times as many synthetic ones have
    # intervals of half the width: 1.96 / sqrt(1 + 4) = .8765 standard deviations, 62 %
    columns = tuple(Column(f"x{i}", "continuous", minimum=-99, maximum=99) for i in range(400))
    rng, schema = np.random.default_rng(0), Schema(columns)
    tables = [pd.DataFrame(rng.normal(size=(k, 400)), columns=schema.names) for k in (40, 40, n)]
    found = evaluate(*tables, schema, metrics=["coverage_means"]).iloc[0]
    assert found["detail"]["perfect rows"] == pytest.approx(perfect, abs=1e-3)
    # 400 columns: standard error .019
    assert found["value"] == pytest.approx(perfect, abs=error)
