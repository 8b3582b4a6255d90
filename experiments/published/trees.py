"""Decision trees on distorted values, by Gini, and three ways to reconstruct before a split.

*Global* reconstructs each attribute once, *ByClass* once for each class, *Local* again at each
node. Who is in a node was decided by attributes that were cut above it, by their distorted values;
there the noise no longer has the law that the reconstruction undoes. So *Local* reconstructs only
what no node above has cut, which the paper does not say.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from copula_shirley.experiments.published.distortion import CELLS, Cells, Distortion
from copula_shirley.schema.domain import FloatArray

DEEPEST = 12
#: People below whom a node is not split, whom a child has at least, whom *Local* needs.
SPLIT, LEAF, AGAIN = 200, 30, 1000
Classes = NDArray[np.bool_]
#: Cells of some people, by their places; and the attributes that no node above has cut.
Look = Callable[[NDArray[np.intp], list[int]], Cells]


@dataclass
class Tree:
    """A node: its class, and perhaps the attribute and the last cell of the left child."""

    answer: bool
    attribute: int = -1
    cut: int = 0
    left: Tree | None = None
    right: Tree | None = None

    def predict(self, cells: Cells) -> Classes:
        if self.left is None or self.right is None:
            return np.full(len(cells), self.answer)
        goes_left = cells[:, self.attribute] <= self.cut
        found = np.empty(len(cells), dtype=bool)
        found[goes_left] = self.left.predict(cells[goes_left])
        found[~goes_left] = self.right.predict(cells[~goes_left])
        return found


def grown(cells: Cells, classes: Classes, look: Look | None = None) -> Tree:
    """A tree on cells; with ``look`` the cells of uncut attributes are found again at each node."""

    def grow(people: NDArray[np.intp], cells: Cells, depth: int, uncut: list[int]) -> Tree:
        own = classes[people]
        node = Tree(bool(own.mean() > 0.5)) if len(own) else Tree(False)
        if depth == DEEPEST or len(own) < SPLIT or own.all() or not own.any():
            return node
        if look is not None and depth > 0 and len(own) >= AGAIN and uncut:
            cells = cells.copy()
            cells[:, uncut] = look(people, uncut)
        attribute, cut = best_split(cells, own)
        if attribute < 0:
            return node
        goes_left = cells[:, attribute] <= cut
        rest = [other for other in uncut if other != attribute]
        node.attribute, node.cut = attribute, cut
        node.left = grow(people[goes_left], cells[goes_left], depth + 1, rest)
        node.right = grow(people[~goes_left], cells[~goes_left], depth + 1, rest)
        return node

    return grow(np.arange(len(classes)), cells, 0, list(range(cells.shape[1])))


def best_split(cells: Cells, classes: Classes) -> tuple[int, int]:
    """Attribute and last cell of the left child that lower Gini's index most; -1 if none does."""
    n, attributes = cells.shape
    places = (cells + CELLS * np.arange(attributes)).ravel()
    weights = np.repeat(classes, attributes)
    shape, most = (attributes, CELLS), attributes * CELLS
    every = np.bincount(places, minlength=most).reshape(shape).cumsum(axis=1)[:, :-1]
    ones = np.bincount(places, weights, most).reshape(shape).cumsum(axis=1)[:, :-1]

    def impurity(ones: FloatArray, every: NDArray[np.integer]) -> FloatArray:
        return np.asarray(ones * (every - ones) / np.maximum(every, 1))

    index = impurity(ones, every) + impurity(classes.sum() - ones, n - every)
    index[(every < LEAF) | (n - every < LEAF)] = np.inf
    attribute, cut = np.unravel_index(np.argmin(index), index.shape)
    whole = classes.sum() * (n - classes.sum()) / n
    if not index[attribute, cut] < whole - 1e-9 * n:
        return -1, 0
    return int(attribute), int(cut)


@dataclass
class Distorted:
    """Distorted people and their classes; counts how many histograms are reconstructed."""

    distortions: list[Distortion]
    values: FloatArray
    classes: Classes
    reconstructions: int = 0

    def as_they_are(self) -> Cells:
        columns = zip(self.distortions, self.values.T, strict=True)
        return np.column_stack([one.cells(values) for one, values in columns])

    def whole(self) -> Cells:
        """As *Global* has them."""
        every = np.arange(len(self.classes))
        return self._cells(every, list(range(len(self.distortions))))

    def by_class(self, people: NDArray[np.intp], attributes: list[int]) -> Cells:
        """Cells of some people and attributes, reconstructed for each class of them."""
        cells = np.empty((len(people), len(attributes)), dtype=np.intp)
        for one in (False, True):
            own = self.classes[people] == one
            if own.any():
                cells[own] = self._cells(people[own], attributes)
        return cells

    def _cells(self, people: NDArray[np.intp], attributes: list[int]) -> Cells:
        self.reconstructions += len(attributes)
        found = [self.distortions[i].reconstructed(self.values[people, i]) for i in attributes]
        return np.column_stack(found)

    def trees(self) -> dict[str, tuple[Tree, int]]:
        """A tree of each kind, and how many reconstructions it took."""
        every, attributes = np.arange(len(self.classes)), list(range(len(self.distortions)))
        made: dict[str, Callable[[], Tree]] = {
            "distorted": lambda: grown(self.as_they_are(), self.classes),
            "Global": lambda: grown(self.whole(), self.classes),
            "ByClass": lambda: grown(self.by_class(every, attributes), self.classes),
            "Local": lambda: grown(self.by_class(every, attributes), self.classes, self.by_class),
        }
        found = {}
        for name, make in made.items():
            self.reconstructions = 0
            found[name] = make(), self.reconstructions
        return found
