from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import ks_2samp

from copula_shirley import Column, Schema, SchemaError
from copula_shirley.evaluation import evaluate, kolmogorov_smirnov, spearman_drift

SCHEMA = Schema(
    (
        Column("x", "integer", minimum=0, maximum=9, missing=True),
        Column("c", "categorical", categories=("a", "b", "z")),
    )
)


def test_six_rows_by_hand() -> None:
    real = pd.DataFrame({"x": [1, 2, 3, 4, 5, 6], "c": list("aabbzz")})
    synthetic = pd.DataFrame({"x": [1, 2, 3, 9, 9, 9], "c": list("aaaaaz")})
    # F of x differs most at 6 (1 against 1/2); of c at "a" (1/3 against 5/6)
    assert kolmogorov_smirnov(real, synthetic, SCHEMA) == pytest.approx({"x": 0.5, "c": 0.5})


def test_a_missing_value_lies_below_all_others() -> None:
    real = pd.DataFrame({"x": [np.nan, 5.0], "c": ["a", "a"]})
    synthetic = pd.DataFrame({"x": [0.0, 5.0], "c": ["a", "a"]})
    assert kolmogorov_smirnov(real, synthetic, SCHEMA)["x"] == 0.5


def test_drift_by_hand() -> None:
    real = pd.DataFrame({"x": [1, 2, 3], "c": list("abz")})  # rank correlation 1
    synthetic = pd.DataFrame({"x": [3, 2, 1], "c": list("abz")})  # rank correlation -1
    drift = spearman_drift(real, synthetic, SCHEMA)
    assert drift == pytest.approx({"mean": 1.0, "maximum": 2.0, "off_diagonal_mean": 2.0})


def test_a_constant_column_counts_as_uncorrelated() -> None:
    real = pd.DataFrame({"x": [1, 2, 3], "c": list("abz")})
    constant = pd.DataFrame({"x": [1, 1, 1], "c": list("abz")})
    assert spearman_drift(real, constant, SCHEMA)["off_diagonal_mean"] == pytest.approx(1.0)


@given(st.lists(st.tuples(st.integers(0, 9), st.sampled_from("abz")), min_size=2, max_size=30))
def test_a_table_is_at_distance_zero_from_itself_in_any_order(rows: list[tuple[int, str]]) -> None:
    table = pd.DataFrame(rows, columns=["x", "c"])
    turned = table[::-1].reset_index(drop=True)
    assert set(kolmogorov_smirnov(table, turned, SCHEMA).values()) == {0.0}
    assert spearman_drift(table, turned, SCHEMA)["maximum"] == pytest.approx(0, abs=1e-12)


# -- the metrics of evaluate -------------------------------------------------------------

REAL = pd.DataFrame({"x": [1, 2, 3, 4, 5, 6], "c": list("aabbzz")})


def value(metric: str, synthetic: pd.DataFrame, real: pd.DataFrame = REAL) -> float:
    return float(evaluate(real, real, synthetic, SCHEMA, metrics=[metric])["value"].iloc[0])


def test_ks_is_the_mean_over_the_columns() -> None:
    synthetic = pd.DataFrame({"x": [1, 2, 3, 9, 9, 9], "c": list("aabbzz")})
    # x: 1/2 as above; c: the same column, 0; the mean is 1/4
    line = evaluate(REAL, REAL, synthetic, SCHEMA, metrics=["ks"]).iloc[0]
    assert line["value"] == 0.25
    assert line["detail"]["columns"] == {"x": 0.5, "c": 0.0}


def test_ks_compares_with_the_test_rows_and_not_with_the_training_rows() -> None:
    train = REAL.assign(x=9)
    assert evaluate(train, REAL, REAL, SCHEMA, metrics=["ks"])["value"].iloc[0] == 0
    assert evaluate(REAL, train, REAL, SCHEMA, metrics=["ks"])["value"].iloc[0] == 0.5


def test_the_three_drifts_by_hand() -> None:
    turned = REAL.assign(c=list("zzbbaa"))
    # centred ranks of x: -2.5 ... 2.5, squares sum to 17.5; of c: -2 -2 0 0 2 2, to 16;
    # products sum to 5 + 3 + 0 + 0 + 3 + 5 = 16, so rho = 16 / sqrt(17.5 * 16), turned -rho
    gap = 2 * 16 / np.sqrt(17.5 * 16)
    assert value("spearman_drift_max", turned) == pytest.approx(gap)
    assert value("spearman_drift_off_diagonal", turned) == pytest.approx(gap)
    assert value("spearman_drift", turned) == pytest.approx(gap / 2)  # two of four entries
    line = evaluate(REAL, REAL, turned, SCHEMA, metrics=["spearman_drift"]).iloc[0]
    assert line["detail"]["pairs"] == {"x | c": pytest.approx(gap)}
    assert line["detail"]["columns"] == pytest.approx({"x": gap, "c": gap})


def test_a_constant_synthetic_column_is_named() -> None:
    constant = REAL.assign(c="a")
    line = evaluate(REAL, REAL, constant, SCHEMA, metrics=["spearman_drift_max"]).iloc[0]
    assert line["value"] == pytest.approx(16 / np.sqrt(17.5 * 16))
    assert "constant" in line["detail"]["note"] and line["detail"]["note"].endswith(": c")
    gone = REAL.assign(x=np.nan)
    line = evaluate(REAL, REAL, gone, SCHEMA, metrics=["spearman_drift_max"]).iloc[0]
    assert line["detail"]["note"].endswith(": x")


def test_one_column_has_no_drift() -> None:
    schema = Schema(SCHEMA.columns[:1])
    frame = evaluate(REAL[["x"]], REAL[["x"]], REAL[["x"]] + 1, schema, metrics=DRIFTS)
    assert frame["value"].tolist() == [0, 0, 0]


DRIFTS = ["spearman_drift", "spearman_drift_max", "spearman_drift_off_diagonal"]


def test_validity_by_hand() -> None:
    # rows 2 (10 > 9), 3 (unknown category) and 4 (both) are wrong: 3 of 6 rows are valid
    synthetic = pd.DataFrame(
        {"x": [1, 10, 3, -1, np.nan, 9], "c": ["a", "b", "new", "new", "z", "z"]}
    )
    line = evaluate(REAL, REAL, synthetic, SCHEMA, metrics=["validity"]).iloc[0]
    assert line["value"] == 0.5
    assert line["detail"]["columns"] == pytest.approx({"x": 4 / 6, "c": 4 / 6})


@pytest.mark.parametrize(
    ("column", "wrong"), [("c", "new"), ("c", None), ("x", 10), ("x", -0.5), ("x", 2.5)]
)
def test_what_the_schema_does_not_allow_is_scored_and_lowers_validity(
    column: str, wrong: object
) -> None:
    synthetic = REAL.astype({column: object})
    synthetic.loc[2, column] = wrong
    assert value("validity", synthetic) == pytest.approx(5 / 6)
    assert value("ks", synthetic) > 0


def test_unknown_categories_lie_after_the_declared_ones() -> None:
    schema = Schema((Column("c", "categorical", categories=("a", "b")),))
    real, synthetic = pd.DataFrame({"c": ["a", "b"]}), pd.DataFrame({"c": ["new", "other"]})
    # F of the real rows is 1 at "b", where that of the synthetic ones is 0
    assert kolmogorov_smirnov(real, synthetic, schema) == {"c": 1.0}


def test_ks_agrees_with_scipy() -> None:
    rng = np.random.default_rng(0)
    schema = Schema((Column("x", "continuous", minimum=-9, maximum=9),))
    for n, m in ((3, 5), (7, 30), (100, 3)):
        a, b = rng.normal(size=n).round(1), rng.normal(0.3, 1, m).round(1)
        ours = kolmogorov_smirnov(pd.DataFrame({"x": a}), pd.DataFrame({"x": b}), schema)
        assert ours["x"] == pytest.approx(ks_2samp(a, b, method="asymp").statistic)


def test_real_rows_must_fit_the_schema() -> None:
    with pytest.raises(SchemaError, match=r"real: column 'x'.*outside"):
        kolmogorov_smirnov(REAL.assign(x=10), REAL, SCHEMA)
    with pytest.raises(SchemaError, match="'c' is in the schema but not in synthetic"):
        spearman_drift(REAL, REAL[["x"]], SCHEMA)
