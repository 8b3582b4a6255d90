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
