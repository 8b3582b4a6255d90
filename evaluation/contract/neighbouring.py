"""Record and replay: whatever depends on the rows must be noisy answers.

The argument stands in ``copula_shirley.privacy.recording``. A fit on one table is recorded; fits on
other tables are told the same noisy answers. All else must be the same: the draws of noise, the
questions, the ledger, the model, its file, the rows drawn from it. The other tables are neighbours
(a unit with odd values comes, goes or replaces another) and one far table, which shares with the
first nothing but what is public: there a rule that looks at the rows shows itself although one row
seldom moves it.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from copula_shirley.errors import SchemaError
from copula_shirley.evaluation.contract.cost import excess
from copula_shirley.evaluation.contract.subject import Subject, excuse, takes
from copula_shirley.evaluation.contract.tables import CANARY, Case, far_table, neighbours
from copula_shirley.privacy.recording import Recording, ReplayError
from copula_shirley.rows.tables import read_table
from copula_shirley.schema.schema import Column, Schema

#: Other ways to write a number.
SPELLINGS = ("decimals", "signs", "exponents")
#: How dates are written in files.
DATES = "%Y-%m-%dT%H:%M:%S.%f"


@dataclass
class Pair:
    """A recorded fit and one on another table that was told the same answers."""

    what: str
    one: Any
    record: Recording
    other: Any
    again: Recording
    far: bool = False
    error: Exception | None = None


def replay_alike(subject: Subject) -> None:
    """Tables differ in nothing but noisy answers: told the same ones, all else is the same."""
    ledger = subject.ledger(subject.fitted())
    for pair in pairs(subject):
        found = difference(pair, subject)
        if found:
            excuse(ledger, f"when {pair.what}, {found}")


def pairs(subject: Subject) -> list[Pair]:
    """Recorded and replayed fits, on all pairs of tables; made once for each subject."""
    subject.need("seed")
    subject.drawing()
    relation = subject.recorded()[0].ledger_.neighbours
    return subject.once("pairs", lambda: list(_all_pairs(subject, relation)))


def _all_pairs(subject: Subject, relation: str) -> Iterator[Pair]:
    for label, case in subject.cases():
        start = subject.recorded(1, case, f"replayed {label}")
        near = neighbours(case, relation)
        for what, other in near.items():
            yield _pair(subject, f"{what}{label}", 1, start, other)
        far = far_table(case, relation)
        yield _pair(subject, f"all rows are others{label}", 1, start, far, far=True)
        # and the other way round: the odd table is the one that was recorded
        odd, other = list(near.items())[-1]
        back = subject.recorded(2, other, f"backwards {label}")
        yield _pair(subject, f"it was recorded that {odd}{label}", 2, back, case)


def _pair(
    subject: Subject,
    what: str,
    seed: int,
    start: tuple[Any, Recording],
    case: Case,
    far: bool = False,
) -> Pair:
    pair = Pair(what, *start, None, Recording(), far)
    try:
        pair.other, pair.again = subject.replayed(seed, case, pair.record)
    except ReplayError as departure:
        pair.again.departure = str(departure)
    except Exception as failure:
        pair.error, pair.again.departure = failure, f"the fit fails: {type(failure).__name__}"
    return pair


def read_alike(subject: Subject) -> None:
    """One row does not change how others are read, through files and frames."""
    subject.need("seed", "schema")
    ledger = subject.ledger(subject.fitted())
    for through, case, others in _readings(subject.case, ledger.neighbours):
        start = subject.recorded(1, case, f"read from {through}")
        for what, other in others.items():
            pair = _pair(subject, what, 1, start, other)
            if isinstance(pair.error, SchemaError):
                continue  # refused, so nothing was read
            # what one row changes beyond itself shows in counts, of which the noise hides one row
            found = difference(pair, subject) or excess(pair.record, pair.again, pair.one.ledger_)
            if found:
                excuse(ledger, f"when a row with {what} comes through a {through}, {found}")


def _readings(case: Case, relation: str) -> Iterator[tuple[str, Case, dict[str, Case]]]:
    """The case through a frame and a file, and with one row more, or another, that is odd."""
    spelt = _spelt(case)
    rows, schema = spelt.rows, spelt.schema
    odd = {
        f"other spellings ({how})": {c.name: _spelling(c, rows[-1][c.name], how) for c in schema}
        for how in SPELLINGS
    }
    odd["texts of no kind"] = {c.name: CANARY for c in schema}
    odd["texts of many digits"] = {c.name: "9" * 401 for c in schema}
    person = {} if schema.person is None else {schema.person: rows[-1][schema.person]}
    # one more row; or in the place of another, of the same person where there are people
    whole = rows[:-1] if person or relation == "replace-one" else rows
    more = {what: (*whole, {**row, **person}) for what, row in odd.items()}
    yield "frame", spelt, {what: Case(own, schema) for what, own in more.items()}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.csv"

        def read(own: tuple[Any, ...]) -> Case:
            Case(own, schema).table.to_csv(path, index=False)
            return Case(own, schema, read_table(path, schema))

        yield "file", read(rows), {what: read(own) for what, own in more.items()}


def _spelt(case: Case) -> Case:
    """The case with all dates as texts of a declared format, as a file has them."""
    bare = [c for c in case.schema if "format" in c.domain.fields and c.format is None]
    columns = tuple(replace(c, format=DATES) if c in bare else c for c in case.schema)
    rows = [dict(row) for row in case.rows]
    for row in rows:
        for name in (column.name for column in bare):
            value = row[name]
            row[name] = None if pd.isna(value) else pd.Timestamp(value).strftime(DATES)
    return Case(tuple(rows), replace(case.schema, columns=columns))


def _spelling(column: Column, value: Any, how: str) -> Any:
    """The same value, written as nobody else writes it."""
    if value is None or pd.isna(value) or (column.is_listed and isinstance(value, str)):
        return value
    if isinstance(value, str):  # fractions of a second of any length are the same
        return value if how == "decimals" else str(value).rstrip("0").removesuffix(".") + ".0"
    if isinstance(value, bool | np.bool_):
        return {"decimals": str(value).upper(), "signs": str(int(value))}.get(how, str(value))
    if not (column.is_number or column.is_listed):
        return value
    number = float(value)
    return {"decimals": f" {number!r}", "signs": f"{number:+.6f}"}.get(how, f"{number:.9e}")


def difference(pair: Pair, subject: Subject) -> str | None:
    """The first thing that differs, in words and without a value of the rows."""
    if pair.again.departure:
        return pair.again.departure
    counts = len(pair.record.requests), len(pair.again.requests)
    if counts[0] != counts[1]:
        return f"noise is drawn {counts[1]} times and not {counts[0]}"
    if pair.record.questions != pair.again.questions:
        return "other questions are asked about the rows"
    one, other = pair.one, pair.other
    if one.ledger_.to_dict() != other.ledger_.to_dict():
        return "the ledger differs"
    apart = differing(vars(one), vars(other))
    if apart:
        return f"the fitted model differs in {apart}"
    for name in ("tables", "card"):
        if all(callable(getattr(model, name, None)) for model in (one, other)):
            apart = differing(getattr(one, name)(), getattr(other, name)(), name)
            if apart:
                return f"what it shows differs in {apart}"
    if subject.saves(one) and subject.saved(one) != subject.saved(other):
        return "the saved files differ"
    # drawn once from the recorded model: sampling goes on where it stopped
    drawn = subject.once(("drawn", id(one)), lambda: _drawn(one))
    return next(filter(None, map(_apart, drawn, _drawn(other))), None)


def _apart(here: pd.DataFrame, there: pd.DataFrame) -> str | None:
    if len(here) != len(there):
        return f"{len(there)} rows are drawn by default and not {len(here)}"
    if list(here.dtypes) != list(there.dtypes):
        return "the samples have other dtypes"
    columns = [name for name in here if not here[name].equals(there[name])]
    return f"the samples differ in column {columns[0]!r}" if columns else None


def _drawn(model: Any) -> list[pd.DataFrame]:
    seeded = takes(model.sample, "random_state")
    more = [model.sample(60, random_state=3)] if seeded else []
    return [model.sample(7), model.sample(), *more]


def differing(one: Any, other: Any, path: str = "") -> str | None:
    """Where two plain values differ; objects of other kinds are left to files and samples."""
    if type(one) is not type(other):
        return path or "its type"
    parts: list[tuple[Any, Any, Any]] = []
    same = True
    if isinstance(one, np.ndarray) and one.dtype == other.dtype == object:
        return differing(one.tolist(), other.tolist(), path)
    if isinstance(one, np.ndarray):
        same = one.dtype == other.dtype
        same = same and np.array_equal(one, other, equal_nan=one.dtype.kind == "f")
    elif isinstance(one, pd.DataFrame | pd.Series):
        same = one.equals(other)
    elif isinstance(one, str | bytes | bool | int | float | complex | Schema):
        same = one == other or one != one  # noqa: PLR0124  (not a number)
    elif isinstance(one, dict):
        if one.keys() != other.keys():
            return f"{path} (its keys)"
        parts = [(name, one[name], other[name]) for name in one]
    elif isinstance(one, list | tuple):
        if len(one) != len(other):
            return f"{path} (its length)"
        parts = [(i, *both) for i, both in enumerate(zip(one, other, strict=True))]
    found = (
        differing(here, there, f"{path}.{name}" if path else str(name))
        for name, here, there in parts
    )
    return next(filter(None, found), None) if same else path
