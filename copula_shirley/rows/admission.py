"""What a fit does with rows before it learns from them, and all that is wrong with some."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import pandas as pd

from copula_shirley.errors import SchemaError
from copula_shirley.rows.rows import Integers
from copula_shirley.rules.coordinates import Coordinates
from copula_shirley.schema.schema import OnUnknown, Schema

#: Problems that an error names.
NAMED = 5


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
        table, problems = self.values(frame)
        if problems:
            return table, problems, set()
        kept, wrong = self.coordinates.kept_rows(table)
        if wrong and self.schema.on_broken == "refuse":
            return kept[:0], set(), set(wrong)
        return self.schema.without_left_out(kept), set(), set(wrong)

    def values(self, frame: pd.DataFrame) -> tuple[pd.DataFrame, set[str]]:
        """A part of the table whose values fit, or none of its rows and all that is wrong."""
        try:
            return self._validated(frame, self.looked_at), set()
        except SchemaError:
            return frame[:0], self._problems(frame)

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
