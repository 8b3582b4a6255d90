"""Tables that were checked against a schema: in memory, or in pieces. Private."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pandas as pd

from copula_shirley.errors import SchemaError
from copula_shirley.rows.memory import MemoryRows, mark_of
from copula_shirley.rows.pieces import (
    PiecedRows,
    Source,
    View,
    chunks_of,
    once_each,
    rows_shown,
)
from copula_shirley.rows.rows import CellMap, Integers, Rows, counted_in
from copula_shirley.rows.scratch import Scratch
from copula_shirley.rules.coordinates import Coordinates
from copula_shirley.schema.schema import OnUnknown, Schema

#: Problems that an error names.
NAMED = 5


class Held(Protocol):
    """A table that fits its schema, of which nobody gets hold."""

    @property
    def schema(self) -> Schema:
        """What the table fits."""
        ...

    @property
    def on_unknown(self) -> Any:
        """What was done with other values."""
        ...

    @property
    def names(self) -> Sequence[str]:
        """Columns of the table, in order."""
        ...

    @property
    def rows(self) -> int:
        """How many rows there are, which may be private."""
        ...

    @property
    def given(self) -> Any:
        """The table, to be admitted once more."""
        ...

    @property
    def mark(self) -> int | None:
        """By what the rows are known again; None if nobody asked for it. It is private."""
        ...

    def seen(self, view: View, *, lasting: bool = False) -> Rows:
        """The rows as a view shows them; one that is asked most is kept as numbers."""
        ...

    def first_row(self, coordinates: Coordinates) -> pd.DataFrame:
        """Columns as they enter a model, and others as they stand in the table: their dtypes."""
        ...

    def close(self) -> None:
        """After a fit: remove what was kept of the rows beside the table itself."""
        ...


@dataclass(frozen=True, eq=False)
class Admitted:
    """A validated copy of a table, the schema that it fits, and what was done with other values.

    Nobody gets hold of the copy: in a changed one a person could have more than ``max_rows`` rows.
    """

    _table: pd.DataFrame
    schema: Schema
    on_unknown: Any

    @property
    def table(self) -> pd.DataFrame:
        return self._table.copy()

    @property
    def given(self) -> pd.DataFrame:
        return self._table

    @property
    def mark(self) -> int:
        return mark_of(self.schema.without_left_out(self._table))

    @property
    def names(self) -> Sequence[str]:
        return [str(name) for name in self._table.columns]

    @property
    def rows(self) -> int:
        return len(self._table)

    def seen(self, view: View, *, lasting: bool = False) -> MemoryRows:
        return view(self.schema.without_left_out(self._table))

    def first_row(self, coordinates: Coordinates) -> pd.DataFrame:
        first = self.schema.without_left_out(self._table[:1])
        entered = coordinates.entered(first)
        return entered.assign(**{n: first[n] for n in self.schema.names if n not in entered})

    def close(self) -> None:
        """Nothing was kept."""


@dataclass(frozen=True)
class Admission:
    """What a fit does with rows before it learns from them: a public map of each row by itself."""

    schema: Schema
    coordinates: Coordinates
    on_unknown: OnUnknown
    show_values: bool
    #: Columns whose values are looked at; the domain of others is measured.
    looked_at: tuple[str, ...]
    #: Whether rows shall be known again.
    marked: bool = False

    def whole(self, table: pd.DataFrame) -> pd.DataFrame:
        """The table, or one error before anything is spent."""
        return self.coordinates.enforced(self._validated(table, self.looked_at))

    def part(self, frame: pd.DataFrame) -> tuple[pd.DataFrame, set[str], set[str]]:
        """The rows of a part of the table from which a model learns, and all that is wrong.

        That is what is wrong with columns, and which rules are broken that must not be.
        """
        try:
            table = self._validated(frame, self.looked_at)
        except SchemaError:
            return frame[:0], self._problems(frame), set()
        kept, wrong = self.coordinates.kept_rows(table)
        if wrong and self.schema.on_broken == "refuse":
            return kept[:0], set(), set(wrong)
        return self.schema.without_left_out(kept), set(), set(wrong)

    def _problems(self, frame: pd.DataFrame) -> set[str]:
        found = set()
        for name in self.looked_at:
            try:
                self._validated(frame, [name])
            except SchemaError as error:
                found.add(str(error))
        return found

    def check(self, found: Checked) -> None:
        """Refuse a table by one error that names all that is wrong with its pieces."""
        if found.problems:
            place = {f"column {name!r}": i for i, name in enumerate(self.schema.names)}
            texts = sorted(
                found.problems, key=lambda text: (place.get(text.partition(":")[0], -1), text)
            )
            more = f"; and {len(texts) - NAMED} more" if len(texts) > NAMED else ""
            raise SchemaError("; ".join(texts[:NAMED]) + more)
        if found.rows == 0:
            raise SchemaError("the table has no rows; at least one is needed")
        self.coordinates.check_kept(found.broken, found.kept)

    def _validated(self, frame: pd.DataFrame, names: Iterable[str]) -> pd.DataFrame:
        show = self.show_values
        return self.schema.validate(
            frame, on_unknown=self.on_unknown, show_values=show, names=names
        )


@dataclass(frozen=True)
class Through:
    """A view of the rows that a table admits."""

    admission: Admission
    view: View

    @property
    def schema(self) -> Schema:
        return self.view.schema

    def __call__(self, frame: pd.DataFrame) -> MemoryRows:
        return self.view(self.admission.part(frame)[0])


@dataclass
class Checked:
    """What pieces are like: rows, those that are learnt from, and all that is wrong."""

    rows: int = 0
    kept: int = 0
    problems: set[str] = field(default_factory=set)
    broken: set[str] = field(default_factory=set)
    counts: list[Integers] = field(default_factory=list)
    #: See ``rows.memory.mark_of``.
    mark: int = 0

    def add(self, other: Checked) -> None:
        self.rows += other.rows
        self.kept += other.kept
        self.problems |= other.problems
        self.broken |= other.broken
        self.mark = (self.mark + other.mark) % 2**64
        self.counts = [a + b for a, b in zip(self.counts, other.counts, strict=True)]


@dataclass(frozen=True)
class Checking:
    """The work of the first pass: it checks, and keeps and counts what is asked in any case.

    Without a view, where the domain of a column is measured, it checks alone.
    """

    admission: Admission
    view: View | None
    cell_maps: Sequence[CellMap]
    folder: Path | None

    def __call__(self, number: int, frames: Iterable[pd.DataFrame]) -> Checked:
        found = Checked()

        def good() -> Iterator[pd.DataFrame]:
            for frame in frames:
                if len(frame):
                    kept, problems, broken = self.admission.part(frame)
                    mark = mark_of(kept) if self.admission.marked else 0
                    found.add(Checked(len(frame), len(kept), problems, broken, mark=mark))
                    yield kept

        if self.view is None:
            for _ in good():
                pass
            return found
        chunks = chunks_of(rows_shown(self.view, number, good(), self.folder))
        found.counts = counted_in(chunks, self.cell_maps)
        return found


class AdmittedPieces:
    """A source that was checked in one pass, in which a fit's first tables were counted, too.

    Nobody has seen these counts: they stay here until a curator has charged the query about them.
    """

    def __init__(
        self,
        source: Source,
        admission: Admission,
        view: View | None = None,
        cell_maps: Sequence[CellMap] = (),
    ) -> None:
        self.given, self._admission = source, admission
        self.schema, self.on_unknown = admission.schema, admission.on_unknown
        self._scratch = Scratch() if source.may_keep else None
        self._first, folder = view, self._folder(view)
        try:
            found = self._checked(Checking(admission, view, tuple(cell_maps), folder))
        except BaseException:
            self.close()
            raise
        #: Rows of the table, and those that are learnt from.
        self.before, self.rows = found.rows, found.kept
        self.mark = found.mark if admission.marked else None
        self._seen = None if view is None else self._rows(view, folder)
        if self._seen is not None:
            self._seen.know(cell_maps, found.counts)

    def _checked(self, work: Checking) -> Checked:
        found = Checked(counts=[np.zeros(one.shape, dtype=np.int64) for one in work.cell_maps])
        for one in once_each(self.given, work):
            found.add(one)
        self._admission.check(found)
        return found

    @property
    def names(self) -> Sequence[str]:
        return self.given.names

    def _folder(self, view: View | None) -> Path | None:
        return None if view is None or self._scratch is None else self._scratch.folder()

    def _rows(self, view: View, folder: Path | None) -> PiecedRows:
        return PiecedRows(self.given, Through(self._admission, view), self.rows, folder)

    def seen(self, view: View, *, lasting: bool = False) -> PiecedRows:
        if self._seen is not None and view == self._first:
            return self._seen
        return self._rows(view, self._folder(view) if lasting else None)

    def first_row(self, coordinates: Coordinates) -> pd.DataFrame:
        """Of no row, as the schema declares it: pieces may differ in how they store a column."""
        kinds = {column.name: column.domain for column in coordinates.schema}
        none = np.empty(0)
        return pd.DataFrame({n: k.from_numbers(none, k.private_storage) for n, k in kinds.items()})

    def close(self) -> None:
        self.given.close()
        if self._scratch is not None:
            self._scratch.close()
