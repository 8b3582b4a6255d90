"""Record what noise was drawn on one table and play it back on another: a test of privacy.

A generator keeps its promise if all that leaves a fit is a function of public settings and of noisy
answers about the rows. Then nothing but those answers may depend on the rows: a fit on another
table that is *told the same noisy answers* must ask for the same noise in the same order, write
the same ledger, store the same model and draw the same rows. Whatever differs was learnt from the
rows past the noise. (That holds for every pair of tables for which the public facts are the same,
neighbours or not. How much noise neighbours need is another question: the recorded true values
answer it, since they and the scale of the noise give the cost of a pair of tables.)

``Recorder`` wraps a source of noise and notes its draws in a ``Recording``; ``Player`` gives the
answers of an earlier one. A recording holds the true values, so it is as private as the rows, and a
replayed answer is no noise at all. So the facts of both say ``REPLAYED``, and a ledger that was
told of them proves nothing, in every file and card made of it.
``copula_shirley.measure.recorded_fits`` fits a generator with a wrapped source.
"""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from copula_shirley.privacy.ledger import Ledger, Spend
from copula_shirley.privacy.noise import Exactness, Integers, NoiseFacts, NoiseSource, Tally


class ReplayError(RuntimeError):
    """A fit asked for other noise than the recorded one."""


@dataclasses.dataclass(frozen=True, eq=False)
class Charge:
    """A spend that went into the ledger."""

    spend: Spend


@dataclasses.dataclass(frozen=True)
class Question:
    """What an algorithm asked about the rows, as plain values: it must be public."""

    about: Any
    #: The query itself, and who was asked, which is private.
    query: Any = dataclasses.field(default=None, compare=False, repr=False)
    rows: Any = dataclasses.field(default=None, compare=False, repr=False)


@dataclasses.dataclass(frozen=True, eq=False)
class Request:
    """One draw of noise: on what, how much, and the answer. The true values are private."""

    source: Any
    #: "laplace", "gaussian", "choose", "discover", or people's own "reports".
    kind: str
    shape: Any
    scale: float
    true: Any
    answer: Any = None
    #: Noisy count from which a category is released; of a discovery only.
    least: int | None = None
    #: What each of several holders sent, of which the answer is the sum.
    sent: dict[str, Any] = dataclasses.field(default_factory=dict)

    def __str__(self) -> str:
        bar = "" if self.least is None else f" from {self.least}"
        return f"{self.kind} noise of scale {self.scale:.6g}{bar} on {self.shape}"

    def same_draw(self, other: Request) -> bool:
        """Whether the same noise was asked for, whatever it is added to."""
        draws = [(one.kind, one.shape, one.scale, one.least) for one in (self, other)]
        return draws[0] == draws[1]


Event = TypeVar("Event", Charge, Question, Request)


@dataclasses.dataclass
class Recording:
    """Everything that happened, in order."""

    events: list[Charge | Question | Request] = dataclasses.field(default_factory=list)
    #: The first point at which a replay asked for something else.
    departure: str | None = None
    #: Why draws of noise cannot be seen, if they cannot.
    unseen: str = ""

    @property
    def requests(self) -> list[Request]:
        return self._of(Request)

    @property
    def charges(self) -> list[Charge]:
        return self._of(Charge)

    @property
    def questions(self) -> list[Question]:
        return self._of(Question)

    def _of(self, kind: type[Event]) -> list[Event]:
        return [event for event in self.events if isinstance(event, kind)]

    def check_same(self, played: Recording, request: Request) -> Request:
        """The draw of an earlier recording that stands where this one does; or it departs."""
        number = len(self.requests)
        if number >= len(played.requests):
            raise self.depart(f"noise is asked for more than {len(played.requests)} times")
        first = played.requests[number]
        if not request.same_draw(first):
            raise self.depart(f"draw {number + 1} is {request}, it was {first}")
        return first

    def depart(self, text: str) -> ReplayError:
        """The error of a replay that asks for something else."""
        self.departure = self.departure or text
        return ReplayError(text)

    def read(self, ledger: Ledger) -> None:
        """Note the spends of the ledger that are not in the recording yet."""
        self.events += [Charge(spend) for spend in ledger.spends[len(self.charges) :]]


class Recorder(NoiseSource):
    """A source whose draws are recorded, each after the charges made before it."""

    def __init__(self, source: NoiseSource, recording: Recording, ledger: Ledger) -> None:
        self.source: Any = source
        self.recording = recording
        self.ledger = ledger
        self.bit_generator = source.bit_generator
        inner = source.facts
        self.facts = NoiseFacts(inner.library, Exactness.REPLAYED, inner.seeded)

    def laplace(self, counts: Integers, scale: float) -> NDArray[Any]:
        return np.asarray(self._told("laplace", counts, scale))

    def gaussian(self, counts: Integers, scale: float) -> NDArray[Any]:
        return np.asarray(self._told("gaussian", counts, scale))

    def choose(self, scores: Integers, scale: float) -> int:
        return int(self._told("choose", np.asarray(scores), scale))

    def discover(
        self, tallies: Sequence[Tally], scale: float, least: int, *, gaussian: bool
    ) -> list[tuple[Integers, list[Any]]]:
        found: list[tuple[Integers, list[Any]]]
        found = self._told("discover", tallies, scale, least, gaussian=gaussian)
        return found

    def order(self, n: int) -> NDArray[np.intp]:
        """The order in which people are asked, which no record decides."""
        return np.asarray(self.source.order(n))

    def reports(self, cells: Integers, epsilon: float, *, randomiser: Any) -> Integers:
        """What people in these cells say of them, added up; each report costs epsilon."""
        return np.asarray(self._told("reports", cells, epsilon, randomiser=randomiser))

    def _told(self, kind: str, true: Any, scale: float, *least: int, **named: Any) -> Any:
        self.recording.read(self.ledger)
        # drawn in a replay, too: streams go on alike
        drawn = getattr(self.source, kind)(true, scale, *least, **named)
        counts = isinstance(true, np.ndarray)
        private = np.array(true, dtype=float) if counts else list(true)
        shape = np.shape(true) if counts else len(true)
        bar = least[0] if least else None
        request = Request(self.source, kind, shape, float(scale), private, None, bar)
        answer = self._answer(request, drawn)
        event = dataclasses.replace(request, answer=copy.copy(answer))
        self.recording.events.append(event)
        return answer

    def _answer(self, request: Request, drawn: Any) -> Any:
        return drawn


class Player(Recorder):
    """A source that gives the answers of an earlier recording, whatever the rows are."""

    def __init__(
        self, source: NoiseSource, recording: Recording, ledger: Ledger, played: Recording
    ) -> None:
        super().__init__(source, recording, ledger)
        self._played = played

    def _answer(self, request: Request, drawn: Any) -> Any:
        return copy.copy(self.recording.check_same(self._played, request).answer)
