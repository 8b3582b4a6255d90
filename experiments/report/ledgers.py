"""Privacy, in plain words: what each generator claims, proves, spends and leaves open."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import pandas as pd

from copula_shirley.experiments.report.lines import Line

#: So many things are named in a line of a grouped table, the others are counted.
NAMED = 4
#: Said once where all settings of a generator stand alike.
EVERYWHERE = {
    "kept": "Claims epsilon and proves it",
    "broken": "Claims epsilon and proves nothing",
    "unknown": "Claims epsilon; we know of no proof",
    "other": "Proves something else than it claims",
    "none": "Claims nothing and proves nothing",
}


def accounts(lines: Sequence[Line]) -> list[dict[str, Any]]:
    """The ledger of each generator: in full for the first of its lines, in short for all."""
    groups: dict[str, list[Line]] = {}
    for line in lines:
        if line.promise:
            groups.setdefault(line.name, []).append(line)
    return [_account(name, group) for name, group in groups.items()]


def _account(name: str, group: Sequence[Line]) -> dict[str, Any]:
    promises = [line.promise for line in group if line.promise]
    privacy, first = group[0].privacy, promises[0]
    sentence = first.sentence
    if len(group) > 1 and len({p.mark for p in promises}) == 1 and not group[0].reference:
        sentence = f"{EVERYWHERE[first.mark]}, on every data set and at every epsilon here."
    head, spends = grouped_spends(privacy.get("spends") or [])
    uses = [[_shortened(str(word)) for word in use] for use in privacy.get("unprotected", [])]
    known = {"name": name, "promise": first, "sentence": sentence, "lines": group}
    return {**known, "head": head, "spends": spends, "unprotected": uses}


def grouped_spends(table: Sequence[Sequence[str]]) -> tuple[list[str], list[list[str]]]:
    """Spends with the same stage, mechanism and rows in one line, their costs added.

    Examples
    --------
    >>> head = ["stage", "what", "mechanism", "epsilon", "delta", "rows"]
    >>> spends = [["histogram", name, "laplace", "0.1", "0", "all"] for name in ("age", "sex")]
    >>> grouped_spends([head, *spends])[1]
    [['histogram', 'age, sex', 'laplace', '0.2', '0', 'all']]
    """
    if len(table) < 2:
        return [], []
    head, *spends = [[str(word) for word in line] for line in table]
    if len(head) != 6:
        return head, spends
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
    """Costs of a group together; as they stand if they are no numbers."""
    try:
        return f"{sum(map(float, costs)):.4g}"
    except ValueError:
        return ", ".join(dict.fromkeys(costs))
