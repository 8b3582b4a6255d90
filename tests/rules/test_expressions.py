"""Arithmetic in rules: what it gives, and what it refuses."""

from __future__ import annotations

import numpy as np
import pytest

from copula_shirley.errors import SchemaError
from copula_shirley.schema.expressions import DAY, LENGTH, MOMENT, Expression, Value

COLUMNS = {
    "a": Value(np.array([6.0, 0.0, np.nan])),
    "b c": Value(np.array([4.0, 0.0, 1.0])),
    "start": Value(np.array([0.0, 59 * DAY, np.nan]), MOMENT),
    "end": Value(np.array([3 * DAY, 365 * DAY, DAY]), MOMENT),
    "wait": Value(np.array([DAY / 2, DAY, 0.0]), LENGTH),
}
NAN = np.nan


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("round(a / 4 ** 2, 1)", [0.4, 0, NAN]),
        ("-a + max(`b c`, 2, a)", [0, 2, NAN]),
        ("a / `b c`", [1.5, NAN, NAN]),
        ("(0 - 1 - a) ** 0.5", [NAN, NAN, NAN]),
        ("10 ** (10 ** (a + 3))", [NAN, NAN, NAN]),
        ("end - start", [3, 306, NAN]),
        ("year(end) - year(start)", [0, 1, NAN]),
        ("floor((start - end + 0.5) / 2)", [-2, -153, NAN]),
        ("wait * 2", [1, 2, 0]),
    ],
)
def test_results(text: str, expected: list[float]) -> None:
    found = Expression.parse(text).value(COLUMNS)
    assert found.quantity == "number"
    np.testing.assert_allclose(found.amounts, expected)


def test_moments_and_missing_parts_that_count_as_zero() -> None:
    found = Expression.parse("min(start + 2, end)").value(COLUMNS)
    assert found.quantity == MOMENT
    np.testing.assert_allclose(found.amounts, [2 * DAY, 61 * DAY, NAN])
    summed = Expression.parse("a + `b c`").value(COLUMNS, skip_missing=True)
    np.testing.assert_allclose(summed.amounts, [10, 0, 1])


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "must be an expression of at most"),
        (7, "must be an expression"),
        ("a +", "is no expression: allowed are"),
        ("a; b", "is no expression"),
        ("(" * 500 + "a" + ")" * 499, "is no expression"),
        ("-" * 900 + "a", "must have at most 200 parts"),
        ("a + " * 200 + "a", "must have at most 200 parts"),
        ("a" * 1001, "at most 1,000 letters"),
        ("3 * 4", "must name a column"),
        ("a.real", "holds what no rule may"),
        ("__import__('os')", "holds what no rule may"),
        ("a[0]", "holds what no rule may"),
        ("a if a else 1", "holds what no rule may"),
        ("lambda: a", "holds what no rule may"),
        ("[a for a in a]", "holds what no rule may"),
        ("a // 2", "holds what no rule may"),
        ("a < 2", "holds what no rule may"),
        ("a + 'x'", "holds what no rule may"),
        ("a + True", "holds what no rule may"),
        ("a + 1e300", "holds what no rule may"),
        ("round(a, digits=2)", "holds what no rule may"),
        ("min(*a)", "min takes 2 to 20 arguments"),
        ("max(a)", "max takes 2 to 20 arguments"),
        ("round(a, 99)", "whole number of decimals from 0 to 12"),
        ("round(a, b)", "whole number of decimals"),
    ],
)
def test_refused_texts(text: object, words: str) -> None:
    with pytest.raises(SchemaError, match=words):
        Expression.parse(text)


@pytest.mark.parametrize("text", ["start + end", "start * 2", "year(a)", "min(a, end)", "-start"])
def test_arithmetic_of_dates_without_a_meaning_is_refused(text: str) -> None:
    with pytest.raises(SchemaError, match=r"date|not both"):
        Expression.parse(text).value(COLUMNS)
