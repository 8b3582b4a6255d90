"""Accounts in zCDP, against OpenDP and by hand."""

from __future__ import annotations

import math

import opendp.prelude as dp
import pytest
from hypothesis import given
from hypothesis import strategies as st

from copula_shirley.errors import BudgetError, SettingError
from copula_shirley.privacy.ledger import Budget, Ledger
from copula_shirley.privacy.zcdp import epsilon_of, log_delta, rho_of


@pytest.mark.parametrize("rho", [1e-4, 0.015, 0.1, 0.7328, 5.0])
@pytest.mark.parametrize("delta", [1e-9, 1e-6, 1e-3])
def test_epsilon_is_that_of_opendp(rho: float, delta: float) -> None:
    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T=int)), dp.l2_distance(T=float)
    gaussian = dp.m.make_gaussian(*space, scale=math.sqrt(1 / (2 * rho)))
    theirs = dp.c.make_zCDP_to_approxDP(gaussian).map(1.0).epsilon(delta)
    # both search for the best order; neither finds it to the last digit
    assert epsilon_of(rho, delta) == pytest.approx(theirs, rel=1e-9)


@given(st.floats(1e-3, 50.0), st.floats(1e-12, 1e-2))
def test_rho_and_epsilon_are_inverse_and_safe(epsilon: float, delta: float) -> None:
    rho = rho_of(epsilon, delta)
    assert log_delta(rho, epsilon) <= math.log(delta)
    assert epsilon_of(rho, delta) == pytest.approx(epsilon, rel=1e-9)


@pytest.mark.parametrize("delta", [1e-100, 1e-9, 0.3])
def test_a_huge_epsilon_is_reckoned_too(delta: float) -> None:
    """A fit that had spent it stopped without a word of its own."""
    assert epsilon_of(rho_of(1e15, delta), delta) == pytest.approx(1e15, rel=1e-9)


def test_a_ledger_adds_up_rho_and_stops_at_the_budget() -> None:
    ledger = Ledger(Budget(1.0, 1e-9), neighbours="add-remove", zcdp=True)
    rho = rho_of(1.0, 1e-9)
    ledger.charge_rho("margins", "age", "discrete gaussian", rho / 4)
    ledger.charge_rho("tables", "age, sex", "discrete gaussian", rho * 3 / 4)
    assert ledger.spent.epsilon == pytest.approx(1.0, rel=1e-9)
    assert ledger.spent.delta == 1e-9
    assert ledger.spent.rho == pytest.approx(rho)
    with pytest.raises(BudgetError, match="tables of sex"):
        ledger.charge_rho("tables", "sex", "discrete gaussian", rho / 1000)
    assert len(ledger.spends) == 2
    assert Ledger.from_dict(ledger.to_dict()).to_dict() == ledger.to_dict()


def test_disjoint_parts_cost_the_dearest_rho() -> None:
    ledger = Ledger(Budget(1.0, 1e-9), neighbours="add-remove", zcdp=True)
    ledger.partition(("young", "old"), by_value=True)
    ledger.charge_rho("margins", "job", "discrete gaussian", 0.004, rows="young")
    ledger.charge_rho("margins", "job", "discrete gaussian", 0.005, rows="old")
    assert ledger.spent.rho == 0.005


def test_a_chance_of_failure_is_taken_from_delta() -> None:
    ledger = Ledger(Budget(1.0, 1e-6), neighbours="add-remove", zcdp=True)
    ledger.charge_rho("domain", "job", "stable histogram", 0.001, delta=4e-7)
    assert ledger.spent.epsilon == pytest.approx(epsilon_of(0.001, 6e-7))
    assert ledger.spent.delta == 1e-6
    with pytest.raises(BudgetError):
        ledger.charge_rho("domain", "town", "stable histogram", 0.001, delta=7e-7)


def test_rho_and_epsilon_are_not_mixed_and_zcdp_needs_a_delta() -> None:
    zcdp = Ledger(Budget(1.0, 1e-9), zcdp=True)
    with pytest.raises(SettingError, match="counts rho"):
        zcdp.charge("margins", "age", "laplace", 0.1)
    with pytest.raises(SettingError, match="counts epsilon"):
        Ledger(Budget(1.0)).charge_rho("margins", "age", "laplace", 0.1)
    with pytest.raises(SettingError, match="rho"):
        zcdp.charge_rho("margins", "age", "laplace", -1.0)
    for refused in (lambda: rho_of(1.0, 0.0), lambda: Ledger(Budget(1.0), zcdp=True)):
        with pytest.raises(SettingError, match="delta"):
            refused()


@pytest.mark.parametrize("zcdp", [False, True])
def test_a_ledger_of_many_spends_is_added_up_once(
    zcdp: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger = Ledger(Budget(1.0, 1e-9), zcdp=zcdp)
    for i in range(30):
        (ledger.charge_rho if zcdp else ledger.charge)("tables", f"t{i}", "noise", 1e-4)
    said, sums = ledger.to_dict(), []
    add_up = Ledger._cost
    monkeypatch.setattr(Ledger, "_cost", lambda self: sums.append(1) or add_up(self))
    again = Ledger.from_dict(said)
    assert len(sums) <= 3 and again.spends == ledger.spends
    for bent, words in (
        ({"epsilon": 1e-4} if zcdp else {"rho": 1e-4}, "ledger counts"),
        ({"rows": "nobody"}, "must be one of all rows"),
        ({"rho" if zcdp else "epsilon": 9.0}, "what was spent would bring the total"),
        ({"rho" if zcdp else "epsilon": 0.0}, "must be"),
    ):
        spends = [*said["spends"][:-1], {**said["spends"][-1], **bent}]
        with pytest.raises((SettingError, BudgetError), match=words):
            Ledger.from_dict({**said, "spends": spends})
