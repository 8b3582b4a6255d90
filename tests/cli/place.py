"""What the tests of commands share: a table, its schema, and options that make a fit quick."""

from __future__ import annotations

import numpy as np
import pandas as pd

from copula_shirley import Column, Schema

THESIS = "--schema schema.yaml --model copula-shirley --accept-unproved"
QUICK = f"{THESIS} --set encoder=ordinal --set families=gaussian --set threads=1"
SCHEMA = Schema(
    (
        Column("age", "integer", minimum=18, maximum=90),
        Column("job", "categorical", categories=("arts", "farm", "law")),
        Column("code", "categorical", categories=("007", "NA")),
        Column("pay", "continuous", minimum=0, maximum=999.9, resolution=0.1, missing=True),
        Column("rich", "boolean"),
        Column(
            "day", "datetime", minimum="2020-01-01", maximum="2020-12-31",
            resolution="1D", format="%Y-%m-%d",
        ),
    )
)  # fmt: skip


def two_hundred_rows() -> pd.DataFrame:
    rng = np.random.default_rng(1)
    n = 200
    age = rng.integers(18, 91, n)
    pay = np.round(age * 9 + rng.normal(0, 20, n).clip(-100, 100), 1).clip(0, 999.9)
    days = pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 366, n), unit="D")
    return pd.DataFrame(
        {
            "age": age,
            "job": rng.choice(["arts", "farm", "law"], n),
            "code": rng.choice(["007", "NA"], n),
            "pay": np.where(rng.random(n) < 0.1, np.nan, pay),
            "rich": age > 50,
            "day": days.strftime("%Y-%m-%d"),
        }
    )
