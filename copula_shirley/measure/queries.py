"""What an algorithm may ask about the rows: queries about public cell maps.

An algorithm is a Python generator: it yields a query and is sent the noisy answer (``Queries``).
So it is a function of public settings and of the answers alone.
"""

from __future__ import annotations

from collections.abc import Generator as Coroutine
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from copula_shirley.privacy.noise import Integers

if TYPE_CHECKING:
    from copula_shirley.measure.transcript import Answer

T = TypeVar("T")


class Named(Protocol):
    """What a question is about."""

    @property
    def names(self) -> tuple[str, ...]:
        """Columns that it looks at, for people."""
        ...


class CellMap(Named, Protocol):
    """A public function from a row to a cell of a table."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Cells along each axis of the table."""
        ...

    def cells(self, records: Any) -> NDArray[np.intp]:
        """The cell of each row, as one number."""
        ...


class LabelMap(Named, Protocol):
    """A public function from a row to a category out of no list."""

    def labels(self, records: Any) -> tuple[Any, int]:
        """Categories of the rows that have one, and the number of missing values."""
        ...


@dataclass(frozen=True)
class Query:
    """What is asked, and the share of the budget that it may cost."""

    stage: str
    cell_maps: Sequence[Any]
    share: float


@dataclass(frozen=True)
class Tables(Query):
    """Counts of several tables."""

    cell_maps: Sequence[CellMap]


@dataclass(frozen=True)
class Discovery(Query):
    """The categories of several columns that more than a few units have."""

    cell_maps: Sequence[LabelMap]


@dataclass(frozen=True)
class Distances(Query):
    """L1 distances of several tables to public tables of whole numbers."""

    cell_maps: Sequence[CellMap]
    guesses: Sequence[Integers]


@dataclass(frozen=True)
class Choice(Query):
    """Several tables that are far from public ones, a handicap taken off each distance."""

    cell_maps: Sequence[CellMap]
    guesses: Sequence[Integers]
    handicaps: Integers
    count: int


#: An algorithm that yields queries, is sent answers and returns what it learnt.
Queries = Coroutine[Query, "Answer", T]
