"""What is said of a fit before it spends, and whether fits are as bad, or as good, as it says."""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from copula_shirley import (
    Column,
    PoorTableWarning,
    PrivateVine,
    Schema,
    SettingError,
    plan,
    synthesize,
    tasks,
)
from copula_shirley.fitted import silent
from copula_shirley.outlook import ABOUT_ROWS
from copula_shirley.private_vine.outlook import LOOKED_AT, outlook_of
from copula_shirley.publish.outputs import Output

KINDS = ("age", "pay", "flag", "ward")


def made(n: int, columns: int, kinds: Sequence[str] = KINDS) -> tuple[pd.DataFrame, Schema]:
    """A table of correlated columns of several kinds, far from an even spread."""
    rng, described, data = np.random.default_rng(3), [], {}
    common = rng.normal(size=n)
    wards = tuple(f"w{i}" for i in range(40))
    chances = 1 / np.arange(1, 41)
    for i in range(columns):
        kind, own = kinds[i % len(kinds)], 0.7 * common + 0.7 * rng.normal(size=n)
        name = f"{kind}{i}"
        if kind == "age":
            column = Column(name, "integer", minimum=0, maximum=120)
            data[name] = np.clip(np.round(45 + 15 * own), 0, 120).astype(int)
        elif kind == "pay":
            column = Column(name, "continuous", minimum=0, maximum=500_000)
            data[name] = np.clip(np.exp(7 + 1.2 * own), 0, 5e5)
        elif kind == "flag":
            column = Column(name, "categorical", categories=("no", "yes"))
            data[name] = np.where(own > 1, "yes", "no")
        else:
            column = Column(name, "categorical", categories=wards)
            data[name] = rng.choice(wards, n, p=chances / chances.sum())
        described.append(column)
    return pd.DataFrame(data), Schema(tuple(described))


def tvd1(real: pd.DataFrame, synthetic: pd.DataFrame, schema: Schema) -> float:
    """Mean distance of margins, in categories or at most 20 cells of equal mass."""
    found = []
    for column in schema:
        a, b = real[column.name], synthetic[column.name]
        if not column.is_listed:
            ends = np.unique(np.quantile(a, np.linspace(0, 1, LOOKED_AT + 1)))[1:-1]
            a, b = (pd.Series(np.searchsorted(ends, x, side="right")) for x in (a, b))
        shares = [x.value_counts(normalize=True) for x in (a, b)]
        found.append(shares[0].sub(shares[1], fill_value=0).abs().sum() / 2)
    return float(np.mean(found))


@pytest.mark.parametrize(
    ("n", "columns", "epsilon", "kinds"),
    [
        (100, 4, 0.1, KINDS),
        (1000, 12, 0.02, KINDS),
        (1000, 4, 0.05, ("age",)),
        (1000, 12, 0.2, ("ward",)),
        (10_000, 4, 0.01, ("ward",)),
        (1000, 3, 0.1, ("age", "ward", "pay")),
    ],
)
def test_where_a_fit_is_refused_an_even_table_is_as_near(
    n: int, columns: int, epsilon: float, kinds: Sequence[str]
) -> None:
    table, schema = made(n, columns, kinds)
    model = PrivateVine(epsilon, random_state=0)
    assert outlook_of(model, schema, n).useless
    with pytest.warns(PoorTableWarning, match="not for release"):
        got = tvd1(table, model.fit(table, schema).sample(5000), schema)
    rng = np.random.default_rng(1)
    even = {
        c.name: rng.choice(c.categories, 5000)
        if c.is_listed
        else rng.uniform(c.minimum, c.maximum, 5000)
        for c in schema
    }
    assert got > 0.35 and got > 0.75 * tvd1(table, pd.DataFrame(even), schema)


@pytest.mark.parametrize(
    ("n", "columns", "epsilon", "kinds"),
    [
        (1000, 4, 0.3, KINDS),
        (1000, 12, 1.0, KINDS),
        (1000, 4, 0.5, ("age",)),
        (10_000, 12, 0.2, ("ward",)),
        (10_000, 4, 0.05, KINDS),
        (300, 3, 1.0, ("flag",)),
    ],
)
def test_where_it_is_not_the_table_is_worth_something(
    n: int, columns: int, epsilon: float, kinds: Sequence[str]
) -> None:
    table, schema = made(n, columns, kinds)
    model = PrivateVine(epsilon, random_state=0)
    assert not outlook_of(model, schema, n).useless
    assert tvd1(table, model.fit(table, schema).sample(5000), schema) < 0.25


def test_a_good_fit_warns_of_nothing() -> None:
    table, schema = made(20_000, 4)
    model = PrivateVine(1.0, random_state=0)
    assert outlook_of(model, schema, len(table)).words == []
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.fit(table, schema)
    assert outlook_of(PrivateVine(None), schema, 10).words == []


def test_a_remedy_remedies() -> None:
    _, schema = made(10, 4)
    said = outlook_of(PrivateVine(0.01), schema, 1000).useless
    times = int(said.split("About ")[1].split(" times")[0].replace(",", ""))
    assert not outlook_of(PrivateVine(0.01 * times), schema, 1000).useless
    assert not outlook_of(PrivateVine(0.01), schema, 1000 * times).useless


def test_independent_columns_are_told() -> None:
    _, schema = made(10, 4, ("flag",))
    found = outlook_of(PrivateVine(0.1), schema, 300)
    assert (
        not found.useless and "columns of the synthetic table will be independent" in found.poor[0]
    )
    assert found.poor[0] in plan(schema, 300, 0.1).notes


def test_noisy_columns_and_drowned_categories_are_told() -> None:
    _, schema = made(10, 4)
    noisy, drowned = outlook_of(PrivateVine(0.3), schema, 1000).poor
    assert "Noise may move about 67% of the rows of 'ward3', 'age0', 'pay1'" in noisy
    assert "Most categories of 'ward3' will drown" in drowned
    assert {noisy, drowned} <= {*plan(schema, 1000, 0.3).notes}


def test_categories_that_cannot_be_bought_are_told() -> None:
    schema = Schema.of_kinds({"job": "categorical", "town": "categorical", "age": "integer"})
    few = outlook_of(PrivateVine(0.1, domain="measured"), schema, 500)
    assert "'job', 'town'" in few.useless and "all become '(other)'" in few.poor[-1]
    many = outlook_of(PrivateVine(1.0, domain="measured"), schema, 100_000)
    assert many.words == []


# -- tasks: refused, asked, accepted ------------------------------------------------


def order(epsilon: float = 0.02, **more: object) -> tasks.Order:
    table, schema = made(1000, 4)
    return tasks.Order(PrivateVine(epsilon), table, schema, **more)  # type: ignore[arg-type]


def test_a_useless_fit_is_refused_before_anything_is_spent(tmp_path: Path) -> None:
    wanted = order()
    with pytest.raises(SettingError, match=r"nothing useful can come out: .* --accept-poor") as e:
        tasks.fit(wanted, Output(tmp_path / "m.shirley"))
    assert ABOUT_ROWS in str(e.value) and not list(tmp_path.iterdir())
    assert not hasattr(wanted.generator, "ledger_")
    table, schema = made(1000, 4)
    with pytest.raises(SettingError, match="accept_poor=True"):
        synthesize(table, schema, epsilon=0.02)
    with pytest.warns(PoorTableWarning, match="Nothing useful"):
        assert len(synthesize(table, schema, epsilon=0.02, accept_poor=True, rows=7)) == 7


def test_a_useless_fit_is_asked_about_and_told(tmp_path: Path) -> None:
    heard: list[str] = []

    def ask(text: str, answer: bool) -> bool:
        heard.append(text)
        return answer

    output = Output(tmp_path / "m.shirley")
    with pytest.raises(SettingError, match="before anything was spent"):
        tasks.fit(order(ask=lambda text: ask(text, False)), output)
    assert "independent" in heard[0] and not list(tmp_path.iterdir())
    tasks.fit(order(ask=lambda text: ask(text, True)), output)
    tasks.fit(order(accept_poor=True, tell=heard.append), output)
    assert len(heard) == 2 + len(outlook_of(PrivateVine(0.02), made(10, 4)[1], 1000).words)
    assert all(ABOUT_ROWS in text for text in heard)


def test_with_a_public_number_of_rows_nothing_depends_on_the_true_one(tmp_path: Path) -> None:
    output = Output(tmp_path / "m.shirley")
    with pytest.raises(SettingError, match="nothing useful") as error:
        tasks.fit(order(1.0, rows_about=10), output)
    assert ABOUT_ROWS not in str(error.value)
    assert tasks.fit(order(rows_about=1_000_000), output).notes == []
    unread = tasks.Order(PrivateVine(1.0), tmp_path / "no.csv", made(10, 4)[1], rows_about=10)
    with pytest.raises(SettingError, match="nothing useful"):
        tasks.fitted(unread, "", silent)
    with pytest.raises(SettingError, match=r"rows_about \(0\) must be 1 or more"):
        tasks.fit(order(rows_about=0), output)


def test_rows_beyond_max_rows_are_counted_for_the_curator_alone(tmp_path: Path) -> None:
    table, schema = made(3000, 3)
    table["who"] = np.r_[np.zeros(600, int), np.arange(1, 2401)]
    people = Schema(schema.columns, person="who", max_rows=2)
    model = PrivateVine(5.0, on_unknown="clip")
    done = tasks.fit(tasks.Order(model, table, people), Output(tmp_path / "m.shirley"))
    (said,) = [note for note in done.notes if "left out" in note]
    assert "598 of 3,000 rows (19.9%) are left out: a person's rows beyond max_rows (2)" in said
    assert said.endswith(ABOUT_ROWS)
    for path in tmp_path.iterdir():
        # alone: random digits of a digest or a noisy count may hold them
        assert not re.search(rb"(?<![0-9a-f.,])598(?![0-9a-f.,])", path.read_bytes())
        assert b"left out: a" not in path.read_bytes()
