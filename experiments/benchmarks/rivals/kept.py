"""Rows of finished runs: kept as a line of JSON each, found again, shown as a table."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from rich.table import Table

Row = dict[str, Any]
#: With the cells that the schema declares; in the plain equal bins that the rivals have.
OURS = ("ours", "ours plain")
MEASURES = ("fit", "sample", "ks", "tvd2", "mcc")


def digest(files: Iterable[Path]) -> str:
    """A short hash of the content of files."""
    return hashlib.sha256(b"".join(file.read_bytes() for file in sorted(files))).hexdigest()[:16]


def read_rows(file: Path) -> list[Row]:
    """The finished runs; a line that was cut off by a kill counts as none."""
    rows = []
    for line in file.read_text(encoding="utf-8").splitlines() if file.is_file() else ():
        try:
            rows.append(json.loads(line))
        except json.JSONDecodeError:
            continue
    return rows


def add_row(file: Path, row: Row) -> None:
    """Keep a finished run, on a line of its own even if the last one was cut off."""
    cut_off = file.is_file() and not file.read_bytes().endswith(b"\n")
    with file.open("a", encoding="utf-8") as out:
        out.write("\n" * cut_off + json.dumps(row) + "\n")


def find_row(kept: list[Row], spec: Row, limit: float) -> Row | None:
    """The finished run of a spec; one that was stopped counts if it had as much time."""
    same = [row for row in kept if spec.items() <= row.items()]
    return next((row for row in reversed(same) if row.get("over", limit) >= limit), None)


def table_of(rows: list[Row], cases: list[tuple[str, int, str]]) -> Table:
    """Means over the seeds; the ratios are over the seeds that both have."""
    table = Table("set", "k", "who", "seeds", *MEASURES, title="k parents; means over the seeds")
    for name, degree, rival in cases:
        case = [row for row in rows if (row["dataset"], row["degree"]) == (name, degree)]
        runs = {
            who: {row["seed"]: row for row in case if row["who"] == who}
            for who in ("real", *OURS, rival)
        }
        for who, some in runs.items():
            cells = [_cell(_mean(some.values(), m), some.values(), m) for m in MEASURES]
            table.add_row(name, str(degree), who, str(len(some)), *cells)
        for mine in OURS:
            both = [seed for seed in runs[mine] if seed in runs[rival]]
            ours, theirs = ([runs[who][seed] for seed in both] for who in (mine, rival))
            pairs = ((_mean(theirs, m), _mean(ours, m)) for m in MEASURES)
            ratios = [a / b if a > 0 and b > 0 else float("nan") for a, b in pairs]
            cells = [_cell(ratio, theirs, m) for ratio, m in zip(ratios, MEASURES, strict=True)]
            table.add_row(name, str(degree), f"  / {mine}", str(len(both)), *cells)
        table.add_section()
    return table


def _mean(rows: Iterable[Row], measure: str) -> float:
    """Mean of a measure; a run that was stopped counts its limit as the time of its fit."""
    values = [row.get(measure, row.get("over") if measure == "fit" else None) for row in rows]
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if known else float("nan")


def _cell(number: float, rows: Iterable[Row], measure: str) -> str:
    stopped = measure == "fit" and any("over" in row for row in rows)
    digits = 3 if abs(number) < 10 else 0
    return "-" if np.isnan(number) else f"{'> ' if stopped else ''}{number:.{digits}f}"
