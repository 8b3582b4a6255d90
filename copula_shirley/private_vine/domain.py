"""A domain that is paid for: bounds and categories bought with a share of the budget.

For columns of which only name and kind are declared (``provenance: private``). Each value is read
by itself as what the kind says (``copula_shirley.schema.values``); one that is of another kind
counts as
missing. Where the kind itself was drafted from the rows, or taken from how pandas stores a column,
one row could have changed it: the ledger records that as unprotected.

- **Numbers**: extreme quantiles are read off a noisy histogram of magnitudes (powers of two of
  either sign): bounds are the ends of the outermost magnitudes that rise above the noise. At most
  half of the domain is then empty, which costs little, since margins are smoothed and cut where
  mass is. A second histogram counts decimals, for the resolution. Values beyond the bounds are
  clipped to them.
- **Categories**: every category that occurs gets a noisy count, and is released if the count is
  above a threshold that a category of one single unit passes with a chance of at most delta
  (stability, Korolova et al. 2009; Bun, Nissim and Stemmer 2016). The others become ``OTHER``, or
  the commonest category if they are too few to be seen.
- **Missing values** are part of the domain if their noisy count rises above the noise.

Privacy: docs/private_vine.md, lemma 5.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from copula_shirley.measure.calibration import Calibration
from copula_shirley.measure.queries import Discovery, Queries, Tables
from copula_shirley.rows.memory import MemoryRows
from copula_shirley.rows.rows import CellMap, Chunk
from copula_shirley.schema.column import KINDS
from copula_shirley.schema.domain import FloatArray
from copula_shirley.schema.draft import kind_of
from copula_shirley.schema.schema import Column, Schema, check_table
from copula_shirley.schema.values import absent

#: Share of the budget that buys the domain; and of delta, for categories.
SHARE, DELTA_SHARE = 0.1, 0.1
#: Powers of two: magnitudes below the first count as 0, above the last as the last.
LOWEST, HIGHEST = -20, 52
#: The name of all categories that were not released.
OTHER = "(other)"
#: Classes of a target, at the most; ``OTHER`` and missing values come on top.
MOST_CLASSES = 30


#: The kind of what is stored so; numbers with decimals are the rule.
KIND_STORED = {cls.stored: kind for kind, cls in KINDS.items()}


def raw_rows(table: pd.DataFrame, stored: Mapping[str, str], schema: Schema) -> MemoryRows:
    """Columns by how each of them is looked at: as ``Kind.stored``, or as "category".

    A value of another kind than its column counts as missing, by itself
    (``copula_shirley.schema.values``).
    """
    most = 2.0**HIGHEST
    numeric = [name for name, kind in stored.items() if kind != "category"]
    numbers = {n: schema[n].domain.measure(table[n]).clip(-most, most) for n in numeric}
    labels = {n: _labels(table[n], schema[n]) for n, s in stored.items() if s == "category"}
    missing = {name: absent(table[name]) for name in stored}
    return MemoryRows(schema, numbers, codes={}, labels=labels, missing=missing)


def _labels(series: pd.Series, column: Column) -> pd.Series:
    """Categories as texts, whole numbers and truth values; None where missing or no category."""
    return pd.Series(map(column.domain.label, series), series.index, dtype=object)


# -- keys: public functions of a row ---------------------------------------------


@dataclass(frozen=True)
class MagnitudeKey:
    """Missing, then powers of two from the largest negative to the largest positive."""

    name: str

    @property
    def names(self) -> tuple[str, ...]:
        """The column."""
        return (self.name,)

    @property
    def shape(self) -> tuple[int, ...]:
        """Missing, zero, and both signs of each power."""
        return (2 + 2 * (HIGHEST - LOWEST + 1),)

    def cells(self, chunk: Chunk) -> NDArray[np.intp]:
        """The magnitude of each number."""
        values = chunk.numbers[self.name]
        known = np.where(np.isnan(values), 0.0, values)
        size = np.abs(known)
        power = np.floor(np.log2(np.maximum(size, 2.0**LOWEST))).astype(np.intp)
        step = np.where(size < 2.0**LOWEST, 0, np.clip(power, LOWEST, HIGHEST) - LOWEST + 1)
        middle = HIGHEST - LOWEST + 2
        return np.where(np.isnan(values), 0, middle + np.sign(known).astype(np.intp) * step)

    @staticmethod
    def bounds(counts: FloatArray, loud: float) -> tuple[float, float]:
        """Outer bounds: the outermost magnitudes above the noise."""
        present = np.flatnonzero(counts[1:] > loud) + 1
        if len(present) == 0:
            return 0.0, 1.0
        middle = HIGHEST - LOWEST + 2
        ends = []
        for place, outward in ((present[0], -1), (present[-1], 1)):
            sign, step = int(np.sign(place - middle)), abs(int(place) - middle)
            # away from zero a magnitude ends at the next power, towards zero at its own
            power = LOWEST + step - (0 if sign == outward else 1)
            ends.append(sign * 2.0**power if step else 0.0)
        low, high = ends
        return (low, high) if low < high else (low, low + 1.0)


@dataclass(frozen=True)
class GrainKey:
    """How fine each number is: its decimals, or the coarsest step on which a date lies."""

    name: str
    grains: tuple[float, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The column."""
        return (self.name,)

    @property
    def shape(self) -> tuple[int, ...]:
        """Each grain, one for finer ones, one for missing values."""
        return (len(self.grains) + 2,)

    def cells(self, chunk: Chunk) -> NDArray[np.intp]:
        """The grain of each number."""
        values = chunk.numbers[self.name]
        missing = np.isnan(values)
        known = np.where(missing, 0.0, values)
        grains = self.grains
        found = np.full(len(values), len(grains), dtype=np.intp)
        for i in reversed(range(len(grains))):
            steps = known / grains[i]
            # what a double cannot tell from a point of the grid is one
            found[np.abs(steps - np.rint(steps)) <= np.abs(steps) * 1e-15 * 8 + 1e-9] = i
        return np.where(missing, len(grains) + 1, found)

    def finest(self, counts: FloatArray, loud: float) -> int:
        """The finest grain above the noise."""
        present = np.flatnonzero(counts[:-1] > loud)
        return int(present[-1]) if len(present) else 0


@dataclass(frozen=True)
class LabelKey:
    """The category of each row, out of no list."""

    name: str

    @property
    def names(self) -> tuple[str, ...]:
        """The column."""
        return (self.name,)

    def labels(self, chunk: Chunk) -> tuple[pd.Series, int]:
        """The categories of rows that have one, and the number of missing values."""
        labels = chunk.labels[self.name]
        return labels[labels.notna()], int(chunk.missing[self.name].sum())


@dataclass(frozen=True)
class RestKey:
    """Rows with none of the released categories, against all others."""

    name: str
    released: tuple[Any, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The column."""
        return (self.name,)

    @property
    def shape(self) -> tuple[int, ...]:
        """Rest, and not."""
        return (2,)

    def cells(self, chunk: Chunk) -> NDArray[np.intp]:
        """Whether each row has a released category or none at all."""
        known = chunk.labels[self.name].isin(list(self.released)).to_numpy()
        return np.asarray(known | chunk.missing[self.name], dtype=np.intp)


def undeclared(table: pd.DataFrame) -> Schema:
    """A schema without bounds and categories, its kinds drafted from how the columns are stored."""
    check_table(table)
    kinds = {str(name): kind_of(table[name].dtype) for name in table.columns}
    return Schema(tuple(Column(n, kind, provenance="drafted") for n, kind in kinds.items()))


def closed(schema: Schema) -> Schema:
    """The schema with the smallest of domains where there is none yet, for plans."""
    columns = (replace(c, **c.domain.least) if c.open else c for c in schema)
    return replace(schema, columns=tuple(columns))


# -- rounds ------------------------------------------------------------------------


def learn_domain(
    stored: Mapping[str, str], target: str | None, noise: Calibration
) -> Queries[dict[str, Column]]:
    """Buy the columns' domains: categories, then magnitudes, then the resolution.

    Noise that is taken for rows costs much: a magnitude far out makes every cell too wide. So the
    bar is what no empty cell of a round is likely to pass (``Calibration.detection_threshold``).
    """
    numeric = [name for name, kind in stored.items() if kind != "category"]
    listed = [name for name, kind in stored.items() if kind == "category"]
    columns: dict[str, Column] = {}
    rounds = 2 * bool(listed) + 2 * bool(numeric) - bool(listed and numeric)
    share = SHARE / max(1, rounds)
    found: list[tuple[list[Any], bool]] = []
    if listed:
        keys = [LabelKey(name) for name in listed]
        answer = yield Discovery("categories", keys, share)
        loud = noise.detection_threshold(share, len(keys), len(keys))
        for name, counts, labels in zip(listed, answer.values, answer.labels, strict=True):
            most = MOST_CLASSES if name == target else len(labels)
            order = np.argsort(-counts[:-1], kind="stable")[:most]
            kept = list(dict.fromkeys(labels[i] for i in order))  # True equals 1
            found.append((kept, bool(counts[-1] > loud)))
    rests = [RestKey(name, tuple(kept)) for name, (kept, _) in zip(listed, found, strict=True)]
    sizes = [MagnitudeKey(name) for name in numeric]
    if rests or sizes:
        asked: list[CellMap] = [*rests, *sizes]
        answer = yield Tables("magnitudes" if sizes else "rest", asked, share)
        loud = _loud(noise, share, asked)
        noisy = [table.astype(float) for table in answer.values]  # noqa: PD011
        for rest, table, (kept, missing) in zip(rests, noisy, found, strict=False):
            seen = bool(table[0] > loud)
            columns[rest.name] = _listed(rest.name, kept, seen, missing)
        tables = noisy[len(rests) :]
        ends = [key.bounds(table, loud) for key, table in zip(sizes, tables, strict=True)]
        gaps = [bool(table[0] > loud) for table in tables]
    if numeric:
        grains = [GrainKey(name, KINDS[KIND_STORED[stored[name]]].grains) for name in numeric]
        answer = yield Tables("resolution", grains, share)
        loud = _loud(noise, share, grains)
        for key, table, end, gap in zip(grains, answer.values, ends, gaps, strict=True):
            finest = key.finest(table.astype(float), loud)
            kind = KIND_STORED[stored[key.name]]
            fields = {"kind": kind, **KINDS[kind].measured(*end, finest)}
            columns[key.name] = Column(key.name, missing=gap, provenance="private", **fields)
    return {name: columns[name] for name in stored}


def _loud(noise: Calibration, share: float, keys: Sequence[CellMap]) -> float:
    return noise.detection_threshold(share, len(keys), sum(math.prod(key.shape) for key in keys))


def _listed(name: str, kept: list[Any], rest: bool, missing: bool) -> Column:
    """The released categories in an order of their own; ``other`` takes what is none of them."""
    commonest = kept[0] if kept else OTHER
    listed = sorted(kept, key=lambda label: (type(label).__name__, str(label)))
    if (rest or not kept) and OTHER not in kept:
        listed.append(OTHER)
    return Column(
        name,
        "categorical",
        categories=tuple(listed),
        other=OTHER if OTHER in listed else commonest,
        missing=missing,
        provenance="private",
    )


def brought_in(
    table: pd.DataFrame, rows: MemoryRows, columns: Mapping[str, Column]
) -> pd.DataFrame:
    """The table inside a bought domain; each value by itself, so neighbours stay neighbours."""
    inside = {
        name: _listed_values(rows, column)
        if name in rows.labels
        else column.domain.brought_in(table[name])
        for name, column in columns.items()
    }
    return pd.DataFrame({name: inside.get(name, table[name]) for name in table.columns})


def _listed_values(rows: MemoryRows, column: Column) -> pd.Series:
    labels = rows.labels[column.name]
    found = labels.where(labels.isin(list(column.categories)), column.other)
    return found.where(~rows.missing[column.name], None) if column.missing else found
