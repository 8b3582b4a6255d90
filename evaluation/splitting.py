"""Training and test rows of one table: nobody stands on both sides."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray


def dealt(
    table: pd.DataFrame, person: str | None, parts: int, rng: np.random.Generator
) -> NDArray[np.intp]:
    """The part of each row: people are dealt like cards, each with all rows, or rows alone.

    Examples
    --------
    >>> stays = pd.DataFrame({"who": ["a", "b", "a", "c"]})
    >>> part = dealt(stays, "who", 3, np.random.default_rng(0))
    >>> bool(part[0] == part[2]), sorted({*part.tolist()})
    (True, [0, 1, 2])
    """
    units = np.arange(len(table)) if person is None else pd.factorize(table[person])[0]
    deal = rng.permutation(units.max() + 1) % parts
    return np.asarray(deal[units], dtype=np.intp)


def split(
    table: pd.DataFrame, part: NDArray[np.intp], held_back: int
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Training rows, and those of the part that is held back, each numbered from 0."""
    test = part == held_back
    train, kept = (table[rows].reset_index(drop=True) for rows in (~test, test))
    return train, kept
