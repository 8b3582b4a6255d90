"""A mechanism whose privacy is known, run through the same instrument as the generator.

A histogram with noise of exactly the claimed strength: discrete Laplace noise for a pure claim;
discrete Gaussian noise for one with a delta, calibrated by rho where the ledger counts in rho and
by the analytic formula (Balle and Wang 2018) else. Of a pair, it has eight cells, and one row more
raises one cell by one; of canaries, each has a cell of its own. The same is done with a half, a
quarter and an eighth of that noise, under the same claim, with as many runs and the same shares of
the false alarms (each once, by the seed of the audit). What the audit sees of the first and refutes
of the others is its power: an audit that sees little, or refutes none, could not have found much.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from scipy.stats import norm

from copula_shirley.evaluation.audit.bounds import CONFIDENCE, clopper_pearson, mean_lower
from copula_shirley.evaluation.audit.claim import Claim, Limit
from copula_shirley.evaluation.audit.estimates import (
    BOUNDS_ALARM,
    HALF,
    Estimate,
    Power,
    estimates_of_guesses,
    estimates_of_pair,
)
from copula_shirley.evaluation.audit.observation import Observation
from copula_shirley.privacy.gdp import discrete_scale
from copula_shirley.privacy.noise import Integers, SeededNoise

#: Cells of the control, and rows in each, on which noise does not depend.
CELLS, ROWS = 8, 20
#: What the noise is divided by, to see whether it is noticed.
WEAKER = (2, 4, 8)
#: Nobody is told to make more runs than this.
MOST_RUNS = 1_000_000
#: What should be seen is this much more than what has to be.
ROOM = 1.1


@dataclass(frozen=True)
class Control:
    """What is seen of the control with full noise, its power, and what is seen with less noise."""

    estimates: tuple[Estimate, ...]
    power: Power
    weaker: dict[int, list[Estimate]]


def _noise_of(claim: Claim, seed: int, weaker: int) -> Callable[[Integers], Integers]:
    """Adds the noise of a claim, divided by ``weaker``, to counts of sensitivity 1."""
    source = SeededNoise(np.random.default_rng([0xC0117801, seed, weaker]))
    if claim.delta == 0:
        return lambda counts: source.laplace(counts, 1 / claim.epsilon / weaker)
    scale = discrete_scale(claim.mu) if claim.gdp else 1 / claim.mu
    return lambda counts: source.gaussian(counts, scale / weaker)


def control_runs(claim: Claim, runs: int, seed: int, weaker: int = 1) -> list[list[Observation]]:
    """Noisy histograms of two neighbouring tables, ``runs`` of each, with a part of the noise."""
    noisy, counts = _noise_of(claim, seed, weaker), np.full((runs, CELLS), ROWS)
    return [
        [Observation({f"cell[{j}]": float(c) for j, c in enumerate(row)}) for row in noisy(table)]
        for table in (counts + (np.arange(CELLS) == 0), counts)
    ]


def control_guesses(claim: Claim, runs: int, guesses: int, seed: int, weaker: int = 1) -> list[int]:
    """Right guesses about canaries with a cell each, in ``runs`` runs."""
    noisy, coins = _noise_of(claim, seed, weaker), np.random.default_rng([0xCA9A21E5, seed, weaker])
    right = []
    for start in range(0, runs, 1_000):  # as much memory for many runs as for few
        inside = (coins.random((min(1_000, runs - start), guesses)) < 0.5).astype(np.int64)
        right += ((noisy(inside) > 0) == (inside > 0)).sum(axis=1).tolist()
    return right


@lru_cache(32)
def controls(
    claim: Claim, runs: int, seed: int, tests: int, guesses: int | None, *, pairs: bool
) -> Control:
    """The control of an audit with so many runs a side.

    Canaries, of which there are ``guesses``, have both sides' runs together; ``pairs`` says whether
    there are pairs, on which events are learnt.
    """

    def seen(weaker: int) -> list[Estimate]:
        found = []
        if guesses is not None:
            right = control_guesses(claim, 2 * runs, guesses, seed, weaker)
            found += estimates_of_guesses(right, guesses, claim, "control of canaries", tests)
        if pairs:
            first, second = control_runs(claim, runs, seed, weaker)
            found += estimates_of_pair(first, second, claim, "control", "white", tests)
        return found

    full, weaker = seen(1), {k: seen(k) for k in WEAKER}
    noticed = tuple(k for k, found in weaker.items() if any(e.refuted for e in found))
    quantity, claimed = claim.main
    own = [e for e in full if (e.quantity, e.delta) == (quantity, claim.delta)]
    power = Power(
        quantity,
        claimed,
        seen=max(e.bound for e in own),
        ceiling=max(e.ceiling for e in own),
        noticed=noticed,
        missed=tuple(k for k in WEAKER if k not in noticed),
    )
    if not power.enough:
        power = replace(power, needed=runs_needed(claim, runs, tests, guesses))
    return Control(tuple(full), power, weaker)


def runs_needed(claim: Claim, runs: int, tests: int, guesses: int | None) -> int | None:
    """The least doubling of ``runs`` with which the control should show that there is power.

    None where even a million would not do.
    """
    # of the best event: P(Laplace noise >= 0), or P(Gaussian noise >= -1/2)
    pure = claim.delta == 0
    chance = 1 / (1 + math.exp(-claim.epsilon)) if pure else float(norm.cdf(claim.mu / 2))
    strict = BOUNDS_ALARM / (tests * len(claim.limits()))
    while runs < MOST_RUNS:
        runs *= 2
        seen = _expected(claim, chance, runs, (1 - CONFIDENCE) / tests, guesses)
        most = _expected(claim, 1.0, runs, strict, guesses)
        if seen >= ROOM * HALF * claim.main[1] and most > claim.main[1]:
            return runs
    return None


def _expected(claim: Claim, p: float, runs: int, alpha: float, guesses: int | None) -> float:
    """The bound, if an event has chances p and 1 - p and happens as often as that."""
    tested = runs // 2
    if guesses is not None:
        spread = math.sqrt(p * (1 - p) / guesses)
        low = mean_lower(np.resize([p - spread, min(p + spread, 1.0)], 2 * runs), alpha)
        chances = low, 1 - low
    else:
        hits = np.array([round(p * tested), tested - round(p * tested)])
        lows, highs = clopper_pearson(hits, tested, alpha / 2)
        chances = float(lows[0]), float(highs[1])
    return float(Limit(claim.main[0], claim.delta).bound(*chances))
