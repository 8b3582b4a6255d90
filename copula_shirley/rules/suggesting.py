"""Rules that all rows of a table keep, proposed for a review.

What is found in the rows is a fact about them, so every suggestion is ``drafted``: nothing is
proved of a fit under it until somebody declares it, with a source. A suggestion needs ``ENOUGH``
rows that it binds, and must be more than chance: with values of other rows it would often be
broken. Looked for are, in this order:

- columns that are computed from others (``copula_shirley.rules.arithmetic``),
- columns that are missing exactly where another one is missing, or has certain values,
- columns of few values that follow from another one,
- orders.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import pairwise, permutations

import numpy as np
import pandas as pd

from copula_shirley.errors import SchemaError
from copula_shirley.rules.arithmetic import computed_columns
from copula_shirley.rules.coordinates import Coordinates
from copula_shirley.rules.seen import ENOUGH, Places, Seen, Suggestion
from copula_shirley.schema.column import Column
from copula_shirley.schema.expressions import LENGTH, MOMENT, NUMBER
from copula_shirley.schema.rules import Computed, Function, Implies, Order, Rule
from copula_shirley.schema.schema import Schema
from copula_shirley.schema.values import plain

#: Suggestions of one draft.
MOST = 30
#: Values of a column that says where another one is missing.
MOST_STATES = 50
#: Rows of a table that is written out; longer ones are left to be learned.
MOST_WRITTEN = 50
#: Rows for each value of a column from which another one follows.
ROWS_EACH = 5
#: Share of rows that must break an order when one of its values is taken from another row.
BROKEN_BY_CHANCE = {NUMBER: 0.2, MOMENT: 0.01, LENGTH: 0.01}
#: Share of rows that must break a function so.
VARIED = 0.02


def suggested(table: pd.DataFrame, schema: Schema) -> tuple[Schema, list[str]]:
    """The schema with rules that the rows keep, and a line for each about how it was found.

    Rules that it has stay; none is added that is about the same, or does not go with them.
    """
    seen, notes = Seen(table, schema), []
    finds: list[Iterable[Suggestion]] = [computed_columns(seen), _gaps(seen), _functions(seen)]
    for several in (*finds, _orders(seen)):
        for found in several:
            new = [rule for rule in found.rules if not _known(rule, schema)]
            more = _with(schema, new, seen)
            if new and more is not None:
                schema = more
                notes += [f"suggested rule {str(rule)!r}: {found.how}" for rule in new]
            if len(notes) >= MOST:
                return schema, [*notes, f"more than {MOST} rules could be suggested"]
    return schema, notes


def _known(rule: Rule, schema: Schema) -> bool:
    """Whether the schema has a rule about the same."""
    if isinstance(rule, Implies):
        return any(rule.entry() == other.entry() for other in schema.rules)
    derived = {other.column for other in schema.rules if isinstance(other, Computed | Function)}
    if isinstance(rule, Computed | Function):
        return rule.column in derived
    names = set(rule.names)
    orders = [set(other.names) for other in schema.rules if isinstance(other, Order)]
    sums = [set(other.names) for other in schema.rules if isinstance(other, Computed)]
    within = any(names <= own for own in sums) and bool(names & derived)
    return within or any(names <= own for own in orders)


def _with(schema: Schema, rules: list[Rule], seen: Seen) -> Schema | None:
    """The schema with more rules, if they go together and every row keeps them."""
    try:
        more = replace(schema, rules=(*schema.rules, *rules))
        checks = Coordinates.of(more).checks[len(schema.rules) :]
    except SchemaError:
        return None
    return None if any(check.judged(seen.values).any() for check in checks) else more


# -- missing values ------------------------------------------------------------------


def _gaps(seen: Seen) -> Iterator[Suggestion]:
    """Columns that are missing exactly where another one says so."""
    for name in seen.columns:
        gaps = seen.missing(name)
        if min(gaps.sum(), (~gaps).sum()) < ENOUGH:
            continue
        found = min(_tellers(seen, name), key=lambda one: one[0], default=None)
        if found is not None:
            _, missing, present = found
            parts = ((missing, "missing"), (present, "present"))
            rules = tuple(
                Implies((when,), ((name, state),), provenance="drafted") for when, state in parts
            )
            yield Suggestion(rules, f"so in all {len(gaps):,} rows; {gaps.sum():,} are missing")


def _tellers(seen: Seen, name: str) -> Iterator[tuple[int, tuple[str, object], tuple[str, object]]]:
    """Columns that tell where one is missing: how many values they have, and both conditions."""
    gaps = seen.missing(name)
    for other, column in seen.columns.items():
        codes = seen.codes(other) if other != name else None
        if other != name and np.array_equal(seen.missing(other), gaps):
            if list(seen.columns).index(other) < list(seen.columns).index(name):
                yield 2, (other, "missing"), (other, "present")
        elif codes is not None and not seen.missing(other).any():
            size = column.domain.cells().size
            if size > MOST_STATES:
                continue
            counts = np.zeros((size, 2), dtype=np.int64)
            np.add.at(counts, (codes, gaps.astype(np.intp)), 1)
            if not (counts > 0).all(axis=1).any():
                values = _values(column)
                said = [
                    tuple(v for v, some in zip(values, counts[:, i] > 0, strict=True) if some)
                    for i in (1, 0)
                ]
                first, second = (one[0] if len(one) == 1 else one for one in said)
                yield size, (other, first), (other, second)


# -- functions -----------------------------------------------------------------------


def _functions(seen: Seen) -> Iterator[Suggestion]:
    """Columns of few values that follow from another one, each from that of the fewest values."""
    listed = {name: codes for name in seen.columns if (codes := seen.codes(name)) is not None}
    place = list(listed)
    sizes = {name: len(np.unique(codes)) for name, codes in listed.items()}
    for name, own in listed.items():
        shares = np.bincount(own) / seen.size
        varied = 1 - float((shares**2).sum())
        if varied < VARIED or seen.size * varied < ENOUGH:
            continue
        for other in sorted(listed, key=lambda n: (sizes[n], place.index(n))):
            finer = (sizes[other], place.index(name)) > (sizes[name], place.index(other))
            few = sizes[other] * ROWS_EACH <= (seen.size - sizes[other]) * varied
            if other != name and finer and few and _follows(seen, own, listed[other]):
                rule = _function(seen.columns[name], own, seen.columns[other], listed[other])
                how = f"each of {sizes[other]:,} values goes with one in all {seen.size:,} rows"
                yield Suggestion((rule,), how)
                break


def _follows(seen: Seen, own: Places, other: Places) -> bool:
    """Whether each value of the other column goes with one of this."""
    for rows in (seen.few, slice(None)):
        code = other[rows].astype(np.int64) * (int(own.max()) + 1) + own[rows]
        if len(np.unique(code)) > len(np.unique(other[rows])):
            return False
    return True


def _function(column: Column, own: Places, of: Column, keys: Places) -> Function:
    """The rule, with its table if that is short."""
    distinct, first = np.unique(keys, return_index=True)
    short = len(distinct) <= MOST_WRITTEN
    if not short or not all(one.is_listed or one.is_whole for one in (column, of)):
        return Function(column.name, (of.name,), None, provenance="drafted")
    values, known = _values(column), _values(of)
    table = tuple((known[key], values[own[i]]) for key, i in zip(distinct, first, strict=True))
    gaps = len(distinct) < len(known)
    default = values[int(np.bincount(own).argmax())] if gaps else None
    return Function(column.name, (of.name,), table, default, provenance="drafted")


def _values(column: Column) -> list[object]:
    """The value of each cell of a column; None is a missing one."""
    first = column.domain.cells().first
    found = column.domain.from_numbers(first).astype(object).tolist()
    return [
        None if np.isneginf(number) else plain(value)
        for number, value in zip(first, found, strict=True)
    ]


# -- orders ----------------------------------------------------------------------------


def _orders(seen: Seen) -> Iterator[Suggestion]:
    """Chains of columns of which each is at most the next one."""
    for kind, least in BROKEN_BY_CHANCE.items():
        below: dict[tuple[str, str], float] = {}
        for low, high in permutations(seen.of_quantity(kind), 2):
            share = _broken_by_chance(seen, low, high)
            if share is not None and share >= least and (high, low) not in below:
                below[low, high] = share
        for chain in _chains(set(below)):
            share = min(below[pair] for pair in pairwise(chain))
            how = f"so in all rows that have the values; by chance {share:.0%} would not"
            yield Suggestion((Order(tuple(chain), provenance="drafted"),), how)


def _broken_by_chance(seen: Seen, low: str, high: str) -> float | None:
    """The share of rows that would break an order with values of other rows; None if any does."""
    below, above = seen.amounts(low), seen.amounts(high)
    with np.errstate(invalid="ignore"):
        if (below[seen.few] > above[seen.few]).any() or (below > above).any():
            return None
        both = np.isfinite(below) & np.isfinite(above)
        if both.sum() < ENOUGH:
            return None
        chance = below[both][: len(seen.few)], np.random.default_rng(0).permutation(above[both])
        return float((chance[0] > chance[1][: len(chance[0])]).mean())


def _chains(below: set[tuple[str, str]]) -> Iterator[list[str]]:
    """Paths that hold all pairs, but for those that follow from others."""
    passed = {(a, b) for a, c in below for d, b in below if c == d}
    left = sorted(below - passed)
    while left:
        heads = {b for _, b in left}
        start = next((pair for pair in left if pair[0] not in heads), left[0])
        chain = list(start)
        left.remove(start)
        while step := next((pair for pair in left if pair[0] == chain[-1]), None):
            if step[1] in chain:
                break
            chain.append(step[1])
            left.remove(step)
        yield chain
