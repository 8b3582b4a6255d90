"""What an algorithm may ask about the rows: queries about public cell maps.

An algorithm is a Python generator: it yields a query and is sent the noisy answer (``Queries``).
So it is a function of public settings and of the answers alone.
"""

from __future__ import annotations

from collections.abc import Generator as Coroutine
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from copula_shirley.rows.rows import CellMap, Integers, LabelMap

if TYPE_CHECKING:
    from copula_shirley.measure.transcript import Answer

T = TypeVar("T")


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
