"""Plain tables, without a schema, as whole numbers or as points: for attacks on any table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from copula_shirley.errors import SchemaError, SettingError
from copula_shirley.evaluation.attacks.matching import Codes
from copula_shirley.schema.domain import FloatArray
from copula_shirley.schema.values import INEXACT

Tables = Mapping[str, pd.DataFrame]
#: Texts with more distinct values are compared as codes: a coordinate each would fill the memory.
MOST_COORDINATES = 64


class Wide(NamedTuple):
    """How many of the last numbers of a point are codes, not coordinates.

    Two codes that differ add ``weight`` to the squared distance.
    """

    columns: int = 0
    weight: float = 0.0


def check_positive(name: str, value: Any) -> None:
    """Raise unless a setting is a positive whole number."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
        raise SettingError(f"{name} ({value!r}) must be a positive whole number")


def check_tables(tables: Mapping[str, Any]) -> None:
    """Raise unless all are tables with rows and no column twice."""
    for name, table in tables.items():
        if not isinstance(table, pd.DataFrame):
            raise SchemaError(f"{name} ({type(table).__name__}) must be a pandas DataFrame")
        repeated = table.columns[table.columns.duplicated()]
        if len(repeated):
            raise SchemaError(f"column {repeated[0]!r} stands twice in {name}; names must differ")
        if len(table) == 0:
            raise SchemaError(f"{name} has no rows; at least one is needed")


def plain_codes(tables: Tables) -> list[Codes]:
    """Rows as whole numbers: equal values of a column, in whichever table, have equal ones.

    The numbers follow from the values alone, not from the order of the rows.
    """
    codes = [_codes(column, values) for column, values in _columns(tables).items()]
    return _apart(np.column_stack(codes), tables)


def plain_points(tables: Tables) -> tuple[list[FloatArray], Wide]:
    """Rows as points whose distance is the root mean square of the columns' differences.

    Numbers and dates are scaled to the range they have in the tables; other values differ by
    0 or 1. A missing value differs from a text by 1 and from a number by .87 to 1.
    """
    parts: list[NDArray[Any]] = []
    for column, values in _columns(tables).items():
        family, numbers = _family(values), values
        if family == "dates":
            numbers = values.astype("datetime64[us]").astype("int64").where(values.notna())
        if family in ("numbers", "dates"):
            parts.append(scaled(numbers.to_numpy(dtype=float, na_value=np.nan)))
        else:
            parts.append(_codes(column, values))
    points, wide = join(parts)
    return _apart(points, tables), wide


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


def scaled(numbers: FloatArray, low: float | None = None, high: float | None = None) -> FloatArray:
    """Numbers on [0, 1] and a second coordinate that tells missing ones (NaN) apart."""
    missing = np.isnan(numbers)
    if missing.all():
        return np.zeros((len(numbers), 1))
    low = np.nanmin(numbers) if low is None else low
    high = np.nanmax(numbers) if high is None else high
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


def _columns(tables: Tables) -> dict[Any, Any]:
    """Each column of all tables in one series; raises where they do not fit together."""
    check_tables(tables)
    (first, reference), *others = tables.items()
    for name, table in others:
        lonely = table.columns.symmetric_difference(reference.columns, sort=False)
        if len(lonely):
            raise SchemaError(
                f"column {lonely[0]!r} is in only one of {first} and {name}; "
                "both need the same columns"
            )
    if reference.shape[1] == 0:
        raise SchemaError(f"{first} has no columns; at least one is needed")
    return {column: _together(tables, column) for column in reference.columns}


def _together(tables: Tables, column: Any) -> Any:
    series = [table[column].infer_objects() for table in tables.values()]
    families = {_family(s): name for name, s in zip(tables, series, strict=True)}
    families.pop("nothing", None)
    if len(families) > 1:
        (first, a), (second, b), *_ = families.items()
        raise SchemaError(
            f"column {column!r} holds {first} in {a} and {second} in {b}; make them alike"
        )
    if "numbers" in families:
        floats = np.concatenate([s.to_numpy(dtype=float, na_value=np.nan) for s in series])
        if np.isinf(floats).any():
            raise SchemaError(f"column {column!r} holds an infinite number; numbers must be finite")
        whole = all(pd.api.types.is_integer_dtype(s.dtype) for s in series)
        if whole and np.nanmax(np.abs(floats)) >= INEXACT:
            kind = "UInt64" if np.nanmin(floats) >= 0 else "Int64"
            return pd.concat([s.astype(kind) for s in series], ignore_index=True)
        return pd.Series(floats)
    if "dates" in families:
        known = (s.astype(object) if s.isna().all() else s for s in series)  # no gaps of booleans
        moments = (pd.to_datetime(s, utc=True).dt.tz_localize(None) for s in known)
        series = [s.astype("datetime64[us]") for s in moments]
    elif len({s.dtype for s in series}) > 1 or isinstance(series[0].dtype, pd.CategoricalDtype):
        series = [s.astype(object) for s in series]
    return pd.concat(series, ignore_index=True)


def _codes(column: Any, values: Any) -> Codes:
    """A number for each distinct value, by its text; the last one for missing values."""
    if values.dtype == np.float64:
        return np.unique(values.to_numpy(), return_inverse=True)[1].astype(np.int32)
    try:
        places, distinct = pd.factorize(values)  # a missing value is -1
    except TypeError:
        raise SchemaError(f"column {column!r} holds values that cannot be compared") from None
    order = np.argsort([f"{type(v).__name__} {v!r}" for v in distinct], kind="stable")
    ranks = np.append(np.argsort(order), len(distinct))
    return ranks[places].astype(np.int32)


def _family(series: pd.Series) -> str:
    kinds, dtype = pd.api.types, series.dtype
    if series.isna().all():
        return "nothing"
    if isinstance(dtype, pd.CategoricalDtype):
        return _family(pd.Series(dtype.categories))
    if kinds.is_datetime64_any_dtype(dtype):
        return "dates"
    number = kinds.is_numeric_dtype(dtype) and not kinds.is_bool_dtype(dtype)
    return "numbers" if number and not kinds.is_complex_dtype(dtype) else "texts or booleans"


def _apart(stacked: Any, tables: Tables) -> list[Any]:
    ends = np.cumsum([len(table) for table in tables.values()])
    return np.split(stacked, ends[:-1])
