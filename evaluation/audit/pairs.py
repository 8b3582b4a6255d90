"""The built-in pairs of neighbouring tables, and those of a user.

They are worst cases for generators of this kind; they are small, so that a fit is fast. In each the
*first* table holds the telling record:

- ``outlier``: columns in lockstep; the record sits alone in a far corner, against the others.
- ``tree-flip``: exactly symmetric in columns b and c, so that a is as near to b as to c; the record
  breaks the tie, and with it the first tree of a vine.
- ``category``: the record is the only one with a (declared) category, and with a number. The
  categories are ordered, so that no encoder and no target is needed.
- ``duplicates``: two kinds of rows, many of each; the record is one more of a kind. Nothing but
  counts can tell, and all columns tell at once.
- ``missing``: the record is the only one with a missing value.
- ``label``: as ``category``, without an order; for generators that take such columns as they are.
- ``person``: a person with three rows in one cell; for generators that protect people.
- ``canaries``: hundreds of records, each there or not by a coin of its own
  (``evaluation.audit.canaries``); for generators that keep a transcript of noisy answers.
  ``canary-people`` has people of three rows.
- ``questions``: no neighbours, but a table that is large enough to make PrivateVine ask for parts
  of cells and tables beyond the vine, and one of independent columns. Only the noise of the answers
  is looked at (``evaluation.audit.noise_check``), in twenty fits to each, whatever the number of
  runs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from copula_shirley.errors import SettingError
from copula_shirley.evaluation.audit.neighbours import Canaries, Pair, Questions
from copula_shirley.rows.tables import read_table
from copula_shirley.schema.schema import Column, Schema

#: Common rows of the small pairs.
ROWS = 60
#: Categories of a column of the canaries' tables, and common rows of each combination.
CATEGORIES, COMMON = 20, 5


def _schema(names: Sequence[str], maximum: int = 9, **more: Any) -> Schema:
    columns = (Column(name, "integer", minimum=0, maximum=maximum) for name in names)
    return Schema(tuple(columns), **more)


def _pair(
    name: str,
    relation: str,
    common: pd.DataFrame,
    record: Sequence[Any],
    ordinary: Sequence[Any],
    schema: Schema,
) -> Pair:
    """A pair whose last unit is the record, or is not there, or is an ordinary one."""
    each = schema.max_rows

    def with_last(row: Sequence[Any]) -> pd.DataFrame:
        last = pd.DataFrame([list(row)] * each, columns=common.columns)
        return pd.concat([common, last], ignore_index=True)

    second = common if relation == "add-remove" else with_last(ordinary)
    unit = "row" if schema.person is None else "person"
    return Pair(name, with_last(record), second, schema, relation, unit)


def outlier(relation: str) -> Pair:
    common = pd.DataFrame(dict.fromkeys("abc", np.arange(ROWS) % 6))
    return _pair("outlier", relation, common, (9, 0, 9), (2, 2, 2), _schema("abc"))


def tree_flip(relation: str) -> Pair:
    rng = np.random.default_rng(0)
    a = rng.integers(0, 10, ROWS // 2)
    b, c = (np.clip(a + rng.integers(-2, 3, len(a)), 0, 9) for _ in range(2))
    halves = [pd.DataFrame({"a": a, "b": x, "c": y}) for x, y in ((b, c), (c, b))]
    common = pd.concat(halves, ignore_index=True)
    return _pair("tree-flip", relation, common, (9, 9, 0), (9, 0, 9), _schema("abc"))


def category(relation: str, *, ordered: bool = True, name: str = "category") -> Pair:
    steps = np.arange(ROWS)
    common = pd.DataFrame(
        {"job": np.array(["law", "arts", "farm"])[steps % 3], "x": steps % 5, "y": (steps // 3) % 5}
    )
    job = Column("job", "categorical", categories=("arts", "farm", "law", "none"), ordered=ordered)
    schema = Schema((job, *_schema("xy").columns))
    return _pair(name, relation, common, ("none", 9, 4), ("law", 0, 0), schema)


def duplicates(relation: str, columns: int = 4) -> Pair:
    names = [f"x{j}" for j in range(columns)]
    common = pd.DataFrame(dict.fromkeys(names, np.arange(ROWS) % 2))
    ends = [1] * columns, [0] * columns
    return _pair("duplicates", relation, common, *ends, _schema(names, 1))


def missing(relation: str) -> Pair:
    steps = np.arange(ROWS)
    common = pd.DataFrame({"a": steps % 6, "b": steps % 4, "c": steps % 6})
    schema = Schema(
        tuple(Column(n, "integer", minimum=0, maximum=9, missing=n != "c") for n in "abc")
    )
    return _pair("missing", relation, common, (np.nan, 3, 5), (2, 3, 5), schema)


def person(relation: str) -> Pair:
    """Twenty people with three rows each; one more has all of them in one cell."""
    steps = np.arange(ROWS)
    who = [f"p{i // 3}" for i in steps]
    common = pd.DataFrame({"who": who, "x": steps % 4, "y": (steps // 4) % 4})
    schema = _schema("xy", 4, person="who", max_rows=3)
    return _pair("person", relation, common, ("new", 4, 4), ("new", 0, 0), schema)


def canaries(relation: str, rows_each: int | None = None) -> Canaries:
    """The built-in canaries: single rows, or people with ``rows_each`` rows."""
    names = [f"c{i:02d}" for i in range(CATEGORIES)]
    cells = np.arange(CATEGORIES**2)
    # a canary that is replaced goes where no margin is the same
    other = (cells + (CATEGORIES + 1) * (CATEGORIES // 2)) % CATEGORIES**2

    def rows(which: NDArray[np.intp], person: str) -> pd.DataFrame:
        table = pd.DataFrame({"x": which // CATEGORIES, "y": which % CATEGORIES})
        table = table.map(lambda i: names[i])
        return table if rows_each is None else table.assign(who=[f"{person}{i}" for i in which])

    common = pd.concat([rows(cells, f"{i} ") for i in range(COMMON)])
    first, second = (rows(np.repeat(which, rows_each or 1), "") for which in (cells, other))
    if rows_each is not None:
        second["who"] = first["who"] + "'"
    columns = tuple(Column(name, "categorical", categories=tuple(names)) for name in "xy")
    people: dict[str, Any] = {} if rows_each is None else {"person": "who", "max_rows": rows_each}
    return Canaries(
        "canaries" if rows_each is None else "canary-people",
        pd.concat([common, first], ignore_index=True),
        pd.concat([common, second][: 1 + (relation != "add-remove")], ignore_index=True),
        Schema(columns, **people),
        relation,
        "row" if rows_each is None else "person",
        common=len(common),
        count=len(cells),
    )


def questions(relation: str, rows: int = 60_000, few: int = 5_000) -> Questions:
    """Columns that depend on the last and on the first one, and one of wide cells.

    The second table has fewer rows, and each column in an order of its own.
    """
    rng = np.random.default_rng(0)
    first = rng.integers(0, 10, rows)
    columns = {"a": first}
    for name, last in ("ba", "cb", "dc"):
        near = (columns[last] + first) // 2 + rng.integers(-1, 2, rows)
        columns[name] = np.where(rng.random(rows) < 0.8, near, rng.integers(0, 10, rows)).clip(0, 9)
    columns["wide"] = first * 100 + rng.integers(0, 100, rows)
    table = pd.DataFrame(columns)
    schema = Schema((*_schema("abcd").columns, *_schema(["wide"], 1023).columns))
    second = pd.DataFrame({name: rng.permutation(table[name])[:few] for name in table})
    return Questions("questions", table, second, schema, relation)


#: Builders of the pairs by name; each takes the relation.
PAIRS: dict[str, Callable[[str], Pair]] = {
    "outlier": outlier,
    "tree-flip": tree_flip,
    "category": category,
    "duplicates": duplicates,
    "missing": missing,
    "label": partial(category, ordered=False, name="label"),
    "person": person,
    "canaries": canaries,
    "canary-people": partial(canaries, rows_each=3),
    "questions": questions,
}
#: Those whose unit is a row; the last two only for generators with a transcript.
DEFAULT_PAIRS = (
    *("outlier", "tree-flip", "category", "duplicates", "missing"),
    *("canaries", "questions"),
)


def built_in(name: str, relation: str) -> Pair:
    """The built-in pair of a name.

    Examples
    --------
    >>> pair = built_in("category", "replace-one")
    >>> len(pair.first), pair.differing["job"].tolist()
    (61, ['none', 'law'])
    """
    if name not in PAIRS:
        raise SettingError(f"pair ({name!r}) must be one of {', '.join(PAIRS)}")
    return PAIRS[name](relation)


def read_pair(
    first: str | Path,
    second: str | Path,
    schema: str | Path,
    missing_texts: Sequence[str],
    relation: str,
) -> Pair:
    """Two files of a user and their schema; refused if they are not neighbours."""
    declared = Schema.read(schema)
    one, other = (read_table(path, declared, missing_texts) for path in (first, second))
    unit = "row" if declared.person is None else "person"
    return Pair("tables", one, other, declared, relation, unit)
