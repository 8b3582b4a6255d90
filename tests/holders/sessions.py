"""Small sessions of several holders, each step of which a test can spoil."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import msgspec
import numpy as np
import pandas as pd

from copula_shirley import Column, PrivateVine, Schema
from copula_shirley.holders.coordinator import Coordinator, WaitingError, new_agreement
from copula_shirley.holders.holder import COORDINATOR, Holder, State, new_keys
from copula_shirley.holders.messages import Message
from copula_shirley.holders.rows import Terms
from copula_shirley.measure.queries import Tables
from copula_shirley.privacy.noise import SeededNoise
from copula_shirley.private_vine.cell_maps import AllRows, Axis, GroupMap

SCHEMA = Schema(tuple(Column(name, "integer", minimum=0, maximum=4) for name in "ab"))
#: Rows of each holder; each has its own number of them.
SIZES = (100, 200, 300, 400)


def part(i: int, size: int) -> pd.DataFrame:
    values = np.arange(size) % 5
    return pd.DataFrame({"a": values, "b": (values + i) % 5})


def margins(stage: str = "margins", share: float = 0.1) -> Tables:
    """The number of rows, and both margins."""
    axes = [Axis(name, np.arange(5)) for name in "ab"]
    return Tables(stage, [AllRows(), *(GroupMap((axis,)) for axis in axes)], share)


class Session:
    """Some holders and their coordinator, with what each of them saved last."""

    def __init__(
        self, holders: int = 3, colluding: int = 1, *, spare: float = 0.0, **settings: Any
    ) -> None:
        vine = PrivateVine(**{"epsilon": 2.0, "delta": 1e-6, **settings})
        self.saved: dict[str, tuple[State, Mapping[str, np.ndarray]]] = {}
        self.log: list[str] = []
        terms = Terms(2.0, 1e-6, vine.neighbours, colluding, SCHEMA.to_dict())
        self.holders = [self._holder(i, terms) for i in range(holders)]
        self.key = new_keys()[0]
        keys = [holder.key_message() for holder in self.holders]
        self.agreement = new_agreement(self.key, vine, SCHEMA, keys, colluding, spare=spare)
        self.session = Coordinator(self.key, self.agreement, lambda _: None)

    def _holder(self, i: int, terms: Terms) -> Holder:
        name = f"h{i}"

        def keep(state: State, kept: Mapping[str, np.ndarray]) -> None:
            self.saved[name] = state, kept
            self.log.append(f"{name} saved {len(state.ledger['spends'])} {state.sent}")

        source = SeededNoise(np.random.default_rng(i))
        return Holder(name, *new_keys(), lambda: part(i, SIZES[i]), source, terms, keep)

    # -- steps -----------------------------------------------------------------------

    def signed(self, kind: str, body: Any, arrays: Any = None, key: Any = None) -> Message:
        """Something that the coordinator says, in any words."""
        said = Message(kind, self.agreement.session, COORDINATOR, body, arrays or {})
        return said.signed(key or self.key)

    def offer(self, **changes: Any) -> Message:
        """The agreement, with some entries changed."""
        said = {**msgspec.to_builtins(self.agreement), **changes}
        return self.signed("agreement", said)

    def join(self) -> Session:
        for holder in self.holders:
            self.session.take(holder.join(self.session.agreement_message()))
        return self

    def asked(self, query: Tables | None = None) -> Message:
        """The next question, which nobody has seen yet."""
        self._step(query or margins())
        assert self.session.outgoing is not None
        return self.session.outgoing

    def committed(self, query: Tables | None = None) -> Message:
        """The list of all holders that are ready, which nobody has seen yet."""
        message = self.asked(query)
        for holder in self.holders:
            self.session.take(holder.ready(message))
        return self.asked(query)

    def answered(self, query: Tables | None = None) -> np.ndarray:
        """One answer by all steps."""
        message = self.committed(query)
        for holder in self.holders:
            self.session.take(holder.masked(message))
        return self.session.answer_to(len(self.session.rounds), query or margins())

    def _step(self, query: Tables) -> None:
        try:
            self.session.answer_to(len(self.session.rounds), query)
        except WaitingError:
            return

    def put_back(self, i: int, saved: tuple[State, Mapping[str, np.ndarray]]) -> None:
        """A holder's folder as it was at some time."""
        self.holders[i].state, self.holders[i].kept = saved
        self.holders[i]._query = None

    def members(self, i: int, **changes: str) -> list[dict[str, str]]:
        """The roster with an entry changed."""
        roster = [msgspec.to_builtins(member) for member in self.agreement.roster]
        roster[i] |= changes
        return roster


def changed(message: Message, **changes: Any) -> Message:
    """A message that was changed after it was signed."""
    return replace(message, **changes)
