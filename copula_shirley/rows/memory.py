"""Rows in the memory of this process, with all that is computed from them. Private."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import cached_property, partial
from typing import Any, TypeVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from copula_shirley.rows.rows import (
    CellMap,
    Chunk,
    Integers,
    LabelMap,
    Lazily,
    Places,
    Tally,
    Whole,
    counted_in,
    tallied_in,
)
from copula_shirley.schema.domain import FloatArray
from copula_shirley.schema.schema import Schema

T = TypeVar("T")
#: Rows that are counted together: columns of so many stay in the processor's cache.
CHUNK = 2**16
#: What the declared cells of a column are known by.
CELLS = object()


def mark_of(table: pd.DataFrame) -> int:
    """A sum over rows by which the same rows are known again; marks of parts add up.

    It carries no noise: it is as private as the rows.
    """
    return int(pd.util.hash_pandas_object(table, index=False).to_numpy().sum(dtype=np.uint64))


class MemoryRows:
    """A validated table as numbers per column, and whose row each is (by default its own).

    ``codes`` are the cells of the rows, by default of the declared domain; ``labels`` and
    ``missing`` as in ``Chunk``.
    """

    def __init__(
        self,
        schema: Schema,
        numbers: Mapping[str, FloatArray],
        units: NDArray[np.intp] | None = None,
        *,
        codes: Mapping[str, Whole] | None = None,
        labels: Mapping[str, pd.Series] | None = None,
        missing: Mapping[str, NDArray[np.bool_]] | None = None,
        places: Mapping[str, Places] | None = None,
    ) -> None:
        size = next(len(values) for part in (numbers, labels or {}) for values in part.values())
        self.schema = schema
        self.numbers = numbers
        self.units = np.arange(size) if units is None else units
        self.labels, self.missing, self.places = labels or {}, missing or {}, places or {}
        if codes is not None:
            self.codes = codes
        self._derived: dict[Hashable, Any] = {}

    @classmethod
    def of(cls, table: pd.DataFrame, schema: Schema) -> MemoryRows:
        """The rows of a table that fits the schema."""
        numbers = {c.name: c.domain.to_numbers(table[c.name]) for c in schema}
        return cls(schema, numbers, schema.people(table))

    def __len__(self) -> int:
        return len(self.units)

    def derived(self, what: Hashable, compute: Callable[[], T]) -> T:
        """What follows from all rows, computed once and forgotten with them."""
        if what not in self._derived:
            self._derived[what] = compute()
        found: T = self._derived[what]
        return found

    def take(self, positions: NDArray[np.intp]) -> dict[str, FloatArray]:
        """The numbers of some of the rows."""
        return {name: values[positions] for name, values in self.numbers.items()}

    @cached_property
    def codes(self) -> Mapping[str, Whole]:
        """The cell of each row, by column; short numbers, since there are many."""
        # not bound to these rows, which a cycle would keep in memory when they were counted
        make = partial(_cells, self.schema, self.numbers, self.places)
        return Lazily(self.schema.names, make)

    def chunk(self, start: int = 0, stop: int | None = None) -> Chunk:
        """The rows from one place to another; all of them by default."""
        part, codes, numbers = slice(start, stop), self.codes, self.numbers
        return Chunk(
            Lazily(codes.keys(), lambda name: codes[name][part]),
            Lazily(numbers.keys(), lambda name: numbers[name][part]),
            {name: values.iloc[part] for name, values in self.labels.items()},
            {name: values[part] for name, values in self.missing.items()},
            {name: Places(held.places[part], held.few) for name, held in self.places.items()},
        )

    @cached_property
    def chunks(self) -> list[Chunk]:
        """All rows, so many at a time that the processor's cache holds a column of them."""
        starts = range(0, max(len(self), 1), CHUNK)
        return [self.chunk(start, start + CHUNK) for start in starts]

    # -- what a curator asks: see ``copula_shirley.rows.rows.Rows`` --------------------

    def count(self, cell_maps: Sequence[CellMap], ahead: Sequence[CellMap] = ()) -> list[Integers]:
        return counted_in(self.chunks, cell_maps)

    def tally(self, label_maps: Sequence[LabelMap]) -> list[Tally]:
        return tallied_in(self.chunks, label_maps)


def _cells(
    schema: Schema, numbers: Mapping[str, FloatArray], places: Mapping[str, Places], name: str
) -> Whole:
    """The declared cell of each row, for one column."""
    column = schema[name]

    def index(values: FloatArray) -> Whole:
        return column.domain.cells().index(values).astype(np.int32)

    return places[name].mapped(CELLS, index) if name in places else index(numbers[name])
