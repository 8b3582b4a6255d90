"""A domain that is measured: bounds and categories that cost a share of the budget.

For columns of which only name and kind are declared (``provenance: private``). Each value is read
by itself as what the kind says (``copula_shirley.schema.values``); one that is of another kind
counts as missing. Where the kind itself was drafted from the rows, or taken from how pandas stores
a column, one row could have changed it: the ledger records that as unprotected.

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

Privacy: docs/private_vine.md, lemma 3.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from copula_shirley.measure.calibration import Calibration
from copula_shirley.measure.queries import Discovery, Queries, Tables
from copula_shirley.rows.memory import MemoryRows
from copula_shirley.rows.rows import CellMap, Chunk
from copula_shirley.rules.coordinates import Coordinates
from copula_shirley.schema.column import KINDS
from copula_shirley.schema.domain import FloatArray
from copula_shirley.schema.draft import kind_of
from copula_shirley.schema.schema import Column, Schema, admitted
from copula_shirley.schema.values import absent

#: Share of the budget, and of delta (for categories), that measures the domain.
SHARE, DELTA_SHARE = 0.1, 0.1
#: Powers of two: magnitudes below the first count as 0, above the last as the last.
LOWEST, HIGHEST = -20, 52
#: The cell of 0 among magnitudes: missing values and all negative magnitudes come before.
MIDDLE = HIGHEST - LOWEST + 2
#: The name of all categories that were not released.
OTHER = "(other)"
#: Classes of a target, at the most; ``OTHER`` and missing values come on top.
MOST_CLASSES = 30
#: The kind of a column that is stored so; numbers with decimals are the rule.
KIND_STORED = {cls.stored: kind for kind, cls in KINDS.items() if cls.measurable}


def raw_rows(table: pd.DataFrame, stored: Mapping[str, str], schema: Schema) -> MemoryRows:
    """Rows on no domain yet: columns by ``Kind.stored``, or "category".

    A value of another kind than its column counts as missing, by itself.
    """
    most = 2.0**HIGHEST
    numbers, labels = {}, {}
    for name, storage in stored.items():
        domain = schema[name].domain
        if storage == "category":  # texts, whole numbers, truth values; None for all else
            labels[name] = pd.Series(map(domain.label, table[name]), table.index, dtype=object)
        else:
            numbers[name] = domain.measure(table[name]).clip(-most, most)
    missing = {name: absent(table[name]) for name in stored}
    return MemoryRows(schema, numbers, codes={}, labels=labels, missing=missing)


@dataclass(frozen=True)
class Raw:
    """A view of rows on no domain yet; see ``raw_rows``."""

    coordinates: Coordinates
    stored: Mapping[str, str]

    @property
    def schema(self) -> Schema:
        return self.coordinates.modelled

    def __call__(self, frame: pd.DataFrame) -> MemoryRows:
        return raw_rows(self.coordinates.entered(frame), self.stored, self.schema)


@dataclass(frozen=True)
class Inside:
    """A view of rows inside a domain that was measured."""

    raw: Raw
    schema: Schema
    #: All rows as ``raw`` shows them, where they are in memory.
    known: MemoryRows | None = field(default=None, compare=False, repr=False)

    def __call__(self, frame: pd.DataFrame) -> MemoryRows:
        columns = {name: self.schema[name] for name in self.raw.stored}
        table = self.raw.coordinates.entered(frame)
        raw = self.raw(frame) if self.known is None else self.known
        return MemoryRows.of(brought_in(table, raw, columns), self.schema)


# -- cell maps: public functions of a row ----------------------------------------


@dataclass(frozen=True)
class OfColumn:
    """A map of one column."""

    name: str

    @property
    def names(self) -> tuple[str, ...]:
        return (self.name,)


@dataclass(frozen=True)
class MagnitudeKey(OfColumn):
    """Missing, then powers of two from the largest negative to the largest positive."""

    shape: tuple[int, ...] = (2 * MIDDLE,)

    def cells(self, chunk: Chunk) -> NDArray[np.intp]:
        values = chunk.numbers[self.name]
        known = np.where(np.isnan(values), 0.0, values)
        size = np.abs(known)
        power = np.floor(np.log2(np.maximum(size, 2.0**LOWEST))).astype(np.intp)
        step = np.where(size < 2.0**LOWEST, 0, np.clip(power, LOWEST, HIGHEST) - LOWEST + 1)
        return np.where(np.isnan(values), 0, MIDDLE + np.sign(known).astype(np.intp) * step)

    @staticmethod
    def bounds(counts: FloatArray, threshold: float) -> tuple[float, float]:
        """Ends of the outermost magnitudes above a threshold."""
        present = np.flatnonzero(counts[1:] > threshold) + 1
        if len(present) == 0:
            return 0.0, 1.0
        ends = []
        for place, outward in ((present[0], -1), (present[-1], 1)):
            sign, step = int(np.sign(place - MIDDLE)), abs(int(place) - MIDDLE)
            # away from zero a magnitude ends at the next power, towards zero at its own
            power = LOWEST + step - (0 if sign == outward else 1)
            ends.append(sign * 2.0**power if step else 0.0)
        low, high = ends
        return (low, high) if low < high else (low, low + 1.0)


@dataclass(frozen=True)
class GrainKey(OfColumn):
    """How fine each number is: its decimals, or the coarsest step on which a date lies.

    One cell for each grain, one for finer numbers, one for missing values.
    """

    grains: tuple[float, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        return (len(self.grains) + 2,)

    def cells(self, chunk: Chunk) -> NDArray[np.intp]:
        values = chunk.numbers[self.name]
        missing = np.isnan(values)
        known = np.where(missing, 0.0, values)
        found = np.full(len(values), len(self.grains), dtype=np.intp)
        for i, grain in reversed(list(enumerate(self.grains))):
            steps = known / grain
            # what a double cannot tell from a point of the grid is one
            found[np.abs(steps - np.rint(steps)) <= np.abs(steps) * 1e-15 * 8 + 1e-9] = i
        return np.where(missing, len(self.grains) + 1, found)

    def finest(self, counts: FloatArray, threshold: float) -> int:
        """The finest grain above a threshold."""
        return int(np.flatnonzero(counts[:-1] > threshold).max(initial=0))


@dataclass(frozen=True)
class LabelKey(OfColumn):
    """The category of each row, out of no list."""

    def labels(self, chunk: Chunk) -> tuple[pd.Series, int]:
        labels = chunk.labels[self.name]
        return labels[labels.notna()], int(chunk.missing[self.name].sum())


@dataclass(frozen=True)
class RestKey(OfColumn):
    """Rows with none of the released categories, against all others."""

    released: tuple[Any, ...]
    shape: tuple[int, ...] = (2,)

    def cells(self, chunk: Chunk) -> NDArray[np.intp]:
        known = chunk.labels[self.name].isin(list(self.released)).to_numpy()
        return np.asarray(known | chunk.missing[self.name], dtype=np.intp)


def undeclared(table: pd.DataFrame) -> Schema:
    """A schema without bounds and categories, its kinds drafted from how the columns are stored."""
    table = admitted(table)
    kinds = {str(name): kind_of(table[name].dtype) for name in table.columns}
    return Schema(tuple(Column(n, kind, provenance="drafted") for n, kind in kinds.items()))


def closed(schema: Schema) -> Schema:
    """The schema with the smallest of domains where there is none yet, for plans."""
    columns = (replace(c, **c.domain.least) if c.open else c for c in schema)
    return replace(schema, columns=tuple(columns))


# -- stages ------------------------------------------------------------------------


def learn_domain(
    stored: Mapping[str, str], target: str | None, noise: Calibration
) -> Queries[dict[str, Column]]:
    """Measure the columns' domains: categories, then magnitudes, then the resolution.

    Noise that is taken for rows costs much: a magnitude far out makes every cell too wide. So a
    count must pass ``Calibration.detection_threshold``, which no empty cell is likely to pass.
    """
    numeric = [name for name, storage in stored.items() if storage != "category"]
    listed = [name for name, storage in stored.items() if storage == "category"]
    share = SHARE / max(1, 2 * bool(listed) + 2 * bool(numeric) - bool(listed and numeric))

    def threshold(maps: Sequence[CellMap]) -> float:
        cells = sum(math.prod(one.shape) for one in maps)
        return noise.detection_threshold(share, len(maps), cells)

    rests, missing = [], {}
    if listed:
        answer = yield Discovery("categories", [LabelKey(name) for name in listed], share)
        least = noise.detection_threshold(share, len(listed), len(listed))
        for name, counts, labels in zip(listed, answer.values, answer.labels, strict=True):
            most = MOST_CLASSES if name == target else len(labels)
            order = np.argsort(-counts[:-1], kind="stable")[:most]
            found = dict.fromkeys(labels[i] for i in order)  # True equals 1
            rests.append(RestKey(name, tuple(found)))
            missing[name] = bool(counts[-1] > least)
    sizes = [MagnitudeKey(name) for name in numeric]
    columns, bounds = {}, {}
    if rests or sizes:
        maps: list[CellMap] = [*rests, *sizes]
        answer = yield Tables("magnitudes" if sizes else "rest", maps, share)
        least, tables = threshold(maps), [table.astype(float) for table in answer.values]  # noqa: PD011
        for rest, table in zip(rests, tables, strict=False):
            some = bool(table[0] > least)
            columns[rest.name] = _listed(rest.name, rest.released, some, missing[rest.name])
        for size, table in zip(sizes, tables[len(rests) :], strict=True):
            missing[size.name] = bool(table[0] > least)
            bounds[size.name] = size.bounds(table, least)
    if numeric:
        grains = [GrainKey(name, KINDS[KIND_STORED[stored[name]]].grains) for name in numeric]
        answer = yield Tables("resolution", grains, share)
        least = threshold(grains)
        for grain, table in zip(grains, answer.values, strict=True):
            name, kind = grain.name, KIND_STORED[stored[grain.name]]
            finest = grain.finest(table.astype(float), least)
            fields = {"kind": kind, **KINDS[kind].measured(*bounds[name], finest)}
            columns[name] = Column(name, missing=missing[name], provenance="private", **fields)
    return {name: columns[name] for name in stored}


def _listed(name: str, released: Sequence[Any], rest: bool, missing: bool) -> Column:
    """The released categories in an order of their own; ``other`` takes what is none of them."""
    categories = sorted(released, key=lambda label: (type(label).__name__, str(label)))
    if (rest or not released) and OTHER not in released:
        categories.append(OTHER)
    return Column(
        name,
        "categorical",
        categories=tuple(categories),
        other=OTHER if OTHER in categories else released[0],
        missing=missing,
        provenance="private",
    )


def brought_in(
    table: pd.DataFrame, rows: MemoryRows, columns: Mapping[str, Column]
) -> pd.DataFrame:
    """The table inside a measured domain; each value by itself, so neighbours stay neighbours."""
    inside = {}
    for name, column in columns.items():
        if name not in rows.labels:
            inside[name] = column.domain.brought_in(table[name])
            continue
        labels = rows.labels[name]
        found = labels.where(labels.isin(list(column.categories)), column.other)
        inside[name] = found.where(~rows.missing[name], None) if column.missing else found
    return pd.DataFrame({name: inside.get(name, table[name]) for name in table.columns})
