"""Numbers found among the starts of cells, in a step or two."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from copula_shirley.schema.domain import FloatArray

#: Parts of [0, 1] at the most for which a guide table says where to look.
MOST_PARTS = 4096


class Ladders:
    """Cells of [0, 1] by their starts, on several lines; each line ascends from 0.

    A guide table has for equal parts of [0, 1] the cell in which each begins (Chen and Asau 1974),
    so that most numbers are found at once; the others by halving what is left. The answer is that
    of a binary search.

    Examples
    --------
    >>> halves_and_thirds = Ladders(np.array([[0, 0.5, 0.9], [0, 1 / 3, 2 / 3]]))
    >>> halves_and_thirds.find(np.array([0, 0, 1, 1]), np.array([0.5, 1.0, 0.2, 0.7])).tolist()
    [1, 2, 0, 2]
    """

    def __init__(self, starts: FloatArray) -> None:
        lines, cells = starts.shape
        self._parts = min(MOST_PARTS, 1 << (2 * cells).bit_length())
        marks = np.arange(self._parts + 1) / self._parts
        begins = [np.searchsorted(line[1:], marks, side="right") for line in starts]
        self.cells = cells
        #: As places in all lines side by side.
        self._guide = (np.stack(begins) + cells * np.arange(lines)[:, None]).ravel()
        self._starts = starts.ravel()
        self._ends = np.append(starts[:, 1:], np.full((lines, 1), np.inf), axis=1).ravel()

    def find(self, line: NDArray[Any], numbers: NDArray[Any]) -> NDArray[np.intp]:
        """The cell in which each number lies on its line."""
        part = (numbers * self._parts).astype(np.intp)
        np.clip(part, 0, self._parts - 1, out=part)
        part += line * (self._parts + 1)
        place = self._guide.take(part)
        left = np.flatnonzero(self._ends.take(place) <= numbers)
        if len(left):
            low, high = place[left] + 1, self._guide.take(part[left] + 1)
            wanted = numbers[left]
            for _ in range(int((high - low).max(initial=0)).bit_length()):
                middle = (low + high + 1) >> 1
                above = self._starts.take(middle) <= wanted
                low, high = np.where(above, middle, low), np.where(above, high, middle - 1)
            place[left] = low
        return np.asarray(place - line * self.cells)
