"""What an answer of PrivateVine's curator leaks, from first principles."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from copula_shirley import Ledger
from copula_shirley.measure.curator import Curator
from copula_shirley.measure.queries import Choice, Query
from copula_shirley.measure.transcript import Answer
from copula_shirley.privacy.noise import Exactness, NoiseFacts
from copula_shirley.rows.memory import MemoryRows

Draw = tuple[str, np.ndarray, float]


def exact(rows: MemoryRows, query: Query) -> Answer:
    """The answer without noise."""
    return Curator(rows, Ledger(None), None).answer(query)


class Spy:
    """A source without noise that writes down what it was to protect, and how."""

    facts = NoiseFacts("no noise", Exactness.REPLAYED)

    def __init__(self, choices: Sequence[int] = ()) -> None:
        self.draws: list[Draw] = []
        self.choices = iter(choices)

    def gaussian(self, counts: np.ndarray, sigma: float) -> np.ndarray:
        self.draws.append(("gaussian", np.array(counts, dtype=float), sigma))
        return counts

    def laplace(self, counts: np.ndarray, scale: float) -> np.ndarray:
        self.draws.append(("laplace", np.array(counts, dtype=float), scale))
        return counts

    def choose(self, scores: np.ndarray, scale: float) -> int:
        self.draws.append(("choose", np.array(scores, dtype=float), scale))
        return next(self.choices)


def looked(rows: MemoryRows, query: Query, ledger: Ledger, answer: Answer) -> list[Draw]:
    """What noise was asked for when the answer was given about these rows."""
    positions = []
    if isinstance(query, Choice):  # among those that were left each time
        left = list(range(len(query.cell_maps)))
        for chosen in answer.values[0].tolist():
            positions.append(left.index(chosen))
            left.remove(chosen)
    spy = Spy(positions)
    Curator(rows, ledger, spy).answer(query)
    return spy.draws


def cost_of(here: list[Draw], there: list[Draw], *, zcdp: bool) -> float:
    """What a pair of neighbours costs: rho, or epsilon.

    Gaussian noise: |difference|_2^2 / (2 sigma^2); Laplace noise: |difference|_1 / scale; a
    choice with chances proportional to exp(score / scale): its privacy loss lies in an interval
    of width w, so w^2 / 8 in rho, and is at most its largest absolute value in epsilon.
    """
    assert [(kind, scale) for kind, _, scale in here] == [(kind, s) for kind, _, s in there]
    total = 0.0
    for (kind, one, scale), (_, other, _) in zip(here, there, strict=True):
        change: Any = one - other
        if kind == "choose":
            logs = [values / scale - np.logaddexp.reduce(values / scale) for values in (one, other)]
            loss = logs[0] - logs[1]
            total += float(np.ptp(loss)) ** 2 / 8 if zcdp else float(np.abs(loss).max())
        else:
            assert zcdp == (kind == "gaussian")
            own = (change**2).sum() / (2 * scale**2) if zcdp else np.abs(change).sum() / scale
            total += float(own)
    assert math.isfinite(total)
    return total
