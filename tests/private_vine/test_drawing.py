"""The law of drawn rows: as that of a slow implementation that shares nothing with the fast one."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from slow_drawing import apart, drawn_slowly, off_tables

from copula_shirley import Column, PrivateVine, Schema
from copula_shirley.private_vine.model import FittedVine

ROWS = 4000


@pytest.fixture(scope="module")
def model() -> FittedVine:
    """A target, two classes that matter, heavy tails, a smooth copula and correlations."""
    rng = np.random.default_rng(0)
    n = 30_000
    score = rng.normal(size=n)
    income = np.minimum(np.exp(score + rng.normal(size=n)) * 1000, 1e6)
    age = np.clip(40 + 12 * score + 8 * rng.normal(size=n), 18, 90).round()
    job = np.select(
        [score + 2 * rng.normal(size=n) < -1, rng.random(n) < 0.5], ["farm", "law"], "arts"
    )
    hours = np.where(
        rng.random(n) < 0.4,
        40,
        np.clip(35 + 8 * score - 0.4 * (age - 40) + 6 * rng.normal(size=n), 1, 99),
    )
    rich = (income + 30 * age > 3000).astype(int)
    table = pd.DataFrame(
        {"age": age, "job": job, "income": income, "hours": hours.round(), "rich": rich}
    ).astype({"age": int, "hours": int})
    schema = Schema(
        (
            Column("age", "integer", minimum=18, maximum=90),
            Column("job", "categorical", categories=("arts", "farm", "law")),
            Column("income", "continuous", minimum=0, maximum=1e6),
            Column("hours", "integer", minimum=1, maximum=99),
            Column("rich", "integer", minimum=0, maximum=1),
        )
    )
    fitted = PrivateVine(2.0, target="rich", random_state=0).fit(table, schema)._model
    families = [edge.family for _, edge in fitted.vine.edges]
    assert {"checkerboard", "gaussian"} < set(families), families  # and one that is smooth
    return fitted


@pytest.mark.parametrize("large", [False, True])
def test_rows_have_the_law_of_a_slow_draw(
    model: FittedVine, large: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tables and all pairs: as far off as two slow samples are from each other."""
    if large:  # as in a chunk of a large sample, from factors that are found once
        monkeypatch.setattr("copula_shirley.private_vine.model.LARGE_POOL", 4 * ROWS)
    slow = [drawn_slowly(model, ROWS, np.random.default_rng(seed)) for seed in range(3)]
    fast = []
    for seed in range(10, 13):
        rng = np.random.default_rng(seed)
        fast.append(dict(enumerate(model._pool(ROWS, rng, {}).chosen(ROWS, rng).groups)))
    usual = np.mean([apart(model, slow[i], slow[i - 1]) for i in range(3)])
    found = np.mean([apart(model, one, other) for one in slow for other in fast])
    assert found < 1.1 * usual
    off = [np.mean([off_tables(model, rows) for rows in part]) for part in (slow, fast)]
    assert off[1] < 1.1 * off[0]
