"""Rules between columns, as a schema declares them.

A rule is a public claim about the world, like a bound: every row of the table keeps it, and so does
every synthetic row. Here stands what a rule says; ``copula_shirley.rules`` carries rules out. A
rule binds a row where all values that it compares are there, as a check of SQL does.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from copula_shirley.errors import SchemaError
from copula_shirley.files.digest import draft_digest
from copula_shirley.files.texts import odd_character, shown, stated
from copula_shirley.schema.expressions import Expression
from copula_shirley.schema.values import check_remark, is_number, plain

#: Rows of one public table.
MOST_ROWS = 200_000
#: Letters of a rule in messages.
LONGEST_WORDS = 120
ON_BROKEN = ("refuse", "repair", "drop")
#: States of a value that a condition may name.
STATES = ("missing", "present")
#: Where a rule is known from; "private" is that of a declared function whose table a fit buys.
PROVENANCES = ("declared", "drafted", "private")
REMARKS = ("provenance", "source", "draft")
LEARNED = "learned"
DIFFERENT = "must name two or more different columns"
#: Share of the budget for the table of a learned function, if none is named; the least one; and
#: the largest sum of them.
SHARE, LEAST_SHARE, MOST_SHARES = 0.02, 0.005, 0.5


@dataclass(frozen=True, kw_only=True)
class Rule:
    """One rule. ``provenance`` and ``source`` say where it is known from, as of a column.

    ``draft`` is the digest of a rule that was found in the rows. A declared rule keeps it, and
    needs a ``source``, while it says the same.
    """

    provenance: str = "declared"
    source: str | None = None
    draft: str | None = None
    #: The entry that names the rule, and those that may stand beside it.
    key: ClassVar[str]
    beside: ClassVar[tuple[str, ...]] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """All columns that the rule is about."""
        raise NotImplementedError

    @property
    def words(self) -> str:
        raise NotImplementedError

    def __str__(self) -> str:
        words = self.words
        return words if len(words) <= LONGEST_WORDS else f"{words[: LONGEST_WORDS - 3]}..."

    def entry(self) -> dict[str, Any]:
        """The rule as it stands in YAML, without remarks."""
        raise NotImplementedError

    @classmethod
    def of_entry(cls, entry: Mapping[str, Any], remarks: Mapping[str, Any]) -> Rule:
        raise NotImplementedError

    def to_dict(self) -> dict[str, Any]:
        remarks = {name: getattr(self, name) for name in REMARKS}
        return self.entry() | {k: v for k, v in remarks.items() if v not in (None, "declared")}

    def error(self, rule: str) -> SchemaError:
        return SchemaError(f"rule {str(self)!r}: {rule}")

    def __post_init__(self) -> None:
        if self.provenance not in self.provenances:
            known = " or ".join(self.provenances)
            raise self.error(f"provenance ({shown(self.provenance)}) must be {known}")
        for text in _texts([list(self.names), self.entry()]):
            if odd_character(text, spaces=True):
                raise SchemaError(f"rule ({text!a:.120}) must hold no control character")
        check_remark(f"rule {str(self)!r}: source", self.source)
        self._check_draft()

    @property
    def provenances(self) -> tuple[str, ...]:
        return PROVENANCES[:2]

    def _check_draft(self) -> None:
        """Refuse a rule found in the rows that nobody reviewed but for its mark."""
        own = draft_digest(self.entry())
        known = self.provenance == "drafted" or self.draft == own
        object.__setattr__(self, "draft", own if known else None)
        if self.draft and self.provenance != "drafted" and self.source is None:
            raise self.error(
                f"provenance ({self.provenance}) does not fit: the rule is exactly what a draft "
                "found in the rows. State where it is known from (source: codebook 2019, p. 4), "
                "or leave provenance: drafted"
            )


@dataclass(frozen=True)
class Gap:
    """Bounds of a difference: numbers, or for times a length such as 3D or a number of steps."""

    minimum: Any = None
    maximum: Any = None


@dataclass(frozen=True)
class Order(Rule):
    """Each column is at most the next one; their differences lie within public bounds."""

    columns: tuple[str, ...]
    gaps: tuple[Gap, ...] = ()
    strict: bool = False
    key: ClassVar[str] = "order"
    beside: ClassVar[tuple[str, ...]] = ("gap", "strict")

    def __post_init__(self) -> None:
        if len(self.columns) < 2 or len(set(self.columns)) < len(self.columns):
            raise SchemaError(f"order ({shown(list(self.columns))}) {DIFFERENT}")
        if not self.gaps:
            object.__setattr__(self, "gaps", (Gap(),) * (len(self.columns) - 1))
        super().__post_init__()
        if len(self.gaps) != len(self.columns) - 1:
            raise self.error(f"gap must have {len(self.columns) - 1} entries, one for each step")
        if type(self.strict) is not bool:
            raise self.error(f"strict ({shown(self.strict)}) must be true or false")

    @property
    def names(self) -> tuple[str, ...]:
        return self.columns

    @property
    def words(self) -> str:
        return (" < " if self.strict else " <= ").join(self.columns)

    def entry(self) -> dict[str, Any]:
        gaps = [{k: plain(v) for k, v in vars(gap).items() if v is not None} for gap in self.gaps]
        same = all(gap == gaps[0] for gap in gaps)
        found: dict[str, Any] = {"order": list(self.columns)}
        if any(gaps):
            found["gap"] = gaps[0] if same else gaps
        return found | ({"strict": True} if self.strict else {})

    @classmethod
    def of_entry(cls, entry: Mapping[str, Any], remarks: Mapping[str, Any]) -> Order:
        columns, given = names_of(cls.key, entry["order"]), entry.get("gap")
        several = given if isinstance(given, list) else [given or {}] * max(len(columns) - 1, 1)
        for one in several:
            if not isinstance(one, Mapping) or set(one) - {"minimum", "maximum"}:
                rule = "must have the entries minimum and maximum, or be a list of such"
                raise SchemaError(f"rule {list(columns)}: gap ({shown(one)}) {rule}")
        gaps = tuple(Gap(one.get("minimum"), one.get("maximum")) for one in several)
        return cls(columns, gaps, entry.get("strict", False), **remarks)


@dataclass(frozen=True)
class Computed(Rule):
    """A column is the result of an expression.

    Its value is missing where any part has no value; with ``missing="all"`` where all parts are
    missing, and else a missing part counts as 0. ``tolerance`` is for checking real rows.
    """

    column: str
    expression: str
    tolerance: float | None = None
    missing: str = "any"
    key: ClassVar[str] = "computed"
    beside: ClassVar[tuple[str, ...]] = ("as", "tolerance", "missing")

    def __post_init__(self) -> None:
        parsed = Expression.parse(self.expression)
        super().__post_init__()
        if self.column in parsed.names:
            raise self.error("a column cannot be computed from itself")
        good = is_number(self.tolerance) and self.tolerance >= 0  # type: ignore[operator]
        if self.tolerance is not None and not good:
            raise self.error(f"tolerance ({shown(self.tolerance)}) must be a number from 0")
        if self.missing not in ("any", "all"):
            raise self.error(f"missing ({shown(self.missing)}) must be any or all")

    @property
    def parsed(self) -> Expression:
        return Expression.parse(self.expression)

    @property
    def names(self) -> tuple[str, ...]:
        return (self.column, *self.parsed.names)

    @property
    def words(self) -> str:
        return f"{self.column} = {self.expression}"

    def entry(self) -> dict[str, Any]:
        found: dict[str, Any] = {"computed": self.column, "as": self.expression}
        found |= {} if self.tolerance is None else {"tolerance": self.tolerance}
        return found | ({} if self.missing == "any" else {"missing": self.missing})

    @classmethod
    def of_entry(cls, entry: Mapping[str, Any], remarks: Mapping[str, Any]) -> Computed:
        column, how = name_of(cls.key, entry["computed"]), entry.get("missing", "any")
        return cls(column, entry.get("as"), entry.get("tolerance"), how, **remarks)  # type: ignore[arg-type]


@dataclass(frozen=True)
class Function(Rule):
    """A column follows from others by a table, public or (None) learned by the fit.

    Each row of the table holds a value of each column of ``of`` and then that of ``column``; values
    that no row names have the ``default``. A learned table costs a ``share`` of the budget
    (``copula_shirley.measure.learned_functions``).
    """

    column: str
    of: tuple[str, ...]
    table: tuple[tuple[Any, ...], ...] | None
    default: Any = None
    share: float = SHARE
    key: ClassVar[str] = "function"
    beside: ClassVar[tuple[str, ...]] = ("of", "table", "default", "share")

    def __post_init__(self) -> None:
        if self.table is None and self.provenance == "declared":
            object.__setattr__(self, "provenance", "private")
        super().__post_init__()
        good = is_number(self.share) and LEAST_SHARE <= self.share <= MOST_SHARES
        if not good or (self.table is not None and self.share != SHARE):
            raise self.error(
                f"share ({shown(self.share)}) must be a part of the budget from {LEAST_SHARE} to "
                f"{MOST_SHARES}, and goes with 'table: {LEARNED}'"
            )
        if not self.of or self.column in self.of or len(set(self.of)) < len(self.of):
            raise self.error("of must name other columns, each once")
        rows = self.table or ()
        if self.table == () or len(rows) > MOST_ROWS:
            raise self.error(f"table must have 1 to {MOST_ROWS:,} rows")
        for row in rows:
            if len(row) != len(self.of) + 1:
                names = ", ".join((*self.of, self.column))
                raise self.error(f"a row of the table ({shown(list(row))}) must hold {names}")
        keys = {tuple(map(str, row[:-1])) for row in rows}
        if len(keys) < len(rows):
            raise self.error("the table names the same values twice")

    @property
    def names(self) -> tuple[str, ...]:
        return (self.column, *self.of)

    @property
    def words(self) -> str:
        return f"{self.column} is a function of {', '.join(self.of)}"

    def entry(self) -> dict[str, Any]:
        table: Any = LEARNED
        if self.table is not None:
            table = [[plain(value) for value in row] for row in self.table]
            if len(self.of) == 1:
                table = {row[0]: row[1] for row in table}
        found = {"function": self.column, "of": list(self.of), "table": table}
        found |= {} if self.share == SHARE else {"share": self.share}
        return found | ({} if self.default is None else {"default": plain(self.default)})

    @property
    def provenances(self) -> tuple[str, ...]:
        return PROVENANCES[:2] if self.table is not None else PROVENANCES[1:]

    @classmethod
    def of_entry(cls, entry: Mapping[str, Any], remarks: Mapping[str, Any]) -> Function:
        column, of = name_of(cls.key, entry["function"]), names_of("of", entry.get("of"))
        table = entry.get("table")
        if isinstance(table, Mapping):
            table = list(table.items())
        listed = isinstance(table, list) and all(isinstance(row, list | tuple) for row in table)
        if table != LEARNED and not listed:
            rule = "must map values to values, be a list of rows, name a file, or be 'learned'"
            raise SchemaError(f"rule of {shown(column)}: table ({stated(table)}) {rule}")
        rows = None if table == LEARNED else tuple(map(tuple, table or ()))
        share = entry["share"] if entry.get("share") is not None else SHARE
        return cls(column, of, rows, entry.get("default"), share, **remarks)


@dataclass(frozen=True)
class OneHot(Rule):
    """Exactly one of some yes-or-no columns is set, or at most one."""

    columns: tuple[str, ...]
    at_most: bool = False
    key: ClassVar[str] = "one_hot"
    beside: ClassVar[tuple[str, ...]] = ("exactly", "at_most")

    def __post_init__(self) -> None:
        if len(self.columns) < 2 or len(set(self.columns)) < len(self.columns):
            raise SchemaError(f"one_hot ({shown(list(self.columns))}) {DIFFERENT}")
        super().__post_init__()

    @property
    def names(self) -> tuple[str, ...]:
        return self.columns

    @property
    def words(self) -> str:
        most = "at most" if self.at_most else "exactly"
        return f"{most} one of {', '.join(self.columns)}"

    def entry(self) -> dict[str, Any]:
        return {"one_hot": list(self.columns), "at_most" if self.at_most else "exactly": 1}

    @classmethod
    def of_entry(cls, entry: Mapping[str, Any], remarks: Mapping[str, Any]) -> OneHot:
        given = [(k, entry[k]) for k in cls.beside if k in entry]
        if len(given) > 1 or any(type(v) is not int or v != 1 for _, v in given):
            raise SchemaError("one_hot must have one of the entries 'exactly: 1' and 'at_most: 1'")
        return cls(names_of(cls.key, entry["one_hot"]), "at_most" in entry, **remarks)


@dataclass(frozen=True)
class Allowed(Rule):
    """Combinations of values that alone may occur, or that may not."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    forbidden: bool = False
    key: ClassVar[str] = "allowed"

    def __post_init__(self) -> None:
        if not self.columns or len(set(self.columns)) < len(self.columns):
            raise SchemaError(f"columns ({shown(list(self.columns))}) must be different names")
        super().__post_init__()
        if not 0 < len(self.rows) <= MOST_ROWS:
            raise self.error(f"rows must hold 1 to {MOST_ROWS:,} combinations")
        for row in self.rows:
            if len(row) != len(self.columns):
                raise self.error(f"a combination ({shown(list(row))}) must have a value for each")

    @property
    def names(self) -> tuple[str, ...]:
        return self.columns

    @property
    def words(self) -> str:
        what = "forbidden" if self.forbidden else "allowed"
        return f"{what} combinations of {', '.join(self.columns)}"

    def entry(self) -> dict[str, Any]:
        rows = [[plain(value) for value in row] for row in self.rows]
        about = {"columns": list(self.columns), "rows": rows}
        return {"forbidden" if self.forbidden else "allowed": about}

    @classmethod
    def of_entry(cls, entry: Mapping[str, Any], remarks: Mapping[str, Any]) -> Allowed:
        about = entry.get("forbidden", entry.get("allowed"))
        named = isinstance(about, Mapping) and set(about) == {"columns", "rows"}
        rows = about["rows"] if named else None
        if not isinstance(rows, list) or not all(isinstance(row, list) for row in rows):
            rule = "must have the entries columns (names) and rows (a list of lists of values)"
            raise SchemaError(f"{next(iter(entry))} ({stated(about)}) {rule}")
        columns = names_of(cls.key, about["columns"])
        return cls(columns, tuple(map(tuple, rows)), "forbidden" in entry, **remarks)


#: Conditions on columns: a value, several, a range such as 50..120, missing or present.
Conditions = tuple[tuple[str, Any], ...]


@dataclass(frozen=True)
class Implies(Rule):
    """Where all conditions of ``when`` are met, all of ``then`` are."""

    when: Conditions
    then: Conditions
    key: ClassVar[str] = "when"
    beside: ClassVar[tuple[str, ...]] = ("then",)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(name for name, _ in (*self.when, *self.then)))

    @property
    def words(self) -> str:
        when, then = (" and ".join(map(_said, part)) for part in (self.when, self.then))
        return f"when {when} then {then}"

    def entry(self) -> dict[str, Any]:
        def written(part: Conditions) -> dict[str, Any]:
            several = {name: isinstance(said, tuple) for name, said in part}
            return {n: [plain(v) for v in s] if several[n] else plain(s) for n, s in part}

        return {"when": written(self.when), "then": written(self.then)}

    @classmethod
    def of_entry(cls, entry: Mapping[str, Any], remarks: Mapping[str, Any]) -> Implies:
        parts = []
        for which in ("when", "then"):
            part = entry.get(which)
            if not isinstance(part, Mapping) or not part:
                raise SchemaError(f"{which} ({stated(part)}) must map columns to conditions")
            parts.append(tuple((str(name), _condition(said)) for name, said in part.items()))
        return cls(*parts, **remarks)


def _condition(said: Any) -> Any:
    return tuple(said) if isinstance(said, list) else said


def _said(condition: tuple[str, Any]) -> str:
    name, said = condition
    if isinstance(said, tuple):
        return f"{name} in {', '.join(map(str, said))}"
    return f"{name} is {said}" if said in STATES else f"{name} = {said}"


def check_rules(rules: Sequence[Rule], on_broken: Any, columns: Sequence[str]) -> None:
    """Refuse rules about no column of the table; ``copula_shirley.rules`` checks the rest."""
    if on_broken not in ON_BROKEN:
        raise SchemaError(f"on_broken ({shown(on_broken)}) must be one of {', '.join(ON_BROKEN)}")
    for rule in rules:
        for name in rule.names:
            if name not in columns:
                known = ", ".join(columns)
                raise rule.error(f"column {name!r} is not among the columns: {known}")
    learned = [r for r in rules if isinstance(r, Function) and r.table is None]
    if (shares := sum(rule.share for rule in learned)) > MOST_SHARES + 1e-9:
        raise SchemaError(
            f"shares of the {len(learned)} learned functions ({shares:g} together) must be at "
            f"most {MOST_SHARES}: name smaller ones (share: ...), or public tables"
        )


def names_of(what: str, given: Any) -> tuple[str, ...]:
    """Names of columns out of a schema file: a list, or a single one."""
    return tuple(name_of(what, name) for name in (given if isinstance(given, list) else [given]))


def name_of(what: str, given: Any) -> str:
    """The name of a column out of a schema file."""
    if not isinstance(given, str | int) or isinstance(given, bool):
        raise SchemaError(f"{what} ({stated(given)}) must name a column, or several in a list")
    return str(given)


def _texts(value: Any) -> Iterator[str]:
    """All texts in nested lists and mappings."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        yield from _texts(list(value.items()))
    elif isinstance(value, list | tuple):
        for one in value:
            yield from _texts(one)
