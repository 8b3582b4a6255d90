"""Columns whose values are a closed list: categories and truth values."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from copula_shirley.schema import identifiers
from copula_shirley.schema.domain import MISSING, TEXT, FloatArray
from copula_shirley.schema.file_format import PLAIN, FileFormat
from copula_shirley.schema.kind import Kind, Rule
from copula_shirley.schema.values import (
    Reader,
    plain,
    position_in,
    positions,
    truth_of,
)

#: What a draft calls the category of all values that it does not list.
OTHER = "other"
CATEGORY = {"type": ["string", "number", "boolean"]}
#: How long a scale may be that a draft copies.
FEW = 20
#: Dtypes of a list of one type, without and with missing values.
DTYPES = {int: ("int64", "Int64"), bool: ("bool", "boolean"), str: (TEXT, TEXT)}


class Listed(Kind):
    """Values of a closed list; their numbers are their positions."""

    is_listed = True
    plural = "categories"
    stored = "category"

    @property
    def words(self) -> str:
        listed = self.categories
        return ", ".join(map(repr, listed[:12])) + (", ..." if len(listed) > 12 else "")

    def to_numbers(self, series: pd.Series) -> FloatArray:
        found = positions(self.categories, series).astype(float)
        return np.where(found < 0, MISSING, found)

    def values(self, known: FloatArray, missing: NDArray[np.bool_], dtype: str | None) -> pd.Series:
        listed = np.array(self.categories, dtype=object)[known.astype(int)]
        return pd.Series(np.where(missing, None, listed), dtype=object)

    def own_rules(self, series: pd.Series, gaps: NDArray[np.bool_]) -> list[Rule]:
        size = len(self.categories)
        listed = f"among the {size} categories" if size > 1 else "the category"
        rule = f"a value is not {listed} {self.words}{self.hint}"
        if self.column.other is not None:
            rule += f"; a fit with on_unknown='clip' counts it as {self.column.other!r}"
        return [(positions(self.categories, series) == -2, rule)]

    def clip(self, series: pd.Series) -> pd.Series:
        if self.column.other is None:
            return series
        unknown = positions(self.categories, series) == -2
        return series.astype(object).where(~unknown, self.column.other) if unknown.any() else series

    @property
    def private_storage(self) -> str:
        types = {type(category) for category in self.categories}
        if len(types) == 1 and types <= {*DTYPES}:
            return DTYPES[types.pop()][self.column.missing]
        return "float64" if types <= {int, float} else "object"

    def typed(self, text: str) -> Any:
        listed = {str(category).lower(): category for category in self.categories}
        listed |= {str(category): category for category in self.categories}
        return listed.get(text, listed.get(text.lower(), text))

    @property
    def number_range(self) -> tuple[float, float]:
        return 0.0, float(len(self.categories) - 1)

    def known_cells(self) -> tuple[FloatArray, FloatArray]:
        first = np.arange(len(self.categories), dtype=float)
        return first, first

    def most_cells(self) -> int:
        return 0 if self.column.open else len(self.categories) + self.column.missing


class Categorical(Listed):
    """Texts or numbers of a declared list."""

    fields: ClassVar[dict[str, Any]] = {
        "categories": {"type": "array", "items": CATEGORY, "minItems": 1, "uniqueItems": True},
        "ordered": {"type": "boolean", "description": "the order of the list means something"},
        "other": {**CATEGORY, "description": "the category that takes unknown ones"},
    }
    types = (str, int, float, np.generic)
    is_nominal = True
    may_identify = True
    least: ClassVar[dict[str, Any]] = {"categories": ("(other)",)}

    @property
    def hint(self) -> str:
        listing = "; list it, or name one of them that takes others (other: ..., on_unknown='clip')"
        return super().hint + (listing if self.column.other is None else "")

    def normalise(self) -> dict[str, Any]:
        error, listed, other = self.column.error, self.categories, self.column.other
        if not listed:
            raise error("categories", [], "must list at least one category")
        for category in listed:
            if not isinstance(category, str | int | float):
                rule = "must hold texts or numbers only (quote dates)"
                raise error("categories", category, rule)
            if isinstance(category, float) and not math.isfinite(category):
                raise error("categories", category, "is not a category: use missing: true")
        twice = [category for category, times in Counter(listed).items() if times > 1]
        if twice:
            raise error("categories", twice[0], "is listed twice")
        if other is not None and other not in listed:
            rule = "must be one of the categories; leave it out if the list is complete"
            raise error("other", other, rule)
        return {}

    @classmethod
    def draft(cls, known: pd.Series) -> dict[str, Any] | None:
        listed = {plain(v) for v in identifiers.listed(known)}
        values = sorted(listed, key=lambda v: (str(type(v)), v))
        if isinstance(known.dtype, pd.CategoricalDtype):
            scale = tuple(map(plain, known.dtype.categories))
            if known.dtype.ordered and len(scale) <= FEW:  # written down by somebody
                return {"categories": scale, "ordered": True}
            values = [v for v in scale if v in listed]
        other = None if known.isin(list(listed)).all() else OTHER
        if other is not None and other not in listed:
            values.append(other)
        return {"categories": tuple(values), "other": other}

    def stored_as(self, values: pd.Series, dtype: str | None) -> pd.Series:
        return values if dtype == "object" else super().stored_as(values, dtype)

    def stores(self, dtype: Any) -> bool:
        return True

    @property
    def file_dtype(self) -> str:
        return TEXT if all(isinstance(c, str) for c in self.categories) else "object"

    def reader(self, file: FileFormat) -> Reader:
        where, listed = position_in(self.categories), dict(enumerate(self.categories))

        def meaning(text: str) -> Any:
            found = listed.get(where(text))
            return listed.get(where(file.number(text)), text) if found is None else found

        return file.reader(meaning)


class Boolean(Listed):
    """True and false."""

    instead = "of other words, such as yes and no, the kind is categorical"
    letters = "b"
    fitting = ("b", "O")
    least: ClassVar[dict[str, Any]] = {}

    @property
    def categories(self) -> tuple[Any, ...]:
        return (False, True)

    def normalise(self) -> dict[str, Any]:
        return {}

    @property
    def hint(self) -> str:
        return f" (or TRUE, true, 1 and the like); {self.instead}"

    @classmethod
    def draft(cls, known: pd.Series) -> dict[str, Any] | None:
        found = pd.api.types.is_bool_dtype(known.dtype) or all(isinstance(v, bool) for v in known)
        return {} if found else None

    def meaning(self, text: str, file: FileFormat = PLAIN) -> Any:
        found = truth_of(text)
        return text if found is None else found

    def label(self, value: Any) -> Any:
        return truth_of(value)
