"""What an algorithm may ask about the rows: queries about public cell maps.

An algorithm is a Python generator: it yields a query and is sent the noisy answer (``Queries``).
So it is a function of public settings and of the answers alone.
"""

from __future__ import annotations

from collections.abc import Generator as Coroutine
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from copula_shirley.privacy.ledger import Sensitivity
from copula_shirley.rows.rows import CellMap, Chunk, Integers, LabelMap, Named

if TYPE_CHECKING:
    from copula_shirley.measure.transcript import Answer

T = TypeVar("T")


class Statistic(Named, Protocol):
    """A public function from all rows to whole numbers."""

    @property
    def reach(self) -> Sensitivity:
        """The most by which one unit changes all numbers together; of scores, each of them."""
        ...

    def numbers(self, rows: Any) -> Integers: ...


@dataclass(frozen=True)
class Query:
    """What is asked, and the share of the budget that it may cost."""

    #: What stands in the ledger, about so many cell maps.
    words: ClassVar[str] = "{} tables"
    stage: str
    cell_maps: Sequence[Any]
    share: float
    #: Stands in the ledger in place of ``words``.
    what: str = field(default="", kw_only=True)

    @property
    def in_words(self) -> str:
        return self.what or self.words.format(len(self.cell_maps))


@dataclass(frozen=True)
class Tables(Query):
    """Counts of several tables.

    Later queries will ask about those ``ahead``, or about sums of them, which is public by now: who
    reads the rows anew in each pass can count all of them in one. Nothing is charged for these, and
    nobody sees their counts, before a query asks.
    """

    cell_maps: Sequence[CellMap]
    ahead: Sequence[CellMap] = field(default=(), kw_only=True, compare=False)


@dataclass(frozen=True)
class Discovery(Query):
    """The categories of several columns that more than a few units have."""

    words: ClassVar[str] = "categories of {} columns"
    cell_maps: Sequence[LabelMap]


@dataclass(frozen=True)
class Numbers(Query):
    """The numbers of one statistic, which takes the place of a cell map."""

    cell_maps: Sequence[Statistic]


@dataclass(frozen=True)
class Best(Query):
    """The position of a high score; the scores are one statistic, in the place of a cell map."""

    cell_maps: Sequence[Statistic]


@dataclass(frozen=True)
class Declared:
    """Cell map of declared cells; of no column: the number of rows."""

    names: tuple[str, ...]
    shape: tuple[int, ...]

    def cells(self, chunk: Chunk) -> NDArray[np.intp]:
        if self.names == ("rows",):
            return np.zeros(len(chunk), dtype=np.intp)
        codes = [chunk.codes[name] for name in self.names]
        return np.asarray(np.ravel_multi_index(codes, self.shape), dtype=np.intp)


#: An algorithm that yields queries, is sent answers and returns what it learnt.
Queries = Coroutine[Query, "Answer", T]
