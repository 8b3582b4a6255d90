"""PrivateVine at work: settings, odd tables, joint distributions, conditions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import chi2

from copula_shirley import (
    ArtefactError,
    Column,
    PrivateVine,
    Schema,
    SettingError,
    ShirleyError,
    load,
)
from copula_shirley.private_vine import generator as private_vine
from copula_shirley.private_vine.stages import REVISION
from copula_shirley.publish.verify import verify_file

# -- settings ----------------------------------------------------------------------


class Untouchable:
    """Stands for a table whose rows must not be looked at."""

    def __getattribute__(self, name: str) -> Any:
        if name == "__class__":
            return object
        raise AssertionError(f"the table was touched: {name}")


CLASSES = tuple(f"c{i}" for i in range(40))
PUBLIC = Schema((Column("a", "boolean"), Column("many", "categorical", categories=CLASSES)))


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        *(("epsilon", v) for v in (0, -1.0, float("nan"), float("inf"), "1", True)),
        *(("delta", v) for v in (-1e-9, 1.0, 2, float("nan"), "0", True, None)),
        *(("neighbours", v) for v in ("add", None, 1)),
        *(("truncation", v) for v in (0, -1, 1.5, "all", True)),
        *(("families", v) for v in ("yes", 1, None)),
        *(("reweight", v) for v in ("yes", 0, None)),
        ("target", "many"),
        ("target", "nowhere"),
        ("target", 3),
        ("random_state", "seed"),
        ("random_state", -1),
        ("on_unknown", "ignore"),
    ],
)
def test_a_bad_setting_is_named_before_a_row_is_touched(setting: str, value: Any) -> None:
    with pytest.raises(SettingError) as error:
        PrivateVine(**{setting: value}).fit(Untouchable(), PUBLIC)
    assert setting in str(error.value) and repr(value) in str(error.value)


@pytest.mark.parametrize("delta", [0.0, 1e-9])
def test_noise_that_cannot_be_drawn_is_refused_before_a_row_is_touched(delta: float) -> None:
    """Such a fit spent its first query and then stopped."""
    schema = Schema(PUBLIC.columns, "who", 10**6)
    with pytest.raises(SettingError, match="too small for these columns"):
        PrivateVine(1e-5, delta).fit(Untouchable(), schema)


# -- odd tables ---------------------------------------------------------------------


def category(name: str, size: int = 3, **more: Any) -> Column:
    return Column(name, "categorical", categories=tuple(f"c{i}" for i in range(size)), **more)


def texts(n: int, *sizes: int, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {f"x{j}": [f"c{i}" for i in rng.integers(0, k, n)] for j, k in enumerate(sizes)}
    )


def listed(*sizes: int) -> Schema:
    return Schema(tuple(category(f"x{j}", size) for j, size in enumerate(sizes)))


NUMBERS = Schema(
    (
        Column("a", "continuous", minimum=0, maximum=1e6, special=(0,), missing=True),
        Column("b", "integer", minimum=-5, maximum=100_000),
        category("c", missing=True),
    )
)
WIDE = Schema((Column("a", "integer", minimum=-(10**13), maximum=400, special=(0,)), category("b")))
DATES = Schema((Column("a", "datetime", minimum="1900-01-01", maximum="2100-01-01"),))
NO_WIDTH = Schema(
    (
        Column("a", "continuous", minimum=2.5, maximum=2.5),
        Column("b", "integer", minimum=4, maximum=4),
        Column("c", "boolean"),
    )
)
#: Columns, schema, and the target.
ODD_TABLES: dict[str, tuple[Any, Schema, str | None]] = {
    "one row": (texts(1, 3, 3, 3), listed(3, 3, 3), None),
    "all rows equal": (texts(300, 1, 1, 1), listed(3, 3, 3), None),
    "a column with one category": (texts(300, 1, 3, 3, 1), listed(1, 3, 3, 1), None),
    "nothing but one category": (texts(300, 1, 1, 1), listed(1, 1, 1), None),
    "one column": (texts(300, 4), listed(4), None),
    "one column, the target": (texts(300, 4), listed(4), "x0"),
    "two columns": (texts(300, 4, 2), listed(4, 2), None),
    "two columns, one the target": (texts(300, 4, 2), listed(4, 2), "x1"),
    "a target with one declared class": (texts(300, 3, 1, 3), listed(3, 1, 3), "x1"),
    "a target with one class": (texts(300, 3, 1, 3), listed(3, 3, 3), "x1"),
    "40 columns": (texts(200, *[3] * 40), listed(*[3] * 40), None),
    "500 categories": (texts(400, 500, 3, 3), listed(500, 3, 3), None),
    "heavy ties": (
        {"a": [0.0] * 290 + [5.0] * 10, "b": [40] * 300, "c": ["c0"] * 300},
        NUMBERS,
        None,
    ),
    "outliers at the bounds": (
        {"a": [1.0] * 299 + [1e6], "b": [-5, 100_000] * 150, "c": ["c0"] * 300},
        NUMBERS,
        None,
    ),
    "columns all missing": (
        {"a": [np.nan] * 300, "b": range(300), "c": [None] * 300},
        NUMBERS,
        "c",
    ),
    "a target with gaps": (
        {"a": [1.0, 2, 3], "b": [1, 2, 3], "c": ["c0", None, "c1"]},
        NUMBERS,
        "c",
    ),
    "a narrow side of a wide domain": (
        {"a": range(300), "b": ["c0", "c1", "c2"] * 100},
        WIDE,
        None,
    ),
    "two dates of many": ({"a": pd.to_datetime(["1950-01-01", "1950-01-02"])}, DATES, None),
    "no width": ({"a": [2.5] * 50, "b": [4] * 50, "c": [True, False] * 25}, NO_WIDTH, None),
}


@pytest.mark.parametrize("odd", ODD_TABLES)
def test_odd_tables_are_fitted_and_drawn(odd: str) -> None:
    columns, schema, target = ODD_TABLES[odd]
    table = pd.DataFrame(columns)
    budgets = [(1e-3, 1e-9), (1.0, 0.0), (1e4, 1e-9), (1e6, 0.0)]
    if len(schema) > 10:  # 40 columns in all trees take long
        budgets[1:] = [(30.0, 1e-9)]
    for epsilon, delta in budgets:
        model = PrivateVine(epsilon, delta, random_state=0, target=target).fit(table, schema)
        for n in (0, 1, 40):
            drawn = model.sample(n)
            assert len(drawn) == n and drawn.columns.tolist() == table.columns.tolist()
            if n:
                schema.validate(drawn)
        assert model.ledger_.spent.epsilon == pytest.approx(epsilon, rel=1e-9)
        assert not model.tables()["Measured"].empty


def test_many_trees_have_a_share_each() -> None:
    rng = np.random.default_rng(0)
    coin = rng.random(4000) < 0.5
    names = [f"x{i}" for i in range(45)]
    table = pd.DataFrame({name: coin ^ (rng.random(4000) < 0.2) for name in names})
    schema = Schema(tuple(Column(name, "boolean") for name in names))
    model = PrivateVine(100.0, 0.0, truncation=None, reweight=False, random_state=1)
    assert model.fit(table, schema).ledger_.spent.epsilon == pytest.approx(100)


# -- noise off ------------------------------------------------------------------------


def three_columns(n: int = 4000) -> tuple[pd.DataFrame, Schema]:
    """Three columns of categories with an interaction of all three."""
    rng = np.random.default_rng(4)
    mass = rng.dirichlet(np.full(3 * 4 * 2, 1.5))
    cells = rng.choice(24, n, p=mass)
    columns = np.unravel_index(cells, (3, 4, 2))
    table = pd.DataFrame({f"x{j}": [f"c{v}" for v in part] for j, part in enumerate(columns)})
    return table, listed(3, 4, 2)


def counts_of(table: pd.DataFrame) -> np.ndarray:
    cells = np.zeros(len(table), dtype=int)
    for name, size in zip(("x0", "x1", "x2"), (3, 4, 2), strict=True):
        cells = cells * size + table[name].str[1:].astype(int).to_numpy()
    return np.bincount(cells, minlength=24)


@pytest.mark.parametrize("target", [None, "x2"])
def test_without_noise_a_joint_distribution_is_reproduced(target: str | None) -> None:
    table, schema = three_columns()
    model = PrivateVine(None, truncation=None, target=target, random_state=0).fit(table, schema)
    share = counts_of(table) / len(table)
    n = 5000
    counts = counts_of(model.sample(n))
    # Pearson's statistic of independent draws from the table has at most 23 degrees of freedom;
    # systematic draws vary less. Its chance to pass this bound is 1e-9.
    statistic = ((counts - n * share) ** 2 / (n * np.maximum(share, 1 / n))).sum()
    assert statistic < chi2.isf(1e-9, 23)


# -- tables beyond the vine -------------------------------------------------------------


def two_triangles(n: int = 10_000, idle: int = 14) -> tuple[pd.DataFrame, Schema]:
    """Two triples of copies of a hidden coin, the second with more errors, and idle columns."""
    rng = np.random.default_rng(7)
    names = [*"abcdef", *(f"idle{i}" for i in range(idle))]
    table = pd.DataFrame({name: rng.random(n) < 0.5 for name in names})
    for names_of, wrong in (("abc", 0.1), ("def", 0.25)):
        coin = rng.random(n) < 0.5
        for name in names_of:
            table[name] = coin ^ (rng.random(n) < wrong)
    return table, Schema(tuple(Column(name, "boolean") for name in names))


def test_a_missed_pair_does_not_take_all_tables_beyond_the_vine() -> None:
    """A tree holds two sides of a triangle; every triple with the third one looks far off."""
    table, schema = two_triangles()
    model = PrivateVine(1.0, 1e-9, random_state=0).fit(table, schema)
    asked = [q["what"] for q in model.transcript_.queries if q["stage"] == "tables beyond the vine"]
    extras = [set(what) for batch in asked for what in batch]
    assert len(asked) > 1 and len(set(map(frozenset, extras))) == len(extras)
    for triangle in (set("abc"), set("def")):
        # in a single batch 13 of 14 tables went to the first triangle
        assert 1 <= sum(len(triangle & extra) >= 2 for extra in extras) <= len(extras) / 2


# -- conditions ------------------------------------------------------------------------

TOWN = Schema(
    (
        Column("age", "integer", minimum=0, maximum=99),
        category("job", 4, missing=True),
        Column("pay", "continuous", minimum=0, maximum=10_000, resolution=0.5, special=(0,)),
        Column("flag", "boolean"),
        Column("day", "datetime", minimum="2020-01-01", maximum="2020-12-31", resolution="1D"),
        category("grade", 3, ordered=True),
        Column("wide", "integer", minimum=0, maximum=1_000_000),
    )
)


def townspeople(n: int = 3000) -> pd.DataFrame:
    rng = np.random.default_rng(2)
    age = rng.integers(18, 90, n)
    job = np.array(["c0", "c1", "c2"], dtype=object)[np.clip((age - 18) // 24, 0, 2)]
    job[rng.random(n) < 0.1] = None
    pay = np.round(rng.gamma(age / 20, 500, n))
    grade = np.clip(age // 30 + rng.integers(-1, 2, n), 0, 2)
    return pd.DataFrame(
        {
            "age": age,
            "job": job,
            "pay": np.where(rng.random(n) < 0.3, 0, pay).clip(0, 1e4),
            "flag": rng.random(n) < age / 100,
            "day": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 366, n), unit="D"),
            "grade": [f"c{g}" for g in grade],
            "wide": rng.integers(0, 1000, n) * 1000,
        }
    )  # fmt: skip


@pytest.fixture(scope="module", params=[None, "grade"])
def model(request: pytest.FixtureRequest) -> PrivateVine:
    fitted = PrivateVine(50.0, target=request.param, random_state=0)
    return fitted.fit(townspeople(), TOWN)


@pytest.mark.parametrize(
    "given",
    [
        {"job": "c1"},
        {"job": "c3"},  # a category without a row
        {"job": None},
        {"age": 40},
        {"age": 3},  # an age without a row
        {"flag": True},
        {"grade": "c2"},
        {"day": "2020-02-29"},
        {"day": pd.Timestamp("2020-02-29")},
        {"pay": 0},
        {"pay": 1234.5},
        {"wide": 123_456},
        {"job": "c0", "age": 25, "flag": False, "grade": "c0", "pay": 17.5},
        {"job": "c0", "age": 89, "grade": "c0"},  # never together
    ],
)
def test_one_value_per_column_is_met_by_every_row(
    model: PrivateVine, given: dict[str, Any]
) -> None:
    drawn = model.sample(120, given=given, random_state=0)
    TOWN.validate(drawn)
    assert len(drawn) == 120
    for name, value in given.items():
        met = drawn[name].isna() if value is None else drawn[name] == value
        assert met.all(), name


@pytest.mark.parametrize(
    ("name", "low", "high"),
    [
        ("age", 30, 40),
        ("age", 0, 10),
        ("pay", 100.0, 101.5),
        ("pay", 0, 10_000),
        ("day", "2020-03-01", "2020-03-31"),
        ("grade", "c0", "c1"),
        ("wide", 1234, 1240),
    ],
)
def test_intervals_hold_both_ends(model: PrivateVine, name: str, low: Any, high: Any) -> None:
    drawn = model.sample(150, given={name: (low, high)}, random_state=0)
    TOWN.validate(drawn)
    assert drawn[name].between(low, high).all()
    assert len(drawn[name].unique()) > 1


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("job", ["c0", "c2"]),
        ("job", ["c1", None]),
        ("age", [20, 40, 41, 89]),
        ("pay", [500.0, 1234.5]),
        ("day", ["2020-01-31", "2020-06-30"]),
        ("wide", [1, 500, 500_000, 999_000]),
    ],
)
def test_a_list_holds_the_values_that_are_drawn(
    model: PrivateVine, name: str, values: list[Any]
) -> None:
    drawn = model.sample(400, given={name: values}, random_state=0)
    TOWN.validate(drawn)
    wanted = pd.Series(values, dtype=object)
    if name == "day":
        wanted = pd.to_datetime(wanted)
    assert (drawn[name].isin(wanted.dropna()) | drawn[name].isna() & wanted.isna().any()).all()
    assert len(drawn[name].unique()) > 1


def test_the_values_of_a_list_come_in_the_shares_of_the_model(model: PrivateVine) -> None:
    # both ways to draw: filtered, and rare with parts on either side of half of the mass
    everyone = model.sample(40_000, random_state=1)
    for given, rare in (
        ({"age": [(18, 21), (60, 89)]}, {}),
        ({"age": [(18, 21), (60, 89)]}, {"wide": (500_000, 500_100)}),
    ):
        drawn = model.sample(4000, given=given | rare, random_state=2)["age"]
        among = everyone["age"][everyone["age"].between(18, 21) | everyone["age"].between(60, 89)]
        assert (drawn.between(18, 21) | drawn.between(60, 89)).all()
        # 4,000 rows: four standard deviations are .02; a rare sample has fewer different rows
        gap = drawn.between(18, 21).mean() - among.between(18, 21).mean()
        assert abs(gap) < (0.05 if rare else 0.025)


@pytest.mark.parametrize(
    ("name", "value", "rule"),
    [
        ("nowhere", 1, "column of the schema"),
        ("age", (40, 30), "lower end first"),
        ("age", (1, 2, 3), "pair"),
        ("age", 120, "declared domain"),
        ("age", (30, 120), "declared domain"),
        ("age", 30.5, "declared domain"),
        ("age", "old", "must be a number in"),
        ("age", None, "declared domain"),
        ("age", float("nan"), "declared domain"),
        ("job", "c9", "declared domain"),
        ("job", ("c0", "c1"), "one category"),
        ("flag", (False, True), "one category"),
        ("flag", "perhaps", "declared domain"),
        ("day", "soon", "date"),
        ("day", "2031-01-01", "declared domain"),
        ("grade", ("c2", "c0"), "lower end first"),
        ("pay", float("inf"), "declared domain"),
        ("job", [], "at least one"),
        ("job", ["c0", "c9"], "declared domain"),
        ("age", [(40, 30)], "lower end first"),
    ],
)
def test_wrong_conditions_name_column_value_and_rule(
    model: PrivateVine, name: str, value: Any, rule: str
) -> None:
    with pytest.raises(SettingError) as error:
        model.sample(10, given={name: value})
    message = str(error.value)
    assert repr(name) in message and rule in message and "given" in message
    spelled = "..".join(map(str, value)) if isinstance(value, tuple) else repr(value)
    assert spelled in message or name == "nowhere"
    with pytest.raises(ShirleyError, match="given"):
        model.sample(10, given=[(name, value)])  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "given", [{"job": "c1"}, {"grade": "c2"}, {"flag": True}, {"age": (30, 49)}, {"job": None}]
)
def test_a_condition_is_a_filter(model: PrivateVine, given: dict[str, Any]) -> None:
    ((name, value),) = given.items()
    everyone = model.sample(30_000, random_state=1)
    if value is None:
        filtered = everyone[everyone[name].isna()]
    elif isinstance(value, tuple):
        filtered = everyone[everyone[name].between(*value)]
    else:
        filtered = everyone[everyone[name] == value]
    drawn = model.sample(6000, given=given, random_state=2)
    for other in ("job", "flag", "grade"):
        if other == name:
            continue
        shares = [t[other].astype(str).value_counts(normalize=True) for t in (filtered, drawn)]
        gap = shares[0].sub(shares[1], fill_value=0).abs().sum() / 2
        # four cells, at least 2,000 rows each: independent draws stay below .03 but for a
        # chance of 1e-4, systematic ones more often. Another .03 are for what a sample of all
        # rows is polished by and a conditional one is not: it is reweighted by the fit's factors
        assert gap < 0.06, (other, gap)
    ages = [t["age"].mean() for t in (filtered, drawn)]
    assert ages[0] == pytest.approx(ages[1], abs=2.0)


# -- revisions ----------------------------------------------------------------------


def test_a_model_of_another_revision_is_refused_and_the_reason_told(
    model: PrivateVine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model.save(tmp_path / "model")
    load(tmp_path / "model")
    monkeypatch.setattr(private_vine, "REVISION", REVISION + 1)
    for look in (load, verify_file):  # a fault of the reader, not of the file
        with pytest.raises(ArtefactError, match=f"cannot be loaded.* revision {REVISION} of"):
            look(tmp_path / "model")


def test_a_revision_must_be_a_number() -> None:
    for odd in (None, str(REVISION), [REVISION], True):
        with pytest.raises(ArtefactError, match="revision must be a whole number"):
            PrivateVine._check_revision({"revision": odd})
    with pytest.raises(ArtefactError, match="by revision 1 or 2"):
        PrivateVine._check_revision({})
