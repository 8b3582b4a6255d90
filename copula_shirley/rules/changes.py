"""Changes of coordinates: columns of a table into columns that a model can tell apart, and back.

Each change is a public map of a single row. ``enter`` takes the numbers of the table's columns and
gives those of the columns that are made; ``leave`` takes these, and what is known of the table's
columns so far, and gives the columns that were left out. A row that breaks the rule enters as one
that keeps it (differences at the nearest bound, the first allowed combination), and what comes
back keeps the rule, but for values beyond a column's bounds, which are ``inf``.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from copula_shirley.rules.check import Values, grid_step
from copula_shirley.rules.checks import ComputedCheck, OrderCheck
from copula_shirley.rules.functions import FunctionCheck
from copula_shirley.schema.column import LONGEST_NAME, Column
from copula_shirley.schema.domain import MISSING, FloatArray


class Change(ABC):
    """Some columns of a table that others take the place of."""

    #: Columns of the table that are left out, those that are made in their place, and those of the
    #: table that ``leave`` needs.
    derived: tuple[str, ...]
    made: tuple[Column, ...] = ()
    needs: tuple[str, ...] = ()

    @abstractmethod
    def enter(self, values: Values) -> dict[str, FloatArray]:
        """Numbers of the made columns."""

    @abstractmethod
    def leave(self, values: Values, made: Values) -> dict[str, FloatArray]:
        """Numbers of the derived columns."""


class Derived(Change):
    """A column that follows from others."""

    def __init__(self, check: ComputedCheck | FunctionCheck) -> None:
        self.check = check
        self.derived = check.rule.names[:1]
        self.needs = check.rule.names[1:]

    def enter(self, values: Values) -> dict[str, FloatArray]:
        return {}

    def leave(self, values: Values, made: Values) -> dict[str, FloatArray]:
        found = self.check.result(values)
        if isinstance(self.check, ComputedCheck):
            found = self.check.column.domain.of_amounts(found)
        return {self.derived[0]: found}


@dataclass(frozen=True)
class Step:
    """A column of a chain, and what stands for it in the model."""

    column: Column
    #: +1 after the base of the chain, -1 before it.
    sign: int
    gap: Column
    #: Amounts of one unit of the gap.
    unit: float
    #: The column itself, for rows in which no other column up to the base is there.
    alone: Column | None


class Chain(Change):
    """Columns of an order as one of them and the differences from it outwards.

    The difference of a column is that from the nearest one towards the base that is not missing. If
    all of these are missing the column stands for itself.
    """

    def __init__(
        self, check: OrderCheck, names: Sequence[str], base: str, taken: Sequence[str]
    ) -> None:
        order = list(check.rule.columns)
        self.base = check.columns[base]
        self.needs, self.derived = (base,), tuple(name for name in names if name != base)
        self.steps: list[Step] = []
        names, names_made = sorted(names, key=order.index), list(taken)
        middle = names.index(base)
        for side, sign in ((names[middle:], 1), (names[: middle + 1][::-1], -1)):
            for i in range(1, len(side)):
                step = self._step(check, side[: i + 1], sign, names_made)
                names_made += [step.gap.name, *([step.alone.name] if step.alone else [])]
                self.steps.append(step)
        pairs = ((step.gap, step.alone) for step in self.steps)
        self.made = tuple(column for pair in pairs for column in pair if column is not None)

    def _step(self, check: OrderCheck, path: Sequence[str], sign: int, taken: list[str]) -> Step:
        """What stands for the last column of a path from the base."""
        columns = [check.columns[name] for name in path]
        own, nearest = columns[-1], columns[-2]
        place = [check.rule.columns.index(name) for name in path]
        all_missing = all(column.missing for column in columns[:-1])
        bounds = []
        for i in range(len(path) - 2, -1, -1):  # those that may be the nearest that is there
            limits = check.limits[min(place[i], place[-1]) : max(place[i], place[-1])]
            low, high = (sum(pair[k] for pair in limits) for k in (0, 1))
            ends = [c.domain.amounts(np.array(c.domain.number_range)) for c in (columns[i], own)]
            (before, _), (_, after) = ends if sign > 0 else ends[::-1]
            bounds.append((low, min(high, max(after - before, low))))
            if not columns[i].missing:
                break
        least, most = min(low for low, _ in bounds), max(high for _, high in bounds)
        unit = grid_step(columns)
        pair = (own, nearest) if sign > 0 else (nearest, own)
        name = unique(f"{pair[0].name} - {pair[1].name}", taken)
        missing = own.missing or all_missing
        if check.timed or all(column.is_whole for column in columns):
            first, last = math.ceil(least / unit - 1e-9), math.floor(most / unit + 1e-9)
            last = max(first, last)
            gap = Column(name, "integer", minimum=first, maximum=last, missing=missing)
        else:
            gap = Column(
                name,
                "continuous",
                minimum=least,
                maximum=most,
                resolution=unit or None,
                missing=missing,
            )
            unit = 1.0
        alone = None
        if all_missing:
            alone = replace(own, name=unique(f"{own.name} alone", [*taken, name]), missing=True)
        return Step(own, sign, gap, unit, alone)

    def enter(self, values: Values) -> dict[str, FloatArray]:
        found: dict[str, FloatArray] = {}
        start = last = self.base.domain.amounts(values[self.base.name])
        sign = 1
        for step in self.steps:
            if step.sign != sign:
                last, sign = start, step.sign
            numbers = values[step.column.name]
            here = step.column.domain.amounts(numbers)
            gap = step.sign * (here - last) / step.unit
            inside = np.clip(gap, *step.gap.domain.number_range)
            inside = step.gap.domain.round(np.where(np.isnan(gap), 0.0, inside))
            if step.unit != 1.0 or step.gap.is_whole:
                inside = np.rint(inside)
            found[step.gap.name] = np.where(np.isnan(gap), MISSING, inside)
            if step.alone is not None:
                found[step.alone.name] = np.where(np.isnan(last), numbers, MISSING)
            last = np.where(np.isnan(here), last, here)
        return found

    def leave(self, values: Values, made: Values) -> dict[str, FloatArray]:
        found: dict[str, FloatArray] = {}
        start = last = self.base.domain.amounts(values[self.base.name])
        sign = 1
        for step in self.steps:
            if step.sign != sign:
                last, sign = start, step.sign
            gap = made[step.gap.name]
            gap = np.where(np.isfinite(gap), gap, np.nan) * step.unit
            numbers = step.column.domain.of_amounts(last + step.sign * gap)
            if step.alone is not None:
                numbers = np.where(np.isnan(last), made[step.alone.name], numbers)
            found[step.column.name] = numbers
            here = step.column.domain.amounts(numbers)
            last = np.where(np.isnan(here), last, here)
        return found


class Told(Change):
    """A column of two values by which another one is there or missing."""

    def __init__(self, column: str, other: str, present: float, missing: float) -> None:
        self.derived, self.needs = (column,), (other,)
        self.present, self.missing = present, missing

    def enter(self, values: Values) -> dict[str, FloatArray]:
        return {}

    def leave(self, values: Values, made: Values) -> dict[str, FloatArray]:
        gaps = np.isneginf(values[self.needs[0]])
        return {self.derived[0]: np.where(gaps, self.missing, self.present)}


class Joint(Change):
    """Columns of few combinations as one column of these."""

    def __init__(
        self,
        columns: Sequence[Column],
        combinations: Sequence[tuple[float, ...]],
        taken: Sequence[str],
    ) -> None:
        self.derived = tuple(column.name for column in columns)
        self.combinations = np.array(combinations)
        name = unique(" + ".join(self.derived), taken)
        self.joint = Column(name, "categorical", categories=tuple(range(len(combinations))))
        self.made = (self.joint,)

    def enter(self, values: Values) -> dict[str, FloatArray]:
        rows = np.stack([values[name] for name in self.derived], axis=1)
        distinct, place = np.unique(rows, axis=0, return_inverse=True)
        # the combination that agrees in the first columns for longest
        agree = distinct[:, None, :] == self.combinations[None, :, :]
        longest = np.cumprod(agree, axis=2).sum(axis=2)
        code = (longest * (agree.shape[2] + 1) + agree.sum(axis=2)).argmax(axis=1)
        return {self.joint.name: code[place.ravel()].astype(float)}

    def leave(self, values: Values, made: Values) -> dict[str, FloatArray]:
        rows = self.combinations[made[self.joint.name].astype(np.intp)]
        return {name: rows[:, i] for i, name in enumerate(self.derived)}


def unique(name: str, taken: Sequence[str]) -> str:
    """A name that no column has."""
    found, i = name[:LONGEST_NAME], 1
    while found in taken:
        i += 1
        end = f" ({i})"
        found = name[: LONGEST_NAME - len(end)] + end
    return found
