"""Small tables, their schemas and quick models, shared by all tests.

Import what you need: ``from tables import PEOPLE, people``. The fixtures ``people`` and
``people_schema`` of conftest.py are the same table and schema.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pandas as pd

from copula_shirley import Column, Generator, PrivacyWarning, Schema
from copula_shirley.generator import find_generator

#: Of ``people``: every kind of column, an ordered one, missing values.
PEOPLE = Schema(
    (
        Column("age", "integer", minimum=18, maximum=90),
        Column("job", "categorical", categories=("arts", "farm", "law", "none")),
        Column("income", "continuous", minimum=0, maximum=100_000, resolution=0.01, missing=True),
        Column("active", "boolean"),
        Column("joined", "datetime", minimum="2020-01-01", maximum="2020-12-31", resolution="1D"),
        Column("grade", "categorical", categories=("low", "mid", "high"), ordered=True),
        Column("rich", "integer", minimum=0, maximum=1),
    )
)
#: Of ``jobs``: three columns, one of each common kind.
JOBS = Schema(
    (
        Column("age", "integer", minimum=18, maximum=90),
        Column("job", "categorical", categories=("arts", "farm", "law")),
        Column("rich", "boolean"),
    )
)
#: Of ``stays``: columns of a hospital, and rules of every kind.
STAYS = Schema.from_yaml(
    """
columns:
  age: {kind: integer, minimum: 0, maximum: 110}
  sex: {kind: categorical, categories: [F, M]}
  pregnant: {kind: categorical, categories: [no, yes], missing: true}
  admission: {kind: datetime, minimum: 2020-01-01, maximum: 2021-12-31, resolution: 1D}
  discharge: {kind: datetime, minimum: 2020-01-01, maximum: 2022-12-31, resolution: 1D,
    missing: true}
  weight: {kind: continuous, minimum: 30, maximum: 150, resolution: 0.1}
  height: {kind: continuous, minimum: 100, maximum: 220, resolution: 1}
  bmi: {kind: continuous, minimum: 0, maximum: 150, resolution: 0.1}
  country: {kind: categorical, categories: [DE, FR, US]}
  currency: {kind: categorical, categories: [EUR, USD]}
  basic: {kind: boolean}
  premium: {kind: boolean}
  died: {kind: categorical, categories: [no, yes]}
  death: {kind: datetime, minimum: 2020-01-01, maximum: 2022-12-31, resolution: 1D, missing: true}
rules:
  - {order: [admission, discharge], gap: {maximum: 365}}
  - {computed: bmi, as: "round(weight / (height / 100) ** 2, 1)"}
  - {function: currency, of: country, table: {DE: EUR, FR: EUR, US: USD}}
  - {one_hot: [basic, premium], at_most: 1}
  - {when: {sex: M}, then: {pregnant: no}}
  - {when: {age: 50..}, then: {pregnant: no}}
  - {when: {died: no}, then: {death: missing}}
  - {when: {died: yes}, then: {death: present}}
"""
)
#: Settings that make a fit of a generator quick.
QUICK: dict[str, dict[str, Any]] = {
    "copula-shirley": {"encoder": "ordinal", "families": ["gaussian"], "threads": 1},
    "privbayes": {"degree": 1},
}


@cache
def _people() -> pd.DataFrame:
    rng = np.random.default_rng(7)
    n = 400
    age = rng.integers(18, 91, n)
    rich = (age + rng.normal(0, 15, n) > 55).astype(int)
    job = np.where(
        rich == 1, rng.choice(["law", "arts"], n, p=[0.8, 0.2]), rng.choice(["arts", "farm"], n)
    )
    income = np.round(np.exp(rng.normal(8 + rich, 0.5, n)), 2)
    income[rng.random(n) < 0.2] = np.nan
    joined = pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 365, n), unit="D")
    return pd.DataFrame(
        {
            "age": age,
            "job": job,
            "income": income,
            "active": rng.random(n) < 0.5,
            "joined": joined,
            "grade": pd.Categorical(rng.choice(["low", "mid", "high"], n)),
            "rich": rich,
        }
    )


def stays(n: int = 600) -> pd.DataFrame:
    """Rows of a hospital that keep all rules of ``STAYS``."""
    rng = np.random.default_rng(5)
    age, sex = rng.integers(0, 100, n), rng.choice(["F", "M"], n)
    day = pd.Timestamp("2020-01-01")
    admission = day + pd.to_timedelta(rng.integers(0, 700, n), unit="D")
    days = np.minimum(rng.gamma(1.5, 2 + age / 20), 300).astype(int)
    pregnant = (sex == "F") & (age > 15) & (age < 50) & (rng.random(n) < 0.3)
    weight, height = rng.normal(75, 10, n).round(1), rng.normal(170, 9, n).round()
    country, offer = rng.choice(["DE", "FR", "US"], n), rng.integers(0, 3, n)
    died = rng.random(n) < 0.2
    discharge = pd.Series(admission + pd.to_timedelta(days, unit="D"))
    return pd.DataFrame(
        {
            "age": age,
            "sex": sex,
            "pregnant": np.where(pregnant, "yes", "no"),
            "admission": admission,
            "discharge": discharge.mask(rng.random(n) < 0.1),
            "weight": weight,
            "height": height,
            "bmi": np.round(weight / (height / 100) ** 2, 1),
            "country": country,
            "currency": np.where(country == "US", "USD", "EUR"),
            "basic": offer == 1,
            "premium": offer == 2,
            "died": np.where(died, "yes", "no"),
            "death": discharge.where(died),
        }
    )


def people(n: int = 400) -> pd.DataFrame:
    """The first n of 400 rows with every kind of column, dependence, and missing values."""
    return _people().head(n).copy()


def jobs(n: int = 300, seed: int = 3) -> pd.DataFrame:
    """Rows of three columns: whoever is older than 50 is rich."""
    rng = np.random.default_rng(seed)
    age = rng.integers(18, 91, n)
    job = rng.choice(["arts", "farm", "law"], n)
    return pd.DataFrame({"age": age, "job": job, "rich": age > 50})


def whole_numbers(names: Iterable[str], most: int = 9) -> Schema:
    """A schema of columns of whole numbers from 0, such as "abc"."""
    return Schema(tuple(Column(name, "integer", minimum=0, maximum=most) for name in names))


def declared(table: pd.DataFrame, person: str | None = None) -> Schema:
    """What a draft finds in a table, as if somebody had known all of it."""
    draft = Schema.draft(table, person=person)
    known = [replace(c, provenance="declared", source="the test") for c in draft]
    left = [replace(c, provenance="declared") for c in draft.left_out]
    whose: dict[str, Any] = {}
    if person is not None:
        whose = {"person_provenance": "declared", "person_source": "the test"}
    return replace(draft, columns=tuple(known), left_out=tuple(left), **whose)


def fitted(
    name: str,
    table: pd.DataFrame | None = None,
    schema: Schema = JOBS,
    **settings: Any,
) -> Generator:
    """A generator fitted to a table, ``jobs()`` by default, with quick settings."""
    kind = find_generator(name)
    chosen = {**QUICK.get(name, {}), **settings}
    if "epsilon" in kind.setting_names():
        chosen.setdefault("epsilon", 1.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrivacyWarning)
        return kind(**chosen).fit(jobs() if table is None else table, schema)
