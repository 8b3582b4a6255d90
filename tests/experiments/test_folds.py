from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from copula_shirley.experiments import load_dataset
from copula_shirley.experiments.folds import fold_of
from copula_shirley.experiments.specs import Run

RUN = Run("made", "x", "x", folds=5)


def test_folds_are_disjoint_and_cover_every_row_once() -> None:
    made = load_dataset("made")
    tests = [fold_of(made, replace(RUN, fold=fold)) for fold in range(5)]
    assert [len(fold.test) for fold in tests] == [1000] * 5
    together = pd.concat([fold.test for fold in tests])["A"]
    assert sorted(together) == sorted(made.table["A"])
    for fold in tests:
        assert fold.rows == 5000 and not set(fold.test["A"]) & set(fold.train["A"])


def test_nobody_stands_on_both_sides() -> None:
    rand = load_dataset("randhie")
    fold = fold_of(rand, replace(RUN, dataset="randhie"))
    assert rand.person is not None
    assert not set(fold.train[rand.person]) & set(fold.test[rand.person])
    assert len(fold.train) + len(fold.test) == len(rand.table)


def test_rows_as_units_leave_the_person_out() -> None:
    rand = load_dataset("randhie")
    fold = fold_of(rand, replace(RUN, dataset="randhie", unit="row"))
    assert fold.schema.person is None and fold.schema.max_rows == 1
    assert list(fold.train.columns) == list(fold.schema.names)


def test_a_part_of_the_rows_is_the_same_for_everyone() -> None:
    made = load_dataset("made")
    one = fold_of(made, replace(RUN, rows=100))
    two = fold_of(made, replace(RUN, rows=100, use="other", epsilon=None, seed=3))
    pd.testing.assert_frame_equal(one.train, two.train)
    assert one.rows == 100
    assert set(one.train["A"]) <= set(made.table["A"])


@pytest.mark.parametrize("fold", range(2))
def test_the_deal_does_not_depend_on_the_generator(fold: int) -> None:
    made = load_dataset("made")
    one = fold_of(made, replace(RUN, fold=fold))
    two = fold_of(made, replace(RUN, fold=fold, use="y", settings=(("a", 1),)))
    assert np.array_equal(one.test["A"], two.test["A"])
