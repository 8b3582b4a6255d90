"""Total variation of one-, two- and three-way tables on a stated binning.

The papers on MST and AIM report it: half the sum of absolute differences of the cell shares,
averaged over all columns, pairs or triples. 0 is best, 1 is worst.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from copula_shirley.errors import SettingError
from copula_shirley.evaluation.comparison import Comparison, Rows
from copula_shirley.evaluation.result import Result, pair
from copula_shirley.schema.domain import FloatArray
from copula_shirley.schema.schema import Column, Schema
from copula_shirley.settings import check_positive_whole

#: The cell of each row, by column.
Codes = Mapping[str, NDArray[np.intp]]
BINS = 20
#: Triples grow with the cube of the columns; beyond so many, a fixed sample is taken.
MOST_TRIPLES = 500


@dataclass(frozen=True)
class Binning:
    """Cells in which values are counted.

    Categories, and whole numbers of which few are declared, have a cell each; other numbers and
    dates are cut at ``edges``, a cell reaching from above one edge up to the next. Missing values
    have a cell of their own, and so has what lies outside the declared domain, and a number that
    many rows share (0 dollars).

    ``edges`` are the inner edges of each column, in the numbers of
    ``copula_shirley.schema.domain``.
    """

    edges: Mapping[str, tuple[float, ...]]

    @classmethod
    def of(cls, rows: Rows, schema: Schema, bins: int = BINS) -> Binning:
        """Cut numbers at quantiles of real rows, into at most ``bins`` cells."""
        check_positive_whole("bins", bins)
        return cls({c.name: _edges(c, rows.numbers[c.name], bins) for c in schema})

    def codes(self, rows: Rows) -> dict[str, NDArray[np.intp]]:
        """The cell of each value: 0 is missing, the last one is outside the domain."""
        codes = {}
        for name, edges in self.edges.items():
            inside = 1 + np.searchsorted(edges, rows.numbers[name])
            inside[np.isneginf(rows.numbers[name])] = 0
            inside[rows.outside[name]] = len(edges) + 2
            codes[name] = inside
        return codes


def _edges(column: Column, numbers: FloatArray, bins: int) -> tuple[float, ...]:
    if column.is_listed:
        return tuple(map(float, range(len(column.domain.categories) - 1)))
    if column.is_whole and column.maximum - column.minimum < bins:
        return tuple(map(float, range(column.minimum, column.maximum)))
    known = numbers[np.isfinite(numbers)]
    if len(known) == 0:
        return ()
    cuts = np.quantile(known, np.linspace(0, 1, bins + 1)[1:-1], method="inverted_cdf")
    edges, times = np.unique(cuts, return_counts=True)
    heaps = edges[times > 1]  # a value with the mass of a whole cell gets its own
    return tuple(map(float, np.union1d(edges, np.nextafter(heaps, -np.inf))))


def shares(c: Comparison) -> dict[str, dict[str, list[Any]]]:
    """Share of the test and the synthetic rows in each cell, to be drawn on top of each other.

    By column ``labels``, ``real`` and ``synthetic``; cells that nobody fills are left out.
    """
    binning, *sides = cells_of(c)
    found: dict[str, dict[str, list[Any]]] = {}
    for column in c.schema:
        labels = labels_of(column, binning.edges[column.name])
        counts = [np.bincount(side[column.name], minlength=len(labels)) for side in sides]
        real, synthetic = (count / count.sum() for count in counts)
        filled = np.flatnonzero(real + synthetic)
        found[column.name] = {
            "labels": [labels[i] for i in filled],
            "real": real[filled].round(6).tolist(),
            "synthetic": synthetic[filled].round(6).tolist(),
        }
    return found


def labels_of(column: Column, edges: Sequence[float]) -> list[str]:
    """Names of the cells of ``Binning.codes``."""
    if column.is_listed:
        return ["missing", *map(str, column.domain.categories), "outside"]
    if column.is_whole and column.maximum - column.minimum < len(edges) + 2:
        return ["missing", *map(str, range(column.minimum, column.maximum + 1)), "outside"]
    values = column.domain.from_numbers(np.array(edges))
    ends = [f"{value:.6g}" if isinstance(value, float) else str(value) for value in values]
    if not ends:
        return ["missing", "any", "outside"]
    inner = [f"{low} to {high}" for low, high in pairwise(ends)]
    for i in np.flatnonzero(np.nextafter(edges[:-1], np.inf) >= edges[1:]):
        inner[i] = ends[i + 1]  # a value that has a cell of its own
    return ["missing", f"up to {ends[0]}", *inner, f"above {ends[-1]}", "outside"]


def total_variation(
    real: pd.DataFrame,
    synthetic: pd.DataFrame,
    schema: Schema,
    ways: int = 1,
    binning: Binning | None = None,
) -> dict[str, float]:
    """Total variation distance of each column (``ways=1``), pair (2) or triple (3).

    Without a ``binning``, numbers are cut at quantiles of the real rows.

    Examples
    --------
    >>> schema = Schema((Column("x", "integer", minimum=0, maximum=9),))
    >>> real, synthetic = pd.DataFrame({"x": [1, 2]}), pd.DataFrame({"x": [2, 2]})
    >>> total_variation(real, synthetic, schema)
    {'x': 0.5}
    """
    check_positive_whole("ways", ways)
    if ways > min(3, len(schema)):
        raise SettingError(f"ways ({ways}) must be at most 3 and the number of columns")
    c = Comparison.of_two(real, synthetic, schema)
    if binning is not None:
        c.once("binning", lambda _: binning)
    return _distances(*cells_of(c)[1:], list(combinations(schema.names, ways)))


def _distances(first: Codes, second: Codes, groups: Sequence[tuple[str, ...]]) -> dict[str, float]:
    n, m = (len(next(iter(codes.values()))) for codes in (first, second))
    both = {name: np.concatenate([first[name], second[name]]) for name in first}
    sizes = {name: int(codes.max()) + 1 for name, codes in both.items()}
    weights = np.repeat([1 / n, -1 / m], [n, m])
    distances = {}
    for group in groups:
        cell, size = np.zeros(n + m, dtype=np.int64), 1
        for name in group:
            cell, size = cell * sizes[name] + both[name], size * sizes[name]
        if size > 4 * (n + m):  # most cells are empty: number those that are not
            cell = np.unique(cell, return_inverse=True)[1]
        distances[pair(*group)] = float(np.abs(np.bincount(cell, weights)).sum() / 2)
    return distances


def cells_of(c: Comparison) -> tuple[Binning, Codes, Codes]:
    """Cells cut by the training rows, and those of the test and the synthetic rows."""
    binning = c.once("binning", lambda c: Binning.of(c.train, c.schema))
    test = c.once("test cells", lambda c: binning.codes(c.test))
    return binning, test, c.once("synthetic cells", lambda c: binning.codes(c.synthetic))


def groups_of(names: Sequence[str], ways: int) -> tuple[list[tuple[str, ...]], dict[str, str]]:
    """Every group of so many columns, of triples at most ``MOST_TRIPLES``, and a ``note`` of that.

    The sample is the same for every table, so that figures compare.
    """
    groups = list(combinations(names, ways))
    if ways < 3 or len(groups) <= MOST_TRIPLES:
        return groups, {}
    chosen = np.random.default_rng(0).choice(len(groups), MOST_TRIPLES, replace=False)
    note = f"{MOST_TRIPLES} of {len(groups)} triples"
    return [groups[i] for i in np.sort(chosen)], {"note": note}


def tvd(ways: int, c: Comparison) -> Result:
    """Mean total variation over the groups of ``ways`` columns, binned by the training rows.

    Behind it stand the distance of each group, and for each column the mean over its groups.
    """
    groups, note = groups_of(c.schema.names, ways)
    detail: dict[str, object] = {"bins": BINS, **note}
    if not groups:
        return Result(0.0, {**detail, "note": f"fewer than {ways} columns: nothing to compare"})
    distances = _distances(*cells_of(c)[1:], groups)
    columns = {
        name: float(np.mean(own))
        for name in c.schema.names
        if (own := [distances[pair(*group)] for group in groups if name in group])
    }
    breakdown = {("columns", "pairs", "triples")[ways - 1]: distances, "columns": columns}
    return Result(float(np.mean(list(distances.values()))), {**breakdown, **detail})
