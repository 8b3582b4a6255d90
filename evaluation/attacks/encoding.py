"""Rows of several tables as whole numbers or as points, with a schema or without."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from copula_shirley.errors import SchemaError
from copula_shirley.schema.dates import Datetime, Timed
from copula_shirley.schema.domain import FloatArray
from copula_shirley.schema.duration import Duration
from copula_shirley.schema.frames import as_frame
from copula_shirley.schema.values import INEXACT

#: How columns differ: in how many of them, or the root mean square of their differences.
Distance = Literal["hamming", "euclidean"]
#: Columns of tables without a schema that are read as the domain of a schema reads them.
TIMES: dict[str, type[Timed]] = {"dates": Datetime, "durations": Duration}
#: Distinct texts by which dates and durations are told from other texts.
SOME_TEXTS = 100
#: Texts with more distinct values are compared as codes: a coordinate each would fill the memory.
MOST_COORDINATES = 64


class Wide(NamedTuple):
    """How many of the last numbers of a point are codes, not coordinates.

    Two codes that differ add ``weight`` to the squared distance.
    """

    columns: int = 0
    weight: float = 0.0


class Seen(NamedTuple):
    """A column of several tables, one after the other: equal numbers are equal values.

    A missing value is -inf. ``ends`` are the numbers that are 1 apart; without them values are
    equal or 1 apart.
    """

    numbers: FloatArray
    ends: tuple[float, float] | None = None


def check_tables(tables: Mapping[str, Any]) -> dict[str, pd.DataFrame]:
    """The tables as frames; raise unless all are tables with rows and no column twice."""
    frames = {name: as_frame(table) for name, table in tables.items()}
    for name, table in frames.items():
        if not isinstance(table, pd.DataFrame):
            raise SchemaError(f"{name} ({type(table).__name__}) must be a pandas DataFrame")
        repeated = table.columns[table.columns.duplicated()]
        if len(repeated):
            raise SchemaError(f"column {repeated[0]!r} stands twice in {name}; names must differ")
        if len(table) == 0:
            raise SchemaError(f"{name} has no rows; at least one is needed")
    return frames


def encoded(
    columns: Iterable[Seen], sizes: Sequence[int], distance: Distance
) -> tuple[list[NDArray[Any]], Wide | None]:
    """The rows of tables of these sizes: as whole numbers (Hamming), or as points.

    The Euclidean distance of two points is the root mean square of the columns' differences. A
    missing value differs from another value of no order by 1, and from a number by .87 to 1.
    """
    if distance == "hamming":
        codes = [np.unique(c.numbers, return_inverse=True)[1] for c in columns]
        return np.split(np.column_stack(codes).astype(np.int32), np.cumsum(sizes)[:-1]), None
    parts = [c.numbers if c.ends is None else scaled(c.numbers, c.ends) for c in columns]
    points, wide = join(parts)
    return np.split(points, np.cumsum(sizes)[:-1]), wide


def join(parts: Sequence[NDArray[Any]]) -> tuple[FloatArray, Wide]:
    """Points from columns: coordinates (two-dimensional), or one code for each row."""
    narrow, wide = [], []
    for part in parts:
        if part.ndim == 1 and len(np.unique(part)) > MOST_COORDINATES:
            wide.append(part.astype(float))
        else:
            narrow.append(indicators(part) if part.ndim == 1 else part)
    coordinates = np.hstack([np.empty((len(parts[0]), 0)), *narrow]) / np.sqrt(len(parts))
    return np.column_stack([coordinates, *wide]), Wide(len(wide), 1 / len(parts))


def scaled(numbers: FloatArray, ends: tuple[float, float] | None = None) -> FloatArray:
    """Numbers on [0, 1] and a second coordinate that tells missing ones (-inf) apart.

    Without ``ends`` the smallest and the largest number are 0 and 1.
    """
    missing = np.isneginf(numbers)
    if missing.all():
        return np.zeros((len(numbers), 1))
    low, high = ends or (numbers[~missing].min(), numbers.max())
    # a missing value lies in the middle, from where sqrt(3)/2 more makes it 1 from the ends
    # halved, or the range of the largest numbers would be infinite
    width = high / 2 - low / 2 if high > low else 0.5
    place = np.where(missing, 0.5, (numbers / 2 - low / 2) / width)
    if not missing.any():
        return place[:, None]
    return np.column_stack([place, np.where(missing, np.sqrt(0.75), 0.0)])


def indicators(codes: NDArray[Any]) -> FloatArray:
    """A coordinate for each code, scaled so that two codes are 1 apart."""
    return np.asarray((codes[:, None] == np.unique(codes)) * np.sqrt(0.5))


def plain_columns(tables: Mapping[str, pd.DataFrame]) -> list[Seen]:
    """The columns of tables without a schema; raises where they do not fit together.

    Numbers, dates and durations are scaled to the range they have in the tables. Texts, booleans
    and whole numbers that floats cannot tell apart are equal or not. The numbers that stand for
    values follow from the values alone, not from the order of the rows.
    """
    tables = check_tables(tables)
    (first, reference), *others = tables.items()
    for name, table in others:
        lonely = table.columns.symmetric_difference(reference.columns, sort=False)
        if len(lonely):
            raise SchemaError(
                f"column {lonely[0]!r} is in only one of {first} and {name}; both need the same "
                "columns, or schema= must say whose rows they are"
            )
    if reference.shape[1] == 0:
        raise SchemaError(f"{first} has no columns; at least one is needed")
    return [_seen(tables, column) for column in reference.columns]


def _seen(tables: Mapping[str, pd.DataFrame], column: Any) -> Seen:
    series = [table[column].infer_objects() for table in tables.values()]
    families = {_family(s): name for name, s in zip(tables, series, strict=True)}
    families.pop("nothing", None)
    if len(families) > 1:
        (first, a), (second, b), *_ = families.items()
        raise SchemaError(
            f"column {column!r} holds {first} in {a} and {second} in {b}; make them alike, "
            "or give schema= to read them by"
        )
    (family,) = families or ("nothing",)
    if family in TIMES:
        moments = pd.concat([TIMES[family].read_values(s) for s in series], ignore_index=True)
        gaps = np.concatenate([s.isna() for s in series])
        if (moments.isna() & ~gaps).any():
            raise SchemaError(f"column {column!r} holds {family} that are too far out")
        return _ordered(np.where(gaps, -np.inf, moments.to_numpy().astype("int64")))
    if family == "numbers":
        floats = np.concatenate([s.to_numpy(dtype=float, na_value=np.nan) for s in series])
        if np.isinf(floats).any():
            raise SchemaError(f"column {column!r} holds an infinite number; numbers must be finite")
        whole = all(pd.api.types.is_integer_dtype(s.dtype) for s in series)
        if not whole or np.nanmax(np.abs(floats)) < INEXACT:
            return _ordered(np.where(np.isnan(floats), -np.inf, floats))
    values = pd.concat([s.astype(object) for s in series], ignore_index=True)
    try:
        places, distinct = pd.factorize(values)  # a missing value is -1
    except TypeError:
        raise SchemaError(f"column {column!r} holds values that cannot be compared") from None
    for what, kind in TIMES.items():
        if len(distinct) and kind.draft(pd.Series(distinct[:SOME_TEXTS])) is not None:
            # one table may write 1:30:00 where another writes PT1H30M, which would never be equal
            rule = "only a schema can say how to read them: give schema="
            raise SchemaError(f"column {column!r} holds {what} as texts; {rule}")
    order = np.argsort([f"{type(v).__name__} {v!r}" for v in distinct], kind="stable")
    return Seen(np.append(np.argsort(order), -np.inf)[places])


def _ordered(numbers: FloatArray) -> Seen:
    known = numbers[~np.isneginf(numbers)]
    return Seen(numbers, (known.min(), known.max()) if len(known) else (0.0, 0.0))


def _family(series: pd.Series) -> str:
    kinds, dtype = pd.api.types, series.dtype
    if series.isna().all():
        return "nothing"
    if isinstance(dtype, pd.CategoricalDtype):
        return _family(pd.Series(dtype.categories))
    for family, kind in TIMES.items():
        values = series.dropna() if dtype.kind == "O" else [None]
        if dtype.kind in kind.letters or all(isinstance(v, kind.types) for v in values):
            return family
    number = kinds.is_numeric_dtype(dtype) and not kinds.is_bool_dtype(dtype)
    return "numbers" if number and not kinds.is_complex_dtype(dtype) else "texts or booleans"
