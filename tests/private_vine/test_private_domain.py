from __future__ import annotations

import math
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm

from copula_shirley import Budget, Column, Ledger, PrivateVine, Schema, SettingError, load, plan
from copula_shirley.measure.calibration import Calibration
from copula_shirley.measure.curator import Curator
from copula_shirley.measure.queries import Discovery
from copula_shirley.privacy.ledger import histogram_sensitivity
from copula_shirley.privacy.noise import SeededNoise
from copula_shirley.private_vine.domain import (
    OTHER,
    GrainKey,
    LabelKey,
    MagnitudeKey,
    brought_in,
    raw_rows,
    undeclared,
)
from copula_shirley.rows.memory import MemoryRows
from copula_shirley.schema.dates import Datetime
from copula_shirley.schema.numeric import Integer
from copula_shirley.schema.values import label_of


def raw(**columns: list[object]) -> MemoryRows:
    return records_of(pd.DataFrame(columns))


def records_of(table: pd.DataFrame, schema: Schema | None = None) -> MemoryRows:
    schema = schema or undeclared(table)
    kinds = {c.name: c.domain.stored for c in schema}
    return raw_rows(table, kinds, schema)


def test_magnitudes_by_hand() -> None:
    records = raw(x=[0.0, 1.0, 1.9, -1.0, 5.0, np.nan])
    cells = MagnitudeKey("x").cells(records.chunk())
    zero = cells[0]
    assert cells[1] == cells[2] and cells[1] - zero == zero - cells[3] > 0
    assert cells[4] - cells[1] == 2 and cells[5] == 0
    counts = np.bincount(cells, minlength=MagnitudeKey("x").shape[0]).astype(float)
    assert MagnitudeKey.bounds(counts * 100, 4.0) == (-2.0, 8.0)
    assert MagnitudeKey.bounds(counts * 0, 4.0) == (0.0, 1.0)


@pytest.mark.parametrize("delta", [1e-9, 0.0])
@pytest.mark.parametrize("epsilon", [0.3, 3.0, 100.0])
def test_noise_alone_moves_no_bound(delta: float, epsilon: float) -> None:
    """Of 400 empty histograms none may pass; 4 standard deviations let 1 to 100 pass."""
    noise = Calibration(Budget(epsilon, delta), histogram_sensitivity("add-remove", 1))
    source, scale = SeededNoise(np.random.default_rng(0)), noise.scale(0.03, 3)
    size = MagnitudeKey("x").shape[0]
    draw = source.gaussian if delta else source.laplace
    counts = draw(np.zeros(400 * size, dtype=np.int64), scale).reshape(400, size)
    threshold = noise.detection_threshold(0.03, 3, 3 * size)
    assert {MagnitudeKey.bounds(c.astype(float), threshold) for c in counts} == {(0.0, 1.0)}
    # rows that stand out by twice of that are seen
    counts[:, -30] += math.ceil(2 * threshold) + 1
    assert (0.0, 1.0) not in {MagnitudeKey.bounds(c.astype(float), threshold) for c in counts}


DAYS = [pd.Timestamp("2020-01-01") + pd.Timedelta(days=i % 30) for i in range(60)]
YEAR = {"minimum": "2020-01-01", "maximum": "2020-12-31", "resolution": "1D"}
SECONDS = "%Y-%m-%d %H:%M:%S.%f"


@pytest.mark.parametrize(
    ("odd", "usual", "text_format"),
    [
        (pd.Timestamp("2020-01-01", tz="UTC"), DAYS, None),
        ("01/02/2020", [f"{day:%Y-%m-%d}" for day in DAYS], None),
        ("2020-01-01 00:00:00.123456789", ["9999-01-01 00:00:00.5"] * 60, SECONDS),
        (pd.Timestamp("2020-01-01").as_unit("ns"), [datetime(9999, 1, 1)] * 60, None),
        ("2020-07-01 +0200", ["2020-01-01 +0100", "2020-02-01 +0100"], "%Y-%m-%d %z"),
        (pd.Timestamp("2020-01-01", tz="UTC"), ["2020-01-01"] * 60, "%Y-%m-%d"),
        (12, DAYS, None),
    ],
)
def test_one_row_does_not_change_how_other_dates_are_read(
    odd: object, usual: list[object], text_format: str | None
) -> None:
    """pandas.to_datetime settles format, zone and unit for a whole column."""
    for values in ([odd, *usual], [*usual, odd]):
        asked = Schema((Column("x", "datetime", format=text_format, provenance="private"),))
        tables = [pd.DataFrame({"x": pd.Series(rows, dtype=object)}) for rows in (values, usual)]
        found, alone = (records_of(table, asked) for table in tables)
        for key in (MagnitudeKey("x"), GrainKey("x", Datetime.grains)):
            counts = [np.bincount(key.cells(r), minlength=key.shape[0]) for r in (found, alone)]
            assert np.abs(counts[0] - counts[1]).sum() == 1
        column = Column("x", "datetime", **YEAR, missing=True, format=text_format)
        mine, others = (
            brought_in(table, records, {"x": column})["x"]
            for table, records in zip(tables, (found, alone), strict=True)
        )
        kept = mine.drop(values.index(odd)).reset_index(drop=True)
        pd.testing.assert_series_equal(kept, others, check_dtype=False)


@pytest.mark.parametrize("day", ["9999-12-31", "0001-01-01", "1500-06-01", None])
def test_dates_of_all_times_and_microseconds_are_measured(day: str | None) -> None:
    rng = np.random.default_rng(0)
    moments = np.datetime64("2020-01-01", "us") + rng.integers(0, 10**13, 500)
    if day is not None:
        moments = np.full(500, np.datetime64(day, "us"))
    model = PrivateVine(20.0, 1e-6, domain="measured", random_state=0)
    model.fit(pd.DataFrame({"x": moments, "b": range(500)}))
    model.schema_.validate(model.sample(200))
    assert day is not None or model.schema_["x"].resolution == "1us"


@pytest.mark.parametrize("domain", ["declared", "measured"])
def test_dates_with_an_offset_are_written_as_they_are_read(domain: str, tmp_path: Path) -> None:
    text_format = "%Y-%m-%dT%H:%M:%S%z"
    texts = [f"2020-0{1 + i % 9}-11T00:00:00+0000" for i in range(900)]
    known = "declared" if domain == "declared" else "drafted"
    column = Column("x", "datetime", **YEAR, format=text_format, provenance=known)
    model = PrivateVine(20.0, 1e-6, domain=domain, random_state=0)
    rows = model.fit(pd.DataFrame({"x": texts}), Schema((column,))).sample(200)["x"]
    assert rows.str.endswith("+0000").all() and rows.str.startswith("2020").mean() > 0.9
    model.save(tmp_path / "model")
    load(tmp_path / "model")


def test_grains_by_hand() -> None:
    records = raw(x=[1.0, 0.5, 0.25, 13.73189, 1 / 3, np.nan])
    assert GrainKey("x", Integer.grains).cells(records.chunk()).tolist() == [0, 1, 2, 5, 7, 8]
    moments = pd.to_datetime(["2020-01-01 00:00:00", "2020-01-01 05:00:00", "2020-01-01 05:00:01"])
    assert GrainKey("d", Datetime.grains).cells(raw(d=list(moments))).tolist() == [0, 1, 2]


def test_labels() -> None:
    values = [1.0, 2.5, "a", np.int64(3), True, math.nan, [1], "half \ud800"]
    assert [label_of(value) for value in values] == [1, 2.5, "a", 3, True, None, None, None]
    sizes = MagnitudeKey("x").cells(raw(x=[1.0, math.inf, -math.inf, math.nan]))
    assert sizes[0] > 0 and sizes[1:].tolist() == [0, 0, 0]


@pytest.mark.parametrize("neighbours", ["add-remove", "replace-one"])
@pytest.mark.parametrize("k", [1, 3])
def test_a_category_of_one_unit_is_released_with_a_chance_of_delta(neighbours: str, k: int) -> None:
    """One unit with k rows in k categories of its own, in each of two columns.

    delta is .2 here, so that the chance can be measured: of 2,000 runs at most 400 may fail,
    and 470 would be an alarm once in ten thousand.
    """
    budget, failing = Budget(1.0, 0.5), 0.2
    table = pd.DataFrame(
        {name: [*["common"] * 500, *(f"own {i}" for i in range(k))] for name in "ab"}
    )
    records = records_of(table)
    noise = Calibration(budget, histogram_sensitivity(neighbours, k), failing)
    source, failures = SeededNoise(np.random.default_rng(3)), 0
    for _ in range(2000):
        ledger = Ledger(budget, neighbours=neighbours, rows_per_unit=k, zcdp=True)
        measure = Curator(records, ledger, source, noise)
        answer = measure.answer(Discovery("categories", [LabelKey("a"), LabelKey("b")], 0.9))
        failures += any(len(labels) > 1 for labels in answer.labels)
        assert ledger.spends[0].delta == failing
    assert failures <= 470


@pytest.mark.parametrize("neighbours", ["add-remove", "replace-one"])
@pytest.mark.parametrize("k", [1, 3, 30])
@pytest.mark.parametrize("epsilon", [0.5, 8.0, 100.0])
def test_k_rows_of_one_unit_in_one_category_pass_with_a_chance_of_delta(
    neighbours: str, k: int, epsilon: float
) -> None:
    """Exactly: noise on k rows reaches the threshold no oftener than delta's share allows.

    Two columns, in each of which a unit may have k categories of its own, and two units where one
    replaces another: a share of failing / 4k for each category.
    """
    budget, failing = Budget(epsilon, 1e-3), 1e-4
    noise = Calibration(budget, histogram_sensitivity(neighbours, k), failing)
    least, scale = noise.threshold(0.9, 2, k), noise.scale(0.9, 2)
    numbers = np.arange(-math.ceil(40 * scale), math.ceil(40 * scale) + k + 1)
    chances = np.exp(-(numbers**2) / (2 * scale**2))
    chances /= chances.sum()
    assert chances[numbers >= least - k].sum() <= failing / (4 * k)
    # nor is it far too high: a few less would pass too often
    assert chances[numbers >= least - k - 2 - 0.5 * scale].sum() > failing / (4 * k)


@pytest.mark.parametrize("k", [1, 4])
def test_a_category_is_released_by_noise_and_not_by_the_rows_of_one_unit(k: int) -> None:
    """All k rows of a unit are in one category; what is drawn is fixed here."""
    noise = Calibration(Budget(8.0, 1e-3), histogram_sensitivity("add-remove", k), 1e-4)
    rare = 1e-4 / (2 * k)  # the chance of one column, two units
    reached = math.ceil(noise.scale(0.9, 1) * float(norm.isf(rare)))

    class Fixed(SeededNoise):
        def gaussian(self, counts: Any, scale: float) -> Any:
            return counts + self.drawn

    source = Fixed(np.random.default_rng(0))
    records = records_of(pd.DataFrame({"a": ["own"] * k}))
    for source.drawn, released in ((reached, []), (reached + 1, ["own"])):
        ledger = Ledger(Budget(8.0, 1e-3), neighbours="add-remove", rows_per_unit=k, zcdp=True)
        answer = Curator(records, ledger, source, noise).answer(
            Discovery("categories", [LabelKey("a")], 0.9)
        )
        assert answer.labels == [released]


def test_each_value_is_brought_in_by_itself() -> None:
    columns = {
        "x": Column("x", "integer", minimum=0, maximum=7, provenance="private"),
        "c": Column("c", "categorical", categories=("a", OTHER), other=OTHER, missing=True),
    }
    table = pd.DataFrame({"x": [3.2, 99.0, np.nan], "c": ["a", "b", None]})
    inside = brought_in(table, records_of(table), columns)
    assert inside["x"].tolist() == [3, 7, 0]
    assert inside["c"].tolist()[:2] == ["a", OTHER] and inside["c"].isna().tolist()[2]
    whole = brought_in(table.iloc[:1], records_of(table.iloc[:1]), columns)
    assert whole["x"].tolist() == [3]


def kinds_of(table: pd.DataFrame) -> Schema:
    """Kinds that the curator vouches for."""
    return Schema.of_kinds({c.name: c.kind for c in undeclared(table)})


@pytest.fixture
def measured(people: pd.DataFrame) -> PrivateVine:
    table = pd.concat([people] * 10, ignore_index=True)
    model = PrivateVine(20.0, domain="measured", target="rich", random_state=0)
    return model.fit(table, kinds_of(table))


def test_a_domain_is_measured_with_the_same_budget(measured: PrivateVine, tmp_path: Path) -> None:
    ledger = measured.ledger_
    assert set(ledger.domains.values()) == {"private"} and not ledger.unprotected
    assert ledger.proved is not None and ledger.proved.epsilon == pytest.approx(20, rel=1e-9)
    assert {s.stage for s in ledger.spends} >= {"categories", "magnitudes", "resolution"}
    schema = measured.schema_
    assert schema["job"].categories[:3] == ("arts", "farm", "law")
    age = schema["age"]
    assert schema["rich"].categories == (0, 1) and schema["joined"].resolution == "1D"
    assert (age.kind, age.minimum, age.maximum) == ("integer", 16, 127)
    assert schema["income"].missing and schema["income"].resolution == 0.01
    measured.save(tmp_path / "model")
    again = load(tmp_path / "model")
    drawn = [model.sample(100, random_state=1) for model in (again, measured)]
    assert again.schema_ == schema and drawn[0].equals(drawn[1])


def test_many_classes_of_a_target_are_measured_and_loaded_again(tmp_path: Path) -> None:
    labels = [None if i % 9 == 0 else f"c{i % 41}" for i in range(3000)]
    table = pd.DataFrame({"x": labels, "b": np.arange(3000) % 50})
    model = PrivateVine(50.0, 1e-6, domain="measured", target="x", random_state=0).fit(table)
    model.save(tmp_path / "model")
    load(tmp_path / "model")


def test_a_rare_category_is_not_shown(people: pd.DataFrame, tmp_path: Path) -> None:
    table = people.assign(job=["a most secret job", *people["job"][1:]])
    model = PrivateVine(2.0, domain="measured", random_state=0).fit(table)
    assert "a most secret job" not in model.schema_["job"].categories
    path = tmp_path / "model"
    model.save(path)
    assert b"secret job" not in path.read_bytes()


def test_declared_columns_stay_declared(people: pd.DataFrame, people_schema: Schema) -> None:
    kinds = kinds_of(people)
    mixed = Schema(tuple(people_schema[c.name] if c.name == "age" else c for c in kinds))
    model = PrivateVine(2.0, domain="measured", random_state=0).fit(people, mixed)
    assert model.ledger_.domains["age"] == "declared"
    assert model.schema_["age"] == people_schema["age"]
    assert model.ledger_.domains["job"] == "private" and not model.ledger_.unprotected


@pytest.mark.parametrize("n", [0, 1, 5])
def test_one_missing_value_does_not_change_what_is_asked(people: pd.DataFrame, n: int) -> None:
    """Whole numbers that pandas turns into floats are numbers all the same."""
    table = people[["age", "rich"]].copy()
    if n:
        table = table.astype(float)
        table.loc[: n - 1, "age"] = np.nan
    model = PrivateVine(1.0, domain="measured", random_state=0).fit(table)
    assert model.schema_["age"].kind == "integer"
    assert model.dtypes_ == {"age": "int64", "rich": "int64"}


def test_categories_need_a_delta(people: pd.DataFrame) -> None:
    model = PrivateVine(1.0, 0, domain="measured")
    with pytest.raises(SettingError, match=r"delta \(0\).*'job'"):
        model.fit(people)
    assert not hasattr(model, "ledger_")
    PrivateVine(5.0, 0, domain="measured", random_state=0).fit(people[["age", "income"]])


def test_a_refused_refit_leaves_the_model_as_it_was(
    measured: PrivateVine, people: pd.DataFrame, people_schema: Schema, tmp_path: Path
) -> None:
    measured.save(tmp_path / "before")
    with pytest.raises(ValueError, match="'age'"):
        measured.fit(people.assign(age=1000), people_schema)
    measured.save(tmp_path / "after")
    assert (tmp_path / "before").read_bytes() == (tmp_path / "after").read_bytes()


def test_a_plan_knows_what_a_measured_domain_takes_of_delta() -> None:
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"x": rng.choice(["a", "b"], 500), "y": rng.choice(["c", "d"], 500)})
    planned = plan(undeclared(table), 500, 1.0, domain="measured").stages
    fitted = PrivateVine(1.0, domain="measured", random_state=0).fit(table)
    size = next(q for q in fitted.transcript_.queries if q["stage"] == "size")
    row = planned[planned["stage"] == "size"].iloc[0]
    assert row["noise"] == pytest.approx(size["sigma"])
