"""Shares of noise: the lemma by exact convolution, what they cost, and exact coins."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from copula_shirley.errors import SettingError
from copula_shirley.measure.trust import charge_shares, epsilon_with, set_aside
from copula_shirley.privacy.budget import Budget
from copula_shirley.privacy.ledger import Ledger
from copula_shirley.privacy.noise import SecureNoise, SeededNoise
from copula_shirley.privacy.shares import (
    LEAST_SHARE,
    MOST_CELLS,
    Shares,
    below,
    falling,
    geometric,
    log_ratio,
    polya,
)
from copula_shirley.privacy.zcdp import epsilon_of, log_delta, rho_of


def gaussian(square: Decimal, reach: int) -> list[Decimal]:
    """Chances of -reach ... reach under discrete Gaussian noise of this variance parameter."""
    mass = [(-Decimal(k * k) / (2 * square)).exp() for k in range(-reach, reach + 1)]
    return [one / sum(mass) for one in mass]


def convolved(one: list[Decimal], other: list[Decimal]) -> list[Decimal]:
    found = [Decimal(0)] * (len(one) + len(other) - 1)
    for i, a in enumerate(one):
        for j, b in enumerate(other):
            found[i + j] += a * b
    return found


@pytest.mark.parametrize(("share", "honest"), [("0.6", 2), ("0.5", 4), ("1", 6), ("2", 2)])
def test_the_sum_of_shares_is_as_near_to_one_gaussian_as_the_lemma_says(
    share: str, honest: int
) -> None:
    """With 50 digits, since at the least share the difference is beyond those of a double."""
    with localcontext() as context:
        context.prec = 50
        square, reach = Decimal(share) ** 2, math.ceil(16 * float(share))
        own = gaussian(square, reach)
        total = own
        for _ in range(honest - 1):
            total = convolved(total, own)
        true = gaussian(honest * square, reach * honest)
        middle, near = reach * honest, math.ceil(5 * float(share) * math.sqrt(honest))
        worst = max(
            abs((total[middle + z] / true[middle + z]).ln()) for z in range(-near, near + 1)
        )
    bound = log_ratio(float(share), honest)
    assert worst <= bound
    if honest == 2:  # further shares even out what the lemma adds up
        assert worst > bound / 3


def test_neighbours_are_no_easier_to_tell_apart_by_shares_than_was_charged() -> None:
    """Hockey sticks of the exact law of three shares, whose counts differ by 1."""
    share, honest, reach = 2.0, 3, 60
    k = np.arange(-reach, reach + 1)
    own = np.exp(-(k**2) / (2 * share**2))
    own /= own.sum()
    total = np.convolve(np.convolve(own, own), own)
    here, there = np.append(total, 0.0), np.insert(total, 0, 0.0)
    ledger = Ledger(Budget(9.0, 1e-6), neighbours="add-remove", zcdp=True, gdp=True)
    charge_shares(ledger, Shares(3, 0))
    mu = 1 / (share * math.sqrt(honest))  # the least that the noise can be
    for epsilon in (0.1, 0.3, 0.6, 1.0):
        exact = np.maximum(here - math.exp(epsilon) * there, 0).sum()
        # D of docs: slightly above 1 / sigma
        square = 6 * (1 - math.sqrt(1 - mu**2 / 3))
        charged = math.exp(log_delta(square / 2, epsilon, gdp=True))
        assert exact <= charged * (1 + 1e-9)
        assert exact > charged / 3  # and not much more is charged than it costs
        # the curve of a mu that is 5 % smaller would not hold everywhere
    smaller = math.exp(log_delta(square * 0.9 / 2, 0.1, gdp=True))
    assert np.maximum(here - math.exp(0.1) * there, 0).sum() > smaller


@pytest.mark.parametrize("gdp", [True, False])
def test_what_is_set_aside_pays_for_the_ratio_of_all_cells(gdp: bool) -> None:
    epsilon, delta, shares = 1.0, 1e-9, Shares(50, 25)
    ledger = Ledger(Budget(epsilon, delta), neighbours="add-remove", zcdp=True, gdp=gdp)
    ratio = MOST_CELLS * log_ratio(LEAST_SHARE, shares.honest)
    left = rho_of(epsilon, delta, gdp=gdp) - set_aside(ledger, shares)
    # an event is e^ratio likelier at the most, under both neighbours: (e + 2 r, d e^r)
    assert epsilon_of(left, delta * math.exp(-ratio), gdp=gdp) + 2 * ratio <= epsilon * (1 + 1e-14)
    assert 0 < ratio < 1e-8
    charge_shares(ledger, shares)
    ledger.charge_rho("all", "else", "discrete gaussian", left)
    assert ledger.spent.epsilon == pytest.approx(epsilon, rel=1e-9)
    # earlier in a session the same holds: what was charged so far is at least what it cost
    part = Ledger(Budget(epsilon, delta), neighbours="add-remove", zcdp=True, gdp=gdp)
    charge_shares(part, shares)
    part.charge_rho("some", "of it", "discrete gaussian", left / 100)
    true = epsilon_of(left / 100, delta * math.exp(-ratio), gdp=gdp) + 2 * ratio
    assert part.spent.epsilon >= true


def test_one_honest_holder_and_pure_epsilon_set_nothing_aside() -> None:
    ledger = Ledger(Budget(1.0, 1e-9), neighbours="add-remove", zcdp=True, gdp=True)
    assert set_aside(ledger, Shares(5, 4)) == 0
    assert set_aside(Ledger(Budget(1.0), neighbours="add-remove"), Shares(5, 0)) == 0


def test_epsilon_with_more_colluders_than_planned() -> None:
    """trust.md, section 3: 5 holders, t = 1, epsilon 1: 1.16, 1.44, 2.07 (by zCDP)."""
    ledger = Ledger(Budget(1.0, 1e-9), neighbours="add-remove", zcdp=True)
    for _ in range(100):
        ledger.charge_rho("a", "b", "discrete gaussian", rho_of(1.0, 1e-9) / 100)
    found = [epsilon_with(ledger, Shares(5, 1), c) for c in (0, 1, 2, 3, 4, 5)]
    assert found[:2] == [ledger.spent.epsilon] * 2
    assert [round(e, 2) for e in found[2:5]] == [1.16, 1.44, 2.07]
    assert found[5] == math.inf


def test_epsilon_with_more_colluders_is_that_of_the_noise_that_is_left_in_gdp() -> None:
    ledger = Ledger(Budget(2.0, 1e-6), neighbours="add-remove", zcdp=True, gdp=True)
    rho = rho_of(2.0, 1e-6, gdp=True)
    ledger.charge_rho("a", "b", "discrete gaussian", rho)
    # the scale of one count of this price, with half of its variance
    square = 2 * rho
    least = square * (1 - square / 12) * 2
    left = 6 * (1 - math.sqrt(1 - least / 3))
    true = epsilon_of(left / 2, 1e-6, gdp=True)
    assert epsilon_with(ledger, Shares(4, 2), 3) == pytest.approx(true)


def test_shares_below_2_are_refused_and_larger_ones_have_their_size() -> None:
    source, zeros = SecureNoise(), np.zeros(4000, dtype=np.int64)
    with pytest.raises(SettingError, match=r"share of noise \(1.9\) must be at least 2"):
        Shares(4, 0).added(zeros, 3.8, source, gaussian=True)
    assert Shares(4, 0).enough(1.0, gaussian=True) == 4.0
    drawn = Shares(5, 1).added(zeros, 20.0, source, gaussian=True)
    assert drawn.std() == pytest.approx(10, rel=0.1)


# -- whole coins --------------------------------------------------------------------


def counted(values: np.ndarray, chances: list[float]) -> float:
    """p-value of counts 0, 1, ..., and of all above, against their chances."""
    seen = np.bincount(np.minimum(values, len(chances)), minlength=len(chances) + 1)
    expected = np.array([*chances, 1 - sum(chances)]) * len(values)
    return float(stats.chisquare(seen, expected).pvalue)


def test_coins_of_whole_numbers_have_their_chances() -> None:
    source = SeededNoise(np.random.default_rng(1))
    assert counted(below(np.full(60_000, 3), source.words), [1 / 3, 1 / 3]) > 1e-4
    with_rejection = below(np.full(20_000, 3 * 2**62, dtype=np.uint64), source.words)
    assert abs((with_rejection < 2**62).mean() - 1 / 3) < 0.02  # modulo alone would give a half
    heads = falling(np.full(60_000, 3, dtype=np.uint64), 4, source.words)
    assert counted(heads.astype(int), [1 - math.exp(-0.75)]) > 1e-4
    drawn = geometric(2.5, 60_000, source.words)
    assert counted(drawn, [(1 - math.exp(-0.4)) * math.exp(-0.4 * k) for k in range(12)]) > 1e-4


@pytest.mark.parametrize("honest", [2, 5])
def test_a_polya_variable_has_its_law_and_so_many_are_geometric(honest: int) -> None:
    source, p = SeededNoise(np.random.default_rng(2)), math.exp(-1 / 4)
    law = [float(Fraction(1))]
    for k in range(1, 15):
        law.append(law[-1] * (1 + honest * (k - 1)) / (honest * k) * p)
    chances = [one * (1 - p) ** (1 / honest) for one in law]
    assert counted(polya(honest, 4.0, 40_000, source.words), chances) > 1e-4
    total = sum(polya(honest, 4.0, 20_000, source.words) for _ in range(honest))
    assert counted(total, [(1 - p) * p**k for k in range(15)]) > 1e-4


def test_laplace_shares_of_the_honest_sum_to_laplace_noise() -> None:
    source = SecureNoise()
    shares, zeros = Shares(4, 1), np.zeros(20_000, dtype=np.int64)
    total = sum(shares.added(zeros, 3.0, source, gaussian=False) for _ in range(shares.honest))
    p = math.exp(-1 / 3)
    chances = [(1 - p) / (1 + p) * p ** abs(k) for k in range(-10, 11)]
    seen = [(total == k).mean() for k in range(-10, 11)]
    assert np.abs(np.array(seen) - chances).max() < 0.015
