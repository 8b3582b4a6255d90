"""The cell maps of PrivateVine's tables: public functions from a row to a cell.

Only the curator applies them to rows; docs/private_vine.md, lemma 1, is about them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from copula_shirley.private_vine.intervals import Intervals
from copula_shirley.rows.rows import CellMap, Chunk, Integers


@dataclass(frozen=True)
class AllRows:
    """The one cell in which every row lies."""

    names: tuple[str, ...] = ("rows",)
    shape: tuple[int, ...] = (1,)

    def cells(self, chunk: Chunk) -> NDArray[np.intp]:
        return np.zeros(len(chunk), dtype=np.intp)

    def summing(self, other: CellMap) -> Callable[[Integers], Integers]:
        """Every table counts each row once."""
        return lambda counts: counts.sum(keepdims=True).reshape(self.shape)


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
        """The group of each row, found once for all tables of a query."""
        return chunk.derived((self.name, "group"), (self.groups, self.intervals), self._groups_in)

    def _groups_in(self, chunk: Chunk) -> NDArray[np.integer[Any]]:
        own, name = self.intervals, self.name
        groups = self.groups.astype(np.min_scalar_type(self.size))
        if own is None:
            return groups.take(chunk.codes[name])
        cells = chunk.derived(
            name, (own,), lambda c: c.mapped(name, own, lambda x: own.index(x).astype(np.int32))
        )
        return groups.take(cells)

    def merging(self, finer: Axis) -> NDArray[np.intp] | None:
        """The group in which each finer one lies; None if some are in several."""
        if self.name != finer.name or len(self.groups) != len(finer.groups):
            return None
        own, other = self.intervals, finer.intervals
        if own is not other and (own is None or other is None or not own.has_ends_of(other)):
            return None
        place = np.zeros(finer.size, dtype=np.intp)
        place[finer.groups] = self.groups
        return place if np.array_equal(place[finer.groups], self.groups) else None


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

    def summing(self, other: CellMap) -> Callable[[Integers], Integers] | None:
        """What makes this table of one of more columns or finer groups; None if nothing does."""
        finer = {axis.name: axis for axis in other.parts} if isinstance(other, GroupMap) else {}
        if not set(self.names) <= set(finer):
            return None
        found = [axis.merging(finer[axis.name]) for axis in self.parts]
        merged = [place for place in found if place is not None]
        if len(merged) < len(found):
            return None
        return partial(_summed, names=[*finer], wanted=self.names, sizes=self.shape, merged=merged)

    def cells(self, chunk: Chunk) -> NDArray[np.integer[Any]]:
        first, *others = self.parts
        short = np.min_scalar_type(math.prod(self.shape)).type  # the shorter, the faster
        cell = first.index(chunk).astype(short)
        for axis in others:
            cell = cell * short(axis.size) + axis.index(chunk)
        return cell


def _summed(
    counts: Integers,
    names: Sequence[str],
    wanted: Sequence[str],
    sizes: Sequence[int],
    merged: Sequence[NDArray[np.intp]],
) -> Integers:
    """A table by some of its axes, whose groups are merged."""
    others = tuple(i for i, name in enumerate(names) if name not in wanted)
    left = [name for name in names if name in wanted]
    table = counts.sum(axis=others).transpose([left.index(name) for name in wanted])
    for i, (size, places) in enumerate(zip(sizes, merged, strict=True)):
        lines = np.moveaxis(table, i, 0)
        sums = np.zeros((size, *lines.shape[1:]), dtype=np.int64)
        np.add.at(sums, places, lines)
        table = np.moveaxis(sums, 0, i)
    return np.ascontiguousarray(table)
