"""Rows in pieces that are read one at a time, here or by workers: files, or a cluster. Private.

A piece is a small description of some of the rows, such as a file or a part of one. A source hands
the frames of each piece to a *work*, a function that can be sent to a worker, looks at this piece
alone and gives back sums in whole numbers; nothing else leaves a worker. Sums are added up here,
once for each piece: a piece that was tried again counts once, in whatever order they come.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, Protocol, TypeVar, runtime_checkable

import numpy as np
import pandas as pd

from copula_shirley.errors import SchemaError, ShirleyError
from copula_shirley.rows.memory import MemoryRows
from copula_shirley.rows.rows import (
    CellMap,
    Chunk,
    Integers,
    LabelMap,
    Tally,
    counted_in,
    tallied_in,
)
from copula_shirley.rows.scratch import kept_in, rows_in
from copula_shirley.rows.views import View
from copula_shirley.schema.schema import Schema

T = TypeVar("T")
#: Told the number of a piece and its frames, which are read when they are asked for.
Work = Callable[[int, Iterable[pd.DataFrame]], T]


class Piece(Protocol):
    """Some of the rows; small, and can be sent to a worker."""

    def frames(self) -> Iterable[pd.DataFrame]:
        """Its rows in the order of the table, so many at a time as fit into any memory."""
        ...


class Workers(Protocol):
    """Who does work on pieces: this process, others on this machine, or a cluster."""

    #: Whether all of them share a private folder of this machine.
    may_keep: bool

    def each(self, pieces: Sequence[Piece], work: Work[T]) -> Iterator[tuple[int, T]]:
        """What the work makes of each piece, beside its place in the list; in any order."""
        ...

    def close(self) -> None:
        """Let workers go; ``each`` calls them again."""
        ...


@runtime_checkable
class Source(Protocol):
    """Where rows are: in pieces that can be read again and again."""

    #: Whether workers are on this machine, so that pieces can be kept as numbers in a private
    #: folder when they were read and checked once.
    may_keep: bool

    @property
    def names(self) -> Sequence[str]:
        """Columns of the table, in order."""
        ...

    def each(self, work: Work[T]) -> Iterator[tuple[int, T]]:
        """What the work makes of each piece, beside the number of the piece; in any order.

        A piece may come twice, if it was tried again.
        """
        ...

    def close(self) -> None:
        """Let workers go; ``each`` may still be asked, and calls them again."""
        ...


class Parts:
    """Rows in pieces that are known beforehand; see ``Source``."""

    #: Whether rows have an order, which does not depend on other rows.
    ordered = True

    def __init__(
        self, names: Sequence[str], pieces: Sequence[Piece], workers: Workers, size: int
    ) -> None:
        self.names, self.pieces, self.workers = names, pieces, workers
        #: About how many bytes all pieces have.
        self.size = size
        self.may_keep = workers.may_keep

    def each(self, work: Work[T]) -> Iterator[tuple[int, T]]:
        return self.workers.each(self.pieces, work)

    def close(self) -> None:
        self.workers.close()


class Told:
    """A progress bar that hears of passes and rows in whatever stage asks for them."""

    def __init__(self, report: Callable[[str, float], None] | None = None) -> None:
        self.report, self.passes = report, 0
        self._stage, self._share, self._rows = "check", 0.0, 0

    def __call__(self, stage: str, share: float) -> None:
        self._stage, self._share = stage, share
        self._say(stage)

    def begin(self) -> None:
        """A pass over the rows."""
        self.passes, self._rows = self.passes + 1, 0

    def add(self, rows: int, of: int | None = None) -> None:
        """Rows of a piece that is done."""
        self._rows += rows
        whole = "" if of is None else f" of {of:,}"
        self._say(f"{self._stage}, pass {self.passes}: {self._rows:,}{whole} rows")

    def _say(self, text: str) -> None:
        if self.report is not None:
            self.report(text, self._share)


class PiecedRows:
    """The rows of a source as a view shows them; see ``copula_shirley.rows.rows.Rows``.

    In a ``folder`` they are kept as numbers, so that later passes neither read nor check them.
    """

    def __init__(
        self,
        source: Source,
        view: View,
        size: int,
        folder: Path | None = None,
        told: Told | None = None,
    ) -> None:
        self.source, self.view, self.folder, self._size = source, view, folder, size
        self._told = told or Told()
        #: How often all pieces were read.
        self.passes = 0
        self._known: list[tuple[CellMap, Integers]] = []

    @property
    def schema(self) -> Schema:
        return self.view.schema

    def __len__(self) -> int:
        return self._size

    def know(self, cell_maps: Sequence[CellMap], counts: Sequence[Integers]) -> None:
        """Keep counts until they are asked for; those that were kept before go."""
        self._known = [*zip(cell_maps, counts, strict=True)]

    def count(self, cell_maps: Sequence[CellMap], ahead: Sequence[CellMap] = ()) -> list[Integers]:
        """All tables of a query in one pass, or in none if what is kept sums up to them.

        Nobody sees what was counted ahead: it is kept here, and given out when it is asked for,
        which is when a curator has charged the query that asks.
        """
        if not all(any(_summing(one, of) for of, _ in self._known) for one in cell_maps):
            new = [one for one in cell_maps if not any(_summing(one, of) for of in ahead)]
            maps = [*ahead, *new]
            self.know(maps, self._counted(maps))
        return [self._sums(one) for one in cell_maps]

    def _sums(self, asked: CellMap) -> Integers:
        """The counts of a table, which what is kept sums up to."""
        found = ((_summing(asked, of), counts) for of, counts in self._known)
        return next(sums(counts) for sums, counts in found if sums is not None)

    def _counted(self, cell_maps: Sequence[CellMap]) -> list[Integers]:
        """Counts by one pass over all pieces."""
        self.passes += 1
        self._told.begin()
        totals = [np.zeros(one.shape, dtype=np.int64) for one in cell_maps]
        work = Counting(self.view, self.folder, tuple(cell_maps))
        for _, found in once_each(self.source, work):
            for total, counts in zip(totals, found, strict=True):
                np.add(total, counts, out=total)
            self._told.add(int(found[0].sum()) if found else 0, len(self))
        if any(total.sum() != len(self) for total in totals):
            raise SchemaError("the rows have changed since they were checked; fit again")
        return totals

    def tally(self, label_maps: Sequence[LabelMap]) -> list[Tally]:
        self.passes += 1
        self._told.begin()
        totals: list[Tally] = [Counter() for _ in label_maps]
        for _, found in once_each(self.source, Tallying(self.view, tuple(label_maps))):
            for total, tally in zip(totals, found, strict=True):
                total.update(tally)
            self._told.add(found[0].total() if found else 0, len(self))
        return totals


@dataclass(frozen=True)
class Counting:
    """The work of a pass that counts."""

    view: View
    folder: Path | None
    cell_maps: Sequence[CellMap]

    def __call__(self, number: int, frames: Iterable[pd.DataFrame]) -> list[Integers]:
        rows = rows_shown(self.view, number, frames, self.folder)
        return counted_in(chunks_of(rows), self.cell_maps)


@dataclass(frozen=True)
class Tallying:
    """The work of a pass that tallies."""

    view: View
    label_maps: Sequence[LabelMap]

    def __call__(self, number: int, frames: Iterable[pd.DataFrame]) -> list[Tally]:
        return tallied_in(chunks_of(rows_shown(self.view, number, frames)), self.label_maps)


def _summing(asked: CellMap, of: CellMap) -> Callable[[Integers], Integers] | None:
    """What makes the counts of one table of those of another one; None if nothing does."""
    if asked is of:
        return np.copy
    summing = getattr(asked, "summing", None)
    return None if summing is None else summing(of)


def rows_shown(
    view: View,
    number: int,
    frames: Iterable[pd.DataFrame],
    folder: Path | None = None,
    *,
    anew: bool = False,
) -> Iterator[MemoryRows]:
    """The rows of a piece; from the folder if they are kept there, else they are put there.

    ``anew`` reads them and puts them there in any case: a piece may be checked twice, if the worker
    died that had checked it.
    """
    found = (view(frame) for frame in frames if len(frame))
    if folder is None or not folder.exists():
        return found
    path = folder / str(number)
    known = path.exists() and not anew
    return rows_in(path, view.schema) if known else kept_in(path, found, view.schema)


def chunks_of(rows: Iterable[MemoryRows]) -> Iterator[Chunk]:
    return chain.from_iterable(one.chunks for one in rows)


def once_each(source: Source, work: Work[T]) -> Iterator[tuple[int, T]]:
    """What the work makes of each piece, beside its number; once for each."""
    done: set[int] = set()
    for number, found in source.each(Guarded(work)):
        if number not in done:
            done.add(number)
            yield number, found


def tried(work: Work[T], number: int, frames: Iterable[pd.DataFrame]) -> T | ShirleyError:
    """What a guarded work makes of a piece, or its error as a value.

    Of an error that is raised a cluster writes to its logs what the work was given: rows.
    """
    try:
        return work(number, frames)
    except ShirleyError as error:
        return type(error)(str(error))


def not_failed(found: T | ShirleyError) -> T:
    """What ``tried`` gave, here."""
    if isinstance(found, ShirleyError):
        raise found
    return found


@dataclass(frozen=True)
class Guarded:
    """A work whose errors quote no value: a cluster writes them into its logs."""

    work: Work[Any]

    def __call__(self, number: int, frames: Iterable[pd.DataFrame]) -> Any:
        try:
            return self.work(number, frames)
        except ShirleyError:
            raise
        except Exception as error:  # of pandas or Arrow; its text may quote a value
            failed = type(error).__name__
        # outside of the handler, so that no context carries the value
        raise SchemaError(f"piece {number + 1} of the rows cannot be read ({failed})")
