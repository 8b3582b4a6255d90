"""The only code of PrivateVine that sees rows: a query in, noisy whole numbers out.

An algorithm that wants to know something about the rows is a Python generator: it yields a query
and is sent the noisy answer. So it is a function of public settings and of the answers alone, and
``replay`` with the answers of a transcript gives the same model bit for bit.

Privacy
-------
A *key* is a public function that maps each row to one cell of a table, by that row alone. One unit
(a row, or a person with k rows) changes a table of counts by ``histogram_sensitivity``: s1 in the
L1 norm and s2 in L2.

- ``Tables``: m tables answered together change by m s1 in L1 and sqrt(m) s2 in L2, since each of
  them changes by at most s1 and s2.
- ``Distances``: the L1 distance of a table to a public table changes by at most s1 (triangle
  inequality), so c of them change by c s1 in L1 and sqrt(c) s1 in L2.
- ``Discovery``: categories out of no list. Those that neighbours share are counts as above. A
  category that only one unit has holds at most k rows; it is released if its noisy count reaches a
  threshold k + t, so noise of t or more is needed, which has a chance of at most delta divided by
  the number of such categories. Outside that event nobody sees that it was there.
- ``Choice``: k rounds of the exponential mechanism among scores of sensitivity s1. A round with
  parameter e costs e in epsilon and e^2/8 in rho.

Discrete Gaussian noise of parameter sigma costs rho = L2^2 / (2 sigma^2), discrete Laplace noise of
scale b costs epsilon = L1 / b. Each query is charged before rows are looked at. Jitter, which
breaks ties inside a cell, is drawn for each row independently of its values: given the jitter the
above holds, so it holds on average.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Generator as Coroutine
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm

from copula_shirley.errors import ArtefactError, SettingError
from copula_shirley.files.archive import MOST_MEMBERS
from copula_shirley.privacy import recording as tape
from copula_shirley.privacy.ledger import Budget, Ledger, Sensitivity
from copula_shirley.privacy.noise import Integers, ReleaseNoise
from copula_shirley.privacy.zcdp import rho_of
from copula_shirley.restoring import counts, whole_numbers
from copula_shirley.schema.domain import FloatArray

T = TypeVar("T")
#: Chance that noise alone is taken for rows anywhere in a round.
MISTAKEN = 1e-3


class Records:
    """Rows as cells of the declared domain, with jitter. Everything in here is private.

    Parameters
    ----------
    codes : dict
        The declared cell of each row, per column.
    numbers : dict
        The number of each row, per column.
    rng : numpy.random.Generator
        Source of the jitter.
    """

    def __init__(
        self,
        codes: dict[str, NDArray[np.intp]],
        numbers: dict[str, FloatArray],
        rng: np.random.Generator,
    ) -> None:
        # short numbers: there is one of each for every row and column
        self.codes = {name: cells.astype(np.int32) for name, cells in codes.items()}
        self.numbers = numbers
        self._rng = rng
        self._jitter: dict[str, NDArray[np.float32]] = {}

    def __len__(self) -> int:
        return len(next(iter(self.codes.values())))

    def jitter(self, name: str) -> NDArray[np.float32]:
        """A uniform number for each row, the same whenever it is asked for."""
        if name not in self._jitter:
            self._jitter[name] = self._rng.random(len(self), dtype=np.float32)
        return self._jitter[name]


class Named(Protocol):
    """What a question is about."""

    @property
    def names(self) -> tuple[str, ...]:
        """Columns that it looks at, for people."""
        ...


class Key(Named, Protocol):
    """A public function from a row to a cell of a table."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Cells along each axis of the table."""
        ...

    def cells(self, records: Any) -> NDArray[np.intp]:
        """The cell of each row, as one number."""
        ...


class Labels(Named, Protocol):
    """A public function from a row to a category out of no list."""

    def labels(self, records: Any) -> tuple[Any, int]:
        """Categories of the rows that have one, and the number of missing values."""
        ...


@dataclass(frozen=True)
class Query:
    """What is asked, and the share of the budget that it may cost."""

    stage: str
    keys: Sequence[Any]
    share: float


@dataclass(frozen=True)
class Tables(Query):
    """Counts of several tables."""

    keys: Sequence[Key]


@dataclass(frozen=True)
class Discovery(Query):
    """The categories of several columns that more than a few units have."""

    keys: Sequence[Labels]


@dataclass(frozen=True)
class Distances(Query):
    """L1 distances of several tables to public tables of whole numbers."""

    keys: Sequence[Key]
    guesses: Sequence[Integers]


@dataclass(frozen=True)
class Choice(Query):
    """Several tables that are far from public ones, a handicap taken off each distance."""

    keys: Sequence[Key]
    guesses: Sequence[Integers]
    handicaps: Integers
    count: int


@dataclass(frozen=True)
class Answer:
    """Noisy whole numbers and the standard deviation of their noise.

    A list of tables; or one array of distances; or one array of chosen positions; or for each
    column the counts of released categories and of missing values, and the categories.
    """

    values: list[Integers]
    sigma: float
    labels: list[list[Any]] = field(default_factory=list)


@dataclass
class Transcript:
    """Every answer, in order: all that a model learns about the rows."""

    answers: list[Answer] = field(default_factory=list)
    queries: list[dict[str, Any]] = field(default_factory=list)

    def add(self, query: Query, answer: Answer) -> None:
        """Keep an answer, and what was asked in words."""
        about = {
            "kind": type(query).__name__,
            "stage": query.stage,
            "share": query.share,
            "sigma": answer.sigma,
            "what": [list(key.names) for key in query.keys],
            "labels": answer.labels,
        }
        self.queries.append(about)
        self.answers.append(answer)

    def state(self) -> tuple[list[dict[str, Any]], dict[str, NDArray[Any]]]:
        """The transcript as JSON values and arrays."""
        arrays = {
            f"answer_{i}_{j}": values
            for i, answer in enumerate(self.answers)
            for j, values in enumerate(answer.values)
        }
        counts = [len(answer.values) for answer in self.answers]
        return [{**q, "tables": n} for q, n in zip(self.queries, counts, strict=True)], arrays

    @classmethod
    def restored(cls, queries: list[dict[str, Any]], arrays: dict[str, NDArray[Any]]) -> Transcript:
        """The transcript that ``state`` gave."""
        transcript = cls()
        for i, about in enumerate(queries):
            _check_about(about)
            values = [arrays[f"answer_{i}_{j}"] for j in range(about["tables"])]
            transcript.answers.append(Answer(values, float(about["sigma"]), about["labels"]))
            transcript.queries.append({k: v for k, v in about.items() if k != "tables"})
        return transcript


class Noise:
    """How much noise a share of the budget buys; public arithmetic, no rows.

    Parameters
    ----------
    budget : Budget or None
        Without one there is no noise. With a delta costs are in rho, else in epsilon.
    unit : Sensitivity
        Of one histogram.
    failing : float
        The part of delta that is kept for discoveries.
    """

    def __init__(self, budget: Budget | None, unit: Sensitivity, failing: float = 0.0) -> None:
        self.budget = budget
        self.unit = unit
        self.failing = failing
        self.zcdp = budget is not None and budget.delta > 0
        self.total = 0.0
        if budget is not None:
            self.total = budget.epsilon
            if self.zcdp:
                self.total = rho_of(budget.epsilon, budget.delta - failing)

    def scale(self, share: float, count: int, *, distances: bool = False) -> float:
        """Parameter of the noise when ``count`` tables (or distances) share ``share``."""
        if self.budget is None:
            return 0.0
        cost = share * self.total
        if self.zcdp:
            each = self.unit.l1 if distances else self.unit.l2
            return each * math.sqrt(count / (2 * cost))
        return self.unit.l1 * count / cost

    def sigma(self, share: float, count: int, *, distances: bool = False) -> float:
        """Standard deviation of that noise."""
        scale = self.scale(share, count, distances=distances)
        if self.zcdp or scale == 0:
            return scale
        # discrete Laplace: 2 q / (1 - q)^2 with q = exp(-1/scale)
        return math.sqrt(2 * math.exp(-1 / scale)) / -math.expm1(-1 / scale)

    def largest(self, many: int) -> float:
        """How many standard deviations the largest of ``many`` noises may well be."""
        rarity = math.log(max(many, 2))
        bell = self.zcdp or self.budget is None
        return math.sqrt(2 * rarity) if bell else rarity / math.sqrt(2)

    def loud(self, share: float, count: int, many: int) -> float:
        """Count that ``many`` empty cells pass by noise with a chance of ``MISTAKEN`` at the most.

        ``count`` tables share ``share``. Tails are at most exp(-t^2 / (2 sigma^2)) for discrete
        Gaussian noise, which is subgaussian (Canonne, Kamath and Steinke 2020), and exp(-t / scale)
        for discrete Laplace noise.
        """
        rarity = math.log(many / MISTAKEN)
        return self.scale(share, count) * (math.sqrt(2 * rarity) if self.zcdp else rarity)

    def threshold(self, share: float, count: int, rows: int) -> int:
        """Noisy count from which a category is released, a unit having up to ``rows`` rows.

        P(discrete Gaussian >= t) <= P(Gaussian >= t - 1) for whole t (Canonne, Kamath, Steinke
        2020, proposition 25). A unit has up to ``rows`` categories of its own in each column; two
        units count, for replacement.
        """
        if self.budget is None:
            return 1
        chance = self.failing / (2 * count * rows)
        return rows + 1 + math.ceil(self.scale(share, count) * float(norm.isf(chance)))

    def choice_scale(self, share: float, count: int) -> float:
        """Parameter of each of ``count`` exponential mechanisms: chances go by exp(score/it)."""
        cost = share * self.total / count
        epsilon = math.sqrt(8 * cost) if self.zcdp else cost
        return 2 * self.unit.l1 / epsilon


class Measure:
    """Answers queries about the rows and writes the transcript; nothing else sees rows."""

    def __init__(
        self,
        records: Any,
        ledger: Ledger,
        source: ReleaseNoise | None,
        noise: Noise | None = None,
        transcript: Transcript | None = None,
    ) -> None:
        self._records = records
        self._ledger = ledger
        self._source = source
        self.noise = noise or Noise(ledger.budget, ledger.sensitivity())
        self.transcript = Transcript() if transcript is None else transcript
        # exact tables of candidates, by key: a choice comes in batches; private as the rows are
        self._candidates: dict[int, tuple[Key, Integers]] = {}

    def answer(self, query: Query) -> Answer:
        """Charge the query, then answer it."""
        tape.asked(query)
        self._charge(query)
        if isinstance(query, Choice):
            answer = Answer([self._chosen(query)], 0.0)
        elif isinstance(query, Discovery):
            answer = self._discovered(query)
        elif isinstance(query, Distances):
            gaps = self._gaps(query)
            sigma = self.noise.sigma(query.share, len(gaps), distances=True)
            scale = self.noise.scale(query.share, len(gaps), distances=True)
            answer = Answer([self._noisy(gaps, scale)], sigma)
        elif isinstance(query, Tables):
            scale = self.noise.scale(query.share, len(query.keys))
            counts = [self._noisy(self._count(key), scale) for key in query.keys]
            answer = Answer(counts, self.noise.sigma(query.share, len(query.keys)))
        else:
            raise SettingError(f"query ({type(query).__name__}) must be one of this module")
        self.transcript.add(query, answer)
        return answer

    def _charge(self, query: Query) -> None:
        what = f"{len(query.keys)} tables"
        if isinstance(query, Distances):
            what = f"{len(query.keys)} distances"
        if isinstance(query, Choice):
            what = f"{query.count} of {len(query.keys)} tables"
        if isinstance(query, Discovery):
            what = f"categories of {len(query.keys)} columns"
        if self.noise.budget is None:
            self._ledger.record_unprotected(query.stage, what, "noise is off: exact counts")
            return
        cost = query.share * self.noise.total
        if isinstance(query, Choice):
            mechanism = "exponential"
        else:
            mechanism = "discrete gaussian" if self.noise.zcdp else "discrete laplace"
        charge = self._ledger.charge_rho if self.noise.zcdp else self._ledger.charge
        failing = self.noise.failing if isinstance(query, Discovery) else 0.0
        charge(query.stage, what, mechanism, cost, failing)

    def _count(self, key: Key) -> Integers:
        size = math.prod(key.shape)
        counts = np.bincount(key.cells(self._records), minlength=size)
        return counts.astype(np.int64).reshape(key.shape)

    def _candidate(self, key: Key) -> Integers:
        """The table of a key that may be asked about again."""
        if id(key) not in self._candidates:
            self._candidates[id(key)] = key, self._count(key)
        return self._candidates[id(key)][1]

    def _gaps(self, query: Distances | Choice) -> Integers:
        count = self._candidate if isinstance(query, Choice) else self._count
        return np.array(
            [
                np.abs(count(key) - guess).sum()
                for key, guess in zip(query.keys, query.guesses, strict=True)
            ],
            dtype=np.int64,
        )

    def _noisy(self, counts: Integers, scale: float) -> Integers:
        if self._source is None or scale == 0:
            return counts
        draw = self._source.gaussian if self.noise.zcdp else self._source.laplace
        return draw(counts, scale)

    def _discovered(self, query: Discovery) -> Answer:
        """Categories above the threshold in an order of their own, and their noisy counts."""
        count = len(query.keys)
        least = self.noise.threshold(query.share, count, self._ledger.rows_per_unit)
        scale = self.noise.scale(query.share, count)
        tallies = [self._tally(key) for key in query.keys]

        def release() -> Answer:
            values, labels = [], []
            for tally in tallies:
                noisy = self._noisy(np.array(list(tally.values()), dtype=np.int64), scale)
                kept = np.append(noisy[:-1] >= least, True)
                values.append(noisy[kept])
                labels.append([pair[1] for pair, keep in zip(tally, kept, strict=True) if keep])
            return Answer(values, self.noise.sigma(query.share, count), [x[:-1] for x in labels])

        if self._source is None:
            return release()
        # one answer: how many categories there are is no part of it
        return tape.answered(self._source, "discovery", tallies, scale, release, least=least)

    def _tally(self, key: Labels) -> dict[tuple[str, Any], int]:
        """How often each category occurs, in an order of their own; missing values last."""
        found, missing = key.labels(self._records)
        tally = Counter((type(label).__name__, label) for label in found)
        ordered = sorted(tally, key=lambda pair: (pair[0], str(pair[1])))
        return {**{pair: tally[pair] for pair in ordered}, ("missing", None): missing}

    def _chosen(self, query: Choice) -> Integers:
        """Positions, the best first; each round leaves out what was chosen before."""
        merits = (self._gaps(query) - query.handicaps).astype(float)  # whole numbers: exact
        if self._source is None:
            return np.argsort(-merits, kind="stable")[: query.count].astype(np.int64)
        scale = self.noise.choice_scale(query.share, query.count)
        left = list(range(len(merits)))
        chosen = np.empty(query.count, dtype=np.int64)
        for i in range(query.count):
            chosen[i] = left.pop(self._source.choose(merits[left], scale))
        return chosen


Rounds = Coroutine[Query, Answer, T]


def run(rounds: Rounds[T], measure: Measure) -> T:
    """Drive an algorithm with answers about rows."""
    try:
        query = next(rounds)
        while True:
            query = rounds.send(measure.answer(query))
    except StopIteration as end:
        result: T = end.value
        return result


def replay(rounds: Rounds[T], transcript: Transcript, start: int = 0) -> tuple[T, int]:
    """Drive an algorithm with the answers of a transcript; no row is needed.

    Returns its result and the position of the first answer that it did not ask for.
    """
    position = start
    try:
        query = next(rounds)
        while position < len(transcript.answers):
            about, answer = transcript.queries[position], transcript.answers[position]
            if about["kind"] != type(query).__name__ or about["stage"] != query.stage:
                raise ArtefactError("the transcript does not belong to these settings")
            _check_answer(query, about, answer)
            position += 1
            query = rounds.send(answer)
    except StopIteration as end:
        result: T = end.value
        return result, position
    raise ArtefactError(
        "the transcript ends before the model is complete: it was cut, or made by another version "
        "of copula-shirley, whose models must be fitted again"
    )


def _check_about(about: Any) -> None:
    """Refuse an entry of a transcript that is not of the types that ``Transcript.add`` writes."""
    numbers = [about["share"], about["sigma"]]
    if any(type(number) not in (int, float) or not number >= 0 for number in numbers):
        raise ArtefactError("share and sigma of a query must be numbers, 0 or more")
    if not whole_numbers([about["tables"]], 0, MOST_MEMBERS):
        raise ArtefactError("a query must say how many tables it has")
    for labels in about["labels"]:
        if not all(isinstance(label, str | int | float | bool) for label in labels):
            raise ArtefactError("labels of a query must be texts or numbers")


def _check_answer(query: Query, about: dict[str, Any], answer: Answer) -> None:
    """Refuse an answer that cannot be one to this query."""
    count = len(query.keys)
    fits = about["what"] == [list(key.names) for key in query.keys]
    fits = fits and math.isclose(about["share"], query.share, rel_tol=1e-9)
    values = answer.values
    if isinstance(query, Tables):
        shapes = [tuple(key.shape) for key in query.keys]
        fits = fits and len(values) == count and all(map(counts, values, shapes))
    elif isinstance(query, Discovery):
        sizes = [(len(labels) + 1,) for labels in answer.labels]
        fits = fits and len(values) == len(sizes) == count and all(map(counts, values, sizes))
    elif isinstance(query, Choice):
        fits = fits and len(values) == 1 and counts(values[0], (query.count,))
        chosen = set(values[0].tolist()) if fits else set()
        fits = fits and len(chosen) == query.count and chosen <= set(range(count))
    else:
        fits = fits and len(values) == 1 and counts(values[0], (count,))
    if not fits:
        raise ArtefactError(f"an answer of the transcript does not fit its query ({query.stage})")
