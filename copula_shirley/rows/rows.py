"""Who holds rows: whoever can count them in the cells of public cell maps.

A cell map is a pure function of a chunk of rows, can be pickled and holds nothing private. Counts
of chunks add up, however the rows are cut into chunks, since the cell of a row depends on that row
alone. So rows can be held in this process (``copula_shirley.rows.memory``), in files or by a
cluster, and each of them gives the same whole numbers. All of them count a chunk by the same
functions, ``counted`` and ``tallied``, and add up what these give.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from operator import is_
from typing import Any, Protocol, TypeVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from copula_shirley.schema.domain import FloatArray

T = TypeVar("T")
Integers = NDArray[np.int64]
Whole = NDArray[np.integer[Any]]
#: Functions of which a column of few numbers keeps what they make.
MOST_KNOWN = 16
#: How often each category occurs, by the name of its type and itself; missing ones as ``ABSENT``.
Tally = Counter[tuple[str, Any]]
ABSENT = ("missing", None)


@dataclass(frozen=True, eq=False)
class Chunk:
    """Some of the rows: all that a cell map looks at. Everything in here is private.

    By column it holds the declared cell (``codes``) and the number of each row; where the domain is
    not declared, its category out of no list (``labels``) and whether its value is missing.
    """

    codes: Mapping[str, Whole]
    numbers: Mapping[str, FloatArray]
    labels: Mapping[str, pd.Series] = field(default_factory=dict)
    missing: Mapping[str, NDArray[np.bool_]] = field(default_factory=dict)
    #: Columns that are held as places among few numbers; ``numbers`` has them, too.
    places: Mapping[str, Places] = field(default_factory=dict)
    _derived: dict[Hashable, tuple[tuple[Any, ...], Any]] = field(default_factory=dict, repr=False)

    def __len__(self) -> int:
        parts = (self.numbers, self.codes, self.labels)
        return next(len(values) for part in parts for values in part.values())

    def derived(self, about: Hashable, what: tuple[Any, ...], compute: Callable[[Chunk], T]) -> T:
        """What follows from a column, computed once until it is asked about other objects."""
        if about not in self._derived or not same(self._derived[about][0], what):
            self._derived[about] = what, compute(self)
        found: T = self._derived[about][1]
        return found

    def mapped(self, column: str, what: Any, of: Callable[[FloatArray], Whole]) -> Whole:
        """Of each row what a function makes of its number: of few numbers it is made once each."""
        if column in self.places:
            return self.places[column].mapped(what, of)
        return of(self.numbers[column])


@dataclass(frozen=True, eq=False)
class Places:
    """A column as the place of each row's number among few."""

    places: NDArray[np.unsignedinteger[Any]]
    few: Few

    def mapped(self, what: Any, of: Callable[[FloatArray], Whole]) -> Whole:
        found: Whole = self.few.mapped(what, of)[self.places]
        return found

    @property
    def numbers(self) -> FloatArray:
        found: FloatArray = self.few.numbers[self.places]
        return found


class Few:
    """The numbers of a column of few, which are public, and what functions make of them."""

    def __init__(self, numbers: FloatArray) -> None:
        self.numbers = numbers
        self._known: dict[int, tuple[Any, Whole]] = {}

    def mapped(self, what: Any, of: Callable[[FloatArray], Whole]) -> Whole:
        if id(what) not in self._known:
            if len(self._known) == MOST_KNOWN:
                self._known.clear()
            self._known[id(what)] = what, of(self.numbers)  # which keeps its id
        return self._known[id(what)][1]


class Lazily(Mapping[str, T]):
    """A mapping whose values are made when they are asked for."""

    def __init__(self, names: Collection[str], make: Callable[[str], T]) -> None:
        self._names, self._make = names, make
        self._made: dict[str, T] = {}

    def __getitem__(self, name: str) -> T:
        if name not in self._made:
            if name not in self._names:
                raise KeyError(name)
            self._made[name] = self._make(name)
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


class Named(Protocol):
    """What a question is about."""

    @property
    def names(self) -> tuple[str, ...]:
        """Columns, for people."""
        ...


class CellMap(Named, Protocol):
    """A public function from a row to a cell of a table.

    It may have a method ``summing(other)``, which gives what makes the counts of its table of those
    of another one's, or None if these are no sums of those.
    """

    @property
    def shape(self) -> tuple[int, ...]:
        """Cells along each axis of the table."""
        ...

    def cells(self, chunk: Chunk) -> NDArray[np.integer[Any]]:
        """The cell of each row, as one number."""
        ...


class LabelMap(Named, Protocol):
    """A public function from a row to a category out of no list."""

    def labels(self, chunk: Chunk) -> tuple[Any, int]:
        """Categories of the rows that have one, and the number of missing values."""
        ...


class Rows(Protocol):
    """Who holds the rows. The answers are exact, so only the curator may ask."""

    def __len__(self) -> int: ...

    def count(self, cell_maps: Sequence[CellMap], ahead: Sequence[CellMap] = ()) -> list[Integers]:
        """How many rows lie in each cell of each table; all of them in one pass over the rows.

        Who reads rows again in each pass may count what will be asked next in the same one
        (``ahead``), and keeps that until it is asked.
        """
        ...

    def tally(self, label_maps: Sequence[LabelMap]) -> list[Tally]:
        """How many rows have each category that occurs, by label map; all in one pass."""
        ...


# -- one chunk ------------------------------------------------------------------------


def same(some: tuple[Any, ...], others: tuple[Any, ...]) -> bool:
    """Whether these are the very same objects."""
    return len(some) == len(others) and all(map(is_, some, others))


def counted(chunk: Chunk, cell_maps: Sequence[CellMap]) -> list[Integers]:
    """How many rows of a chunk lie in each cell of each table, whose cells are in one line."""
    tables = []
    for one in cell_maps:
        counts = np.bincount(one.cells(chunk), minlength=math.prod(one.shape))
        tables.append(counts.astype(np.int64, copy=False))
    return tables


def tallied(chunk: Chunk, label_maps: Sequence[LabelMap]) -> list[Tally]:
    """How many rows of a chunk have each category that occurs, by label map."""
    tallies = []
    for one in label_maps:
        labels, missing = one.labels(chunk)
        found = Counter((type(label).__name__, label) for label in labels)
        found[ABSENT] += missing
        tallies.append(found)
    return tallies


# -- their sums -----------------------------------------------------------------------


def counted_in(chunks: Iterable[Chunk], cell_maps: Sequence[CellMap]) -> list[Integers]:
    """How many rows of all chunks lie in each cell of each table."""
    totals = [np.zeros(math.prod(one.shape), dtype=np.int64) for one in cell_maps]
    for chunk in chunks:
        for total, counts in zip(totals, counted(chunk, cell_maps), strict=True):
            np.add(total, counts, out=total)
    return [t.reshape(one.shape) for t, one in zip(totals, cell_maps, strict=True)]


def tallied_in(chunks: Iterable[Chunk], label_maps: Sequence[LabelMap]) -> list[Tally]:
    """How many rows of all chunks have each category that occurs, by label map."""
    totals: list[Tally] = [Counter() for _ in label_maps]
    for chunk in chunks:
        for total, found in zip(totals, tallied(chunk, label_maps), strict=True):
            total.update(found)
    return totals
