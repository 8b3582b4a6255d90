"""Every drawn row of every generator keeps every rule; real rows enter and leave unharmed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import event, given
from hypothesis import strategies as st
from tables import STAYS, fitted, stays

from copula_shirley import Column, PrivateVine, Schema, load
from copula_shirley.errors import SchemaError, SettingError
from copula_shirley.generator import generators
from copula_shirley.rules.check import numbers_of
from copula_shirley.rules.coordinates import Coordinates
from copula_shirley.rules.drawing import drawn
from copula_shirley.schema.rule_entries import rules_from

FEW = {"target": "died"}


def broken(table: pd.DataFrame, schema: Schema) -> dict[str, int]:
    """Rows that break each rule, counted by the check and not by what keeps it."""
    found = Coordinates.of(schema).broken(schema.validate(table))
    return {str(check.rule): int(wrong.sum()) for check, wrong in found if wrong.any()}


@pytest.mark.parametrize("name", sorted(generators()))
def test_every_generator_keeps_every_rule(name: str, tmp_path: Path) -> None:
    settings: dict[str, Any] = {"target": "died"} if name == "copula-shirley" else {}
    model = fitted(name, stays(), STAYS, random_state=0, **settings)
    drawn = model.sample(300)
    assert list(drawn.columns) == list(stays().columns) == model.columns_
    assert not broken(drawn, STAYS)
    # said once more in words of pandas
    known = drawn[drawn["discharge"].notna()]
    days = (known["discharge"] - known["admission"]).dt.days
    assert days.between(0, 365).all()
    bmi = np.round(drawn["weight"] / (drawn["height"] / 100) ** 2, 1)
    assert np.allclose(drawn["bmi"].astype(float), bmi, atol=0.051)
    assert (drawn["death"].notna() == (drawn["died"] == "yes")).all()
    assert not (drawn["basic"] & drawn["premium"]).any()
    assert not ((drawn["sex"] == "M") & (drawn["pregnant"] == "yes")).any()
    if model.publishable:
        model.save(tmp_path / "model")
        again = load(tmp_path / "model")
        assert again.table_schema_ == STAYS
        pd.testing.assert_frame_equal(
            again.sample(20, random_state=1), model.sample(20, random_state=1)
        )


def test_real_rows_come_back_as_they_went_in() -> None:
    table, coordinates = stays(), Coordinates.of(STAYS)
    entered = coordinates.entered(table)
    assert tuple(entered.columns) == coordinates.modelled.names
    assert coordinates.modelled.validate(entered) is entered
    modelled = {c.name: c for c in coordinates.modelled}
    values, good = coordinates.left(numbers_of(entered, modelled))
    assert good.all()
    for column in STAYS:
        own = column.domain.to_numbers(table[column.name])
        np.testing.assert_array_equal(values[column.name], own, column.name)


#: Chains of two and three columns, with all patterns of missing values.
CHAINS = [
    (kind, missing, strict)
    for kind in ("integer", "continuous", "datetime", "duration")
    for missing in ((False, True), (True, False), (True, True), (False, False), (True, False, True))
    + (((True, True, True), (False, True, True)) if kind == "datetime" else ())
    for strict in (False, True)
]


def chain_schema(kind: str, missing: tuple[bool, ...], strict: bool) -> Schema:
    bounds: dict[str, Any] = {"minimum": 0, "maximum": 40}
    if kind == "datetime":
        bounds = {"minimum": "2020-01-01", "maximum": "2020-02-10", "resolution": "1D"}
    if kind == "duration":
        bounds = {"minimum": "0s", "maximum": "40min", "resolution": "1min"}
    if kind == "continuous":
        bounds["resolution"] = 0.1
    columns = [Column(f"x{i}", kind, missing=gaps, **bounds) for i, gaps in enumerate(missing)]
    rule = {"order": [c.name for c in columns], "strict": strict}
    return Schema(tuple(columns), rules=rules_from([rule]))


@pytest.mark.parametrize(("kind", "missing", "strict"), CHAINS)
def test_all_patterns_of_missing_values_in_an_order(
    kind: str, missing: tuple[bool, ...], strict: bool
) -> None:
    """Ascending rows in all patterns come back; rows that a model could draw keep the order."""
    schema = chain_schema(kind, missing, strict)
    coordinates, rng = Coordinates.of(schema), np.random.default_rng(0)
    steps = 5 if kind == "continuous" else 1
    rows = np.sort(rng.integers(0, 37, (300, len(missing))), axis=1) + np.arange(len(missing))
    rows = np.where(rng.random(rows.shape) < 0.4 * np.array(missing), -np.inf, rows / steps)
    values = {c.name: rows[:, i] for i, c in enumerate(schema)}
    assert len(np.unique(np.isneginf(rows), axis=0)) == 2 ** sum(missing)
    assert not coordinates.checks[0].broken(values).any()
    made: dict[str, Any] = {**values}
    for change in coordinates.changes:
        made |= change.enter(values)
    for column in coordinates.modelled:
        series = column.domain.from_numbers(made[column.name])
        assert not column.domain.outside(series).any(), column.name
    back, good = coordinates.left({name: made[name] for name in coordinates.modelled.names})
    assert good.all()
    for name in schema.names:
        np.testing.assert_array_equal(back[name], values[name])

    def draw(n: int) -> dict[str, Any]:
        cells = {c.name: c.domain.cells() for c in coordinates.modelled}
        return {k: v.spread(v.first[rng.integers(0, v.size, n)], rng) for k, v in cells.items()}

    found = drawn(coordinates, draw, 200)
    known = np.stack([found[name] for name in schema.names], axis=1)
    for i in range(len(missing)):
        for j in range(i):
            both = np.isfinite(known[:, i]) & np.isfinite(known[:, j])
            gap = known[both, i] - known[both, j]
            assert (gap > 0).all() if strict else (gap >= 0).all()


# -- random rules ------------------------------------------------------------------------

NUMBERS, WORDS = ("a", "b", "c", "d"), ("p", "q", "r")
BASE = (
    Column("a", "integer", minimum=0, maximum=9, missing=True),
    Column("b", "integer", minimum=0, maximum=12),
    Column("c", "continuous", minimum=0, maximum=30, resolution=0.5),
    Column("d", "integer", minimum=0, maximum=30, missing=True),
    Column("p", "categorical", categories=("x", "y", "z"), missing=True),
    Column("q", "categorical", categories=("x", "y")),
    Column("r", "boolean"),
)
names = st.sampled_from
pairs = st.lists(names(NUMBERS), min_size=2, max_size=3, unique=True)
rule_sets = st.lists(
    st.one_of(
        pairs.map(lambda columns: {"order": columns}),
        st.permutations(NUMBERS).map(
            lambda c: {"computed": c[0], "as": f"{c[1]} + min({c[2]}, 3)", "missing": "all"}
        ),
        st.just({"function": "q", "of": ["r"], "table": {False: "x", True: "y"}}),
        st.just({"forbidden": {"columns": ["p", "q"], "rows": [["x", "x"], ["y", "y"]]}}),
        st.just({"allowed": {"columns": ["p", "r"], "rows": [["x", True], [None, False]]}}),
        st.tuples(names(NUMBERS), names(WORDS[:2])).map(
            lambda t: {"when": {t[0]: "..4"}, "then": {t[1]: "x"}}
        ),
        names(NUMBERS).map(lambda n: {"when": {"q": "y"}, "then": {n: "2..8"}}),
        st.just({"when": {"r": True}, "then": {"p": "missing"}}),
        st.just({"when": {"r": False}, "then": {"d": "present"}}),
    ),
    min_size=1,
    max_size=4,
)


@given(rule_sets, st.integers(0, 3))
def test_random_rules_are_kept_or_refused(rules: list[dict[str, Any]], seed: int) -> None:
    schema = Schema(BASE, rules=rules_from(rules))
    rng = np.random.default_rng(seed)
    n = 60
    table = pd.DataFrame(
        {
            c.name: c.domain.from_numbers(
                c.domain.cells().spread(c.domain.cells().first[rng.integers(0, c.size, n)], rng)
            )
            for c in BASE
        }
    )
    schema = replace(schema, on_broken="repair")
    try:
        model = fitted("uniform", table, schema, random_state=seed)
        drawn = model.sample(40)
    except (SchemaError, SettingError) as refused:
        known = ("derived by", "in a cycle", "no combination", "rules leave fewer than 2%")
        event(next(word for word in known if word in str(refused)))
        return
    assert len(drawn) == 40
    assert not broken(drawn, schema)


# -- rows that break a rule ----------------------------------------------------------------


def spoilt() -> pd.DataFrame:
    """Stays of which some rows break every rule."""
    table = stays()
    table.loc[:9, "discharge"] = table.loc[:9, "admission"] - pd.Timedelta("3D")
    table.loc[10:19, "bmi"] = 99.0
    table.loc[20:29, "currency"] = np.where(table.loc[20:29, "currency"] == "EUR", "USD", "EUR")
    table.loc[30:39, ["basic", "premium"]] = True
    table.loc[40:49, ["sex", "pregnant", "age"]] = ("M", "yes", 60)
    table.loc[50:59, "died"] = "yes"
    table.loc[50:59, "death"] = pd.NaT
    table.loc[60:69, "died"] = "no"
    table.loc[60:69, "death"] = table.loc[60:69, "admission"]
    return table.loc[table["discharge"].isna() | (table["discharge"] >= "2020-01-01")]


def test_rows_that_break_a_rule_are_refused_without_a_count() -> None:
    with pytest.raises(SchemaError, match="the table breaks the rules 'admission <=") as caught:
        PrivateVine().fit(spoilt(), STAYS)
    assert "8 more" not in str(caught.value)
    assert str(caught.value).count("'when") + str(caught.value).count(" more") <= 3
    assert "shirley check" in str(caught.value)


def test_rows_that_break_a_rule_are_dropped() -> None:
    coordinates = Coordinates.of(replace(STAYS, on_broken="drop"))
    kept = coordinates.enforced(STAYS.validate(spoilt()))
    assert 0 < len(kept) < len(spoilt())
    assert not broken(kept, STAYS)
    only = spoilt().loc[10:19]
    with pytest.raises(SchemaError, match="no row of the table keeps all rules"):
        coordinates.enforced(only)


def test_rows_that_break_a_rule_are_repaired_by_public_rules() -> None:
    schema = replace(STAYS, on_broken="repair")
    coordinates = Coordinates.of(schema)
    table = schema.validate(spoilt())
    entered = coordinates.entered(coordinates.enforced(table))
    assert coordinates.modelled.validate(entered) is entered
    modelled = {c.name: c for c in coordinates.modelled}
    values, good = coordinates.left(numbers_of(entered, modelled))
    assert good.all()
    dead = (table["died"] == "yes") & table["death"].isna()
    assert dead.any() and (values["died"][dead] == 0).all()  # what is missing nobody can invent
    assert (values["discharge"] >= values["admission"])[np.isfinite(values["discharge"])].all()
    # each row by itself: another row changes none of these
    fewer = coordinates.entered(table.iloc[::2])
    pd.testing.assert_frame_equal(fewer, entered.iloc[::2])
    assert not broken(fitted("private-vine", table, schema, random_state=0).sample(100), schema)


def test_a_repaired_row_changes_no_other() -> None:
    """It made texts of all dates of its column, which lost their hours."""
    day = {"minimum": "2020-01-01", "maximum": "2020-12-31", "resolution": "1h"}
    columns = (Column("new", "boolean"), Column("day", "datetime", **day, format="%d.%m.%Y"))
    rule = {"when": {"new": True}, "then": {"day": ["2020-01-01", "2020-06-01"]}}
    schema = Schema(columns, rules=rules_from([rule]), on_broken="repair")
    moments = pd.to_datetime(["2020-03-01 05:00", "2020-09-01 09:00", "2020-12-01 01:00"])
    table = pd.DataFrame({"new": [False, False, True], "day": moments})
    coordinates = Coordinates.of(schema)
    fewer, entered = (coordinates.entered(some) for some in (table[:2], table))
    assert fewer["day"].tolist() == entered["day"].tolist()[:2]


# -- conditions ------------------------------------------------------------------------------


def test_conditions_on_modelled_derived_and_joint_columns() -> None:
    model = fitted("private-vine", stays(), STAYS, random_state=0)
    drawn = model.sample(30, given={"age": (20, 40), "sex": "F", "bmi": (20, 30), "died": "no"})
    assert drawn["age"].between(20, 40).all() and (drawn["sex"] == "F").all()
    assert drawn["bmi"].between(20, 30).all() and drawn["death"].isna().all()
    assert not broken(drawn, STAYS)
    with pytest.raises(SettingError, match="uniform model cannot be conditioned"):
        fitted("uniform", stays(), STAYS).sample(3, given={"bmi": (20, 30)})
    lists = {"bmi": [(20, 24), (28, 30)], "country": ["DE", "US"], "age": [(1, 20), (80, 90)]}
    drawn = model.sample(60, given={**lists, "currency": ["EUR"]}, random_state=1)
    assert set(drawn["country"]) == {"DE"} and not broken(drawn, STAYS)  # US has USD
    assert (drawn["bmi"].between(20, 24) | drawn["bmi"].between(28, 30)).all()
    assert (drawn["age"].between(1, 20) | drawn["age"].between(80, 90)).all()


@pytest.mark.parametrize(
    ("wanted", "rule"),
    [
        ({"sex": "M", "pregnant": "yes"}, "when sex = M then pregnant = no"),
        ({"age": (60, 70), "pregnant": "yes"}, "when age = 50.. then"),
        ({"died": "no", "death": ("2020-05-01", "2020-06-01")}, "when died = no"),
        ({"died": "yes", "death": None}, "when died = yes"),
        ({"admission": "2021-03-01", "discharge": "2021-02-01"}, "admission <= discharge"),
        ({"admission": "2020-01-01", "discharge": "2022-02-01"}, "admission <= discharge"),
        ({"country": "DE", "currency": "USD"}, "currency is a function"),
        ({"country": ["DE", "FR"], "currency": "USD"}, "currency is a function"),
        ({"age": [(51, 60), (70, 80)], "pregnant": ["yes"]}, "when age = 50.. then"),
        ({"basic": True, "premium": True}, "at most one of basic, premium"),
        ({"weight": 60.0, "height": 170.0, "bmi": 30.0}, "bmi = "),
    ],
)
def test_conditions_that_contradict_a_rule_are_refused(wanted: dict[str, Any], rule: str) -> None:
    model = fitted("private-vine", stays(100), STAYS, random_state=0)
    with pytest.raises(SettingError, match=f"given .* contradicts the rule '{rule}"):
        model.sample_chunks(10, given=wanted)


def test_rules_that_leave_next_to_nothing_are_named() -> None:
    rules = [
        {"when": {"age": "..109"}, "then": {"country": "DE"}},
        {"when": {"age": "..109"}, "then": {"country": "US"}},
    ]
    bare = replace(STAYS, rules=rules_from(rules), on_broken="repair")
    model = fitted("uniform", stays(), bare, random_state=0)
    with pytest.raises(SettingError, match=r"leave fewer than 2% .*'when age = ..109 then country"):
        model.sample(100)
    with pytest.raises(SettingError, match=r"given \(all together\): fewer than 0\.02% of"):
        fitted("private-vine", stays(), STAYS, random_state=0).sample(
            9, given={"bmi": (0.0, 0.5), "died": "yes"}
        )
