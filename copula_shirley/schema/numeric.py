"""Columns of numbers: whole ones and others."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from copula_shirley.errors import SchemaError
from copula_shirley.schema.domain import LARGEST_EXACT_DOMAIN, MISSING, FloatArray
from copula_shirley.schema.expressions import NUMBER
from copula_shirley.schema.file_format import PLAIN, FileFormat
from copula_shirley.schema.kind import CELLS, SCALE, Kind, Rule
from copula_shirley.schema.values import (
    INEXACT,
    Reader,
    as_floats,
    is_number,
    label_of,
    number_of,
)

#: Decimals of measured numbers that are told apart; one with more has any number of them.
DECIMALS = 6
#: Largest value, in medians, from which a draft proposes cells that follow magnitude.
SKEWED = 30
#: Most numbers of a file, with their decimal sign; others are read one by one.
USUAL = r"^-?[0-9]{1,20}(\%s[0-9]{1,30})?([eE][+-]?[0-9]{1,2})?$"


def bounds_of(number: str) -> dict[str, Any]:
    """The fields of a column of numbers, as JSON Schema."""
    one = {"type": number}
    special = {"type": "array", "items": one, "description": "values with a cell of their own"}
    return {"minimum": one, "maximum": one, "cells": CELLS, "special": special, "scale": SCALE}


class Number(Kind):
    """Numbers between two bounds; each is its own number."""

    is_number = True
    quantity = NUMBER
    has_magnitudes = True
    grains = tuple(10.0**-decimals for decimals in range(DECIMALS + 1))
    may_identify = True

    def normalise(self) -> dict[str, Any]:
        column, found, resolution = self.column, super().normalise(), self.column.resolution
        for value in column.special:
            if not found["minimum"] <= self.bound("special", value) <= found["maximum"]:
                raise column.error("special", value, "must lie between minimum and maximum")
        if resolution is not None and not (is_number(resolution) and float(resolution) > 0):
            raise column.error("resolution", resolution, "must be a positive number")
        return found

    def bound(self, field: str, value: Any) -> Any:
        if not is_number(value):
            raise self.column.error(field, value, "must be a finite number")
        if self.is_whole and value != int(value):
            raise self.column.error(field, value, "must be a whole number")
        if abs(value) > INEXACT:
            raise self.column.error(field, value, "must lie within 2**53 of zero")
        return int(value) if self.is_whole else value

    @classmethod
    def draft(cls, known: pd.Series) -> dict[str, Any] | None:
        if not pd.api.types.is_numeric_dtype(known.dtype) or known.dtype.kind == "b":
            return None
        values = known.to_numpy(dtype=float)
        low, high = float(values.min()), float(values.max())
        if not math.isfinite(low) or not math.isfinite(high):
            raise SchemaError(f"column {known.name!r}: holds infinite values; none may occur")
        if max(abs(low), abs(high)) > INEXACT:
            raise SchemaError(
                f"column {known.name!r}: holds numbers beyond 2**53, which are not exact; drop it, "
                "make it the person column, or declare it categorical with texts in a schema"
            )
        whole = bool(np.all(values == np.round(values)))
        if whole != cls.is_whole:
            return None
        if whole:
            return {"minimum": int(low), "maximum": int(high), **cls.drafted_scale(values, 1.0)}
        scaled = {10.0**-k: values * 10**k for k in range(1, 5)}
        fits = (r for r, v in scaled.items() if np.allclose(v, np.round(v), 1e-12, 1e-6))
        step = next(fits, None)
        scale = cls.drafted_scale(values, step or 0.0)
        return {"minimum": low, "maximum": high, "resolution": step, **scale}

    @staticmethod
    def drafted_scale(values: FloatArray, step: float) -> dict[str, str]:
        """A scale that follows magnitude, if equal cells would hold most values in few of them."""
        sizes = np.abs(values[values != 0])
        exact = step and np.ptp(values) / step < LARGEST_EXACT_DOMAIN
        skewed = not exact and len(sizes) and sizes.max() >= SKEWED * np.median(sizes)
        return {"scale": "log"} if skewed else {}

    def to_numbers(self, series: pd.Series) -> FloatArray:
        values = as_floats(series)
        return np.where(np.isnan(values), MISSING, values)

    def values(self, known: FloatArray, missing: NDArray[np.bool_], dtype: str | None) -> pd.Series:
        return pd.Series(np.where(missing, np.nan, known))

    @property
    def what(self) -> str:
        how = "with a decimal point and no separators (others: 'shirley draft' finds them)"
        return f"a number; allowed are numbers in {self.bounds}, {how}{self.hint}"

    def read(self, series: pd.Series) -> FloatArray:
        return as_floats(series)

    def holds_bounds(self, dtype: Any) -> bool:
        if dtype.kind == "i":
            ends = (self.column.minimum, self.column.maximum)
            return pd.api.types.is_signed_integer_dtype(dtype) and all(e == int(e) for e in ends)
        return isinstance(dtype, np.dtype) and dtype.kind == "f"

    def read_end(self, value: Any) -> pd.Series:
        if isinstance(value, str) and math.isnan(number_of(value)):
            raise ValueError(f"must be a number in {self.bounds}, with a decimal point")
        return super().read_end(value)

    def typed(self, text: str) -> Any:
        try:
            return int(text) if self.is_whole else float(text)
        except ValueError:
            return text

    def reader(self, file: FileFormat) -> Reader:
        """Plain numbers are read by Arrow, faster: it rounds them as Python does.

        A number stands for a missing value by its value, so that -9.00 does if "-9" is named.
        """
        gaps, decimal = file.missing_numbers, file.decimal
        each = file.reader(lambda t: None if file.number(t) in gaps else self.meaning(t, file))

        def numbers(texts: Sequence[str]) -> NDArray[np.object_]:
            fields = pa.array(texts, pa.string())
            matched = pc.match_substring_regex(fields, USUAL % decimal)
            if decimal != ".":
                fields = pc.replace_substring(fields, decimal, ".")
            read = pc.cast(pc.if_else(matched, fields, "0"), pa.float64()).to_numpy()
            plain = matched.to_numpy(zero_copy_only=False)
            values: NDArray[np.object_] = read.astype(object)
            if self.is_whole:
                plain &= np.abs(read) < INEXACT
                integral = plain & (read == np.rint(read))
                values[integral] = read[integral].astype(np.int64)
            values[np.isin(read, list(gaps))] = None
            rest = np.flatnonzero(~plain)
            values[rest] = each([texts[i] for i in rest.tolist()])
            return values

        return numbers

    def meaning(self, text: str, file: FileFormat = PLAIN) -> Any:
        found = file.number(text)
        if math.isnan(found):
            # with a decimal comma 1.5 is no number, and must not become one later
            return text if math.isnan(number_of(text)) else f"{text} (no number)"
        return int(found) if self.is_whole and found == int(found) else found

    def label(self, value: Any) -> Any:
        return label_of(number_of(value) if isinstance(value, str) else value)

    def measure(self, series: pd.Series) -> FloatArray:
        values = as_floats(series)
        return np.where(np.isfinite(values), values, np.nan)

    @classmethod
    def measured(cls, low: float, high: float, grain: int) -> dict[str, Any]:
        """Whole numbers where no finer ones were seen."""
        special: dict[str, Any] = {"special": (0,)} if low <= 0 <= high else {}
        if grain == 0:  # the outward end of a magnitude is not part of it
            first = math.floor(low) + (low < 0)
            last = max(first, math.ceil(high) - (high > 0))
            return {"kind": "integer", "minimum": first, "maximum": last, **special}
        resolution = cls.grains[grain] if grain <= DECIMALS else None
        if resolution is not None:
            low = math.floor(low / resolution + 1e-6) * resolution
            high = math.ceil(high / resolution - 1e-6) * resolution
        ends = {"minimum": round(low, DECIMALS), "maximum": round(high, DECIMALS)}
        return {**ends, "resolution": resolution, **special}


class Integer(Number):
    """Whole numbers."""

    fields: ClassVar[dict[str, Any]] = bounds_of("integer")
    is_whole = True
    letters = "iuf"
    fitting = ("iu", "f")

    def values(self, known: FloatArray, missing: NDArray[np.bool_], dtype: str | None) -> pd.Series:
        if not missing.any():
            return pd.Series(np.rint(known).astype("int64"))
        if dtype == "object":
            plain = [None if gap else round(v) for gap, v in zip(missing, known, strict=True)]
            return pd.Series(plain, dtype=object)
        return super().values(known, missing, dtype)

    def own_rules(self, series: pd.Series, gaps: NDArray[np.bool_]) -> list[Rule]:
        values = as_floats(series)
        fraction = np.isfinite(values) & (values != np.round(values))
        return [*super().own_rules(series, gaps), (fraction, "a value is not a whole number")]

    @property
    def private_storage(self) -> str:
        return "Int64" if self.column.missing else "int64"


class Continuous(Number):
    """Numbers of any size, or on a grid of ``resolution``."""

    fields: ClassVar[dict[str, Any]] = {
        **bounds_of("number"),
        "resolution": {"type": "number", "exclusiveMinimum": 0},
    }
    fitting = ("f", "")
    is_discrete = False
    private_storage = "float64"

    @property
    def step_size(self) -> float:
        return float(self.column.resolution or 0.0)

    def nearest(self, amounts: FloatArray) -> FloatArray:
        if self.column.resolution is None:
            return amounts
        resolution = float(self.column.resolution)
        steps = np.round(amounts / resolution)
        # 15 significant digits are exact; what is after them comes of rounding
        low, high = self.number_range
        largest = max(abs(low), abs(high), resolution)
        found = np.round(steps * resolution, 14 - int(np.floor(np.log10(largest))))
        return np.asarray(found + 0.0)  # no -0.0

    def round(self, numbers: FloatArray) -> FloatArray:
        if self.column.resolution is None:
            return numbers
        bounded = np.clip(self.nearest(numbers), self.column.minimum, self.column.maximum)
        return np.where(np.isneginf(numbers), numbers, bounded)
