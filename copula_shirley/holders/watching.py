"""Sessions of several holders that are watched: for tests and audits only.

``copula_shirley.measure.recorded_fits`` watches one curator's source of noise. Here there are
several, and what an answer protects is a sum: so one draw is recorded for each question, when the
last holder has counted for it. Its true value is the sum of all counts, its answer the sum of what
the holders sent. Its scale is that of the *honest* noise by what the sources were asked for: of m
holders of whom t may collude, the m - t with the least noise. Noise that a holder did not get from
its source counts as none. What was charged before is read from the ledger, of those that the
holders had saved by then, in which the least was spent.

In a replay each holder sends what it sent in the recording, whatever its rows are. Keys and random
numbers follow from the seed, as in every session that has one, so that two sessions differ in
nothing but the rows: the masked vectors, the signatures and the file must be the same, byte for
byte.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from copula_shirley.holders.holder import Holder, State, spent_of
from copula_shirley.measure.queries import Tables
from copula_shirley.measure.recorded_fits import plain, refuse_spend
from copula_shirley.measure.trust import STAGE
from copula_shirley.privacy.ledger import Ledger
from copula_shirley.privacy.noise import Exactness, Integers, NoiseFacts, NoiseSource
from copula_shirley.privacy.recording import Charge, Question, Recording, Request

#: Scale of a sum in which no noise was seen.
NONE = 1e-9


@dataclass(frozen=True)
class Together:
    """The sources of the noise in one answer."""

    facts: NoiseFacts
    bit_generators: tuple[Any, ...]


class Heard(NoiseSource):
    """A source that notes the last draw of a share."""

    def __init__(self, source: NoiseSource) -> None:
        self.source, self.bit_generator = source, source.bit_generator
        self.facts = NoiseFacts(source.facts.library, Exactness.REPLAYED, source.facts.seeded)
        self.scale, self.drawn = 0.0, np.zeros(0, dtype=np.int64)

    def gaussian(self, counts: Integers, scale: float) -> NDArray[Any]:
        self.scale, self.drawn = scale, self.source.gaussian(counts, scale)
        return self.drawn.copy()

    def laplace(self, counts: Integers, scale: float) -> NDArray[Any]:
        return self.source.laplace(counts, scale)

    def choose(self, scores: Integers, scale: float) -> int:
        return self.source.choose(scores, scale)

    def words(self, count: int) -> NDArray[np.uint64]:
        return self.source.words(count)


@dataclass
class Watch:
    """One session: what was heard of each holder about the question that is open."""

    recording: Recording
    played: Recording | None = None
    refused: int | None = None
    told: dict[str, tuple[Heard, Integers, Integers, float]] = field(default_factory=dict)
    ledgers: list[Ledger] = field(default_factory=list)

    def counted(self, holder: Holder, query: Tables, counts: Integers, sent: Integers) -> Integers:
        """What a holder sends: its counts with noise, or what it sent in the recording."""
        source, shares = cast(Heard, holder.source), cast(State, holder.state).agreement.shares
        scale = source.scale if np.array_equal(sent - counts, source.drawn) else 0.0
        if self.played is not None:
            sent = self._played(holder.name, len(sent))
        self.told[holder.name] = source, counts, sent, scale
        self.ledgers.append(holder.ledger)
        if len(self.told) == shares.holders:
            self._record(query, shares.honest)
        return sent

    def _record(self, query: Tables, honest: int) -> None:
        record, told = self.recording, list(self.told.values())
        record.events.append(Question(plain(query), query))
        spends = [s for s in min(self.ledgers, key=spent_of).spends if s.stage != STAGE]
        record.events += [Charge(spend) for spend in spends[len(record.charges) :]]
        least = sorted(scale for _, _, _, scale in told)[:honest]
        facts = [source.source.facts for source, _, _, _ in told]
        together = Together(
            next((one for one in facts if not one.for_release), facts[0]),
            tuple(source.bit_generator for source, _, _, _ in told),
        )
        true = np.sum([counts for _, counts, _, _ in told], axis=0)
        request = Request(
            together, "gaussian", true.shape, max(math.hypot(*least), NONE), true.astype(float),
            np.sum([sent for _, _, sent, _ in told], axis=0),
            sent={name: sent for name, (_, _, sent, _) in self.told.items()},
        )  # fmt: skip
        self.told, self.ledgers = {}, []
        if self.played is not None:
            record.check_same(self.played, request)
        record.events.append(request)

    def _played(self, name: str, size: int) -> Integers:
        number, played = len(self.recording.requests), self.played
        known = played.requests if played is not None else []
        if number >= len(known) or known[number].shape != (size,):
            raise self.recording.depart(f"answer {number + 1} is asked for, which was not recorded")
        return np.array(known[number].sent[name])


def watching(base: type[Holder], watch: Watch) -> type[Holder]:
    """The class of the holders of a session that is watched."""

    class Watched(base):  # type: ignore[misc, valid-type]
        def __init__(self, *given: Any, **named: Any) -> None:
            super().__init__(*given, **named)
            self.source: NoiseSource = Heard(self.source)

        @property
        def ledger(self) -> Ledger:
            found: Ledger = super().ledger
            if watch.refused is not None:  # the first spend may be for shares
                shares = any(spend.stage == STAGE for spend in found.spends)
                refuse_spend(found, watch.refused + shares)
            return found

        def noisy(self, query: Tables, noise: Integers) -> Integers:
            return watch.counted(self, query, self.rows.counts(query), super().noisy(query, noise))

    return Watched
