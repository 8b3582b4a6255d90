"""The leaderboard and the table of costs, ready to be laid out."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from copula_shirley.experiments.report.lines import Estimate, Line, Standing
from copula_shirley.experiments.report.words import Measure, guarantee, number, seconds

#: Columns of the table of costs: figure, heading.
COSTS = {
    "fit_seconds": "fit",
    "sample_seconds": "sample",
    "evaluate_seconds": "scoring",
    "total_seconds": "whole run",
    "fit_megabytes": "fit, memory",
    "sample_megabytes": "sample, memory",
}
SHOWN_VALUES = 12


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
    """A line of the leaderboard."""

    line: Line
    runs: str
    runs_tip: str
    claimed: str
    proved: str
    mark: str
    sentence: str
    rank: Cell | None
    cells: Mapping[str, Cell]
    costs: Mapping[str, Cell]
    message: str
    values: Mapping[str, Any] = field(default_factory=dict)


def board(
    lines: Sequence[Line], measures: Mapping[str, Measure], places: Mapping[Line, Standing]
) -> list[BoardLine]:
    """Every line; within a data set and epsilon the best mean rank first, the failed last."""
    made = [_board_line(line, measures, places.get(line, Standing())) for line in lines]
    seen: dict[tuple[str, float | None], int] = {}
    for line in lines:
        seen.setdefault((line.dataset, line.epsilon), len(seen))

    def order(entry: BoardLine) -> tuple[int, float]:
        rank = entry.values["rank"]
        group = seen[entry.line.dataset, entry.line.epsilon]
        return group, math.inf if rank is None else rank

    return sorted(made, key=order)


def _board_line(line: Line, measures: Mapping[str, Measure], place: Standing) -> BoardLine:
    claimed, proved = (str(line.privacy.get(key) or "not stated") for key in ("claimed", "proved"))
    mark, sentence = guarantee(claimed, proved) if line.privacy else ("", "")
    figures = line.figures
    cells = {
        name: figure_cell(measure.label, figures[name], name in place.best, _notes(line, name))
        for name, measure in measures.items()
        if name in figures
    }
    ranks = ", ".join(f"{measures[name].label} {rank:g}" for name, rank in place.ranks.items())
    rank = None if place.mean is None else Cell(f"{place.mean:.1f}", tip=f"ranks: {ranks}")
    counts = Counter(row["status"] for row in line.rows)
    total = len(line.rows)
    return BoardLine(
        line,
        runs=str(total) if len(line.done) == total else f"{len(line.done)} of {total}",
        runs_tip=", ".join(f"{count} {status}" for status, count in counts.items()),
        claimed=claimed if line.privacy else "",
        proved=proved if line.privacy else "",
        mark=mark,
        sentence=sentence,
        rank=rank,
        cells=cells,
        costs={name: _cost(name, figures[name]) for name in COSTS if name in figures},
        message="" if line.done else _message(line, counts),
        values=_values(line, place, claimed, proved),
    )


def _values(line: Line, place: Standing, claimed: str, proved: str) -> dict[str, Any]:
    """What each column sorts by."""
    texts = {"generator": line.name, "dataset": line.dataset, "claimed": claimed, "proved": proved}
    numbers = {name: float(f"{e.mean:.6g}") for name, e in line.figures.items()}
    rank = None if place.mean is None else round(place.mean, 6)
    # without noise sorts last, as an epsilon without end would
    epsilon = 1e99 if line.epsilon is None else line.epsilon
    return {**texts, **numbers, "rank": rank, "runs": len(line.done), "epsilon": epsilon}


def _message(line: Line, counts: Counter[str]) -> str:
    many = len(line.rows)
    what = ", ".join(f"{status} in {count} of {many} runs" for status, count in counts.items())
    reason = str(line.rows[0].get("reason", "")).strip()
    return f"No figures: {what}. {reason[:1].upper()}{reason[1:300]}"


def _notes(line: Line, metric: str) -> list[str]:
    """What was special about a figure in any of the runs."""
    notes = (row["figures"].get(metric, {}).get("detail", {}).get("note") for row in line.done)
    return list(dict.fromkeys(str(note) for note in notes if note))


def exactly(estimate: Estimate, unit: str = "") -> str:
    """Mean, interval and the values of the runs."""
    folds, runs, half = len(estimate.values), estimate.runs or estimate.values, estimate.half
    values = ", ".join(f"{value:.4g}" for value in runs[:SHOWN_VALUES])
    values += ", …" if len(runs) > SHOWN_VALUES else ""
    if half is None:
        text = f"{estimate.mean:.6g}{unit}; one fold, no interval"
        return f"{text}; {len(runs)} runs: {values}" if len(runs) > 1 else text
    low, high = estimate.mean - half, estimate.mean + half
    text = f"mean {estimate.mean:.6g}{unit}; 95 % interval {low:.5g} to {high:.5g}; {folds} folds"
    return f"{text}, {len(runs)} runs: {values}" if len(runs) > folds else f"{text}: {values}"


def figure_cell(label: str, estimate: Estimate, best: bool, notes: Sequence[str] = ()) -> Cell:
    """A figure with its interval."""
    half = estimate.half
    tip = "; ".join([f"{label}: {exactly(estimate)}", *notes, *(["best here"] if best else [])])
    reach = "one fold" if half is None else f"±{number(half)}"
    return Cell(number(estimate.mean), reach, tip, best)


def _cost(name: str, estimate: Estimate) -> Cell:
    """Seconds or megabytes, with a bar on a scale of powers of ten."""
    unit = " s" if name.endswith("seconds") else " MB"
    mean = estimate.mean
    text = seconds(mean) if unit == " s" else f"{mean:,.1f} MB"
    # a hundredth of a second (or megabyte) is no bar, a million are a full one
    share = round(100 * min(max(math.log10(max(mean, 1e-9)) + 2, 0) / 8, 1))
    return Cell(text, tip=f"{COSTS[name]}: {exactly(estimate, unit)}", share=share)
