from __future__ import annotations

import json
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from copula_shirley import Budget, BudgetError, Ledger, SettingError
from copula_shirley.privacy.ledger import ALL_ROWS, histogram_sensitivity
from copula_shirley.privacy.noise import Exactness, NoiseFacts

costs = st.floats(0.01, 2.0)
SEEDED = NoiseFacts("numpy", Exactness.SEEDED, seeded=True)


def test_spends_on_the_same_rows_add_up() -> None:
    ledger = Ledger(Budget(1.0))
    ledger.charge("a", "x", "laplace", 0.25)
    ledger.charge("a", "y", "laplace", 0.5)
    assert ledger.spent.epsilon == 0.75


def test_spends_on_disjoint_rows_cost_the_maximum() -> None:
    ledger = Ledger(Budget(2.0))
    ledger.partition(("left", "right"), by_value=False)
    ledger.charge("a", "x", "laplace", 0.5, rows="left")
    ledger.charge("a", "x", "laplace", 0.75, rows="right")
    ledger.charge("a", "x", "laplace", 1.0)
    assert ledger.spent.epsilon == 1.75


@pytest.mark.parametrize(("neighbours", "total"), [("add-remove", 0.7), ("replace-one", 1.2)])
def test_parts_chosen_by_value_cost_two_parts_under_replacement(
    neighbours: str, total: float
) -> None:
    # replacing a record of class 0 by one of class 1 changes both classes
    ledger = Ledger(Budget(3.0), neighbours=neighbours)
    ledger.partition(("class 0", "class 1", "class 2"), by_value=True)
    for rows, epsilon in (("class 0", 0.5), ("class 1", 0.7), ("class 2", 0.1)):
        ledger.charge("a", "x", "laplace", epsilon, rows=rows)
    assert ledger.spent.epsilon == pytest.approx(total)


def test_the_rows_of_a_person_may_lie_in_several_parts_chosen_by_value() -> None:
    ledger = Ledger(Budget(9.0), neighbours="add-remove", unit="person", rows_per_unit=3)
    ledger.partition(("a", "b", "c", "d"), by_value=True)
    for rows in ("a", "b", "c", "d"):
        ledger.charge("x", "x", "laplace", 1.0, rows=rows)
    assert ledger.spent.epsilon == 3.0


@pytest.mark.parametrize(
    ("whole", "parts"),
    [
        ("nowhere", ("a", "b")),  # spends on its parts would count for nothing
        (ALL_ROWS, ("a", "a")),
        (ALL_ROWS, ("a", ALL_ROWS)),
        (ALL_ROWS, ("left", "b")),
    ],
)
def test_partitions_must_make_sense(whole: str, parts: tuple[str, ...]) -> None:
    ledger = Ledger(Budget(1.0))
    ledger.partition(("left", "right"), by_value=False)
    with pytest.raises(SettingError):
        ledger.partition(parts, whole=whole, by_value=False)


def test_a_seeded_proof_depends_on_the_seed() -> None:
    ledger = Ledger(Budget(1.0))
    ledger.drawn_by(SEEDED)
    ledger.charge("a", "x", "laplace", 1.0)
    assert dict(ledger.summary())["proved"].endswith("if nobody knows the seed")


def test_partitions_nest() -> None:
    ledger = Ledger(Budget(9.0))
    ledger.partition(("left", "right"), by_value=False)
    ledger.partition(("left 1", "left 2"), whole="left", by_value=False)
    ledger.charge("a", "x", "laplace", 1.0, rows="left")
    ledger.charge("a", "x", "laplace", 2.0, rows="left 1")
    ledger.charge("a", "x", "laplace", 3.0, rows="left 2")
    ledger.charge("a", "x", "laplace", 3.5, rows="right")
    assert ledger.spent.epsilon == 4.0


def test_overspending_raises_and_records_nothing() -> None:
    ledger = Ledger(Budget(1.0))
    ledger.charge("a", "x", "laplace", 0.9)
    with pytest.raises(BudgetError, match="above the budget of epsilon 1"):
        ledger.charge("a", "y", "laplace", 0.2)
    assert len(ledger.spends) == 1
    assert ledger.spent.epsilon == 0.9


def test_delta_has_a_budget_too() -> None:
    ledger = Ledger(Budget(10.0, 1e-3))
    ledger.charge("a", "x", "gaussian", 1.0, 1e-3)
    with pytest.raises(BudgetError):
        ledger.charge("a", "y", "gaussian", 1.0, 1e-6)


def test_nothing_can_be_spent_without_a_budget() -> None:
    with pytest.raises(BudgetError, match="noise is off"):
        Ledger(None).charge("a", "x", "laplace", 0.1)


@given(st.lists(costs, max_size=30), costs)
def test_the_total_never_exceeds_the_budget(spends: list[float], budget: float) -> None:
    ledger = Ledger(Budget(budget))
    for epsilon in spends:
        before = ledger.spends
        try:
            ledger.charge("a", "x", "laplace", epsilon)
        except BudgetError:
            assert ledger.spends == before
    assert ledger.spent.epsilon <= budget * (1 + 1e-9)


@given(st.integers(1, 500), costs)
def test_equal_shares_of_a_budget_all_fit(shares: int, budget: float) -> None:
    ledger = Ledger(Budget(budget))
    for i in range(shares):
        ledger.charge("a", str(i), "laplace", budget / shares)
    assert ledger.spent.epsilon == pytest.approx(budget)


def test_an_unprotected_use_ends_every_proof() -> None:
    ledger = Ledger(Budget(1.0), claimed=Budget(1.0))
    ledger.charge("a", "x", "laplace", 1.0)
    assert ledger.proved is not None and ledger.proved.epsilon == 1.0
    ledger.record_unprotected("vine", "ranks", "raw")
    assert ledger.proved is None
    assert "nothing for the release as a whole" in str(ledger)


def test_unknown_rows_are_refused() -> None:
    with pytest.raises(SettingError, match="'nowhere'"):
        Ledger(Budget(1.0)).charge("a", "x", "laplace", 0.1, rows="nowhere")
    with pytest.raises(SettingError, match="'nowhere'"):
        Ledger(Budget(1.0)).record_unprotected("a", "x", "why", rows="nowhere")


@pytest.mark.parametrize(
    "epsilon", [0, -1, float("nan"), float("inf"), "1", True, None, 1e-10, 10**400]
)
def test_what_is_no_epsilon_is_refused(epsilon: object) -> None:
    with pytest.raises(SettingError, match="epsilon"):
        Budget(epsilon)  # type: ignore[arg-type]


@pytest.mark.parametrize("delta", [-1e-9, 1.0, 2.0])
def test_what_is_no_delta_is_refused(delta: float) -> None:
    with pytest.raises(SettingError, match="delta"):
        Budget(1.0, delta)


def test_sensitivities_of_one_histogram() -> None:
    assert histogram_sensitivity("add-remove") == type(histogram_sensitivity("add-remove"))(1, 1)
    replaced = histogram_sensitivity("replace-one")
    assert (replaced.l1, replaced.l2) == (2, pytest.approx(2**0.5))
    person = histogram_sensitivity("replace-one", rows_per_unit=3)
    assert (person.l1, person.l2) == (6, pytest.approx(3 * 2**0.5))
    with pytest.raises(SettingError, match="neighbours"):
        histogram_sensitivity("swap")


def test_sensitivity_by_brute_force() -> None:
    """Largest change of a histogram over all neighbours of all small tables."""
    cells, k = 3, 2
    for tables in product(range(cells), repeat=3):
        counts = np.bincount(tables, minlength=cells)
        for added in product(range(cells), repeat=k):
            change = np.bincount(np.array(added), minlength=cells)
            sensitivity = histogram_sensitivity("add-remove", k)
            assert np.abs(change).sum() <= sensitivity.l1
            assert np.sqrt((change**2).sum()) <= sensitivity.l2 + 1e-12
            for instead in product(range(cells), repeat=k):
                moved = counts + change - (counts + np.bincount(np.array(instead), minlength=cells))
                sensitivity = histogram_sensitivity("replace-one", k)
                assert np.abs(moved).sum() <= sensitivity.l1
                assert np.sqrt((moved**2).sum()) <= sensitivity.l2 + 1e-12


def test_json_round_trip() -> None:
    ledger = Ledger(
        Budget(4.0, 1e-3),
        claimed=Budget(1.0),
        neighbours="add-remove",
        unit="person",
        rows_per_unit=5,
        domains={"x": "drafted"},
    )
    ledger.drawn_by(SEEDED)
    ledger.partition(("left", "right"), by_value=True)
    ledger.charge("a", "x", "gaussian", 1.0, 1e-4, rows="left")
    ledger.record_unprotected("vine", "ranks", "raw", rows="right")
    again = Ledger.from_dict(json.loads(ledger.to_json()))
    assert again.to_dict() == ledger.to_dict()
    assert str(again) == str(ledger)
    assert again.to_dict()["proved"] is None


def test_the_printed_ledger_says_it_all() -> None:
    ledger = Ledger(Budget(2.0), claimed=Budget(1.0))
    ledger.drawn_by(SEEDED)
    ledger.charge("histogram", "age", "laplace", 2.0)
    ledger.record_unprotected("bins", "age", "distinct values", ALL_ROWS)
    ledger.record_unprotected("bins", "sex", "distinct values", ALL_ROWS)
    text = str(ledger)
    for part in (
        "epsilon 1",
        "epsilon 2",
        "replace one row",
        "seeded",
        "bins: age, sex [all rows]",
    ):
        assert part in text
