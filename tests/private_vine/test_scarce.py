"""Where noise leaves little for pairs: only those that stand out cost more than a look."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from copula_shirley import Column, PrivateVine, Schema, plan
from copula_shirley.private_vine.allocation import allocation, shows_pairs

NAMES = tuple("abcdefgh")
SCHEMA = Schema(tuple(Column(name, "integer", minimum=0, maximum=3) for name in NAMES))


def rows(n: int) -> pd.DataFrame:
    """Eight columns of four values, of which b is a, and the others are independent."""
    table = pd.DataFrame(np.random.default_rng(3).integers(0, 4, (n, 8)), columns=list(NAMES))
    return table.assign(b=table["a"])


def queries(n: int, epsilon: float) -> tuple[dict[str, dict[str, Any]], pd.DataFrame]:
    """What was asked, by stage, and a sample."""
    model = PrivateVine(epsilon, random_state=0).fit(rows(n), SCHEMA)
    asked = model.transcript_.queries
    assert sum(query["share"] for query in asked) == pytest.approx(1)  # nothing is left over
    return {query["stage"]: query for query in asked}, model.sample(4000, random_state=0)


def test_only_pairs_that_stand_out_are_measured() -> None:
    asked, sample = queries(1500, 1.0)
    measured = [sorted(what) for what in asked["tree 1"]["what"]]
    assert ["a", "b"] in measured and len(measured) < 7
    assert len(asked["margins again"]["what"]) == 8  # for what the other tables would cost
    assert sample["a"].corr(sample["b"]) > 0.9
    assert abs(sample["c"].corr(sample["d"])) < 0.1


def test_where_data_are_plenty_every_link_of_tree_1_is_measured() -> None:
    asked, _ = queries(20_000, 2.0)
    assert len(asked["tree 1"]["what"]) == 7 and "margins again" not in asked


def test_pairs_are_not_looked_for_where_not_even_equal_columns_would_show() -> None:
    asked, _ = queries(400, 0.5)
    assert not {"coarse pairs", "tree 1"} & set(asked)
    noise = PrivateVine(0.5)._noise(SCHEMA)
    share = 0.1
    edge = 2 * noise.sigma(share, 28) * noise.largest(28)
    assert shows_pairs(edge * 1.01, 8, noise, share)
    assert not shows_pairs(edge * 0.99, 8, noise, share)
    scarce = allocation(400, 8, 1, noise, targeted=False)
    assert scarce.coarse == scarce.first_tree == scarce.extras == 0


def test_a_plan_shows_all_tables_that_a_fit_may_ask_for() -> None:
    stages = plan(SCHEMA, 1500, 1.0).stages.set_index("stage")
    assert str(stages["what"]["tree 1"]).startswith("7 ")
    assert stages["share"].sum() == pytest.approx(1)
