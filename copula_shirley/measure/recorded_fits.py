"""Fits whose questions, charges and draws of noise are watched: for tests and audits only.

Every generator asks about rows through its ``curator_class``. ``recorded`` and ``replayed`` put a
curator in its place that notes each query and hands on a wrapped source of noise. Where several
answer, the generator has a method ``watched`` (as ``copula_shirley.holders.HeldVine``).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np

from copula_shirley.errors import BudgetError
from copula_shirley.measure.queries import Query
from copula_shirley.measure.transcript import Answer
from copula_shirley.privacy.ledger import Ledger
from copula_shirley.privacy.noise import NoiseSource
from copula_shirley.privacy.recording import Player, Question, Recorder, Recording


@contextmanager
def recorded(generator: Any, *, refused: int | None = None) -> Iterator[Recording]:
    """Record fits of this generator inside; the spend of number ``refused`` (from 0) is refused."""
    recording = Recording()
    with _watched(generator, recording, None, refused):
        yield recording


@contextmanager
def replayed(generator: Any, played: Recording) -> Iterator[Recording]:
    """Tell fits of this generator inside the noisy answers of a recording, whatever their rows."""
    recording = Recording()
    with _watched(generator, recording, played, None):
        yield recording


@contextmanager
def _watched(
    generator: Any, recording: Recording, played: Recording | None, refused: int | None
) -> Iterator[None]:
    if hasattr(generator, "watched"):  # several answer, each with a source of noise
        with generator.watched(recording, played, refused):
            yield
        return
    base = getattr(generator, "curator_class", None)
    if base is None:  # it does not ask through a curator, so nothing can be seen
        yield
        return
    ledgers: list[Ledger] = []
    kind = Recorder if played is None else partial(Player, played=played)
    wrap = partial(kind, recording=recording)

    class Watched(base):  # type: ignore[misc, valid-type]
        def __init__(
            self, rows: Any, ledger: Ledger, source: NoiseSource | None, *rest: Any, **named: Any
        ) -> None:
            if ledger not in ledgers:
                ledgers.append(ledger)
                refuse_spend(ledger, refused)
            wrapped = None if source is None else wrap(source, ledger=ledger)
            super().__init__(rows, ledger, wrapped, *rest, **named)

        def answer(self, query: Query) -> Answer:
            recording.events.append(Question(plain(query), query, self._rows))
            return super().answer(query)  # type: ignore[no-any-return]

    generator.curator_class = Watched
    try:
        yield
    finally:
        del generator.curator_class
        for ledger in ledgers:
            recording.read(ledger)


def refuse_spend(ledger: Ledger, number: int | None) -> None:
    """Let the ledger refuse the spend of a number."""

    def refusing(charge: Callable[..., Any]) -> Callable[..., Any]:
        def charged(stage: str, what: str, *rest: Any, **named: Any) -> Any:
            if len(ledger.spends) == number:
                raise BudgetError(f"{stage} of {what}: refused by a test of this generator")
            return charge(stage, what, *rest, **named)

        return charged

    for name in ("charge", "charge_rho"):
        setattr(ledger, name, refusing(getattr(ledger, name)))


def plain(value: Any) -> Any:
    """A query as plain values; fields that are not compared are caches of answers."""
    if isinstance(value, np.ndarray):
        return value.tolist()
    if dataclasses.is_dataclass(value):
        fields = [f.name for f in dataclasses.fields(value) if f.compare]
        return [type(value).__name__, {name: plain(getattr(value, name)) for name in fields}]
    if isinstance(value, list | tuple):
        return [plain(part) for part in value]
    return sorted(value) if isinstance(value, frozenset | set) else value
