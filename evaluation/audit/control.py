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
from dataclasses import asdict, replace
from functools import lru_cache
from typing import Any

import numpy as np
from scipy.stats import norm

from copula_shirley.evaluation.audit.bounds import (
    CONFIDENCE,
    clopper_pearson,
    epsilon_between,
    gaussian_mu,
    mean_lower,
    mu_between,
)
from copula_shirley.evaluation.audit.claims import Claim
from copula_shirley.evaluation.audit.evidence import Evidence
from copula_shirley.evaluation.audit.findings import (
    BOUNDS_ALARM,
    HALF,
    Finding,
    Power,
    examine,
    examine_guesses,
)
from copula_shirley.privacy.noise import Integers, SeededNoise

CELLS = 8
#: Rows in each cell; noise does not depend on it.
ROWS = 20
#: What the noise is divided by, to see whether it is noticed.
WEAKER = (2, 4, 8)
#: Nobody is told to make more runs than this.
MOST_RUNS = 1_000_000
#: What should be seen is this much more than what has to be.
ROOM = 1.1


def control_runs(
    epsilon: float,
    delta: float,
    rho: float | None,
    runs: int,
    seed: int,
    weaker: int = 1,
) -> tuple[list[Evidence], list[Evidence]]:
    """Noisy histograms of two neighbouring tables, ``runs`` of each, with a part of the noise."""
    draw = _Noise(epsilon, delta, rho, seed, weaker)
    sides = []
    for extra in (1, 0):
        counts = np.full((runs, CELLS), ROWS)
        counts[:, 0] += extra
        noisy = draw(counts)
        sides.append([Evidence({f"cell[{j}]": float(c) for j, c in enumerate(r)}) for r in noisy])
    return sides[0], sides[1]


def control_guesses(claim: Claim, runs: int, guesses: int, seed: int, weaker: int = 1) -> list[int]:
    """Right guesses about canaries with a cell each, in ``runs`` runs."""
    draw = _Noise(claim.epsilon, claim.delta, claim.rho, seed, weaker)
    coins = np.random.default_rng([0xCA9A21E5, seed, weaker])
    right = []
    for start in range(0, runs, 1_000):  # as much memory for many runs as for few
        inside = (coins.random((min(1_000, runs - start), guesses)) < HALF).astype(np.int64)
        right += ((draw(inside) > 0) == (inside > 0)).sum(axis=1).tolist()
    return right


class _Noise:
    """The noise of a claim, divided."""

    def __init__(
        self, epsilon: float, delta: float, rho: float | None, seed: int, weaker: int
    ) -> None:
        self._source = SeededNoise(np.random.default_rng([0xC0117801, seed, weaker]))
        self._pure = delta == 0
        parameter = epsilon if self._pure else _mu(epsilon, delta, rho)
        self._scale = 1.0 / parameter / weaker

    def __call__(self, counts: Integers) -> Integers:
        """Counts with noise."""
        draw = self._source.laplace if self._pure else self._source.gaussian
        return draw(counts, self._scale)


def _mu(epsilon: float, delta: float, rho: float | None) -> float:
    return gaussian_mu(epsilon, delta) if rho is None else float(np.sqrt(2 * rho))


# -- power ---------------------------------------------------------------------------------


@lru_cache(32)
def controls(
    claim: Claim, runs: int, seed: int, looks: int, guesses: int | None, *, events: bool
) -> tuple[tuple[Finding, ...], Power, tuple[dict[str, Any], ...]]:
    """What is seen of controls with full noise, the power, and what is seen with weaker noise.

    Parameters
    ----------
    claim : Claim
    runs : int
        A side; canaries have as many on both sides together.
    seed, looks : int
        Of the audit.
    guesses : int or None
        Number of canaries, if there are any.
    events : bool
        Whether there are pairs, on which events are learnt.
    """

    def seen(weaker: int) -> list[Finding]:
        found = []
        if guesses is not None:
            right = control_guesses(claim, 2 * runs, guesses, seed, weaker)
            found += examine_guesses(right, guesses, claim, "control of canaries", looks)
        if events:
            told = control_runs(claim.epsilon, claim.delta, claim.rho, runs, seed, weaker)
            found += examine(*told, claim, "control", "white", looks)
        return found

    full = seen(1)
    divided = {k: seen(k) for k in WEAKER}
    noticed = {k: any(f.refuted for f in found) for k, found in divided.items()}
    quantity = "epsilon" if claim.rho is None else "mu"
    claimed = claim.epsilon if claim.rho is None else _mu(claim.epsilon, claim.delta, claim.rho)
    own = [f for f in full if f.quantity == quantity and f.delta == claim.delta]
    power = Power(
        quantity=quantity,
        claimed=claimed,
        seen=max(f.bound for f in own),
        ceiling=max(f.ceiling for f in own),
        noticed=tuple(k for k in WEAKER if noticed[k]),
        missed=tuple(k for k in WEAKER if not noticed[k]),
    )
    if not power.enough:
        power = replace(power, needed=runs_needed(claim, runs, looks, guesses))
    weaker = tuple(
        {"noise_divided_by": k, "noticed": noticed[k], "findings": [asdict(f) for f in found]}
        for k, found in divided.items()
    )
    return tuple(full), power, weaker


def runs_needed(claim: Claim, runs: int, looks: int, guesses: int | None) -> int | None:
    """The least doubling of ``runs`` with which the control should show that there is power.

    None where even a million would not do.
    """
    pure = claim.delta == 0
    mu = 0.0 if pure else _mu(claim.epsilon, claim.delta, claim.rho)
    claimed = claim.epsilon if claim.rho is None else mu
    # of the best event: P(Laplace noise >= 0), or P(Gaussian noise >= -1/2)
    chance = 1 / (1 + math.exp(-claim.epsilon)) if pure else float(norm.cdf(mu / 2))
    strict = BOUNDS_ALARM / (looks * len(claim.tests()))
    while runs < MOST_RUNS:
        runs *= 2
        seen = _expected(claim, chance, runs, (1 - CONFIDENCE) / looks, guesses)
        most = _expected(claim, 1.0, runs, strict, guesses)
        if seen >= ROOM * HALF * claimed and most > claimed:
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
    if claim.rho is not None:
        return float(mu_between(*chances))
    return float(epsilon_between(*chances, claim.delta))
