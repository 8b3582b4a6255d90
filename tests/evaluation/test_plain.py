from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from copula_shirley import SchemaError
from copula_shirley.errors import SettingError
from copula_shirley.evaluation.attacks import plain
from copula_shirley.evaluation.attacks.plain import (
    Tables,
    Wide,
    check_positive,
    plain_codes,
    plain_points,
)
from copula_shirley.schema.domain import FloatArray

HALF = np.sqrt(0.5)


def two(first: list[object], second: list[object]) -> dict[str, pd.DataFrame]:
    return {"train": pd.DataFrame({"x": first}), "control": pd.DataFrame({"x": second})}


def points(tables: Tables) -> list[FloatArray]:
    return plain_points(tables)[0]


def distances(tables: dict[str, pd.DataFrame]) -> np.ndarray:
    a, b = points(tables)
    return np.sqrt(((a[:, None] - b) ** 2).sum(axis=2))


# -- codes ---------------------------------------------------------------------------------


def test_equal_values_have_equal_codes() -> None:
    a, b = plain_codes(two([1, 2, 2], [2.0, 3.0, 1.0]))
    assert a[1] == a[2] == b[0] and a[0] == b[2]
    assert len({int(a[0, 0]), int(a[1, 0]), int(b[1, 0])}) == 3


def test_a_missing_value_equals_a_missing_value_and_nothing_else() -> None:
    for gap in (None, np.nan, pd.NA):
        a, b = plain_codes(two([gap, "x"], ["x", gap]))
        assert a[0] == b[1] and a[1] == b[0] and a[0] != a[1]


def test_codes_follow_from_the_values_and_not_from_the_order() -> None:
    tables = two(["b", "a", None], ["c", "a", "b"])
    turned = {name: table[::-1] for name, table in tables.items()}
    for one, other in zip(plain_codes(tables), plain_codes(turned), strict=True):
        assert (one == other[::-1]).all()


def test_integers_and_floats_and_categories_of_numbers_are_numbers() -> None:
    whole = pd.DataFrame({"x": [1, 2]})
    kinds = [
        whole.astype(float),
        whole.astype("Int64"),
        whole.astype("category"),
        whole.astype("int8"),
    ]
    for other in kinds:
        one, two_ = plain_codes({"train": whole, "control": other})
        assert (one == two_).all()


def test_dates_with_and_without_a_zone() -> None:
    naive = pd.DataFrame({"x": pd.to_datetime(["2020-01-01", "2020-01-03"])})
    aware = naive.assign(x=naive["x"].dt.tz_localize("UTC").dt.tz_convert("Europe/Paris"))
    one, other = plain_codes({"train": naive, "control": aware})
    assert (one == other).all()


# Once wrong: dates
@pytest.mark.parametrize(
    "nothing",
    [
        [None, None],
        [np.nan, np.nan],
        pd.to_datetime([None, None]),
        pd.Categorical([None, None], categories=["a"]),
        pd.array([None, None], dtype="Int64"),
        pd.array([None, None], dtype="boolean"),
        pd.array([None, None], dtype="string"),
    ],
    ids=["none", "nan", "dates", "categories", "integers", "booleans", "texts"],
)
@pytest.mark.parametrize("encode", [plain_codes, points])
def test_columns_of_nothing_but_gaps(encode: object, nothing: object) -> None:
    table = pd.DataFrame({"x": nothing})
    one, other = encode({"train": table, "control": table})  # type: ignore[operator]
    assert (one == one[0]).all() and (one == other).all()


@pytest.mark.parametrize(
    "known",
    [["a", "b"], [1, 2], pd.to_datetime(["2020-01-01", "2021-01-01"]), [True, False]],
    ids=["texts", "numbers", "dates", "booleans"],
)
@pytest.mark.parametrize("encode", [plain_codes, points])
def test_a_table_without_a_single_value_in_a_column(encode: object, known: object) -> None:
    tables = {
        "train": pd.DataFrame({"x": known}),
        "control": pd.DataFrame({"x": [None, None]}),
        "synthetic": pd.DataFrame({"x": known}),
    }
    train, control, synthetic = encode(tables)  # type: ignore[operator]
    assert (train == synthetic).all()
    assert (control[0] == control[1]).all()
    assert (control[0] != train[0]).any()


def test_whole_numbers_beyond_the_exact_floats_stay_apart() -> None:
    # 2**60 and 2**60 + 1 are one float
    one, other = plain_codes(two([2**60, 2**60 + 1], [2**60 + 1, 2**60 + 2]))
    assert one[0] != one[1] and one[1] == other[0] and other[0] != other[1]
    # Once wrong: TypeError from 2**63 on
    one, other = plain_codes(two([2**63, 2**63 + 1], [2**63 + 1, 2]))
    assert one[0] != one[1] and one[1] == other[0] and other[0] != other[1]
    assert distances(two([0, 2**63], [2**63, 2**64 - 1]))[0] == pytest.approx([0.5, 1])


def test_numbers_among_objects_are_numbers() -> None:
    # Once wrong: refused beside numbers, and texts among themselves
    mixed = {"one": pd.DataFrame({"x": [0, 10]}, dtype=object), "other": pd.DataFrame({"x": [5]})}
    assert distances(mixed) == pytest.approx(np.array([[0.5], [0.5]]))
    both = {name: table.astype(object) for name, table in mixed.items()}
    assert distances(both) == pytest.approx(np.array([[0.5], [0.5]]))
    assert [codes.ravel().tolist() for codes in plain_codes(mixed)] == [[0, 2], [1]]


def test_the_largest_floats_have_a_range() -> None:
    # Once wrong: an infinite range
    assert distances(two([1.7e308, -1.7e308], [0.0])) == pytest.approx(np.array([[0.5], [0.5]]))


def test_many_texts_are_codes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plain, "MOST_COORDINATES", 2)
    tables = {"one": pd.DataFrame({"x": [0, 4], "c": ["a", "b"], "few": ["u", "v"]})}
    tables["other"] = pd.DataFrame({"x": [4, 0], "c": ["c", "a"], "few": ["v", "v"]})
    (one, other), wide = plain_points(tables)
    # x has one coordinate and few has two, a third of the square each; c is the code at the end
    assert wide == Wide(1, 1 / 3)
    assert one.shape == other.shape == (2, 4)
    assert [one[:, 3].tolist(), other[:, 3].tolist()] == [[0, 1], [2, 0]]
    assert ((one[0, :3] - other[0, :3]) ** 2).sum() == pytest.approx(2 / 3)


# -- points --------------------------------------------------------------------------------


def test_numbers_are_scaled_to_the_range_of_all_tables() -> None:
    # range 0 to 10: 0, 4 against 10, 5
    assert distances(two([0, 4], [10, 5])) == pytest.approx(np.array([[1, 0.5], [0.6, 0.1]]))


def test_dates_are_scaled_likewise() -> None:
    days = pd.to_datetime(["2020-01-01", "2020-01-03", "2020-01-11"])
    tables = {"train": pd.DataFrame({"x": days[:2]}), "control": pd.DataFrame({"x": days[2:]})}
    assert distances(tables) == pytest.approx(np.array([[1.0], [0.8]]))


def test_texts_and_booleans_differ_by_zero_or_one() -> None:
    assert distances(two(["a", "b"], ["a", "c"])) == pytest.approx(np.array([[0, 1], [1, 1]]))
    assert distances(two([True], [False])) == pytest.approx(np.array([[1.0]]))
    assert distances(two([None, "b"], ["a", None])) == pytest.approx(np.array([[1, 0], [1, 1]]))


def test_a_missing_number_is_one_from_the_ends_and_nothing_from_itself() -> None:
    found = distances(two([0.0, np.nan, 10.0], [np.nan, 5.0, 10.0]))
    assert found[:, 0] == pytest.approx(np.array([1, 0, 1]))
    # from the middle it is sqrt(3) / 2 away
    assert found[1] == pytest.approx(np.array([0, np.sqrt(0.75), 1]))


def test_several_columns_are_the_root_of_the_mean_square() -> None:
    train = pd.DataFrame({"x": [0, 10], "c": ["a", "b"]})
    control = pd.DataFrame({"x": [5, 10], "c": ["b", "b"]})
    # differences (.5, 1), (1, 1), (.5, 0), (0, 0)
    expected = np.sqrt(np.array([[1.25, 2], [0.25, 0]]) / 2)
    assert distances({"train": train, "control": control}) == pytest.approx(expected)


def test_a_constant_number_is_no_distance() -> None:
    assert distances(two([3, 3], [3, 3])) == pytest.approx(np.zeros((2, 2)))


# Once wrong: NaN all over, with a warning of numpy
@pytest.mark.parametrize("endless", [np.inf, -np.inf])
def test_an_infinite_number_is_refused(endless: float) -> None:
    with pytest.raises(SchemaError, match="'x'"):
        plain_points(two([1.0, endless], [1.0, 2.0]))


# -- what is refused -----------------------------------------------------------------------


@pytest.mark.parametrize("value", [0, -1, 1.5, True, "3", None])
def test_settings_are_positive_whole_numbers(value: object) -> None:
    with pytest.raises(SettingError, match=r"members \(.*\) must be a positive whole number"):
        check_positive("members", value)


GOOD = pd.DataFrame({"x": [1, 2], "y": ["a", "b"]})


@pytest.mark.parametrize("role", ["train", "control", "synthetic"])
@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (GOOD[["x"]], "column 'y' is in only one of"),
        (GOOD.assign(z=1), "column 'z' is in only one of"),
        (pd.concat([GOOD, GOOD[["x"]]], axis=1), "column 'x' stands twice in {role}"),
        (GOOD[:0], "{role} has no rows"),
        ({"x": [1]}, r"{role} \(dict\) must be a pandas DataFrame"),
        (None, r"{role} \(NoneType\) must be a pandas DataFrame"),
    ],
    ids=["missing", "extra", "twice", "empty", "dict", "none"],
)
def test_one_error_names_the_table_and_the_column(role: str, bad: object, message: str) -> None:
    tables = {"train": GOOD, "control": GOOD, "synthetic": GOOD, role: bad}
    with pytest.raises(SchemaError, match=message.format(role=role)):
        plain_codes(tables)  # type: ignore[arg-type]


def test_tables_without_columns() -> None:
    empty = pd.DataFrame(index=[0, 1])
    with pytest.raises(SchemaError, match="train has no columns"):
        plain_codes({"train": empty, "control": empty})


@pytest.mark.parametrize("encode", [plain_codes, points])
@pytest.mark.parametrize(
    ("first", "second", "message"),
    [
        ([1, 2], ["1", "2"], "'x' holds numbers in train and texts or booleans in control"),
        ([1, 2], pd.to_datetime(["2020-01-01"] * 2), "numbers in train and dates in control"),
        ([1, 2], [True, False], "numbers in train and texts or booleans in control"),
        (pd.to_datetime(["2020-01-01"] * 2), ["a", "b"], "dates in train and texts or booleans"),
    ],
    ids=["texts", "dates", "booleans", "dates and texts"],
)
def test_columns_of_different_kinds(
    encode: object, first: object, second: object, message: str
) -> None:
    tables = {"train": pd.DataFrame({"x": first}), "control": pd.DataFrame({"x": second})}
    with pytest.raises(SchemaError, match=message):
        encode(tables)  # type: ignore[operator]


# Once wrong: TypeError of pandas
def test_values_that_cannot_be_compared_are_refused() -> None:
    with pytest.raises(SchemaError, match="'x'"):
        plain_codes(two([[1], [2]], [[1], [3]]))
