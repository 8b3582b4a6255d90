from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from copula_shirley import Column, Schema
from copula_shirley.evaluation import METRICS, evaluate

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


def line(metric: str, synthetic: pd.DataFrame = ROWS, **more: Any) -> pd.Series:
    more = {"quasi_identifiers": ["sex"], "sensitive": ["ill"], **more}
    return evaluate(ROWS, ROWS, synthetic, SCHEMA, metrics=[metric], **more).iloc[0]


def test_k_by_hand() -> None:
    assert line("k_anonymity")["value"] == 3  # three f, three m
    found = line("k_anonymity", quasi_identifiers=["sex", "zip"])  # f1 f1 | f2 | m2 m2 m2
    assert found["value"] == 1
    assert found["detail"]["classes"] == 3 and found["detail"]["rows alone"] == 1
    assert found["detail"]["quasi_identifiers"] == ["sex", "zip"]


def test_l_by_hand() -> None:
    # f: cold flu flu, 2 values; m: cancer cancer flu, 2 values
    assert line("l_diversity")["value"] == 2
    # pay of f: 1 2 3; of m: 1 1 1, a single value
    found = line("l_diversity", sensitive=["ill", "pay"])
    assert found["value"] == 1 and found["detail"]["columns"] == {"ill": 2, "pay": 1}


def test_t_of_categories_by_hand() -> None:
    # all rows: cold 1/6, flu 3/6, cancer 2/6; f: 2/6 4/6 0; m: 0 2/6 4/6.
    # f: (1 + 1 + 2) / 6 / 2 = 1/3, m: (1 + 1 + 2) / 6 / 2 = 1/3
    assert line("t_closeness")["value"] == pytest.approx(1 / 3)
    # four values, the last one unknown: f has two of them and m the others, 4 * 1/4 / 2
    four = ROWS[1:5].assign(ill=["cold", "flu", "cancer", "plague"])
    assert line("t_closeness", four)["value"] == pytest.approx(1 / 2)


def test_t_of_ordered_values_by_hand() -> None:
    # pay 1 2 3 has shares 4/6 1/6 1/6, CDF 4/6 5/6 1; f: CDF 2/6 4/6 1, gaps 2/6 1/6 0;
    # m: CDF 1 1 1, gaps 2/6 1/6 0: (3/6) / (3 - 1) = 1/4
    found = line("t_closeness", sensitive=["pay"])
    assert found["value"] == pytest.approx(1 / 4)
    both = line("t_closeness", sensitive=["pay", "ill"])
    assert both["value"] == pytest.approx(1 / 3)
    assert both["detail"]["columns"] == pytest.approx({"pay": 1 / 4, "ill": 1 / 3})


def test_one_class_is_all_rows() -> None:
    same = ROWS.assign(sex="f")
    assert line("k_anonymity", same)["value"] == 6
    assert line("l_diversity", same)["value"] == 3
    assert line("t_closeness", same)["value"] == 0


def test_a_single_sensitive_value() -> None:
    assert line("l_diversity", ROWS.assign(ill="flu"))["value"] == 1
    assert line("t_closeness", ROWS.assign(ill="flu"))["value"] == 0
    assert line("t_closeness", ROWS.assign(pay=1), sensitive=["pay"])["value"] == 0


def test_classes_as_far_apart_as_can_be() -> None:
    apart = ROWS.assign(pay=[0, 0, 0, 9, 9, 9])
    # all: CDF 1/2 1; f: 1 1, m: 0 1: a gap of 1/2 over one step
    assert line("t_closeness", apart, sensitive=["pay"])["value"] == 0.5


def test_missing_and_unknown_values_are_values() -> None:
    gaps = ROWS.assign(zip=[np.nan, np.nan, 1, 1, 1, 1])
    assert line("k_anonymity", gaps, quasi_identifiers=["zip"])["value"] == 2
    odd = ROWS.assign(ill=["new", "flu", "flu", "cancer", "cancer", "flu"])
    assert line("l_diversity", odd)["value"] == 2


def test_they_describe_the_synthetic_table_and_not_the_real_ones() -> None:
    assert line("k_anonymity", ROWS[:1])["value"] == 1
    assert line("k_anonymity", pd.concat([ROWS] * 3))["value"] == 9


def test_left_out_unless_their_columns_are_named() -> None:
    names = ["k_anonymity", "l_diversity", "t_closeness"]
    some = {name: METRICS[name] for name in names}
    assert len(evaluate(ROWS, ROWS, ROWS, SCHEMA, metrics=some)) == 0
    only_k = evaluate(ROWS, ROWS, ROWS, SCHEMA, metrics=some, quasi_identifiers=["sex"])
    assert only_k["metric"].tolist() == ["k_anonymity"]
    target = evaluate(
        ROWS, ROWS, ROWS, SCHEMA, {"multiclass": "ill"}, metrics=names, quasi_identifiers=["sex"]
    )
    assert target["metric"].tolist() == names
    # a target that is a quasi-identifier is no secret
    none = evaluate(
        ROWS, ROWS, ROWS, SCHEMA, {"multiclass": "ill"}, metrics=some, quasi_identifiers=["ill"]
    )
    assert none["metric"].tolist() == ["k_anonymity"]
