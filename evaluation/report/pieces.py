"""What the charts of a report show: cells of heat maps, bars of margins."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from copula_shirley.evaluation.result import pair

WORST = 10
#: Bars of a column; of more, the least frequent of the real rows stand together.
MOST_BARS = 60
#: Text, share of the real rows, share of the synthetic rows.
Bar = tuple[str, float, float]


def pair_cells(
    found: Mapping[str, float], names: Sequence[str]
) -> list[tuple[str, list[tuple[str, float | None]]]]:
    """The lower triangle of a heat map: each column with those before it."""
    return [
        (a, [(b, found.get(pair(b, a), found.get(pair(a, b)))) for b in names[:i]])
        for i, a in enumerate(names)
    ]


def worst_pairs(found: Mapping[str, float], many: int = WORST) -> list[tuple[str, float]]:
    """The pairs that are farthest off."""
    worst = sorted(found, key=lambda key: -found[key])[:many]
    return [(key.replace(" | ", " and "), found[key]) for key in worst]


def margin_panels(
    margins: Mapping[str, Mapping[str, Any]],
) -> list[tuple[str, list[Bar], float, float]]:
    """Of each column its bars, its total variation and the largest share."""
    panels = []
    for name, margin in margins.items():
        if margin:
            sides = (map(str, margin["labels"]), margin["real"], margin["synthetic"])
            cells = list(zip(*sides, strict=True))
            off = sum(abs(real - made) for _, real, made in cells) / 2
            cells = few(cells)
            most = max([1e-4, *(max(real, made) for _, real, made in cells)])
            panels.append((name, cells, off, most))
    return panels


def few(cells: list[Bar]) -> list[Bar]:
    """The bars, at most ``MOST_BARS``; those that the real rows have least are one at the end.

    Examples
    --------
    >>> shown = few([(str(i), i / 1830, 1 / 61) for i in range(61)])
    >>> len(shown), shown[0][0], shown[-1][0], round(shown[-1][2], 4)
    (60, '2', '2 others', 0.0328)
    """
    if len(cells) <= MOST_BARS:
        return cells
    order = sorted(range(len(cells)), key=lambda i: -cells[i][1])
    shown, rest = sorted(order[: MOST_BARS - 1]), order[MOST_BARS - 1 :]
    real, made = sum(cells[i][1] for i in rest), sum(cells[i][2] for i in rest)
    return [*(cells[i] for i in shown), (f"{len(rest)} others", real, made)]
