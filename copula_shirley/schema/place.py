"""Columns of places: points on the earth, of which a model knows the cell of a declared grid.

A point is a text of two coordinates in degrees, latitude first ("48.8566, 2.3522"), or a pair of
numbers. The grid covers the declared box, from its south-western to its north-eastern corner, with
cells about as long as they are wide. The number of a point is that of its cell, row by row from the
south-west; a number that is drawn has a fraction, which says where in the cell the point lies.
"""

from __future__ import annotations

import math
import re
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from copula_shirley.schema.categorical import Listed
from copula_shirley.schema.domain import LARGEST_DOMAIN, MISSING, TEXT, FloatArray
from copula_shirley.schema.kind import Rule

NUMBER = r"([+-]?\d{1,3}(?:\.\d{1,15})?)"
#: Two numbers with a comma, a semicolon or a space between them.
POINT = re.compile(rf"\s*{NUMBER}\s*[,; ]\s*{NUMBER}\s*", re.ASCII)
#: A length, in metres or kilometres.
LENGTH = re.compile(r"(\d+(?:\.\d+)?) ?(m|km)", re.ASCII)
#: Metres of a degree of latitude.
DEGREE = 111_320.0
#: Cells along the longer side of a box that does not say how large they are.
USUAL = 20
#: Drawn points of a cell, along each side.
INSIDE = 1024
Point = tuple[float, float]


def point_of(value: Any) -> Point | None:
    """A value as latitude and longitude in degrees; None if it is no place.

    Examples
    --------
    >>> point_of("48.8566, 2.3522"), point_of((-33.9, 18.4)), point_of("48.8566"), point_of("99 0")
    ((48.8566, 2.3522), (-33.9, 18.4), None, None)
    """
    if isinstance(value, str):
        found = POINT.fullmatch(value)
        pair: Any = found.groups() if found else ()
    else:
        pair = value if isinstance(value, tuple | list) else ()
    try:
        latitude, longitude = map(float, pair)
    except (TypeError, ValueError):
        return None
    inside = abs(latitude) <= 90 and abs(longitude) <= 180
    return (latitude, longitude) if inside else None


def text_of(latitude: float, longitude: float) -> str:
    """A point as a text that ``point_of`` reads."""
    return f"{latitude:.6f}, {longitude:.6f}"


class Place(Listed):
    """Points in a declared box; the cells of its grid are the categories."""

    fields: ClassVar[dict[str, Any]] = {
        "minimum": {"type": "string", "description": "south-western corner, such as 48.80, 2.25"},
        "maximum": {"type": "string", "description": "north-eastern corner"},
        "resolution": {"type": "string", "description": "side of a cell, such as 500m or 2km"},
    }
    least: ClassVar[dict[str, Any]] = {"minimum": "0, 0", "maximum": "1, 1"}
    is_nominal = True
    is_discrete = False
    measurable = False
    may_identify = True
    plural = "places"
    types = (tuple, list)

    def normalise(self) -> dict[str, Any]:
        column, corners = self.column, {}
        for field in ("minimum", "maximum"):
            point = point_of(getattr(column, field))
            if point is None:
                rule = "must be latitude and longitude in degrees, such as 48.80, 2.25"
                raise column.error(field, getattr(column, field), rule)
            corners[field] = text_of(*point)
        (south, west), (north, east) = map(point_of, corners.values())  # type: ignore[misc]
        if not (south < north and west < east):
            rule = f"must lie north and east of minimum ({corners['minimum']})"
            raise column.error("maximum", corners["maximum"], rule)
        said = column.resolution
        length = LENGTH.fullmatch(said) if isinstance(said, str) else None
        if said is not None and (length is None or float(length[1]) == 0):
            raise column.error("resolution", said, "must be a length such as 500m or 2km")
        return corners

    # -- the grid --------------------------------------------------------------------

    @cached_property
    def box(self) -> tuple[Point, Point]:
        """The south-western and the north-eastern corner."""
        return point_of(self.column.minimum) or (0, 0), point_of(self.column.maximum) or (1, 1)

    @cached_property
    def metres(self) -> tuple[float, float]:
        """How far the box reaches to the north, and to the east along its middle."""
        (south, west), (north, east) = self.box
        middle = math.cos(math.radians((south + north) / 2))
        return (north - south) * DEGREE, max((east - west) * DEGREE * middle, 1e-9)

    @cached_property
    def grid(self) -> tuple[int, int]:
        """Cells from south to north, and from west to east."""
        if self.column.resolution is None:
            side = max(self.metres) / USUAL
        else:
            number, unit = LENGTH.fullmatch(str(self.column.resolution)).groups()  # type: ignore[union-attr]
            side = float(number) * (1000 if unit == "km" else 1)
        tall, wide = (max(1, math.ceil(length / side - 1e-9)) for length in self.metres)
        return tall, wide

    @cached_property
    def nearest_metres(self) -> float:  # type: ignore[override]
        sides = [m / n for m, n in zip(self.metres, self.grid, strict=True) if n > 1]
        return min(sides, default=0.0)

    @cached_property
    def categories(self) -> tuple[Any, ...]:
        """The middles of the cells."""
        return tuple(self._texts(np.arange(float(math.prod(self.grid)))))

    @cached_property
    def middles(self) -> FloatArray:
        """Metres from the south-western corner to the middle of each cell, north and east."""
        row, column = np.divmod(np.arange(math.prod(self.grid)), self.grid[1])
        parts = (np.stack([row, column], axis=1) + 0.5) / self.grid
        return np.asarray(parts * self.metres)

    def cell_of(self, point: Point) -> int:
        """The cell of a point in the box; one on an edge lies in the cell to the north or east."""
        found = 0
        for value, low, high, count in zip(point, *self.box, self.grid, strict=True):
            found = found * count + min(int((value - low) / (high - low) * count), count - 1)
        return found

    def _within(self, point: Point) -> bool:
        low, high = self.box
        return all(a <= x <= b for a, x, b in zip(low, point, high, strict=True))

    def _texts(self, numbers: FloatArray) -> list[str]:
        """Points of numbers: the middle of a cell, or where a fraction says."""
        cell = np.floor(numbers)
        inside = np.floor((numbers - cell) * INSIDE**2)
        across = np.divmod(inside, INSIDE)
        share = np.where(numbers == cell, 0.5, (np.stack(across) + 0.5) / INSIDE)
        low, high = (np.array(corner)[:, None] for corner in self.box)
        places = np.stack(np.divmod(cell, self.grid[1])) + share
        latitudes, longitudes = low + places / np.array(self.grid)[:, None] * (high - low)
        return [text_of(*point) for point in zip(latitudes, longitudes, strict=True)]

    # -- values ----------------------------------------------------------------------

    def to_numbers(self, series: pd.Series) -> FloatArray:
        def number(value: Any) -> float:
            point = point_of(value)
            known = point is not None and self._within(point)
            return float(self.cell_of(point)) if known and point else MISSING

        return np.array([number(value) for value in series], dtype=float)

    def values(self, known: FloatArray, missing: NDArray[np.bool_], dtype: str | None) -> pd.Series:
        texts = pd.Series(self._texts(known), dtype="object")
        return texts.mask(missing, None)

    def own_rules(self, series: pd.Series, gaps: NDArray[np.bool_]) -> list[Rule]:
        points = [point_of(value) for value in series]
        none = np.array([point is None for point in points], dtype=bool) & ~gaps
        beyond = np.array([p is not None and not self._within(p) for p in points], dtype=bool)
        what = "a place: latitude and longitude in degrees, such as 48.8566, 2.3522"
        return [(none, f"a value is not {what}"), (beyond, f"a value is outside {self.words}")]

    @property
    def words(self) -> str:
        return f"the box from {self.column.minimum} to {self.column.maximum}"

    def clip(self, series: pd.Series) -> pd.Series:
        """Points beyond the box at its nearest edge."""
        low, high = self.box

        def nearest(value: Any) -> Any:
            point = point_of(value)
            if point is None or self._within(point):
                return value
            ends = zip(low, point, high, strict=True)
            return text_of(*(min(max(x, a), b) for a, x, b in ends))

        return series.astype(object).map(nearest)

    @property
    def private_storage(self) -> str:
        return TEXT

    def storage(self, series: pd.Series) -> str:
        return TEXT

    def typed(self, text: str) -> Any:
        return text

    def span(self, value: Any) -> tuple[float, float]:
        first, _ = super().span(value)
        return first, float(np.nextafter(first + 1, 0))

    @classmethod
    def draft(cls, known: pd.Series) -> dict[str, Any] | None:
        return None  # a box that is read off the rows shows where the outermost people live

    # -- cells -----------------------------------------------------------------------

    def known_cells(self) -> tuple[FloatArray, FloatArray]:
        first = np.arange(math.prod(self.grid), dtype=float)
        return first, first + 1

    @property
    def number_range(self) -> tuple[float, float]:
        return 0.0, float(math.prod(self.grid))

    def most_cells(self) -> int:
        if self.column.open:
            return 0
        count = math.prod(self.grid)
        if count > LARGEST_DOMAIN:
            raise self.column.error(
                "resolution", self.column.resolution, f"makes {count:,} cells; take a larger one"
            )
        return count + self.column.missing
