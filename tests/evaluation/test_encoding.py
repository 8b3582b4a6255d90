from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from copula_shirley import SchemaError
from copula_shirley.evaluation.attacks import encoding
from copula_shirley.evaluation.attacks.encoding import Wide, encoded, plain_columns


def two(first: Any, second: Any) -> dict[str, pd.DataFrame]:
    return {"train": pd.DataFrame({"x": first}), "control": pd.DataFrame({"x": second})}


def encode(tables: dict[str, pd.DataFrame], distance: Any = "hamming") -> Any:
    return encoded(plain_columns(tables), [len(table) for table in tables.values()], distance)


def codes(first: Any, second: Any) -> list[list[int]]:
    return [table.ravel().tolist() for table in encode(two(first, second))[0]]


def check_distances(tables: dict[str, pd.DataFrame], expected: Any) -> None:
    a, b = encode(tables, "euclidean")[0]
    found = np.sqrt(((a[:, None] - b) ** 2).sum(axis=2))
    assert found == pytest.approx(np.array(expected, dtype=float))


DAYS = pd.to_datetime(["2020-01-01", "2020-01-03", "2020-01-11"])
PARIS = DAYS.tz_localize("UTC").tz_convert("Europe/Paris")
NUMBERS = pd.Series([1, 2])


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ([1, 2, 2], [2.0, 3.0, 1.0], [[0, 1, 1], [1, 2, 0]]),
        # codes follow from the values and not from the order; a missing value equals another
        (["b", "a", None], ["c", "a", "b"], [[2, 1, 0], [3, 1, 2]]),
        ([np.nan, "x"], ["x", pd.NA], [[0, 1], [1, 0]]),
        *((NUMBERS, NUMBERS.astype(dtype), [[0, 1]] * 2) for dtype in ("float", "Int64", "int8")),
        (NUMBERS, NUMBERS.astype("category"), [[0, 1]] * 2),
        (DAYS, PARIS, [[0, 1, 2]] * 2),
        (DAYS, DAYS.date, [[0, 1, 2]] * 2),
        (DAYS - DAYS[0], pd.array([None, "2D", "10D"], "timedelta64[s]"), [[1, 2, 3], [0, 2, 3]]),
        # 2**60 and 2**60 + 1 are one float
        ([2**60, 2**60 + 1], [2**60 + 1, 2**60 + 2], [[0, 1], [1, 2]]),
        # Once wrong: TypeError from 2**63 on
        ([2**63, 2**63 + 1], [2**63 + 1, 2], [[1, 2], [2, 0]]),
    ],
)
def test_equal_values_have_equal_codes(first: Any, second: Any, expected: Any) -> None:
    assert codes(first, second) == expected


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        # numbers are scaled to the range of all tables, 0 to 10, and dates likewise
        ([0, 4], [10, 5], [[1, 0.5], [0.6, 0.1]]),
        (DAYS[:2], DAYS[2:], [[1.0], [0.8]]),
        (DAYS[:2] - DAYS[0], DAYS[2:] - DAYS[0], [[1.0], [0.8]]),
        # texts and booleans differ by 0 or 1
        (["a", "b"], ["a", "c"], [[0, 1], [1, 1]]),
        ([True], [False], [[1]]),
        ([None, "b"], ["a", None], [[1, 0], [1, 1]]),
        # a missing number is 1 from the ends, nothing from itself, sqrt(3) / 2 from the middle
        ([0.0, np.nan, 10.0], [np.nan, 5.0, 10.0], [[1, 0.5, 1], [0, 0.75**0.5, 1], [1, 0.5, 0]]),
        ([3, 3], [3, 3], np.zeros((2, 2))),
        # Once wrong: an infinite range
        ([1.7e308, -1.7e308], [0.0], [[0.5], [0.5]]),
        ([0, 2**63], [2**63, 2**64 - 1], [[1, 1], [0, 1]]),
    ],
)
def test_distances_of_one_column_by_hand(first: Any, second: Any, expected: Any) -> None:
    check_distances(two(first, second), expected)


def test_several_columns_are_the_root_of_the_mean_square() -> None:
    train = pd.DataFrame({"x": [0, 10], "c": ["a", "b"]})
    control = pd.DataFrame({"x": [5, 10], "c": ["b", "b"]})
    # differences (.5, 1), (1, 1), (.5, 0), (0, 0)
    expected = np.sqrt(np.array([[1.25, 2], [0.25, 0]]) / 2)
    check_distances({"train": train, "control": control}, expected)


def test_numbers_among_objects_are_numbers() -> None:
    # Once wrong: refused beside numbers, and texts among themselves
    mixed = {"one": pd.DataFrame({"x": [0, 10]}, dtype=object), "other": pd.DataFrame({"x": [5]})}
    check_distances(mixed, [[0.5], [0.5]])
    check_distances({n: table.astype(object) for n, table in mixed.items()}, [[0.5], [0.5]])
    assert [table.ravel().tolist() for table in encode(mixed)[0]] == [[0, 2], [1]]


def test_many_texts_are_codes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(encoding, "MOST_COORDINATES", 2)
    tables = {"one": pd.DataFrame({"x": [0, 4], "c": ["a", "b"], "few": ["u", "v"]})}
    tables["other"] = pd.DataFrame({"x": [4, 0], "c": ["c", "a"], "few": ["v", "v"]})
    (one, other), wide = encode(tables, "euclidean")
    # x has one coordinate and few has two, a third of the square each; c is the code at the end
    assert wide == Wide(1, 1 / 3)
    assert one.shape == other.shape == (2, 4)
    assert [one[:, 3].tolist(), other[:, 3].tolist()] == [[0, 1], [2, 0]]
    assert ((one[0, :3] - other[0, :3]) ** 2).sum() == pytest.approx(2 / 3)


# Once wrong: dates
@pytest.mark.parametrize(
    "nothing",
    [
        [None, None],
        [np.nan, np.nan],
        pd.to_datetime([None, None]),
        pd.Categorical([None, None], categories=["a"]),
        *(pd.array([None, None], dtype=dtype) for dtype in ("Int64", "boolean", "string")),
    ],
)
@pytest.mark.parametrize("known", [None, ["a", "b"], [1, 2], DAYS[:2], [True, False]])
@pytest.mark.parametrize("distance", ["hamming", "euclidean"])
def test_columns_of_nothing_but_gaps(distance: Any, nothing: Any, known: Any) -> None:
    tables = two(nothing if known is None else known, nothing)
    one, gaps, again = encode({**tables, "synthetic": tables["train"]}, distance)[0]
    assert (one == again).all() and (gaps[0] == gaps[1]).all()
    assert (one == gaps).all() == (known is None)


# -- what is refused -----------------------------------------------------------------------


GOOD = pd.DataFrame({"x": [1, 2], "y": ["a", "b"]})


@pytest.mark.parametrize("role", ["train", "control", "synthetic"])
@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (GOOD[["x"]], "column 'y' is in only one of"),
        (GOOD.assign(z=1), "column 'z' is in only one of"),
    ],
)
def test_one_error_names_the_table_and_the_column(role: str, bad: Any, message: str) -> None:
    with pytest.raises(SchemaError, match=message.format(role=role)):
        plain_columns({"train": GOOD, "control": GOOD, "synthetic": GOOD, role: bad})


@pytest.mark.parametrize(
    ("first", "second", "message"),
    [
        ([1, 2], ["1", "2"], "'x' holds numbers in train and texts or booleans in control"),
        ([1, 2], DAYS, "numbers in train and dates in control"),
        ([1, 2], [True, False], "numbers in train and texts or booleans in control"),
        (DAYS, ["a", "b"], "dates in train and texts or booleans"),
        # Once wrong: TypeError of pandas; and NaN all over, with a warning of numpy
        ([[1], [2]], [[1], [3]], "column 'x' holds values that cannot be compared"),
        ([1.0, np.inf], [1.0, 2.0], "column 'x' holds an infinite number"),
        ([1.0, 2.0], [1.0, -np.inf], "column 'x' holds an infinite number"),
        # Once wrong: texts of one table never match those of another, and a leak is a coin
        (["2020-01-03"], ["2020-01-04"], "column 'x' holds dates as texts; only a schema can say"),
        (["1:30:00", "P1D"], ["PT90M"], "column 'x' holds durations as texts"),
        (["1:30:00"], [DAYS[1] - DAYS[0]], "texts or booleans in train and durations in control"),
        (np.array([2**45], "datetime64[s]"), DAYS, "'x' holds dates that are too far out"),
    ],
)
def test_columns_that_are_refused(first: Any, second: Any, message: str) -> None:
    with pytest.raises(SchemaError, match=message):
        plain_columns(two(first, second))


def test_tables_without_columns() -> None:
    with pytest.raises(SchemaError, match="train has no columns"):
        plain_columns(dict.fromkeys(("train", "control"), pd.DataFrame(index=[0, 1])))
