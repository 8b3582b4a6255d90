"""Numeric margins from square waves: the width of the wave, and maximum likelihood by EM.

The wave (Li, Wang, Lopuhaa-Zwakenberg, Skoric and Li 2020). On the domain [0, 1] a report within b
of the true value has the density p = e^eps / D, any other in [-b, 1 + b] q = 1 / D, with D = 2 b
e^eps + 1. Reports tell at most I(b) = log(1 + 2b) - h nats about values, where h = log D - 2 b eps
e^eps / D is the entropy of a report about one value and log(1 + 2b) the most that any law of
reports can have. dI/db = 0 is (D - 1)(1 - e^eps + eps) = e^eps - 1 - eps e^eps, so

    b = (eps e^eps - e^eps + 1) / (2 e^eps (e^eps - 1 - eps)).

Here values are cells, and so are reports (``Wave``): the ratio of any two chances of one report is
e^epsilon at the most by construction.

The decoder is EM with smoothing (``reconstruction``): it gives a smooth histogram, which is all
that a wide channel can show. A heap (40 hours a week) is smeared over its neighbours, so the vine,
whose margins find heaps by themselves, does not use it: docs/local.md has figures of both.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from copula_shirley.local.coins import Wave
from copula_shirley.local.reconstruction import reconstructed
from copula_shirley.schema.domain import FloatArray

#: Passes of EM at the most.
STEPS = 10_000


def half_width(epsilon: float) -> float:
    """The b of a wave on [0, 1] that maximises the bound on what reports tell.

    Examples
    --------
    >>> [round(half_width(eps), 3) for eps in (0.01, 1.0, 4.0)]
    [0.497, 0.256, 0.03]
    """
    power = math.exp(epsilon)
    if epsilon < 1e-3:  # the limit; both sides are differences of nearly equal numbers
        return 0.5
    return (epsilon * power - power + 1) / (2 * power * (power - 1 - epsilon))


def wave_of(cells: int, epsilon: float) -> Wave:
    """The square wave for so many ordered cells."""
    return Wave.of(cells, epsilon, round(half_width(epsilon) * cells))


def channel(one: Wave) -> FloatArray:
    """The chance of each report (rows) in each cell (columns)."""
    place = np.arange(one.outputs)[:, None] - np.arange(one.cells)
    near = (place >= 0) & (place <= 2 * one.half)
    return np.where(near, float(one.true), float(one.other))


def decoded(one: Wave, tally: ArrayLike) -> FloatArray:
    """Shares of the cells from reports of a square wave, evened out by the decoder."""
    return reconstructed(tally, channel(one), smoothing=True, steps=STEPS)
