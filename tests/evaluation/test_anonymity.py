from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from copula_shirley import Column, Schema
from copula_shirley.evaluation import evaluate

SCHEMA = Schema(
    (
        Column("sex", "categorical", categories=("f", "m"), missing=True),
        Column("zip", "integer", minimum=0, maximum=9, missing=True),
        Column("ill", "categorical", categories=("cold", "flu", "cancer")),
        Column("pay", "integer", minimum=0, maximum=9),
    )
)
ROWS = pd.DataFrame(
    {
        "sex": ["f", "f", "f", "m", "m", "m"],
        "zip": [1, 1, 2, 2, 2, 2],
        "ill": ["cold", "flu", "flu", "cancer", "cancer", "flu"],
        "pay": [1, 2, 3, 1, 1, 1],
    }
)
METRIC = {"k": "k_anonymity", "l": "l_diversity", "t": "t_closeness"}


def line(metric: str, synthetic: pd.DataFrame = ROWS, **more: Any) -> tuple[float, Any]:
    more = {"quasi_identifiers": ["sex"], "sensitive": ["ill"], **more}
    found = evaluate(ROWS, ROWS, synthetic, SCHEMA, metrics=[METRIC[metric]], **more).iloc[0]
    return found["value"], found["detail"]


def test_k_by_hand() -> None:
    assert line("k")[0] == 3  # three f, three m
    found, detail = line("k", quasi_identifiers=["sex", "zip"])  # f1 f1 | f2 | m2 m2 m2
    assert found == 1 and detail["classes"] == 3 and detail["rows alone"] == 1
    assert detail["quasi_identifiers"] == ["sex", "zip"]


def test_l_by_hand() -> None:
    # f: cold flu flu, 2 values; m: cancer cancer flu, 2 values
    assert line("l")[0] == 2
    # pay of f: 1 2 3; of m: 1 1 1, a single value
    assert line("l", sensitive=["ill", "pay"]) == (1, {"columns": {"ill": 2, "pay": 1}})


def test_t_of_categories_by_hand() -> None:
    # all rows: cold 1/6, flu 3/6, cancer 2/6; f: 2/6 4/6 0; m: 0 2/6 4/6.
    # f: (1 + 1 + 2) / 6 / 2 = 1/3, m: (1 + 1 + 2) / 6 / 2 = 1/3
    assert line("t")[0] == pytest.approx(1 / 3)
    # four values, the last one unknown: f has two of them and m the others, 4 * 1/4 / 2
    four = ROWS[1:5].assign(ill=["cold", "flu", "cancer", "plague"])
    assert line("t", four)[0] == pytest.approx(1 / 2)


def test_t_of_ordered_values_by_hand() -> None:
    # pay 1 2 3 has shares 4/6 1/6 1/6, CDF 4/6 5/6 1; f: CDF 2/6 4/6 1, gaps 2/6 1/6 0;
    # m: CDF 1 1 1, gaps 2/6 1/6 0: (3/6) / (3 - 1) = 1/4
    assert line("t", sensitive=["pay"])[0] == pytest.approx(1 / 4)
    found, detail = line("t", sensitive=["pay", "ill"])
    assert found == pytest.approx(1 / 3)
    assert detail["columns"] == pytest.approx({"pay": 1 / 4, "ill": 1 / 3})
    apart = ROWS.assign(pay=[0, 0, 0, 9, 9, 9])
    # all: CDF 1/2 1; f: 1 1, m: 0 1: a gap of 1/2 over one step
    assert line("t", apart, sensitive=["pay"])[0] == 0.5


@pytest.mark.parametrize(
    ("metric", "synthetic", "roles", "expected"),
    [
        # one class is all rows
        ("k", ROWS.assign(sex="f"), {}, 6),
        ("l", ROWS.assign(sex="f"), {}, 3),
        ("t", ROWS.assign(sex="f"), {}, 0),
        # a single sensitive value
        ("l", ROWS.assign(ill="flu"), {}, 1),
        ("t", ROWS.assign(ill="flu"), {}, 0),
        ("t", ROWS.assign(pay=1), {"sensitive": ["pay"]}, 0),
        # missing and unknown values are values
        ("k", ROWS.assign(zip=[np.nan, np.nan, 1, 1, 1, 1]), {"quasi_identifiers": ["zip"]}, 2),
        ("l", ROWS.assign(ill=["new", "flu", "flu", "cancer", "cancer", "flu"]), {}, 2),
        # they describe the synthetic table and not the real ones
        ("k", ROWS[:1], {}, 1),
        ("k", pd.concat([ROWS] * 3), {}, 9),
    ],
)
def test_special_tables(metric: str, synthetic: pd.DataFrame, roles: Any, expected: float) -> None:
    assert line(metric, synthetic, **roles)[0] == expected
