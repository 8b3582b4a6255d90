"""What went wrong and where figures come from: failures, complaints, provenance."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from copula_shirley.experiments.report.lines import Line
from copula_shirley.experiments.run.store import Row

#: Letters of all tracebacks together; with more of them each is cut to its end.
MOST_LETTERS = 200_000
LEAST_LETTERS = 600
NAMED = 20
STATUS_WORDS = {"failed": "failed", "timeout": "ran out of time", "skipped": "was skipped"}


def troubles(lines: Sequence[Line]) -> list[dict[str, Any]]:
    """Every run that is not done, those of one generator with one reason together."""
    groups: dict[tuple[str, str, str], list[tuple[Line, Row]]] = {}
    for line in lines:
        for row in line.rows:
            if row["status"] != "done":
                key = (line.name, row["status"], str(row.get("reason") or "no reason was given"))
                groups.setdefault(key, []).append((line, row))
    letters = max(MOST_LETTERS // max(len(groups), 1), LEAST_LETTERS)
    found = []
    for (name, status, reason), some in groups.items():
        trace = str(some[0][1].get("traceback") or "")
        if len(trace) > letters:
            trace = f"[cut here; the result file has it all]\n…{trace[-letters:]}"
        trouble = {
            "name": name,
            "status": status,
            "words": STATUS_WORDS.get(status, status),
            "reason": reason[:1000],
            "traceback": trace,
            "count": len(some),
            "runs": [
                f"{line.dataset}{line.at}, fold {row['run']['fold']}, seed {row['run']['seed']}"
                for line, row in some[:NAMED]
            ],
        }
        found.append(trouble)
    return found


def complaints(lines: Sequence[Line]) -> list[tuple[str, str, int]]:
    """What was odd about synthetic tables: generator and data set, complaint, number of runs."""
    counts = Counter(
        (f"{line.name} on {line.dataset}{line.at}", str(text))
        for line in lines
        for row in line.done
        for text in row.get("complaints", [])
    )
    return [(who, text, count) for (who, text), count in counts.items()]


def origins(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """Each code, packages and machine, with the number of its runs and their times in order."""
    groups: dict[str, list[Mapping[str, Any]]] = {}
    for row in rows:
        source = row.get("provenance", {})
        same = {key: value for key, value in source.items() if key != "time"}
        groups.setdefault(json.dumps(same, sort_keys=True), []).append(source)
    known = ("python", "system", "processor")
    nothing = {**dict.fromkeys(known, "not known"), "cores": "?", "versions": {}}
    return [
        {
            **dict.fromkeys(("commit", "dirty")),
            **nothing,
            **some[0],
            "runs": len(some),
            "times": sorted(str(s["time"]) for s in some if s.get("time")) or ["not known"],
        }
        for some in groups.values()
    ]
