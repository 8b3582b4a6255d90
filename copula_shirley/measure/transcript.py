"""Every noisy answer about the rows, and how an algorithm is driven by them.

``run`` drives an algorithm with answers about rows; ``replay`` drives it with the answers of a
transcript and gives the same model bit for bit.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from copula_shirley.errors import ArtefactError
from copula_shirley.files.archive import MOST_MEMBERS
from copula_shirley.measure.queries import Choice, Discovery, Queries, Query, Tables
from copula_shirley.privacy.noise import Integers

T = TypeVar("T")
#: Whole numbers of a transcript are exact as floats, in which models are estimated.
LARGEST_COUNT = 2**53


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
            "what": [list(key.names) for key in query.cell_maps],
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


class Answerer(Protocol):
    """Whoever answers queries: a curator, or a test."""

    def answer(self, query: Query) -> Answer:
        """Answer one query."""
        ...


def run(asking: Queries[T], curator: Answerer) -> T:
    """Drive an algorithm with answers about rows."""
    try:
        query = next(asking)
        while True:
            query = asking.send(curator.answer(query))
    except StopIteration as end:
        result: T = end.value
        return result


def replay(asking: Queries[T], transcript: Transcript, start: int = 0) -> tuple[T, int]:
    """Drive an algorithm with the answers of a transcript; no row is needed.

    Returns its result and the position of the first answer that it did not ask for.
    """
    position = start
    try:
        query = next(asking)
        while position < len(transcript.answers):
            about, answer = transcript.queries[position], transcript.answers[position]
            if about["kind"] != type(query).__name__ or about["stage"] != query.stage:
                raise ArtefactError("the transcript does not belong to these settings")
            _check_answer(query, about, answer)
            position += 1
            query = asking.send(answer)
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
    if type(about["tables"]) is not int or not 0 <= about["tables"] <= MOST_MEMBERS:
        raise ArtefactError("a query must say how many tables it has")
    for labels in about["labels"]:
        if not all(isinstance(label, str | int | float | bool) for label in labels):
            raise ArtefactError("labels of a query must be texts or numbers")


def _check_answer(query: Query, about: dict[str, Any], answer: Answer) -> None:
    """Refuse an answer that cannot be one to this query."""
    count = len(query.cell_maps)
    fits = about["what"] == [list(key.names) for key in query.cell_maps]
    fits = fits and math.isclose(about["share"], query.share, rel_tol=1e-9)
    values = answer.values
    if isinstance(query, Tables):
        shapes = [tuple(key.shape) for key in query.cell_maps]
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


def counts(values: Any, shape: tuple[int, ...]) -> bool:
    """Whether an array holds whole numbers, of this shape and of a size that can be."""
    return (
        isinstance(values, np.ndarray)
        and values.dtype == np.int64
        and values.shape == shape
        and bool(np.all((values <= LARGEST_COUNT) & (values >= -LARGEST_COUNT)))
    )
