"""The report on one synthetic table: a verdict, then columns, pairs, rules, tasks and attacks."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from copula_shirley.evaluation.comparison import Comparison
from copula_shirley.evaluation.judging import Judged, made_by
from copula_shirley.evaluation.metrics.marginals import shares
from copula_shirley.evaluation.metrics.registry import verdict
from copula_shirley.evaluation.metrics.statistics import spearman
from copula_shirley.evaluation.report.base import HERE, environment, filled, written
from copula_shirley.evaluation.report.pieces import margin_panels, pair_cells, worst_pairs
from copula_shirley.evaluation.report.summary import headline, percent, sentences
from copula_shirley.evaluation.report.words import Measure
from copula_shirley.evaluation.result import pair
from copula_shirley.schema.schema import Column

#: Columns in a heat map; of more, those that are farthest off.
MOST_IN_MAP = 40
#: What stands in a table of its own.
TASKS = ("mcc_binary", "mcc_multiclass", "rmse")


def write_report(judged: Judged, path: str | Path) -> None:
    """Write the report as one file, all of it or nothing."""
    written(render(judged), path)


def render(judged: Judged) -> str:
    """The page as text; the same figures give the same page."""
    lines = judged.lines
    measures = {name: Measure.of(name, line) for name, line in lines.items()}
    verdicts = sentences(lines)
    panels = margin_panels(shares(judged.comparison))
    return filled(
        environment(filters=(percent,)),
        "table.html.jinja",
        HERE / "table.js",
        title=f"How good is the synthetic table of {judged.title or 'these rows'}?",
        judged=judged,
        lines=lines,
        measures=measures,
        words={name: verdict(line) for name, line in lines.items()},
        headline=headline(verdicts),
        verdicts=verdicts,
        panels=sorted(panels, key=lambda panel: -panel[2]),
        pairs=_pair_map(lines, judged.comparison),
        correlations=_correlations(judged.comparison),
        rules=_rules(lines),
        tasks=[name for name in lines if name in TASKS],
        attacks=[name for name, measure in measures.items() if measure.attack],
        made_by=made_by(),
    )


def _pair_map(lines: dict[str, Any], c: Comparison) -> dict[str, Any] | None:
    """Cells and worst pairs of the heat map of total variation."""
    found = lines["tvd2"]["detail"].get("pairs") if "tvd2" in lines else None
    if not found:
        return None
    own = lines["tvd2"]["detail"]["columns"]
    names = _farthest(c.schema.names, own.get)
    most = max([0.05, *found.values()])
    return {
        "names": names,
        "cells": pair_cells(found, names),
        "worst": worst_pairs(found),
        "most": most,
    }


def _correlations(c: Comparison) -> dict[str, Any] | None:
    """Rank correlations of columns that have an order: real, synthetic, and their difference."""
    columns = [i for i, column in enumerate(c.schema) if _has_order(column)]
    if len(columns) < 2:
        return None
    real, made = (spearman(rows)[np.ix_(columns, columns)] for rows in (c.test, c.synthetic))
    every = [c.schema.names[i] for i in columns]
    off = dict(zip(every, np.abs(real - made).sum(axis=1), strict=True))
    names = _farthest(every, off.get)
    maps, flat = {}, {}
    sides = {"real rows": real, "synthetic rows": made, "synthetic less real": made - real}
    for title, matrix in sides.items():
        places = [(a, b) for i, a in enumerate(every) for b in every[:i]]
        flat[title] = {pair(b, a): float(matrix[every.index(a), every.index(b)]) for a, b in places}
        maps[title] = pair_cells(flat[title], names)
    gaps = {key: abs(gap) for key, gap in flat["synthetic less real"].items()}
    keys = sorted(gaps, key=lambda key: -gaps[key])[:10]
    worst = [(k.replace(" | ", " and "), *(flat[title][k] for title in sides)) for k in keys]
    return {"names": names, "maps": maps, "worst": worst}


def _has_order(column: Column) -> bool:
    """Whether a rank of its values means anything; two values always have one."""
    return column.is_ordered or (column.is_listed and len(column.domain.categories) == 2)


def _farthest(names: Iterable[str], off: Any) -> list[str]:
    """The columns that are farthest off, in their order."""
    every = list(names)
    chosen = set(sorted(every, key=lambda name: -off(name))[:MOST_IN_MAP])
    return [name for name in every if name in chosen]


def _rules(lines: dict[str, Any]) -> list[tuple[str, float]] | None:
    """The share of rows that break each rule, the worst first."""
    if "validity" not in lines:
        return None
    kept = lines["validity"]["detail"].get("rules", {})
    return sorted(((rule, 1 - share) for rule, share in kept.items()), key=lambda each: -each[1])
