"""Split the training rows into disjoint parts (thesis 4.2.2, Algorithm 2 line 2)."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from copula_shirley.errors import SettingError


def split_rows(
    units: NDArray[np.intp],
    shares: Mapping[str, float],
    neighbours: str,
    rng: np.random.Generator,
) -> dict[str, NDArray[np.intp]]:
    """Deal whole units (rows, or people with all their rows) to named parts.

    The part of a unit never depends on its values, so that one changed unit
    changes one part. Under replacement the number of units is public and the
    parts have exact sizes. Under add/remove exact sizes would betray it, and an
    added unit would push another one across the cut; there each unit is dealt
    by an independent draw.

    Parameters
    ----------
    units : array of int
        For each row the number of its unit, 0 to the number of units less one.
    shares : mapping
        Share of each part; they add up to one.

    Returns
    -------
    dict
        Row positions of each part, ascending.

    Examples
    --------
    >>> parts = split_rows(np.arange(6), {"histogram": 0.5, "copula": 0.5}, "replace-one",
    ...                    np.random.default_rng(0))
    >>> len(parts["histogram"]), len(parts["copula"])
    (3, 3)
    """
    n = int(units.max()) + 1
    names = list(shares)
    if neighbours == "add-remove":
        dealt = rng.choice(len(names), size=n, p=[shares[name] for name in names])
    else:
        if n < len(names):
            raise SettingError(
                f"the table has {n} rows or people, too few to be split into "
                f"{len(names)} parts ({', '.join(names)})"
            )
        cuts = np.rint(np.cumsum([shares[name] for name in names]) * n).astype(int)
        # each part keeps at least one unit
        for i in range(len(names)):
            cuts[i] = min(max(cuts[i], i + 1), n - (len(names) - 1 - i))
        dealt = np.empty(n, dtype=np.intp)
        dealt[rng.permutation(n)] = np.searchsorted(cuts, np.arange(n), side="right")
    return {name: np.flatnonzero(dealt[units] == i) for i, name in enumerate(names)}
