"""Fits whose questions, charges and draws of noise are watched: for tests and audits only.

Every generator asks about rows through its ``curator_class``. ``recorded`` and ``replayed`` put a
curator in its place that notes each query and hands on a wrapped source of noise.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from copula_shirley.errors import BudgetError
from copula_shirley.measure.queries import Query
from copula_shirley.measure.transcript import Answer
from copula_shirley.privacy.ledger import Ledger
from copula_shirley.privacy.noise import NoiseSource
from copula_shirley.privacy.recording import Player, Question, Recorder, Tape

Wrap = Callable[[NoiseSource, Ledger], NoiseSource]


@contextmanager
def recorded(generator: Any, *, refused: int | None = None) -> Iterator[Tape]:
    """Fits of this generator inside are written to a tape.

    Parameters
    ----------
    generator : Generator
    refused : int, optional
        The spend of this number (from 0) is refused as if the budget were empty.
    """
    tape = Tape()
    with _watched(generator, tape, lambda s, ledger: Recorder(s, tape, ledger), refused):
        yield tape


@contextmanager
def replayed(generator: Any, played: Tape) -> Iterator[Tape]:
    """Fits of this generator inside get the noisy answers of a tape, whatever their rows are."""
    tape = Tape()
    with _watched(generator, tape, lambda s, ledger: Player(s, tape, ledger, played), None):
        yield tape


@contextmanager
def _watched(generator: Any, tape: Tape, wrap: Wrap, refused: int | None) -> Iterator[None]:
    base = getattr(generator, "curator_class", None)
    if base is None:  # it does not ask through a curator, so nothing can be seen
        yield
        return
    ledgers: list[Ledger] = []

    class Watched(base):  # type: ignore[misc, valid-type]
        def __init__(
            self, rows: Any, ledger: Ledger, source: NoiseSource | None, *rest: Any, **named: Any
        ) -> None:
            if ledger not in ledgers:
                ledgers.append(ledger)
                _refuse(ledger, refused)
            wrapped = None if source is None else wrap(source, ledger)
            super().__init__(rows, ledger, wrapped, *rest, **named)

        def answer(self, query: Query) -> Answer:
            tape.events.append(Question(plain(query), query, self._rows))
            return super().answer(query)  # type: ignore[no-any-return]

    generator.curator_class = Watched
    try:
        yield
    finally:
        del generator.curator_class
        for ledger in ledgers:
            tape.read(ledger)


def _refuse(ledger: Ledger, number: int | None) -> None:
    """Let the ledger refuse the spend of a number."""

    def refusing(charge: Callable[..., Any]) -> Callable[..., Any]:
        def charged(stage: str, what: str, *rest: Any, **named: Any) -> Any:
            if len(ledger.spends) == number:
                raise BudgetError(f"{stage} of {what}: refused by a test of this generator")
            return charge(stage, what, *rest, **named)

        return charged

    if number is not None:
        ledger.charge = refusing(ledger.charge)  # type: ignore[method-assign]
        ledger.charge_rho = refusing(ledger.charge_rho)  # type: ignore[method-assign]


def plain(value: Any) -> Any:
    """A query as plain values; fields that are not compared are memories of answers."""
    if isinstance(value, np.ndarray):
        return value.tolist()
    if dataclasses.is_dataclass(value):
        fields = [f.name for f in dataclasses.fields(value) if f.compare]
        return [type(value).__name__, {name: plain(getattr(value, name)) for name in fields}]
    if isinstance(value, list | tuple):
        return [plain(part) for part in value]
    return sorted(value) if isinstance(value, frozenset | set) else value
