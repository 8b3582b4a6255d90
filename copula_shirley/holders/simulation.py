"""All holders and the coordinator in one process: the protocol whole, with nobody far away."""

from __future__ import annotations

import secrets
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Self

import numpy as np
import pandas as pd

from copula_shirley.errors import ArtefactError, SettingError
from copula_shirley.fitted import Progress, generator_of, silent
from copula_shirley.generator import RESERVING
from copula_shirley.holders.coordinator import Coordinator, new_agreement
from copula_shirley.holders.folders import (
    IN,
    advance,
    answer,
    fingerprint,
    join,
    new_holder,
    new_session,
)
from copula_shirley.holders.holder import Holder, new_keys
from copula_shirley.holders.messages import Message
from copula_shirley.holders.rows import Terms
from copula_shirley.holders.watching import Watch, watching
from copula_shirley.measure.trust import check_seats
from copula_shirley.privacy.recording import Recording
from copula_shirley.private_vine.generator import PrivateVine
from copula_shirley.rows.admitted import Held
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
        So many holders may collude with each other and the coordinator: the noise of the
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
    return _simulated(
        parts, schema, generator, Holder, colluding=colluding, spare=spare,
        accept_unproved=accept_unproved, progress=progress,
    )  # fmt: skip


def _simulated(
    parts: Sequence[pd.DataFrame],
    schema: Schema,
    generator: PrivateVine | None,
    party: type[Holder],
    *,
    colluding: int,
    spare: float = 0.0,
    accept_unproved: bool,
    progress: Progress,
) -> PrivateVine:
    """A session in which every holder is one of a class."""
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
    # with a seed all is repeatable, keys included; the ledger calls it seeded
    fresh = secrets.token_bytes if vine.random_state is None else seeds[-1].bytes
    digits = len(str(len(parts)))
    everybody = [
        party(
            f"holder-{i + 1:0{digits}d}",
            *new_keys(fresh),
            lambda part=part: part,  # type: ignore[misc]
            vine.noise_source(rng),
            terms,
            _forget,
            fresh=fresh,
        )
        for i, (part, rng) in enumerate(zip(parts, seeds, strict=False))
    ]
    key, _ = new_keys(fresh)
    keys = [holder.key_message() for holder in everybody]
    agreement = new_agreement(
        key, vine, schema, keys, colluding, spare=spare, accept_unproved=accept_unproved,
        fresh=fresh, rehearsal=True,
    )  # fmt: skip
    session = Coordinator(key, agreement, _forget)
    session.exchange = lambda message: replies(everybody, message)
    for reply in replies(everybody, session.agreement_message()):
        session.take(reply)
    return session.fit(progress)


def replies(everybody: Sequence[Holder], message: Message) -> Iterator[Message]:
    """What all holders answer to a message, which each of them checks."""
    for holder in everybody:
        steps = {"agreement": holder.join, "query": holder.ready, "commit": holder.masked}
        yield steps[message.kind](message)


def dealt(table: pd.DataFrame, holders: int, rng: np.random.Generator) -> list[pd.DataFrame]:
    """The rows of a table in parts, by chance and about equally many, for a rehearsal."""
    places = rng.permutation(len(table)) % holders
    return [table[places == i].reset_index(drop=True) for i in range(holders)]


@dataclass(eq=False, repr=False)
class HeldVine(PrivateVine):
    """A PrivateVine that several holders fit, each with a part of the rows; all in this process.

    Parameters are those of ``PrivateVine``, and:

    holders, colluding : int
        How many parts the rows are dealt into by chance, and how many of their holders may be in
        league.
    folder : str, optional
        A new folder in which all holders and the coordinator exchange files, as between machines.

    Examples
    --------
    >>> table = pd.DataFrame({"a": [0, 1] * 200, "b": [0, 1] * 200})
    >>> model = HeldVine(epsilon=8.0, random_state=0, holders=3).fit(table, Schema.draft(table))
    >>> model.card()["trust"]["holders"]
    3
    """

    #: Rows are dealt out in memory, and an answer is no one curator's to be kept.
    counts_pieces: ClassVar[bool] = False
    resumes: ClassVar[bool] = False
    #: What every holder is, as ``curator_class`` of others.
    holder_class: ClassVar[type[Holder]] = Holder

    holders: int = 5
    colluding: int = 1
    folder: str | None = None

    def _check_settings(self, schema: Schema) -> None:
        check_seats(self.holders, self.colluding)
        if self.epsilon is None or self.domain != "declared":
            raise SettingError(
                f"epsilon ({self.epsilon!r}) must be a number and domain ({self.domain}) "
                "'declared': holders neither answer exactly nor find categories out of no list"
            )
        super()._check_settings(schema)

    @contextmanager
    def watched(
        self, recording: Recording, played: Recording | None, refused: int | None
    ) -> Iterator[None]:
        """Watch the sessions inside: see ``copula_shirley.holders.watching``."""
        if self.folder is not None or not self.delta:
            recording.unseen = (
                "shares are seen in one process, not in files, and where they are Gaussian, since "
                "Laplace shares are made of random words: fit without folder, with a delta"
            )
            yield
            return
        own = self.holder_class
        watched = watching(own, Watch(recording, played, refused))
        self.__dict__["holder_class"] = watched
        try:
            yield
        finally:
            del self.__dict__["holder_class"]

    def _learnt(
        self,
        held: Held,
        fit_rng: np.random.Generator,
        sampling: np.random.Generator,
        report: Progress,
    ) -> Self:
        parts = dealt(held.given, self.holders, fit_rng)
        names = PrivateVine.setting_names()
        own = PrivateVine(**{name: getattr(self, name) for name in names})
        if self.random_state is not None:
            own.random_state = fit_rng
        reserving = RESERVING.set(None)  # this fit was counted; the one inside is part of it
        try:
            if self.folder is None:
                model = _simulated(
                    parts, held.schema, own, self.holder_class, colluding=self.colluding,
                    accept_unproved=True, progress=report,
                )  # fmt: skip
            else:
                place = Path(self.folder)
                model = rehearse(place, parts, held.schema, own, self.colluding, report)
        finally:
            RESERVING.reset(reserving)
        self._forget()
        learnt = {name: value for name, value in vars(model).items() if name not in names}
        vars(self).update(learnt)
        self.columns_ = held.schema.synthetic_names(held.names)
        self._sampling_rng = sampling
        report("done", 1.0)
        return self


def rehearse(
    folder: Path,
    parts: Sequence[pd.DataFrame],
    schema: Schema,
    vine: PrivateVine,
    colluding: int,
    progress: Progress = silent,
) -> PrivateVine:
    """The same as ``simulate`` with a folder for each party, and files that are carried between."""
    terms = Terms(
        float(vine.epsilon or 0), vine.delta, vine.neighbours, colluding, schema.to_dict(), True
    )
    seeds = generator_of(vine.random_state).spawn(len(parts))
    sources = [vine.noise_source(rng) for rng in seeds]
    names = [f"holder-{i + 1}" for i in range(len(parts))]
    folder.mkdir(parents=True, exist_ok=True)
    folder.chmod(0o700)  # it will have the rows of all parts
    for name, part in zip(names, parts, strict=True):
        part.to_parquet(folder / f"{name}.parquet")
    own = [folder / name for name in names]
    keys = [new_holder(where, where.name, folder / f"{where.name}.parquet", terms) for where in own]
    middle = folder / "coordinator"
    agreement, offer = new_session(
        middle, vine, schema, keys, colluding, accept_unproved=True, rehearsal=True
    )
    for where, source in zip(own, sources, strict=True):
        carry([offer], where)
        carry([join(where, fingerprint(agreement), source)], middle)
    while True:
        done, model = advance(middle, progress)
        if model is not None:
            return model
        for where, source in zip(own, sources, strict=True):
            carry(done.written, where)
            answered = answer(where, source)
            if answered.faults:
                raise ArtefactError(f"{where.name}: {answered.faults[0]}")
            carry(answered.written, middle)


def carry(files: Sequence[Path], folder: Path) -> None:
    """Put copies of files where they arrive."""
    for path in files:
        shutil.copyfile(path, folder / IN / path.name)


def _forget(state: object, kept: Mapping[str, np.ndarray] | None = None) -> None:
    """Nothing of a simulation outlives its process."""
