"""What went wrong and where figures come from: failures, complaints, provenance."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from copula_shirley.experiments.report.lines import Line
from copula_shirley.experiments.report.words import Row

#: Letters of all tracebacks together; with more of them each is cut to its end.
MOST_LETTERS = 200_000
LEAST_LETTERS = 600
NAMED = 20
STATUS_WORDS = {"failed": "failed", "timeout": "ran out of time", "skipped": "was skipped"}


@dataclass(frozen=True)
class Trouble:
    """Runs of one generator that ended without figures for one reason."""

    name: str
    status: str
    words: str
    reason: str
    traceback: str
    runs: Sequence[str]
    count: int


def troubles(lines: Sequence[Line]) -> list[Trouble]:
    """Every run that is not done, those with one reason together."""
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
        where = [
            f"{line.dataset}{line.at}, fold {row['run']['fold']}, seed {row['run']['seed']}"
            for line, row in some[:NAMED]
        ]
        words = STATUS_WORDS.get(status, status)
        found.append(Trouble(name, status, words, reason[:1000], trace, where, len(some)))
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


@dataclass(frozen=True)
class Origin:
    """Runs that share code, packages and machine."""

    facts: Mapping[str, str]
    versions: Mapping[str, str]
    dirty: bool | None


def origins(rows: Sequence[Row]) -> list[Origin]:
    """Each provenance with the number of its runs and the time of the first and the last."""
    groups: dict[str, list[Mapping[str, Any]]] = {}
    for row in rows:
        source = dict(row.get("provenance", {}))
        same = {key: value for key, value in source.items() if key != "time"}
        groups.setdefault(json.dumps(same, sort_keys=True), []).append(source)
    return [_origin(some) for some in groups.values()]


def _origin(some: Sequence[Mapping[str, Any]]) -> Origin:
    source = some[0]
    times = sorted(str(one["time"]) for one in some if one.get("time")) or ["not known"]
    dirty, versions = source.get("dirty"), source.get("versions", {})
    tree = "files differed from the commit" if dirty else "as committed"
    facts = {
        "runs": str(len(some)),
        "commit": str(source.get("commit") or "not known"),
        "working tree": "not known" if dirty is None else tree,
        "first run": times[0],
        "last run": times[-1],
        "Python": str(source.get("python", "not known")),
        "system": str(source.get("system", "not known")),
        "processor": f"{source.get('processor', 'not known')}, {source.get('cores', '?')} cores",
    }
    named = versions if isinstance(versions, Mapping) else {}
    return Origin(facts, {str(n): str(text or "absent") for n, text in named.items()}, dirty)
