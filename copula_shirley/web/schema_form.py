"""The schema as a form with a row for each column, and back: what is said goes by the schema."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from copula_shirley.errors import SchemaError
from copula_shirley.schema.column import KINDS
from copula_shirley.schema.schema import Schema

#: What a column may be on the page; made-up names are set in the YAML.
LEFT_OUT = {"drop": "left out", "id": "left out, numbered anew"}
#: How a file is written.
FILE_WORDS = {
    "separator": "values are parted by",
    "encoding": "letters are written in",
    "decimal": "decimals follow",
    "thousands": "thousands are parted by",
    "symbols": "beside numbers stand",
    "missing": "no value is written as",
    "sheet": "the sheet is",
}
#: How a column is known.
SOURCES = {
    "declared": "documentation",
    "private": "kind known, rest measured",
    "drafted": "the rows (a draft)",
}
#: Fields of a column that are written as one text.
TEXTS = ("minimum", "maximum", "format", "resolution", "source")
#: Of a rule: a column, another one, a text about the first, and one about the other.
RULE_FIELDS = ("one", "other", "text", "then")
#: The source of what the curator says on the page about people.
STATED = "stated by the curator"


@dataclass(frozen=True)
class Row:
    """What the form shows of one column; texts as they are typed."""

    name: str
    kind: str
    minimum: str = ""
    maximum: str = ""
    format: str = ""
    resolution: str = ""
    categories: str = ""
    missing: bool = False
    #: Whether all rows of a person have the same value.
    per: bool = False
    provenance: str = "declared"
    source: str = ""
    #: Why a column is left out.
    reason: str = ""
    error: str = ""

    @property
    def left_out(self) -> bool:
        return self.kind not in KINDS

    @property
    def lines(self) -> int:
        return min(max(self.categories.count("\n") + 1, 3), 6)


def rows_of(schema: Schema, names: Sequence[str]) -> list[Row]:
    """A row for each column, in the order of the table."""
    entry = schema.to_dict()
    found = {name: _row(name, about) for name, about in entry["columns"].items()}
    for left in schema.left_out:
        found[left.name] = Row(
            left.name, left.replace, provenance=left.provenance, reason=left.reason or ""
        )
    if schema.person is not None:
        found.setdefault(schema.person, Row(schema.person, "person"))
    order = {name: place for place, name in enumerate(names)}
    return sorted(found.values(), key=lambda row: order.get(row.name, len(order)))


def _row(name: str, about: Mapping[str, Any]) -> Row:
    texts = {field: str(about[field]) for field in TEXTS if about.get(field) is not None}
    return Row(
        name,
        about["kind"],
        categories="\n".join(map(str, about.get("categories", ()))),
        missing=about.get("missing", False),
        per="per" in about,
        provenance=about["provenance"],
        **texts,
    )


def typed_rows(form: Mapping[str, Any], count: int) -> list[Row]:
    """The rows as they were typed."""

    def typed(number: int, field: str) -> str:
        text = str(form.get(f"{field}.{number}", "")).replace("\r\n", "\n")
        return text if field in ("name", "categories") else text.strip()

    fields = ("name", "kind", *TEXTS, "categories", "provenance", "reason")
    return [
        Row(
            **{field: typed(number, field) for field in fields},
            missing=bool(typed(number, "missing")),
            per=bool(typed(number, "per")),
        )
        for number in range(count)
    ]


def declared_rows(rows: Sequence[Row], which: str, known_from: str) -> list[Row]:
    """The rows, of which one (by its number) or all are known from documentation."""
    chosen = range(len(rows)) if which == "all" else [int(which)] if which.isdigit() else []
    found = list(rows)
    for number in chosen:
        if number >= len(rows):
            continue
        row = rows[number]
        source = row.source or known_from
        if not row.left_out and not source:
            raise SchemaError(
                f"column {row.name!r}: source () must say where it is known from, such as "
                "codebook 2019, p. 4: write it above the table or beside the column"
            )
        if row.provenance != "private" or which != "all":
            found[number] = _with(row, provenance="declared", source=source)
    return found


def _with(row: Row, **more: Any) -> Row:
    return Row(**{**vars(row), **more})


def marked(rows: Sequence[Row], error: str) -> list[Row]:
    """The rows, with an error beside the column that it names."""
    return [_with(row, error=error if f"column {row.name!r}" in error else "") for row in rows]


def schema_from(rows: Sequence[Row], schema: Schema, *, file_known: bool = False) -> Schema:
    """The schema with what was typed; what the form does not show stays as it is."""
    entry = schema.to_dict()
    before, left_before = entry["columns"], entry.get("left_out", {})
    columns, left = {}, {}
    for row in rows:
        if row.kind == "person" or row.name == schema.person:
            if row.name in left_before:
                left[row.name] = left_before[row.name]
        elif row.left_out:
            kept = left_before.get(row.name, {})
            same = kept.get("replace", "drop") == row.kind
            own = kept if same else {"replace": row.kind}
            left[row.name] = {**own, "provenance": row.provenance}
            if row.provenance == "private":
                left[row.name]["provenance"] = "declared"
        else:
            columns[row.name] = _entry(row, before.get(row.name, {}))
    entry |= {"columns": columns, "left_out": left}
    if file_known and "file" in entry:
        entry["file"]["provenance"] = "declared"
    return Schema.from_dict(entry)


def _entry(row: Row, before: Mapping[str, Any]) -> dict[str, Any]:
    """The entry of a column; a value that was not touched keeps its type."""
    kind = KINDS.get(row.kind)
    if kind is None:
        raise SchemaError(f"column {row.name!r}: kind ({row.kind!r}) must be one of {[*KINDS]}")
    same_kind = before.get("kind") == row.kind
    known = {**kind.fields, "source": 1}
    entry = {k: v for k, v in before.items() if same_kind or k == "draft"}
    for field in TEXTS:
        text = getattr(row, field)
        if field not in known or not text:
            entry.pop(field, None)
        elif text != str(before.get(field)) or field not in entry:
            bound = field not in ("format", "source") and kind.is_number
            entry[field] = _bound(row.name, field, text) if bound else text
    if "categories" in known:
        entry["categories"] = _categories(row.categories, before.get("categories", ()))
        if entry.get("other") not in (None, *entry["categories"]):
            entry.pop("other")
    if not entry.get("categories"):
        entry.pop("categories", None)
    entry = {k: v for k, v in entry.items() if k not in ("missing", "per")}
    entry |= {"missing": True} if row.missing else {}
    entry |= {"per": "person"} if row.per else {}
    return {**entry, "kind": row.kind, "provenance": row.provenance}


def _categories(text: str, before: Sequence[Any]) -> list[Any]:
    r"""The categories of a text with one in each line; what was there keeps its type.

    Examples
    --------
    >>> _categories("1\n2\n5", [1, 2]), _categories("1\n5", ["1"]), _categories(" a", [" a"])
    ([1, 2, 5], ['1', '5'], [' a'])
    """
    if text == "\n".join(map(str, before)):
        return [*before]
    own = {str(value): value for value in before}
    numbers = bool(before) and all(type(value) in (int, float) for value in before)
    new = _number if numbers else str
    return [own.get(line, new(line.strip())) for line in text.split("\n") if line.strip()]


def _bound(name: str, field: str, text: str) -> Any:
    found = _number(text)
    if isinstance(found, str):
        rule = "must be a number, with a point before decimals and nothing between thousands"
        raise SchemaError(f"column {name!r}: {field} ({text!r}) {rule}")
    return found


def _number(text: str) -> Any:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def with_people(schema: Schema, person: str | None, max_rows: int) -> Schema:
    """The schema with what the curator says about people, who knows it.

    If it is just what a draft counted in the rows, the card tells that.
    """
    entry = schema.to_dict()
    before = entry.pop("person", None) or {}
    if person is not None:
        entry["columns"].pop(person, None)
        about = {"provenance": "declared", "source": STATED}
        if before.get("column") == person and "draft" in before:
            about["draft"] = before["draft"]
        entry["person"] = {"column": person, "max_rows": max_rows, **about}
    return Schema.from_dict(entry)


def changed_rules(schema: Schema, form: Mapping[str, Any]) -> Schema:
    """The schema with a rule more, with one less, or with all known from documentation."""
    entry, source = schema.to_dict(), str(form.get("known_from", "")).strip()
    rules, remove = entry.get("rules", []), str(form.get("remove", ""))
    if remove.isdigit():
        del rules[int(remove) : int(remove) + 1]
    elif form.get("then") == "known":
        if not source:
            raise SchemaError("rules: source () must say where they are known from: codebook, p. 7")
        own = {"provenance": "declared", "source": source}
        rules = [rule | own if rule.get("provenance") == "drafted" else rule for rule in rules]
    else:
        rules = [*rules, _new_rule(schema, form) | ({"source": source} if source else {})]
    return Schema.from_dict({**entry, "rules": rules})


def _new_rule(schema: Schema, form: Mapping[str, Any]) -> dict[str, Any]:
    """The rule that was filled in, as it stands in YAML."""
    kind = str(form.get("rule", ""))
    one, other, text, then = (str(form.get(f"{kind}.{k}", "")).strip() for k in RULE_FIELDS)
    if kind == "order":
        return {"order": [one, other]}
    if kind == "computed":
        return {"computed": one, "as": text}
    if kind == "when":
        return {
            "when": {one: _value_of(schema, one, text)},
            "then": {other: _value_of(schema, other, then)},
        }
    raise SchemaError(f"rule ({kind!r}) must be order, computed or when")


def _value_of(schema: Schema, name: str, text: str) -> Any:
    """A value that a rule names, with the type that the column gives it; or several with commas."""
    column = schema[name]
    own = {str(value): value for value in column.domain.categories} if column.is_listed else {}
    parts = [own.get(part.strip(), _number(part.strip())) for part in text.split(",")]
    return own[text] if text in own else parts[0] if len(parts) == 1 else parts
