"""Who holds rows: whoever can count them in the cells of public cell maps.

A cell map is a pure function of a chunk of rows, can be pickled and holds nothing private. Counts
of chunks add up, however the rows are cut into chunks, since the cell of a row depends on that row
alone: on its values, and on jitter, which is a function of a seed, the column and the row's number.
So rows can be held in this process (``copula_shirley.rows.memory``), in files or by a cluster, and
each of them gives the same whole numbers.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from copula_shirley.schema.domain import FloatArray

T = TypeVar("T")
Integers = NDArray[np.int64]
RowNumbers = NDArray[np.uint64]
#: How often each category occurs, by the name of its type and itself; missing ones as ``ABSENT``.
Tally = Counter[tuple[str, Any]]
ABSENT = ("missing", None)
#: Of the generator splitmix64 (Steele, Lea and Flood 2014).
GAMMA, FIRST, SECOND = (
    np.uint64(n) for n in (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB)
)


@dataclass(frozen=True, eq=False)
class Chunk:
    """Some of the rows: all that a cell map looks at. Everything in here is private.

    By column it holds the declared cell (``codes``) and the number of each row; where the domain is
    not declared, its category out of no list (``labels``) and whether its value is missing. Row
    numbers are places in the whole table, from 0 on; ``seed`` is that of the jitter.
    """

    codes: Mapping[str, NDArray[np.int32]]
    numbers: Mapping[str, FloatArray]
    row_numbers: RowNumbers
    seed: int
    labels: Mapping[str, pd.Series] = field(default_factory=dict)
    missing: Mapping[str, NDArray[np.bool_]] = field(default_factory=dict)
    _derived: dict[Hashable, Any] = field(default_factory=dict, repr=False)

    def __len__(self) -> int:
        return len(self.row_numbers)

    def jitter(self, column: str) -> NDArray[np.float32]:
        """A number in [0, 1) for each row, uniform and independent of its values.

        The same whenever it is asked for, and in whatever chunk the row lies.
        """
        start = hashlib.sha256(f"{self.seed}:{column}".encode()).digest()[:8]
        state = np.frombuffer(start, dtype="<u8") + (self.row_numbers + np.uint64(1)) * GAMMA
        state = (state ^ (state >> np.uint64(30))) * FIRST
        state = (state ^ (state >> np.uint64(27))) * SECOND
        state ^= state >> np.uint64(31)
        # the upper 24 bits: a single-precision number has no more
        jitter: NDArray[np.float32] = (state >> np.uint64(40)).astype(np.float32)
        return jitter * np.float32(2.0**-24)

    def derived(self, what: Hashable, compute: Callable[[Chunk], T]) -> T:
        """What follows from these rows, computed once and forgotten with them."""
        if what not in self._derived:
            self._derived[what] = compute(self)
        found: T = self._derived[what]
        return found


class Named(Protocol):
    """What a question is about."""

    @property
    def names(self) -> tuple[str, ...]:
        """Columns, for people."""
        ...


class CellMap(Named, Protocol):
    """A public function from a row to a cell of a table."""

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
    """Who holds the rows. The answers are exact, so only the curator may ask.

    Who knows the ``seed`` knows the jitter of the n-th row, so it is as private as the order of
    the rows.
    """

    seed: int

    def __len__(self) -> int: ...

    def count(self, cell_map: CellMap, *, again: bool = False) -> Integers:
        """How many rows lie in each cell; ``again`` says that the same will be asked again."""
        ...

    def tally(self, label_map: LabelMap) -> Tally:
        """How many rows have each category that occurs."""
        ...
