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


def charged(ledger: Ledger, **epsilons: float) -> float:
    """Total epsilon after one charge for each name of rows; "everyone" are all rows."""
    for rows, epsilon in epsilons.items():
        ledger.charge("a", "x", "laplace", epsilon, rows=ALL_ROWS if rows == "everyone" else rows)
    return ledger.spent.epsilon


def test_spends_on_the_same_rows_add_up_and_on_disjoint_ones_cost_the_maximum() -> None:
    ledger = Ledger(Budget(9.0))
    ledger.partition(("left", "right"), by_value=False)
    ledger.partition(("inner", "outer"), whole="left", by_value=False)
    assert charged(ledger, everyone=0.25, left=1.0, inner=2.0, outer=3.0, right=3.5) == 4.25
    assert charged(ledger, everyone=0.5) == 4.75


@pytest.mark.parametrize(
    ("neighbours", "k", "total"),
    [("add-remove", 1, 0.7), ("replace-one", 1, 1.2), ("add-remove", 3, 1.3)],
)
def test_parts_chosen_by_value_cost_several_parts(neighbours: str, k: int, total: float) -> None:
    # replacing a record of one class by one of another changes both classes; a person has k rows
    ledger = Ledger(Budget(3.0), neighbours=neighbours, rows_per_unit=k)
    ledger.partition(("one", "two", "three", "four"), by_value=True)
    found = charged(ledger, one=0.5, two=0.7, three=0.1, four=0.05)
    assert found == pytest.approx(total)


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


@pytest.mark.parametrize("shares", [1, 3, 7, 49, 500])
def test_equal_shares_of_a_budget_all_fit(shares: int) -> None:
    ledger = Ledger(Budget(0.7))
    for _ in range(shares):
        ledger.charge("a", "x", "laplace", 0.7 / shares)
    assert ledger.spent.epsilon == pytest.approx(0.7)


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


@pytest.mark.parametrize("delta", [-1e-9, 1.0, 2.0, "0", True, None])
def test_what_is_no_delta_is_refused(delta: object) -> None:
    with pytest.raises(SettingError, match="delta"):
        Budget(1.0, delta)  # type: ignore[arg-type]


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
    assert dict(ledger.summary())["proved"].endswith("if nobody knows the seed")
    for name in ("age", "<sex>"):
        ledger.record_unprotected("bins", name, "distinct values", ALL_ROWS)
    told = ("epsilon 1", "epsilon 2", "replace one row", "seeded", "bins: age, <sex> [all rows]")
    assert all(part in str(ledger) for part in told)
    page = ledger._repr_html_()
    assert "age, &lt;sex&gt;" in page and "histogram" in page and "replace one row" in page
