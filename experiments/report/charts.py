"""Data of the charts, small enough to stand in the page.

Shares and distances are whole thousandths (margins: ten-thousandths). Breakdowns by column and
pair are means over the runs of a line; margins are those of its first fold and seed.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from copula_shirley.evaluation.result import pair
from copula_shirley.experiments.report.lines import Line
from copula_shirley.experiments.report.words import Measure

BY_COLUMN = ("ks", "tvd1")
BY_PAIR = ("tvd2", "spearman_drift")
#: Letters for breakdowns and margins; lines beyond them have none, and the page says so.
MOST_LETTERS = 900_000


class Pool:
    """Lists that repeat stand once; others refer to them by place."""

    def __init__(self) -> None:
        self.lists: list[list[Any]] = []
        self.letters = 0
        self._places: dict[str, int] = {}

    def place(self, values: list[Any]) -> int:
        """Where a list stands."""
        key = json.dumps(values)
        if key not in self._places:
            self._places[key] = len(self.lists)
            self.lists.append(values)
            self.letters += len(key)
        return self._places[key]


def chart_data(lines: Sequence[Line], measures: Mapping[str, Measure]) -> dict[str, Any]:
    """Everything that the charts draw."""
    columns: dict[str, list[str]] = {}
    for line in lines:
        if line.done and line.dataset not in columns:
            columns[line.dataset] = list(line.done[0].get("margins", {}))
    pool, letters, cut = Pool(), 0, 0
    entries = []
    for line in lines:
        entry: dict[str, Any] = {
            "dataset": line.dataset,
            "name": line.name,
            "reference": line.reference,
            "epsilon": line.epsilon,
            "figures": _figures(line, measures),
        }
        if line.done and letters + pool.letters > MOST_LETTERS:
            cut += 1
        elif line.done:
            view = _view(line, columns[line.dataset], pool)
            letters += len(json.dumps(view, separators=(",", ":")))
            entry |= view
        entries.append(entry)
    return {
        "measures": [measure.to_dict() for measure in measures.values()],
        "columns": columns,
        "lines": entries,
        "pool": pool.lists,
        "cut": cut,
    }


def _figures(line: Line, measures: Mapping[str, Measure]) -> dict[str, list[float | int | None]]:
    """Mean, half of the interval and number of folds by metric."""
    found: dict[str, list[float | int | None]] = {}
    for name, estimate in line.figures.items():
        if name in measures:
            half = estimate.half
            short = None if half is None else float(f"{half:.4g}")
            found[name] = [float(f"{estimate.mean:.6g}"), short, len(estimate.values)]
    return found


def _view(line: Line, columns: Sequence[str], pool: Pool) -> dict[str, Any]:
    """Breakdowns and margins of one line."""
    keys = [(pair(b, a), pair(a, b)) for i, a in enumerate(columns) for b in columns[:i]]
    first = line.done[0]
    return {
        "columns": {
            metric: [_mean(line, metric, "columns", (name,)) for name in columns]
            for metric in BY_COLUMN
            if _has(line, metric, "columns")
        },
        "pairs": {
            metric: [_mean(line, metric, "pairs", key) for key in keys]
            for metric in BY_PAIR
            if _has(line, metric, "pairs")
        },
        "margins": [_margin(first.get("margins", {}).get(name), pool) for name in columns],
        "first": [first["run"]["fold"], first["run"]["seed"]],
        "runs": len(line.done),
    }


def _has(line: Line, metric: str, part: str) -> bool:
    return any(_detail(row, metric, part) for row in line.done)


def _detail(row: Mapping[str, Any], metric: str, part: str) -> Mapping[str, float]:
    found: Mapping[str, float] = row["figures"].get(metric, {}).get("detail", {}).get(part, {})
    return found


def _mean(line: Line, metric: str, part: str, keys: Sequence[str]) -> int | None:
    """Mean over the runs in thousandths, under whichever of the keys is there."""
    parts = [_detail(row, metric, part) for row in line.done]
    values = [some[key] for some in parts for key in keys if some.get(key) is not None]
    return round(1000 * sum(values) / len(values)) if values else None


def _margin(margin: Mapping[str, Any] | None, pool: Pool) -> list[Any] | None:
    """Places of labels and real shares, and the synthetic shares."""
    if not margin:
        return None
    real, synthetic = (
        [round(10_000 * share) for share in margin[side]] for side in ("real", "synthetic")
    )
    return [pool.place([str(text) for text in margin["labels"]]), pool.place(real), synthetic]
