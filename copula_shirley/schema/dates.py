"""Columns of values on a grid of time: what moments and durations share, and moments."""

from __future__ import annotations

import datetime as dt
import math
import re
from collections.abc import Iterable
from contextlib import suppress
from functools import cache
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from copula_shirley.schema.domain import MISSING, TEXT, FloatArray
from copula_shirley.schema.expressions import MOMENT
from copula_shirley.schema.kind import CELLS, Kind, Rule
from copula_shirley.schema.values import moment_of

MICROSECOND = pd.Timedelta("1us")
DAY = pd.Timedelta("1D")
#: Steps that a draft tells apart, the coarsest first.
STEPS = ("1D", "1h", "1min", "1s", "1ms", "1us")
#: Steps that a measured domain tells apart, the coarsest first.
MEASURED_STEPS = ("1D", "1h", "1s", "1us")
#: Days from the origin that pandas can hold in nanoseconds.
FARTHEST = 106_000
#: Days from the origin within which a value is read: the difference of two fits in microseconds.
READABLE = 50_000_000
#: Formats of dates that a draft finds in texts.
DATES = ("%Y-%m-%d", "%Y/%m/%d", "%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%d-%m-%Y", "%m-%d-%Y",
         "%d.%m.%y", "%d/%m/%y", "%m/%d/%y", "%d %b %Y", "%d-%b-%Y", "%d %B %Y")  # fmt: skip
CLOCKS = ("%H:%M:%S", "%H:%M", "%I:%M:%S %p", "%I:%M %p")
TEXT_FORMATS = (
    *DATES,
    *(f"%Y-%m-%dT{clock}" for clock in CLOCKS),
    *(f"{date} {clock}" for date in DATES for clock in CLOCKS),
)
#: Times of the day, which lie in 1900 as Python reads them; scores such as 2:1 are none.
TIME, TIME_TEXT = "%H:%M", re.compile(r"\d{1,2}:\d{2}", re.ASCII)
#: Dates before it are texts of something else, such as 01.02.20 read with a year of four digits.
EARLIEST = np.datetime64("1000-01-01")


def date_part(text_format: str | None) -> str | None:
    """What of a format stands before the time of day.

    Examples
    --------
    >>> date_part("%d/%m/%Y %H:%M"), date_part("%Y-%m-%dT%H"), date_part("%d.%m.%y")
    ('%d/%m/%Y', '%Y-%m-%d', '%d.%m.%y')
    """
    return re.split(r"[ T,]*%[HIMSfpXcz]", text_format)[0] if text_format else None


def fields_of(least: str, most: str, text_format: dict[str, Any]) -> dict[str, Any]:
    """The fields of a column on a grid of time, as JSON Schema, with what its bounds are."""
    step = {"type": "string", "description": "step of the grid, such as 1D, 1h, 15min or 1s"}
    ends = {end: {"type": "string", "description": f"the {what}"} for end, what in
            (("minimum", least), ("maximum", most))}  # fmt: skip
    return {**ends, "resolution": step, "cells": CELLS, "format": {"type": "string", **text_format}}


class Timed(Kind):
    """Values on a grid of time; their numbers are steps of ``resolution`` since the minimum."""

    #: How values are reckoned with, in microseconds.
    dtype: ClassVar[Any]
    #: The value of which measured numbers are days.
    origin: ClassVar[Any]
    grains = tuple(pd.Timedelta(step) / DAY for step in MEASURED_STEPS[:-1])

    @classmethod
    def value_of(cls, value: Any, text_format: str | None) -> Any:
        """One value as a numpy scalar of ``dtype``; NaT if it is none."""
        raise NotImplementedError

    def bound_of(self, value: Any) -> tuple[Any, str]:
        """A bound as pandas' scalar, NaT if it is none; and what it must be."""
        raise NotImplementedError

    # -- the description ------------------------------------------------------------

    def bound(self, field: str, value: Any) -> Any:
        bound, example = self.bound_of(value)
        if pd.isna(bound):
            raise self.column.error(field, value, f"must be {example}")
        return bound

    def normalise(self) -> dict[str, Any]:
        found, resolution = super().normalise(), self.column.resolution
        if isinstance(resolution, dt.timedelta):
            resolution = str(pd.Timedelta(resolution))
        fits = False
        with suppress(ValueError, TypeError):
            fits = isinstance(resolution, str | None) and self.step >= MICROSECOND
        if not fits:
            raise self.column.error("resolution", resolution, 'must be a duration such as "1D"')
        return {**found, "resolution": resolution}

    @property
    def step(self) -> pd.Timedelta:
        resolution = self.column.resolution
        return pd.Timedelta("1s" if resolution is None else resolution)

    @classmethod
    def drafted(cls, values: pd.Series) -> dict[str, Any]:
        """Bounds and the coarsest step of known values."""
        low, high = values.min(), values.max()
        passed = (values - low).to_numpy("timedelta64[us]").astype("int64")
        steps = (s for s in STEPS if np.all(passed % (pd.Timedelta(s) // MICROSECOND) == 0))
        return {"minimum": low, "maximum": high, "resolution": next(steps, STEPS[-1])}

    # -- values to numbers and back -------------------------------------------------

    @classmethod
    def read_values(cls, series: pd.Series, text_format: str | None = None) -> pd.Series:
        """Values of ``dtype``, moments naive and in UTC; what is none becomes NaT.

        Each value is read by itself: ``pandas.to_datetime`` takes format, time zone and unit from
        the whole column.
        """
        if isinstance(series.dtype, pd.CategoricalDtype):
            listed = series.dtype.categories.dtype  # whole numbers would leave no place for gaps
            series = series.astype(listed if listed.kind == cls.letters else object)
        if isinstance(series.dtype, pd.DatetimeTZDtype):
            series = series.dt.tz_convert("UTC").dt.tz_localize(None)
        if series.dtype.kind == cls.letters:
            numbers = series.to_numpy()
            unit = np.datetime_data(numbers.dtype)[0]
            a_day = np.timedelta64(1, "D").astype(f"timedelta64[{unit}]")
            days = numbers.astype("int64") / float(a_day.astype("int64"))
            # a value too far out is none by itself: the whole column cannot be cast with it
            found: pd.Series = series.where(np.abs(days) <= READABLE).astype(cls.dtype)
            return found
        of_text = cache(lambda text: cls.value_of(text, text_format))
        values = [
            of_text(v) if isinstance(v, str) else cls.value_of(v, text_format) for v in series
        ]
        each = np.array(values, dtype=cls.dtype)
        return cls.read_values(pd.Series(each, series.index, name=series.name))

    def read(self, series: pd.Series) -> pd.Series:
        return self.read_values(series, self.column.format)

    def steps(self, values: pd.Series) -> FloatArray:
        # in microseconds: nanoseconds since long ago are beyond the whole numbers of a double
        passed = (values - self.column.minimum.as_unit("us")) / self.step.as_unit("us")
        return np.asarray(passed.to_numpy(dtype=float, na_value=np.nan))

    def to_numbers(self, series: pd.Series) -> FloatArray:
        steps = self.steps(self.read(series))
        return np.where(np.isnan(steps), MISSING, np.floor(steps))

    def amounts(self, numbers: FloatArray) -> FloatArray:
        start = (self.column.minimum - self.origin).as_unit("us") // MICROSECOND
        found = float(start) + super().amounts(numbers) * float(self.step // MICROSECOND)
        return np.asarray(found)

    def nearest(self, amounts: FloatArray) -> FloatArray:
        start = (self.column.minimum - self.origin).as_unit("us") // MICROSECOND
        return np.rint((amounts - float(start)) / float(self.step // MICROSECOND))

    def values(self, known: FloatArray, missing: NDArray[np.bool_], dtype: str | None) -> pd.Series:
        start = self.column.minimum.as_unit("us").to_numpy()
        passed = (known.astype("int64") * (self.step // MICROSECOND)).astype("timedelta64[us]")
        values = pd.Series(start + passed)
        values[missing] = pd.NaT
        return values

    @staticmethod
    def texts(values: pd.Series, text_format: str) -> pd.Series:
        """Values as texts that are read back."""
        raise NotImplementedError

    def stored_as(self, values: pd.Series, dtype: str | None) -> pd.Series:
        if dtype is not None and self.column.format is not None:
            values = self.texts(values, self.column.format)
        return super().stored_as(values, dtype)

    @property
    def private_storage(self) -> str:
        return TEXT if self.column.format else str(self.dtype)

    def stores(self, dtype: Any) -> bool:
        return bool(self.column.format) or super().stores(dtype)

    @property
    def file_dtype(self) -> str:
        return TEXT

    def from_file(self, series: pd.Series) -> pd.Series:
        if self.column.format is not None:
            return series
        values = self.read_values(series)
        return values if values[series.notna()].notna().all() else series

    # -- what fits and what does not ------------------------------------------------

    def own_rules(self, series: pd.Series, gaps: NDArray[np.bool_]) -> list[Rule]:
        steps = self.steps(self.read(series))
        off_grid = f"a value is not a whole number of steps ({self.step}) after the minimum"
        between = np.isfinite(steps) & (steps != np.floor(steps))
        return [*super().own_rules(series, gaps), (~gaps & between, off_grid)]

    def read_end(self, value: Any) -> pd.Series:
        if not isinstance(value, str):
            return super().read_end(value)
        end, example = self.bound_of(value)
        if pd.isna(end):
            raise ValueError(f"must be {example}")
        return pd.Series([end])

    # -- cells ----------------------------------------------------------------------

    @property
    def number_range(self) -> tuple[float, float]:
        return 0.0, float(np.floor((self.column.maximum - self.column.minimum) / self.step))

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


class Datetime(Timed):
    """Moments, in UTC."""

    fields = fields_of(
        "first date or time, such as 2022-02-05",
        "last date or time",
        {"pattern": "%", "description": "of texts, such as %d.%m.%Y; else ISO 8601"},
    )
    quantity = MOMENT
    plural = "dates"
    stored = "date"
    least: ClassVar[dict[str, Any]] = {"minimum": "1970-01-01", "maximum": "1970-01-02"}
    dtype = "datetime64[us]"
    origin = pd.Timestamp(0)
    letters = "M"
    fitting = ("MO", "")
    types = (dt.date,)

    @property
    def what(self) -> str:
        if self.column.format:
            return f"of the format {self.column.format!r}"
        return "a date as ISO 8601 has it (2022-02-05); declare the format of others, as %d.%m.%Y"

    def normalise(self) -> dict[str, Any]:
        if self.column.format is not None and "%" not in str(self.column.format):
            raise self.column.error("format", self.column.format, "must be such as %d.%m.%Y")
        return super().normalise()

    @classmethod
    def value_of(cls, value: Any, text_format: str | None) -> Any:
        return moment_of(value, text_format)

    def bound_of(self, value: Any) -> tuple[Any, str]:
        """ISO 8601, else by the format: without one 05.02.2022 is no date."""
        moment, how = moment_of(value, None), self.column.format
        if how and np.isnat(moment):
            moment = moment_of(value, how)
        example = "a date or a time such as 2022-02-05" + (f" or as in {how}" if how else "")
        return pd.Timestamp(moment), example

    def read_end(self, value: Any) -> pd.Series:
        """A text by the format of the column, else as ISO 8601: 01/02/2023 means one day only."""
        if isinstance(value, str) and self.column.format:
            moment = moment_of(value, self.column.format)
            if not np.isnat(moment):
                return pd.Series([pd.Timestamp(moment)])
        return super().read_end(value)

    def span(self, value: Any) -> tuple[float, float]:
        """All moments of a day, where a day is named and not a time of it."""
        day = self.day_of(value)
        if day is None:
            return super().span(value)
        ends = pd.Series([day, day + DAY - MICROSECOND])
        if day > self.column.maximum or ends[1] < self.column.minimum:
            raise ValueError(f"must lie in the declared domain: {self.words}")
        first, last = self.steps(ends.clip(self.column.minimum, self.column.maximum))
        return float(np.ceil(first)), float(np.floor(last))

    def day_of(self, value: Any) -> pd.Timestamp | None:
        """The day that a value names; None if it names a time of a day, or nothing."""
        if isinstance(value, str):
            formats = [f for f in (self.column.format, date_part(self.column.format)) if f]
            for text_format in formats:
                moment = moment_of(value, text_format)
                if not np.isnat(moment):
                    whole = date_part(text_format) == text_format
                    return pd.Timestamp(moment) if whole else None
            with suppress(ValueError):
                return pd.Timestamp(dt.date.fromisoformat(value))
        if isinstance(value, dt.date) and not isinstance(value, dt.datetime):
            return pd.Timestamp(value)
        return None

    @classmethod
    def draft(cls, known: pd.Series) -> dict[str, Any] | None:
        text_format = cls.format_of(known)
        dates = known.dtype.kind == "M" or all(isinstance(v, dt.date) for v in known)
        if not dates and not text_format:
            return None
        return {**cls.drafted(cls.read_values(known, text_format)), "format": text_format}

    @classmethod
    def format_of(cls, known: pd.Series) -> str | None:
        """The format of dates stored as text, or None if this is no such column."""
        distinct = list(known.unique())
        texts = all(isinstance(v, str) for v in distinct)
        if texts and all(TIME_TEXT.fullmatch(v) for v in distinct) and cls.fits(distinct, TIME):
            return TIME
        return next((f for f in TEXT_FORMATS if texts and cls.fits(distinct, f)), None)

    @staticmethod
    def fits(texts: Iterable[str], text_format: str) -> bool:
        """Whether all texts are dates of a format; the first one that is none ends the search."""
        return all(moment_of(text, text_format) >= EARLIEST for text in texts)

    @staticmethod
    def texts(moments: pd.Series, text_format: str) -> pd.Series:
        """Moments as texts that are read back."""
        if "%z" in text_format:
            moments = moments.dt.tz_localize("UTC")
        found: pd.Series = moments.dt.strftime(text_format)
        return found

    def storage(self, series: pd.Series) -> str:
        """Texts of no declared format are read as ISO 8601, and their dates are drawn as dates."""
        bare = self.column.format is None and isinstance(series.dtype, pd.StringDtype)
        return self.private_storage if bare else super().storage(series)

    def stored_as(self, values: pd.Series, dtype: str | None) -> pd.Series:
        if dtype is None or self.column.format is not None:
            return super().stored_as(values, dtype)
        if dtype == "object":
            daily = self.step % DAY == pd.Timedelta(0)
            plain = [
                None if pd.isna(v) else (v.date() if daily else v.to_pydatetime()) for v in values
            ]
            return pd.Series(plain, dtype=object)
        if dtype.startswith("datetime64") and "," in dtype:  # the time zone
            values = values.dt.tz_localize("UTC")
        return super().stored_as(values, dtype)
