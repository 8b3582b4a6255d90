"""The leaderboard and the table of costs: order, tips, what each column sorts by."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from copula_shirley.experiments.report.lines import Line, Standing, size
from copula_shirley.experiments.report.words import Measure

#: Columns of the table of costs: figure, heading.
COSTS = {
    "fit_seconds": "fit",
    "sample_seconds": "sample",
    "evaluate_seconds": "scoring",
    "total_seconds": "whole run",
    "fit_megabytes": "fit, memory",
    "sample_megabytes": "sample, memory",
}


@dataclass(frozen=True)
class BoardLine:
    """A line of the leaderboard."""

    line: Line
    place: Standing

    @property
    def statuses(self) -> Counter[str]:
        return Counter(row["status"] for row in self.line.rows)

    @property
    def message(self) -> str:
        """Why there are no figures, if there are none."""
        if self.line.done:
            return ""
        many = len(self.line.rows)
        what = ", ".join(f"{status} in {n} of {many} runs" for status, n in self.statuses.items())
        reason = str(self.line.rows[0].get("reason", "")).strip()
        return f"No figures: {what}. {reason[:1].upper()}{reason[1:300]}"

    @property
    def values(self) -> dict[str, Any]:
        """What each column sorts by."""
        line, promise, mean = self.line, self.line.promise, self.place.mean
        return {
            "generator": line.name,
            "dataset": line.dataset,
            "claimed": promise.claimed if promise else "",
            "proved": promise.proved if promise else "",
            **{name: float(f"{score.mean:.6g}") for name, score in line.figures.items()},
            "rank": None if mean is None else round(mean, 6),
            "runs": len(line.done),
            "epsilon": min(size(line.epsilon), 1e99),  # JSON has no number without end
        }

    def tip(self, measure: Measure) -> str:
        """A figure with its interval, and what was special about it in any of the runs."""
        details = (row["figures"].get(measure.name, {}).get("detail", {}) for row in self.line.done)
        notes = dict.fromkeys(str(detail["note"]) for detail in details if detail.get("note"))
        told = f"{measure.label}: {self.line.figures[measure.name].told()}"
        return "; ".join(
            [told, *notes, *(["best here"] if measure.name in self.place.best else [])]
        )


def board(lines: Sequence[Line], places: Mapping[Line, Standing]) -> list[BoardLine]:
    """Every line; within a data set and epsilon the best mean rank first, the failed last."""
    groups = list(dict.fromkeys((line.dataset, line.epsilon) for line in lines))
    entries = [BoardLine(line, places.get(line, Standing())) for line in lines]

    def order(entry: BoardLine) -> tuple[int, float]:
        return groups.index((entry.line.dataset, entry.line.epsilon)), size(entry.place.mean)

    return sorted(entries, key=order)


def bar(value: float) -> int:
    """A bar in hundredths: .01 seconds or megabytes are no bar, a million are a full one."""
    return round(100 * min(max(math.log10(max(value, 1e-9)) + 2, 0) / 8, 1))
