"""Which tables of tree 1 are measured in each class of the target: those that have rows for it."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from copula_shirley import Column, PrivateVine, Schema
from copula_shirley.measure.calibration import Calibration
from copula_shirley.privacy.budget import Budget
from copula_shirley.privacy.ledger import Ledger
from copula_shirley.private_vine.allocation import SHARES, Allocation, allocation
from copula_shirley.private_vine.pair_copula import pair_copula

NUMBERS, COINS = ("a", "b", "e", "idle"), ("c", "y")
SCHEMA = Schema(
    tuple(Column(name, "integer", minimum=0, maximum=3) for name in NUMBERS)
    + tuple(Column(name, "boolean") for name in COINS)
)


def mirrored(n: int) -> pd.DataFrame:
    """In class y, b is a, else its mirror image; e is a in 9 of 10 rows; c is y in 9 of 10."""
    rng = np.random.default_rng(5)
    y, a = rng.random(n) < 0.5, rng.integers(0, 4, n)
    e = np.where(rng.random(n) < 0.9, a, rng.integers(0, 4, n))
    columns = {"a": a, "b": np.where(y, a, 3 - a), "e": e, "idle": rng.integers(0, 4, n)}
    return pd.DataFrame({**columns, "c": y ^ (rng.random(n) < 0.1), "y": y})


def fitted(n: int, epsilon: float) -> tuple[list[list[str]], pd.DataFrame]:
    """Columns of the tables of tree 1, and a sample."""
    model = PrivateVine(epsilon, target="y", random_state=0).fit(mirrored(n), SCHEMA)
    (asked,) = [q["what"] for q in model.transcript_.queries if q["stage"] == "tree 1"]
    return asked, model.sample(5000)


def test_rich_tables_are_measured_in_each_class() -> None:
    asked, sample = fitted(20_000, 8.0)
    assert all(what[-1] == "y" and len(what) == 3 for what in asked)
    for y, sign in ((True, 1), (False, -1)):
        inside = sample[sample["y"] == y]
        assert sign * inside["a"].corr(inside["b"]) > 0.95


def test_poor_tables_are_not_and_classes_share_what_they_show() -> None:
    asked, sample = fitted(1500, 1.0)
    for what in asked:
        # 4 x 4 x 2 cells would hold 47 rows each, with noise of about 30; 4 x 2 x 2 hold 94
        assert (what[-1] == "y") == ("c" in what), what
    assert ["a", "e"] in [sorted(what) for what in asked]
    for _, inside in sample.groupby("y"):
        assert inside["a"].corr(inside["e"]) > 0.5  # 0.9 in the table
    # each column was counted against the target all the same
    assert (sample["c"] == sample["y"]).mean() == pytest.approx(0.9, abs=0.07)


def shares(n: float, classes: int = 2, epsilon: float = 1.0, columns: int = 12) -> Allocation:
    noise = Calibration.of(Ledger.of(SCHEMA, Budget(epsilon, 1e-9), "add-remove", gaussian=True))
    return allocation(n, columns, classes, noise, targeted=classes > 1)


def test_the_choice_turns_once_as_rows_grow_and_needs_more_for_more_classes() -> None:
    rows = [10**power for power in (2, 3, 4, 5, 6, 7)]
    two, ten = ([shares(n, classes).in_classes for n in rows] for classes in (2, 10))
    assert two == sorted(two) and ten == sorted(ten) and sum(ten) < sum(two) < len(rows)
    assert not shares(1e9, classes=1).in_classes


@pytest.mark.parametrize("n", [50, 1000, 30_000, 1e7])
@pytest.mark.parametrize("classes", [1, 2, 10])
def test_shares_sum_to_one_and_poor_tables_of_the_target_get_half(n: float, classes: int) -> None:
    found = shares(n, classes)
    parts = (found.margins, found.classes, found.coarse, found.first_tree, found.extras)
    assert sum(parts) + SHARES.size == pytest.approx(1)
    assert min(parts) >= 0
    if classes > 1 and not found.in_classes:
        assert found.classes == pytest.approx(found.first_tree)


def test_margins_get_what_poor_tables_leave() -> None:
    """The fewer rows, the more goes to margins; next to everything at last."""
    spent = [shares(n, classes=1).margins for n in (100, 1000, 3000, 10_000, 100_000)]
    assert spent == sorted(spent, reverse=True) and spent[0] > 0.8
    plenty = SHARES.coarse + SHARES.first_tree + SHARES.classes + SHARES.extras
    assert spent[-1] == pytest.approx(1 - SHARES.size - plenty)


def test_a_table_of_all_classes_gives_each_the_pair_copula_of_all() -> None:
    """By hand: margins are even in both classes, so that each is the table itself."""
    counts = np.array([[40.0, 10.0], [10.0, 40.0]])[..., None]
    margins = np.full((2, 2), 25.0)
    found = pair_copula(counts, 0.0, margins, margins, families=False)
    assert found.mass == pytest.approx(np.array([[[0.4, 0.1], [0.1, 0.4]]] * 2))
