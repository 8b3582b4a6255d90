"""What an attacker sees of one fit, as named numbers and words.

White box: everything that the generator would save or publish of itself: every number of
``_state()``, schema, dtypes, number of rows, ledger, and ``released_``, the noisy answers before
any post-processing, where it keeps them. Its structure (lengths, labels, edges, texts) becomes
words, compared as they are.

Black box: rows that it draws. Counts of cells and of pairs of cells, above all those of the rows
in which the tables differ; extremes, means and correlations; what is out of the domain; names,
order and dtypes of the columns.

A fit or a sample that raises is observed too: the kind of error and its text are a word.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
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


@dataclass
class Observation:
    """Numbers and words of one run, by name."""

    numbers: dict[str, float] = field(default_factory=dict)
    words: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of_error(cls, text: str) -> Observation:
        """Of a run that raised."""
        return cls(words={"raised": text})

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

    def kept(self, keep: Callable[[str], bool] | None) -> Observation:
        """Only what may be looked at."""
        if keep is None:
            return self
        return Observation(
            {name: value for name, value in self.numbers.items() if keep(name)},
            {name: value for name, value in self.words.items() if keep(name)},
        )

    def flatten(self, name: str, value: Any) -> None:
        """Add every number and word of nested lists, mappings and arrays."""
        if isinstance(value, Mapping):
            self.word(f"{name}{{}}", list(value))
            for key, entry in value.items():
                self.flatten(f"{name}.{key}" if name else str(key), entry)
        elif isinstance(value, np.ndarray) and value.dtype.kind in "fiub":
            self.word(f"{name}[]", f"{value.dtype} {value.shape}")
            flat = value.astype(float).ravel()
            for i, entry in enumerate(flat[:MOST_NUMBERS]):
                self.number(f"{name}[{i}]", entry)
            if len(flat) > MOST_NUMBERS:
                self.number(f"{name}[...]", flat[MOST_NUMBERS:].sum())
        elif isinstance(value, list | tuple | np.ndarray):
            self.word(f"{name}[]", len(value))
            for i, entry in enumerate(value[:MOST_NUMBERS]):
                self.flatten(f"{name}[{i}]", entry)
            self.word(f"{name}[...]", list(value[MOST_NUMBERS:]))
        elif isinstance(value, bool | np.bool_ | bytes) or value is None:
            self.word(name, value)
        elif isinstance(value, int | float | np.number):
            self.number(name, value)
        elif isinstance(value, str):
            self._text(name, value)
        else:  # an object of the generator's own: its kind, not where it lies in memory
            self.word(name, type(value).__name__)

    def _text(self, name: str, text: str) -> None:
        """A text; one that is JSON counts by what is in it."""
        try:
            if text[:1] not in "{[":
                raise ValueError
            self.flatten(name, json.loads(text))
        except ValueError:
            self.word(name, text)


def has_white_box(generator: Any) -> bool:
    """Whether a generator says what it would save."""
    return bool(getattr(generator, "publishable", True)) and callable(
        getattr(generator, "_state", None)
    )


def white_box(generator: Any) -> Observation:
    """The released numbers of a fitted generator."""
    seen = Observation()
    state, arrays = generator._state()
    seen.flatten("state", state)
    seen.flatten("", arrays)
    seen.flatten("released", getattr(generator, "released_", {}))
    for name in ("n_rows_", "columns_", "dtypes_", "settings_"):
        seen.flatten(name.rstrip("_"), getattr(generator, name, None))
    for name in ("schema_", "ledger_"):
        found = getattr(generator, name, None)
        if found is not None and hasattr(found, "to_dict"):
            seen.flatten(name.rstrip("_"), found.to_dict())
    return seen


def black_box(table: Any, schema: Schema, records: pd.DataFrame) -> Observation:
    """What drawn rows show, above all about the records in which the tables differ."""
    seen = Observation()
    if not isinstance(table, pd.DataFrame):
        seen.word("sample", type(table).__name__)
        return seen
    seen.number("rows", len(table))
    seen.word("columns", list(table.columns))
    codes: dict[str, np.ndarray] = {}
    same: dict[str, np.ndarray] = {}
    for column in schema:
        name = column.name
        if name not in table.columns:
            continue
        seen.word(f"dtype {name}", table[name].dtype)
        try:
            numbers = column.domain.to_numbers(table[name])
            cells = column.domain.cells()
            codes[name] = cells.index(numbers)
        except (ValueError, TypeError, KeyError, IndexError) as error:
            seen.word(f"unreadable {name}", type(error).__name__)
            seen.number(f"distinct {name}", table[name].nunique())
            continue
        known = column.domain.to_numbers(records[name])[:, None]
        same[name] = (numbers == known) | (np.isnan(numbers) & np.isnan(known))
        _one_column(seen, name, numbers, same[name])
        _cells(seen, name, codes[name], cells.size)
    if codes:
        _pairs(seen, codes, same)
    return seen


def _one_column(seen: Observation, name: str, numbers: np.ndarray, same: np.ndarray) -> None:
    there = numbers[~np.isnan(numbers)]
    seen.number(f"missing {name}", len(numbers) - len(there))
    seen.number(f"distinct {name}", len(np.unique(there)))
    for i, number in enumerate(same.sum(axis=1)):
        seen.number(f"as record {i} {name}", number)
    for what in ("min", "max", "mean") if len(there) else ():
        seen.number(f"{what} {name}", getattr(there, what)())


def _cells(seen: Observation, name: str, codes: np.ndarray, size: int) -> None:
    groups = min(size, MOST_CELLS)
    counts = np.bincount(np.clip(codes, 0, size - 1) * groups // size, minlength=groups)
    for i, number in enumerate(counts):
        seen.number(f"cell {name}[{i}]", number)


def _pairs(
    seen: Observation, codes: Mapping[str, np.ndarray], same: Mapping[str, np.ndarray]
) -> None:
    """Rows that are a record in all columns and in two, and the correlation of each two."""
    for i, number in enumerate(np.all(list(same.values()), axis=0).sum(axis=1)):
        seen.number(f"as record {i}", number)
    for first, second in combinations(codes, 2):
        for i, number in enumerate((same[first] & same[second]).sum(axis=1)):
            seen.number(f"as record {i} {first} and {second}", number)
        if len(codes[first]) > 1 and np.ptp(codes[first]) and np.ptp(codes[second]):
            value = np.corrcoef(codes[first], codes[second])[0, 1]
            seen.number(f"correlation {first} and {second}", value)
        else:
            seen.word(f"correlation {first} and {second}", "constant")
