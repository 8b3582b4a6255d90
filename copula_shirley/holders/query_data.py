"""Queries as data: a holder gets cell maps as numbers, and checks each before it counts.

Learners on two machines may differ in the last bit, so the coordinator's maps are sent. For privacy
a map needs only to take each row to one cell, by public numbers; what cannot be such a map, or
would take too much memory, is refused here.
"""

from __future__ import annotations

import math
from typing import Annotated, Any

import msgspec
import numpy as np
from msgspec import Meta, Struct

from copula_shirley.errors import ArtefactError, SettingError
from copula_shirley.holders.messages import content_digest
from copula_shirley.measure.queries import Declared, Query, Tables
from copula_shirley.private_vine.cell_maps import AllRows, Axis, GroupMap
from copula_shirley.private_vine.intervals import Intervals
from copula_shirley.rows.rows import CellMap
from copula_shirley.rules.coordinates import Coordinates
from copula_shirley.rules.functions import STAGE as FUNCTIONS
from copula_shirley.schema.domain import LARGEST_DOMAIN

#: Cells of one answer, tables of it, and axes of a table.
MOST_CELLS, MOST_TABLES, MOST_AXES = 2**22, 2**16, 4

Place = Annotated[int, Meta(ge=0)]
Arrays = dict[str, np.ndarray]


class _Axis(Struct, forbid_unknown_fields=True):
    """Groups of cells of a column: so many numbers of the array ``groups``."""

    name: str
    cells: Place
    #: Which of the intervals; None for declared cells.
    intervals: Place | None = None


class _Intervals(Struct, forbid_unknown_fields=True):
    """Cells of a numeric column: so many numbers of the arrays ``low`` and ``high``."""

    name: str
    cells: Place


class _Declared(Struct, forbid_unknown_fields=True):
    names: Annotated[list[str], Meta(min_length=1, max_length=MOST_AXES)]
    shape: list[Place]


class _Query(Struct, forbid_unknown_fields=True):
    """A query for tables; each of them is all rows (none), declared cells, or places of axes."""

    stage: Annotated[str, Meta(min_length=1, max_length=200)]
    share: Annotated[float, Meta(gt=0, le=1)]
    what: Annotated[str, Meta(max_length=10_000)]
    tables: Annotated[list[list[Place] | _Declared], Meta(min_length=1, max_length=MOST_TABLES)]
    axes: Annotated[list[_Axis], Meta(max_length=MOST_TABLES)]
    intervals: Annotated[list[_Intervals], Meta(max_length=MOST_TABLES)]


class _Writer:
    """Axes and intervals that were met, each once, however many maps have it."""

    def __init__(self) -> None:
        self.axes: dict[tuple[str, bytes, int | None], int] = {}
        self.said: list[_Axis] = []
        self.groups: list[np.ndarray] = []
        self.intervals: dict[int, int] = {}
        self.cells: list[Intervals] = []

    def axis(self, axis: Axis) -> int:
        own = None if axis.intervals is None else self._intervals(axis.intervals)
        groups = np.asarray(axis.groups, dtype=np.int32)
        key = (axis.name, groups.tobytes(), own)
        if key not in self.axes:
            self.axes[key] = len(self.said)
            self.said.append(_Axis(axis.name, len(groups), own))
            self.groups.append(groups)
        return self.axes[key]

    def _intervals(self, cells: Intervals) -> int:
        if id(cells) not in self.intervals:
            self.intervals[id(cells)] = len(self.cells)
            self.cells.append(cells)
        return self.intervals[id(cells)]

    def arrays(self) -> Arrays:
        ends = [np.concatenate([getattr(c, end) for c in self.cells]) for end in ("low", "high")]
        return {"groups": np.concatenate(self.groups), "low": ends[0], "high": ends[1]}


def to_data(query: Query) -> tuple[dict[str, Any], Arrays]:
    """A query as plain values and arrays."""
    if not isinstance(query, Tables):
        raise SettingError(f"query ({type(query).__name__}) must be one for tables of counts")
    writer = _Writer()
    writer.groups.append(np.zeros(0, dtype=np.int32))
    tables: list[list[int] | _Declared] = []
    for one in query.cell_maps:
        if isinstance(one, GroupMap):
            tables.append([writer.axis(axis) for axis in one.parts])
        elif isinstance(one, AllRows):
            tables.append([])
        elif isinstance(one, Declared):
            tables.append(_Declared(list(one.names), [int(size) for size in one.shape]))
        else:
            raise SettingError(f"cell map ({type(one).__name__}) cannot be sent to holders")
    own = [_Intervals(c.column.name, len(c)) for c in writer.cells]
    said = _Query(query.stage, query.share, query.what, tables, writer.said, own)
    empty = {"low": np.zeros(0), "high": np.zeros(0)}
    arrays = writer.arrays() if writer.cells else empty | {"groups": np.concatenate(writer.groups)}
    return msgspec.to_builtins(said), arrays


def digest_of(query: Query) -> bytes:
    """The hash of a query with the content of its cell maps."""
    return content_digest(*to_data(query))


def from_data(said: Any, arrays: Arrays, coordinates: Coordinates) -> Tables:
    """The query of plain values and arrays, about rows with these rules; or one error."""
    try:
        told = msgspec.convert(said, _Query)
        cells = _intervals_of(told, arrays, coordinates)
        axes = _axes_of(told, arrays, cells, coordinates)
    except (msgspec.ValidationError, KeyError, ValueError, IndexError) as error:
        raise ArtefactError(f"a query is not readable: {error}") from None
    functions = told.stage == FUNCTIONS
    maps = [_map_of(one, axes, coordinates, functions=functions) for one in told.tables]
    size = sum(math.prod(one.shape) for one in maps)
    if size > MOST_CELLS:
        raise ArtefactError(f"a query has {size:,} cells, and must have at most {MOST_CELLS:,}")
    return Tables(told.stage, maps, told.share, what=told.what)


def _map_of(
    said: list[int] | _Declared, axes: list[Axis], coordinates: Coordinates, *, functions: bool
) -> CellMap:
    if isinstance(said, _Declared):
        names, shape = tuple(said.names), tuple(said.shape)
        columns = coordinates.schema
        known = set(names) <= set(columns.names) and len(set(names)) == len(names)
        if not functions or not known or shape != tuple(columns[name].size for name in names):
            raise ArtefactError(f"a query has declared cells {names} that are not those agreed on")
        return Declared(names, shape)
    if functions or len(said) > MOST_AXES or any(place >= len(axes) for place in said):
        raise ArtefactError("a query has a table of axes that it does not hold")
    return GroupMap(tuple(axes[place] for place in said)) if said else AllRows()


def _parts(array: np.ndarray, sizes: list[int], kind: str) -> list[np.ndarray]:
    """An array of one line cut into parts of these sizes."""
    if array.dtype.kind != kind or array.shape != (sum(sizes),):
        raise ValueError("an array has another shape than it must have")
    return np.split(array, np.cumsum(sizes)[:-1]) if sizes else []


def _intervals_of(told: _Query, arrays: Arrays, coordinates: Coordinates) -> list[Intervals]:
    sizes = [one.cells for one in told.intervals]
    if set(arrays) != {"groups", "low", "high"} or sum(sizes) > 2 * LARGEST_DOMAIN:
        raise ValueError("its arrays are not those of a query")
    ends = zip(*(_parts(arrays[end], sizes, "f") for end in ("low", "high")), strict=True)
    found = []
    for one, (low, high) in zip(told.intervals, ends, strict=True):
        known = len(low) and np.all(np.isfinite([low, high]))
        if not known or np.any(np.diff(low) < 0) or np.any(high < low):
            raise ValueError(f"intervals of {one.name!r} are not in their order")
        flags = np.zeros(len(low), dtype=bool)
        found.append(Intervals(coordinates.modelled[one.name], low, high, flags))
    return found


def _axes_of(
    told: _Query, arrays: Arrays, cells: list[Intervals], coordinates: Coordinates
) -> list[Axis]:
    found = []
    parts = _parts(arrays["groups"], [one.cells for one in told.axes], "i")
    for one, groups in zip(told.axes, parts, strict=True):
        own = None if one.intervals is None else cells[one.intervals]
        column = coordinates.modelled[one.name]
        fits = own is None or own.column.name == one.name
        size = column.size if own is None else len(own)
        if not fits or len(groups) != size or groups.min() < 0 or groups.max() >= size:
            raise ValueError(f"groups of {one.name!r} are not those of its cells")
        found.append(Axis(one.name, groups.astype(np.intp), own))
    return found
