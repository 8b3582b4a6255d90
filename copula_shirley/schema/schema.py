"""The public description of a table: names, kinds and domains of its columns.

A schema is *public*: it must be written from documentation, not from the rows. ``Schema.draft``
writes a first version from a table for a curator to review; each of its entries is marked
``provenance: drafted`` and the mark travels to the privacy ledger, because a bound read off the
data is a fact about the data. Columns that look like identifiers are left out
(``copula_shirley.schema.identifiers``).
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd

from copula_shirley.errors import SchemaError, SettingError
from copula_shirley.files.atomic import atomic_paths, read_text
from copula_shirley.files.strict_yaml import LARGEST_YAML, load_yaml
from copula_shirley.files.texts import shown
from copula_shirley.schema import domain
from copula_shirley.schema.column import Column, check_name
from copula_shirley.schema.draft import DRAFT_NOTE, drafted
from copula_shirley.schema.file_format import PLAIN, FileFormat
from copula_shirley.schema.frames import as_frame
from copula_shirley.schema.json_schema import json_schema
from copula_shirley.schema.left_out import LeftOut, apart
from copula_shirley.schema.people import people_of
from copula_shirley.schema.places import line_of
from copula_shirley.schema.rule_entries import rules_from, with_tables
from copula_shirley.schema.rules import Rule, check_rules
from copula_shirley.schema.schema_files import as_yaml, folded, unfolded
from copula_shirley.schema.table_schema import to_table_schema
from copula_shirley.schema.table_schema_reading import from_descriptor
from copula_shirley.schema.values import check_remark

__all__ = ["Column", "LeftOut", "OnUnknown", "Schema", "admitted"]
FORMAT = 1
#: Of a schema file.
ENTRIES = ("format", "file", "person", "left_out", "columns", "rules", "on_broken")
#: Columns of a table: a vine has a pair copula for each two of them.
MOST_COLUMNS = 10_000
#: Rows of one person; noise for more would drown every table.
MOST_ROWS_EACH = 10**6

OnUnknown = Literal["refuse", "clip"]


@dataclass(frozen=True)
class Schema:
    """The public description of a whole table.

    ``columns`` stand in the table's order. ``person`` is the column that says whose row it is: it
    is never synthesised, and a person has at most ``max_rows`` rows. Where these are known from
    say ``person_provenance``, ``person_source`` and ``person_draft``, as in ``Column``. The table
    may have columns that are ``left_out``, from which no model learns. Every row keeps the
    ``rules`` (``copula_shirley.schema.rules``); one that does not is refused, repaired or dropped
    (``on_broken``).

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
    #: How the texts of files are read.
    file: FileFormat = PLAIN
    rules: tuple[Rule, ...] = ()
    on_broken: str = "refuse"

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", tuple(self.columns))
        object.__setattr__(self, "rules", tuple(self.rules))
        object.__setattr__(self, "left_out", tuple(self.left_out))
        if not self.columns:
            raise SchemaError("columns ([]) must describe at least one column")
        if len(self.columns) > MOST_COLUMNS:
            raise SchemaError(f"columns ({len(self.columns):,}) must be at most {MOST_COLUMNS:,}")
        if self.person is not None:
            check_name("person column", self.person)
        outside = [left.name for left in self.left_out]
        whose = [left.replace for left in self.left_out if left.name == self.person]
        for name, times in Counter((*self.names, *outside, self.person)).items():
            if name == self.person and times == 2 and whose not in ([], ["drop"]):
                continue  # what stands in its place names no person of the table
            if times > 1 and name in outside:
                raise SchemaError(
                    f"left_out: column {name!r} must be named once in the schema: among the "
                    "columns, as the person column, or here"
                )
            if times > 1 and name == self.person:
                rule = "must not be described among the columns"
                raise SchemaError(f"person column ({name!r}) {rule}")
            if times > 1:
                raise SchemaError(f"column {name!r} is described twice")
        self._check_cells()
        self._check_person()
        self._check_per_person()
        self._check_file()
        check_rules(self.rules, self.on_broken, self.names)

    def _check_per_person(self) -> None:
        """Refuse columns per person where no column says whose row it is, or made-up names do."""
        named = [*self.constants, *(left.name for left in self.left_out if left.per)]
        if named and self.person is None:
            raise SchemaError(
                f"column {named[0]!r}: per (person) needs a column that says whose row it is; name "
                "it, as in person: {column: patient, max_rows: 4}"
            )
        if named and self.replaced[str(self.person)].replace != "id":
            raise SchemaError(
                f"person column {self.person!r}: replace (fake) must be id, since column "
                f"{named[0]!r} is per: person and two people might get the same made-up name"
            )

    def _check_person(self) -> None:
        person, source = self.person, self.person_provenance
        if type(self.max_rows) is not int or not 1 <= self.max_rows <= MOST_ROWS_EACH:
            rule = f"must be a whole number from 1 to {MOST_ROWS_EACH:,}"
            raise SchemaError(f"max_rows ({shown(self.max_rows)}) {rule}")
        if source not in ("declared", "drafted"):
            raise SchemaError(f"person provenance ({source!r}) must be declared or drafted")
        check_remark("person: source", self.person_source)
        drafted = person is not None and source == "drafted"
        known = drafted or self.person_draft == self.max_rows
        object.__setattr__(self, "person_draft", self.max_rows if known else None)
        if known and not drafted and self.person_source is None:
            raise SchemaError(
                f"person column {shown(person)}: provenance (declared) does not fit: "
                "max_rows is exactly what a draft counted in the rows. State where it is known "
                "from (source: ...), declare a larger one, or leave provenance: drafted"
            )

    def _check_file(self) -> None:
        """Refuse categories that the file cannot hold, or that it calls missing."""
        for column in self.columns:
            for text in (c for c in column.categories if isinstance(c, str)):
                rule = "stands for a missing value" if text in self.file.missing else ""
                try:
                    text.encode(self.file.encoding)
                except UnicodeEncodeError:
                    rule = f"cannot be written in the encoding {self.file.encoding}"
                if rule:
                    raise SchemaError(
                        f"column {column.name!r}: category {shown(text)} {rule}, as 'file' says"
                    )

    def _check_cells(self) -> None:
        """Refuse more cells than a model can hold, before any of them is made."""
        sizes = {column.name: column.domain.most_cells() for column in self.columns}
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

    @property
    def unread(self) -> set[str]:
        """Names of the columns whose values nobody looks at."""
        return {left.name for left in self.left_out} - {self.person}

    @property
    def replaced(self) -> dict[str, LeftOut]:
        """The columns that no model learns and that a synthetic table has, by name.

        Where columns are the same in all rows of a person, one tells which rows are hers.
        """
        found = {left.name: left for left in self.left_out if left.replace != "drop"}
        if self.person is not None and self.per_person:
            found.setdefault(self.person, LeftOut(self.person, replace="id"))
        return found

    @property
    def constants(self) -> tuple[str, ...]:
        """Names of the columns that are the same in all rows of a person."""
        return tuple(column.name for column in self.columns if column.per)

    @property
    def once(self) -> set[str]:
        """Names of the replaced columns of which a person has one value."""
        one = {left.name for left in self.left_out if left.per}
        return one | {str(self.person)} if self.per_person else one

    @property
    def per_person(self) -> bool:
        """Whether synthetic rows are those of people with several rows."""
        return bool(self.constants) or any(left.per for left in self.left_out)

    @property
    def ids(self) -> tuple[str, ...]:
        """The former name of the columns that are ``replaced``."""
        warnings.warn("Schema.ids is now Schema.replaced", DeprecationWarning, stacklevel=2)
        return tuple(self.replaced)

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
        self,
        table: pd.DataFrame,
        *,
        on_unknown: OnUnknown = "refuse",
        show_values: bool = False,
        names: Iterable[str] | None = None,
    ) -> pd.DataFrame:
        """Return the table if it fits, else raise one error; never repairs.

        ``on_unknown="clip"`` maps what is outside the domain to the nearest bound or to the
        declared ``other`` category, and keeps the first ``max_rows`` rows of each person. Each rule
        depends on the row (or the person) alone, so neighbouring tables stay neighbours. Values
        that a draft did not list count as its ``other`` category in any case: its list is known to
        lack some. Messages quote values only with ``show_values``, since a value is private. With
        ``names`` the values of these columns alone are looked at.
        """
        if on_unknown not in ("refuse", "clip"):
            raise SchemaError(f"on_unknown ({on_unknown!r}) must be refuse or clip")
        table = self._check_columns(table)
        table = self._bound_people(table, on_unknown)
        clipped: dict[str, pd.Series] = {}
        for name in self.names if names is None else names:
            column, series, failed = self[name], table[name], ""
            clips = on_unknown == "clip" or (column.provenance == "drafted" and column.other)
            try:
                found = column.domain.clip(series) if clips else series
                column.domain.check(found, show_values)
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
        return table.assign(**{n: self[n].domain.clip(table[n]) for n in names if n in table})

    def _check_columns(self, table: Any) -> pd.DataFrame:
        """A table with just the columns of the schema; anything else is refused."""
        found = admitted(table)
        wanted = (*self.names, *([self.person] if self.person else []))
        known = {*wanted, *(left.name for left in self.left_out)}
        for name in wanted:
            if name not in found.columns:
                role = "person column" if name == self.person else "column"
                like = [n for n in map(str, found.columns) if n.strip().lower() == name.lower()]
                rule = f", which has {like[0]!r}" if like else ""
                raise SchemaError(f"{role} {name!r} is in the schema but not in the table{rule}")
        for name in found.columns:
            if name not in known:
                rule = "describe it there, name it under left_out, or drop it"
                raise SchemaError(f"column {name!r} is in the table but not in the schema; {rule}")
        if len(found) == 0:
            raise SchemaError("the table has no rows; at least one is needed")
        return found

    def without_left_out(self, table: pd.DataFrame) -> pd.DataFrame:
        """The table without the columns that no model learns from."""
        table = admitted(table)
        kept: pd.DataFrame = table.drop(columns=[*self.unread], errors="ignore")
        return kept

    def synthetic_names(self, columns: Iterable[Any]) -> list[str]:
        """Names of the columns of a synthetic table, in the order of those of a table."""
        kept = [str(name) for name in columns if name in {*self.names, *self.replaced}]
        return [*kept, *(name for name in self.replaced if name not in kept)]

    def people(self, table: pd.DataFrame) -> np.ndarray[Any, Any]:
        """A number for the person of each row, or for each row where no person is named.

        Each name is looked at by itself: a text, or a whole number; 7, 7.0, "7" and True are equal.
        """
        return np.arange(len(table)) if self.person is None else people_of(table, self.person)

    def _bound_people(self, table: pd.DataFrame, on_unknown: OnUnknown) -> pd.DataFrame:
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

    # -- other ways to a schema ---------------------------------------------------

    @classmethod
    def draft(
        cls,
        table: pd.DataFrame,
        *,
        person: str | None = None,
        max_rows: int | None = None,
        file: FileFormat = PLAIN,
    ) -> Schema:
        """Describe a table by looking at it; every entry is marked ``drafted``, for a review.

        Columns that look like identifiers are left out. Categories that fewer than
        ``identifiers.RARE`` rows (people, if their column is named) have count as ``other``.
        ``max_rows`` is what all but one person in a hundred have at most.
        """
        table = admitted(table)
        return cls(**drafted(table, person, max_rows), file=file)

    @classmethod
    def of_kinds(
        cls, kinds: Mapping[str, str], *, person: str | None = None, max_rows: int = 1
    ) -> Schema:
        """Describe a table by the kinds of its columns alone.

        Bounds, categories and whether values may be missing are measured by
        ``PrivateVine(domain="measured")``.

        Examples
        --------
        >>> Schema.of_kinds({"age": "integer", "job": "categorical"})["age"].open
        True
        """
        columns = (Column(name, kind, provenance="private") for name, kind in kinds.items())
        return cls(tuple(columns), person, max_rows)

    # -- standards: see ``table_schema`` ----------------------------------------------

    def to_table_schema(self) -> dict[str, Any]:
        """The schema as a Table Schema of Frictionless, from which it can be read back whole.

        Its fields are those of the synthetic table: columns that are dropped are none.

        Examples
        --------
        >>> schema = Schema((Column("age", "integer", minimum=0, maximum=120),))
        >>> schema.to_table_schema()["fields"][0]["constraints"]
        {'required': True, 'minimum': 0, 'maximum': 120}
        >>> Schema.from_table_schema(schema.to_table_schema()) == schema
        True
        """
        return to_table_schema(self)

    @classmethod
    def from_table_schema(
        cls, descriptor: Any, *, source: str | None = None, resource: str | None = None
    ) -> Schema:
        """The schema of a Table Schema, or of a data package, as JSON gives it.

        With a ``source``, such as ``"codebook 2019"``, what it says is declared; else it is drafted
        and proves nothing. ``resource`` names the table of a package of several. What it says and
        a schema cannot keep is told in a ``UserWarning``.
        """
        notes: list[str] = []
        entry = from_descriptor(descriptor, source, resource, notes.append)
        if notes:
            warnings.warn(f"table schema: {'; '.join(notes)}", UserWarning, stacklevel=2)
        return cls.from_dict(entry)

    # -- files and pictures -------------------------------------------------------

    def to_dict(self) -> dict[str, Any]:
        """The schema as plain lists and mappings."""
        entry: dict[str, Any] = {"format": FORMAT}
        if file := self.file.to_dict():
            entry["file"] = file
        if self.person is not None:
            person = {"column": self.person, "max_rows": self.max_rows}
            about = {k: getattr(self, f"person_{k}") for k in ("provenance", "source", "draft")}
            entry["person"] = person | {k: v for k, v in about.items() if v is not None}
        if self.left_out:
            entry["left_out"] = {
                left.name: {k: v for k, v in left.to_dict().items() if v is not None}
                for left in self.left_out
            }
        entry["columns"] = {column.name: column.to_dict() for column in self}
        if self.rules:
            entry["rules"] = [rule.to_dict() for rule in self.rules]
        return entry | ({} if self.on_broken == "refuse" else {"on_broken": self.on_broken})

    @classmethod
    def from_dict(cls, entry: Any) -> Schema:
        """The schema that ``to_dict`` wrote."""
        if not isinstance(entry, Mapping) or not isinstance(entry.get("columns"), Mapping):
            raise SchemaError("a schema must be a mapping with an entry 'columns'")
        for key in entry:
            if key not in ENTRIES:
                rule = f"known are {', '.join(ENTRIES)}"
                raise SchemaError(f"unknown schema entry ({shown(str(key))}); {rule}")
        if entry.get("format", FORMAT) != FORMAT:
            raise SchemaError(f"schema format ({shown(entry['format'])}) must be {FORMAT}")
        described, beside = apart(entry["columns"])
        columns = tuple(Column.from_dict(name, about) for name, about in described)
        left = LeftOut.from_dict(entry.get("left_out")) + LeftOut.from_dict(beside)
        kept: dict[str, Any] = {"rules": rules_from(entry.get("rules") or []), "left_out": left}
        kept["file"] = FileFormat.from_dict(entry.get("file"))
        if entry.get("on_broken") is not None:
            kept["on_broken"] = entry["on_broken"]
        person = entry.get("person")
        if person is None:
            return cls(columns, **kept)
        known = {"column", "max_rows", "provenance", "source", "draft"}
        named = isinstance(person, Mapping) and isinstance(person.get("column"), str | int)
        if not named or set(person) - known:
            rule = "must have the entries column and max_rows"
            raise SchemaError(f"person ({shown(person)}) {rule}")
        about = {f"person_{k}": v for k, v in person.items() if k not in ("column", "max_rows")}
        most = person.get("max_rows", 1)
        return cls(columns, str(person["column"]), most, **kept, **about)

    def to_yaml(self) -> str:
        """The schema as YAML; a drafted one starts with a note to its reviewer."""
        return (DRAFT_NOTE if self.drafted else "") + as_yaml(self.to_dict())

    @classmethod
    def from_yaml(cls, text: str, folder: Path | None = None) -> Schema:
        """The schema of a YAML text; lists of categories that it names lie in the folder."""
        entry = unfolded(load_yaml(text), folder)
        return cls.from_dict(entry if folder is None else with_tables(entry, folder))

    @classmethod
    def read(cls, path: str | Path) -> Schema:
        """Read a schema from a YAML file."""
        text = read_text(path, LARGEST_YAML, SchemaError, "schema file")
        try:
            return cls.from_yaml(text, Path(path).parent)
        except SchemaError as error:
            line = line_of(text, str(error))
            where = "" if line is None else f", line {line}"
            raise SchemaError(f"schema file {str(path)!r}{where}: {error}") from None

    def write(self, path: str | Path, *, head: str = "", longest_list: int | None = None) -> None:
        """Write the schema to a YAML file, whole or not at all.

        ``head`` are lines of comment above it; longer lists of texts go into files beside it.
        """
        path, entry, lists = Path(path), self.to_dict(), dict[str, str]()
        if longest_list is not None:
            entry, lists = folded(entry, path.stem, longest_list)
        texts = [head + (DRAFT_NOTE if self.drafted else "") + as_yaml(entry), *lists.values()]
        with atomic_paths([path, *(path.with_name(name) for name in lists)]) as partials:
            for partial, text in zip(partials, texts, strict=True):
                partial.write_text(text, encoding="utf-8")

    @staticmethod
    def json_schema() -> dict[str, Any]:
        """What a schema file may hold; ``python -m copula_shirley.schema`` prints it."""
        return json_schema()

    def to_frame(self) -> pd.DataFrame:
        """A line for each column: its kind, its domain in words, and where that is known from."""
        frame = pd.DataFrame(
            {
                "kind": [c.kind for c in self],
                "domain": ["to be measured" if c.open else c.domain.words for c in self],
                "missing": [c.missing for c in self],
                "cells": pd.array([None if c.open else c.size for c in self], dtype="Int64"),
                "provenance": [c.provenance for c in self],
                "source": pd.Series([c.source for c in self], dtype=object),
            }
        )
        return frame.set_axis(pd.Index(self.names, name="column"))

    def _repr_html_(self) -> str:
        return str(self.to_frame().to_html(na_rep=""))


def check_schema(schema: Any) -> None:
    """Refuse what is no schema, such as the name of its file."""
    if not isinstance(schema, Schema):
        rule = "must be a Schema, such as Schema.read(path) gives"
        raise SettingError(f"schema ({type(schema).__name__}) {rule}")


def admitted(table: Any) -> pd.DataFrame:
    """A table of any library as a frame; refused is what is none, and names twice or no texts."""
    table = as_frame(table)
    if not isinstance(table, pd.DataFrame):
        rule = "must be a pandas DataFrame, or give an Arrow stream as polars and pyarrow do"
        if isinstance(table, str | Path):
            rule += "; read_table(path, schema) reads a file"
        raise SchemaError(f"table ({type(table).__name__}) {rule}")
    repeated = table.columns[table.columns.duplicated()]
    if len(repeated):
        raise SchemaError(f"column {repeated[0]!r} stands twice in the table; names must differ")
    for name in table.columns:
        check_name("column name", name)
    return table
