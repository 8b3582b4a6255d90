"""Regression from noisy sums: coefficients, what the noise does to them, and the ledger."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from copula_shirley import Column, Schema, regression
from copula_shirley.errors import SchemaError, SettingError
from copula_shirley.least_squares import unproved
from copula_shirley.privacy.noise import SecureNoise

SCHEMA = Schema(
    (
        Column("age", "integer", minimum=20, maximum=70),
        Column("sex", "categorical", categories=("f", "m")),
        Column("since", "datetime", minimum="2020-01-01", maximum="2021-12-31", resolution="1D"),
        Column("job", "categorical", categories=("a", "b", "c")),
        Column("pay", "continuous", minimum=0, maximum=200, missing=True),
        Column("one", "integer", minimum=3, maximum=3),
    )
)
GIVEN = ["age", "sex", "since"]


def people(n: int, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    age, sex, days = rng.integers(20, 71, n), rng.integers(0, 2, n), rng.integers(0, 731, n)
    pay = 10 + 1.5 * age + 20 * sex - 0.02 * days + rng.normal(0, 10, n)
    return pd.DataFrame(
        {
            "age": age,
            "sex": np.array(["f", "m"])[sex],
            "since": pd.Timestamp("2020-01-01") + pd.to_timedelta(days, unit="D"),
            "job": "a",
            "pay": np.where(rng.random(n) < 0.1, np.nan, pay.clip(0, 200)),
            "one": 3,
        }
    )


def by_hand(table: pd.DataFrame) -> tuple[np.ndarray, np.ndarray, float]:
    """Least squares on the rows themselves: coefficients, standard errors, spread."""
    known = table[table["pay"].notna()]
    days = (known["since"] - pd.Timestamp("2020-01-01")).dt.days
    left = np.column_stack([np.ones(len(known)), known["age"], known["sex"] == "m", days])
    left, right = left.astype(float), known["pay"].to_numpy()
    found = np.linalg.lstsq(left, right, rcond=None)[0]
    spread = ((right - left @ found) ** 2).sum() / (len(known) - 4)
    errors = np.sqrt(spread * np.diag(np.linalg.inv(left.T @ left)))
    return found, errors, float(np.sqrt(spread))


def test_exact_sums_give_least_squares_and_the_ledger_says_that_they_protect_nobody() -> None:
    table = people(800)
    found = regression(table, SCHEMA, GIVEN, "pay", epsilon=None)
    coefficients, errors, spread = by_hand(table)
    assert found.coefficients["term"].tolist() == ["constant", "age", "sex = m", "since"]
    assert found.coefficients["coefficient"].to_numpy() == pytest.approx(coefficients, rel=1e-4)
    assert found.coefficients["sampling_error"].to_numpy() == pytest.approx(errors, rel=1e-4)
    assert found.spread == pytest.approx(spread, rel=1e-5)
    assert (found.coefficients["noise_error"] == 0).all() and found.sigma == 0
    assert found.rows == table["pay"].notna().sum()
    assert found.ledger.proved is None and "any m - 1" in found.notes[0]
    (use,) = found.ledger.unprotected
    assert use.what == "15 sums of products"


def test_the_standard_error_is_that_of_the_noise() -> None:
    table = people(5000)
    truth = regression(table, SCHEMA, GIVEN, "pay", epsilon=None)
    known, scores = truth.coefficients["coefficient"].to_numpy(), []
    for seed in range(60):
        found = regression(table, SCHEMA, GIVEN, "pay", epsilon=2.0, random_state=seed)
        off = found.coefficients["coefficient"].to_numpy() - known
        scores.append(off / found.coefficients["noise_error"].to_numpy())
    assert np.std(scores, axis=0) == pytest.approx(np.ones(4), abs=0.3)


def test_the_budget_is_spent_once_and_noise_is_as_large_as_it_says() -> None:
    table = people(2000)
    found = regression(table, SCHEMA, GIVEN, "pay", epsilon=1.0, random_state=0)
    ledger = found.ledger
    assert ledger.proved is not None and ledger.proved.epsilon == pytest.approx(1.0)
    (spend,) = ledger.spends
    # 15 sums of numbers from 0 to 1: sqrt(15) in L2, and rho = L2^2 / (2 sigma^2)
    assert found.sigma == pytest.approx(np.sqrt(15 / (2 * spend.rho)), rel=1e-6)
    exact = regression(table, SCHEMA, GIVEN, "pay", epsilon=None).sums.to_numpy()
    places = np.triu_indices(5)
    noise = [
        (regression(table, SCHEMA, GIVEN, "pay", random_state=seed).sums.to_numpy() - exact)[places]
        for seed in range(40)
    ]
    assert np.std(noise) == pytest.approx(found.sigma, rel=0.1)


def test_people_with_several_rows_get_more_noise() -> None:
    whose = Schema(SCHEMA.columns, person="who", max_rows=4)
    table = people(400).assign(who=np.arange(400) // 4)
    one = regression(table.drop(columns="who"), SCHEMA, ["age"], "pay", random_state=0)
    several = regression(table, whose, ["age"], "pay", random_state=0)
    assert several.sigma == pytest.approx(4 * one.sigma, rel=1e-6)
    assert several.ledger.unit == "person" and several.ledger.rows_per_unit == 4
    crowd = table.assign(who=0)
    with pytest.raises(SchemaError, match="max_rows"):
        regression(crowd, whose, ["age"], "pay")
    assert regression(crowd, whose, ["age"], "pay", epsilon=None, on_unknown="clip").rows <= 4


def test_drowned_coefficients_are_not_trusted() -> None:
    found = regression(people(50), SCHEMA, GIVEN, "pay", epsilon=0.01, random_state=0)
    assert found.coefficients["noise_error"].isna().all()
    assert "mean nothing" in found.notes[0]
    assert found.to_dict()["coefficients"][0]["noise_error"] is None


def test_pure_epsilon_and_drafts_and_exact_noise() -> None:
    found = regression(people(500), SCHEMA, ["age"], "pay", epsilon=5.0, delta=0.0)
    assert found.ledger.proved is not None and found.ledger.proved.delta == 0
    assert found.ledger.noise == SecureNoise().facts and found.ledger.noise.for_release
    drafted = Schema.draft(people(500))
    assert unproved(SCHEMA, ["age"], "pay", 1.0) == []
    reasons = unproved(drafted, ["age"], "pay", None)
    assert len(reasons) == 2 and "age" in reasons[1] and "since" not in reasons[1]
    assert regression(people(500), drafted, ["age"], "pay").ledger.proved is None


@pytest.mark.parametrize(
    ("columns", "on", "error"),
    [
        (["age", "shoe"], "pay", r"columns \('shoe'\) must be one of"),
        (["age"], "shoe", r"on \('shoe'\) must be one of"),
        (["age", "pay"], "pay", r"columns \('pay'\) must name each column once"),
        ([], "pay", r"columns \(\[\]\) must name 1 to 9 columns"),
        ("age", "pay", "columns .* must name 1 to 9"),
        (["job"], "pay", r"column 'job' \(3 categories\) must be a number"),
        (["one"], "pay", "column 'one' must have two values or more"),
    ],
)
def test_refused_before_rows_are_looked_at(columns: Any, on: str, error: str) -> None:
    with pytest.raises((SettingError, SchemaError), match=error):
        regression(pd.DataFrame(), SCHEMA, columns, on)


def test_values_off_the_schema_are_refused_or_clipped() -> None:
    table = people(300)
    table.loc[0, "age"] = 999
    with pytest.raises(SchemaError, match="column 'age'") as caught:
        regression(table, SCHEMA, ["age"], "pay")
    assert "999" not in str(caught.value)
    clipped = regression(table, SCHEMA, ["age"], "pay", epsilon=None, on_unknown="clip")
    at_end = regression(table.assign(age=table["age"].clip(20, 70)), SCHEMA, ["age"], "pay",
                        epsilon=None)  # fmt: skip
    assert (clipped.sums == at_end.sums).all(axis=None)
