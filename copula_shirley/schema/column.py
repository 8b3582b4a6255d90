"""One column of a table: its kind, its public domain, and where that is known from."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from copula_shirley.errors import SchemaError
from copula_shirley.files.digest import draft_digest
from copula_shirley.files.texts import odd_character, shown, stated
from copula_shirley.schema.categorical import Boolean, Categorical
from copula_shirley.schema.dates import Datetime
from copula_shirley.schema.duration import Duration
from copula_shirley.schema.kind import Kind
from copula_shirley.schema.left_out import PER
from copula_shirley.schema.numeric import Continuous, Integer
from copula_shirley.schema.place import Place
from copula_shirley.schema.values import LONGEST_REMARK, check_remark, is_number, plain, scalar

#: Every kind of column. A draft tries the last one first.
KINDS: dict[str, type[Kind]] = {
    "categorical": Categorical,
    "boolean": Boolean,
    "integer": Integer,
    "continuous": Continuous,
    "datetime": Datetime,
    "duration": Duration,
    "place": Place,
}
PROVENANCES = ("declared", "drafted", "private")
#: Fields of every column, about where its domain came from.
REMARKS = ("provenance", "source", "draft")
#: Fields that say more of bounds and categories.
OF_DOMAINS = ("ordered", "other", "resolution", "cells", "special", "scale")
#: Letters of a column's name: longer ones would push a label off the screen.
LONGEST_NAME = LONGEST_REMARK


@dataclass(frozen=True)
class Column:
    """One column: its kind (one of ``KINDS``) and its public domain.

    ``categories`` are the closed list of a categorical column; ``ordered`` says that their order
    means something, and ``other`` is the one that takes unknown ones with ``on_unknown="clip"``.
    Other columns have a ``minimum`` and a ``maximum``, both inclusive. Draws of numbers are rounded
    to ``resolution``; moments and durations lie on its grid, such as ``"1D"`` or ``"1s"``.
    ``cells`` is the number of equal-width histogram cells, and ``special`` values have one of their
    own, such as 0 dollars. With ``scale="log"`` cells of numbers and durations begin at powers of
    two, as money needs them; zero has its own. ``format`` is that of texts, such as
    ``"%d.%m.%Y"``; ISO 8601 without one. Places lie on a grid whose cells have the side
    ``resolution``, in the box between two corners. Values may be ``missing``. A column
    that is the same in all rows of a person, such as her date of birth, is ``per="person"``.

    ``provenance`` says where kind and domain came from: documentation ("declared", with a
    ``source`` such as ``"codebook 2019, p. 4"``), the data ("drafted"), or with "private" the kind
    from documentation and the rest from noisy counts (``PrivateVine(domain="measured")``). Before
    they are measured such a column may be *open*: without categories or bounds. ``draft`` is the
    digest of drafted values; declared columns keep it, and need a ``source``, while they hold them.

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
    scale: str | None = None
    format: str | None = None
    missing: bool = False
    per: str | None = None
    provenance: str = "declared"
    source: str | None = None
    draft: str | None = None

    def __post_init__(self) -> None:
        for field in ("categories", "special"):
            value = getattr(self, field)
            if isinstance(value, str | Mapping) or not isinstance(value, Iterable):
                raise self.error(field, value, "must be a list")
            object.__setattr__(self, field, tuple(map(scalar, value)))
        check_name("column name", self.name)
        self._check_texts()
        for field, known in (("kind", KINDS), ("provenance", PROVENANCES)):
            value = getattr(self, field)
            if not isinstance(value, str) or value not in known:
                raise self.error(field, value, f"must be one of {', '.join(known)}")
        for field in ("ordered", "missing"):
            if not isinstance(getattr(self, field), bool):
                raise self.error(field, getattr(self, field), "must be true or false")
        if self.per not in PER:
            raise self.error("per", self.per, "must be person, or be left out")
        if self.cells is not None and (type(self.cells) is not int or self.cells <= 0):
            raise self.error("cells", self.cells, "must be a positive whole number")
        self._check_only_known_fields()
        for field, value in ({} if self.open else self.domain.normalise()).items():
            object.__setattr__(self, field, value)
        check_remark(f"column {shown(self.name)}: source", self.source)
        self._check_draft()

    @cached_property
    def domain(self) -> Kind:
        """How values are read, checked and counted."""
        return KINDS[self.kind](self)

    def _check_texts(self) -> None:
        """Refuse values that would steer the terminal on which they are shown."""
        for field in ("categories", "other", "format", "resolution"):
            value = getattr(self, field)
            for text in value if isinstance(value, tuple) else (value,):
                odd = odd_character(text, spaces=True) if isinstance(text, str) else None
                if odd:
                    rule = f"must hold no control character but tabs and line ends, not {odd}"
                    raise SchemaError(f"column {self.name!r}: {field} ({text!a:.120}) {rule}")

    def _check_only_known_fields(self) -> None:
        """Refuse fields of other kinds and, in an open column, all that belongs to a domain."""
        known = {"name", "kind", "missing", "per", *REMARKS, *self.domain.fields}
        for field in dataclasses.fields(self):
            value, rule = getattr(self, field.name), ""
            if field.name not in known:
                rule = f"does not apply to kind {self.kind}; {self.domain.instead}".rstrip("; ")
            elif self.open and field.name in OF_DOMAINS:
                rule = "must be left out where bounds and categories are"
            if rule and value is not field.default and value != field.default:
                raise self.error(field.name, value, rule)

    def _check_draft(self) -> None:
        """Refuse a draft that nobody reviewed but for its mark; forget the digest of another.

        A digest of private bounds would tell them to whoever tries some. So it is kept only where
        it follows from the values that stand here anyway.
        """
        own, declared = self._values_digest(), self.provenance == "declared"
        known = self.provenance == "drafted" or (declared and self.draft == own)
        object.__setattr__(self, "draft", own if known else None)
        if self.draft and declared and self.source is None:
            raise SchemaError(
                f"column {shown(self.name)}: provenance (declared) does not fit: its values are "
                "exactly those that a draft read off the rows. State where they are known from "
                "(source: codebook 2019, p. 4), replace or widen them, or leave provenance: drafted"
            )

    def _values_digest(self) -> str:
        """The digest of what a draft reads off the rows: bounds and lists, else whether gaps."""
        bounds = (self.minimum, self.maximum, *sorted(self.special))
        values = [
            sorted(repr(c) for c in self.categories if c != self.other),
            [float(v) if is_number(v) else str(v) for v in bounds],
            None if self.domain.fields else self.missing,
        ]
        return draft_digest(values)

    def error(self, field: str, value: Any, rule: str) -> SchemaError:
        """The error of one field: its value and what would be right."""
        return SchemaError(f"column {shown(self.name)}: {field} ({stated(value)}) {rule}")

    # -- what others ask: see ``Kind`` ------------------------------------------------

    @property
    def open(self) -> bool:
        """Whether bounds or categories are still to be measured."""
        needed = [getattr(self, field) for field in self.domain.least]
        lacking = bool(needed) and all(value in (None, ()) for value in needed)
        return self.provenance != "declared" and lacking

    @property
    def nominal(self) -> bool:
        """Whether the values have no order of their own and need an encoder."""
        return self.domain.is_nominal and not self.ordered

    @property
    def is_ordered(self) -> bool:
        """Whether intervals of values mean something."""
        return not self.is_listed or self.ordered

    @property
    def is_listed(self) -> bool:
        return self.domain.is_listed

    @property
    def is_number(self) -> bool:
        return self.domain.is_number

    @property
    def is_whole(self) -> bool:
        return self.domain.is_whole

    @property
    def size(self) -> int:
        """Number of cells, the one for missing values included."""
        return self.domain.cells().size

    # -- YAML -----------------------------------------------------------------------

    def to_dict(self) -> dict[str, Any]:
        """Every field that differs from its default, without the name; remarks stand last."""
        fields = sorted(dataclasses.fields(self)[1:], key=lambda field: field.name in REMARKS)
        entry: dict[str, Any] = {}
        for field in fields:
            value = getattr(self, field.name)
            if value != field.default or field.name == "provenance":
                several = isinstance(value, tuple)
                entry[field.name] = [plain(v) for v in value] if several else plain(value)
        return entry

    @classmethod
    def from_dict(cls, name: str, entry: Any) -> Column:
        """The column that ``to_dict`` wrote."""
        if not isinstance(entry, Mapping):
            rule = "must be a mapping, such as {kind: boolean}, or be drop"
            raise SchemaError(f"column {name!r}: its entry ({shown(entry)}) {rule}")
        known = {field.name for field in dataclasses.fields(cls)} - {"name"}
        for key in entry:
            if key not in known:
                rule = f"unknown field ({shown(key)}); known are {', '.join(sorted(known))}"
                raise SchemaError(f"column {name!r}: {rule}")
        if entry.get("kind") is None:
            raise SchemaError(f"column {name!r}: kind is missing; one of {', '.join(KINDS)}")
        return cls(name=name, **{str(k): v for k, v in entry.items() if v is not None})


def check_name(what: str, name: Any) -> None:
    """Refuse a name that would steer a terminal, or break or turn around the line it stands in."""
    if not isinstance(name, str) or not name:
        raise SchemaError(f"{what} ({shown(name)}) must be a non-empty text")
    odd = odd_character(name)
    if odd or len(name) > LONGEST_NAME:
        rule = (
            f"hold no control character, not {odd}"
            if odd
            else f"have at most {LONGEST_NAME} letters"
        )
        raise SchemaError(f"{what} ({name!a:.120}) must {rule}")
