"""What runs on a person's device: a question in, one perturbed report out. Standard library only.

An app carries ``copula_shirley/__init__.py``, ``errors.py`` and, of the folder ``local``, this file
with ``coins.py`` and ``ledger_file.py``; nothing else is imported. What the person's record says
goes nowhere but into ``cell_of``, and from there through exact coins (``coins``).

The device keeps a ledger. It holds one report for each survey, is on the disk before the report
leaves, and refuses a second question of the same survey. The same question gives the same report
again, bit for bit, so that one that was lost can be sent once more at no further cost; its ``id``
lets it be counted once.

Whether a report leaves must not depend on the record: a question with the categories of some people
only would else tell who is one of them. So a value that a question does not know is no error; the
report is about a cell drawn by chance, and ``unknown`` tells its owner so.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
import secrets
from bisect import bisect_right
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from copula_shirley.errors import ReportError
from copula_shirley.local.coins import check_epsilon, check_whole, randomiser_of
from copula_shirley.local.ledger_file import held, save

QUESTION, REPORT, LEDGER = (f"shirley {what} 1" for what in ("question", "report", "ledger"))
#: Bytes of a question, its tables, and columns of one table.
LARGEST, MOST_TABLES, MOST_AXES = 2**26, 2**16, 4


def answer(
    question: Any, record: Mapping[str, Any], ledger: str | Path, most_epsilon: float
) -> dict[str, Any]:
    """One report about a record, which the ledger then holds.

    Parameters
    ----------
    question : what a question file says, read as JSON
    record : the person's value by column; None where it is missing. A value that the question does
        not know counts as any other, drawn by chance (see ``unknown``)
    ledger : path of the device's ledger, made by the first report
    most_epsilon : what all reports of this device may cost together

    Raises
    ------
    ReportError
        Nothing was drawn and nothing leaves; whatever the record says.
    """
    tables, axes = checked(question)
    survey, digest = question["survey"], digest_of(question)
    with held(ledger, LEDGER, {"surveys": {}}) as known:
        own = known["surveys"].get(survey)
        if own is not None and own["question"] != digest:
            raise ReportError(
                f"survey ({survey}) was answered by this device: a person answers one question once"
            )
        if own is not None:
            return dict(own["report"])
        place = secrets.randbelow(len(tables))  # whatever the record says
        randomiser = randomiser_of(tables[place]["randomiser"])
        spent = math.fsum(entry["epsilon"] for entry in known["surveys"].values())
        if not spent + randomiser.epsilon <= most_epsilon:  # nor if that is no number
            raise ReportError(
                f"most_epsilon ({most_epsilon:g}) must be at least "
                f"{spent + randomiser.epsilon:g}: this report would cost {randomiser.epsilon:g}, "
                f"and {spent:g} was spent"
            )
        cell = 0
        for i in tables[place]["axes"]:
            cell = cell * (max(axes[i]["groups"]) + 1) + _known_group(axes[i], record)
        report = {
            "format": REPORT,
            "survey": survey,
            "wave": question["wave"],
            "table": place,
            "said": randomiser.draw(cell),
            "id": secrets.token_hex(16),
        }
        entry = {"question": digest, "epsilon": randomiser.epsilon, "report": report}
        known["surveys"][survey] = entry
        save(ledger, known)
    return report


def unknown(question: Any, record: Mapping[str, Any]) -> list[str]:
    """For the person's eyes only: which of her values the question does not know, and why."""
    found = []
    for axis in checked(question)[1]:
        try:
            _group_of(axis, record)
        except ReportError as error:
            found.append(str(error))
    return sorted(set(found))


def digest_of(question: Any) -> str:
    """What a question is known by: the hash of all that it says."""
    text = json.dumps(question, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def read_question(path: str | Path) -> Any:
    """A question file as it stands there; ``checked`` judges it."""
    with open(path, "rb") as file:
        text = file.read(LARGEST + 1)
    try:
        return json.loads(text) if len(text) <= LARGEST else None
    except (ValueError, RecursionError):
        raise ReportError(f"question ({str(path)!r}) is no JSON") from None


def checked(question: Any) -> tuple[list[Any], list[Any]]:
    """Tables and axes of a question; it must be whole, and cost no more than it says."""
    if not isinstance(question, dict) or question.get("format") != QUESTION:
        raise ReportError(f"question must be one of format {QUESTION!r}")
    epsilon = check_epsilon(question.get("epsilon"))
    survey = question.get("survey")
    if not isinstance(survey, str) or not 8 <= len(survey) <= 64 or not survey.isalnum():
        raise ReportError("survey of the question must have 8 to 64 letters and digits")
    check_whole("wave", question.get("wave"), 1, 10**6)
    tables, axes = question.get("tables"), question.get("axes")
    if not isinstance(tables, list) or not isinstance(axes, list) or not tables:
        raise ReportError("question must have tables and axes")
    check_whole("number of tables", len(tables), 1, MOST_TABLES)
    for axis in axes:
        _check_axis(axis)
    for table in tables:
        own = table.get("axes") if isinstance(table, dict) else None
        if not isinstance(own, list) or not 1 <= len(own) <= MOST_AXES:
            raise ReportError(f"a table must have 1 to {MOST_AXES} axes")
        places = [check_whole("axis", i, 0, len(axes) - 1) for i in own]
        randomiser = randomiser_of(table.get("randomiser"))
        cells = math.prod(max(axes[i]["groups"]) + 1 for i in places)
        if randomiser.cells != cells:
            raise ReportError(f"cells ({randomiser.cells}) of a randomiser must be {cells}")
        if randomiser.epsilon > epsilon:
            raise ReportError(
                f"a randomiser costs epsilon {randomiser.epsilon:g}, more than the question's "
                f"{epsilon:g}"
            )
    return tables, axes


def _check_axis(axis: Any) -> None:
    """Refuse an axis that does not take each value to one group."""
    known = isinstance(axis, dict) and isinstance(axis.get("column"), str)
    groups = axis.get("groups") if known else None
    if not isinstance(groups, list) or not all(type(g) is int and g >= 0 for g in groups):
        raise ReportError("an axis must have a column and groups")
    low, listed = axis.get("low"), axis.get("categories")
    numbers = isinstance(low, list) and all(isinstance(x, int | float) for x in low)
    if numbers == isinstance(listed, list):
        raise ReportError(f"column {axis['column']!r} must have either categories or cells")
    missing = bool(axis.get("missing")) if not numbers else False
    cells = len(low if numbers else listed) + missing
    if cells != len(groups) or not groups or (numbers and low != sorted(low)):
        raise ReportError(f"column {axis['column']!r} must have a group for each of its cells")


def _known_group(axis: Mapping[str, Any], record: Mapping[str, Any]) -> int:
    """The group of a record's value; that of a random cell where the question does not know it."""
    try:
        return _group_of(axis, record)
    except ReportError:
        return int(secrets.choice(axis["groups"]))


def _group_of(axis: Mapping[str, Any], record: Mapping[str, Any]) -> int:
    """The group of a record's value. Errors name the column and never the value."""
    name = axis["column"]
    if name not in record:
        raise ReportError(f"record must have the column {name!r}")
    value = record[name]
    if "categories" in axis:
        listed = axis["categories"]
        if value is None and axis.get("missing"):
            place = 0
        elif axis.get("nearest"):
            place = _nearest(axis, value) + bool(axis.get("missing"))
        elif value not in listed:
            raise ReportError(f"column {name!r}: the value must be one of its categories")
        else:
            same = [i for i, one in enumerate(listed) if one == value and type(one) is type(value)]
            place = (same or [listed.index(value)])[0] + bool(axis.get("missing"))
    else:
        # a value beyond the ends counts as the nearest known one
        least = int(bool(axis.get("missing")) and value is not None)
        place = max(bisect_right(axis["low"], _point(axis, value)) - 1, least)
    return int(axis["groups"][place])


def _nearest(axis: Mapping[str, Any], value: Any) -> int:
    """The cell of a place, whose middle is the nearest; on an edge the one to the north or east."""

    def degrees(said: Any) -> list[float]:
        parts = re.split("[,; ]+", said.strip()) if isinstance(said, str) else said
        latitude, longitude = map(float, parts)
        return [latitude, longitude]

    try:
        own = degrees(value)
        apart = [math.dist(own, degrees(one)) for one in axis["categories"]]
    except (TypeError, ValueError, OverflowError):
        apart = [math.nan]
    if not all(map(math.isfinite, apart)):
        raise ReportError(
            f"column {axis['column']!r}: the value must be latitude and longitude in degrees"
        )
    return min(range(len(apart)), key=lambda i: (apart[i], -i))


def _point(axis: Mapping[str, Any], value: Any) -> float:
    """Where a value lies among the cells: in steps, or as it is where there are none."""
    if value is None:
        if not axis.get("missing"):
            raise ReportError(f"column {axis['column']!r}: a value is missing")
        return -math.inf
    try:
        if isinstance(value, str) and "since" in axis:
            moment = datetime.fromisoformat(value)
            aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
            value = aware.timestamp()
        number = math.nan if isinstance(value, str | bool) else float(value)
        if "since" in axis:
            return float(math.floor((number - axis["since"]) / axis["seconds"] + 1e-9))
        point = float(round(number / axis["step"])) if axis.get("step") else number
    except (ArithmeticError, KeyError, TypeError, ValueError):  # of the question's numbers, too
        point = math.nan
    if not math.isfinite(point):
        raise ReportError(f"column {axis['column']!r}: the value must be a number or a date")
    return point
