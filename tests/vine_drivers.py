"""What an answer of PrivateVine's curator leaks, from first principles."""

from __future__ import annotations

import math

import numpy as np

from copula_shirley import Ledger
from copula_shirley.measure.curator import Curator
from copula_shirley.measure.queries import Query
from copula_shirley.measure.transcript import Answer
from copula_shirley.privacy.gdp import unit_mu
from copula_shirley.privacy.noise import Exactness, NoiseFacts
from copula_shirley.rows.memory import MemoryRows

Draw = tuple[str, np.ndarray, float]


def exact(rows: MemoryRows, query: Query) -> Answer:
    """The answer without noise."""
    return Curator(rows, Ledger(None), None).answer(query)


class Spy:
    """A source without noise that writes down what it was to protect, and how."""

    facts = NoiseFacts("no noise", Exactness.REPLAYED)

    def __init__(self) -> None:
        self.draws: list[Draw] = []

    def gaussian(self, counts: np.ndarray, sigma: float) -> np.ndarray:
        self.draws.append(("gaussian", np.array(counts, dtype=float), sigma))
        return counts

    def laplace(self, counts: np.ndarray, scale: float) -> np.ndarray:
        self.draws.append(("laplace", np.array(counts, dtype=float), scale))
        return counts


def looked(rows: MemoryRows, query: Query, ledger: Ledger) -> list[Draw]:
    """What noise was asked for when the query was answered about these rows."""
    spy = Spy()
    Curator(rows, ledger, spy).answer(query)
    return spy.draws


def cost_of(here: list[Draw], there: list[Draw], *, zcdp: bool, gdp: bool = False) -> float:
    """What a pair of neighbours costs: rho, or epsilon.

    Gaussian noise: |difference|_2^2 / (2 sigma^2), or with the mu of one in GDP in place of
    1 / sigma; Laplace noise: |difference|_1 / scale.
    """
    assert [(kind, scale) for kind, _, scale in here] == [(kind, s) for kind, _, s in there]
    total = 0.0
    for (kind, one, scale), (_, other, _) in zip(here, there, strict=True):
        assert zcdp == (kind == "gaussian")
        change = one - other
        each = unit_mu(scale) if gdp else 1 / scale
        own = (change**2).sum() * each**2 / 2 if zcdp else np.abs(change).sum() / scale
        total += float(own)
    assert math.isfinite(total)
    return total
