"""Columns of values on a grid of time: dates."""

from __future__ import annotations

import datetime as dt
import math
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from copula_shirley.schema.domain import MISSING, TEXT, FloatArray
from copula_shirley.schema.kind import Kind, Rule
from copula_shirley.schema.values import absent, bound_of, moment_of

MICROSECOND = pd.Timedelta("1us")
DAY = pd.Timedelta("1D")
#: Steps that a draft tells apart, the coarsest first.
STEPS = ("1D", "1h", "1min", "1s", "1ms", "1us")
#: Steps that a measured domain tells apart, the coarsest first.
MEASURED_STEPS = ("1D", "1h", "1s", "1us")
#: Days from 1970 that any timestamp of pandas can hold.
FARTHEST = 106_000
#: Formats of dates that a draft finds in texts.
TEXT_FORMATS = ("%Y-%m-%d", "%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M:%S", "%Y/%m/%d")


class Timed(Kind):
    """Moments or lengths of time; their numbers are steps of ``resolution`` since the minimum."""

    #: How pandas stores the values, in microseconds.
    dtype: ClassVar[str]
    #: The value of which numbers are measured in days.
    origin: ClassVar[Any]
    grains = tuple(pd.Timedelta(step) / DAY for step in MEASURED_STEPS[:-1])

    # -- what a subclass says -------------------------------------------------------

    @property
    def what(self) -> str:
        raise NotImplementedError

    @property
    def example(self) -> str:
        raise NotImplementedError

    @classmethod
    def read_values(cls, series: pd.Series, text_format: str | None) -> pd.Series:
        raise NotImplementedError

    def bound_of(self, value: Any) -> Any:
        raise NotImplementedError

    def texts(self, values: pd.Series) -> pd.Series:
        raise NotImplementedError

    def bare_texts(self, series: pd.Series) -> NDArray[np.bool_]:
        return np.zeros(len(series), dtype=bool)

    # -- the description ------------------------------------------------------------

    def normalise(self) -> dict[str, Any]:
        column, resolution, found = self.column, self.column.resolution, {}
        for field in ("minimum", "maximum"):
            found[field] = self.bound_of(getattr(column, field))
            if pd.isna(found[field]):
                raise column.error(field, getattr(column, field), f"must be {self.example}")
        low, high = found["minimum"], found["maximum"]
        if low > high:
            raise column.error("minimum", str(low), f"must not exceed maximum ({high})")
        if isinstance(resolution, dt.timedelta):
            resolution = str(pd.Timedelta(resolution))
        wrong = column.error("resolution", resolution, 'must be a duration such as "1D"')
        if not isinstance(resolution, str | None):
            raise wrong
        try:
            step = pd.Timedelta("1s" if resolution is None else resolution)
        except (ValueError, TypeError):
            raise wrong from None
        if step < MICROSECOND:
            raise wrong
        self.check_cells()
        return {**found, "resolution": resolution}

    @property
    def step(self) -> pd.Timedelta:
        resolution = self.column.resolution
        return pd.Timedelta("1s" if resolution is None else resolution)

    @classmethod
    def drafted(cls, values: pd.Series) -> dict[str, Any]:
        micro = values.to_numpy(dtype=np.dtype(cls.dtype)).astype("int64")
        passed = micro - micro.min()
        steps = (s for s in STEPS if np.all(passed % (pd.Timedelta(s) // MICROSECOND) == 0))
        return {
            "minimum": values.min(),
            "maximum": values.max(),
            "resolution": next(steps, STEPS[-1]),
        }

    # -- values to numbers and back -------------------------------------------------

    def read(self, series: pd.Series) -> pd.Series:
        return self.read_values(series, self.column.format)

    def steps(self, values: pd.Series) -> FloatArray:
        # in microseconds: nanoseconds since long ago are beyond the whole numbers of a double
        passed = (values - self.column.minimum.as_unit("us")) / self.step.as_unit("us")
        return np.asarray(passed.to_numpy(dtype=float, na_value=np.nan))

    def to_numbers(self, series: pd.Series) -> FloatArray:
        steps = self.steps(self.read(series))
        return np.where(np.isnan(steps), MISSING, np.floor(steps))

    def values(self, known: FloatArray, missing: NDArray[np.bool_], dtype: str | None) -> pd.Series:
        start = self.column.minimum.as_unit("us").to_numpy()
        passed = (known.astype("int64") * (self.step // MICROSECOND)).astype("timedelta64[us]")
        values = pd.Series(start + passed)
        values[missing] = pd.NaT
        return values

    @property
    def private_storage(self) -> str:
        return self.dtype

    @property
    def storage_of_gaps(self) -> str | None:
        return self.private_storage

    # -- what fits and what does not ------------------------------------------------

    @property
    def file_dtype(self) -> str:
        return TEXT

    def own_rules(self, series: pd.Series, gaps: NDArray[np.bool_]) -> list[Rule]:
        values = self.read(series)
        steps = self.steps(values)
        off_grid = f"a value is not a whole number of steps ({self.step}) after the minimum"
        return [
            (
                self.bare_texts(series),
                "dates are stored as text; declare their format, such as %d.%m.%Y",
            ),
            (values.isna().to_numpy() & ~gaps, f"a value is not {self.what}"),
            (self.beyond(values), f"a value is outside {self.bounds}"),
            (~gaps & (steps != np.floor(steps)), off_grid),
        ]

    def unreadable(self, series: pd.Series) -> NDArray[np.bool_]:
        wrong = self.read(series).isna().to_numpy() | self.bare_texts(series)
        return np.asarray(~absent(series) & wrong)

    def clipped(self, series: pd.Series) -> pd.Series:
        values = self.read(series)
        wrong = self.beyond(values)
        if not wrong.any():
            return series
        column = self.column
        steps = np.floor(self.steps(values.clip(column.minimum, column.maximum)))
        nearest = self.from_numbers(np.where(np.isnan(steps), MISSING, steps))
        nearest = nearest.set_axis(series.index)
        if isinstance(series.dtype, pd.DatetimeTZDtype):
            nearest = nearest.dt.tz_localize("UTC").astype(series.dtype)
        elif series.dtype.kind in "mM":
            nearest = nearest.astype(series.dtype)
        else:  # by format a moment is read as itself
            series = series.astype(object)
            nearest = self.stored_as(nearest, "object").astype(object)
        return series.where(~wrong, nearest.set_axis(series.index))

    def read_end(self, value: Any) -> pd.Series:
        if not isinstance(value, str):
            return super().read_end(value)
        end = self.bound_of(value)
        if pd.isna(end):
            raise ValueError(f"must be {self.example}")
        return pd.Series([end])

    # -- cells ----------------------------------------------------------------------

    @property
    def number_range(self) -> tuple[float, float]:
        return 0.0, float((self.column.maximum - self.column.minimum) / self.step)

    def grid(self) -> tuple[float, float, float]:
        high = self.steps(pd.Series([self.column.maximum]))[0]
        return 0.0, float(np.floor(high)), 1.0

    # -- domains that are measured with noise -----------------------------------------

    def measure(self, series: pd.Series) -> FloatArray:
        """Days from the origin."""
        values = self.read(series).to_numpy(dtype=self.dtype)
        return np.asarray((values - np.zeros(1, self.dtype)) / np.timedelta64(1, "D"))

    @classmethod
    def measured(cls, low: float, high: float, grain: int) -> dict[str, Any]:
        """Whole days."""
        first = min(max(math.floor(low), -FARTHEST), FARTHEST - 1)
        last = min(max(math.ceil(high), first + 1), FARTHEST)
        return {
            "minimum": (cls.origin + DAY * first).as_unit("us"),
            "maximum": (cls.origin + DAY * last).as_unit("us"),
            "resolution": MEASURED_STEPS[grain],
        }

    def brought_in(self, series: pd.Series) -> pd.Series:
        low, high = self.column.minimum, self.column.maximum
        inside = self.read(series).clip(low, high).dt.floor(str(self.column.resolution))
        inside = inside.clip(low, high)
        if not self.column.missing:
            inside = inside.fillna(low)
        return inside if self.column.format is None else self.texts(inside)


class Datetime(Timed):
    """Moments, in UTC."""

    fields = frozenset({"minimum", "maximum", "resolution", "cells", "format"})
    plural = "dates"
    stored = "date"
    least: ClassVar[dict[str, Any]] = {"minimum": "1970-01-01", "maximum": "1970-01-02"}
    dtype = "datetime64[us]"
    origin = pd.Timestamp(0)
    letters = "M"

    @property
    def what(self) -> str:
        return f"of the format {self.column.format!r}" if self.column.format else "a date"

    @property
    def example(self) -> str:
        how = f" or as in {self.column.format}" if self.column.format else ""
        return f"a date or a time such as 2022-02-05{how}"

    def normalise(self) -> dict[str, Any]:
        if self.column.format is not None and "%" not in str(self.column.format):
            raise self.column.error("format", self.column.format, "must be such as %d.%m.%Y")
        return super().normalise()

    def bound_of(self, value: Any) -> Any:
        return pd.Timestamp(bound_of(value, self.column.format))

    @classmethod
    def draft(cls, known: pd.Series) -> dict[str, Any] | None:
        text_format = guess_format(known)
        if not pd.api.types.is_datetime64_any_dtype(known.dtype) and not text_format:
            return None
        return {**cls.drafted(cls.read_values(known, text_format)), "format": text_format}

    @classmethod
    def read_values(cls, series: pd.Series, text_format: str | None) -> pd.Series:
        """Naive UTC timestamps; what is no date becomes NaT.

        Each value is read by itself: ``pandas.to_datetime`` takes format, time zone and unit from
        the whole column.
        """
        return stamps(series, text_format)

    def texts(self, values: pd.Series) -> pd.Series:
        return date_texts(values, str(self.column.format))

    def stored_as(self, values: pd.Series, dtype: str | None) -> pd.Series:
        if dtype is None:
            return values
        if self.column.format is not None:
            return super().stored_as(self.texts(values), dtype)
        if dtype == "object":
            daily = self.step % DAY == pd.Timedelta(0)
            plain = [
                None if pd.isna(v) else (v.date() if daily else v.to_pydatetime()) for v in values
            ]
            return pd.Series(plain, dtype=object)
        if dtype.startswith("datetime64") and "," in dtype:  # the time zone
            values = values.dt.tz_localize("UTC")
        return super().stored_as(values, dtype)

    @property
    def private_storage(self) -> str:
        return TEXT if self.column.format else self.dtype

    def stores(self, dtype: Any) -> bool:
        dates = pd.api.types.is_datetime64_any_dtype(dtype) or str(dtype) == "object"
        return bool(self.column.format) or dates

    def bare_texts(self, series: pd.Series) -> NDArray[np.bool_]:
        if self.column.format or pd.api.types.is_datetime64_any_dtype(series.dtype):
            return super().bare_texts(series)
        return np.array([isinstance(value, str) for value in series], dtype=bool)

    def from_file(self, series: pd.Series) -> pd.Series:
        if self.column.format is not None:
            return series
        moments = stamps(series, None)
        return moments if moments[series.notna()].notna().all() else series


def stamps(series: pd.Series, stored_format: str | None) -> pd.Series:
    """A series of dates as naive UTC timestamps; what is no date becomes NaT."""
    if isinstance(series.dtype, pd.CategoricalDtype):
        series = series.astype(series.dtype.categories.dtype)
    if isinstance(series.dtype, pd.DatetimeTZDtype):
        series = series.dt.tz_convert("UTC").dt.tz_localize(None)
    if pd.api.types.is_datetime64_any_dtype(series.dtype):
        return series.astype("datetime64[us]")
    texts: dict[str, np.datetime64] = {}
    moments = []
    for value in series:
        moment = texts.get(value) if isinstance(value, str) else None
        if moment is None:
            moment = moment_of(value, stored_format)
            if isinstance(value, str):
                texts[value] = moment
        moments.append(moment)
    return pd.Series(np.array(moments, dtype="datetime64[us]"), index=series.index)


def date_texts(moments: pd.Series, stored_format: str) -> pd.Series:
    """Naive UTC timestamps as texts that ``stamps`` reads back."""
    if "%z" in stored_format:
        moments = moments.dt.tz_localize("UTC")
    texts: pd.Series = moments.dt.strftime(stored_format)
    return texts


def guess_format(known: pd.Series) -> str | None:
    """The format of dates stored as text, or None if this is no such column."""
    distinct = pd.Series(known.unique(), dtype=object)
    if not all(isinstance(v, str) for v in distinct):
        return None
    for stored_format in TEXT_FORMATS:
        again = date_texts(stamps(distinct, stored_format), stored_format)
        if bool((again == distinct).all()):
            return stored_format
    return None
