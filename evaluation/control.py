"""A mechanism whose epsilon is known, run through the same instrument as the generator.

A histogram of eight cells with noise of exactly the claimed strength: discrete Laplace noise for
a pure claim; discrete Gaussian noise for one with a delta, calibrated by rho where the ledger
counts in rho and by the analytic formula (Balle and Wang 2018) else. One row more raises one cell
by one. The audit says what it saw there: a bound far below the claim shows how blunt the
instrument is with this number of runs, a bound above it that something is wrong with it.
"""

from __future__ import annotations

import numpy as np

from copula_shirley.noise import SeededNoise
from evaluation.bounds import gaussian_mu
from evaluation.evidence import Evidence

CELLS = 8
#: Rows in each cell; noise does not depend on it.
ROWS = 20


def control_runs(
    epsilon: float, delta: float, rho: float | None, runs: int, seed: int
) -> tuple[list[Evidence], list[Evidence]]:
    """Noisy histograms of two neighbouring tables, ``runs`` of each."""
    noise = SeededNoise(np.random.default_rng([0xC0117801, seed]))
    sides = []
    for extra in (1, 0):
        counts = np.full((runs, CELLS), ROWS)
        counts[:, 0] += extra
        if delta == 0:
            noisy = noise.laplace(counts, 1.0 / epsilon)
        else:
            mu = gaussian_mu(epsilon, delta) if rho is None else np.sqrt(2 * rho)
            noisy = noise.gaussian(counts, 1.0 / float(mu))
        sides.append([Evidence({f"cell[{j}]": float(c) for j, c in enumerate(r)}) for r in noisy])
    return sides[0], sides[1]
