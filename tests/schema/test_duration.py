"""Lengths of time, from texts and timedeltas to a fitted model and back."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from copula_shirley import Column, PrivateVine, Schema, load, read_table
from copula_shirley.publish.verify import verify_file
from copula_shirley.rows.writing import write_table
from copula_shirley.schema.conditions import given_from_texts
from copula_shirley.schema.duration import FORMATS, duration_of, text_of
from copula_shirley.schema.schema import LeftOut

STAY = Column(
    "stay", "duration", minimum="0s", maximum="P10D", resolution="15min", missing=True, cells=40
)
SCHEMA = Schema((STAY, Column("age", "integer", minimum=0, maximum=9)))
HOUR, DAY = pd.Timedelta("1h"), pd.Timedelta("1D")


def table(n: int = 300) -> pd.DataFrame:
    rng = np.random.default_rng(3)
    stay = pd.Series(pd.to_timedelta(15 * rng.integers(0, 400, n), unit="min"))
    return pd.DataFrame({"stay": stay.where(rng.random(n) > 0.1), "age": rng.integers(0, 10, n)})


HOURS = {
    **{"1:30:00": 1.5, "01:30:00.0": 1.5, "-1:30:00": -1.5, "100:00:00": 100},
    **{"2 days 03:00:00": 51, "1 day, 3:00:00": 27, "-1 days +23:00:00": -1},
    **{"P1DT2H": 26, "PT90M": 1.5, "-PT1H": -1, "PT1800S": 0.5, "P1W": 168},
    **{"1h": 1, "1.5 h": 1.5, "90min": 1.5, "1D 2h": 26, "2 days": 48, " 0s ": 0},
}
OTHERS = (
    *("", " ", "5", "1:30", "1:60:00", "P", "PT", "P1M", "P1Y", "1 month", "NaT", "h", "1e3s"),
    *("9" * 50 + "s", "9" * 400 + ":00:00", "\u0661:30:00", "-", "1h1h", "noon"),
)


def test_texts_by_hand() -> None:
    assert {text: pd.Timedelta(duration_of(text)) / HOUR for text in HOURS} == HOURS
    assert [text for text in OTHERS if not np.isnat(duration_of(text))] == []


@given(st.timedeltas(dt.timedelta(-10_000_000), dt.timedelta(10_000_000)))
def test_what_pandas_and_python_write_is_read(value: dt.timedelta) -> None:
    expected = np.timedelta64(value // dt.timedelta(microseconds=1), "us")
    assert duration_of(str(value)) == expected
    if abs(value) < dt.timedelta(100_000):
        assert duration_of(str(pd.Timedelta(value))) == expected


def test_values_of_any_type_and_each_by_itself() -> None:
    values = ["1:00:00", "PT1H", dt.timedelta(hours=1), HOUR, HOUR.to_timedelta64(), None, pd.NaT]
    numbers = STAY.domain.to_numbers(pd.Series(values, dtype=object))
    assert numbers.tolist() == [4, 4, 4, 4, 4, -np.inf, -np.inf]
    for unit in ("s", "us", "ns"):
        stored = pd.Series([HOUR, DAY], dtype=f"timedelta64[{unit}]")
        assert STAY.domain.to_numbers(stored).tolist() == [4, 96]
        assert STAY.domain.clip(stored * 20).tolist() == [20 * HOUR, 10 * DAY]
        assert STAY.domain.clip(stored * 20).dtype == stored.dtype


def test_drafts() -> None:
    clocks = pd.Series(["1:30:00", "2 days 03:00:00", None])
    for values in (clocks, pd.to_timedelta(clocks), pd.to_timedelta(clocks).astype(object)):
        column = Schema.draft(pd.DataFrame({"x": values}))["x"]
        assert (column.kind, column.resolution, column.missing) == ("duration", "1min", True)
        assert (column.minimum, column.maximum) == (1.5 * HOUR, 51 * HOUR)
    doses = pd.DataFrame({"x": ["1 h", "2 h"] * 20})
    assert Schema.draft(doses)["x"].kind == "categorical"
    assert Schema.draft(pd.DataFrame({"x": pd.to_timedelta([None])}))["x"].kind == "duration"


@pytest.mark.parametrize(
    ("written", "said"),
    [
        (["1:30:00", "51:00:00"], "HH:MM:SS"),
        (["PT90M", "P2DT3H"], "ISO"),
        (["1 days 00:00:00", "1:30:00"], None),
        (["PT90M", "1:30:00"], None),
    ],
)
def test_a_draft_says_how_durations_are_written(written: list[str], said: str | None) -> None:
    column = Schema.draft(pd.DataFrame({"x": written}))["x"]
    assert column.format == said and Column.from_dict("x", column.to_dict()) == column


@pytest.mark.parametrize(
    ("text_format", "texts"),
    [
        (None, ["00:15:00", "50:00:00", ""]),
        ("HH:MM:SS", ["00:15:00", "50:00:00", ""]),
        ("ISO", ["PT15M", "PT50H", ""]),
    ],
)
@pytest.mark.parametrize("escape", [False, True])
def test_drawn_durations_are_written_as_clocks_or_as_declared(
    tmp_path: Path, text_format: str | None, texts: list[str], escape: bool
) -> None:
    stay = replace(STAY, format=text_format)
    values = pd.Series([dt.timedelta(minutes=15), pd.Timedelta("50h"), None], dtype="object")
    stored = stay.domain.private_storage
    drawn = stay.domain.from_numbers(stay.domain.to_numbers(values), stored)
    write_table(tmp_path / "t.csv", [pd.DataFrame({"stay": drawn, "b": 1})], "csv",
                escape_formulas=escape)  # fmt: skip
    lines = (tmp_path / "t.csv").read_text().splitlines()[1:]
    assert [line.partition(",")[0] for line in lines] == texts
    again = read_table(tmp_path / "t.csv", Schema((stay,), left_out=(LeftOut("b"),)))["stay"]
    assert np.array_equal(stay.domain.to_numbers(again), stay.domain.to_numbers(values))


@given(st.timedeltas(dt.timedelta(-10_000), dt.timedelta(10_000)), st.sampled_from([*FORMATS]))
def test_what_is_written_is_read(value: dt.timedelta, text_format: str) -> None:
    assert duration_of(text_of(value, text_format)) == np.timedelta64(value)


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_model_from_a_file_to_a_file(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"t.{ending}"
    write_table(path, [table()], ending)
    read = read_table(path, SCHEMA)
    assert np.array_equal(*(STAY.domain.to_numbers(t["stay"]) for t in (read, table())))
    model = PrivateVine(epsilon=50.0, random_state=0).fit(read, SCHEMA)
    drawn = model.sample(400)
    assert str(drawn["stay"].dtype) == "timedelta64[ns]" and 0 < drawn["stay"].isna().mean() < 0.3
    SCHEMA.validate(drawn)
    assert abs(drawn["stay"].median() - table()["stay"].median()) < 12 * HOUR
    some = model.sample(50, given=given_from_texts(["stay=1h..6h"], SCHEMA))
    assert some["stay"].between(HOUR, 6 * HOUR).all()
    model.save(tmp_path / "m")
    assert load(tmp_path / "m").schema_ == SCHEMA
    write_table(path, [drawn], ending)
    again = STAY.domain.from_file(read_table(path, SCHEMA)["stay"])
    pd.testing.assert_series_equal(again.astype("timedelta64[ns]"), drawn["stay"])
    assert verify_file(tmp_path / "m").fits


def test_a_domain_that_is_measured() -> None:
    kinds = Schema.of_kinds({"stay": "duration", "age": "integer"})
    model = PrivateVine(epsilon=50.0, domain="measured", random_state=0).fit(table(600), kinds)
    found = model.schema_["stay"]
    assert found.kind == "duration" and found.minimum == 0 * DAY and found.maximum >= 4 * DAY
    assert str(model.sample(9)["stay"].dtype) == "timedelta64[ns]"
