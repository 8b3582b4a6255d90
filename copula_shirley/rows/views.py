"""What of a table is counted: public maps of each row by itself, which can be sent to workers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import pandas as pd

from copula_shirley.rows.memory import MemoryRows
from copula_shirley.rules.coordinates import Coordinates
from copula_shirley.schema.schema import Schema


class View(Protocol):
    """A public map of each row by itself: a frame of the table as rows that can be counted."""

    @property
    def schema(self) -> Schema:
        """Of the rows that it shows."""
        ...

    def __call__(self, frame: pd.DataFrame) -> MemoryRows: ...


@dataclass(frozen=True, eq=False)
class Entered:
    """A view of rows in the coordinates of a model."""

    coordinates: Coordinates

    @property
    def schema(self) -> Schema:
        return self.coordinates.modelled

    def __call__(self, frame: pd.DataFrame) -> MemoryRows:
        return MemoryRows.of(self.coordinates.entered(frame), self.schema)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Entered) and self.coordinates.enters_as(other.coordinates)

    def __hash__(self) -> int:
        return hash(self.schema.names)


@dataclass(frozen=True)
class Unruled:
    """A view of some of the columns of a table as they stand there."""

    schema: Schema

    def __call__(self, frame: pd.DataFrame) -> MemoryRows:
        return MemoryRows.of(frame, self.schema)
