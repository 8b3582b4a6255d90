"""Record what noise was drawn on one table and play it back on another: a test of privacy.

A generator keeps its promise if all that leaves a fit is a function of public settings and of noisy
answers about the rows. Then nothing but those answers may depend on the rows: a fit on another
table that is *told the same noisy answers* must ask for the same noise in the same order, write
the same ledger, store the same model and draw the same rows. Whatever differs was learnt from the
rows past the noise. (That holds for every pair of tables for which the public facts are the same,
neighbours or not; how much noise neighbours need is another question, which the true values on the
tape answer, since they and the scale of the noise give the cost of a pair of tables.)

Every source of noise in this package passes its answers through ``answered``. Outside of
``recording`` and ``replaying`` that calls the source and does nothing else. Inside, a
tape keeps the true values, so it is as private as the rows; and a replayed answer is no noise at
all. So a ledger that was opened or charged while a tape was running is marked for good:
its ``randomness`` starts with ``STAMP``, its ``proved`` is None, and so it is in every file and
card made of it. A tape belongs to one thread: a context variable holds it, which new threads and
processes do not inherit.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeVar

import numpy as np

from copula_shirley.errors import BudgetError

T = TypeVar("T")
#: How the randomness of a fit under a tape is called.
STAMP = "recorded or replayed noise: a test, never for release"


class ReplayError(RuntimeError):
    """A fit asked for other noise than the one on the tape."""


@dataclasses.dataclass(frozen=True, eq=False)
class Charge:
    """A spend that went into the ledger."""

    spend: Any


@dataclasses.dataclass(frozen=True)
class Question:
    """What an algorithm asked about the rows, as plain values: it must be public."""

    about: Any
    query: Any = dataclasses.field(default=None, compare=False, repr=False)
    #: Who was asked: private.
    rows: Any = dataclasses.field(default=None, compare=False, repr=False)


@dataclasses.dataclass(frozen=True, eq=False)
class Request:
    """One draw of noise: on what, how much, and the answer. The true values are private."""

    source: Any
    kind: str
    shape: Any
    scale: float
    true: Any
    answer: Any
    #: Noisy count from which a category is released; of a discovery only.
    least: int | None = None

    def __str__(self) -> str:
        bar = "" if self.least is None else f" from {self.least}"
        return f"{self.kind} noise of scale {self.scale:.6g}{bar} on {self.shape}"


Event = Charge | Question | Request


@dataclasses.dataclass
class Tape:
    """Everything that happened, in order.

    Parameters
    ----------
    replayed : Tape, optional
        Answers come from this one.
    refused : int, optional
        The spend of this number (from 0) is refused as if the budget were empty.
    """

    replayed: Tape | None = None
    refused: int | None = None
    events: list[Event] = dataclasses.field(default_factory=list)
    #: The first point at which a replay asked for something else.
    departure: str | None = None

    @property
    def requests(self) -> list[Request]:
        """Draws of noise, in order."""
        return [event for event in self.events if isinstance(event, Request)]

    @property
    def charges(self) -> list[Charge]:
        """Spends, in order."""
        return [event for event in self.events if isinstance(event, Charge)]

    @property
    def questions(self) -> list[Question]:
        """What was asked, in order."""
        return [event for event in self.events if isinstance(event, Question)]

    def told(
        self,
        source: Any,
        kind: str,
        true: Any,
        scale: float,
        draw: Callable[[], T],
        least: int | None = None,
    ) -> T:
        """Note a draw; give back what was drawn, or what the replayed tape says."""
        shape = np.shape(true) if isinstance(true, np.ndarray) else type(true).__name__
        answer = draw()  # in a replay too, so that the source's stream goes on alike
        if self.replayed is not None:
            answer = self._played(kind, shape, scale, least)
        kept = answer.copy() if isinstance(answer, np.ndarray) else answer
        before = np.array(true, dtype=float) if isinstance(true, np.ndarray) else true
        self.events.append(Request(source, kind, shape, float(scale), before, kept, least))
        return answer

    def _played(self, kind: str, shape: Any, scale: float, least: int | None) -> Any:
        assert self.replayed is not None
        number, known = len(self.requests), self.replayed.requests
        if number >= len(known):
            raise self._depart(f"noise is asked for more than {len(known)} times")
        first = known[number]
        now = Request(None, kind, shape, float(scale), None, None, least)
        if any(getattr(now, n) != getattr(first, n) for n in ("kind", "shape", "scale", "least")):
            raise self._depart(f"draw {number + 1} is {now}, it was {first}")
        return first.answer.copy() if isinstance(first.answer, np.ndarray) else first.answer

    def _depart(self, text: str) -> ReplayError:
        self.departure = self.departure or text
        return ReplayError(text)


_RUNNING: ContextVar[Tape | None] = ContextVar("running tape", default=None)


@contextmanager
def recording(*, refused: int | None = None) -> Iterator[Tape]:
    """Fits inside are written to a tape; with ``refused`` that spend is refused."""
    with _running(Tape(refused=refused)) as tape:
        yield tape


@contextmanager
def replaying(tape: Tape) -> Iterator[Tape]:
    """Fits inside get the noisy answers of a tape, whatever their rows are."""
    with _running(Tape(replayed=tape)) as again:
        yield again


@contextmanager
def _running(tape: Tape) -> Iterator[Tape]:
    if _RUNNING.get() is not None:
        raise RuntimeError("a tape is running already")
    token = _RUNNING.set(tape)
    try:
        yield tape
    finally:
        _RUNNING.reset(token)


# -- called by sources, ledgers and algorithms --------------------------------------


def running() -> bool:
    """Whether a tape records or replays."""
    return _RUNNING.get() is not None


def answered(
    source: Any,
    kind: str,
    true: Any,
    scale: float,
    draw: Callable[[], T],
    *,
    least: int | None = None,
) -> T:
    """The answer that ``draw`` gives; the one way in which a source answers.

    Parameters
    ----------
    source : object
        With ``label``, ``seeded`` and ``exact``.
    kind : {"laplace", "gaussian", "choose", "discovery"}
        Laplace and Gaussian noise stand for the discrete ones too.
    true : array or tallies
        What the noise protects.
    scale : float
        P(noise = k) falls as exp(-|k| / scale) or exp(-k^2 / (2 scale^2)); a score is chosen
        with a chance that grows as exp(score / scale).
    draw : callable
        Draws the noise. Noise that it draws from other sources is a part of this answer.
    least : int, optional
        Of a discovery: the noisy count from which a category is released.
    """
    tape = _RUNNING.get()
    if tape is None:
        return draw()

    def apart() -> T:
        token = _RUNNING.set(None)
        try:
            return draw()
        finally:
            _RUNNING.reset(token)

    return tape.told(source, kind, true, scale, apart, least)


def charging(spend: Any) -> None:
    """Told by a ledger before it takes a spend."""
    tape = _RUNNING.get()
    if tape is not None and tape.refused == len(tape.charges):
        raise BudgetError(f"{spend.stage} of {spend.what}: refused by a test of this generator")


def charged(spend: Any) -> None:
    """Told by a ledger when it has taken a spend."""
    tape = _RUNNING.get()
    if tape is not None:
        tape.events.append(Charge(spend))


def asked(query: Any, rows: Any) -> None:
    """Told by an algorithm what it is about to ask; all of it should be public."""
    tape = _RUNNING.get()
    if tape is not None:
        tape.events.append(Question(_plain(query), query, rows))


def _plain(value: Any) -> Any:
    """A question as plain values; a field named ``model`` is a memory of answers."""
    if isinstance(value, np.ndarray):
        return value.tolist()
    if dataclasses.is_dataclass(value):
        fields = [f.name for f in dataclasses.fields(value) if f.name != "model"]
        return [type(value).__name__, {name: _plain(getattr(value, name)) for name in fields}]
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    return sorted(value) if isinstance(value, frozenset | set) else value
