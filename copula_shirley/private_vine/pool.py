"""Rows of a fitted vine to choose a sample from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from copula_shirley.private_vine.pair_copula import Labels
from copula_shirley.private_vine.reweighting import NoisyTable, pick
from copula_shirley.private_vine.rosenblatt import RANDOM_BITS, Drawn, sorted_by
from copula_shirley.schema.domain import FloatArray

if TYPE_CHECKING:
    from copula_shirley.private_vine.model import FittedVine

#: Short numbers, since cells of hundreds of tables are made of them.
Grouped = list[NDArray[np.unsignedinteger[Any]]]


@dataclass(frozen=True, eq=False)
class Pool:
    """Rows by their groups, with weights; finer cells are found for those rows that stay."""

    model: FittedVine
    drawn: Drawn
    #: Places of the rows among the drawn ones.
    rows: NDArray[np.intp]
    #: The group of each row, by column.
    groups: Grouped
    weight: FloatArray
    #: Cells that were found already, and numbers of columns that were.
    known: Mapping[int, NDArray[np.intp]] = field(default_factory=dict)
    numbers: Mapping[int, FloatArray] = field(default_factory=dict)
    _coarse: dict[int, tuple[NDArray[Any], NDArray[Any]]] = field(
        default_factory=dict, init=False, repr=False
    )

    def __len__(self) -> int:
        return len(self.weight)

    def weighed(self, weight: FloatArray) -> Pool:
        """The same rows with other weights."""
        return replace(self, weight=weight)

    def take(self, places: NDArray[np.intp]) -> Pool:
        """Some of the rows."""
        return replace(
            self,
            rows=self.rows[places],
            groups=[own[places] for own in self.groups],
            weight=self.weight[places],
            known={j: own[places] for j, own in self.known.items()},
            numbers={j: own[places] for j, own in self.numbers.items()},
        )

    @property
    def label(self) -> Labels:
        return self.drawn.label[self.rows]

    def cells(self, j: int) -> NDArray[np.intp]:
        """The cell of each row in a column."""
        if j in self.known:
            return self.known[j]
        if j == self.model.target:
            return self.label
        uniforms = self.drawn.value(j)[self.rows]
        return self.model.cells(j, uniforms, self.label, self.groups[j])

    def table_cells(self, table: NoisyTable) -> NDArray[Any]:
        """The cell of each row in a table, as a short number."""
        short = np.min_scalar_type(table.counts.size).type
        cell: Any = None
        for i, j in enumerate(table.variables):
            group: NDArray[Any] = self.groups[j]
            if table.coarse is not None:
                group = self._coarser(j, table.coarse[i])
            cell = group.astype(short) if cell is None else cell * short(table.shape[i]) + group
        return np.asarray(cell, dtype=short)

    def _coarser(self, j: int, groups: NDArray[Any]) -> NDArray[Any]:
        """The coarse group of each row; the last one of each column is remembered."""
        known = self._coarse.get(j)
        if known is None or known[0] is not groups:
            short = groups.astype(np.min_scalar_type(len(groups)))
            known = self._coarse[j] = groups, short.take(self.groups[j])
        return known[1]

    def chosen(self, n: int, rng: np.random.Generator) -> Pool:
        """A systematic sample of n rows by their weights, in any order.

        It goes along rows in the order of their classes and groups, as many as a number holds.
        """
        state = self.label.astype(np.uint64)
        room = 2 ** (64 - RANDOM_BITS) // (2 * max(len(self), 1) * self.model.classes)
        sizes = self.model.shapes
        for j in self.model.vine.order:
            room //= sizes[j]
            if room == 0:
                break
            state = state * np.uint64(sizes[j]) + self.groups[j]
        order = sorted_by(state, rng)[0]
        return self.take(rng.permutation(pick(self.weight, order, n, rng)))
