"""Tables that were checked against a schema: in memory, or in pieces. Private."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pandas as pd

from copula_shirley.errors import SchemaError
from copula_shirley.rows.admission import Admission, Checked
from copula_shirley.rows.gathering import People
from copula_shirley.rows.memory import MemoryRows, mark_of
from copula_shirley.rows.pieces import (
    Parts,
    PiecedRows,
    Source,
    Told,
    chunks_of,
    once_each,
    rows_shown,
)
from copula_shirley.rows.rows import CellMap, Rows, counted_in
from copula_shirley.rows.scratch import Scratch
from copula_shirley.rows.views import View
from copula_shirley.rules.coordinates import Coordinates
from copula_shirley.schema.schema import Schema


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

    def telling(self, report: Callable[[str, float], None]) -> Callable[[str, float], None]:
        """A progress bar that is told of passes and rows, too, where there are any."""
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
    #: Rows of the table, those included that are not learnt from.
    before: int

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

    def telling(self, report: Callable[[str, float], None]) -> Callable[[str, float], None]:
        return report

    def close(self) -> None:
        """Nothing was kept."""


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
        chunks = chunks_of(rows_shown(self.view, number, good(), self.folder, anew=True))
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
        report: Callable[[str, float], None] | None = None,
    ) -> None:
        self._told = Told(report)
        self.given, self._source, self._admission = source, source, admission
        self.schema, self.on_unknown = admission.schema, admission.on_unknown
        self._scratch = Scratch() if source.may_keep else None
        self._first, folder = view, self._folder(view)
        try:
            if admission.schema.person is not None:
                self._source = self._people(source)
            found = self._checked(Checking(admission, view, tuple(cell_maps), folder))
        except BaseException:
            self.close()
            raise
        #: Rows of the table, and those that are learnt from.
        self.before, self.rows = getattr(self._source, "before", found.rows), found.kept
        self.mark = found.mark if admission.marked else None
        self._seen = None if view is None else self._rows(view, folder)
        if self._seen is not None:
            self._seen.know(cell_maps, found.counts)

    def _people(self, source: Source) -> Source:
        """The rows with those of each person together."""
        if self._scratch is None or not isinstance(source, Parts):
            raise SchemaError(
                f"person column {self.schema.person!r}: rows of a person in several pieces are "
                "brought together in a private folder, which the workers of this cluster do not "
                "share; write the rows to Parquet files and read them on one machine (--engine "
                "files)"
            )
        chooses = "clip" if self.on_unknown == "clip" else self.schema.on_broken
        if not source.ordered and chooses != "refuse":
            raise SchemaError(
                f"person column {self.schema.person!r}: these rows have no order, so that nobody "
                f"can say which of a person's rows are the first ({chooses!r}); with 'refuse' for "
                "on_unknown and on_broken that does not matter"
            )
        return People(source, self._admission, self._scratch.folder())

    def _checked(self, work: Checking) -> Checked:
        found = Checked(counts=[np.zeros(one.shape, dtype=np.int64) for one in work.cell_maps])
        self._told.begin()
        for _, one in once_each(self._source, work):
            found.add(one)
            self._told.add(one.rows)
        self._admission.check(found)
        return found

    @property
    def names(self) -> Sequence[str]:
        return self.given.names

    @property
    def lasts(self) -> bool:
        """Whether rows can be read again: those of people are gone when a fit has ended."""
        return not isinstance(self._source, People) or self._source.folder.exists()

    def _folder(self, view: View | None) -> Path | None:
        return None if view is None or self._scratch is None else self._scratch.folder()

    def _rows(self, view: View, folder: Path | None) -> PiecedRows:
        through = Through(self._admission, view)
        return PiecedRows(self._source, through, self.rows, folder, self._told)

    def seen(self, view: View, *, lasting: bool = False) -> PiecedRows:
        if self._seen is not None and view == self._first:
            return self._seen
        return self._rows(view, self._folder(view) if lasting else None)

    def first_row(self, coordinates: Coordinates) -> pd.DataFrame:
        """Of no row, as the schema declares it: pieces may differ in how they store a column."""
        kinds = {column.name: column.domain for column in coordinates.schema}
        none = np.empty(0)
        return pd.DataFrame({n: k.from_numbers(none, k.private_storage) for n, k in kinds.items()})

    def telling(self, report: Callable[[str, float], None]) -> Callable[[str, float], None]:
        self._told.report = report
        return self._told

    def close(self) -> None:
        self.given.close()
        if self._scratch is not None:
            self._scratch.close()
