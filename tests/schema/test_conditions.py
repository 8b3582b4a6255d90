"""Conditions on synthetic rows, as they are typed and as Python says them."""

from __future__ import annotations

import datetime as dt
from typing import Any

import numpy as np
import pandas as pd
import pytest

from copula_shirley import Column, Schema
from copula_shirley.errors import SettingError
from copula_shirley.schema.conditions import conditions, given_from_card, given_from_texts
from copula_shirley.schema.domain import MISSING

SCHEMA = Schema(
    (
        Column("age", "integer", minimum=0, maximum=120),
        Column("bmi", "continuous", minimum=10, maximum=60, resolution=0.5),
        Column("pay", "continuous", minimum=0, maximum=1e6, missing=True),
        Column("job", "categorical", categories=("law", "farm", "a, b", "x..y", "none")),
        Column("size", "categorical", categories=("S", "M", "L"), ordered=True),
        Column("age<18", "boolean"),
        Column("born", "datetime", format="%d/%m/%Y", minimum="2023-01-01", maximum="2023-12-31",
               resolution="1D"),
        Column("packed", "datetime", format="%Y%d%m", minimum="2023-01-01", maximum="2023-12-31",
               resolution="1D"),
        Column("seen", "datetime", format="%d/%m/%Y %H:%M", minimum="2023-01-01T06:00",
               maximum="2023-12-31T18:00", resolution="1min"),
        Column("iso", "datetime", minimum="2023-01-01", maximum="2023-12-31", resolution="1h"),
    )
)  # fmt: skip


def parts(*texts: str) -> tuple[Any, ...]:
    (found,) = given_from_texts(texts, SCHEMA).values()
    return tuple(found.parts)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("age=30", [(30, 30)]),
        ("age=30..40", [(30, 40)]),
        ("age=..40", [(0, 40)]),
        ("age=30,32", [(30, 30), (32, 32)]),
        ("age=30,31, 40..50", [(30, 31), (40, 50)]),
        ("age>=30", [(30, 120)]),
        ("age>30", [(31, 120)]),
        ("age<18", [(0, 17)]),
        ("age <= 18", [(0, 18)]),
        ("bmi>20", [(20.5, 60)]),
        ("bmi<20", [(10, 19.5)]),
        ("bmi>=20.5", [(20.5, 60)]),
        ("pay>0", [(np.nextafter(0, 1), 1e6)]),
        ("pay=,5", [(-np.inf, -np.inf), (5, 5)]),
        ("pay=", [(-np.inf, -np.inf)]),
        ("pay=missing", [(-np.inf, -np.inf)]),
        ("pay=missing,5", [(-np.inf, -np.inf), (5, 5)]),
        ("job=law,none", [(0, 0), (4, 4)]),
        ("job=law,farm", [(0, 0), (1, 1)]),
        ("job=a, b", [(2, 2)]),
        ('job="a, b",none', [(2, 2), (4, 4)]),
        ("job=x..y", [(3, 3)]),
        ("size=M..L", [(1, 2)]),
        ("size>S", [(1, 2)]),
        ("age<18=true", [(1, 1)]),
    ],
)
def test_what_is_typed_becomes_numbers_of_the_domain(
    text: str, expected: list[tuple[float, float]]
) -> None:
    assert parts(text) == tuple(expected)


def day(text: str) -> float:
    return float((pd.Timestamp(text) - pd.Timestamp("2023-01-01")).days)


def test_dates_are_read_in_the_format_of_their_column() -> None:
    # the first of February and the thirteenth: no guess by which number may be a month
    assert parts("born=01/02/2023") == ((day("2023-02-01"),) * 2,)
    assert parts("born=13/02/2023") == ((day("2023-02-13"),) * 2,)
    assert parts("born=2023-02-13") == ((day("2023-02-13"),) * 2,)
    # 20230201 would be the first of February in ISO 8601
    assert parts("packed=20230201") == ((day("2023-01-02"),) * 2,)
    assert conditions({"packed": "20230201"}, SCHEMA)["packed"].parts == ((1, 1),)
    with pytest.raises(SettingError, match=r"given 'iso' .* date or a time such as"):
        parts("iso=01/02/2023")
    with pytest.raises(SettingError, match=r"given 'born' .* date"):
        parts("born=02/13/2023")


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        ("seen=02/01/2023", "2023-01-02 00:00", "2023-01-02 23:59"),
        ("seen=2023-01-02", "2023-01-02 00:00", "2023-01-02 23:59"),
        ("seen=02/01/2023 10:30", "2023-01-02 10:30", "2023-01-02 10:30"),
        ("seen=02/01/2023..04/01/2023", "2023-01-02 00:00", "2023-01-04 23:59"),
        ("seen>02/01/2023", "2023-01-03 00:00", "2023-12-31 18:00"),
        ("seen<=02/01/2023", "2023-01-01 06:00", "2023-01-02 23:59"),
        ("seen<02/01/2023", "2023-01-01 06:00", "2023-01-01 23:59"),
        ("seen=01/01/2023", "2023-01-01 06:00", "2023-01-01 23:59"),  # the domain begins at six
    ],
)
def test_a_day_is_the_whole_day(text: str, first: str, last: str) -> None:
    start = pd.Timestamp("2023-01-01 06:00")
    minutes = [(pd.Timestamp(one) - start) / pd.Timedelta("1min") for one in (first, last)]
    assert parts(text) == (tuple(minutes),)


def test_a_date_of_python_is_a_day_and_a_timestamp_a_moment() -> None:
    found = conditions({"iso": dt.date(2023, 1, 2)}, SCHEMA)["iso"]
    assert found.parts == ((24, 47),)
    assert conditions({"iso": "2023-01-02"}, SCHEMA)["iso"] == found
    assert conditions({"iso": pd.Timestamp("2023-01-02")}, SCHEMA)["iso"].parts == ((24, 24),)
    assert conditions({"iso": dt.datetime(2023, 1, 2)}, SCHEMA)["iso"].parts == ((24, 24),)


def test_several_conditions_on_a_column_are_all_met() -> None:
    assert parts("age>=18", "age<65") == ((18, 64),)
    assert parts("age=10..20,30..40", "age>15") == ((16, 20), (30, 40))
    with pytest.raises(SettingError, match=r"given 'job' \(job=farm\) contradicts another"):
        parts("job=law", "job=farm")


def test_met_numbers_are_those_of_any_part() -> None:
    found = given_from_texts(["pay=,5,7..8"], SCHEMA)["pay"]
    numbers = np.array([MISSING, 4.0, 5.0, 6.0, 7.5])
    assert found.met(numbers).tolist() == [True, False, True, False, True]


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("age", "must be name=value"),
        ("shoe>=3", "given ('shoe') must be a column"),
        ("age>=130", "given 'age' (age>=130) must lie in the declared domain: 0 to 120"),
        ("age>120", "given 'age' (age>120) holds no value of the declared domain"),
        ("age<0", "holds no value"),
        ("age=30,old", "given 'age' (30,old) must be a number in [0, 120], with a decimal point"),
        ("bmi>=20,5", "given 'bmi' (bmi>=20,5) must be a number in [10, 60], with a decimal point"),
        ("age=", "given 'age' () must be a number"),
        ("age=missing", "given 'age' (missing) must be a number"),
        ("job=", "given 'job' () must lie in the declared domain: 'law'"),
        ("age=40..30", "given 'age' (40..30) must have its lower end first"),
        ("job>law", "> needs an order"),
        ("job=law,priest", "given 'job' (law,priest) must lie in the declared domain"),
        ("bmi>20.1", None),
        ("bmi=20.1..20.4", "holds no value of the resolution 0.5"),
        ("born>=31/12/2024", "must lie in the declared domain"),
    ],
)
def test_what_cannot_be_is_one_error(text: str, rule: str | None) -> None:
    if rule is None:
        assert parts(text) == ((20.5, 60),)
        return
    with pytest.raises(SettingError) as error:
        parts(text)
    assert rule in str(error.value)


def test_the_conditions_of_a_card_are_read_back() -> None:
    for texts in (["age>=18", "job=law,farm"], ["job=a, b", "age<18=true"], ['job="a, b",law']):
        said = ", ".join(texts)
        assert given_from_card(said, SCHEMA) == given_from_texts(texts, SCHEMA)
    assert given_from_card("", SCHEMA) == {}
