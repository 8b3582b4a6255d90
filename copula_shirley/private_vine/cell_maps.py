"""The cell maps of PrivateVine's tables: public functions from a row to a cell.

Only the curator applies them to rows; docs/private_vine.md, lemma 1, is about them.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from copula_shirley.private_vine.model import FittedVine
from copula_shirley.private_vine.vine import Given
from copula_shirley.rows.rows import Chunk


@dataclass(frozen=True)
class AllRows:
    """The one cell in which every row lies."""

    names: tuple[str, ...] = ("rows",)
    shape: tuple[int, ...] = (1,)

    def cells(self, chunk: Chunk) -> NDArray[np.intp]:
        return np.zeros(len(chunk), dtype=np.intp)


@dataclass(frozen=True, eq=False)
class GroupKey:
    """The joint group of a row; groups are made of declared cells, by column."""

    names: tuple[str, ...]
    groups: tuple[NDArray[np.intp], ...]

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(int(groups.max()) + 1 for groups in self.groups)

    @property
    def axes(self) -> dict[Hashable, NDArray[np.intp]]:
        """The group of each declared cell, by column."""
        return dict(zip(self.names, self.groups, strict=True))

    def cells(self, chunk: Chunk) -> NDArray[np.intp]:
        cell = np.zeros(len(chunk), dtype=np.intp)
        for name, groups, size in zip(self.names, self.groups, self.shape, strict=True):
            cell = cell * size + groups[chunk.codes[name]]
        return cell


@dataclass(frozen=True, eq=False)
class InnovationKey:
    """The cell of u(partner | D) and u(child | D) of a row on an even grid.

    h-functions of released tables and jitter make it a public function of each row.
    """

    model: FittedVine = field(compare=False)
    child: int
    partner: int
    given: Given
    grid: int

    @property
    def names(self) -> tuple[str, ...]:
        return self.model.names[self.partner], self.model.names[self.child]

    @property
    def shape(self) -> tuple[int, ...]:
        return self.grid, self.grid

    @property
    def axes(self) -> dict[Hashable, NDArray[np.intp]]:
        """u(variable | given) on the same grid is the same function of a row in every table."""
        even = np.arange(self.grid)
        return {(v, self.given, self.grid): even for v in (self.partner, self.child)}

    def cells(self, chunk: Chunk) -> NDArray[np.intp]:
        # what is known of the rows grows with the trees
        known, label = chunk.derived(self.model, self.model.uniforms)
        uniforms = [
            self.model.vine.pseudo_observation(known, v, self.given, label)
            for v in (self.partner, self.child)
        ]
        a, b = (np.minimum(u * self.grid, self.grid - 1).astype(np.intp) for u in uniforms)
        return np.asarray(a * self.grid + b)
