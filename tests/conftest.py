"""Tables and schemas that many tests share."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pandas as pd
import pytest
from hypothesis import settings
from tallies import Tally

from copula_shirley import Column, Schema

# The same examples on every machine and no deadline: time is not what is tested.
settings.register_profile("steady", derandomize=True, deadline=None, max_examples=60)
settings.load_profile("steady")


@pytest.fixture
def tally(record_property: Callable[[str, object], None]) -> Iterator[Tally]:
    counts = Tally()
    yield counts
    for name, number in counts.items():
        record_property(name, number)


@pytest.fixture
def people() -> pd.DataFrame:
    """400 rows with every kind of column, dependence, and missing values."""
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


@pytest.fixture
def people_schema() -> Schema:
    return Schema(
        (
            Column("age", "integer", minimum=18, maximum=90),
            Column("job", "categorical", categories=("arts", "farm", "law", "none")),
            Column(
                "income", "continuous", minimum=0, maximum=100_000, resolution=0.01, missing=True
            ),
            Column("active", "boolean"),
            Column(
                "joined", "datetime", minimum="2020-01-01", maximum="2020-12-31", resolution="1D"
            ),
            Column("grade", "categorical", categories=("low", "mid", "high"), ordered=True),
            Column("rich", "integer", minimum=0, maximum=1),
        )
    )
