from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from copula_shirley import Column, PrivateVine, Schema
from copula_shirley.private_vine.model import FEW, LEAST_POOL
from copula_shirley.schema.conditions import conditions


def test_rows_of_the_plain_model_stay_where_enough_fulfil_a_rare_condition(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Weights under a condition alone were worth 10 rows of 7,000 in a million."""
    monkeypatch.setattr("copula_shirley.private_vine.model.MOST_POOL", 40_000)
    rng = np.random.default_rng(0)
    number = rng.integers(0, 1000, 5000)
    table = pd.DataFrame({"number": number, "half": (number >= 500).astype(int)})
    schema = Schema(
        (
            Column("number", "integer", minimum=0, maximum=999),
            Column("half", "integer", minimum=0, maximum=1),
        )
    )
    fitted = PrivateVine(None, random_state=0).fit(table, schema)._model
    # 800 of 40,000 rows lie from 0 to 19, 40 at 7
    for ends, plain in (((0, 19), True), ((7, 7), False)):
        given = {0: conditions({"number": ends}, schema)["number"]}
        pool = fitted._pool(10_000, np.random.default_rng(1), given)
        weight = pool.weight
        assert len(weight) == len(pool.cells(0)) and (weight > 0).any()
        assert (FEW <= len(weight) < 1100) if plain else len(weight) == 2 * LEAST_POOL
        drawn = fitted.sample(2000, np.random.default_rng(1), given)
        assert ((drawn["number"] >= ends[0]) & (drawn["number"] <= ends[1])).all()
        assert (drawn["half"] == 0).mean() > 0.95
