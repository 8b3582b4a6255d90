"""All holders and the coordinator in one process: the protocol whole, with nobody far away."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pandas as pd

from copula_shirley.errors import SettingError
from copula_shirley.fitted import Progress, generator_of, silent
from copula_shirley.holders.coordinator import Coordinator, new_agreement
from copula_shirley.holders.holder import Holder, new_keys
from copula_shirley.holders.messages import Message
from copula_shirley.holders.rows import Terms
from copula_shirley.measure.trust import check_seats
from copula_shirley.private_vine.generator import PrivateVine
from copula_shirley.schema.schema import Schema, check_schema


def simulate(
    parts: Sequence[pd.DataFrame],
    schema: Schema,
    generator: PrivateVine | None = None,
    *,
    colluding: int = 1,
    spare: float = 0.0,
    accept_unproved: bool = False,
    progress: Progress = silent,
) -> PrivateVine:
    """Fit a PrivateVine to the rows of several holders, of whom some may collude.

    Everything is done as between machines (keys, signatures, masks, shares of noise, a ledger for
    each holder), but all of it in this process, so it protects nobody from this process.

    Parameters
    ----------
    parts : sequence of DataFrame
        The rows of each holder; a person's rows at all of them count for ``max_rows``.
    schema : Schema
        The declared domain, the same for all.
    generator : PrivateVine, optional
        Its settings; a ``random_state`` makes the noise repeatable, for experiments only.
    colluding : int
        So many holders may be in league with each other and the coordinator: the noise of the
        others suffices. With 0 every holder could take off its own share.
    spare : float
        Part of the budget kept for attempts that fail after vectors have left.
    accept_unproved : bool
        Go on with a schema that was drafted from the rows: nothing is proved then.

    Returns
    -------
    PrivateVine
        Fitted; ``trust_`` has what the holders agreed on and signed.

    Examples
    --------
    >>> from copula_shirley import Column
    >>> from copula_shirley.holders import simulate
    >>> parts = [pd.DataFrame({"a": [0, 1] * 200, "b": [0, 1] * 200}) for _ in range(3)]
    >>> schema = Schema(tuple(Column(name, "integer", minimum=0, maximum=1) for name in "ab"))
    >>> model = simulate(parts, schema, PrivateVine(epsilon=8.0, random_state=0), colluding=1)
    >>> model.card()["trust"]["colluding"]
    1
    """
    check_schema(schema)
    check_seats(len(parts), colluding)
    vine = PrivateVine() if generator is None else generator
    if not isinstance(vine, PrivateVine):
        raise SettingError(f"generator ({type(vine).__name__}) must be a PrivateVine")
    if vine.epsilon is None:
        raise SettingError("epsilon (None) must be a number: holders never answer exactly")
    terms = Terms(
        vine.epsilon, vine.delta, vine.neighbours, colluding, schema.to_dict(), accept_unproved
    )
    seeds = generator_of(vine.random_state).spawn(len(parts) + 1)
    digits = len(str(len(parts)))
    everybody = [
        Holder(
            f"holder-{i + 1:0{digits}d}",
            *new_keys(),
            lambda part=part: part,  # type: ignore[misc]
            vine.noise_source(rng),
            terms,
            _forget,
        )
        for i, (part, rng) in enumerate(zip(parts, seeds, strict=False))
    ]
    key, _ = new_keys()
    keys = [holder.key_message() for holder in everybody]
    agreement = new_agreement(
        key, vine, schema, keys, colluding, spare=spare, accept_unproved=accept_unproved
    )
    session = Coordinator(key, agreement, _forget)
    session.exchange = lambda message: replies(everybody, message)
    for reply in replies(everybody, session.agreement_message()):
        session.take(reply)
    return session.fit(progress)


def replies(everybody: Sequence[Holder], message: Message) -> Iterator[Message]:
    """What all holders answer to a message, which each of them reads anew."""
    for holder in everybody:
        steps = {"agreement": holder.join, "query": holder.ready, "commit": holder.masked}
        yield steps[message.kind](message)


def dealt(table: pd.DataFrame, holders: int, rng: np.random.Generator) -> list[pd.DataFrame]:
    """The rows of a table in parts, by chance and about equally many, for a rehearsal."""
    places = rng.permutation(len(table)) % holders
    return [table[places == i].reset_index(drop=True) for i in range(holders)]


def _forget(state: object, kept: Mapping[str, np.ndarray] | None = None) -> None:
    """Nothing of a simulation outlives its process."""
