"""What is audited: a claim of privacy, and what it allows of each quantity that can be bounded."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import norm

from copula_shirley.errors import SettingError
from copula_shirley.evaluation.audit.bounds import DELTA, FloatArray, ends
from copula_shirley.privacy.ledger import Budget, Ledger
from copula_shirley.privacy.zcdp import epsilon_of, rho_of
from copula_shirley.private_vine.generator import PrivateVine

#: Discrete Gaussian noise of sigma >= 1 shows up to 4.6 % more mu than 1/sigma, since its events
#: cannot cut between whole numbers; for larger mu nothing is refuted by mu.
MU_SLACK = 1.05
LARGEST_MU = 1.0
#: What PrivateVine may ask, by stage; trees from the second on are "higher trees".
STAGES = (
    "size", "ranges of cells", "margins", "margins again", "parts of cells", "target", "scores",
    "tree 1", "scores of higher trees", "higher trees", "choice of tables",
    "tables beyond the vine", "domain that is bought",
)  # fmt: skip
DOMAIN = ("categories", "magnitudes", "rest", "resolution")


def stage_of(name: str) -> str:
    """The stage of ``STAGES`` that a spend belongs to, or its own name."""
    if name in DOMAIN:
        return "domain that is bought"
    return re.sub(r"\btree (?!1$)\d+$", "higher trees", name)


@dataclass(frozen=True)
class Statement:
    """What the ledger of one fit states about the whole release.

    Attributes
    ----------
    epsilon : float or None
        What is claimed; None where the ledger claims nothing.
    zcdp, gaussian : bool
        It counts in rho; all its mechanisms are Gaussian.
    asked : list of str
        Stages for which it was charged.
    may_ask : list of str or None
        All stages that the generator has, where that is known.
    transcript : bool
        Whether the generator keeps a transcript of noisy answers.
    """

    epsilon: float | None = None
    delta: float = 0.0
    proved: str | None = None
    zcdp: bool = False
    gaussian: bool = False
    relation: str | None = None
    unit: str = "row"
    asked: list[str] | None = None
    may_ask: list[str] | None = None
    transcript: bool = False


def statement_of(generator: Any) -> Statement | None:
    """What the ledger of a fitted generator states; None without a ledger."""
    ledger = getattr(generator, "ledger_", None)
    if not isinstance(ledger, Ledger):
        return None
    claimed, proved = ledger.claimed, ledger.proved
    return Statement(
        None if claimed is None else claimed.epsilon,
        0.0 if claimed is None else claimed.delta,
        None if proved is None else str(proved),
        ledger.zcdp,
        bool(ledger.spends) and all("gaussian" in spend.mechanism for spend in ledger.spends),
        ledger.neighbours,
        ledger.unit,
        sorted({stage_of(spend.stage) for spend in ledger.spends}),
        list(STAGES) if isinstance(generator, PrivateVine) else None,
        getattr(generator, "transcript_", None) is not None,
    )


@dataclass(frozen=True)
class Limit:
    """What a claim allows a quantity to be: epsilon at a delta, or mu; None where it says nothing.

    A bound on either is ``more[hits on one table] - fewer[hits on the other]``.
    """

    quantity: str
    delta: float = 0.0
    most: float | None = None

    def parts(self, runs: int, alpha: float) -> tuple[FloatArray, FloatArray]:
        """``more`` and ``fewer``, by the number of hits."""
        low, high = ends(runs, alpha)
        with np.errstate(divide="ignore"):
            if self.quantity == "mu":
                return norm.ppf(low), norm.ppf(high)
            return np.log(np.maximum(low - self.delta, 0.0)), np.log(high)


@dataclass(frozen=True)
class Claim:
    """A promise of (epsilon, delta)-DP, and by which relation.

    Parameters
    ----------
    epsilon, delta : float
    rho : float, optional
        The zCDP behind the promise, where the ledger counts in rho.
    gaussian : bool
        All noise is Gaussian, so that mu = sqrt(2 rho) holds.
    relation : {"add-remove", "replace-one"}, optional
        None where nobody states one.
    unit : {"row", "person"}
    proved : str, optional
        What the ledger proves.
    source : {"ledger", "user"}
        Who says so.
    """

    epsilon: float
    delta: float = 0.0
    rho: float | None = None
    gaussian: bool = False
    relation: str | None = None
    unit: str = "row"
    proved: str | None = None
    source: str = "user"

    def __post_init__(self) -> None:
        Budget(self.epsilon, self.delta)  # refuses what is no claim

    def __str__(self) -> str:
        return str(Budget(self.epsilon, self.delta))

    def limits(self) -> list[Limit]:
        """Everything that is tested on one box of one pair."""
        limits = [Limit("epsilon", self.delta, self.epsilon)]
        if 0 < self.delta < DELTA:
            implied = self.epsilon if self.rho is None else epsilon_of(self.rho, DELTA)
            limits.append(Limit("epsilon", DELTA, implied))
        if self.delta > 0:
            mu = None if self.rho is None else math.sqrt(2 * self.rho)
            limits.append(Limit("mu", self.delta, mu))
        return limits


def claim_of(
    stated: Statement | None,
    given: Any = None,
    otherwise: tuple[float, float] | None = None,
    relation: str | None = None,
) -> Claim:
    """The claim of a ledger, or the one that was given.

    Parameters
    ----------
    stated : Statement or None
    given : Claim, float or pair of floats, optional
        Counts before the ledger's. Relation, unit and proof are the ledger's, if there is one.
    otherwise : pair of floats, optional
        Epsilon and delta where no ledger claims anything.
    relation : str, optional
        Where there is no ledger.
    """
    if isinstance(given, Claim):
        return given
    ledger = stated or Statement(relation=relation)
    about: dict[str, Any] = {
        "relation": ledger.relation,
        "unit": ledger.unit,
        "proved": ledger.proved,
    }
    if given is None and ledger.epsilon is None:
        given = otherwise
    if given is not None:
        epsilon, delta = given if isinstance(given, tuple | list) else (given, 0.0)
        return Claim(float(epsilon), float(delta), **about)
    if ledger.epsilon is None:
        what = "its ledger claims nothing" if stated else "it keeps no ledger"
        raise SettingError(f"claim (None) must be given: {what}")
    rho = rho_of(ledger.epsilon, ledger.delta) if ledger.zcdp else None
    return Claim(ledger.epsilon, ledger.delta, rho, ledger.gaussian, source="ledger", **about)
