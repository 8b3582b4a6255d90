"""The coordinates in which a model sees a table with rules, and the way back.

``Coordinates.of`` finds them from the schema alone: a column that follows from others leaves the
model, an order becomes a base and differences, few combinations become one column. What no change
of coordinates keeps is kept by rejection: a drawn row that breaks a rule is drawn again, and so is
one with a derived value beyond its bounds. Every drawn row is checked against every rule.

Privacy: ``entered`` is a fixed public map of each row by itself, so neighbours stay neighbours
(docs/private_vine.md, lemma 6).
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations, product
from typing import Any

import numpy as np
import pandas as pd

from copula_shirley.errors import SchemaError
from copula_shirley.rules.changes import Chain, Change, Derived, Joint, Told
from copula_shirley.rules.check import Check, Flags, Values, numbers_of
from copula_shirley.rules.checks import (
    AllowedCheck,
    ComputedCheck,
    ImpliesCheck,
    OneHotCheck,
    OrderCheck,
    checks_of,
)
from copula_shirley.rules.constants import (
    ConstantCheck,
    check_derived,
    constants_of,
    count_rows,
    rows_each,
)
from copula_shirley.rules.functions import FunctionCheck, LearnedCheck
from copula_shirley.schema.column import Column
from copula_shirley.schema.domain import MISSING, FloatArray
from copula_shirley.schema.schema import Schema

#: Combinations of one joint column, at the most: of listed ones, and of conditions, where columns
#: that are seen apart lose less; and combinations that are tried.
MOST_JOINT, MOST_IMPLIED, MOST_TRIED = 200, 40, 20_000
#: Share of drawn rows that must keep all rules.
LEAST_KEPT = 0.02
#: Columns of a rule whose pairs a vine measures first.
MOST_BOUND = 3
#: Rules that a message names.
NAMED = 5


@dataclass(eq=False)
class Coordinates:
    """How rows of a schema with rules enter a model, and leave it."""

    schema: Schema
    #: The domain on which a model is fitted.
    modelled: Schema
    checks: list[Check] = field(default_factory=list)
    #: In an order in which each finds what it needs.
    changes: list[Change] = field(default_factory=list)
    #: Checks of the rules that a change of coordinates keeps.
    kept: list[Check] = field(default_factory=list)
    #: Checks of the columns that are the same in all rows of a person, and the column of the model
    #: that says how many rows she has.
    constants: list[ConstantCheck] = field(default_factory=list)
    size: Column | None = None

    @classmethod
    def of(cls, schema: Schema, keep: Iterable[str] = ()) -> Coordinates:
        """The coordinates of a schema; columns of ``keep`` stay in the model."""
        if not schema.rules and not schema.per_person:
            return cls(schema, schema)
        return _Finder(schema, frozenset(keep)).found()

    @classmethod
    def under(cls, schema: Schema, settings: Mapping[str, Any]) -> Coordinates:
        """The coordinates for a generator with these settings: its target stays in the model."""
        target = settings.get("target")
        return cls.of(schema, [target] if isinstance(target, str) else [])

    @property
    def learned(self) -> list[LearnedCheck]:
        """The functions whose tables a fit learns."""
        return [check for check in self.checks if isinstance(check, LearnedCheck)]

    @property
    def share_left(self) -> float:
        """Share of the budget that learned functions leave."""
        return 1.0 - sum(check.rule.share for check in self.learned)

    def with_measured(self, modelled: Schema) -> Schema:
        """The schema with the columns whose domain a fit has measured."""
        new = {c.name: c for c in modelled if c.name not in self.schema.constants}
        return replace(self.schema, columns=tuple(new.get(c.name, c) for c in self.schema))

    # -- rows of the table -------------------------------------------------------------

    def enters_as(self, other: Coordinates) -> bool:
        """Whether rows enter in the same way."""

        def way(one: Coordinates) -> tuple[Any, ...]:
            changes = [(type(c), c.derived, c.needs, c.made) for c in one.changes]
            return one.schema, one.modelled, changes

        return way(self) == way(other)

    @cached_property
    def ruled(self) -> dict[str, Column]:
        """The columns that a rule is about, or that are the same in all rows of a person."""
        checks = (*self.checks, *self.constants)
        return {name: column for check in checks for name, column in check.columns.items()}

    def _values(self, table: pd.DataFrame) -> dict[str, FloatArray]:
        """Numbers of these columns in a validated table, and of the people if they matter."""
        values = numbers_of(table, self.ruled)
        if self.schema.per_person:
            values[str(self.schema.person)] = self.schema.people(table).astype(float)
        return values

    def broken(self, table: pd.DataFrame) -> list[tuple[Check, Flags]]:
        """For each rule the rows of a validated table that break it."""
        values = self._values(table)
        return [(check, check.broken(values)) for check in (*self.checks, *self.constants)]

    def enforced(self, table: pd.DataFrame) -> pd.DataFrame:
        """The table, of which all rows keep all rules or are repaired when they enter."""
        kept, wrong = self.kept_rows(table)
        self.check_kept(wrong, len(kept))
        return kept

    def kept_rows(self, table: pd.DataFrame) -> tuple[pd.DataFrame, list[str]]:
        """The rows of a validated table that a model may learn from, and the rules that break.

        Depends on each row, or each person, by itself.
        """
        if not (self.checks or self.constants) or self.schema.on_broken == "repair":
            return table, []
        found = self.broken(table)
        wrong = [str(check.rule) for check, broken in found if broken.any()]
        if wrong and self.schema.on_broken == "drop":
            table = table[~np.any([broken for _, broken in found], axis=0)]
        return table, wrong

    def check_kept(self, wrong: Collection[str], left: int) -> None:
        """Refuse a table with broken rules, or of which no row is left.

        The error names rules, never rows or how many they are.
        """
        if wrong and self.schema.on_broken == "refuse":
            rules = [str(check.rule) for check in (*self.checks, *self.constants)]
            raise SchemaError(
                f"the table breaks {listed([rule for rule in rules if rule in wrong])}; 'shirley "
                "check' shows where, or choose on_broken: repair or drop in the schema"
            )
        if wrong and left == 0:
            raise SchemaError("no row of the table keeps all rules; at least one must")

    def entered(self, table: pd.DataFrame) -> pd.DataFrame:
        """The table in the coordinates of the model."""
        if not self.changes and self.size is None and self.schema.on_broken != "repair":
            return table
        values: Values = self._values(table)
        columns = {}
        if self.schema.on_broken == "repair":
            # also where no row needs it: a column of texts has fewer digits, and one row that is
            # repaired would change all others
            for check in (*self.constants, *self.checks):
                for name, numbers in check.repaired(values).items():
                    values = {**values, name: numbers}
                    columns[name] = self.ruled[name], numbers
        for change in self.changes:
            entered = change.enter(values)
            columns |= {column.name: (column, entered[column.name]) for column in change.made}
        if self.size is not None:
            people = count_rows(values[str(self.schema.person)])
            columns[self.size.name] = self.size, people
        outside = [name for name in table.columns if name not in self.schema.names]
        made = {}
        for name in (*self.modelled.names, *outside):
            if name in columns:
                column, numbers = columns[name]
                series = column.domain.from_numbers(numbers, column.domain.private_storage)
                made[name] = series.set_axis(table.index)
            else:
                made[name] = table[name]
        return pd.DataFrame(made, index=table.index)

    # -- rows of the model -------------------------------------------------------------

    def left(self, numbers: Mapping[str, FloatArray]) -> tuple[dict[str, FloatArray], Flags]:
        """Drawn rows in the coordinates of the table, and which of them keep all rules."""
        size = () if self.size is None else (self.size.name,)
        values = {name: numbers[name] for name in (*self.schema.names, *size) if name in numbers}
        for change in self.changes:
            values |= change.leave(values, numbers)
        return values, self._good(values)

    def again(self, values: Values) -> tuple[dict[str, FloatArray], Flags]:
        """Rows of the table of which some columns were changed, with what follows from these.

        And which of them keep all rules.
        """
        found = dict(values)
        for change in self.changes:
            if not change.made:
                found |= change.leave(found, {})
        return found, self._good(found)

    def _good(self, values: Values) -> Flags:
        """Which rows keep all rules, with all derived values inside their bounds."""
        good = np.ones(len(next(iter(values.values()))), dtype=bool)
        derived = [name for change in self.changes for name in change.derived]
        for name in derived:
            gaps = np.isneginf(values[name])
            good &= np.isfinite(values[name]) | (gaps & self.schema[name].missing)
        safe = {name: np.where(good, values[name], MISSING) for name in derived}
        return np.asarray(good & ~self._any_broken({**values, **safe}))

    def rejecting(self) -> Coordinates | None:
        """What of these looks at the rules that are kept by rejection; None without any.

        ``modelled`` has only the columns that these rules depend on.
        """
        checks = [check for check in self.checks if check not in self.kept]
        if not checks:
            return None
        by = {name: change for change in self.changes for name in change.derived}
        ahead = [name for check in checks for name in check.columns]
        needed: set[str] = set()
        changes: list[Change] = []
        while ahead:
            name = ahead.pop()
            change = by.get(name)
            if change is None:
                needed.add(name)
            elif change not in changes:
                changes.append(change)
                needed.update(column.name for column in change.made)
                ahead += change.needs
        columns = tuple(column for column in self.modelled if column.name in needed)
        modelled = replace(self.modelled, columns=columns)
        ordered = [change for change in self.changes if change in changes]
        return Coordinates(self.schema, modelled, checks, ordered)

    def bound_together(self) -> list[tuple[str, str]]:
        """Pairs of columns of the model that one of these rules is about."""
        made = {name: c.made[0].name for c in self.changes if c.made for name in c.derived}
        found = []
        for check in self.checks:
            names = dict.fromkeys(made.get(name, name) for name in check.columns)
            known = [name for name in names if name in self.modelled.names]
            found += [pair for pair in combinations(known, 2) if len(known) <= MOST_BOUND]
        return found

    def _any_broken(self, values: Values) -> Flags:
        found = np.zeros(len(next(iter(values.values()))), dtype=bool)
        for check in self.checks:
            found = found | check.broken(values)
        return np.asarray(found)

    @cached_property
    def ranges(self) -> dict[str, tuple[float, float]]:
        """Bounds of the columns that are never missing."""
        return ranges_of(self.schema)

    def way(self, check: Check) -> str:
        """How a rule is kept, in words."""
        if isinstance(check, LearnedCheck):
            return f"a table that was learned for {check.rule.share:.1%} of the budget"
        if check in self.constants:
            return "drawing once a person"
        return "change of coordinates" if check in self.kept else "rejection"


def listed(rules: Sequence[str]) -> str:
    several = "the rules " if len(rules) > 1 else "the rule "
    more = f" and {len(rules) - NAMED} more" if len(rules) > NAMED else ""
    return several + "; ".join(map(repr, rules[:NAMED])) + more


class _Finder:
    """Finds the changes of coordinates for a schema with rules."""

    def __init__(self, schema: Schema, keep: frozenset[str]) -> None:
        self.schema, self.keep = schema, keep
        self.checks = checks_of(schema)
        self.names = list(schema.names)
        #: The rule that derives a column, and what it is derived from.
        self.by: dict[str, Check] = {}
        self.needs: dict[str, tuple[str, ...]] = {}
        self.changes: list[Change] = []
        self.kept: list[Check] = []

    def found(self) -> Coordinates:
        self._check_domains()
        for check in self.checks:
            if isinstance(check, ComputedCheck | FunctionCheck):
                self._derive(check)
        self._check_cycles()
        for check in self.checks:
            if isinstance(check, OrderCheck):
                self._chain(check)
        self._tell()
        self._join()
        made = {change.derived[0]: change.made for change in self.changes}
        derived = {name for change in self.changes for name in change.derived}
        columns = [c for own in self.schema for c in made.get(own.name, ())]
        columns += [c for c in self.schema if c.name not in derived]
        place = {c.name: i for i, own in enumerate(self.schema) for c in made.get(own.name, (own,))}
        columns.sort(key=lambda column: place[column.name])
        constants = constants_of(self.schema)
        check_derived(constants, self.changes)
        size = rows_each(self.schema, self.names)
        columns += [] if size is None else [size]
        modelled = replace(
            self.schema,
            columns=tuple(replace(c, per=None) if c.per else c for c in columns),
            rules=(),
            left_out=(),
            on_broken="refuse",
        )
        changes = self._sorted()
        return Coordinates(self.schema, modelled, self.checks, changes, self.kept, constants, size)

    def _check_domains(self) -> None:
        """Refuse a rule that no row of the declared domains can keep."""
        ranges = ranges_of(self.schema)
        for check in self.checks:
            if not check.possible(ranges):
                raise check.rule.error("no row of the declared domains can keep it")

    def _derive(self, check: ComputedCheck | FunctionCheck) -> None:
        name = check.rule.column
        if name in self.keep:
            raise check.rule.error(
                f"target ({name!r}) must be modelled, and the rule derives it from other columns"
            )
        if name in self.by:
            raise check.rule.error(
                f"column {name!r} is derived by {str(self.by[name].rule)!r}, too"
            )
        self._add(Derived(check), check)

    def _add(self, change: Change, check: Check) -> None:
        self.changes.append(change)
        self.kept.append(check)
        self.names += [column.name for column in change.made]
        for name in change.derived:
            self.by[name], self.needs[name] = check, change.needs

    def _ancestors(self, name: str) -> set[str]:
        """Everything that a column is derived from, at any remove."""
        found: set[str] = set()
        ahead = [name]
        while ahead:
            new = [n for one in ahead for n in self.needs.get(one, ()) if n not in found]
            found.update(new)
            ahead = new
        return found

    def _check_cycles(self) -> None:
        round_about = [name for name in self.by if name in self._ancestors(name)]
        if round_about:
            rules = list(dict.fromkeys(str(self.by[name].rule) for name in round_about))
            raise SchemaError(f"columns derive each other in a cycle by {listed(rules)}")

    def _chain(self, check: OrderCheck) -> None:
        """An order as a base and differences, as far as no other rule derives its columns.

        The base has the narrowest bounds: what is drawn for the others then seldom leaves theirs.
        """
        best: tuple[tuple[int, int, float, int], str, list[str]] | None = None
        for i, base in enumerate(check.rule.columns):
            before = self._ancestors(base)
            free = [
                name
                for name in check.rule.columns
                if name != base and name not in self.by and name not in self.keep
            ]
            free = [name for name in free if name not in before]
            domain = check.columns[base].domain
            low, high = domain.amounts(np.array(domain.number_range))
            merit = (len(free), int(not check.columns[base].missing), low - high, -i)
            if free and (best is None or merit > best[0]):
                best = merit, base, free
        if best is not None:
            _, base, free = best
            change = Chain(check, [base, *free], base, self.names)
            self._add(change, check)
            if len(free) < len(check.rule.columns) - 1:
                self.kept.remove(check)

    def _tell(self) -> None:
        """Columns of two values that say no more than whether another one is missing."""
        states: dict[tuple[str, str], dict[float, tuple[str, Check]]] = {}
        for check in self.checks:
            if isinstance(check, ImpliesCheck) and len(check.when) == len(check.then) == 1:
                ((name, wanted),), ((other, test),) = check.when, check.then
                if test.state and not wanted.state and not wanted.interval:
                    told = states.setdefault((name, other), {})
                    told |= {float(number): (test.state, check) for number in wanted.numbers}
        for (name, other), told in states.items():
            column = self.schema[name]
            free = name not in self.by and name not in self.keep and not column.missing
            free = free and column.is_listed and name not in self._ancestors(other)
            found = {state: number for number, (state, _) in told.items()}
            if free and len(found) == len(told) == len(column.domain.categories) == 2:
                checks = list(dict.fromkeys(check for _, check in told.values()))
                self._add(Told(name, other, found["present"], found["missing"]), checks[0])
                self.kept += checks[1:]

    # -- joint columns -----------------------------------------------------------------

    def _join(self) -> None:
        """Listed columns of rules that leave few combinations, as one column each."""
        groups: list[tuple[list[str], list[tuple[float, ...]], list[Check]]] = []
        for check in self.checks:
            if not isinstance(check, OneHotCheck | AllowedCheck | ImpliesCheck):
                continue
            names = check.rule.names
            hot = isinstance(check, OneHotCheck)
            if any(
                name in self.by or name in self.keep or not (self.schema[name].is_listed or hot)
                for name in names
            ):
                continue
            touched = [group for group in groups if set(group[0]) & set(names)]
            most = MOST_IMPLIED if isinstance(check, ImpliesCheck) else MOST_JOINT
            joined = self._joined(check, touched)
            if joined is not None and len(joined[1]) == 0:
                raise check.rule.error("no combination of the declared values can keep it")
            if joined is not None and (hot or len(joined[1]) <= most):
                groups = [group for group in groups if group not in touched] + [joined]
        for columns, rows, checks in groups:
            change = Joint([self.schema[n] for n in columns], rows, self.names)
            self._add(change, checks[0])
            self.kept += checks[1:]

    def _joined(
        self,
        check: Check,
        touched: Sequence[tuple[list[str], list[tuple[float, ...]], list[Check]]],
    ) -> tuple[list[str], list[tuple[float, ...]], list[Check]] | None:
        """The combinations of a rule's columns and of joint columns that it touches, or None."""
        parts = [(group[0], group[1]) for group in touched]
        known = {name for names, _ in parts for name in names}
        if isinstance(check, OneHotCheck) and not touched:
            parts = [(list(check.rule.names), check.combinations)]
        else:
            parts += [([n], _values(self.schema[n])) for n in check.rule.names if n not in known]
        if math.prod(len(combinations) for _, combinations in parts) > MOST_TRIED:
            return None
        names = [name for own, _ in parts for name in own]
        rows = [sum(row, ()) for row in product(*(combinations for _, combinations in parts))]
        values = dict(zip(names, np.array(rows).reshape(len(rows), len(names)).T, strict=True))
        good = ~check.broken(values)
        kept = [row for row, keeps in zip(rows, good, strict=True) if keeps]
        return names, kept, [*(c for group in touched for c in group[2]), check]

    def _sorted(self) -> list[Change]:
        """Changes in an order in which each finds what it needs."""
        derived = {name for change in self.changes for name in change.derived}
        known = set(self.schema.names) - derived
        ahead, found = list(self.changes), []
        while ahead:
            ready = [change for change in ahead if set(change.needs) <= known]
            if not ready:
                raise SchemaError(f"columns derive each other: {', '.join(ahead[0].derived)}")
            found += ready
            known |= {name for change in ready for name in change.derived}
            ahead = [change for change in ahead if change not in ready]
        return found


def ranges_of(schema: Schema) -> dict[str, tuple[float, float]]:
    """Bounds of the columns that are never missing, as numbers."""
    return {c.name: c.domain.number_range for c in schema if not (c.missing or c.open)}


def _values(column: Column) -> list[tuple[float, ...]]:
    """The numbers of a column of few values, a missing one first."""
    low, high = column.domain.number_range
    known = [float(i) for i in range(int(low), int(high) + 1)]
    return [(number,) for number in ([MISSING, *known] if column.missing else known)]
