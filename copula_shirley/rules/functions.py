"""Functions of columns: by a public table, or by one that a fit learns."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from copula_shirley.errors import ArtefactError
from copula_shirley.rules.check import Check, Flags, Values
from copula_shirley.rules.conditions import number_in, numbers_in
from copula_shirley.schema.column import Column
from copula_shirley.schema.domain import MISSING, Cells, FloatArray
from copula_shirley.schema.rules import Function
from copula_shirley.schema.schema import Schema

#: Stage of a ledger in which functions are learned.
STAGE = "functions"
#: Cells of a table that is learned.
MOST_CELLS = 1_000_000


class FunctionCheck(Check):
    """A column and a public table of others."""

    rule: Function

    def __init__(self, rule: Function, schema: Schema) -> None:
        super().__init__(rule, schema)
        self.column = self.columns[rule.column]
        keys = [self.columns[name] for name in rule.of]
        rows = rule.table or ()
        sides = [numbers_in(c, [row[i] for row in rows], rule) for i, c in enumerate(keys)]
        found = numbers_in(self.column, [row[-1] for row in rows], rule)
        pairs = zip(zip(*(side.tolist() for side in sides), strict=True), found, strict=True)
        self.table = dict(pairs)
        if len(self.table) < len(rows):
            raise rule.error("the table names the same values twice")
        self.default = MISSING
        if rule.default is not None:
            self.default = number_in(self.column, rule.default, rule)
        elif not self.column.missing and rule.table is not None:
            self._check_complete(keys)

    def _check_complete(self, keys: Sequence[Column]) -> None:
        """Refuse a table with a gap where the column has none."""
        sizes = [len(c.domain.categories) if c.is_listed else 0 for c in keys]
        gaps = any(c.missing for c in keys)
        if gaps or 0 in sizes or math.prod(sizes) > len(self.table):
            raise self.rule.error(
                f"the table must name a value for all values of {', '.join(self.rule.of)}; give a "
                f"default, or declare {self.rule.column!r} with missing: true"
            )

    def result(self, values: Values) -> FloatArray:
        """The column's numbers."""
        keys = np.stack([values[name] for name in self.rule.of], axis=1)
        distinct, place = np.unique(keys, axis=0, return_inverse=True)
        found = [self.table.get(tuple(key), self.default) for key in distinct.tolist()]
        return np.array(found, dtype=float)[place.ravel()]

    def broken(self, values: Values) -> Flags:
        return np.asarray(self._bound(values) & (values[self.rule.column] != self.result(values)))

    def _bound(self, values: Values) -> Flags:
        """Which rows have all values that the rule compares."""
        return np.asarray(np.all([np.isfinite(values[name]) for name in self.columns], axis=0))


class LearnedCheck(FunctionCheck):
    """A column and a noisy table of others, which a fit learns for a charge.

    A place of the table for each combination of declared values of the others, a missing one
    among them. Before it is learned no row breaks the rule, and every place has the default, or
    the first value.
    """

    def __init__(self, rule: Function, schema: Schema) -> None:
        super().__init__(rule, schema)
        columns = [self.columns[name] for name in (*rule.of, rule.column)]
        sizes = [column.domain.most_cells() for column in columns]
        if math.prod(sizes) > MOST_CELLS:
            each = ", ".join(f"{c.name} {size:,}" for c, size in zip(columns, sizes, strict=True))
            raise rule.error(
                f"its learned table would have {math.prod(sizes):,} cells ({each}), more than "
                f"{MOST_CELLS:,}; merge values, or name a public table"
            )
        self._cells = [self._of_values(column) for column in columns]
        #: The columns of ``of`` and then that of the function, and the cells of each.
        self.names = tuple(column.name for column in columns)
        self.shape = tuple(cells.size for cells in self._cells)
        first = 0 if rule.default is None else int(self._cells[-1].index(np.array(self.default)))
        #: The cell of the function's value, by place.
        self.found: NDArray[np.int64] = np.full(math.prod(self.shape[:-1]), first)
        self.is_learned = False

    def _of_values(self, column: Column) -> Cells:
        cells = column.domain.cells()
        if not np.array_equal(cells.first, cells.last):
            raise self.rule.error(
                f"column {column.name!r} must be listed, or have a cell for each of its values "
                "(at most 1,000 whole numbers or steps), since the table is learned"
            )
        return cells

    def learn(self, counts: NDArray[np.int64], least: float) -> None:
        """Take the commonest value at each place, by noisy counts; of equal ones the first.

        Where no count exceeds ``least``, noise alone may have made it: such a place has the
        default, or the commonest value of all.
        """
        counts = counts.reshape(len(self.found), -1)
        usual = self.found if self.rule.default is not None else counts.sum(axis=0).argmax()
        self.take(np.where(counts.max(axis=1) > least, counts.argmax(axis=1), usual))

    def take(self, found: NDArray[np.int64]) -> None:
        """Take a table that was learned before."""
        right = found.shape == self.found.shape and found.dtype == self.found.dtype
        if not right or not ((found >= 0) & (found < self.shape[-1])).all():
            raise ArtefactError(f"the table of the rule {str(self.rule)!r} does not fit it")
        self.found, self.is_learned = found, True

    def _places(self, values: Values) -> NDArray[np.intp]:
        pairs = zip(self._cells, self.rule.of, strict=False)
        codes = [cells.index(values[name]) for cells, name in pairs]
        # values of rejected rows may lie beyond the domain
        return np.asarray(np.ravel_multi_index(codes, self.shape[:-1], mode="clip"))

    def result(self, values: Values) -> FloatArray:
        return self._cells[-1].first[self.found[self._places(values)]]

    def broken(self, values: Values) -> Flags:
        found = super().broken(values)
        return found if self.is_learned else np.zeros_like(found)

    def judged(self, values: Values) -> Flags:
        """Rows that break the learned table, or without one that are off the commonest value."""
        if self.is_learned:
            return self.broken(values)
        bound, own = self._bound(values), self._cells[-1].index(values[self.names[-1]])
        place = self._places(values)
        counts = np.zeros((len(self.found), self.shape[-1]), dtype=np.int64)
        np.add.at(counts, (place[bound], own[bound]), 1)
        return np.asarray(bound & (own != counts.argmax(axis=1)[place]))
