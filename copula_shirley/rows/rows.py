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
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from copula_shirley.schema.domain import FloatArray

T = TypeVar("T")
Integers = NDArray[np.int64]
#: How often each category occurs, by the name of its type and itself; missing ones as ``ABSENT``.
Tally = Counter[tuple[str, Any]]
ABSENT = ("missing", None)


@dataclass(frozen=True, eq=False)
class Chunk:
    """Some of the rows: all that a cell map looks at. Everything in here is private.

    By column it holds the declared cell (``codes``) and the number of each row; where the domain is
    not declared, its category out of no list (``labels``) and whether its value is missing.
    """

    codes: Mapping[str, NDArray[np.int32]]
    numbers: Mapping[str, FloatArray]
    labels: Mapping[str, pd.Series] = field(default_factory=dict)
    missing: Mapping[str, NDArray[np.bool_]] = field(default_factory=dict)
    _derived: dict[str, tuple[Hashable, Any]] = field(default_factory=dict, repr=False)

    def __len__(self) -> int:
        parts = (self.numbers, self.codes, self.labels)
        return next(len(values) for part in parts for values in part.values())

    def derived(self, column: str, what: Hashable, compute: Callable[[Chunk], T]) -> T:
        """What follows from a column, computed once until something else is asked of it."""
        if column not in self._derived or self._derived[column][0] is not what:
            self._derived[column] = what, compute(self)
        found: T = self._derived[column][1]
        return found


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
