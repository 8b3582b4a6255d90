"""What an attacker sees of one fit: named numbers and texts.

White box: everything that the generator would save or publish of itself: every number of
``_state()``, schema, dtypes, number of rows, ledger, and ``released_``, the noisy answers before
any post-processing, where it keeps them. Its structure (lengths, labels, edges) becomes texts,
compared as they are.

Black box: rows that it draws. Counts of cells and of pairs of cells, above all those of the rows
in which the tables differ; extremes, means and correlations; what is out of the domain; names,
order and dtypes of the columns.

A fit or a sample that raises is observed too: the kind of error and its message are a text.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from contextlib import suppress
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from copula_shirley.schema.schema import Schema

BOXES = ("white", "black")
#: Numbers of one array or list that are looked at one by one.
MOST_NUMBERS = 5_000
#: Columns with more cells are looked at in this many groups.
MOST_CELLS = 32
#: Characters of a text beyond which it is cut and hashed.
LONGEST_TEXT = 2_000


#: What was seen of one run, by name.
Observation = dict[str, float | str]


def number(seen: Observation, name: str, value: Any) -> None:
    """Add a number; one that is not finite is a text."""
    value = float(value)
    seen[name] = value if math.isfinite(value) else str(value)


def _text(seen: Observation, name: str, value: Any) -> None:
    """Add a text; of a long one its beginning, and a hash of the whole."""
    text = str(value)
    seen[name] = text[:LONGEST_TEXT]
    if len(text) > LONGEST_TEXT:
        seen[f"{name} (whole)"] = hashlib.sha256(text.encode()).hexdigest()


def flatten(seen: Observation, name: str, value: Any) -> None:
    if isinstance(value, str) and value[:1] in ("{", "["):  # JSON counts by what is in it
        with suppress(ValueError):
            value = json.loads(value)
    if isinstance(value, Mapping):
        _text(seen, f"{name}{{}}", list(value))
        for key, entry in value.items():
            flatten(seen, f"{name}.{key}" if name else str(key), entry)
    elif isinstance(value, np.ndarray) and value.dtype.kind in "fiub":
        _text(seen, f"{name}[]", f"{value.dtype} {value.shape}")
        flat = value.astype(float).ravel()
        for i, entry in enumerate(flat[:MOST_NUMBERS]):
            number(seen, f"{name}[{i}]", entry)
        if len(flat) > MOST_NUMBERS:
            number(seen, f"{name}[...]", flat[MOST_NUMBERS:].sum())
    elif isinstance(value, list | tuple | np.ndarray):
        _text(seen, f"{name}[]", len(value))
        for i, entry in enumerate(value[:MOST_NUMBERS]):
            flatten(seen, f"{name}[{i}]", entry)
        _text(seen, f"{name}[...]", list(value[MOST_NUMBERS:]))
    elif isinstance(value, bool | np.bool_ | bytes | str) or value is None:
        _text(seen, name, value)
    elif isinstance(value, int | float | np.number):
        number(seen, name, value)
    else:  # an object of the generator's own: its kind, not where it lies in memory
        _text(seen, name, type(value).__name__)


def white_box(generator: Any) -> Observation | None:
    """The released numbers of a fitted generator; None where it does not say what it would save."""
    if not getattr(generator, "publishable", True) or not hasattr(generator, "_state"):
        return None
    seen = Observation()
    state, arrays = generator._state()
    flatten(seen, "state", state)
    flatten(seen, "", arrays)
    flatten(seen, "released", getattr(generator, "released_", {}))
    for name in ("n_rows_", "columns_", "dtypes_", "settings_"):
        flatten(seen, name.rstrip("_"), getattr(generator, name, None))
    for name in ("schema_", "ledger_"):
        found: Any = getattr(generator, name, None)
        if hasattr(found, "to_dict"):
            flatten(seen, name.rstrip("_"), found.to_dict())
    return seen


def black_box(table: Any, schema: Schema, records: pd.DataFrame) -> Observation:
    """What drawn rows show, above all about the records in which the tables differ."""
    seen = Observation()
    if not isinstance(table, pd.DataFrame):
        _text(seen, "sample", type(table).__name__)
        return seen
    number(seen, "rows", len(table))
    _text(seen, "columns", list(table.columns))
    codes: dict[str, np.ndarray] = {}
    same: dict[str, np.ndarray] = {}  # by record and row
    for column in (column for column in schema if column.name in table.columns):
        name = column.name
        _text(seen, f"dtype {name}", table[name].dtype)
        try:
            number(seen, f"distinct {name}", table[name].nunique())
            numbers = column.domain.to_numbers(table[name])
            cells = column.domain.cells()
            codes[name] = cells.index(numbers)
        except (ValueError, TypeError, KeyError, IndexError) as error:
            _text(seen, f"unreadable {name}", type(error).__name__)
            continue
        known = column.domain.to_numbers(records[name])[:, None]
        same[name] = (numbers == known) | (np.isnan(numbers) & np.isnan(known))
        there = numbers[~np.isnan(numbers)]
        number(seen, f"missing {name}", len(numbers) - len(there))
        for what in ("min", "max", "mean") if len(there) else ():
            number(seen, f"{what} {name}", getattr(there, what)())
        groups = min(cells.size, MOST_CELLS)
        place = np.clip(codes[name], 0, cells.size - 1) * groups // cells.size
        for i, count in enumerate(np.bincount(place, minlength=groups)):
            number(seen, f"cell {name}[{i}]", count)
    alike = same | {f"{a} and {b}": same[a] & same[b] for a, b in combinations(same, 2)}
    if same:
        alike["all columns"] = np.all(list(same.values()), axis=0)
    for name, rows in alike.items():
        for i, count in enumerate(rows.sum(axis=1)):
            number(seen, f"as record {i}: {name}", count)
    for one, other in combinations(codes, 2):
        name = f"correlation {one} and {other}"
        if len(codes[one]) > 1 and np.ptp(codes[one]) and np.ptp(codes[other]):
            number(seen, name, np.corrcoef(codes[one], codes[other])[0, 1])
        else:
            _text(seen, name, "constant")
    return seen
