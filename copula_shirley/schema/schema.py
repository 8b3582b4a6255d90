"""The public description of a table: names, kinds and domains of its columns.

A schema is *public*: it must be written from documentation, not from the rows.
``Schema.draft`` writes a first version from a table for a curator to review;
each of its entries is marked ``provenance: drafted`` and the mark travels to
the privacy ledger, because a bound read off the data is a fact about the data.
Columns that look like identifiers are left out (``copula_shirley.schema.identifiers``).
"""

from __future__ import annotations

import dataclasses
import datetime as dt
import hashlib
import json
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
import yaml
from yaml.composer import Composer
from yaml.constructor import SafeConstructor
from yaml.parser import Parser
from yaml.reader import Reader
from yaml.resolver import Resolver
from yaml.scanner import Scanner

from copula_shirley.errors import SchemaError
from copula_shirley.files.atomic import read_text
from copula_shirley.files.texts import odd_character
from copula_shirley.schema import domain, identifiers
from copula_shirley.schema.values import bound_of, number_of
from copula_shirley.schema.values import shown as _shown

KINDS = ("categorical", "boolean", "integer", "continuous", "datetime")
PROVENANCES = ("declared", "drafted", "private")
FORMAT = 1
#: Letters of a schema or grid: a column of 100,000 categories has some 2 MB.
LARGEST_YAML = 2**24
#: Values of one YAML text, what an alias stands for counted each time; Python needs 100 bytes each.
MOST_NODES = 2_000_000
#: Whole numbers of YAML; larger ones cannot be printed nor become floats.
LARGEST_NUMBER = 2**1000
#: Letters of a number of YAML. Those of base 60 (1:00:00) take time by the square of their number.
LONGEST_NUMBER = 1_000
#: Integers beyond this are not exact as floats, in which the pipeline computes.
LARGEST_EXACT_INTEGER = 2**53

#: Columns of a table: a vine has a pair copula for each two of them.
MOST_COLUMNS = 10_000

NUMBER_TAGS = ("tag:yaml.org,2002:int", "tag:yaml.org,2002:float")
#: Rows of one person; noise for more would drown every table.
MOST_ROWS_EACH = 10**6
#: Letters of the name of a column: a longer one would push a label off the screen.
LONGEST_NAME = 200
#: Letters of a ``source`` or of the reason why a column is left out.
LONGEST_REMARK = 200
#: Hexadecimal digits of the digest of drafted values: it tells a draft from another, no secret.
DRAFT_DIGITS = 16
#: What a draft calls the category of all values that it does not list.
OTHER = "other"

OnUnknown = Literal["refuse", "clip"]


@dataclass(frozen=True)
class Column:
    """One column: its kind and its public domain.

    Parameters
    ----------
    name : str
    kind : {"categorical", "boolean", "integer", "continuous", "datetime"}
    categories : tuple
        The closed list of a categorical column.
    ordered : bool
        The list's order means something (it is then kept by every encoder).
    other : object
        The category that takes unknown ones when ``on_unknown="clip"``.
    minimum, maximum : number or datetime
        Bounds, both inclusive.
    resolution : float or str
        Continuous: draws are rounded to it. Datetime: a pandas offset such as
        ``"1D"`` or ``"1s"``, the grid on which the values lie.
    cells : int
        Number of equal-width histogram cells over the domain.
    special : tuple
        Values with a cell of their own, such as 0 dollars.
    format : str
        Of dates that are stored as text, such as ``"%Y-%m-%d"``; ISO 8601 without one.
    missing : bool
        Values may be missing.
    provenance : {"declared", "drafted", "private"}
        Where kind and domain came from: documentation; the data; or, with "private", the kind
        from documentation and bounds and categories from noisy counts that are paid for
        (``PrivateVine(domain="measured")``). Before they are bought such a column may be *open*:
        without categories, or without minimum and maximum.
    source : str, optional
        Where a declared domain is known from, such as ``"codebook 2019, p. 4"``.
    draft : str, optional
        The digest of drafted values. It is set for drafted columns, and kept with declared ones
        only while these hold the same values; then they must have a ``source``.

    Examples
    --------
    >>> Column("age", "integer", minimum=17, maximum=90).size
    74
    """

    name: str
    kind: str
    categories: tuple[Any, ...] = ()
    ordered: bool = False
    other: Any = None
    minimum: Any = None
    maximum: Any = None
    resolution: float | str | None = None
    cells: int | None = None
    special: tuple[Any, ...] = ()
    format: str | None = None
    missing: bool = False
    provenance: str = "declared"
    source: str | None = None
    draft: str | None = None

    def __post_init__(self) -> None:
        for field in ("categories", "special"):
            value = getattr(self, field)
            if isinstance(value, str) or not isinstance(value, Iterable):
                raise self._error(field, value, "must be a list")
            object.__setattr__(self, field, tuple(_plain_number(v) for v in value))
        if not isinstance(self.name, str) or not self.name:
            raise SchemaError(f"column name ({_shown(self.name)}) must be a non-empty text")
        check_name("column name", self.name)
        self._check_texts()
        if not isinstance(self.kind, str) or self.kind not in KINDS:
            raise self._error("kind", self.kind, f"must be one of {', '.join(KINDS)}")
        if self.provenance not in PROVENANCES:
            rule = f"must be one of {', '.join(PROVENANCES)}"
            raise self._error("provenance", self.provenance, rule)
        for field in ("ordered", "missing"):
            if not isinstance(getattr(self, field), bool):
                raise self._error(field, getattr(self, field), "must be true or false")
        self._check_only_known_fields()
        checks = {
            "categorical": self._check_categories,
            "boolean": lambda: None,
            "datetime": self._check_datetime,
        }
        (self._check_open if self.open else checks.get(self.kind, self._check_numeric))()
        _check_remark(f"column {_shown(self.name)}: source", self.source)
        self._check_draft()

    def _check_draft(self) -> None:
        """Refuse a draft that nobody reviewed but for its mark; forget the digest of another.

        A digest of private bounds would tell them to whoever tries some. So it is kept only where
        it follows from the values that stand here anyway.
        """
        own = self._values_digest()
        known = self.provenance == "drafted" or (
            self.provenance == "declared" and self.draft == own
        )
        object.__setattr__(self, "draft", own if known else None)
        if self.draft and self.provenance == "declared" and self.source is None:
            raise SchemaError(
                f"column {_shown(self.name)}: provenance (declared) does not fit: its values are "
                "exactly those that a draft read off the rows. State where they are known from "
                "(source: codebook 2019, p. 4), replace or widen them, or leave provenance: drafted"
            )

    def _values_digest(self) -> str:
        """The digest of what a draft reads off the rows: bounds and lists, else whether gaps."""
        values = [
            sorted(repr(c) for c in self.categories if c != self.other),
            [
                float(v) if _is_number(v) else str(v)
                for v in (self.minimum, self.maximum, *sorted(self.special))
            ],
            self.missing if self.kind == "boolean" else None,
        ]
        return hashlib.sha256(json.dumps(values).encode()).hexdigest()[:DRAFT_DIGITS]

    def _error(self, field: str, value: Any, rule: str) -> SchemaError:
        return SchemaError(f"column {_shown(self.name)}: {field} ({_shown(value)}) {rule}")

    def _check_texts(self) -> None:
        """Refuse values that would steer the terminal on which they are shown."""
        for field in ("categories", "other", "format", "resolution"):
            value = getattr(self, field)
            for text in value if isinstance(value, tuple) else (value,):
                odd = odd_character(text, spaces=True) if isinstance(text, str) else None
                if odd:
                    raise SchemaError(
                        f"column {self.name!r}: {field} ({text!a:.120}) must hold no control "
                        f"character but tabs and line ends, not {odd}"
                    )

    def _check_only_known_fields(self) -> None:
        allowed = {
            "categorical": {"categories", "ordered", "other"},
            "boolean": set(),
            "integer": {"minimum", "maximum", "cells", "special"},
            "continuous": {"minimum", "maximum", "resolution", "cells", "special"},
            "datetime": {"minimum", "maximum", "resolution", "cells", "format"},
        }[self.kind]
        for field in dataclasses.fields(self):
            if field.name in {"name", "kind", "missing", *REMARKS} | allowed:
                continue
            value = getattr(self, field.name)
            if value is not field.default and value != field.default:
                raise self._error(field.name, value, f"does not apply to kind {self.kind}")

    @property
    def open(self) -> bool:
        """Whether bounds or categories are still to be bought."""
        if self.provenance == "declared":
            return False
        if self.kind == "categorical":
            return not self.categories
        return self.kind != "boolean" and self.minimum is None and self.maximum is None

    def _check_open(self) -> None:
        for field in ("ordered", "other", "resolution", "cells", "special"):
            if getattr(self, field) not in (None, False, ()):
                rule = "must be left out where bounds and categories are"
                raise self._error(field, getattr(self, field), rule)

    def _check_categories(self) -> None:
        if not self.categories:
            raise self._error("categories", [], "must list at least one category")
        for category in self.categories:
            if not isinstance(category, str | int | float | bool):
                raise self._error(
                    "categories", category, "must hold texts or numbers only (quote dates)"
                )
            if isinstance(category, float) and not math.isfinite(category):
                raise self._error("categories", category, "is not a category: use missing: true")
        if len(set(self.categories)) != len(self.categories):
            twice = next(c for c in self.categories if self.categories.count(c) > 1)
            raise self._error("categories", twice, "is listed twice")
        if self.other is not None and self.other not in self.categories:
            raise self._error("other", self.other, "must be one of the categories")

    def _check_numeric(self) -> None:
        for field in ("minimum", "maximum"):
            value = getattr(self, field)
            if not _is_number(value):
                raise self._error(field, value, "must be a finite number")
            if self.kind == "integer" and value != int(value):
                raise self._error(field, value, "must be a whole number")
            if abs(value) > LARGEST_EXACT_INTEGER:
                raise self._error(field, value, "must lie within 2**53 of zero")
            if self.kind == "integer":
                object.__setattr__(self, field, int(value))
        if self.minimum > self.maximum:
            raise self._error("minimum", self.minimum, f"must not exceed maximum ({self.maximum})")
        if self.resolution is not None and not (
            _is_number(self.resolution) and float(self.resolution) > 0
        ):
            raise self._error("resolution", self.resolution, "must be a positive number")
        for value in self.special:
            if not _is_number(value) or not self.minimum <= value <= self.maximum:
                raise self._error("special", value, "must lie between minimum and maximum")
            if self.kind == "integer" and value != int(value):
                raise self._error("special", value, "must be a whole number")
        self._check_cells()

    def _check_datetime(self) -> None:
        if self.format is not None and "%" not in str(self.format):
            raise self._error("format", self.format, "must be such as %d.%m.%Y")
        for field in ("minimum", "maximum"):
            value = getattr(self, field)
            stamp = pd.Timestamp(bound_of(value, self.format))
            if pd.isna(stamp):
                how = f" or as in {self.format}" if self.format else ""
                raise self._error(field, value, f"must be a date or a time such as 2022-02-05{how}")
            object.__setattr__(self, field, stamp)
        if self.minimum > self.maximum:
            raise self._error(
                "minimum", str(self.minimum), f"must not exceed maximum ({self.maximum})"
            )
        if isinstance(self.resolution, dt.timedelta):
            object.__setattr__(self, "resolution", str(pd.Timedelta(self.resolution)))
        if not isinstance(self.resolution, str | None):
            raise self._error("resolution", self.resolution, 'must be a duration such as "1D"')
        try:
            step = pd.Timedelta("1s" if self.resolution is None else self.resolution)
        except (ValueError, TypeError):
            step = pd.Timedelta(0)
        if step < pd.Timedelta("1us"):
            raise self._error("resolution", self.resolution, 'must be a duration such as "1D"')
        self._check_cells()

    def _check_cells(self) -> None:
        if self.cells is not None and not (
            isinstance(self.cells, int) and not isinstance(self.cells, bool) and self.cells > 0
        ):
            raise self._error("cells", self.cells, "must be a positive whole number")

    @property
    def nominal(self) -> bool:
        """Whether the values have no order of their own and need an encoder."""
        return self.kind == "categorical" and not self.ordered

    @property
    def size(self) -> int:
        """Number of cells of the domain, the one for missing values included."""
        return domain.cells(self).size

    def to_dict(self) -> dict[str, Any]:
        """Every field that differs from its default, without the name."""
        entry: dict[str, Any] = {"kind": self.kind}
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            if field.name in ("name", "kind", *REMARKS) or value == field.default:
                continue
            if isinstance(value, tuple):
                value = [_plain(v) for v in value]
            entry[field.name] = _plain(value)
        remarks = {field: getattr(self, field) for field in REMARKS}
        return {**entry, **{k: v for k, v in remarks.items() if v is not None}}

    @classmethod
    def from_dict(cls, name: str, entry: Any) -> Column:
        """The column that ``to_dict`` wrote."""
        if not isinstance(entry, Mapping):
            raise SchemaError(f"column {name!r}: its entry ({_shown(entry)}) must be a mapping")
        known = {field.name for field in dataclasses.fields(cls)} - {"name"}
        unknown = [key for key in entry if key not in known]
        if unknown:
            raise SchemaError(
                f"column {name!r}: unknown field ({_shown(unknown[0])}); "
                f"known are {', '.join(sorted(known))}"
            )
        if "kind" not in entry:
            raise SchemaError(f"column {name!r}: kind is missing; one of {', '.join(KINDS)}")
        return cls(name=name, **{str(k): v for k, v in entry.items() if v is not None})


#: Fields of every column, about where its domain came from.
REMARKS = ("provenance", "source", "draft")


@dataclass(frozen=True)
class LeftOut:
    """A column of the table that no model learns from, such as names.

    Parameters
    ----------
    name : str
    reason : str, optional
        For people; it is public, like the name.
    replace : {"drop", "id"}
        The synthetic table lacks the column, or has consecutive numbers 1, 2, ... in its place.
    provenance : {"declared", "drafted"}
        Who decided that it is left out: the curator, or a draft that looked at the rows.
    """

    name: str
    reason: str | None = None
    replace: str = "drop"
    provenance: str = "declared"

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name or not _is_text(self.name):
            raise SchemaError(f"left_out: column name ({_shown(self.name)}) must be a text")
        _check_remark(f"left_out: column {_shown(self.name)}: reason", self.reason)
        if self.replace not in ("drop", "id"):
            raise SchemaError(
                f"left_out: column {_shown(self.name)}: replace ({_shown(self.replace)}) must be "
                "drop or id"
            )
        if self.provenance not in ("declared", "drafted"):
            raise SchemaError(
                f"left_out: column {_shown(self.name)}: provenance ({_shown(self.provenance)}) "
                "must be declared or drafted"
            )


@dataclass(frozen=True)
class Schema:
    """The public description of a whole table.

    Parameters
    ----------
    columns : tuple of Column
        In the table's order, without the person column.
    person : str, optional
        The column that says whose row it is. It is never synthesised.
    max_rows : int
        The largest number of rows that one person may have.
    person_provenance : {"declared", "drafted"}
        Where ``max_rows`` came from.
    left_out : tuple of LeftOut
        Columns that the table may have and no model learns from.
    person_source : str, optional
        Where a declared ``max_rows`` is known from.
    person_draft : int, optional
        The drafted ``max_rows``, as ``Column.draft``.

    Examples
    --------
    >>> schema = Schema((Column("age", "integer", minimum=0, maximum=120),))
    >>> schema.names
    ('age',)
    >>> Schema.from_yaml(schema.to_yaml()) == schema
    True
    """

    columns: tuple[Column, ...]
    person: str | None = None
    max_rows: int = 1
    person_provenance: str = "declared"
    left_out: tuple[LeftOut, ...] = ()
    person_source: str | None = None
    person_draft: int | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", tuple(self.columns))
        object.__setattr__(self, "left_out", tuple(self.left_out))
        if not self.columns:
            raise SchemaError("columns ([]) must describe at least one column")
        names = self.names
        if len(set(names)) != len(names):
            twice = next(n for n in names if names.count(n) > 1)
            raise SchemaError(f"column {twice!r} is described twice")
        if self.person is not None:
            check_name("person column", self.person)
        if len(names) > MOST_COLUMNS:
            raise SchemaError(f"columns ({len(names):,}) must be at most {MOST_COLUMNS:,}")
        self._check_cells()
        if self.person in names:
            raise SchemaError(
                f"person column ({self.person!r}) must not be described among the columns"
            )
        outside = [left.name for left in self.left_out]
        for name in outside:
            if name in names or name == self.person or outside.count(name) > 1:
                raise SchemaError(
                    f"left_out: column {name!r} must be named once in the schema: among the "
                    "columns, as the person column, or here"
                )
        if type(self.max_rows) is not int or not 1 <= self.max_rows <= MOST_ROWS_EACH:
            rule = f"must be a whole number from 1 to {MOST_ROWS_EACH:,}"
            raise SchemaError(f"max_rows ({_shown(self.max_rows)}) {rule}")
        if self.person_provenance not in ("declared", "drafted"):
            raise SchemaError(
                f"person provenance ({self.person_provenance!r}) must be declared or drafted"
            )
        _check_remark("person: source", self.person_source)
        self._check_person_draft()

    def _check_person_draft(self) -> None:
        drafted = self.person is not None and self.person_provenance == "drafted"
        known = drafted or self.person_draft == self.max_rows
        object.__setattr__(self, "person_draft", self.max_rows if known else None)
        if known and not drafted and self.person_source is None:
            raise SchemaError(
                f"person column {_shown(self.person)}: provenance (declared) does not fit: "
                "max_rows is exactly what a draft counted in the rows. State where it is known "
                "from (source: ...), declare a larger one, or leave provenance: drafted"
            )

    def _check_cells(self) -> None:
        """Refuse more cells than a model can hold, before any of them is made."""
        sizes = {column.name: domain.most_cells(column) for column in self.columns}
        total, widest = sum(sizes.values()), max(sizes, key=lambda name: sizes[name])
        if total > domain.LARGEST_DOMAIN:
            raise SchemaError(
                f"cells of all columns together ({total:,}) must be at most "
                f"{domain.LARGEST_DOMAIN:,}; column {widest!r} alone has {sizes[widest]:,}: give "
                "it fewer cells or categories"
            )

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns that are synthesised, in order."""
        return tuple(column.name for column in self.columns)

    @property
    def drafted(self) -> tuple[str, ...]:
        """Names of the columns whose domain was read from the data."""
        return tuple(c.name for c in self.columns if c.provenance == "drafted")

    def __getitem__(self, name: str) -> Column:
        for column in self.columns:
            if column.name == name:
                return column
        raise SchemaError(f"column {name!r} is not in the schema; it has {', '.join(self.names)}")

    def __iter__(self) -> Iterator[Column]:
        return iter(self.columns)

    def __len__(self) -> int:
        return len(self.columns)

    # -- tables -----------------------------------------------------------------

    def validate(
        self, table: pd.DataFrame, *, on_unknown: OnUnknown = "refuse", show_values: bool = False
    ) -> pd.DataFrame:
        """Return the table if it fits, else raise one error; never repairs.

        ``on_unknown="clip"`` maps what is outside the domain to the nearest
        bound or to the declared ``other`` category, and keeps the first
        ``max_rows`` rows of each person. Each rule depends on the row (or the
        person) alone, so neighbouring tables stay neighbours.

        Messages name the column and what is allowed; they quote values only
        with ``show_values``, since a value is private.
        """
        if on_unknown not in ("refuse", "clip"):
            raise SchemaError(f"on_unknown ({on_unknown!r}) must be refuse or clip")
        self.check_columns(table)
        table = self.bound_people(table, on_unknown)
        return self.fitting(table, self.names, on_unknown, show_values)

    def fitting(
        self,
        table: pd.DataFrame,
        names: Iterable[str],
        on_unknown: OnUnknown,
        show_values: bool = False,
    ) -> pd.DataFrame:
        """The table if the values of the columns of these names fit, clipped where asked.

        Values that a draft did not list count as its ``other`` category in any case: its list is
        known to lack some (see ``draft``).
        """
        clipped: dict[str, pd.Series] = {}
        for name in names:
            column, series, failed = self[name], table[name], ""
            clips = on_unknown == "clip" or (column.provenance == "drafted" and column.other)
            try:
                found = domain.clip(column, series) if clips else series
                domain.check(column, found, show_values)
                if found is not series:
                    clipped[name] = found
            except SchemaError:
                raise
            except Exception as error:  # of pandas or Arrow; its text may quote a value
                failed = type(error).__name__
            if failed:  # outside of the handler, so that no context carries the value
                raise SchemaError(f"column {name!r}: its values cannot be read ({failed})")
        if not clipped:
            return table
        return pd.DataFrame({name: clipped.get(name, table[name]) for name in table.columns})

    def clipped(self, table: pd.DataFrame, names: Iterable[str]) -> pd.DataFrame:
        """The table with values off the domain at the nearest bound, or ``other``."""
        return table.assign(**{n: domain.clip(self[n], table[n]) for n in names if n in table})

    def check_columns(self, table: pd.DataFrame) -> None:
        """Refuse what is no table with just the columns of the schema."""
        check_table(table)
        wanted = [*self.names, *([self.person] if self.person else [])]
        absent = [name for name in wanted if name not in table.columns]
        if absent:
            role = "person column" if absent[0] == self.person else "column"
            raise SchemaError(f"{role} {absent[0]!r} is in the schema but not in the table")
        unused = {left.name for left in self.left_out}
        extra = [name for name in table.columns if name not in wanted and name not in unused]
        if extra:
            raise SchemaError(
                f"column {extra[0]!r} is in the table but not in the schema; "
                "describe it there, name it under left_out, or drop it"
            )
        if len(table) == 0:
            raise SchemaError("the table has no rows; at least one is needed")

    def without_left_out(self, table: pd.DataFrame) -> pd.DataFrame:
        """The table without the columns that no model learns from."""
        if not self.left_out:
            return table
        check_table(table)
        return table.drop(columns=[left.name for left in self.left_out], errors="ignore")

    def synthetic_names(self, table: pd.DataFrame) -> list[str]:
        """Names of the columns of a synthetic table, in the order of this one."""
        ids = self.ids
        kept = [str(name) for name in table.columns if name in (*self.names, *ids)]
        return [*kept, *(name for name in ids if name not in kept)]

    @property
    def ids(self) -> tuple[str, ...]:
        """Names of the left-out columns that are replaced by consecutive numbers."""
        return tuple(left.name for left in self.left_out if left.replace == "id")

    def people(self, table: pd.DataFrame) -> np.ndarray[Any, Any]:
        """A number for the person of each row, or for each row where no person is named.

        Each name is looked at by itself: a text, or a whole number; 7, 7.0 and True are equal.
        """
        if self.person is None:
            return np.arange(len(table))
        known: dict[Any, int] = {}
        found = []
        for value in table[self.person]:
            number = math.nan if isinstance(value, str) else number_of(value)
            if not isinstance(value, str) and not number.is_integer():
                rule = "every row must name its person, by a text or a whole number"
                raise SchemaError(f"person column {self.person!r}: {rule}")
            if abs(number) >= LARGEST_EXACT_INTEGER:
                # as doubles, which one odd number makes of all, different people may be equal
                rule = "numbers of people must lie within 2**53 of zero; store them as texts"
                raise SchemaError(f"person column {self.person!r}: {rule}")
            key = value if isinstance(value, str) else int(number)
            found.append(known.setdefault(key, len(known)))
        return np.array(found, dtype=np.intp)

    def bound_people(self, table: pd.DataFrame, on_unknown: OnUnknown) -> pd.DataFrame:
        """The table with at most ``max_rows`` rows of each person, or one error."""
        if self.person is None:
            return table
        people = pd.Series(self.people(table))
        ranks = people.groupby(people).cumcount().to_numpy()
        if on_unknown == "clip":
            return table[ranks < self.max_rows]
        if (ranks >= self.max_rows).any():
            raise SchemaError(
                f"person column {self.person!r}: a person has more rows than "
                f"max_rows ({self.max_rows}); declare a larger one, or keep the first ones with "
                "on_unknown='clip' (--on-unknown clip)"
            )
        return table

    @classmethod
    def draft(
        cls, table: pd.DataFrame, *, person: str | None = None, max_rows: int | None = None
    ) -> Schema:
        """Describe a table by looking at it; every entry is marked ``drafted``.

        The result is a fact about the data. Review it and change ``drafted``
        to ``declared`` where the domain is public knowledge. Columns that look like identifiers
        are left out. Categories that fewer than ``identifiers.RARE`` rows (people, if their
        column is named) have are not listed: they are counted as ``other``.
        """
        check_table(table)
        if len(table) == 0:
            raise SchemaError("the table has no rows; a draft needs at least one")
        if person is not None and person not in table.columns:
            raise SchemaError(f"person column {person!r} is not in the table")
        whose = None if person is None else pd.Series(pd.factorize(table[person])[0])
        found = [draft_column(str(n), table[n], whose) for n in table.columns if n != person]
        columns = tuple(column for column in found if isinstance(column, Column))
        left = tuple(column for column in found if isinstance(column, LeftOut))
        if left and not columns:
            raise SchemaError(
                f"column {left[0].name!r} is left out ({left[0].reason}), and so is every other "
                "one: nothing is left to draft; describe in a schema by hand what is public"
            )
        if person is None or max_rows is not None:
            return cls(columns, person, 1 if max_rows is None else max_rows, left_out=left)
        most = table[person].value_counts().max()
        return cls(columns, person, int(most), person_provenance="drafted", left_out=left)

    @classmethod
    def of_kinds(
        cls, kinds: Mapping[str, str], *, person: str | None = None, max_rows: int = 1
    ) -> Schema:
        """Describe a table by the kinds of its columns alone.

        Bounds, categories and whether values may be missing are bought by
        ``PrivateVine(domain="measured")``.

        Examples
        --------
        >>> Schema.of_kinds({"age": "integer", "job": "categorical"})["age"].open
        True
        """
        columns = (Column(name, kind, provenance="private") for name, kind in kinds.items())
        return cls(tuple(columns), person, max_rows)

    # -- YAML -------------------------------------------------------------------

    def to_dict(self) -> dict[str, Any]:
        """The schema as plain lists and mappings."""
        entry: dict[str, Any] = {"format": FORMAT}
        if self.person is not None:
            entry["person"] = {
                "column": self.person,
                "max_rows": self.max_rows,
                "provenance": self.person_provenance,
            }
            remarks = {"source": self.person_source, "draft": self.person_draft}
            entry["person"] |= {k: v for k, v in remarks.items() if v is not None}
        if self.left_out:
            entry["left_out"] = {
                left.name: {k: v for k, v in vars(left).items() if k != "name" and v is not None}
                for left in self.left_out
            }
        return {**entry, "columns": {column.name: column.to_dict() for column in self}}

    @classmethod
    def from_dict(cls, entry: Any) -> Schema:
        """The schema that ``to_dict`` wrote."""
        if not isinstance(entry, Mapping) or not isinstance(entry.get("columns"), Mapping):
            raise SchemaError("a schema must be a mapping with an entry 'columns'")
        unknown = set(entry) - {"format", "person", "left_out", "columns"}
        if unknown:
            raise SchemaError(f"unknown schema entry ({sorted(map(str, unknown))[0]!r})")
        if entry.get("format", FORMAT) != FORMAT:
            raise SchemaError(f"schema format ({_shown(entry['format'])}) must be {FORMAT}")
        columns = tuple(Column.from_dict(str(k), v) for k, v in entry["columns"].items())
        left = _left_out(entry.get("left_out"))
        person = entry.get("person")
        if person is None:
            return cls(columns, left_out=left)
        known = {"column", "max_rows", "provenance", "source", "draft"}
        if not isinstance(person, Mapping) or set(person) - known:
            raise SchemaError(
                f"person ({_shown(person)}) must have the entries column and max_rows"
            )
        if not isinstance(person.get("column"), str | int):
            raise SchemaError("person must name its column")
        provenance = str(person.get("provenance", "declared"))
        return cls(
            columns,
            str(person.get("column")),
            person.get("max_rows", 1),
            provenance,
            left,
            person.get("source"),
            person.get("draft"),
        )

    def to_yaml(self) -> str:
        """The schema as YAML; a drafted one starts with a note to its reviewer."""
        text = yaml.safe_dump(
            self.to_dict(),
            sort_keys=False,
            allow_unicode=True,
            default_flow_style=None,
            width=100,
        )
        return (DRAFT_NOTE if self.drafted else "") + text

    @classmethod
    def from_yaml(cls, text: str) -> Schema:
        """Read a schema from YAML text."""
        return cls.from_dict(load_yaml(text))

    @classmethod
    def read(cls, path: str | Path) -> Schema:
        """Read a schema from a YAML file."""
        return cls.from_yaml(read_text(path, LARGEST_YAML, SchemaError, "schema file"))


DRAFT_NOTE = f"""\
# DRAFT, read from the data: whoever reads it learns something about the rows. Keep it to yourself.
# Review every entry of 'columns' against public documentation:
# - Bounds and categories that you know: widen them to what could occur, then write
#   'provenance: declared' and where you know them from, such as 'source: codebook 2019, p. 4'.
#   Values that are still those of the 'draft' digest are refused as declared without a source.
# - Bounds and categories that you do not know: 'provenance: private' with only the kind:
#   PrivateVine with --domain measured buys the bounds and categories.
# - What stays 'drafted' is a fact about the rows: nothing is proved of a release that rests on it.
# Categories that fewer than {identifiers.RARE} rows have are not listed, since they may be those of
# one person; while the column is drafted they count as its 'other' category.
# Columns under 'left_out' look like identifiers: no model learns from them. For each of them
# choose 'replace: drop' (the synthetic table lacks it) or 'replace: id' (numbers 1, 2, 3, ...), and
# write 'provenance: declared' where you agree with the reason, which is published; or
# take it out of the list and make it 'person: {{column: ..., max_rows: ...}}', if it says whose row
# it is; or describe it in 'columns' with categories that you know from documentation.
"""


def _left_out(entry: Any) -> tuple[LeftOut, ...]:
    """The left-out columns of a schema file."""
    if entry is None:
        return ()
    fits = isinstance(entry, Mapping) and all(
        about is None
        or (isinstance(about, Mapping) and not set(about) - {"reason", "replace", "provenance"})
        for about in entry.values()
    )
    if not fits:
        raise SchemaError(
            f"left_out ({_shown(entry)}) must be a mapping of columns to reason, replace and "
            "provenance"
        )
    return tuple(
        LeftOut(str(name), **{k: v for k, v in (about or {}).items() if v is not None})
        for name, about in entry.items()
    )


def _check_remark(what: str, text: Any) -> None:
    """Refuse what is no short printable text."""
    if text is None:
        return
    if not isinstance(text, str) or not text.strip() or not text.isprintable():
        raise SchemaError(f"{what} ({_shown(text)}) must be a printable text")
    if len(text) > LONGEST_REMARK:
        raise SchemaError(f"{what} ({_shown(text)}) must have at most {LONGEST_REMARK} letters")


class _PlainEvents(Reader, Scanner, Parser):
    """The events of a YAML text, where PyYAML was built without libyaml."""

    def __init__(self, stream: str) -> None:
        Reader.__init__(self, stream)
        Scanner.__init__(self)
        Parser.__init__(self)


#: libyaml gives the events many times faster. On odd texts (a bare !, tabs) the two differ.
_Events: Any = yaml.cyaml.CParser if yaml.__with_libyaml__ else _PlainEvents  # type: ignore[attr-defined]


class _Loader(Composer, _Events, SafeConstructor, Resolver):
    """YAML in which a key twice is an error and only true/false are booleans."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        known = set()
        for key in [self.construct_object(key, deep=True) for key, _ in node.value]:
            if key in known:
                raise SchemaError(f"YAML key {_shown(key)} stands twice in one mapping")
            known.add(key)
        return super().construct_mapping(node, deep)

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        """Count what an alias stands for each time, so that a small text cannot say a lot."""
        alias = self.check_event(yaml.AliasEvent)
        before = self._said
        node = super().compose_node(parent, index)
        if alias:
            self._said += self._sizes.get(id(node), 1)
        else:
            self._said += 1
            self._sizes[id(node)] = self._said - before
        if node is not None and len(node.value) > LONGEST_NUMBER and node.tag in NUMBER_TAGS:
            raise SchemaError(f"YAML holds a number of more than {LONGEST_NUMBER:,} letters")
        if self._said > MOST_NODES:
            raise SchemaError(f"YAML says more than {MOST_NODES:,} values")
        return node

    def __init__(self, stream: str) -> None:
        _Events.__init__(self, stream)
        for part in (Composer, SafeConstructor, Resolver):
            part.__init__(self)
        self._said, self._sizes = 0, dict[int, int]()


# YAML 1.1 reads an unquoted NO or Yes as a boolean, which breaks category lists.
_Loader.yaml_implicit_resolvers = {
    first: [
        (tag, rule) for tag, rule in rules if not (tag.endswith(":bool") and first not in "tTfF")
    ]
    for first, rules in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


def load_yaml(text: str) -> Any:
    """Parse YAML text; every fault is one ``SchemaError``."""
    if len(text) > LARGEST_YAML:
        raise SchemaError(f"YAML must have at most {LARGEST_YAML:,} letters")
    try:
        value = yaml.load(text, Loader=_Loader)
        _check_values(value)
        return value
    except SchemaError:
        raise
    except Exception as error:  # besides its own errors PyYAML passes on a dozen of Python's
        # the error's own text quotes the file, which may be a table by mistake
        mark = getattr(error, "problem_mark", None)
        where = f" near line {mark.line + 1}" if mark else ""
        raise SchemaError(f"not readable as YAML{where}") from None


def _check_values(value: Any) -> None:
    """Refuse values of YAML that no file and no error message can hold."""
    waiting, seen = [value], set[int]()
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict | list | set | tuple):
            if id(value) not in seen:
                seen.add(id(value))
                waiting.extend(value)
                waiting.extend(value.values() if isinstance(value, dict) else ())
        elif isinstance(value, str) and not _is_text(value):
            raise SchemaError("YAML holds half of a character, which is no text")
        elif type(value) is int and abs(value) > LARGEST_NUMBER:
            raise SchemaError("YAML holds a whole number of more than 1,000 bits")


def _is_text(value: str) -> bool:
    """Whether a text can be written to a file: an escape may name half of a character."""
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def check_name(what: str, name: str) -> None:
    """Refuse a name that would steer a terminal, or break or turn around the line it stands in."""
    odd = odd_character(name)
    if odd:
        raise SchemaError(f"{what} ({name!a:.120}) must hold no control character, not {odd}")
    if len(name) > LONGEST_NAME:
        raise SchemaError(f"{what} ({name!a:.120}) must have at most {LONGEST_NAME} letters")


def check_table(table: Any) -> None:
    """Refuse what is no table, and duplicate and non-text column names."""
    if not isinstance(table, pd.DataFrame):
        raise SchemaError(f"table ({type(table).__name__}) must be a pandas DataFrame")
    repeated = table.columns[table.columns.duplicated()]
    if len(repeated):
        raise SchemaError(f"column {repeated[0]!r} stands twice in the table; names must differ")
    for name in table.columns:
        if not isinstance(name, str) or not name:
            raise SchemaError(f"column name ({name!r}) must be a non-empty text")
        check_name("column name", name)


def draft_column(name: str, series: pd.Series, whose: pd.Series | None = None) -> Column | LeftOut:
    """Describe one column by looking at it, or leave it out.

    With ``whose``, a number for the person of each row, people are counted instead of rows.
    """
    missing = bool(series.isna().any())
    known = series.dropna()
    if isinstance(known.dtype, pd.CategoricalDtype) and not _can_be_listed(known.dtype.categories):
        known = series = known.astype(known.dtype.categories.dtype)
    if len(known) and all(isinstance(v, dt.date) for v in known):
        known = pd.to_datetime(known)
    values = series.dtype.categories if isinstance(series.dtype, pd.CategoricalDtype) else known
    if any(isinstance(v, str) and odd_character(v, spaces=True) for v in values):
        why = "a value holds a control character, which a schema cannot list"
        return LeftOut(name, why, provenance="drafted")
    shared: dict[str, Any] = {"name": name, "missing": missing, "provenance": "drafted"}
    if known.empty:  # nothing to see: one placeholder of the column's dtype beside "missing"
        if pd.api.types.is_datetime64_any_dtype(known.dtype):
            return Column(kind="datetime", minimum="1970-01-01", maximum="1970-01-01", **shared)
        if pd.api.types.is_float_dtype(known.dtype):
            return Column(kind="integer", minimum=0, maximum=0, **shared)
        return Column(kind="categorical", categories=("unknown",), **shared)
    if pd.api.types.is_bool_dtype(known.dtype) or all(isinstance(v, bool) for v in known):
        return Column(kind="boolean", **shared)
    _check_storable(name, known)
    stored_format = domain.guess_format(known)
    if pd.api.types.is_datetime64_any_dtype(known.dtype) or stored_format:
        stamps = domain.stamps(known, stored_format)
        return Column(
            kind="datetime",
            minimum=stamps.min(),
            maximum=stamps.max(),
            resolution=domain.guess_step(stamps),
            format=stored_format,
            **shared,
        )
    if whose is not None:
        whose = whose[series.notna().to_numpy()]
        once = pd.DataFrame({"value": known.to_numpy(dtype=object), "whose": whose.to_numpy()})
        known = known[~once.duplicated().to_numpy()]
    reason = identifiers.why_left_out(name, known)
    if reason is not None:
        return LeftOut(name, reason, provenance="drafted")
    if pd.api.types.is_numeric_dtype(known.dtype):
        return _draft_number(known.to_numpy(dtype=float), shared)
    return _draft_list(known, shared)


def _check_storable(name: str, known: pd.Series) -> None:
    """Refuse lists and the like, which can be no category."""
    if pd.api.types.is_numeric_dtype(known.dtype):
        return
    storable = str | int | float | dt.date | np.generic
    kinds = {type(v).__name__ for v in known if not isinstance(v, storable)}
    if kinds:
        raise SchemaError(
            f"column {name!r}: holds values of type {min(kinds)}; store texts, numbers or dates"
        )


def _draft_list(known: pd.Series, shared: dict[str, Any]) -> Column:
    """The values that many rows have, and ``other`` if there are more."""
    dtype = known.dtype
    ordered = isinstance(dtype, pd.CategoricalDtype) and bool(dtype.ordered)
    if isinstance(dtype, pd.CategoricalDtype) and ordered and len(dtype.categories) <= FEW:
        levels = tuple(_plain(v) for v in dtype.categories)  # a scale, written down by somebody
        return Column(kind="categorical", categories=levels, ordered=True, **shared)
    listed = {_plain(v) for v in identifiers.listed(known)}
    if isinstance(dtype, pd.CategoricalDtype):
        values = [v for v in map(_plain, dtype.categories) if v in listed]
    else:
        values = sorted(listed, key=lambda v: (str(type(v)), v))
    other = None if known.isin(list(listed)).all() else OTHER
    if other is not None and other not in listed:
        values.append(other)
    return Column(kind="categorical", categories=tuple(values), other=other, **shared)


def draft_notes(table: pd.DataFrame, schema: Schema) -> list[str]:
    """What a curator should look at first in a drafted schema; no value is quoted."""
    notes = [f"column {left.name!r} is left out: {left.reason}" for left in schema.left_out]
    people = [
        left.name
        for left in schema.left_out
        if identifiers.names_people(left.reason or "")
        and 2 * FEW < table[left.name].nunique() < MOSTLY * table[left.name].count()
    ]
    if people and schema.person is None:
        notes.append(
            f"column {people[0]!r} looks like the same person in several rows: consider "
            f"--person {people[0]}, so that people are protected with all their rows"
            + (f" (or {', '.join(people[1:])})" if people[1:] else "")
        )
    for column in schema:
        if column.kind != "categorical":
            continue
        if column.other is not None:
            notes.append(
                f"column {column.name!r}: values that fewer than {identifiers.RARE} rows have are "
                f"not listed; they count as {column.other!r}"
            )
        known = table[column.name].dropna()
        texts = known.map(lambda value: isinstance(value, str))
        numeric = pd.to_numeric(known[texts], errors="coerce").notna()
        if MOSTLY < numeric.mean() < 1:
            notes.append(
                f"column {column.name!r}: nearly all values are numbers; if a text stands for "
                "missing ones, name it with --missing"
            )
    return notes


#: What counts as nearly all, and how long a scale may be that a draft copies.
MOSTLY, FEW = 0.8, 20


def _can_be_listed(values: Iterable[Any]) -> bool:
    return all(isinstance(v, str | int | float | np.generic) for v in values)


def _draft_number(values: np.ndarray, shared: dict[str, Any]) -> Column:
    low, high = float(values.min()), float(values.max())
    if not math.isfinite(low) or not math.isfinite(high):
        raise SchemaError(f"column {shared['name']!r}: holds infinite values; none may occur")
    if max(abs(low), abs(high)) > LARGEST_EXACT_INTEGER:
        raise SchemaError(
            f"column {shared['name']!r}: holds numbers beyond 2**53, which are not exact; drop it, "
            "make it the person column, or declare it categorical with texts in a schema"
        )
    if np.all(values == np.round(values)):
        return Column(kind="integer", minimum=int(low), maximum=int(high), **shared)
    resolution = next(
        (
            10.0**-k
            for k in range(1, 5)
            if np.allclose(values * 10**k, np.round(values * 10**k), 1e-12, 1e-6)
        ),
        None,
    )
    return Column(kind="continuous", minimum=low, maximum=high, resolution=resolution, **shared)


def _plain_number(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def _is_number(value: Any) -> bool:
    return (
        isinstance(value, int | float | np.integer | np.floating)
        and not isinstance(value, bool)
        and (isinstance(value, int) or math.isfinite(value))
    )


def _plain(value: Any) -> Any:
    """A numpy or pandas scalar as what YAML and JSON can hold."""
    if isinstance(value, dt.date | dt.datetime):
        stamp = pd.Timestamp(value)
        return str(stamp.date()) if stamp == stamp.normalize() else str(stamp)
    return value.item() if isinstance(value, np.generic) else value
