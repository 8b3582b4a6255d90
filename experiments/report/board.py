"""The leaderboard and the table of costs, ready to be laid out."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from copula_shirley.experiments.report.lines import Line, Score, Standing
from copula_shirley.experiments.report.words import Measure, number, seconds

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
class Cell:
    """One figure: as it stands in the table, and exactly."""

    text: str
    half: str = ""
    tip: str = ""
    best: bool = False
    share: int = 0


@dataclass(frozen=True)
class BoardLine:
    """A line of the leaderboard; ``values`` is what each column sorts by."""

    line: Line
    runs_tip: str
    rank: Cell | None
    cells: Mapping[str, Cell]
    costs: Mapping[str, Cell]
    message: str
    values: Mapping[str, Any]


def board(
    lines: Sequence[Line], measures: Mapping[str, Measure], places: Mapping[Line, Standing]
) -> list[BoardLine]:
    """Every line; within a data set and epsilon the best mean rank first, the failed last."""
    made = [_board_line(line, measures, places.get(line, Standing())) for line in lines]
    groups = list(dict.fromkeys((line.dataset, line.epsilon) for line in lines))

    def order(entry: BoardLine) -> tuple[int, float]:
        rank, line = entry.values["rank"], entry.line
        return groups.index((line.dataset, line.epsilon)), math.inf if rank is None else rank

    return sorted(made, key=order)


def _board_line(line: Line, measures: Mapping[str, Measure], place: Standing) -> BoardLine:
    counts = Counter(row["status"] for row in line.rows)
    ranks = ", ".join(f"{measures[name].label} {rank:g}" for name, rank in place.ranks.items())
    promise = line.promise
    mean = None if place.mean is None else round(place.mean, 6)
    values = {
        "generator": line.name,
        "dataset": line.dataset,
        "claimed": promise.claimed if promise else "",
        "proved": promise.proved if promise else "",
        **{name: float(f"{score.mean:.6g}") for name, score in line.figures.items()},
        "rank": mean,
        "runs": len(line.done),
        # without noise sorts last, as an epsilon without end would
        "epsilon": 1e99 if line.epsilon is None else line.epsilon,
    }
    return BoardLine(
        line,
        runs_tip=", ".join(f"{count} {status}" for status, count in counts.items()),
        rank=None if mean is None else Cell(f"{mean:.1f}", tip=f"ranks: {ranks}"),
        cells={
            name: _figure(line, measure, name in place.best)
            for name, measure in measures.items()
            if name in line.figures
        },
        costs={name: _cost(name, line.figures[name]) for name in COSTS if name in line.figures},
        message="" if line.done else _message(line, counts),
        values=values,
    )


def _message(line: Line, counts: Counter[str]) -> str:
    many = len(line.rows)
    what = ", ".join(f"{status} in {count} of {many} runs" for status, count in counts.items())
    reason = str(line.rows[0].get("reason", "")).strip()
    return f"No figures: {what}. {reason[:1].upper()}{reason[1:300]}"


def _figure(line: Line, measure: Measure, best: bool) -> Cell:
    """A figure with its interval, and what was special about it in any of the runs."""
    score = line.figures[measure.name]
    details = (row["figures"].get(measure.name, {}).get("detail", {}) for row in line.done)
    notes = dict.fromkeys(str(detail["note"]) for detail in details if detail.get("note"))
    told = [f"{measure.label}: {score.told()}", *notes, *(["best here"] if best else [])]
    reach = "one fold" if score.half is None else f"±{number(score.half)}"
    return Cell(number(score.mean), reach, "; ".join(told), best)


def _cost(name: str, score: Score) -> Cell:
    """Seconds or megabytes, with a bar on a scale of powers of ten."""
    unit = " s" if name.endswith("seconds") else " MB"
    mean = score.mean
    text = seconds(mean) if unit == " s" else f"{mean:,.1f} MB"
    # a hundredth of a second (or megabyte) is no bar, a million are a full one
    share = round(100 * min(max(math.log10(max(mean, 1e-9)) + 2, 0) / 8, 1))
    return Cell(text, tip=f"{COSTS[name]}: {score.told(unit)}", share=share)
