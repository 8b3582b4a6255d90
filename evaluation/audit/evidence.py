"""What an attacker sees of one fit, as named numbers and words.

White box: everything that the generator would save or publish of itself. For a generator of our
contract that is ``_state()`` (every number of its JSON and arrays), schema, dtypes, number of rows,
ledger, and ``released_``, the noisy answers before any post-processing, where it keeps them.
The structure (lengths, labels, edges, texts) becomes words, compared as they are.

Black box: rows that it draws. Counts of cells and of pairs of cells, above all those of the rows
in which the tables differ; extremes, means and correlations; what is out of the domain; names,
order and dtypes of the columns.

A fit or a sample that raises is evidence too: the kind of error and its text are a word.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from copula_shirley.privacy.ledger import Ledger
from copula_shirley.private_vine.generator import PrivateVine
from copula_shirley.schema import domain
from copula_shirley.schema.schema import Schema

BOXES = ("white", "black")
#: Numbers of one array or list that are looked at one by one.
MOST_NUMBERS = 5_000
#: Columns with more cells are looked at in this many groups.
MOST_CELLS = 32
#: Texts longer than this are cut and hashed.
LONGEST_TEXT = 2_000


@dataclass
class Evidence:
    """Numbers and words of one run, by name."""

    numbers: dict[str, float] = field(default_factory=dict)
    words: dict[str, str] = field(default_factory=dict)

    def number(self, name: str, value: Any) -> None:
        """Keep a number; one that is not finite is a word."""
        value = float(value)
        if math.isfinite(value):
            self.numbers[name] = value
        else:
            self.words[name] = str(value)

    def word(self, name: str, value: Any) -> None:
        """Keep a text; of a long one its beginning, and a hash of the whole."""
        text = str(value)
        self.words[name] = text[:LONGEST_TEXT]
        if len(text) > LONGEST_TEXT:
            self.words[f"{name} (whole)"] = hashlib.sha256(text.encode()).hexdigest()


# -- white box -----------------------------------------------------------------------


def white_box(generator: Any) -> Evidence:
    """The released numbers of a fitted generator."""
    evidence = Evidence()
    state, arrays = generator._state()
    flatten(evidence, "state", state)
    flatten(evidence, "", arrays)
    flatten(evidence, "released", getattr(generator, "released_", {}))
    for name in ("n_rows_", "columns_", "dtypes_", "settings_"):
        flatten(evidence, name.rstrip("_"), getattr(generator, name, None))
    for name in ("schema_", "ledger_"):
        found = getattr(generator, name, None)
        if found is not None and hasattr(found, "to_dict"):
            flatten(evidence, name.rstrip("_"), found.to_dict())
    return evidence


def has_white_box(generator: Any) -> bool:
    """Whether a generator says what it would save."""
    return bool(getattr(generator, "publishable", True)) and callable(
        getattr(generator, "_state", None)
    )


def flatten(evidence: Evidence, name: str, value: Any) -> None:
    """Add every number and word of nested lists, mappings and arrays."""
    if isinstance(value, Mapping):
        evidence.word(f"{name}{{}}", list(value))
        for key, entry in value.items():
            flatten(evidence, f"{name}.{key}" if name else str(key), entry)
    elif isinstance(value, np.ndarray) and value.dtype.kind in "fiub":
        evidence.word(f"{name}[]", f"{value.dtype} {value.shape}")
        flat = value.astype(float).ravel()
        for i, entry in enumerate(flat[:MOST_NUMBERS]):
            evidence.number(f"{name}[{i}]", entry)
        if len(flat) > MOST_NUMBERS:
            evidence.number(f"{name}[...]", flat[MOST_NUMBERS:].sum())
    elif isinstance(value, list | tuple | np.ndarray):
        evidence.word(f"{name}[]", len(value))
        for i, entry in enumerate(value[:MOST_NUMBERS]):
            flatten(evidence, f"{name}[{i}]", entry)
        evidence.word(f"{name}[...]", list(value[MOST_NUMBERS:]))
    elif isinstance(value, bool | np.bool_ | bytes) or value is None:
        evidence.word(name, value)
    elif isinstance(value, int | float | np.number):
        evidence.number(name, value)
    elif isinstance(value, str) and value[:1] in "{[" and _is_json(value):
        flatten(evidence, name, json.loads(value))
    elif isinstance(value, str):
        evidence.word(name, value)
    else:  # an object of the generator's own: its kind, not where it lies in memory
        evidence.word(name, type(value).__name__)


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


# -- black box -----------------------------------------------------------------------


def black_box(table: Any, schema: Schema, records: pd.DataFrame) -> Evidence:
    """What drawn rows show, above all about the records in which the tables differ."""
    evidence = Evidence()
    if not isinstance(table, pd.DataFrame):
        evidence.word("sample", type(table).__name__)
        return evidence
    evidence.number("rows", len(table))
    evidence.word("columns", list(table.columns))
    codes: dict[str, np.ndarray] = {}
    same: dict[str, np.ndarray] = {}
    for column in schema:
        if column.name not in table.columns:
            continue
        series = table[column.name]
        evidence.word(f"dtype {column.name}", series.dtype)
        try:
            numbers = domain.to_numbers(column, series)
            cells = domain.cells(column)
            codes[column.name] = cells.index(numbers)
        except (ValueError, TypeError, KeyError, IndexError) as error:
            evidence.word(f"unreadable {column.name}", type(error).__name__)
            evidence.number(f"distinct {column.name}", series.nunique())
            continue
        known = domain.to_numbers(column, records[column.name])
        same[column.name] = _same(numbers, known)
        _one_column(evidence, column.name, numbers, same[column.name])
        _cells(evidence, column.name, codes[column.name], cells.size)
    _pairs(evidence, codes, same)
    return evidence


def _same(numbers: np.ndarray, known: np.ndarray) -> np.ndarray:
    """Which rows (columns of the result) have the value of which record (its rows)."""
    equal = numbers[None, :] == known[:, None]
    return np.asarray(equal | (np.isnan(numbers)[None, :] & np.isnan(known)[:, None]))


def _one_column(evidence: Evidence, name: str, numbers: np.ndarray, same: np.ndarray) -> None:
    there = numbers[~np.isnan(numbers)]
    evidence.number(f"missing {name}", len(numbers) - len(there))
    evidence.number(f"distinct {name}", len(np.unique(there)))
    for i, number in enumerate(same.sum(axis=1)):
        evidence.number(f"as record {i} {name}", number)
    if len(there):
        evidence.number(f"min {name}", there.min())
        evidence.number(f"max {name}", there.max())
        evidence.number(f"mean {name}", there.mean())


def _cells(evidence: Evidence, name: str, codes: np.ndarray, size: int) -> None:
    groups = min(size, MOST_CELLS)
    counts = np.bincount(np.clip(codes, 0, size - 1) * groups // size, minlength=groups)
    for i, number in enumerate(counts):
        evidence.number(f"cell {name}[{i}]", number)


def _pairs(
    evidence: Evidence, codes: Mapping[str, np.ndarray], same: Mapping[str, np.ndarray]
) -> None:
    if not codes:
        return
    for i, number in enumerate(np.all(list(same.values()), axis=0).sum(axis=1)):
        evidence.number(f"as record {i}", number)
    for first, second in combinations(codes, 2):
        both = (same[first] & same[second]).sum(axis=1)
        for i, number in enumerate(both):
            evidence.number(f"as record {i} {first} and {second}", number)
        if len(codes[first]) > 1 and np.ptp(codes[first]) and np.ptp(codes[second]):
            value = np.corrcoef(codes[first], codes[second])[0, 1]
            evidence.number(f"correlation {first} and {second}", value)
        else:
            evidence.word(f"correlation {first} and {second}", "constant")


# -- what a fit claims ------------------------------------------------------------------


#: What PrivateVine may ask, by stage; trees from the second on are "higher trees".
STAGES = (
    "size", "ranges of cells", "margins", "margins again", "parts of cells", "target", "scores",
    "tree 1", "scores of higher trees", "higher trees", "choice of tables",
    "tables beyond the vine", "domain that is bought",
)  # fmt: skip
BOUGHT = ("categories", "magnitudes", "rest", "resolution")


def stage_of(name: str) -> str:
    """The stage of ``STAGES`` that a spend belongs to, or its own name."""
    if name in BOUGHT:
        return "domain that is bought"
    return re.sub(r"\btree (?!1$)\d+$", "higher trees", name)


def stated(generator: Any) -> dict[str, Any] | None:
    """What the ledger of a fit states about the whole release, as plain values."""
    ledger = getattr(generator, "ledger_", None)
    if not isinstance(ledger, Ledger):
        return None
    claimed, proved = ledger.claimed, ledger.proved
    mechanisms = sorted({spend.mechanism for spend in ledger.spends})
    return {
        "epsilon": None if claimed is None else claimed.epsilon,
        "delta": 0.0 if claimed is None else claimed.delta,
        "proved": None if proved is None else str(proved),
        "zcdp": ledger.zcdp,
        "gaussian": bool(mechanisms) and all("gaussian" in name for name in mechanisms),
        "neighbours": ledger.neighbours,
        "unit": ledger.unit,
        "rows_per_unit": ledger.rows_per_unit,
        "asked": sorted({stage_of(spend.stage) for spend in ledger.spends}),
        "may_ask": list(STAGES) if isinstance(generator, PrivateVine) else None,
        "transcript": getattr(generator, "transcript_", None) is not None,
    }
