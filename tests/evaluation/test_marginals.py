from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from copula_shirley import Column, Schema
from copula_shirley.errors import SchemaError, SettingError
from copula_shirley.evaluation import Binning, evaluate, total_variation
from copula_shirley.evaluation.comparison import rows_of
from copula_shirley.evaluation.metrics import marginals

SCHEMA = Schema(
    (
        Column("a", "categorical", categories=("x", "y", "z"), missing=True),
        Column("b", "boolean"),
        Column("c", "integer", minimum=0, maximum=3),
    )
)
REAL = pd.DataFrame({"a": list("xxyyzz"), "b": [True, False] * 3, "c": [0, 0, 1, 1, 2, 3]})
SYNTHETIC = pd.DataFrame({"a": list("xxxxyz"), "b": [True, False] * 3, "c": [0, 0, 0, 1, 2, 3]})
NUMBERS = Schema((Column("n", "continuous", minimum=0, maximum=100, missing=True),))


def numbers(*values: float) -> pd.DataFrame:
    return pd.DataFrame({"n": [float(v) for v in values]})


@pytest.mark.parametrize(
    ("ways", "expected"),
    [
        # a: shares 2 2 2 against 4 1 1 of six, |2| + |1| + |1| = 4, halved 2/6;
        # b: none; c: 2 2 1 1 against 3 1 1 1, 2 halved 1/6
        (1, {"a": 2 / 6, "b": 0, "c": 1 / 6}),
        # a, b: real xT xF yT yF zT zF; synthetic xT xF xT xF yT zF: yF and zT are lost: 2/6.
        # a, c: real x0 x0 y1 y1 z2 z3; synthetic x0 x0 x0 x1 y2 z3: x0 x0 z3 are shared: 3/6.
        # b, c: real T0 F0 T1 F1 T2 F3; synthetic T0 F0 T0 F1 T2 F3: T1 is lost: 1/6
        (2, {"a | b": 2 / 6, "a | c": 3 / 6, "b | c": 1 / 6}),
        # real xT0 xF0 yT1 yF1 zT2 zF3; synthetic xT0 xF0 xT0 xF1 yT2 zF3: xT0 xF0 zF3 are shared
        (3, {"a | b | c": 3 / 6}),
    ],
)
def test_tables_by_hand(ways: int, expected: dict[str, float]) -> None:
    assert total_variation(REAL, SYNTHETIC, SCHEMA, ways) == pytest.approx(expected)
    found = evaluate(REAL, REAL, SYNTHETIC, SCHEMA, metrics=[f"tvd{ways}"]).iloc[0]
    assert found["value"] == pytest.approx(np.mean(list(expected.values())))
    own = {
        name: np.mean([value for key, value in expected.items() if name in key]) for name in "abc"
    }
    assert found["detail"]["columns"] == pytest.approx(own)


def test_missing_and_unknown_values_have_cells_of_their_own() -> None:
    synthetic = REAL.assign(a=["x", "x", "y", "y", None, "new"], c=[0, 0, 1, 1, 2, 9])
    # the missing and the unknown one take the place of two z; 9 that of 3
    expected = {"a": 2 / 6, "b": 0, "c": 1 / 6}
    assert total_variation(REAL, synthetic, SCHEMA) == pytest.approx(expected)
    gone = REAL.assign(a=None)
    assert total_variation(gone, gone, SCHEMA)["a"] == pytest.approx(0, abs=1e-12)
    assert total_variation(gone, REAL, SCHEMA)["a"] == pytest.approx(1)
    # an undeclared gap lies outside the domain
    assert total_variation(REAL, REAL.assign(c=np.nan), SCHEMA)["c"] == pytest.approx(1)


def test_numbers_are_cut_at_quantiles_of_the_real_rows() -> None:
    binning = Binning.of(rows_of("real", numbers(*range(1, 101)), NUMBERS), NUMBERS, 4)
    assert binning.edges == {"n": (25.0, 50.0, 75.0)}
    some = rows_of("synthetic", numbers(0, 24.9, 25, 99, np.nan, 101), NUMBERS, strict=False)
    # sorted as missing, 0, 24.9, 25, 99, 101: the gap is cell 0, what is outside the last
    assert binning.codes(some)["n"].tolist() == [0, 1, 1, 1, 4, 5]


@pytest.mark.parametrize(
    ("column", "values", "expected"),
    [
        # whole numbers with few values have a cell each; a column of gaps has no edges
        (Column("n", "integer", minimum=-1, maximum=2), [0, 0, 0], (-1.0, 0.0, 1.0)),
        (NUMBERS["n"], [np.nan, np.nan], ()),
        # a value with the mass of a whole cell has its own, from just below it
        (NUMBERS["n"], [7.0] * 9 + [8.0], (np.nextafter(7, 0), 7.0)),
    ],
)
def test_special_edges(column: Column, values: Any, expected: Any) -> None:
    schema = Schema((column,))
    rows = rows_of("real", pd.DataFrame({"n": values}), schema)
    assert Binning.of(rows, schema, bins=5).edges == {"n": expected}


def test_a_declared_binning() -> None:
    real, synthetic = numbers(1, 2, 3, 4, 5, 6), numbers(1, 1, 1, 4, 5, np.nan)
    binning = Binning({"n": (3.5,)})
    # below 3.5: 3 against 3; above: 3 against 2; missing: 0 against 1
    assert total_variation(real, synthetic, NUMBERS, binning=binning) == pytest.approx({"n": 1 / 6})


def test_the_metric_bins_by_the_training_rows() -> None:
    low, high = numbers(0.1, 0.2), numbers(0.3, 0.4)
    # 20 cells of the training rows: all four values lie in the first
    found = evaluate(numbers(*range(100)), low, high, NUMBERS, metrics=["tvd1"])
    assert found["value"].iloc[0] == 0
    assert total_variation(low, high, NUMBERS) == {"n": 1.0}


def test_fewer_columns_than_ways() -> None:
    tables, names = (numbers(1, 2), numbers(1, 2), numbers(9, 9)), ["tvd1", "tvd2", "tvd3"]
    frame = evaluate(*tables, NUMBERS, metrics=names)
    assert frame["value"].tolist() == [1, 0, 0]
    assert frame["detail"][2]["note"] == "fewer than 3 columns: nothing to compare"


def test_many_triples_are_sampled_always_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(marginals, "MOST_TRIPLES", 4)
    schema, rng = Schema(tuple(Column(name, "boolean") for name in "abcdef")), np.random.default_rng
    real, synthetic = (
        pd.DataFrame(rng(i).random((30, 6)) < 0.5, columns=schema.names) for i in (0, 1)
    )
    one, other = (
        evaluate(real, real, synthetic, schema, metrics=["tvd3"], random_state=seed)["detail"][0]
        for seed in (1, 2)
    )
    assert one == other
    assert len(one["triples"]) == 4 and one["note"] == "4 of 20 triples"
    assert one["triples"].items() <= total_variation(real, synthetic, schema, 3).items()


def test_many_cells_are_counted_as_few_are() -> None:
    # 30**3 cells for 40 rows are numbered, not laid out; pandas counts rows instead
    rng, letters = np.random.default_rng(0), tuple(range(30))
    schema = Schema(tuple(Column(n, "categorical", categories=letters) for n in "abc"))
    real, synthetic = (
        pd.DataFrame(rng.integers(0, 3, (20, 3)) * 14, columns=schema.names) for _ in range(2)
    )
    shares = [t.value_counts(normalize=True) for t in (real, synthetic)]
    expected = shares[0].sub(shares[1], fill_value=0).abs().sum() / 2
    found = total_variation(real, synthetic, schema, 3)
    assert found["a | b | c"] == pytest.approx(expected)


def test_what_is_refused() -> None:
    for ways, rule in ((0, "a positive whole number"), (2, "at most 3 and the number of columns")):
        with pytest.raises(SettingError, match=rf"ways \({ways}\) must be {rule}"):
            total_variation(numbers(1), numbers(1), NUMBERS, ways)
    with pytest.raises(SettingError, match=r"bins \(0\) must be a positive whole number"):
        Binning.of(rows_of("real", numbers(1), NUMBERS), NUMBERS, 0)
    with pytest.raises(SchemaError, match="real: column 'n'"):
        total_variation(numbers(-1), numbers(1), NUMBERS)
