"""Drivers with which tests of PrivateVine watch a fit, repeat it and count what it leaks."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import pandas as pd
import pytest

from copula_shirley import Ledger, Schema
from copula_shirley.measure.curator import Curator
from copula_shirley.measure.queries import Choice, Query
from copula_shirley.measure.transcript import Answer
from copula_shirley.privacy.noise import Exactness, NoiseFacts
from copula_shirley.private_vine.generator import PrivateVine
from copula_shirley.rows.memory import MemoryRows


@contextmanager
def measured_by(kind: Callable[..., Curator]) -> Iterator[None]:
    """Fits inside are driven by another kind of ``Curator``."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(PrivateVine, "curator_class", staticmethod(kind))
        yield


@dataclasses.dataclass
class Tape:
    """Everything that a fit asked, was told and wrote."""

    model: PrivateVine
    rows: MemoryRows | None = None
    queries: list[Query] = dataclasses.field(default_factory=list)
    answers: list[Answer] = dataclasses.field(default_factory=list)


def recorded(
    model: PrivateVine,
    table: pd.DataFrame,
    schema: Schema,
    answers: Sequence[Answer] | None = None,
) -> Tape:
    """Fit and record; with ``answers`` the rows are looked at, but those are the answers."""
    tape = Tape(model)
    forced = None if answers is None else iter(answers)

    class Recording(Curator):
        def __init__(self, rows: MemoryRows, *rest: Any) -> None:
            super().__init__(rows, *rest)
            tape.rows = rows

        def answer(self, query: Query) -> Answer:
            answer = super().answer(query)
            if forced is not None:
                answer = next(forced)
                self.transcript.answers[-1] = answer
            tape.queries.append(query)
            tape.answers.append(answer)
            return answer

    with measured_by(Recording):
        model.fit(table, schema)
    return tape


def rows_of(table: pd.DataFrame, schema: Schema) -> MemoryRows:
    """The rows as a fit sees them."""

    class SeenError(Exception):
        pass

    def seen(rows: MemoryRows, *_: Any) -> Curator:
        raise SeenError(rows)

    with measured_by(seen), pytest.raises(SeenError) as caught:
        PrivateVine(random_state=0).fit(table, schema)
    return caught.value.args[0]  # type: ignore[no-any-return]


def exact(rows: MemoryRows, query: Query) -> Answer:
    """The answer without noise."""
    return Curator(rows, Ledger(None), None).answer(query)


def described(query: Query) -> dict[str, Any]:
    """All that a query says about itself, as plain values."""
    about: dict[str, Any] = {
        "kind": type(query).__name__,
        "names": [key.names for key in query.cell_maps],
        "shapes": [key.shape for key in query.cell_maps],
    }
    for name in ("groups", "child", "partner", "given", "grid"):
        about[name] = [_plain(getattr(key, name, None)) for key in query.cell_maps]
    for field in dataclasses.fields(query):
        if field.name != "cell_maps":
            about[field.name] = _plain(getattr(query, field.name))
    return about


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.tolist()
    return [_plain(part) for part in value] if isinstance(value, list | tuple) else value


# -- what an answer leaks --------------------------------------------------------


class Spy:
    """A source without noise that writes down what it was to protect, and how."""

    facts = NoiseFacts("no noise", Exactness.REPLAYED)

    def __init__(self, choices: Sequence[int] = ()) -> None:
        self.calls: list[tuple[str, np.ndarray, float]] = []
        self.choices = iter(choices)

    def gaussian(self, counts: np.ndarray, sigma: float) -> np.ndarray:
        self.calls.append(("gaussian", np.array(counts, dtype=float), sigma))
        return counts

    def laplace(self, counts: np.ndarray, scale: float) -> np.ndarray:
        self.calls.append(("laplace", np.array(counts, dtype=float), scale))
        return counts

    def choose(self, scores: np.ndarray, scale: float) -> int:
        self.calls.append(("choose", np.array(scores, dtype=float), scale))
        return next(self.choices)


def looked(
    rows: MemoryRows, query: Query, ledger: Ledger, answer: Answer
) -> list[tuple[str, np.ndarray, float]]:
    """What noise was asked for when the answer was given about these rows."""
    spy = Spy(_positions(query, answer) if isinstance(query, Choice) else ())
    Curator(rows, ledger, spy).answer(query)
    return spy.calls


def _positions(query: Choice, answer: Answer) -> list[int]:
    """Chosen positions among those that were left in each round."""
    left = list(range(len(query.cell_maps)))
    places = []
    for chosen in answer.values[0]:  # noqa: PD011
        places.append(left.index(int(chosen)))
        left.remove(int(chosen))
    return places


def cost_of(here: list[Any], there: list[Any], *, zcdp: bool) -> float:
    """What a pair of neighbours costs, from first principles: rho, or epsilon.

    Gaussian noise: |difference|_2^2 / (2 sigma^2); Laplace noise: |difference|_1 / scale; a
    choice with chances proportional to exp(score / scale): its privacy loss lies in an interval
    of width w, so w^2 / 8 in rho, and is at most its largest absolute value in epsilon.
    """
    assert [(kind, scale) for kind, _, scale in here] == [(kind, s) for kind, _, s in there]
    total = 0.0
    for (kind, one, scale), (_, other, _) in zip(here, there, strict=True):
        change = one - other
        if kind == "gaussian":
            assert zcdp
            total += float((change**2).sum()) / (2 * scale**2)
        elif kind == "laplace":
            assert not zcdp
            total += float(np.abs(change).sum()) / scale
        else:
            logs = [values / scale - np.logaddexp.reduce(values / scale) for values in (one, other)]
            loss = logs[0] - logs[1]
            width = float(loss.max() - loss.min())
            total += width**2 / 8 if zcdp else float(np.abs(loss).max())
    assert math.isfinite(total)
    return total
