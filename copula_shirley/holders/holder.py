"""A holder: it knows its own rows, and trusts nobody but itself and the others' number.

What it sends of its rows is one masked vector per question, after these checks of its own: the
signatures of coordinator and of all holders; that the question continues its own chain of questions
and answers; that it asks for tables of public cell maps; that its own ledger has room. So a
dishonest coordinator, with up to t holders, can waste time and budget, and no more.

In two steps, so that a holder who cannot answer costs nothing:

1. *ready*: the holder draws its noise and a random number, keeps both, and signs that it is ready;
2. *masked*: shown that all holders signed, it charges its ledger, **saves it**, and only then
   counts, adds the noise, masks and sends.

Once a vector may have left, a further attempt has new noise and is charged again: a late vector of
the first attempt would open both sums. Nothing is sent twice for one label with other noise: noise
and random number are saved before anybody is told of them. A folder that was put back to an older
state can forget charges. So all holders tell what they have spent, and each charges itself what any
other has spent more; and its masks hold a new random number, which the others never answer.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
import numpy as np
import pandas as pd
from msgspec import Meta, Struct, structs

from copula_shirley.errors import ArtefactError, BudgetError, SettingError
from copula_shirley.holders.masks import masked, secret_with
from copula_shirley.holders.messages import (
    LAST,
    NONCE,
    Known,
    Message,
    first_label,
    mask_label,
    next_head,
    query_label,
)
from copula_shirley.holders.query_data import from_data
from copula_shirley.holders.rows import HeldRows, Terms, cells_of, check_agreement, vine_of
from copula_shirley.lazy import LazyModule
from copula_shirley.measure.queries import Tables
from copula_shirley.measure.trust import (
    MOST_HOLDERS,
    Agreement,
    Hexadecimal,
    Masked,
    Member,
    Ready,
    SharedCalibration,
    charge_shares,
)
from copula_shirley.privacy.gdp import DISCRETE_GAUSSIAN
from copula_shirley.privacy.ledger import ROUNDING, Ledger
from copula_shirley.privacy.noise import Integers, NoiseSource
from copula_shirley.privacy.shares import MOST_CELLS

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric import ed25519, x25519
else:
    ed25519 = LazyModule("cryptography.hazmat.primitives.asymmetric.ed25519")
    x25519 = LazyModule("cryptography.hazmat.primitives.asymmetric.x25519")

COORDINATOR = "coordinator"
#: The name of the noise among what is kept.
NOISE = "noise"
#: Bytes of a private key.
KEY = 32
_QUERIES = Known[Tables]()


class Key(Struct, forbid_unknown_fields=True):
    """The public keys that a holder tells before there is a session."""

    sign: Hexadecimal
    exchange: Hexadecimal


class Asked(Struct, forbid_unknown_fields=True):
    """A question: the number of the answer, of the attempt at it, and cell maps."""

    number: Annotated[int, Meta(ge=0)]
    attempt: Annotated[int, Meta(ge=1)]
    label: Hexadecimal
    query: dict[str, Any]
    #: Of the agreement, by holder; with the first answer only.
    signatures: dict[str, Hexadecimal] = {}


class Committed(Struct, forbid_unknown_fields=True):
    """What all holders signed: the ready of each, and its signature."""

    label: Hexadecimal
    ready: dict[str, tuple[Ready, Hexadecimal]]


class State(Struct, forbid_unknown_fields=True):
    """What a holder must not forget."""

    agreement: Agreement
    ledger: dict[str, Any]
    #: The chain of all that was asked and told.
    head: Hexadecimal
    #: By which the rows are known again.
    mark: int
    #: Number of the question that came last, and of the attempt at it.
    number: int = 0
    attempt: int = 0
    #: Its label, and the label of its masks; empty until there is one.
    label: str = ""
    masks: str = ""
    nonce: str = ""
    sent: bool = False
    #: Cells of the question, and of all vectors that were sent.
    cells: int = 0
    all_cells: int = 0
    #: The question itself; its arrays are kept beside.
    query: dict[str, Any] = {}


@dataclass
class Holder:
    """One holder in one session.

    Parameters
    ----------
    name : str
    sign, exchange : private keys of this session
    table : callable
        Gives the table whose rows are counted.
    source : where its noise comes from
    terms : what it agrees to
    keep : callable
        Saves the state, the question and the noise; nothing is sent before it returns.
    """

    name: str
    sign: ed25519.Ed25519PrivateKey
    exchange: x25519.X25519PrivateKey
    table: Callable[[], pd.DataFrame]
    source: NoiseSource
    terms: Terms
    keep: Callable[[State, Mapping[str, np.ndarray]], None]
    state: State | None = None
    #: Gives so many random bytes, for the labels of masks.
    fresh: Callable[[int], bytes] = secrets.token_bytes
    #: The noise of the question that came last, and the arrays of that question.
    kept: Mapping[str, np.ndarray] = field(default_factory=dict)
    #: The question of the state, and its ledger, read once.
    _query: Tables | None = field(default=None, repr=False)
    _read: tuple[dict[str, Any], Ledger] | None = field(default=None, repr=False)

    @property
    def public(self) -> Key:
        """Its public keys."""
        pair = (self.sign, self.exchange)
        return Key(*(key.public_key().public_bytes_raw().hex() for key in pair))

    def key_message(self) -> Message:
        """Its public keys, signed: the first thing that others get."""
        return self._message("key", "", msgspec.to_builtins(self.public))

    # -- the agreement ---------------------------------------------------------------

    def join(self, message: Message) -> Message:
        """Sign an agreement that keeps this holder's terms; one holder signs one."""
        agreement = agreement_of(message)
        if self.state is not None:
            if agreement == self.state.agreement:
                return self._signature()
            raise SettingError(
                f"holder ({self.name!r}) has signed another agreement: a session needs keys of its "
                "own, that is a new folder"
            )
        check_agreement(agreement, self.terms)
        own = Member(self.name, self.public.sign, self.public.exchange)
        if own not in agreement.roster:
            raise ArtefactError(f"the agreement does not name holder {self.name!r} with its keys")
        shared = self._secrets_with(agreement)  # refuses keys that are none
        rows = HeldRows.of(self.table(), agreement)
        ledger = vine_of(agreement).open_ledger(rows.coordinates.modelled)
        charge_shares(ledger, agreement.shares)
        head = first_label(agreement).hex()
        self._keep(State(agreement, ledger.to_dict(), head, rows.mark))
        self.rows, self.secrets_with = rows, shared
        return self._signature()

    @cached_property
    def rows(self) -> HeldRows:
        """What it counts: the rows with which it joined.

        With other rows, and the noise of a folder that was put back, two vectors would differ by
        what the rows differ.
        """
        state = self._joined()
        rows = HeldRows.of(self.table(), state.agreement)
        if rows.mark != state.mark:
            raise SettingError(
                f"the table of holder {self.name!r} has changed since it joined: put it back, or "
                "begin a new session"
            )
        return rows

    @cached_property
    def secrets_with(self) -> dict[str, bytes]:
        """What it shares with each of the others, by name."""
        return self._secrets_with(self._joined().agreement)

    def _secrets_with(self, agreement: Agreement) -> dict[str, bytes]:
        others = [one for one in agreement.roster if one.name != self.name]
        return {
            one.name: secret_with(self.exchange, bytes.fromhex(one.exchange), one.name)
            for one in others
        }

    def _signature(self) -> Message:
        state = self._joined()
        said = {"agreement": first_label(state.agreement).hex()}
        return self._message("signature", state.agreement.session, said)

    # -- questions -------------------------------------------------------------------

    def ready(self, message: Message) -> Message:
        """Say that a question will be answered if all holders are asked the same."""
        state, told = self._joined(), message.told(Asked)
        agreement = state.agreement
        message.check(agreement.coordinator, "query", agreement.session, COORDINATOR)
        head = self._continued(state, told, message)
        arrays, digest = message.question
        label = query_label(bytes.fromhex(head), digest, told.attempt).hex()
        if told.label != label:
            raise ArtefactError(
                f"the question ({told.number}) does not continue what holder {self.name!r} was "
                "asked and told before: somebody was told something else, or this folder is old"
            )
        if (told.number, told.attempt) == (state.number, state.attempt) and state.label:
            if label != state.label or state.sent:
                raise ArtefactError(
                    f"holder {self.name!r} has an answer to question {told.number}, attempt "
                    f"{told.attempt}: it answers each attempt once"
                )
            return self._ready()
        known = self.rows.coordinates
        # the label hashes agreement and question
        query = _QUERIES.of(bytes.fromhex(label), lambda: from_data(told.query, arrays, known))
        noise = self._noise(query, state)
        self._ledger_after(query, told.number, 0.0)  # refused here it costs nothing
        new = structs.replace(
            state, head=head, number=told.number, attempt=told.attempt, label=label, masks="",
            nonce=self.fresh(NONCE).hex(), sent=False, cells=len(noise), query=told.query,
        )  # fmt: skip
        self._keep(new, {**arrays, NOISE: noise})
        self._query = query
        return self._ready()

    def _continued(self, state: State, told: Asked, message: Message) -> str:
        """The chain before a question: as it is, or with the answer to the last one."""
        if told.number == state.number:
            if told.attempt < state.attempt:
                raise ArtefactError(
                    f"question {told.number}, attempt {told.attempt}, is older than the attempt "
                    f"{state.attempt} that holder {self.name!r} knows"
                )
            if told.number == 0:
                check_signatures(state.agreement, told.signatures)
            return state.head
        if told.number != state.number + 1 or not state.sent:
            raise ArtefactError(
                f"question {told.number} must come after the answer to {told.number - 1}, which "
                f"holder {self.name!r} has not given: a message is missing, or this folder is old"
            )
        answer = message.arrays.get(LAST)
        if answer is None or answer.dtype != np.int64 or answer.shape != (state.cells,):
            raise ArtefactError(f"question {told.number} must tell the last answer")
        return next_head(bytes.fromhex(state.masks), answer).hex()

    def _ready(self) -> Message:
        state = self._joined()
        told = Ready(state.label, state.nonce, spent_of(self.ledger), self.source.facts)
        return self._message("ready", state.agreement.session, msgspec.to_builtins(told))

    def _noise(self, query: Tables, state: State) -> Integers:
        """Its share of noise for all cells."""
        known, shares = self.calibration, state.agreement.shares
        cells = cells_of(query)
        if state.all_cells + cells > MOST_CELLS:
            raise ArtefactError(
                f"cells of all answers ({state.all_cells + cells:,}) must be at most "
                f"{MOST_CELLS:,} in a session"
            )
        scale = known.enough(query.share, len(query.cell_maps))
        zeros = np.zeros(cells, dtype=np.int64)
        return shares.added(zeros, scale, self.source, gaussian=known.gaussian)

    # -- answers -----------------------------------------------------------------------

    def masked(self, message: Message) -> Message:
        """The masked vector, once all holders are ready for the same question."""
        state, told = self._joined(), message.told(Committed)
        agreement = state.agreement
        message.check(agreement.coordinator, "commit", agreement.session, COORDINATOR)
        if not state.label or told.label != state.label:
            raise ArtefactError(
                f"the list of ready holders is for another question than holder {self.name!r} was "
                "asked last"
            )
        if state.sent:
            raise ArtefactError(
                f"holder {self.name!r} has sent its vector for question {state.number}, attempt "
                f"{state.attempt}; another one needs a new attempt, which is charged again"
            )
        nonces = check_ready(agreement, told)
        if nonces[self.name] != state.nonce:
            raise ArtefactError(f"the list of ready holders has an old entry of {self.name!r}")
        kept = dict(self.kept)
        noise = kept.pop(NOISE)
        if self._query is None:  # of a process before
            self._query = from_data(state.query, kept, self.rows.coordinates)
        query = self._query
        most = max(one.spent for one, _ in told.ready.values())
        ledger = self._ledger_after(query, state.number, most)
        masks = mask_label(bytes.fromhex(state.label), nonces)
        sent = structs.replace(
            state, ledger=ledger.to_dict(), masks=masks.hex(), sent=True,
            all_cells=state.all_cells + state.cells,
        )  # fmt: skip
        self._keep(sent)  # before anything of the rows leaves
        vector = masked(self.name, self.noisy(query, noise), self.secrets_with, masks)
        said = msgspec.to_builtins(Masked(masks.hex(), spent_of(ledger)))
        return self._message("masked", agreement.session, said, {"vector": vector})

    def noisy(self, query: Tables, noise: Integers) -> Integers:
        """What it sends, but for the masks."""
        return self.rows.counts(query) + noise

    def _ledger_after(self, query: Tables, number: int, others: float) -> Ledger:
        """The ledger with the price of a query, and with what others have spent more."""
        ledger = self.ledger
        ledger.drawn_by(self.source.facts)
        own, what = spent_of(ledger), "attempts that other holders have charged"
        if others > own * (1 + ROUNDING):
            if ledger.zcdp:
                ledger.charge_rho("other attempts", what, DISCRETE_GAUSSIAN, others - own)
            else:
                ledger.charge("other attempts", what, "discrete laplace", others - own)
        try:
            self.calibration.charge(ledger, query)
        except BudgetError as error:
            raise BudgetError(
                f"holder {self.name!r} has no budget left for question {number}: {error}"
            ) from None
        return ledger

    # -- parts -------------------------------------------------------------------------

    @property
    def ledger(self) -> Ledger:
        """What its people's privacy has cost in this session."""
        said = self._joined().ledger
        if self._read is None or self._read[0] is not said:
            self._read = said, Ledger.from_dict(said)
        return copy(self._read[1])

    @cached_property
    def calibration(self) -> SharedCalibration:
        """The noise of a share of the budget: from the agreement, whatever a message says."""
        state = self._joined()
        return SharedCalibration.of_agreement(self.ledger, state.agreement)

    def _joined(self) -> State:
        if self.state is None:
            raise SettingError(f"holder ({self.name!r}) must join first: sign an agreement")
        return self.state

    def _keep(self, state: State, kept: Mapping[str, np.ndarray] | None = None) -> None:
        self.keep(state, kept or {})
        self._query = None
        self.state, self.kept = state, kept or {}

    def _message(
        self, kind: str, session: str, said: dict[str, Any], arrays: Mapping[str, Any] | None = None
    ) -> Message:
        return Message(kind, session, self.name, said, arrays or {}).signed(self.sign)


def agreement_of(message: Message) -> Agreement:
    """The agreement that a coordinator sends, signed with the key that it names."""
    found = message.told(Agreement)
    message.check(found.coordinator, "agreement", found.session, COORDINATOR)
    return found


def check_signatures(agreement: Agreement, signatures: Mapping[str, str]) -> None:
    """Refuse an agreement that not all holders have signed."""
    label = first_label(agreement).hex()
    for member in agreement.roster:
        if member.name not in signatures:
            raise ArtefactError(f"holder {member.name!r} has not signed the agreement")
        check_signature_of(agreement.session, member, label, signatures[member.name])


def check_ready(agreement: Agreement, told: Committed) -> dict[str, str]:
    """The random number of each holder; refused is a list that is not whole, or not signed."""
    names = [member.name for member in agreement.roster]
    if sorted(told.ready) != names:
        lacking = [name for name in names if name not in told.ready]
        raise ArtefactError(
            f"the list of ready holders must name each of them: {', '.join(lacking) or 'no other'}"
        )
    for member in agreement.roster:
        ready, signature = told.ready[member.name]
        if ready.label != told.label:
            raise ArtefactError(f"holder {member.name!r} is ready for another question")
        check_ready_of(agreement.session, member, ready, signature)
    return {name: ready.nonce for name, (ready, _) in told.ready.items()}


@lru_cache(MOST_HOLDERS)
def check_signature_of(session: str, member: Member, label: str, signature: str) -> None:
    """Refuse a signature of the agreement that a holder did not make."""
    said = Message(
        "signature", session, member.name, {"agreement": label},
        signature=bytes.fromhex(signature),
    )  # fmt: skip
    said.check(member.sign, "signature", session, member.name)


@lru_cache(MOST_HOLDERS)
def check_ready_of(session: str, member: Member, ready: Ready, signature: str) -> None:
    """Refuse a ready that a holder did not sign."""
    said = Message(
        "ready", session, member.name, msgspec.to_builtins(ready),
        signature=bytes.fromhex(signature),
    )  # fmt: skip
    said.check(member.sign, "ready", session, member.name)


def new_keys(
    fresh: Callable[[int], bytes] = secrets.token_bytes,
) -> tuple[ed25519.Ed25519PrivateKey, x25519.X25519PrivateKey]:
    """Private keys of one holder for one session: to sign, and to agree on masks."""
    return keys_of(fresh(KEY), fresh(KEY))


def keys_of(
    sign: bytes, exchange: bytes
) -> tuple[ed25519.Ed25519PrivateKey, x25519.X25519PrivateKey]:
    """The private keys of these bytes."""
    return (
        ed25519.Ed25519PrivateKey.from_private_bytes(sign),
        x25519.X25519PrivateKey.from_private_bytes(exchange),
    )


def spent_of(ledger: Ledger) -> float:
    """What a ledger holds, in its currency."""
    return ledger.spent.rho if ledger.zcdp else ledger.spent.epsilon
