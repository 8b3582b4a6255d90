"""A table in which rules are looked for, and whether a find is more than chance. Private."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from copula_shirley.rules.check import Flags
from copula_shirley.schema.domain import FloatArray
from copula_shirley.schema.rules import Rule
from copula_shirley.schema.schema import Schema

Places = NDArray[np.intp]
#: Rows that a rule must bind: what fewer rows keep may be chance.
ENOUGH = 100
#: Rows that show most candidates false.
TRIED = 2_000


@dataclass(frozen=True)
class Suggestion:
    """Some rules that belong together, and how they were found, in words."""

    rules: tuple[Rule, ...]
    how: str


class Seen:
    """The rows of a table that fit a schema, as its numbers."""

    def __init__(self, table: pd.DataFrame, schema: Schema) -> None:
        usable = (c for c in schema if not c.open and c.name in table and "`" not in c.name)
        self.columns = {column.name: column for column in usable}
        domains = {name: column.domain for name, column in self.columns.items()}
        series = {name: domain.clip(table[name]) for name, domain in domains.items()}
        unfit = [domain.outside(series[name]) for name, domain in domains.items()]
        fits = ~np.any(unfit, axis=0) if unfit else np.ones(len(table), dtype=np.bool_)
        self.values = {n: domain.to_numbers(series[n][fits]) for n, domain in domains.items()}
        self.size = int(fits.sum())
        rng = np.random.default_rng(0)
        self.few = np.sort(rng.permutation(self.size)[:TRIED])
        #: The few rows in another order.
        self.others = rng.permutation(self.few)
        self.amounts: Callable[[str], FloatArray] = cache(self._amounts)
        self.missing: Callable[[str], Flags] = cache(self._missing)
        self.codes: Callable[[str], Places | None] = cache(self._codes)

    def _amounts(self, name: str) -> FloatArray:
        return self.columns[name].domain.amounts(self.values[name])

    def _missing(self, name: str) -> Flags:
        return np.isneginf(self.values[name])

    def _codes(self, name: str) -> Places | None:
        """The cell of each row, where each cell is a single value."""
        cells = self.columns[name].domain.cells()
        single = np.array_equal(cells.first, cells.last)
        return cells.index(self.values[name]) if single else None

    def of_quantity(self, *kinds: str) -> list[str]:
        """Columns of numbers, moments or durations."""
        return [name for name, c in self.columns.items() if c.domain.quantity in kinds]
