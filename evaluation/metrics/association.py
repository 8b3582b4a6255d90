"""Association rules: which strong ones of the test rows hold in the synthetic rows, too.

A rule says that of the rows with one or two values, many have another one, too: "marital-status =
Never-married, age = 17 to 19 => income = <=50K". Its support is the share of rows with all of
them, its confidence the share of rows with the last among those with the first, and its lift the
confidence over the share of the last among all rows. A rule is strong if it reaches the three
marks below; without the lift, whatever nearly all rows share would follow from anything.

Values are the cells of ``marginals.Binning``. What is rare alone is rare in company (Apriori), so
that a column has few cells that can stand in a rule, and all rules of two or three columns are
read off their table of counts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from copula_shirley.evaluation.comparison import Comparison
from copula_shirley.evaluation.metrics.marginals import Codes, cells_of, groups_of, labels_of
from copula_shirley.evaluation.result import Result
from copula_shirley.schema.domain import FloatArray

SUPPORT, CONFIDENCE, LIFT = 0.05, 0.6, 1.1
#: How many of the rules that lost most confidence are told.
TOLD = 5
Counts = NDArray[np.int64]


@dataclass
class Rules:
    """The strong rules of the test rows and what the synthetic rows make of them.

    ``found`` counts the strong rules of the synthetic rows. The four lists have an entry for each
    group of columns and each of them that may follow from the others; together they are long.
    """

    found: int = 0
    note: Mapping[str, str] = field(default_factory=dict)
    columns: list[tuple[str, ...]] = field(default_factory=list)  # of which the last one follows
    cells: list[NDArray[np.intp]] = field(default_factory=list)
    confidences: list[FloatArray] = field(default_factory=list)  # in test and synthetic rows
    kept: list[NDArray[np.bool_]] = field(default_factory=list)


def rules_recall(c: Comparison) -> Result:
    """Share of the strong rules of the test rows that are strong in the synthetic rows.

    Behind it stand the share by column, the number of rules, and the ``precision``: the share of
    the strong rules of the synthetic rows that are strong in the test rows.
    """
    rules = c.once("rules", _rules)
    kept = np.concatenate([*rules.kept, np.zeros(0, dtype=bool)])
    detail = {**_detail(rules, rules.kept), "found": rules.found}
    detail["precision"] = int(kept.sum()) / rules.found if rules.found else 1.0
    return Result(float(kept.mean()) if len(kept) else 1.0, detail)


def rules_confidence(c: Comparison) -> Result:
    """Mean absolute difference of the confidence of the strong rules of the test rows.

    A rule whose premise no synthetic row has is taken to have the confidence 0 there. Behind the
    mean stand the mean by column and the rules that are farthest off.
    """
    rules = c.once("rules", _rules)
    off = [np.abs(real - made) for real, made in rules.confidences]
    every = np.concatenate([*off, np.zeros(0)])
    detail = {**_detail(rules, off), "rules": _farthest(c, rules, off)}
    return Result(float(every.mean()) if len(every) else 0.0, detail)


def _detail(rules: Rules, values: Sequence[NDArray[Any]]) -> dict[str, Any]:
    """The mean of the rules' values by column, how many rules there are, and what is special."""
    own: dict[str, list[NDArray[Any]]] = {}
    for names, some in zip(rules.columns, values, strict=True):
        for name in names:
            own.setdefault(name, []).append(some)
    columns = {name: float(np.concatenate(parts).mean()) for name, parts in own.items()}
    note = rules.note if columns else {"note": "the test rows have no strong rule"}
    return {"columns": columns, "number": sum(map(len, values)), **note}


def _farthest(c: Comparison, rules: Rules, off: Sequence[FloatArray]) -> dict[str, float]:
    """The rules that are farthest off, in words, with their difference."""
    binning, *_ = cells_of(c)
    worst = sorted(
        ((gap, i, j) for i, gaps in enumerate(off) for j, gap in enumerate(gaps) if gap > 0),
        key=lambda entry: (-entry[0], *entry[1:]),
    )
    told = {}
    for gap, i, j in worst[:TOLD]:
        names, cells = rules.columns[i], rules.cells[i][j]
        *premise, then = (
            f"{name} = {labels_of(c.schema[name], binning.edges[name])[cell]}"
            for name, cell in zip(names, cells, strict=True)
        )
        told[f"{', '.join(premise)} => {then}"] = float(gap)
    return told


def _rules(c: Comparison) -> Rules:
    """Every strong rule of two columns, and of three (of which a sample if they are many)."""
    _, *sides = cells_of(c)
    frequent = {name: _frequent(*(side[name] for side in sides)) for name in c.schema.names}
    test, synthetic = (_narrowed(side, frequent) for side in sides)
    triples, note = groups_of(c.schema.names, 3)
    rules = Rules(note=note)
    for group in [*combinations(c.schema.names, 2), *triples]:
        shape = tuple(len(frequent[name]) + 1 for name in group)
        tables = [_table(side, group, shape) for side in (test, synthetic)]
        for axis in range(len(group)):
            (real, strong), (made, also) = (_measured(table, axis) for table in tables)
            rules.found += int(also.sum())
            if not strong.any():
                continue
            order = [*np.delete(np.arange(len(group)), axis), axis]
            places = np.argwhere(strong)
            cells = [frequent[group[i]][places[:, i]] for i in order]
            rules.columns.append(tuple(group[i] for i in order))
            rules.cells.append(np.column_stack(cells))
            rules.confidences.append(np.stack([real[strong], made[strong]]))
            rules.kept.append(also[strong])
    return rules


def _frequent(*sides: NDArray[np.intp]) -> NDArray[np.intp]:
    """Cells of a column that are frequent enough for a rule in one of the tables."""
    found: list[NDArray[np.intp]] = []
    for cells in sides:
        counts = np.bincount(cells)
        found.append(np.flatnonzero(counts / len(cells) >= SUPPORT))
    return np.unique(np.concatenate(found))


def _narrowed(cells: Codes, frequent: Mapping[str, NDArray[np.intp]]) -> Codes:
    """Frequent cells by their place; all others share the place after them."""
    narrowed = {}
    for name, own in cells.items():
        places = np.full(max(own.max(), frequent[name].max(initial=0)) + 1, len(frequent[name]))
        places[frequent[name]] = np.arange(len(frequent[name]))
        narrowed[name] = places[own]
    return narrowed


def _table(cells: Codes, group: Sequence[str], shape: tuple[int, ...]) -> Counts:
    flat = cells[group[0]]
    for name, size in zip(group[1:], shape[1:], strict=True):
        flat = flat * size + cells[name]
    return np.bincount(flat, minlength=int(np.prod(shape))).reshape(shape)


def _measured(table: Counts, axis: int) -> tuple[FloatArray, NDArray[np.bool_]]:
    """The confidence of each cell of a table as a rule, and which rules are strong.

    The value on ``axis`` follows from the others. Places of rare cells, the last ones, are no
    rules. Each mark is one division of whole numbers: a rule that just reaches it is strong.
    """
    rows = table.sum()
    premise = table.sum(axis=axis, keepdims=True)
    others = tuple(i for i in range(table.ndim) if i != axis)
    conclusion = table.sum(axis=others, keepdims=True)
    confidence = table / np.maximum(premise, 1)
    lift = table * rows / np.maximum(premise * conclusion, 1)
    strong = (table / rows >= SUPPORT) & (confidence >= CONFIDENCE) & (lift >= LIFT)
    for own in range(table.ndim):
        strong[(slice(None),) * own + (-1,)] = False
    return confidence, strong
