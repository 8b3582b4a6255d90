"""A first description of a table, read off its rows for a curator to review."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from copula_shirley.errors import SchemaError
from copula_shirley.files.texts import odd_character, one_line, some
from copula_shirley.schema import identifiers
from copula_shirley.schema.column import KINDS, Column
from copula_shirley.schema.dates import Datetime
from copula_shirley.schema.left_out import LeftOut
from copula_shirley.schema.values import absent, as_floats, plain

if TYPE_CHECKING:
    from copula_shirley.schema.schema import Schema

#: What counts as nearly all, and how many values are few.
MOSTLY, FEW = 0.8, 20
#: The part of people who have at most as many rows as a draft proposes.
NEARLY_ALL = 0.99

DRAFT_NOTE = f"""\
# DRAFT, read from the data: whoever reads it learns something about the rows. Keep it to yourself.
# Review every entry against public documentation. Without a provenance an entry counts as declared.
# - What you know: widen bounds and lists to what could occur, then write 'provenance: declared' and
#   where you know it from ('source: codebook 2019, p. 4'), which values of a draft must name.
# - You know only the kind: 'provenance: private'; PrivateVine with --domain measured buys the rest.
# - What stays 'drafted' is a fact about the rows: nothing is proved of a release that rests on it.
# Categories that fewer than {identifiers.RARE} rows have are not listed, since they may be those of
# one person; while the column is drafted they count as its 'other' category.
# - Rules that --suggest-rules found hold in all these rows: declare those that you know, with a
#   source, and delete the others.
# 'left_out' has what looks like identifiers: 'replace: drop'; or 'replace: id', perhaps with
# 'pattern: "P-{{n:07}}"'; or 'replace: fake, fake: name, locale: de_DE' for made-up ones; or
# 'person: {{column: ..., max_rows: ...}}'; or describe the column with categories that you know.
"""
#: Stands above what a draft says of the columns, also of those that were reviewed.
ABOVE = "# Seen in the rows, not for release: delete these lines before you give the schema away.\n"


def drafted(table: pd.DataFrame, person: str | None, max_rows: int | None) -> dict[str, Any]:
    """The fields of a schema, read off a table."""
    if len(table) == 0:
        raise SchemaError("the table has no rows; a draft needs at least one")
    if person is not None and person not in table.columns:
        raise SchemaError(f"person column {person!r} is not in the table")
    whose = None if person is None else pd.Series(_people(person, table[person]))
    found = [draft_column(str(n), table[n], whose) for n in table.columns if n != person]
    columns = tuple(column for column in found if isinstance(column, Column))
    left = tuple(column for column in found if isinstance(column, LeftOut))
    if left and not columns:
        raise SchemaError(
            f"column {left[0].name!r} is left out ({left[0].reason}), and so is every other "
            "one: nothing is left to draft; describe in a schema by hand what is public"
        )
    about: dict[str, Any] = {"columns": columns, "person": person, "left_out": left}
    if whose is None or max_rows is not None:
        return about | {"max_rows": 1 if max_rows is None else max_rows}
    most = np.quantile(whose.value_counts(), NEARLY_ALL, method="higher")
    return about | {"max_rows": int(most), "person_provenance": "drafted"}


def _people(person: str, series: pd.Series) -> NDArray[np.intp]:
    try:
        return pd.factorize(series)[0]
    except (TypeError, ArithmeticError):  # lists, a signalling NaN
        rule = "every row must name its person, by a text or a whole number"
        raise SchemaError(f"person column {person!r}: {rule}") from None


def draft_column(name: str, series: pd.Series, whose: pd.Series | None = None) -> Column | LeftOut:
    """Describe one column by looking at it, or leave it out.

    With ``whose``, a number for the person of each row, people are counted instead of rows.
    """
    gaps = absent(series)
    missing, known = bool(gaps.any()), as_numbers(series[~gaps])
    values: Any = known
    if isinstance(known.dtype, pd.CategoricalDtype):
        values = known.dtype.categories
        if not all(isinstance(v, str | int | float | np.generic) for v in values):
            known = known.astype(values.dtype)
    if any(isinstance(v, str) and odd_character(v, spaces=True) for v in values):
        why = "a value holds a control character, which a schema cannot list"
        return LeftOut(name, why, provenance="drafted")
    shared: dict[str, Any] = {"name": name, "missing": missing, "provenance": "drafted"}
    if known.empty:  # nothing to see: one placeholder of the column's dtype beside "missing"
        kind = kind_of(known.dtype)
        least = KINDS[kind].least
        ends = {end: least["minimum"] for end in ("minimum", "maximum") if end in least}
        listed = ("unknown",) if "categories" in least else ()
        return Column(kind=kind, categories=listed, **ends, **shared)
    _check_storable(name, known)
    each = known
    if whose is not None:
        whose = whose[~gaps]
        once = pd.DataFrame({"value": known.to_numpy(dtype=object), "whose": whose.to_numpy()})
        each = known[~once.duplicated().to_numpy()]
    coded = identifiers.is_code(name, each)
    if coded:  # gaps have made 10115.0 of 10115
        known, each = known.astype("int64"), each.astype("int64")
    for may_identify, rows in ((False, known), (True, each)):
        reason = identifiers.why_left_out(name, each) if may_identify else None
        if reason is not None:
            break
        for kind, cls in reversed(KINDS.items()):
            fits = cls.may_identify == may_identify and not (coded and cls.is_number)
            fields = cls.draft(rows) if fits else None
            if fields is not None:
                return Column(kind=kind, **fields, **shared)
    return LeftOut(name, reason, provenance="drafted")


def as_numbers(known: pd.Series) -> pd.Series:
    """Objects that are all numbers, decimal ones and very large ones too, as such."""
    types = set(map(type, known)) if known.dtype == object else set()
    if not types or not types <= {int, float, Decimal}:
        return known
    numbers = as_floats(known)
    if not np.isfinite(numbers).all():
        rule = "holds infinite values or numbers beyond any double; none may occur"
        raise SchemaError(f"column {known.name!r}: {rule}")
    return pd.Series(numbers, known.index, name=known.name)


def kind_of(dtype: Any) -> str:
    """The kind of a column by its dtype alone, which can be a fact about single rows."""
    letter = getattr(dtype, "kind", "O")
    return next((kind for kind, cls in KINDS.items() if letter in cls.letters), "categorical")


def _check_storable(name: str, known: pd.Series) -> None:
    """Refuse lists and the like, which can be no category."""
    if pd.api.types.is_numeric_dtype(known.dtype):
        return
    storable = tuple(t for cls in KINDS.values() if cls.measurable for t in cls.types)
    kinds = {type(v).__name__ for v in known if not isinstance(v, storable)}
    if kinds:
        raise SchemaError(
            f"column {name!r}: holds values of type {min(kinds)}; store texts, numbers or dates"
        )


def draft_notes(table: pd.DataFrame, schema: Schema) -> list[str]:
    """What a curator should look at first in a drafted schema; no value is quoted."""
    notes = [
        f"column {left.name!r} is left out: {left.reason or 'as reviewed'}"
        for left in schema.left_out
    ]
    notes += [
        f"column {column.name!r}: no row has a value, so that nothing can be learnt: leave it out, "
        "or describe what it may hold"
        for column in schema
        if column.provenance == "drafted"
        and column.name in table
        and absent(table[column.name]).all()
    ]
    people = [] if schema.person else [n.name for n in schema.left_out if _repeats(table, n)]
    if people:
        notes.append(
            f"column {people[0]!r} looks like the same person in several rows: consider "
            f"--person {people[0]}, so that people are protected with all their rows"
            + (f" (or {', '.join(people[1:])})" if people[1:] else "")
        )
    if schema.person in table and schema.person_provenance == "drafted":
        rows = table[schema.person].value_counts()
        lost, most = float((rows - schema.max_rows).clip(0).sum() / len(table)), int(rows.max())
        if lost:
            notes.append(
                f"person column {schema.person!r}: one person has {most:,} rows, {NEARLY_ALL:.0%} "
                f"have at most {schema.max_rows:,}. With max_rows {schema.max_rows:,} and "
                f"--on-unknown clip the noise is {most / schema.max_rows:.2g} times smaller than "
                f"with {most:,}, and {lost:.2%} of the rows are left out"
            )
    if constants := _constants(table, schema):
        notes.append(
            f"the same in all rows of each {schema.person}: {some(constants)}. 'per: person' keeps "
            "that, in the entry of a column, and draws people with several rows"
        )
    few = f"values that fewer than {identifiers.RARE} rows have are not listed; they count as"
    return notes + [
        f"column {column.name!r}: {few} {column.other!r}"
        for column in schema
        if column.other is not None and column.provenance == "drafted"
    ]


def _repeats(table: pd.DataFrame, left: LeftOut) -> bool:
    """Whether a column that was left out has the same people in several rows."""
    if not identifiers.names_people(left.reason or "") or left.name not in table:
        return False
    return bool(2 * FEW < table[left.name].nunique() < MOSTLY * table[left.name].count())


def summary(table: pd.DataFrame, schema: Schema, odd: Mapping[str, Sequence[str]]) -> str:
    """A line of comment for each column: kind, domain, gaps, and what is odd about it."""
    left = {column.name: column.reason for column in schema.left_out}
    lines, constants = [], _constants(table, schema)
    for name in map(str, table.columns):
        said = list(odd.get(name, ()))
        if name == schema.person:
            lines.append((name, "person", f"at most {schema.max_rows:,} rows each", "", said))
        elif name in left:
            lines.append((name, "left out", "", "", [left[name] or "", *said]))
        else:
            column, gaps = schema[name], float(absent(table[name]).mean())
            part = f"{gaps:.1%} missing" if gaps else ""
            said += _oddities(table[name], column)
            if name in constants:
                said.append(f"the same in all rows of a {schema.person}: 'per: person'?")
            lines.append((name, column.kind, _domain(column), part, said))
    widths = [min(max(len(line[i]) for line in lines), 40) for i in range(4)]
    texts = []
    for *cells, said in lines:
        start = "  ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True))
        texts.append(f"# {start}  {one_line('; '.join(filter(None, said)))}".rstrip())
    return ABOVE + "".join(f"{text}\n" for text in texts)


def _constants(table: pd.DataFrame, schema: Schema) -> list[str]:
    """Columns that vary in the table, but not between the rows of a person, without saying so."""
    if schema.person not in table:
        return []
    names = [name for name in schema.names if name in table and schema[name].per is None]
    people = table[names].groupby(schema.people(table))
    if not names or people.size().max() == 1:
        return []
    each, all_rows = people.nunique(dropna=False).max(), table[names].nunique()
    return [name for name in names if each[name] == 1 < all_rows[name]]


def _domain(column: Column) -> str:
    """The domain of a column in few words."""
    if column.open:
        return "to be measured"
    if column.is_listed:
        return f"{len(column.domain.categories):,} categories"
    return f"{plain(column.minimum)} to {plain(column.maximum)}"


def _oddities(series: pd.Series, column: Column) -> Iterator[str]:
    """What deserves a look in the values of a drafted column."""
    counts = series[~absent(series)].value_counts()
    counts = counts[counts > 0]
    if len(counts) == 1:
        yield "the same in every row: drop it?"
    if column.other is not None:
        rare = counts[~counts.index.isin(column.categories)].sum() / max(len(series), 1)
        yield f"{rare:.1%} have rarer ones, which count as {column.other!r}"
    span = column.maximum - column.minimum + 1 if column.is_whole else 0
    if 1 < len(counts) <= min(FEW, span / 2):
        yield f"{len(counts)} different values: labels? then kind: categorical, with a list"
    if identifiers.is_code(column.name, pd.Series(column.categories)):
        yield "codes of digits"
    texts = [text for text in column.categories if isinstance(text, str)]
    if texts and all(text.isdecimal() for text in texts if text != column.other):
        yield "codes of digits"
    if len({text.casefold() for text in texts}) < len(texts):
        yield "some differ in capitals only"
    if column.format is not None:
        yield f"written as {column.format}"
        swapped = column.format.replace("%d", "%D").replace("%m", "%d").replace("%D", "%m")
        if "/" in swapped and Datetime.fits(counts.index, swapped):
            yield "days and months could be the other way around"
