"""Every noisy answer about the rows, and how an algorithm is driven by answers.

``run`` drives an algorithm with the answers of a curator, or with those of a transcript
(``Replay``), which give the same model bit for bit and the same ledger.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, Protocol, TypeVar

import msgspec
import numpy as np
from numpy.typing import NDArray

from copula_shirley.errors import ArtefactError
from copula_shirley.measure.calibration import Calibration
from copula_shirley.measure.queries import Discovery, Queries, Query, Tables
from copula_shirley.privacy.ledger import Ledger
from copula_shirley.privacy.noise import Integers

T = TypeVar("T")
#: Whole numbers of a transcript are exact as floats, in which models are estimated.
LARGEST_COUNT = 2**53
#: The tables of a query that has more are one array of a file, which may have few members.
MOST_APART, MOST_TABLES = 2000, 2**20
#: At most four axes.
SHAPE = r"^[1-9][0-9]{0,6}(x[1-9][0-9]{0,6}){0,3}$"


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
        about = {
            "kind": type(query).__name__,
            "stage": query.stage,
            "share": query.share,
            "sigma": answer.sigma,
            "what": [list(key.names) for key in query.cell_maps],
            "labels": answer.labels,
        }
        self.queries.append(about)
        self.answers.append(answer)

    def state(self) -> tuple[list[dict[str, Any]], dict[str, NDArray[Any]]]:
        """What a file says of the queries, and the arrays of their answers."""
        queries: list[dict[str, Any]] = []
        arrays: dict[str, NDArray[Any]] = {}
        for i, (about, answer) in enumerate(zip(self.queries, self.answers, strict=True)):
            tables = answer.values
            queries.append({**about, "tables": len(tables)})
            if len(tables) > MOST_APART:
                queries[-1]["shapes"] = ["x".join(map(str, one.shape)) for one in tables]
                arrays[f"answer_{i}"] = np.concatenate([one.ravel() for one in tables])
            else:
                arrays |= {f"answer_{i}_{j}": one for j, one in enumerate(tables)}
        return queries, arrays

    @classmethod
    def restored(cls, queries: list[dict[str, Any]], arrays: dict[str, NDArray[Any]]) -> Transcript:
        """The transcript that ``state`` gave."""
        transcript = cls()
        for i, about in enumerate(queries):
            try:
                entry = msgspec.convert(about, _Entry)
            except msgspec.ValidationError as error:
                raise ArtefactError(f"a query of the transcript is not readable: {error}") from None
            if entry.shapes:
                values = _apart(arrays[f"answer_{i}"], entry)
            else:
                values = [arrays[f"answer_{i}_{j}"] for j in range(entry.tables)]
            transcript.answers.append(Answer(values, entry.sigma, entry.labels))
            plain = {k: v for k, v in about.items() if k not in ("tables", "shapes")}
            transcript.queries.append(plain)
        return transcript


NotNegative = Annotated[float, msgspec.Meta(ge=0)]


class _Entry(msgspec.Struct, forbid_unknown_fields=True):
    """What a file says of a query; ``Transcript.add`` writes it."""

    kind: str
    stage: str
    share: NotNegative
    sigma: NotNegative
    what: list[list[str]]
    labels: list[list[str | int | float | bool]]
    tables: Annotated[int, msgspec.Meta(ge=0, le=MOST_TABLES)]
    #: Of tables that are one array, such as "3x4".
    shapes: list[Annotated[str, msgspec.Meta(pattern=SHAPE)]] = []


def _apart(together: NDArray[Any], entry: _Entry) -> list[NDArray[Any]]:
    """The tables that an array is made of."""
    shapes = [tuple(map(int, shape.split("x"))) for shape in entry.shapes]
    ends = np.cumsum([math.prod(shape) for shape in shapes], dtype=float)
    if len(shapes) != entry.tables or together.shape != (ends[-1],):
        raise ArtefactError(f"an answer of the transcript has other tables ({entry.stage})")
    parts = np.split(together, ends[:-1].astype(np.intp))
    return [part.reshape(shape) for part, shape in zip(parts, shapes, strict=True)]


class Answerer(Protocol):
    """Whoever answers queries: a curator, a transcript, a plan, or a test."""

    def answer(self, query: Query) -> Answer: ...


class Answering(Answerer, Protocol):
    """An answerer who keeps the transcript."""

    transcript: Transcript


def run(asking: Queries[T], answerer: Answerer) -> T:
    try:
        query = next(asking)
        while True:
            query = asking.send(answerer.answer(query))
    except StopIteration as end:
        result: T = end.value
        return result


def sharing(asking: Queries[T], left: float) -> Queries[T]:
    """An algorithm with a part of the budget: the shares of its queries are of what is left."""
    try:
        query = next(asking)
        while True:
            query = asking.send((yield replace(query, share=query.share * left)))
    except StopIteration as end:
        result: T = end.value
        return result


@dataclass
class Replay:
    """Answers queries with those of a transcript, in order, each charged to a ledger.

    An answer that does not fit its query, or states another noise than the query is priced for, is
    an ``ArtefactError``.
    """

    transcript: Transcript
    calibration: Calibration
    ledger: Ledger
    position: int = 0
    #: Queries for tables, and their answers.
    tables: list[tuple[Tables, Answer]] = field(default_factory=list)

    def answer(self, query: Query) -> Answer:
        if self.position == len(self.transcript.answers):
            raise ArtefactError(
                "the transcript ends before the model is complete: it was cut, or made by another "
                "version of copula-shirley, whose models must be fitted again"
            )
        about = self.transcript.queries[self.position]
        answer = self.transcript.answers[self.position]
        self.position += 1
        if about["kind"] != type(query).__name__ or about["stage"] != query.stage:
            raise ArtefactError("the transcript does not belong to these settings")
        fits = about["what"] == [list(key.names) for key in query.cell_maps]
        fits = fits and math.isclose(about["share"], query.share, rel_tol=1e-9)
        fits = fits and (isinstance(query, Discovery) or not answer.labels)
        if not fits or not _fits(query, answer):
            raise ArtefactError(
                f"an answer of the transcript does not fit its query ({query.stage})"
            )
        self._check_noise(query, answer)
        self.calibration.charge(self.ledger, query)
        if isinstance(query, Tables):
            self.tables.append((query, answer))
        return answer

    def _check_noise(self, query: Query, answer: Answer) -> None:
        implied = self._implied(query, answer)
        if not math.isclose(answer.sigma, implied, rel_tol=1e-9):
            raise ArtefactError(
                f"the noise of an answer ({query.stage}: {answer.sigma:.6g}) is not the "
                f"{implied:.6g} that its cost implies"
            )

    def _implied(self, query: Query, answer: Answer) -> float:
        """The noise that the cost of a query implies."""
        return self.calibration.sigma(query.share, len(query.cell_maps))

    def check_end(self) -> None:
        if self.position < len(self.transcript.answers):
            raise ArtefactError("the transcript goes on after the model is complete")


def _fits(query: Query, answer: Answer) -> bool:
    """Whether an answer has the shape of one to this query."""
    count, values = len(query.cell_maps), answer.values
    shapes: list[tuple[int, ...]] = [(count,)]
    if isinstance(query, Tables):
        shapes = [tuple(key.shape) for key in query.cell_maps]
    elif isinstance(query, Discovery):
        shapes = [(len(labels) + 1,) for labels in answer.labels]
        if len(shapes) != count:
            return False
    return len(values) == len(shapes) and all(map(counts, values, shapes))


def counts(values: Any, shape: tuple[int, ...]) -> bool:
    """Whether an array holds whole numbers, of this shape and of a size that can be."""
    return (
        isinstance(values, np.ndarray)
        and values.dtype == np.int64
        and values.shape == shape
        and bool(np.all((values <= LARGEST_COUNT) & (values >= -LARGEST_COUNT)))
    )
