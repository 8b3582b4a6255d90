"""Keys of the tables that PrivateVine asks for: public functions from a row to a cell.

``measure`` applies them to rows; docs/private_vine.md, lemma 1, is about them.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from copula_shirley.private_vine.model import FittedVine
from copula_shirley.private_vine.vine import Given
from copula_shirley.rows.rows import Chunk


@dataclass(frozen=True)
class AllRows:
    """Key of a table with one cell: the number of rows."""

    names: tuple[str, ...] = ("rows",)
    shape: tuple[int, ...] = (1,)

    def cells(self, chunk: Chunk) -> NDArray[np.intp]:
        """Every row lies in the one cell."""
        return np.zeros(len(chunk), dtype=np.intp)


@dataclass(frozen=True, eq=False)
class GroupKey:
    """Key of a table of groups of declared cells."""

    names: tuple[str, ...]
    groups: tuple[NDArray[np.intp], ...]

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of groups of each column."""
        return tuple(int(groups.max()) + 1 for groups in self.groups)

    def cells(self, chunk: Chunk) -> NDArray[np.intp]:
        """The joint group of each row."""
        cell = np.zeros(len(chunk), dtype=np.intp)
        for name, groups, size in zip(self.names, self.groups, self.shape, strict=True):
            cell = cell * size + groups[chunk.codes[name]]
        return cell


@dataclass(frozen=True, eq=False)
class InnovationKey:
    """Key of a table of u(partner | D) and u(child | D) on an even grid.

    h-functions of released tables and jitter make it a public function of each row.
    """

    model: FittedVine = field(compare=False)
    child: int
    partner: int
    given: Given
    grid: int

    @property
    def names(self) -> tuple[str, ...]:
        """The conditioned pair."""
        return self.model.names[self.partner], self.model.names[self.child]

    @property
    def shape(self) -> tuple[int, ...]:
        """An even grid."""
        return self.grid, self.grid

    def cells(self, chunk: Chunk) -> NDArray[np.intp]:
        """The cell of each row's innovations."""
        # what is known of the rows grows with the trees
        known, label = chunk.derived(self.model, self.model.uniforms)
        a, b = (
            np.minimum(
                self.model.vine.pseudo_observation(known, v, self.given, label) * self.grid,
                self.grid - 1,
            ).astype(np.intp)
            for v in (self.partner, self.child)
        )
        return np.asarray(a * self.grid + b)
