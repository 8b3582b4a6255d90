"""The checks of rules, by the kind of rule."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from copula_shirley.errors import SchemaError
from copula_shirley.files.texts import shown, stated
from copula_shirley.rules.check import ROUNDING, Check, Flags, Ranges, Values, grid_step, step_of
from copula_shirley.rules.conditions import Test, numbers_in
from copula_shirley.rules.functions import FunctionCheck, LearnedCheck
from copula_shirley.schema.column import Column
from copula_shirley.schema.domain import FloatArray
from copula_shirley.schema.duration import duration_of
from copula_shirley.schema.expressions import DAY, LENGTH, MOMENT, NUMBER, Value
from copula_shirley.schema.rules import Allowed, Computed, Function, Implies, OneHot, Order, Rule
from copula_shirley.schema.schema import Schema
from copula_shirley.schema.values import is_number, truth_of

#: Words of yes-or-no columns beside those of truth values.
YES, NO = {"yes", "y", "ja", "oui", "si"}, {"no", "n", "nein", "non"}


class OrderCheck(Check):
    """Differences of neighbours; where one is missing, of those around it."""

    rule: Order

    def __init__(self, rule: Order, schema: Schema) -> None:
        super().__init__(rule, schema)
        kinds = {self.quantity_of(name) for name in rule.columns}
        if len(kinds) > 1:
            raise rule.error("all columns must be numbers, or all dates, or all durations")
        self.timed = kinds != {NUMBER}
        #: The least and the largest difference of neighbours, in amounts.
        self.limits = [self._limits(i) for i in range(len(rule.gaps))]

    def _limits(self, i: int) -> tuple[float, float]:
        pair = [self.columns[name] for name in self.rule.columns[i : i + 2]]
        gap, step = self.rule.gaps[i], grid_step(pair)
        low = 0.0 if gap.minimum is None else self._amount(gap.minimum, pair)
        high = math.inf if gap.maximum is None else self._amount(gap.maximum, pair)
        if low < 0:
            raise self.rule.error(f"gap minimum ({shown(gap.minimum)}) must be 0 or more")
        if self.rule.strict:
            low = max(low, step)
        if low > high:
            what = f"gap minimum ({stated(gap.minimum)}) and maximum ({stated(gap.maximum)})"
            raise self.rule.error(f"{what} leave nothing between them")
        return low, high

    def _amount(self, given: Any, pair: Sequence[Column]) -> float:
        """A bound in amounts: numbers; of times a text, or steps of the coarser column."""
        if is_number(given):
            return float(given) * (max(step_of(c) for c in pair) if self.timed else 1.0)
        found = duration_of(given) if self.timed and isinstance(given, str) else None
        if found is None or np.isnat(found):
            kind = "a duration such as 30D or a number of steps" if self.timed else "a number"
            raise self.rule.error(f"gap ({shown(given)}) must be {kind}")
        return float(found.astype("int64"))

    def broken(self, values: Values) -> Flags:
        first, *others = self.rule.columns
        last = self.amounts(first, values)
        found = np.zeros(len(last), dtype=bool)
        low, high = np.zeros(len(last)), np.zeros(len(last))
        for name, (least, most) in zip(others, self.limits, strict=True):
            low, high = low + least, high + most
            here = self.amounts(name, values)
            known = np.isfinite(here)
            with np.errstate(invalid="ignore"):
                gap = here - last
                wrong = (gap < low - ROUNDING * np.abs(low)) | (gap > high * (1 + ROUNDING))
                wrong |= (gap <= 0) if self.rule.strict else (gap < 0)
            found |= wrong  # comparisons with NaN are false
            last = np.where(known, here, last)
            low, high = np.where(known, 0.0, low), np.where(known, 0.0, high)
        return found

    def possible(self, ranges: Ranges) -> bool:
        names = [n for n in self.rule.columns if n in ranges and np.isfinite(ranges[n]).all()]
        ends = {n: self.columns[n].domain.amounts(np.array(ranges[n])) for n in names}
        place = {name: i for i, name in enumerate(self.rule.columns)}
        for i, one in enumerate(names):
            for other in names[i + 1 :]:
                limits = self.limits[place[one] : place[other]]
                least, most = (sum(pair[k] for pair in limits) for k in (0, 1))
                (low, high), (first, last) = ends[one], ends[other]
                if last - low < least or first - high > most:
                    return False
                if self.rule.strict and last <= low:
                    return False
        return True


class ComputedCheck(Check):
    """A column and the result of an expression."""

    rule: Computed

    def __init__(self, rule: Computed, schema: Schema) -> None:
        super().__init__(rule, schema)
        self.expression, self.column = rule.parsed, self.columns[rule.column]
        kinds = {name: self.quantity_of(name) for name in self.expression.names}
        own = self.quantity_of(rule.column)
        try:
            made = self.expression.quantity(kinds)
        except SchemaError as error:
            raise rule.error(str(error)) from None
        if (MOMENT if own == MOMENT else NUMBER) != made:
            words = {MOMENT: "a date", NUMBER: "a number", LENGTH: "a duration"}
            raise rule.error(f"the result is {words[made]}, but the column holds {words[own]}")
        if rule.missing == "all" and MOMENT in kinds.values():
            raise rule.error("missing: all takes missing parts as 0, which no date can be")

    def result(self, values: Values) -> FloatArray:
        """The results as amounts of the column; NaN where there is none."""
        names = self.expression.names
        parts = {n: Value(self.amounts(n, values), self.quantity_of(n)) for n in names}
        every = self.rule.missing == "all"
        found = self.expression.value(parts, skip_missing=every).amounts
        if every:
            gaps = np.all([np.isnan(part.amounts) for part in parts.values()], axis=0)
            found = np.where(gaps, np.nan, found)
        return found * DAY if self.column.domain.quantity == LENGTH else found

    def broken(self, values: Values) -> Flags:
        own, made = self.amounts(self.rule.column, values), self.result(values)
        step = step_of(self.column)
        allowed = 0.5 * step if self.rule.tolerance is None else self.rule.tolerance
        if self.rule.tolerance is not None and self.column.domain.quantity != NUMBER:
            allowed *= step
        slack = ROUNDING * np.maximum(np.abs(own), step or 1.0)
        with np.errstate(invalid="ignore"):
            return np.asarray(np.abs(own - made) > allowed + slack)


class OneHotCheck(Check):
    """Which of some columns are set."""

    rule: OneHot

    def __init__(self, rule: OneHot, schema: Schema) -> None:
        super().__init__(rule, schema)
        #: The numbers for no and for yes, by column.
        self.words = {name: self._words(column) for name, column in self.columns.items()}

    def _words(self, column: Column) -> tuple[float, float]:
        if column.missing:
            raise self.rule.error(f"column {column.name!r} must not have missing values")
        if not column.is_listed:
            if column.is_whole and column.domain.number_range == (0.0, 1.0):
                return 0.0, 1.0
        elif len(column.domain.categories) == 2:
            truths = [_truth(category) for category in column.domain.categories]
            if truths in ([False, True], [True, False]):
                return float(truths.index(False)), float(truths.index(True))
        rule = "must be boolean, 0 and 1, or two categories such as no and yes"
        raise self.rule.error(f"column {column.name!r} {rule}")

    @cached_property
    def combinations(self) -> list[tuple[float, ...]]:
        """All rows that keep the rule."""
        words = list(self.words.values())
        count = len(words)
        ones = [[words[i][i == j] for i in range(count)] for j in range(count)]
        return [*map(tuple, ones), *([tuple(no for no, _ in words)] if self.rule.at_most else [])]

    def broken(self, values: Values) -> Flags:
        wanted = [values[name] == yes for name, (_, yes) in self.words.items()]
        count = np.sum(wanted, axis=0)
        return np.asarray(count > 1 if self.rule.at_most else count != 1)


class AllowedCheck(Check):
    """Listed combinations; a missing value is bound where the list names one."""

    rule: Allowed

    def __init__(self, rule: Allowed, schema: Schema) -> None:
        super().__init__(rule, schema)
        columns = list(self.columns.values())
        values = [[row[i] for row in rule.rows] for i in range(len(columns))]
        pairs = zip(columns, values, strict=True)
        self.rows = np.stack([numbers_in(c, own, rule) for c, own in pairs], axis=1)
        self.known = [np.unique(self.rows[:, i]) for i in range(len(columns))]
        #: By column: the combinations of values up to it that are listed, as numbers.
        self.levels: list[FloatArray] = []
        code = np.zeros(len(self.rows))
        for i, known in enumerate(self.known):
            code = code * len(known) + np.searchsorted(known, self.rows[:, i])
            level, place = np.unique(code, return_inverse=True)
            self.levels.append(level)
            code = place.astype(float)

    def _listed(self, values: Values) -> tuple[Flags, Flags]:
        """Which rows are a listed combination, and which are bound."""
        columns = [values[name] for name in self.rule.columns]
        code = np.zeros(len(columns[0]))
        listed = np.ones(len(code), dtype=bool)
        bound = listed.copy()
        for numbers, known, level in zip(columns, self.known, self.levels, strict=True):
            place = np.clip(np.searchsorted(known, numbers), 0, len(known) - 1)
            listed &= known[place] == numbers
            wanted = code * len(known) + place
            code = np.clip(np.searchsorted(level, wanted), 0, len(level) - 1).astype(float)
            listed &= level[code.astype(np.intp)] == wanted
            bound &= np.isfinite(numbers) | bool(np.isneginf(known[0]))
        return listed, bound

    def broken(self, values: Values) -> Flags:
        listed, bound = self._listed(values)
        return np.asarray(bound & (listed == self.rule.forbidden))

    def possible(self, ranges: Ranges) -> bool:
        if self.rule.forbidden:
            return super().possible(ranges)
        if any(c.missing and n not in ranges for n, c in self.columns.items()):
            return True
        fits = np.ones(len(self.rows), dtype=bool)
        for i, name in enumerate(self.rule.columns):
            if name in ranges:
                low, high = ranges[name]
                if np.isneginf(low) and not np.isneginf(self.known[i][0]):
                    return True  # a missing value is not bound
                fits &= (low <= self.rows[:, i]) & (self.rows[:, i] <= high)
        return bool(fits.any())


class ImpliesCheck(Check):
    """Conditions that imply others."""

    rule: Implies

    def __init__(self, rule: Implies, schema: Schema) -> None:
        super().__init__(rule, schema)
        parts = (rule.when, rule.then)
        self.when, self.then = (
            [(name, Test.of(self.columns[name], said, rule)) for name, said in part]
            for part in parts
        )
        for name, test in self.then:
            if test.state == "missing" and not self.columns[name].missing:
                raise rule.error(f"column {name!r} cannot be missing: declare missing: true")

    def meant(self, values: Values) -> Flags:
        """Which rows meet all conditions of ``when``."""
        return np.asarray(np.all([test.met(values[name]) for name, test in self.when], axis=0))

    def broken(self, values: Values) -> Flags:
        fails = [test.unmet(values[name]) for name, test in self.then]
        return np.asarray(self.meant(values) & np.any(fails, axis=0))

    def repaired(self, values: Values) -> dict[str, FloatArray]:
        meant = self.meant(values)
        return {
            name: np.where(
                meant & test.unmet(values[name]), test.nearest(values[name]), values[name]
            )
            for name, test in self.then
        }

    def possible(self, ranges: Ranges) -> bool:
        sure = all(name in ranges and test.covers(*ranges[name]) for name, test in self.when)
        never = any(name in ranges and test.excludes(*ranges[name]) for name, test in self.then)
        return not (sure and never)


CHECKS: dict[type[Rule], type[Check]] = {
    Order: OrderCheck,
    Computed: ComputedCheck,
    OneHot: OneHotCheck,
    Allowed: AllowedCheck,
    Implies: ImpliesCheck,
}


def checks_of(schema: Schema) -> list[Check]:
    """A check for each rule of a schema."""
    return [_kind(rule)(rule, schema) for rule in schema.rules]


def _kind(rule: Rule) -> type[Check]:
    if isinstance(rule, Function):
        return FunctionCheck if rule.table is not None else LearnedCheck
    return CHECKS[type(rule)]


def _truth(category: Any) -> bool | None:
    word = category.lower() if isinstance(category, str) else category
    return word in YES if word in YES | NO else truth_of(word)
