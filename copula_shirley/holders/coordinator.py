"""The coordinator: it asks, adds up and learns; nobody needs to trust it for privacy.

Every question goes to all holders, who sign that they are ready; the signed list goes back, and
each sends its masked vector. The sum of the vectors is the noisy answer.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
from msgspec import Struct

from copula_shirley.errors import ArtefactError, BudgetError, SettingError, ShirleyError
from copula_shirley.fitted import Progress, silent
from copula_shirley.holders.holder import (
    COORDINATOR,
    Asked,
    Committed,
    Key,
    check_ready,
)
from copula_shirley.holders.masks import Vector, sum_of
from copula_shirley.holders.messages import (
    LAST,
    NONCE,
    Message,
    content_digest,
    first_label,
    mask_label,
    next_head,
    pool_seed,
    query_label,
)
from copula_shirley.holders.query_data import to_data
from copula_shirley.holders.rows import cells_of, check_proved, vine_of
from copula_shirley.lazy import LazyModule
from copula_shirley.measure.calibration import Calibration
from copula_shirley.measure.queries import Query, Tables
from copula_shirley.measure.transcript import Answer, Transcript
from copula_shirley.measure.trust import (
    VECTOR,
    Agreement,
    Holders,
    Masked,
    Member,
    Ready,
    Round,
)
from copula_shirley.privacy.ledger import Ledger
from copula_shirley.private_vine.generator import PrivateVine
from copula_shirley.private_vine.stages import REVISION
from copula_shirley.schema.schema import Schema

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric import ed25519
else:
    ed25519 = LazyModule("cryptography.hazmat.primitives.asymmetric.ed25519")

#: Shares of the budget that are told apart.
LEAST_ROOM = 1e-9


class Open(Struct, forbid_unknown_fields=True):
    """The question that is not answered yet."""

    attempt: int = 1
    #: Attempts whose list of ready holders was sent, so that vectors may have left.
    charged: int = 0
    label: str = ""
    #: Share of the budget that it costs.
    share: float = 0.0
    #: Of each holder: what it said and its signature, or the label of its masks and that.
    ready: dict[str, tuple[Ready, str]] = {}
    committed: bool = False
    masked: dict[str, tuple[Masked, str]] = {}


class WaitingError(ShirleyError):
    """Some holders have not answered yet; the message names them."""


def new_agreement(
    key: ed25519.Ed25519PrivateKey,
    vine: PrivateVine,
    schema: Schema,
    keys: Iterable[Message],
    colluding: int,
    *,
    spare: float = 0.0,
    accept_unproved: bool = False,
    fresh: Callable[[int], bytes] = secrets.token_bytes,
    rehearsal: bool = False,
) -> Agreement:
    """What all holders shall sign, of the settings and their key messages."""
    settings = {k: v for k, v in vine.get_params().items() if k != "random_state"}
    roster = []
    for message in keys:
        told = message.told(Key)
        message.check(told.sign, "key", "", message.sender)
        roster.append(Member(message.sender, told.sign, told.exchange))
    said = {
        "session": fresh(NONCE).hex(),
        "coordinator": key.public_key().public_bytes_raw().hex(),
        "revision": REVISION,
        "settings": settings,
        "schema": schema.to_dict(),
        "roster": [msgspec.to_builtins(one) for one in sorted(roster, key=lambda one: one.name)],
        "colluding": colluding,
        "spare": spare,
        "rehearsal": rehearsal,
    }
    try:
        agreement = msgspec.convert(said, Agreement)
    except msgspec.ValidationError as error:
        raise SettingError(f"agreement: {error}") from None
    vine_of(agreement).check_settings(schema)
    check_proved(vine, schema, accept=accept_unproved)
    return agreement


@dataclass
class Coordinator:
    """One session, from the agreement to the model.

    Parameters
    ----------
    key : private key of the session
    agreement : Agreement
    keep : callable
        Saves what is known; nothing is sent before it returns.
    """

    key: ed25519.Ed25519PrivateKey
    agreement: Agreement
    keep: Callable[[Coordinator], None]
    signatures: dict[str, str] = field(default_factory=dict)
    rounds: list[Round] = field(default_factory=list)
    #: Of each answer, the masked vector of every holder, in the order of the roster.
    vectors: list[Vector] = field(default_factory=list)
    open: Open = field(default_factory=Open)
    #: Masked vectors of the question that is open.
    arrived: dict[str, Vector] = field(default_factory=dict)
    #: What has to be sent to all holders next.
    outgoing: Message | None = None
    #: Sends a message to all holders and gives what they answer; None where people carry files.
    exchange: Callable[[Message], Iterable[Message]] | None = None
    head: bytes = b""
    #: The question that is open; None before it is asked in this process.
    asked: Query | None = None
    #: What attempts that failed cost, as a share of the budget.
    extra: float = 0.0

    def __post_init__(self) -> None:
        self.head = self.head or first_label(self.agreement)

    @property
    def names(self) -> list[str]:
        return [member.name for member in self.agreement.roster]

    def agreement_message(self) -> Message:
        """What holders get to sign."""
        return self._message("agreement", msgspec.to_builtins(self.agreement))

    # -- what holders send ---------------------------------------------------------------

    def take(self, message: Message) -> None:
        """Take what a holder sent, or refuse it; what is late, or came before, changes nothing."""
        members = {member.name: member for member in self.agreement.roster}
        takes = {"signature": self._signature, "ready": self._ready, "masked": self._masked}
        if message.sender not in members or message.kind not in takes:
            raise ArtefactError(
                f"a {message.kind!r:.50} of {message.sender!r:.50} is none of what holders send "
                f"({', '.join(takes)}; {', '.join(members)})"
            )
        member = members[message.sender]
        message.check(member.sign, message.kind, self.agreement.session, member.name)
        takes[message.kind](message)

    def _signature(self, message: Message) -> None:
        if message.body != {"agreement": first_label(self.agreement).hex()}:
            raise ArtefactError(f"{message.sender!r} signed another agreement")
        self.signatures[message.sender] = message.signature.hex()

    def _ready(self, message: Message) -> None:
        told = message.told(Ready)
        if told.label == self.open.label and message.sender not in self.open.ready:
            self.open.ready[message.sender] = told, message.signature.hex()

    def _masked(self, message: Message) -> None:
        told, own = message.told(Masked), self.open
        vector = message.arrays.get("vector")
        if not own.committed or told.label != self._masks().hex() or message.sender in own.masked:
            return
        if vector is None or vector.dtype != np.uint64 or vector.ndim != 1:
            raise ArtefactError(f"the vector of {message.sender!r} must hold whole numbers")
        own.masked[message.sender] = told, message.signature.hex()
        self.arrived[message.sender] = vector

    def _masks(self) -> bytes:
        told = {name: ready.nonce for name, (ready, _) in self.open.ready.items()}
        return mask_label(bytes.fromhex(self.open.label), told)

    # -- what it sends -----------------------------------------------------------------

    def answer_to(self, number: int, query: Query) -> np.ndarray:
        """The answer to a question, or ``WaitingError`` for what has to come."""
        while True:
            try:
                return self._answer_to(number, query)
            except WaitingError:
                if self.exchange is None or self.outgoing is None:
                    raise
            sent, self.outgoing = self.outgoing, None
            for reply in self.exchange(sent):
                self.take(reply)

    def _answer_to(self, number: int, query: Query) -> np.ndarray:
        if number < len(self.rounds):
            return sum_of(self.vectors[number])
        self._wait_for("signature of the agreement", self.signatures)
        self.asked = query
        if not self.open.label:
            self._ask(query)
        own = self.open
        if not own.committed:
            self._wait_for(f"ready for question {number}", own.ready)
            self._commit()
        self._wait_for(f"vector for question {number}", own.masked)
        return self._add_up(query)

    def _wait_for(self, what: str, found: Mapping[str, Any]) -> None:
        lacking = [name for name in self.names if name not in found]
        if lacking:
            raise WaitingError(f"{what}: waiting for {', '.join(lacking)}")

    def _ask(self, query: Query) -> None:
        message = self._question(query)
        self.open.label, self.open.share = str(message.body["label"]), query.share
        self._send(message)

    def _question(self, query: Query) -> Message:
        said, arrays = to_data(query)
        label = query_label(self.head, content_digest(said, arrays), self.open.attempt)
        told = Asked(len(self.rounds), self.open.attempt, label.hex(), said)
        if self.rounds:
            arrays = {**arrays, LAST: sum_of(self.vectors[-1])}
        else:
            told.signatures = self.signatures
        return self._message("query", msgspec.to_builtins(told), arrays)

    def _commit(self) -> None:
        message = self._list()
        self.open.committed = True
        self.open.charged += 1
        self._send(message)

    def _list(self) -> Message:
        told = Committed(self.open.label, self.open.ready)
        check_ready(self.agreement, told)
        return self._message("commit", msgspec.to_builtins(told))

    def last(self) -> Message | None:
        """What holders have to answer, once more: who was killed may have kept it and sent none."""
        if self.open.committed:
            return self._list()
        return self._question(self.asked) if self.open.label and self.asked is not None else None

    def _add_up(self, query: Query) -> np.ndarray:
        own, size = self.open, cells_of(query) if isinstance(query, Tables) else 0
        wrong = [name for name in self.names if self.arrived[name].shape != (size,)]
        if wrong:
            raise ArtefactError(f"the vector of {wrong[0]!r} must have {size:,} numbers")
        stacked = np.stack([self.arrived[name] for name in self.names])
        total = sum_of(stacked)
        done = Round(own.attempt, own.charged, own.ready, own.masked)
        self.head = next_head(self._masks(), total)
        self.rounds.append(done)
        self.extra += (own.charged - 1) * own.share
        self.vectors.append(stacked)
        self.open, self.arrived, self.outgoing = Open(), {}, None
        self.keep(self)
        return total

    def restart(self) -> None:
        """Give up an attempt: the next one has new noise, and costs again if vectors have left."""
        own, spare = self.open, self.agreement.spare
        if not own.label:
            raise SettingError("restart: no question is open, so there is nothing to ask again")
        extra = self.extra + own.charged * own.share
        if extra * (1 - spare) > spare + LEAST_ROOM:
            raise BudgetError(
                f"restart: vectors may have left, so attempts at answers cost {extra:.3g} of the "
                f"budget again, and {spare:.3g} of it was kept for that (spare of the agreement); "
                "begin a new session, whose costs add up with those of this one"
            )
        self.open = Open(own.attempt + 1, own.charged)
        self.arrived, self.outgoing = {}, None
        self.keep(self)

    # -- the model ---------------------------------------------------------------------

    def fit(self, progress: Progress = silent) -> PrivateVine:
        """The model of all answers, or ``WaitingError``."""
        vine = vine_of(self.agreement)
        trust = Holders("holders", self.agreement, self.signatures, self.rounds)
        curators: list[HoldersCurator] = []

        def answering(noise: Calibration, ledger: Ledger) -> HoldersCurator:
            curators.append(HoldersCurator(self, noise, ledger))
            return curators[0]

        schema = Schema.from_dict(self.agreement.schema)
        vine.fit_answers(schema, trust, pool_seed(self.agreement), answering, progress)
        trust.charge_attempts(vine.ledger_, curators[0].calibration, curators[0].asked)
        vine.vectors_ = {f"{VECTOR}{i}": own for i, own in enumerate(self.vectors)}
        return vine

    def _send(self, message: Message) -> None:
        self.outgoing = message
        self.keep(self)

    def _message(
        self, kind: str, said: dict[str, Any], arrays: Mapping[str, np.ndarray] | None = None
    ) -> Message:
        own = Message(kind, self.agreement.session, COORDINATOR, said, arrays or {})
        return own.signed(self.key)


class HoldersCurator:
    """Answers queries with the sums of all holders; nobody here sees a row."""

    def __init__(self, session: Coordinator, calibration: Calibration, ledger: Ledger) -> None:
        self.session, self.calibration, self.ledger = session, calibration, ledger
        self.transcript = Transcript()
        self.asked: list[Query] = []

    def answer(self, query: Query) -> Answer:
        """Charge the query, then ask all holders."""
        self.calibration.charge(self.ledger, query)
        number = len(self.asked)
        self.asked.append(query)
        total = self.session.answer_to(number, query)
        for said, _ in self.session.rounds[number].ready.values():
            self.ledger.drawn_by(said.noise)
        shapes = [one.shape for one in query.cell_maps]
        ends = np.cumsum([int(np.prod(shape)) for shape in shapes])[:-1]
        parts = np.split(total, ends)
        values = [part.reshape(shape) for part, shape in zip(parts, shapes, strict=True)]
        answer = Answer(values, self.calibration.sigma(query.share, len(shapes)))
        self.transcript.add(query, answer)
        return answer
