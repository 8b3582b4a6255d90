from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from copula_shirley import Column, Schema
from copula_shirley.errors import SchemaError, SettingError
from copula_shirley.evaluation import Comparison, evaluate
from copula_shirley.evaluation.comparison import rows_of

SCHEMA = Schema(
    (
        Column("n", "integer", minimum=0, maximum=9),
        Column("x", "continuous", minimum=0, maximum=1, missing=True),
        Column("c", "categorical", categories=("a", "b")),
        Column("o", "categorical", categories=("low", "mid", "high"), ordered=True),
        Column("b", "boolean"),
        Column("d", "datetime", minimum="2020-01-01", maximum="2020-12-31", resolution="1D"),
    )
)
ROWS = pd.DataFrame(
    {
        "n": [3, 1, 2],
        "x": [0.5, np.nan, 1.0],
        "c": ["a", "b", "a"],
        "o": ["high", "low", "mid"],
        "b": [True, False, True],
        "d": pd.to_datetime(["2020-01-05", "2020-01-01", "2020-12-31"]),
    }
)


def test_rows_are_numbers_in_the_order_of_their_values() -> None:
    rows = rows_of("train", ROWS, SCHEMA)
    assert {name: values.tolist() for name, values in rows.numbers.items()} == {
        "n": [1, 2, 3],
        "x": [-np.inf, 1.0, 0.5],
        "c": [1, 0, 0],
        "o": [0, 1, 2],
        "b": [0, 1, 1],
        "d": [0, 365, 4],
    }
    assert not any(wrong.any() for wrong in rows.outside.values())
    assert len(rows) == 3


def test_what_the_schema_does_not_allow_keeps_a_number() -> None:
    odd = pd.DataFrame(
        {
            "n": [12, 1.5, np.nan],
            "x": [-1.0, 2.0, 0.5],
            "c": ["new", "other", None],
            "o": ["new", "low", None],
            "b": ["yes", None, True],
            "d": pd.to_datetime(["2019-12-31 00:00", "2021-01-01 00:00", "2020-01-01 12:00"]),
        }
    )
    rows = rows_of("synthetic", odd, SCHEMA, strict=False)
    # in the order of n: the gap, 1.5, 12. Unknown categories follow the declared ones
    assert {name: values.tolist() for name, values in rows.numbers.items()} == {
        "n": [-np.inf, 1.5, 12],
        "x": [0.5, 2, -1],
        "c": [-np.inf, 2, 2],
        "o": [-np.inf, 0, 3],
        "b": [1, -np.inf, 2],
        "d": [0, 366, -1],
    }
    assert {name: wrong.tolist() for name, wrong in rows.outside.items()} == {
        "n": [True, True, True],
        "x": [False, True, True],
        "c": [True, True, True],
        "o": [True, False, True],
        "b": [False, True, True],
        "d": [True, True, True],
    }


def test_randomness_is_by_name() -> None:
    c, other = (Comparison.of(ROWS, ROWS, ROWS, SCHEMA, random_state=seed) for seed in (3, 4))
    a, again, b, elsewhere = (
        x.rng(name).integers(1 << 60) for x, name in ((c, "a"), (c, "a"), (c, "b"), (other, "a"))
    )
    assert a == again and len({a, b, elsewhere}) == 3


def test_shared_work_is_done_once() -> None:
    c = Comparison.of(ROWS, ROWS, ROWS, SCHEMA)
    calls: list[int] = []
    for _ in range(3):
        assert c.once("sum", lambda _: calls.append(1) or 7) == 7
    assert calls == [1]


# -- what is refused -----------------------------------------------------------------------


@pytest.mark.parametrize("role", ["train", "test", "synthetic"])
@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (ROWS.drop(columns="c"), "column 'c' is in the schema but not in {role}"),
        (ROWS.assign(z=1), "column 'z' is in {role} but not in the schema"),
        (pd.concat([ROWS, ROWS[["n"]]], axis=1), "column 'n' stands twice in {role}"),
        (ROWS[:0], "{role} has no rows"),
        (ROWS.to_dict(), r"{role} \(dict\) must be a pandas DataFrame"),
        (ROWS.assign(n="many"), "{role}: column 'n'"),
        (ROWS.assign(x=[0.1, np.inf, 0.2]), "{role}: column 'x'"),
        (ROWS.assign(x=[0.1, -np.inf, 0.2]), "{role}: column 'x'"),
        (ROWS.assign(d=["soon", "later", "never"]), "{role}: column 'd'"),
        (ROWS.assign(d=[1, 2, 3]), "{role}: column 'd'"),
        (ROWS.assign(n=pd.Timestamp("2020-01-01")), "{role}: column 'n'"),
    ],
    ids=[
        "missing", "extra", "twice", "empty", "dict", "text", "inf", "-inf",
        "text for dates", "numbers for dates", "dates for numbers",
    ],
)  # fmt: skip
def test_tables_that_are_refused(role: str, bad: Any, message: str) -> None:
    # Once wrong: synthetic "text for dates" warns (of the format) before it raises, and
    # synthetic "dates for numbers" are scored as nanoseconds
    tables = {"train": ROWS, "test": ROWS, "synthetic": ROWS, role: bad}
    with pytest.raises(SchemaError, match=message.format(role=role)):
        evaluate(**tables, schema=SCHEMA, metrics=["ks"])


@pytest.mark.parametrize("role", ["train", "test"])
@pytest.mark.parametrize(
    ("column", "value"), [("c", "new"), ("n", 10), ("n", 1.5), ("n", np.nan), ("x", 1.1)]
)
def test_real_rows_must_fit_the_schema(role: str, column: str, value: Any) -> None:
    bad = ROWS.assign(**{column: value})
    tables = {"train": ROWS, "test": ROWS, "synthetic": ROWS, role: bad}
    with pytest.raises(SchemaError, match=f"{role}: column '{column}'"):
        evaluate(**tables, schema=SCHEMA, metrics=["ks"])
    # but synthetic rows are scored
    frame = evaluate(ROWS, ROWS, bad, SCHEMA, metrics=["validity"])
    assert frame["value"].iloc[0] == 0


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"tasks": {"ranking": "c"}}, r"task \('ranking'\) must be one of binary, multiclass"),
        ({"tasks": {"binary": "z"}}, r"task 'binary' \('z'\) must be a column of the schema: n, x"),
        ({"tasks": {"binary": ["c"]}}, "task 'binary'"),
        ({"tasks": ["c"]}, "tasks"),
        # Once wrong: a "binary" figure of ten classes
        ({"tasks": {"binary": "n"}}, r"task 'binary' \('n'\) must have two values; try multiclass"),
        ({"tasks": {"binary": "x"}}, r"task 'binary' \('x'\) must be categories or whole numbers"),
        ({"tasks": {"multiclass": "d"}}, r"task 'multiclass' \('d'\) must be categories or whole"),
        ({"tasks": {"regression": "c"}}, r"task 'regression' \('c'\) must be a number or a date"),
        ({"tasks": {"regression": "b"}}, r"task 'regression' \('b'\) must be a number or a date"),
        ({"profile": "heavy"}, r"profile \('heavy'\) must be one of light, thesis"),
        ({"threads": 0}, r"threads \(0\) must be a positive whole number"),
        ({"quasi_identifiers": ["z"]}, r"quasi_identifiers \('z'\) must be a column"),
        ({"quasi_identifiers": "c"}, r"quasi_identifiers \('c'\) must be a list of columns"),
        ({"sensitive": ["z"]}, r"sensitive \('z'\) must be a column of the schema"),
        ({"sensitive": "c"}, r"sensitive \('c'\) must be a list of columns"),
        (
            {"sensitive": ["c", "n"], "quasi_identifiers": ["b", "n"]},
            r"sensitive \('n'\) must not be a quasi-identifier too",
        ),
        ({"schema": None}, r"schema \(NoneType\) must be a Schema"),
    ],
)
def test_settings_that_are_refused(settings: dict[str, Any], message: str) -> None:
    arguments: dict[str, Any] = {
        "train": ROWS, "test": ROWS, "synthetic": ROWS, "schema": SCHEMA, **settings,
    }  # fmt: skip
    with pytest.raises(SettingError, match=message):
        evaluate(**arguments, metrics=["ks"])


def test_a_target_needs_another_column() -> None:
    with pytest.raises(SettingError, match=r"task 'binary' \('c'\) needs another column"):
        evaluate(*[ROWS[["c"]]] * 3, Schema((SCHEMA["c"],)), {"binary": "c"})


def test_tables_are_checked_before_any_metric_runs_and_no_value_is_quoted() -> None:
    ran: list[str] = []
    secret = ROWS.assign(c=["a", "Zebulon", "b"])
    with pytest.raises(SchemaError) as caught:
        evaluate(ROWS, secret, ROWS, SCHEMA, progress=lambda name, _: ran.append(name))
    assert ran == [] and "Zebulon" not in str(caught.value)


# -- people with several rows ----------------------------------------------------------------

PEOPLE = Schema(SCHEMA.columns, person="who", max_rows=3)


def test_rows_keep_whose_they_are() -> None:
    rows = rows_of("train", ROWS.assign(who=["eve", "ann", "eve"]), PEOPLE)
    assert list(rows.numbers) == list(SCHEMA.names)
    assert rows.people is not None and sorted(rows.people) == ["ann", "eve", "eve"]
    assert rows.take(np.array([0])).people == rows.people[:1]
    # two rows have two with them, one has one: (2 + 2 + 1) / 3
    assert rows.rows_per_person == pytest.approx(5 / 3)
    without = rows_of("synthetic", ROWS, PEOPLE, strict=False)
    assert without.people is None and without.rows_per_person == 1


def test_equal_rows_of_different_people_are_in_the_order_of_the_people() -> None:
    twins = pd.concat([ROWS, ROWS]).assign(who=list("fedcba"))
    one, other = (rows_of("train", t, PEOPLE) for t in (twins, twins[::-1]))
    assert one.people is not None and other.people is not None
    assert one.people.tolist() == other.people.tolist()


def test_every_real_row_names_its_person() -> None:
    with pytest.raises(SchemaError, match="test: column 'who' must name the person of each row"):
        evaluate(ROWS.assign(who=1), ROWS.assign(who=[1, 2, None]), ROWS, PEOPLE, metrics=["ks"])


@pytest.mark.parametrize(
    ("train", "test", "note"),
    [
        ([1, 1, 2], [3, 4, 4], None),
        ([1, 1, 2], [2, 4, 1], "2 people are in train and test: the attack is blunted"),
        (None, [3, 4, 4], "no column 'who': rows are taken for independent people"),
    ],
)
def test_attacks_say_what_is_wrong_with_the_people(train: Any, test: Any, note: Any) -> None:
    tables = [ROWS if who is None else ROWS.assign(who=who) for who in (train, test)]
    names = ["membership_hamming_all", "attribute_inference", "singling_out"]
    frame = evaluate(*tables, ROWS, PEOPLE, None, 0, metrics=names)
    assert [detail.get("note") for detail in frame["detail"]] == [note] * 3
