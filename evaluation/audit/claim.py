"""What is audited: a claim of privacy, and what it allows of each quantity that can be bounded."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import norm

from copula_shirley.errors import SettingError
from copula_shirley.evaluation.audit.bounds import DELTA, FloatArray, gaussian_mu, rho_between
from copula_shirley.local.calibration import MECHANISM as REPORTS
from copula_shirley.measure.trust import STAGE as SHARES
from copula_shirley.privacy.ledger import Budget, Ledger
from copula_shirley.privacy.zcdp import epsilon_of, rho_of
from copula_shirley.private_vine.generator import PrivateVine

#: What PrivateVine may ask, by stage; trees from the second on are "higher trees".
STAGES = (
    *("size", "margins", "parts of cells", "margins of groups", "margins again", "target"),
    *("coarse pairs", "tree 1", "tables beyond the vine", "domain that is bought"),
)
DOMAIN = ("categories", "magnitudes", "rest", "resolution")
#: Discrete Gaussian noise of sigma >= 1 shows up to 4.6 % more mu than 1/sigma, since its events
#: cannot cut between whole numbers; for larger mu nothing is refuted by mu. A ledger of GDP has
#: reckoned with that: there mu is proved.
MU_SLACK, LARGEST_MU = 1.05, 1.0


def stage_of(name: str) -> str:
    """The stage of ``STAGES`` that a spend belongs to, or its own name."""
    return "domain that is bought" if name in DOMAIN else name


@dataclass(frozen=True)
class Statement:
    """What the ledger of one fit states about the whole release."""

    #: What is claimed; None where the ledger claims nothing.
    epsilon: float | None = None
    delta: float = 0.0
    proved: str | None = None
    #: Whether it counts in rho, and in GDP, and whether all its mechanisms are Gaussian.
    zcdp: bool = False
    gdp: bool = False
    gaussian: bool = False
    relation: str | None = None
    unit: str = "row"
    #: Stages for which it was charged, and all that the generator has, where that is known.
    asked: tuple[str, ...] = ()
    may_ask: tuple[str, ...] | None = None
    #: Whether the generator keeps a transcript of answers with discrete noise. What people report
    #: adds up to other noise; the promise is about each report (``evaluation.audit.devices``).
    transcript: bool = False


def statement_of(generator: Any) -> Statement | None:
    """What the ledger of a fitted generator states; None without a ledger."""
    ledger = getattr(generator, "ledger_", None)
    if not isinstance(ledger, Ledger):
        return None
    claimed, spends = ledger.claimed, ledger.spends
    return Statement(
        None if claimed is None else claimed.epsilon,
        0.0 if claimed is None else claimed.delta,
        None if ledger.proved is None else str(ledger.proved),
        ledger.zcdp,
        ledger.gdp,
        bool(spends) and all("gaussian" in spend.mechanism for spend in spends),
        ledger.neighbours,
        ledger.unit,
        tuple(sorted({stage_of(spend.stage) for spend in spends if spend.stage != SHARES})),
        STAGES if isinstance(generator, PrivateVine) else None,
        getattr(generator, "transcript_", None) is not None
        and all(spend.mechanism != REPORTS for spend in spends),
    )


@dataclass(frozen=True)
class Limit:
    """What a claim allows a quantity to be: epsilon at a delta, mu or rho; None if it says nothing.

    A larger bound than ``refuting`` refutes the claim; None where nothing is judged by it.
    """

    quantity: str
    delta: float = 0.0
    most: float | None = None
    refuting: float | None = None

    def parts(self, p: Any, q: Any) -> tuple[FloatArray, FloatArray]:
        """What an event of chances ``p`` and ``q`` shows of epsilon or mu is their difference."""
        with np.errstate(divide="ignore"):
            if self.quantity == "mu":
                return norm.ppf(p), norm.ppf(q)
            return np.log(np.maximum(np.asarray(p) - self.delta, 0.0)), np.log(q)

    def bound(self, p: Any, q: Any) -> FloatArray:
        """What an event of chances ``p`` and ``q`` shows, 0 or more."""
        if self.quantity == "rho":
            return rho_between(p, q)
        with np.errstate(invalid="ignore"):  # of two infinite parts
            more, fewer = self.parts(p, q)
            return np.nan_to_num(np.maximum(more - fewer, 0.0), nan=0.0, posinf=np.inf)


@dataclass(frozen=True)
class Claim:
    """A promise of (epsilon, delta)-DP."""

    epsilon: float
    delta: float = 0.0
    #: The zCDP behind the promise, where the ledger counts in rho.
    rho: float | None = None
    #: Whether rho is that of GDP, too, so that mu = sqrt(2 rho) is proved.
    gdp: bool = False
    #: Whether all noise is Gaussian, so that mu = sqrt(2 rho) holds, nearly at least.
    gaussian: bool = False
    #: "add-remove" or "replace-one"; None where nobody states one.
    relation: str | None = None
    unit: str = "row"
    #: What the ledger proves, and who states the claim, "ledger" or "user".
    proved: str | None = None
    source: str = "user"

    def __post_init__(self) -> None:
        Budget(self.epsilon, self.delta)  # refuses what is no claim

    def __str__(self) -> str:
        return str(Budget(self.epsilon, self.delta))

    @property
    def mu(self) -> float:
        """The mu of Gaussian noise that is worth a claim with a delta."""
        if self.rho is None:
            return gaussian_mu(self.epsilon, self.delta)
        return math.sqrt(2 * self.rho)

    @property
    def main(self) -> tuple[str, float]:
        """Quantity and value by which power is told: mu where the claim is in rho."""
        return ("epsilon", self.epsilon) if self.rho is None else ("mu", self.mu)

    def limits(self) -> list[list[Limit]]:
        """What is bounded; quantities in one list follow from the same event."""
        limits = [[Limit("epsilon", self.delta, self.epsilon, self.epsilon)]]
        if 0 < self.delta < DELTA:
            implied = self.epsilon
            if self.rho is not None:
                implied = epsilon_of(self.rho, DELTA, gdp=self.gdp)
            limits.append([Limit("epsilon", DELTA, implied, implied)])
        if self.delta > 0:
            most = None if self.rho is None else self.mu
            judged = most is not None and self.gaussian and most <= LARGEST_MU
            refuting = most if self.gdp else MU_SLACK * self.mu if judged else None
            mu = Limit("mu", self.delta, most, refuting)
            limits.append([mu, Limit("rho", self.delta, self.rho, self.rho)])
        return limits


def claim_of(
    stated: Statement | None,
    given: Any = None,
    otherwise: tuple[float, float] | None = None,
    relation: str | None = None,
) -> Claim:
    """The claim that was given, or that of the ledger, or else ``otherwise``.

    Relation, unit and proof are the ledger's; ``relation`` counts where there is no ledger.
    """
    if isinstance(given, Claim):
        return given
    ledger = stated or Statement(relation=relation)
    about: dict[str, Any] = {name: getattr(ledger, name) for name in ("relation", "unit", "proved")}
    if given is None and ledger.epsilon is None:
        given = otherwise
    if given is not None:
        epsilon, delta = given if isinstance(given, tuple | list) else (given, 0.0)
        return Claim(float(epsilon), float(delta), **about)
    if ledger.epsilon is None:
        what = "its ledger claims nothing" if stated else "it keeps no ledger"
        raise SettingError(f"claim (None) must be given: {what}")
    rho = rho_of(ledger.epsilon, ledger.delta, gdp=ledger.gdp) if ledger.zcdp else None
    about |= {"gdp": ledger.gdp, "gaussian": ledger.gaussian}
    return Claim(ledger.epsilon, ledger.delta, rho, source="ledger", **about)
