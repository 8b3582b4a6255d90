"""Privacy, in plain words: what each generator claims, proves, spends and leaves open."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from copula_shirley.experiments.report.lines import Line
from copula_shirley.experiments.report.words import guarantee

#: So many things are named in a line of a grouped table, the others are counted.
NAMED = 4


@dataclass(frozen=True)
class Setting:
    """The label of one generator with one data set and epsilon."""

    dataset: str
    epsilon: str
    sentence: str
    summary: Mapping[str, str]
    unprotected: int


@dataclass(frozen=True)
class Account:
    """The ledger of one generator: in full for one setting, in short for all."""

    name: str
    mark: str
    sentence: str
    where: str
    summary: Sequence[Sequence[str]]
    head: Sequence[str]
    spends: Sequence[Sequence[str]]
    unprotected: Sequence[Sequence[str]]
    settings: Sequence[Setting]


def accounts(lines: Sequence[Line]) -> list[Account]:
    """The ledgers of all generators with a finished run."""
    groups: dict[str, list[Line]] = {}
    for line in lines:
        if line.privacy:
            groups.setdefault(line.name, []).append(line)
    return [_account(name, group) for name, group in groups.items()]


def _account(name: str, group: Sequence[Line]) -> Account:
    first = group[0]
    privacy = first.privacy
    mark, sentence = _verdict(group)
    head, lines = grouped_spends(privacy.get("spends") or [])
    epsilon = "" if first.reference else f", epsilon {first.epsilon_text}"
    return Account(
        name,
        mark,
        sentence,
        f"{first.dataset}{epsilon}",
        [[str(word) for word in pair] for pair in privacy.get("summary", [])],
        head,
        lines,
        [[_shortened(str(word)) for word in use] for use in privacy.get("unprotected", [])],
        [_setting(line) for line in group],
    )


def _verdict(group: Sequence[Line]) -> tuple[str, str]:
    """One sentence for all settings if they stand alike, else that of the first."""
    marks = {_standing(line.privacy)[0] for line in group}
    mark, sentence = _standing(group[0].privacy)
    if len(group) == 1 or len(marks) > 1 or group[0].reference:
        return mark, sentence
    words = {
        "kept": "Claims epsilon and proves it",
        "broken": "Claims epsilon and proves nothing",
        "unknown": "Claims epsilon; we know of no proof",
        "other": "Proves something else than it claims",
        "none": "Claims nothing and proves nothing",
    }
    return mark, f"{words[mark]}, on every data set and at every epsilon here."


def _standing(privacy: Mapping[str, Any]) -> tuple[str, str]:
    claimed, proved = (str(privacy.get(key) or "not stated") for key in ("claimed", "proved"))
    return guarantee(claimed, proved)


def _setting(line: Line) -> Setting:
    summary = {str(key): str(text) for key, text in line.privacy.get("summary", [])}
    uses = len(line.privacy.get("unprotected", []))
    epsilon = "" if line.reference and line.epsilon is None else line.epsilon_text
    return Setting(line.dataset, epsilon, _standing(line.privacy)[1], summary, uses)


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
    groups: dict[tuple[str, str, str], list[list[str]]] = {}
    for spend in spends:
        groups.setdefault((spend[0], spend[2], spend[5]), []).append(spend)
    lines = [
        [stage, _few([spend[1] for spend in some]), mechanism, _sum(some, 3), _sum(some, 4), rows]
        for (stage, mechanism, rows), some in groups.items()
    ]
    return head, lines


def _few(names: Sequence[str]) -> str:
    """The first names, and how many there are."""
    if len(names) <= NAMED + 1:
        return ", ".join(names)
    return f"{', '.join(names[:NAMED])} and {len(names) - NAMED} more"


def _shortened(text: str) -> str:
    """A list of many names, cut."""
    return _few(text.split(", ")) if text.count(", ") > 2 * NAMED else text


def _sum(spends: Sequence[Sequence[str]], place: int) -> str:
    """Costs of a group together; as they stand if they are no numbers."""
    try:
        return f"{sum(float(spend[place]) for spend in spends):.4g}"
    except ValueError:
        return ", ".join(dict.fromkeys(spend[place] for spend in spends))
