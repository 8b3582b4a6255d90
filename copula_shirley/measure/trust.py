"""Whom people have to trust: one curator, or holders of whom some may collude.

A model whose queries several holders answered (``copula_shirley.holders``) carries their agreement
and what they signed. Here is what follows from it for noise, ledger and card; signatures are
checked by ``copula_shirley.holders.evidence``.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct
from numpy.typing import NDArray

from copula_shirley.errors import ArtefactError, SettingError
from copula_shirley.measure.calibration import Calibration
from copula_shirley.measure.queries import Query
from copula_shirley.privacy.budget import Budget
from copula_shirley.privacy.card import TrustFacts
from copula_shirley.privacy.gdp import DISCRETE_GAUSSIAN, unit_mu
from copula_shirley.privacy.ledger import Ledger
from copula_shirley.privacy.noise import NoiseFacts
from copula_shirley.privacy.shares import LEAST_SHARE, MOST_CELLS, Shares, log_ratio
from copula_shirley.privacy.zcdp import epsilon_of, rho_of

#: Holders of one session.
MOST_HOLDERS = 1000
#: The largest part of the budget that is kept for attempts that fail.
MOST_SPARE = 0.9
STAGE = "shares of noise"
REHEARSAL = (
    "A rehearsal: one process had all rows and played everybody, so whoever ran it has to be "
    "trusted as a curator is. What follows would hold if all did their parts themselves."
)
#: Names of the arrays of a model file that hold masked vectors begin so.
VECTOR = "masked_"

Hexadecimal = Annotated[str, Meta(pattern=r"^([0-9a-f]{2}){1,100}\Z")]
Name = Annotated[str, Meta(pattern=r"^[A-Za-z0-9](-?[A-Za-z0-9]){0,39}\Z")]
Spent = Annotated[float, Meta(ge=0)]
Seat = Annotated[int, Meta(ge=0, lt=MOST_HOLDERS)]


class Member(Struct, frozen=True, forbid_unknown_fields=True):
    """A holder in the roster: who signs, and with whom masks are agreed."""

    name: Name
    #: Public keys, Ed25519 and X25519.
    sign: Hexadecimal
    exchange: Hexadecimal


class Agreement(Struct, frozen=True, forbid_unknown_fields=True):
    """What all holders sign before anything is asked."""

    session: Hexadecimal
    #: The public key of the coordinator.
    coordinator: Hexadecimal
    revision: int
    settings: dict[str, Any]
    schema: dict[str, Any]
    roster: list[Member]
    #: Holders that may collude; the noise of the others suffices.
    colluding: Seat
    #: Part of the budget that is kept for attempts that fail after vectors have left.
    spare: Annotated[float, Meta(ge=0, le=MOST_SPARE)] = 0.0
    #: Whether one process plays all of them.
    rehearsal: bool = False

    def __post_init__(self) -> None:
        names = [member.name for member in self.roster]
        keys = {key for member in self.roster for key in (member.sign, member.exchange)}
        if names != sorted(set(names)) or len(keys) != 2 * len(names):
            raise ValueError("names and keys of the holders must differ, in the order of names")
        check_seats(len(names), self.colluding)

    @property
    def shares(self) -> Shares:
        return Shares(len(self.roster), self.colluding)


class Ready(Struct, frozen=True, forbid_unknown_fields=True):
    """That a holder will answer a question if all others will."""

    label: Hexadecimal
    #: What it contributes to the label of the masks.
    nonce: Hexadecimal
    #: What its ledger holds: rho, or epsilon without a delta.
    spent: Spent
    noise: NoiseFacts


class Masked(Struct, frozen=True, forbid_unknown_fields=True):
    """What a holder says with its masked vector."""

    #: The label of the masks.
    label: Hexadecimal
    #: What its ledger holds with this answer.
    spent: Spent


class Round(Struct, frozen=True, forbid_unknown_fields=True):
    """What holders said about one answer, each with its signature."""

    attempt: Annotated[int, Meta(ge=1)]
    #: Attempts that were charged, this one included.
    charged: Annotated[int, Meta(ge=1, le=1000)]
    ready: dict[str, tuple[Ready, Hexadecimal]]
    masked: dict[str, tuple[Masked, Hexadecimal]]


class Holders(Struct, frozen=True, forbid_unknown_fields=True):
    """That several holders answered; the word in a file for this trust model."""

    model: str
    agreement: Agreement
    #: Of the agreement, by holder.
    signatures: dict[str, Hexadecimal]
    rounds: list[Round]

    def calibration(self, ledger: Ledger, failing: float = 0.0) -> Calibration:
        return SharedCalibration.of_agreement(ledger, self.agreement, failing)

    def charge_attempts(self, ledger: Ledger, noise: Calibration, queries: Sequence[Query]) -> None:
        """Charge queries once more for each attempt at them that failed."""
        for query, told in zip(queries, self.rounds, strict=True):
            for _ in range(told.charged - 1):
                noise.charge(ledger, query)

    def facts(self, ledger: Ledger) -> TrustFacts:
        """What a card says."""
        agreement = self.agreement
        roster = {member.name: member.sign for member in agreement.roster}
        words = [REHEARSAL] if agreement.rehearsal else []
        words += words_of(agreement.shares, ledger)
        return TrustFacts(self.model, len(roster), agreement.colluding, roster, LEAST_SHARE, words)


def check_seats(holders: int, colluding: int) -> None:
    """Refuse numbers of holders, and of colluding ones, that cannot be."""
    if not 2 <= holders <= MOST_HOLDERS:
        raise SettingError(f"holders ({holders}) must be 2 to {MOST_HOLDERS}")
    if not 0 <= colluding < holders:
        raise SettingError(
            f"colluding ({colluding}) must be 0 to {holders - 1}: one of {holders} holders must "
            "be honest"
        )


def restored(state: Any, vectors: Mapping[str, NDArray[Any]]) -> Holders:
    """What a model file says of its holders."""
    try:
        found = msgspec.convert(state, Holders)
    except msgspec.ValidationError as error:
        raise ArtefactError(f"its trust is not readable: {error}") from None
    if found.model != "holders":
        raise ArtefactError(f"its trust ({found.model!r:.30}) must be 'holders'")
    if sorted(vectors) != sorted(f"{VECTOR}{i}" for i in range(len(found.rounds))):
        raise ArtefactError("its masked vectors must be those of its answers")
    return found


class SharedCalibration(Calibration):
    """Noise in shares: that of the honest holders is what the budget buys, that of all is added.

    ``scale`` and ``sigma`` are of the noise of all holders, on which margins and tables depend;
    ``enough`` is what the price is about.
    """

    shares: Shares

    @classmethod
    def of_agreement(
        cls, ledger: Ledger, agreement: Agreement, failing: float = 0.0
    ) -> SharedCalibration:
        found = cls.of(ledger, failing)
        if found.budget is None:
            raise SettingError("epsilon (None) must be a number: holders never answer exactly")
        found.shares = agreement.shares
        found.total = (found.total - set_aside(ledger, agreement.shares)) * (1 - agreement.spare)
        return found

    def enough(self, share: float, count: int) -> float:
        """Parameter of the noise of the honest holders."""
        scale = super().scale_of(share, self.unit, count)
        return self.shares.enough(scale, gaussian=self.gaussian)

    def scale(self, share: float, count: int) -> float:
        return self.enough(share, count) * self.shares.wider

    def sigma(self, share: float, count: int) -> float:
        return self.deviation(self.enough(share, count)) * self.shares.wider


def set_aside(ledger: Ledger, shares: Shares) -> float:
    """What shares cost beyond discrete Gaussian noise: see ``copula_shirley.privacy.shares``."""
    budget = ledger.budget
    ratio = MOST_CELLS * log_ratio(LEAST_SHARE, shares.honest)
    if budget is None or not ledger.zcdp or ratio == 0:
        return 0.0
    whole = rho_of(budget.epsilon, budget.delta, gdp=ledger.gdp)
    left = Budget(budget.epsilon - 2 * ratio, budget.delta * math.exp(-ratio))
    return whole - rho_of(left.epsilon, left.delta, gdp=ledger.gdp)


def charge_shares(ledger: Ledger, shares: Shares) -> None:
    """Charge a fresh ledger that its noise comes in shares."""
    if (rho := set_aside(ledger, shares)) > 0:
        what = f"a sum of shares in place of one noise, up to {MOST_CELLS:,} cells"
        ledger.charge_rho(STAGE, what, DISCRETE_GAUSSIAN, rho)


def epsilon_with(ledger: Ledger, shares: Shares, colluding: int) -> float:
    """The epsilon of a ledger if more holders collude than were planned; infinite if unbounded.

    The variance of the honest noise falls by their number. With v = 1 / sigma^2 of the smallest
    noise, GDP counts 6 (1 - sqrt(1 - v / 3)) for v, which grows by more than v does, and by most
    for the largest v.
    """
    spent, budget = ledger.spent, ledger.budget
    if colluding <= shares.colluding:
        return spent.epsilon
    if colluding >= shares.holders or budget is None or not ledger.zcdp:
        return math.inf
    less = shares.honest / (shares.holders - colluding)
    if not ledger.gdp:
        return epsilon_of(spent.rho * less, budget.delta)
    # a table changes by 1 or more, so its noise is at least that of a count of its own
    square = min(2 * max(spend.rho for spend in ledger.spends), 6.0)
    before = square * (1 - square / 12)
    after = unit_mu(1 / math.sqrt(before * less)) ** 2
    if math.isinf(after):
        return epsilon_of(spent.rho * less, budget.delta)
    return epsilon_of(spent.rho * after / square, budget.delta, gdp=True)


def words_of(shares: Shares, ledger: Ledger) -> list[str]:
    """Against whom the promise holds, and what becomes of it otherwise."""
    m, t = shares.holders, shares.colluding
    some = "none of them" if t == 0 else f"up to {t} of them"
    found = [
        f"{m} holders answered with masked sums: no one of them, and not the coordinator, saw the "
        "rows or the counts of another.",
        f"The promise holds against the coordinator, readers and {some} together. Every holder "
        "knows its own noise, so a holder that looks for itself counts as one that colludes.",
    ]
    more = {c: epsilon_with(ledger, shares, c) for c in further(shares)}
    told = [f"{c}: {e:.3g}" for c, e in more.items() if math.isfinite(e)]
    if told:
        found.append(
            f"Epsilon if more holders collude than the {t} planned, at the same delta: "
            f"{'; '.join(told)}. If all collude there is no promise, and none is needed."
        )
    elif more:
        found.append(f"If more than {t} holders collude nothing is promised.")
    found.append(
        "A holder that counts falsely makes the table false; no count is proved. It harms nobody "
        "else's privacy."
    )
    if ledger.unit == "person":
        found.append(
            f"A person's rows at all holders together are at most {ledger.rows_per_unit}: the "
            "holders agreed on it, and no one of them can check it."
        )
    return found


def further(shares: Shares) -> list[int]:
    """Some numbers of colluders beyond the planned, the largest one with an honest holder left."""
    first, last = shares.colluding + 1, shares.holders - 1
    return sorted({first, (first + last) // 2, last}) if first <= last else []
