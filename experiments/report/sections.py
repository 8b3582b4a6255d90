"""What stands below the charts: privacy, failures, complaints, and where figures come from."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pandas as pd

from copula_shirley.experiments.report.lines import Line
from copula_shirley.experiments.report.words import MARKS
from copula_shirley.experiments.run.store import Row

#: How many things are named in a line of a grouped table; the others are counted.
NAMED = 4
#: Letters of all tracebacks together; with more of them each is cut to its end.
MOST_LETTERS = 200_000
LEAST_LETTERS = 600
#: How many runs with one trouble are named.
NAMED_RUNS = 20
STATUS_WORDS = {"failed": "failed", "timeout": "ran out of time", "skipped": "was skipped"}


# -- what each generator claims, proves, spends and leaves open ----------------------


def accounts(lines: Sequence[Line]) -> list[dict[str, Any]]:
    """The ledger of each generator: in full for the first of its lines, in short for all."""
    groups: dict[str, list[Line]] = defaultdict(list)
    for line in lines:
        if line.promise:
            groups[line.name].append(line)
    found = []
    for name, group in groups.items():
        promises = [line.promise for line in group if line.promise]
        first, privacy = promises[0], group[0].privacy
        sentence = first.sentence
        if len(group) > 1 and len({p.mark for p in promises}) == 1 and not group[0].reference:
            alike = MARKS[first.mark][1].format(claimed="epsilon", proved="something else")
            sentence = f"{alike}, on every data set and at every epsilon here."
        head, spends = grouped_spends(privacy.get("spends") or [])
        uses = [[_shortened(str(word)) for word in use] for use in privacy.get("unprotected", [])]
        known = {"name": name, "promise": first, "sentence": sentence, "lines": group}
        found.append({**known, "head": head, "spends": spends, "unprotected": uses})
    return found


def grouped_spends(table: Sequence[Sequence[str]]) -> tuple[list[str], list[list[str]]]:
    """Spends with the same stage, mechanism and rows in one line, their costs added."""
    if len(table) < 2:
        return [], []
    head, *spends = [[str(word) for word in line] for line in table]
    groups = pd.DataFrame(spends).groupby([0, 2, 5], sort=False)
    return head, groups.agg({1: _few, 3: _sum, 4: _sum}).reset_index()[range(6)].to_numpy().tolist()


def _few(some: Iterable[str]) -> str:
    """The first names, and how many there are."""
    names = list(some)
    if len(names) <= NAMED + 1:
        return ", ".join(names)
    return f"{', '.join(names[:NAMED])} and {len(names) - NAMED} more"


def _shortened(text: str) -> str:
    return _few(text.split(", ")) if text.count(", ") > 2 * NAMED else text


def _sum(costs: Iterable[str]) -> str:
    """The sum of a group's costs; as they stand if they are no numbers."""
    try:
        return f"{sum(map(float, costs)):.4g}"
    except ValueError:
        return ", ".join(dict.fromkeys(costs))


# -- what went wrong, and where figures come from ------------------------------------


def troubles(lines: Sequence[Line]) -> list[dict[str, Any]]:
    """Every run that is not done, those of one generator with one reason together."""
    groups: dict[tuple[str, str, str], list[tuple[Line, Row]]] = defaultdict(list)
    for line in lines:
        for row in line.rows:
            if row["status"] != "done":
                reason = str(row.get("reason") or "no reason was given")
                groups[line.name, row["status"], reason].append((line, row))
    letters = max(MOST_LETTERS // max(len(groups), 1), LEAST_LETTERS)
    found = []
    for (name, status, reason), some in groups.items():
        trace = str(some[0][1].get("traceback") or "")
        if len(trace) > letters:
            trace = f"[cut here; the result file has it all]\n…{trace[-letters:]}"
        runs = [
            f"{line.dataset}{line.at}, fold {row['run']['fold']}, seed {row['run']['seed']}"
            for line, row in some[:NAMED_RUNS]
        ]
        about = {"name": name, "status": status, "words": STATUS_WORDS[status]}
        more = {"reason": reason[:1000], "traceback": trace, "count": len(some), "runs": runs}
        found.append({**about, **more})
    return found


def complaints(lines: Sequence[Line]) -> Counter[tuple[str, str]]:
    """What was odd about synthetic tables: generator with data set, and complaint, are counted."""
    return Counter(
        (f"{line.name} on {line.dataset}{line.at}", str(text))
        for line in lines
        for row in line.done
        for text in row.get("complaints", [])
    )


def origins(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """Each code, packages and machine, with the number of its runs and their times in order."""
    groups: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
    for row in rows:
        source = row.get("provenance", {})
        same = {key: value for key, value in source.items() if key != "time"}
        groups[json.dumps(same, sort_keys=True)].append(source)
    unknown = dict.fromkeys(("python", "system", "processor"), "not known")
    nothing: Row = {"commit": None, "dirty": None, **unknown, "cores": "?", "versions": {}}
    return [
        {
            **nothing,
            **some[0],
            "runs": len(some),
            "times": sorted(str(s["time"]) for s in some if s.get("time")) or ["not known"],
        }
        for some in groups.values()
    ]
