"""The cell maps of PrivateVine's tables: public functions from a row to a cell.

Only the curator applies them to rows; docs/private_vine.md, lemma 1, is about them.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from copula_shirley.private_vine.intervals import Intervals
from copula_shirley.rows.rows import Chunk


@dataclass(frozen=True)
class AllRows:
    """The one cell in which every row lies."""

    names: tuple[str, ...] = ("rows",)
    shape: tuple[int, ...] = (1,)

    def cells(self, chunk: Chunk) -> NDArray[np.intp]:
        return np.zeros(len(chunk), dtype=np.intp)


@dataclass(frozen=True, eq=False)
class Axis:
    """Groups of cells of one column."""

    name: str
    #: The group of each cell.
    groups: NDArray[np.intp]
    #: The cells of a numeric column; those of other columns are the declared ones.
    intervals: Intervals | None = None

    @cached_property
    def size(self) -> int:
        return int(self.groups.max()) + 1

    def index(self, chunk: Chunk) -> NDArray[np.integer[Any]]:
        """The group of each row."""
        own, name = self.intervals, self.name
        if own is None:
            return self.groups[chunk.codes[name]]
        found = chunk.derived(name, own, lambda c: own.index(c.numbers[name]).astype(np.int32))
        return self.groups[found]


@dataclass(frozen=True, eq=False)
class GroupMap:
    """The joint group of a row, by column."""

    parts: tuple[Axis, ...]

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(axis.name for axis in self.parts)

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(axis.size for axis in self.parts)

    @property
    def axes(self) -> dict[Hashable, NDArray[np.intp]]:
        """The group of each finest cell, by column and cells."""
        return {
            (axis.name, 0 if axis.intervals is None else len(axis.intervals)): axis.groups
            for axis in self.parts
        }

    def cells(self, chunk: Chunk) -> NDArray[np.intp]:
        cell = np.zeros(len(chunk), dtype=np.intp)
        for axis in self.parts:
            cell = cell * axis.size + axis.index(chunk)
        return cell
