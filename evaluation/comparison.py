"""Training, test and synthetic rows side by side, as numbers of the public domain.

Numbers are those of ``copula_shirley.schema.domain``: categories are their place in the declared
list, dates their steps since the declared minimum, a missing value is ``-inf``. Synthetic rows may
hold what the schema does not allow, and are scored all the same: an unknown category is a category
of its own after the declared ones, a number out of bounds stays what it is, and such values fall
into cells that real rows never fill. Rows are put into an order that follows from their values, so
that theirs in the table never matters.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar, get_args

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from copula_shirley.errors import SchemaError, SettingError
from copula_shirley.evaluation.attacks.encoding import check_tables
from copula_shirley.fitted import RandomState, generator_of
from copula_shirley.schema.domain import FloatArray
from copula_shirley.schema.schema import Column, Schema, check_schema
from copula_shirley.settings import check_one_of, check_positive_whole

TASKS = ("binary", "multiclass", "regression")
#: How classifiers are trained: 100 trees of depth 6, or the 512 of depth 64 of the thesis.
Profile = Literal["light", "thesis"]
#: Numbers beyond are drawn in to it: their squares must stay finite.
FARTHEST = 2.0**60
T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows of one table: numbers per column, which leave the declared domain, whose they are."""

    numbers: dict[str, FloatArray]
    outside: dict[str, NDArray[np.bool_]]
    people: NDArray[np.str_] | None = None

    def __len__(self) -> int:
        return len(next(iter(self.numbers.values())))

    def take(self, which: NDArray[Any]) -> Rows:
        """Some of the rows."""
        numbers = {name: values[which] for name, values in self.numbers.items()}
        outside = {name: values[which] for name, values in self.outside.items()}
        return Rows(numbers, outside, None if self.people is None else self.people[which])

    @property
    def whose(self) -> FloatArray | None:
        """A number for the person of each row; None if nobody knows."""
        if self.people is None:
            return None
        return np.unique(self.people, return_inverse=True)[1].astype(float)

    @property
    def rows_per_person(self) -> float:
        """How many rows of the same person a row has with it, on average; 1 if nobody knows.

        A mean over the rows varies from sample to sample as that of so many times fewer
        independent ones does, at most: if a person's rows always stand or fall together.
        """
        if self.people is None:
            return 1.0
        rows = np.unique(self.people, return_counts=True)[1]
        return float((rows**2).sum() / rows.sum())


@dataclass(frozen=True, eq=False)
class Comparison:
    """What every metric gets to see.

    ``tasks`` maps ``binary``, ``multiclass`` and ``regression``, as far as named, to their target
    columns. Metrics draw from ``rng(name)``, each from a stream of its own.
    """

    schema: Schema
    train: Rows
    test: Rows
    synthetic: Rows
    tasks: dict[str, str] = field(default_factory=dict)
    quasi_identifiers: tuple[str, ...] = ()
    sensitive: tuple[str, ...] = ()
    profile: Profile = "light"
    threads: int = 1
    seed: int = 0
    _cache: dict[str, Any] = field(default_factory=dict, repr=False)

    @classmethod
    def of(
        cls,
        train: pd.DataFrame,
        test: pd.DataFrame,
        synthetic: pd.DataFrame,
        schema: Schema,
        tasks: Mapping[str, str] | None = None,
        random_state: RandomState = None,
        quasi_identifiers: Sequence[str] = (),
        sensitive: Sequence[str] = (),
        profile: Profile = "light",
        threads: int | None = None,
    ) -> Comparison:
        """Check everything at the door, before any time is spent."""
        check_schema(schema)
        tasks = check_tasks(tasks or {}, schema)
        for role, names in (("quasi_identifiers", quasi_identifiers), ("sensitive", sensitive)):
            _check_names(role, names, schema)
        for name in sensitive:
            if name in quasi_identifiers:
                raise SettingError(f"sensitive ({name!r}) must not be a quasi-identifier too")
        check_one_of("profile", profile, get_args(Profile))
        if threads is not None:
            check_positive_whole("threads", threads)
        targets = [name for name in dict.fromkeys(tasks.values()) if name not in quasi_identifiers]
        real = rows_of("train", train, schema), rows_of("test", test, schema)
        made = rows_of("synthetic", synthetic, schema, strict=False)
        known, secret = tuple(quasi_identifiers), tuple(sensitive or targets)
        seed = int(generator_of(random_state).integers(2**63))
        return cls(schema, *real, made, tasks, known, secret, profile, threads or 1, seed)

    @classmethod
    def of_two(cls, real: pd.DataFrame, synthetic: pd.DataFrame, schema: Schema) -> Comparison:
        """Real rows, which train and test, and synthetic ones: for a measure by itself."""
        rows = rows_of("real", real, schema)
        return cls(schema, rows, rows, rows_of("synthetic", synthetic, schema, strict=False))

    def rng(self, name: str) -> np.random.Generator:
        """Randomness for one metric: other metrics do not shift it."""
        return np.random.default_rng([self.seed, zlib.crc32(name.encode())])

    def once(self, name: str, compute: Callable[[Comparison], T]) -> T:
        """Compute what several metrics share, one time."""
        if name not in self._cache:
            self._cache[name] = compute(self)
        found: T = self._cache[name]
        return found

    @property
    def people(self) -> bool:
        """Whether rows are to be judged as those of people with several rows."""
        tables = (self.train, self.test, self.synthetic)
        return self.schema.per_person and all(table.people is not None for table in tables)

    @property
    def note_on_people(self) -> dict[str, str]:
        """The ``note`` on what is wrong with the people of the two real tables, for attacks."""
        if self.schema.person is None:
            return {}
        if self.train.people is None or self.test.people is None:
            name = self.schema.person
            return {"note": f"no column {name!r}: rows are taken for independent people"}
        both = len(np.intersect1d(self.train.people, self.test.people))
        note = f"{both} people are in train and test: the attack is blunted"
        return {"note": note} if both else {}

    def target(self, task: str) -> Column:
        """The column that a task predicts."""
        return self.schema[self.tasks[task]]


def rows_of(role: str, table: pd.DataFrame, schema: Schema, *, strict: bool = True) -> Rows:
    """A table as numbers; ``strict`` refuses what the schema does not allow.

    The person column is no part of a comparison, and synthetic tables need none; where real
    rows have it, it tells the intervals of the attacks which rows belong together.
    """
    table = check_tables({role: table})[role]
    for name in schema.names:
        if name not in table.columns:
            raise SchemaError(f"column {name!r} is in the schema but not in {role}")
    table = schema.without_left_out(table)
    for name in table.columns:
        if name not in (*schema.names, schema.person):
            raise SchemaError(f"column {name!r} is in {role} but not in the schema; drop it")
    table = schema.clipped(table, [c.name for c in schema if c.provenance == "drafted"])
    numbers, outside = {}, {}
    for column in schema:
        if strict:
            try:
                column.domain.check(table[column.name])
            except SchemaError as error:
                raise SchemaError(f"{role}: {error}") from None
        series, domain = table[column.name], column.domain
        if domain.unreadable(series).any():
            rule = f"must hold {domain.plural}; a value is none"
            raise SchemaError(f"{role}: column {column.name!r} {rule}")
        values, wrong = domain.to_numbers(series), domain.outside(series)
        if column.is_listed:
            values = np.where(wrong & ~series.isna().to_numpy(), len(domain.categories), values)
        else:
            values = np.where(np.isneginf(values), values, values.clip(-FARTHEST, FARTHEST))
        numbers[column.name], outside[column.name] = values, wrong
    people, whose = None, np.zeros(len(table), dtype=np.intp)
    if schema.person in table.columns:
        if strict and table[schema.person].isna().any():
            raise SchemaError(f"{role}: column {schema.person!r} must name the person of each row")
        people = table[schema.person].astype(str).to_numpy(dtype=np.str_)
        whose = np.unique(people, return_inverse=True)[1]
    rows = Rows(numbers, outside, people)
    return rows.take(np.lexsort([whose, *list(numbers.values())[::-1]]))


def declared_range(column: Column) -> float:
    """Width of a column's domain in its numbers; 1 if it has a single value."""
    low, high = column.domain.number_range
    return high - low or 1.0


def together(*tables: Rows) -> dict[str, FloatArray]:
    """The numbers of several tables, one after the other."""
    return {n: np.concatenate([t.numbers[n] for t in tables]) for n in tables[0].numbers}


def with_nan(numbers: FloatArray) -> FloatArray:
    """Missing values as NaN."""
    return np.where(np.isneginf(numbers), np.nan, numbers)


def check_tasks(tasks: Mapping[str, str], schema: Schema) -> dict[str, str]:
    """Tasks whose columns can be predicted so, or one error."""
    if not isinstance(tasks, Mapping):
        raise SettingError(f"tasks ({tasks!r}) must map {', '.join(TASKS)} to columns")
    for task, target in tasks.items():
        check_one_of("task", task, TASKS)
        _check_names(f"task {task!r}", (target,), schema)
        column, rule = schema[target], ""
        if task == "regression" and column.is_listed:
            rule = "must be a number or a date"
        elif task != "regression" and not (column.is_listed or column.is_whole):
            rule = "must be categories or whole numbers"
        elif task == "binary" and declared_range(column) > 1:
            rule = "must have two values; try multiclass"
        elif len(schema) < 2:
            rule = "needs another column to predict from"
        if rule:
            raise SettingError(f"task {task!r} ({target!r}) {rule}")
    return dict(tasks)


def _check_names(role: str, names: Sequence[str], schema: Schema) -> None:
    if isinstance(names, str):
        raise SettingError(f"{role} ({names!r}) must be a list of columns")
    for name in names:
        if name not in schema.names:
            known = ", ".join(schema.names)
            raise SettingError(f"{role} ({name!r}) must be a column of the schema: {known}")
