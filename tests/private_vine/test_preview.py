"""What noise would do, shown on made-up rows; no row of a table is there to be read."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from tables import STAYS

from copula_shirley import Column, PrivateVine, Schema, SettingError
from copula_shirley.private_vine.allocation import SHARES
from copula_shirley.private_vine.preview import ROWS

TWO = Schema(tuple(Column(name, "categorical", categories=("no", "yes")) for name in "ab"))


def moved(schema: Schema, epsilon: float | None, n: int) -> float:
    """The mean over columns of the rows that a preview moves."""
    shown = PrivateVine(epsilon).preview(schema, n)
    shares = [
        shown.drawn[name].value_counts(normalize=True)
        - shown.even[name].value_counts(normalize=True)
        for name in schema.names
    ]
    return float(np.mean([share.abs().sum() / 2 for share in shares]))


def test_a_preview_has_the_noise_of_the_plan() -> None:
    listed = Schema((Column("a", "categorical", categories=tuple("abcdefghij")), TWO["b"]))
    expected = np.mean([*PrivateVine(0.1).plan(listed, 1000).errors.values()])
    assert moved(listed, None, 1000) < 0.01  # of chance alone
    assert 0.3 * expected < moved(listed, 0.1, 1000) < expected
    assert moved(listed, 0.1, 1_000_000) < 0.01


def test_a_preview_is_the_same_each_time_and_keeps_the_rules() -> None:
    first, second = (PrivateVine(1.0).preview(STAYS, 5_000) for _ in range(2))
    pd.testing.assert_frame_equal(first.drawn, second.drawn)
    for rows in (first.even, first.drawn):
        assert len(rows) == ROWS and list(rows) == list(STAYS.names)
        STAYS.validate(rows)
        left = pd.to_datetime(rows["discharge"])
        assert (left.isna() | (left >= pd.to_datetime(rows["admission"]))).all()


def test_columns_that_are_measured_are_in_no_preview() -> None:
    schema = Schema((*TWO, Column("age", "integer", provenance="private")))
    shown = PrivateVine(1.0, domain="measured").preview(schema, 1000)
    assert shown.unknown == ["age"] and list(shown.drawn) == ["a", "b"]
    assert shown.schema.names == ("a", "b")


def test_what_cannot_be_previewed_is_one_error() -> None:
    with pytest.raises(SettingError, match=r"n \(0\)"):
        PrivateVine(1.0).preview(TWO, 0)
    with pytest.raises(SettingError, match="epsilon"):
        PrivateVine(-1.0).preview(TWO, 10)


def test_the_error_of_a_pair_is_that_of_its_table() -> None:
    """Two columns of two categories: one table of four cells; half the mean absolute noise each."""
    model, n = PrivateVine(1.0), 10_000
    planned = model.plan(TWO, n)
    sigma = planned.stages.set_index("stage")["noise"]["tree 1"]
    assert planned.pairs == {("a", "b"): pytest.approx(0.5 * np.sqrt(2 / np.pi) * sigma * 4 / n)}
    assert planned.to_dict()["pairs"][0]["columns"] == ["a", "b"]
    assert SHARES.first_tree > 0 and model.plan(TWO, 20).pairs == {}  # nothing but margins
