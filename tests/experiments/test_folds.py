from __future__ import annotations

from dataclasses import replace

import pandas as pd

from copula_shirley.experiments import load_dataset
from copula_shirley.experiments.folds import fold_of
from copula_shirley.experiments.specs import Run

RUN = Run("made", "x", "x", folds=5)
RAND = replace(RUN, dataset="randhie")


def test_folds_are_disjoint_and_cover_every_row_once() -> None:
    made = load_dataset("made")
    folds = [fold_of(made, replace(RUN, fold=fold)) for fold in range(5)]
    assert [len(fold.test) for fold in folds] == [1000] * 5
    assert sorted(pd.concat([fold.test for fold in folds])["A"]) == sorted(made.table["A"])
    for fold in folds:
        assert fold.rows == 5000
        assert not set(fold.test["A"]) & set(fold.train["A"])


def test_nobody_stands_on_both_sides() -> None:
    rand = load_dataset("randhie")
    fold = fold_of(rand, RAND)
    assert not set(fold.train["zper"]) & set(fold.test["zper"])
    assert len(fold.train) + len(fold.test) == len(rand.table)
    rows = fold_of(rand, replace(RAND, unit="row"))
    assert rows.schema.person is None and rows.schema.max_rows == 1
    assert list(rows.train.columns) == list(rows.schema.names)


def test_part_of_the_rows_and_the_deal_are_the_same_for_everyone() -> None:
    made = load_dataset("made")
    for fold in range(2):
        run = replace(RUN, rows=100, fold=fold)
        one, two = fold_of(made, run), fold_of(made, replace(run, use="y", epsilon=None, seed=3))
        pd.testing.assert_frame_equal(one.train, two.train)
        pd.testing.assert_frame_equal(one.test, two.test)
        assert one.rows == 100
        assert set(one.train["A"]) <= set(made.table["A"])
