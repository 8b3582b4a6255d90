"""What is audited: a claim, and what it says about each quantity that an audit can bound."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from copula_shirley.errors import SettingError
from copula_shirley.evaluation.audit.bounds import DELTA
from copula_shirley.evaluation.audit.events import Measurand
from copula_shirley.privacy.ledger import Budget
from copula_shirley.privacy.zcdp import epsilon_of, rho_of

#: Discrete Gaussian noise of sigma >= 1 shows up to 4.6 % more mu than 1/sigma, since its events
#: cannot cut between whole numbers; for larger mu nothing is refuted by mu.
MU_SLACK = 1.05
LARGEST_MU = 1.0


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

    def tests(self) -> list[Test]:
        """Everything that is tested on one box of one pair."""
        tests = [Test("epsilon", self.delta, self.epsilon)]
        if 0 < self.delta < DELTA:
            implied = self.epsilon if self.rho is None else epsilon_of(self.rho, DELTA)
            tests.append(Test("epsilon", DELTA, implied))
        if self.delta > 0:
            mu = None if self.rho is None else math.sqrt(2 * self.rho)
            tests.append(Test("mu", self.delta, mu))
        return tests


@dataclass(frozen=True)
class Test:
    """A quantity and what the claim allows it to be; no limit where the claim says nothing."""

    __test__ = False  # no test of pytest

    quantity: str
    delta: float
    limit: float | None

    @property
    def measurand(self) -> Measurand:
        """What its event is judged by."""
        return Measurand(self.quantity, self.delta)


def claim_of(
    stated: dict[str, Any] | None,
    given: Any = None,
    otherwise: tuple[float, float] | None = None,
    relation: str | None = None,
) -> Claim:
    """The claim of a ledger (``evaluation.audit.evidence.stated``), or the one that was given.

    Parameters
    ----------
    stated : dict or None
    given : Claim, float or pair of floats, optional
        Counts before the ledger's. Relation, unit and proof are the ledger's, if there is one.
    otherwise : pair of floats, optional
        Epsilon and delta where no ledger claims anything.
    relation : str, optional
        Where there is no ledger.
    """
    if isinstance(given, Claim):
        return given
    ledger = stated or {}
    about = {
        "relation": ledger.get("neighbours", relation),
        "unit": ledger.get("unit", "row"),
        "proved": ledger.get("proved"),
    }
    if given is None and ledger.get("epsilon") is None:
        given = otherwise
    if given is not None:
        epsilon, delta = given if isinstance(given, tuple | list) else (given, 0.0)
        return Claim(float(epsilon), float(delta), **about)
    if ledger.get("epsilon") is None:
        what = "its ledger claims nothing" if stated else "it keeps no ledger"
        raise SettingError(f"claim (None) must be given: {what}")
    epsilon, delta = ledger["epsilon"], ledger["delta"]
    rho = rho_of(epsilon, delta) if ledger["zcdp"] else None
    return Claim(epsilon, delta, rho, ledger["gaussian"], source="ledger", **about)
