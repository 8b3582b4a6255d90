"""Does a table fit the model that it is said to be drawn from? For ``shirley verify --from``.

Every value is held against the model's domain, and the margins, and margins of pairs, against
those of rows that the model draws once more. Rows are drawn by the public methods of a generator,
so this works for every one of them.

The chance of a false alarm. Cells are grouped by a first sample of the model. Let the table's n
rows and N more rows of the model be independent draws, n <= N. Given both together the table is n
of n + N rows drawn without replacement. The statistic t = n D(table || both together) is convex in
the table's counts, so its moment generating function is at most that of n rows drawn with
replacement (Hoeffding 1963, theorem 4), which is at most (1 - s)^-(k - 1) for k groups with rows
(Agrawal 2020, finite-sample concentration of the multinomial in relative entropy). By Chernoff a
true table passes t with a chance of at most exp(-t) (e t / d)^d, d = k - 1, for every n. With
n > N the two change places. That bound, times the number of comparisons, must be below
``SUSPICION``. Rows of a vine are spread more evenly than independent ones, which makes t smaller.
Where rows repeat each other, as under a condition that few rows of the pool fulfil, or in columns
that are the same in all rows of a person, samples of the model differ from each other by more than
chance: t is divided by what they do.

What is not found: rows that were put in and have the model's margins and pairs, and few rows of
any kind. Values inside one group of cells are not compared either.
"""

from __future__ import annotations

import io
import json
import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from copula_shirley.errors import SchemaError
from copula_shirley.fitted import CHUNK
from copula_shirley.generator import Generator
from copula_shirley.privacy.ledger import Reason
from copula_shirley.publish.made_columns import made_faults, people_in
from copula_shirley.rows.packed import is_packed
from copula_shirley.rows.tables import check_extension, read_table
from copula_shirley.rows.writing import formulas, quoted
from copula_shirley.rules.constants import constants_of
from copula_shirley.schema.conditions import conditions, given_from_card
from copula_shirley.schema.domain import FloatArray, Grid
from copula_shirley.schema.schema import Column, Schema

if TYPE_CHECKING:
    from copula_shirley.publish.verify import Verdict

#: Chance that a true table is suspected.
SUSPICION = 1e-9
#: Samples of the model that the table is compared with. Each is drawn at once, like the chunks of
#: the table: a vine's pool of candidate rows is as large as they need.
SAMPLES, MOST_ROWS = 8, CHUNK
#: Rows of the sample by which cells are grouped.
PILOT = 5_000
#: Groups of a column: in its margin, and in pairs.
GROUPS, PAIR_GROUPS = 20, 4
MOST_PAIRS = 500
#: Margins and pairs that are named; the others are counted.
NAMED = 5
#: Share of a resolution, or of a number stored in four bytes, that is rounding.
SLACK = 1e-6

Codes = dict[str, NDArray[np.intp]]


def against_model(path: Path, model: Generator, given: str | None, verdict: Verdict) -> None:
    """Compare a table with a model that was found to add up, and note what was found.

    ``given`` is the condition under which the rows were drawn, as the card says it.
    """
    table, schema = _read(path, model)
    if check_extension(path) not in ("csv", "parquet") or is_packed(path):
        verdict.not_shown.append(
            f"what {path.name} holds beside these rows, in which real ones could be hidden: other "
            "sheets or members, labels, comments, properties"
        )
    columns = "the columns are those of the model, in its order"
    words = model.columns_ if schema is model.table_schema_ else list(map(quoted, model.columns_))
    if wrong := _other_columns(list(table.columns), words):
        verdict.note(columns, [wrong])
        return
    wanted = given_from_card(given or "", model.table_schema_)
    first = model.sample(PILOT, random_state=0, given=wanted)
    if check_extension(path) == "parquet":
        columns += " and dtypes, with no other metadata"
        verdict.note(columns, _stored_otherwise(path, first, model))
    else:
        verdict.note(columns)
    pilot = {c.name: c.domain.to_numbers(first[c.name]) for c in model.table_schema_}
    numbers, faults = _numbers(table, schema, model, pilot)
    verdict.note("every value lies in the model's domain", faults)
    if faults:
        return
    if checks := [*model.coordinates_.checks, *constants_of(model.table_schema_)]:
        broken = {str(check.rule): check.judged(numbers).sum() for check in checks}
        faults = [f"{rows:,} rows break the rule {rule!r}" for rule, rows in broken.items() if rows]
        rules = f"the {len(checks)} rules" if len(checks) > 1 else "the rule"
        verdict.note(f"every row keeps {rules} of the schema", faults)
    unmet = {
        name: (~wish.met(numbers[name])).sum()
        for name, wish in conditions(wanted, model.table_schema_).items()
    }
    if wanted:
        text = "column {!r}: {:,} rows do not fulfil the condition of the card"
        faults = [text.format(name, rows) for name, rows in unmet.items() if rows]
        verdict.note("every row fulfils the condition of the card", faults)
    for name, left in model.table_schema_.replaced.items():
        if left.replace == "fake":
            verdict.not_shown.append(f"that the values of {name!r} are made up and not real ones")
    _compare_margins(model, pilot, numbers, wanted, verdict)


def _read(path: Path, model: Generator) -> tuple[pd.DataFrame, Schema]:
    """The table, and the schema in whose words it is: quoted where formulas were escaped."""
    found = []
    escapable = check_extension(path) == "csv" and formulas(model.table_schema_)
    for schema in [model.table_schema_, _escaped(model.table_schema_)][: 1 + bool(escapable)]:
        table = read_table(path, schema, left_out=True)
        for column in schema:  # dates that a CSV file holds as text; what is none stays as it is
            if column.name in table:
                table[column.name] = column.domain.from_file(table[column.name])
        fits = not {c.name for c in schema} - set(table.columns)
        fits = fits and not any(c.domain.outside(table[c.name]).any() for c in schema)
        found.append((fits, table, schema))
    _, table, schema = max(found, key=lambda read: read[0])
    return table, schema


def _escaped(schema: Schema) -> Schema:
    """A schema in the words of a table whose formulas were escaped."""
    columns = [
        replace(
            column,
            name=quoted(column.name),
            categories=tuple(map(quoted, column.categories)),
            other=quoted(column.other),
            format=quoted(column.format),
        )
        for column in schema
    ]
    left = tuple(
        replace(column, name=quoted(column.name), pattern=quoted(column.pattern))
        for column in schema.left_out
    )
    person = quoted(schema.person)
    return replace(schema, columns=tuple(columns), left_out=left, person=person)


def _other_columns(found: list[Any], wanted: list[str]) -> str | None:
    missing = [name for name in wanted if name not in found]
    extra = [name for name in found if name not in wanted]
    if missing:
        return f"column {missing[0]!r} of the model is not in the table"
    if extra:
        return f"column {extra[0]!r} of the table is not in the model"
    return None if found == wanted else "the columns stand in another order than the model's"


def _stored_otherwise(path: Path, sample: pd.DataFrame, model: Generator) -> list[str]:
    """Columns that are stored otherwise than rows of the model, and metadata that those lack."""
    buffer = io.BytesIO()
    pq.write_table(pa.Table.from_pandas(sample, preserve_index=False), buffer)
    schemas = [pq.read_schema(file) for file in (path, buffer)]
    found, wanted = (schema.empty_table().to_pandas().dtypes for schema in schemas)
    faults = [
        f"column {name!r} is stored as {found[name]}, the model stores it as {wanted[name]}"
        for name in model.columns_
        # an object may be anything, and is stored as what the first rows hold
        if model.dtypes_.get(name) != "object" and str(found[name]) != str(wanted[name])
    ]
    if not faults and _metadata(path, schemas[0]) != _metadata(buffer, schemas[1]):
        faults.append("the file carries other metadata than writing rows of the model makes")
    return faults


def _metadata(file: Path | io.BytesIO, schema: pa.Schema) -> dict[str, Any]:
    """What a Parquet file says beside its values, in which rows could be hidden."""
    of_fields = {field.name: field.metadata for field in schema if field.metadata}
    of_file = dict(pq.read_metadata(file).metadata or {})
    of_file.pop(b"ARROW:schema", None)  # is what ``schema`` was read from
    pandas = json.loads(of_file.pop(b"pandas", b"{}"))
    columns = [
        {key: value for key, value in column.items() if key not in ("pandas_type", "numpy_type")}
        for column in pandas.pop("columns", [])
    ]
    for version in ("creator", "pandas_version", "attributes"):
        pandas.pop(version, None)
    return {"file": of_file, "fields": of_fields, "pandas": pandas, "columns": columns}


def _numbers(
    table: pd.DataFrame, schema: Schema, model: Generator, pilot: dict[str, FloatArray]
) -> tuple[dict[str, FloatArray], list[str]]:
    """The numbers of a table, and what no row of the model holds."""
    numbers: dict[str, FloatArray] = {}
    faults = []
    for column, own in zip(model.table_schema_, schema, strict=True):
        series = table[own.name]
        try:
            own.domain.check(series)
        except SchemaError as error:
            faults.append(f"{error} ({own.domain.outside(series).sum():,} rows)")
            continue
        numbers[column.name] = own.domain.to_numbers(series)
        finer = _finer(column, numbers[column.name]).sum()
        # whoever draws numbers finer than the resolution does so in the sample, too
        if finer and not _finer(column, pilot[column.name]).any():
            faults.append(
                f"column {column.name!r}: {finer:,} values are finer than the resolution "
                f"{column.resolution}"
            )
    people = people_in(table, schema)
    if people is not None:
        numbers[str(model.table_schema_.person)] = people.astype(float)
    return numbers, faults + made_faults(table, schema, people)


def _finer(column: Column, numbers: FloatArray) -> NDArray[np.bool_]:
    """Numbers that are no multiple of the declared resolution."""
    known = np.where(np.isneginf(numbers), 0.0, numbers)
    rounded = np.where(np.isneginf(numbers), 0.0, column.domain.round(numbers))
    step = column.domain.step_size
    return np.asarray(np.abs(known - rounded) > SLACK * np.maximum(step, np.abs(known)))


# -- margins -----------------------------------------------------------------------


def _compare_margins(
    model: Generator,
    pilot: dict[str, FloatArray],
    numbers: dict[str, FloatArray],
    wanted: dict[str, Any],
    verdict: Verdict,
) -> None:
    """Compare margins and pairs of the table with those of rows that the model draws."""
    n = len(next(iter(numbers.values())))
    if n == 0:
        verdict.note("the table has no rows, so nothing was compared")
        return
    if any(use.reason is Reason.NOISE_OFF for use in model.ledger_.unprotected):
        # without noise reweighting has no bound: pools of candidate rows differ too much
        verdict.note("the noise of the model is off, so margins were not compared")
        verdict.not_shown.append(
            "that margins and pairs are those of the model: its noise is off, nothing is proved "
            "of it"
        )
        return
    grid, size = Grid(model.table_schema_), min(n, MOST_ROWS)
    samples = []
    for seed in range(1, SAMPLES + 1):
        rows = model.sample(size, random_state=seed, given=wanted)
        drawn = {c.name: c.domain.to_numbers(rows[c.name]) for c in model.table_schema_}
        samples.append(grid.codes(drawn))
    own, first = grid.codes(numbers), grid.codes(pilot)
    pairs = list(combinations(model.table_schema_.names, 2))
    pairs = pairs[:: math.ceil(len(pairs) / MOST_PAIRS)] if pairs else []
    compared: list[tuple[tuple[str, ...], int]] = [
        ((name,), GROUPS) for name in model.table_schema_.names
    ]
    compared += [(pair, PAIR_GROUPS) for pair in pairs]
    groups = {
        (c.name, parts): _groups(first[c.name], grid.sizes[c.name], not c.nominal, parts)
        for c in model.table_schema_
        for parts in (GROUPS, PAIR_GROUPS)
    }
    chance, faults = math.log(SUSPICION / len(compared)), []
    for about, parts in compared:
        maps = {name: groups[name, parts] for name in about}
        shape = [int(group.max()) + 1 for group in maps.values()]
        mine, *theirs = (
            np.bincount(
                np.ravel_multi_index([g[codes[name]] for name, g in maps.items()], shape),
                minlength=math.prod(shape),
            ).astype(float)
            for codes in (own, *samples)
        )
        if log_chance(mine, theirs) < chance:
            kind = "margin" if len(about) == 1 else "pair"
            faults.append(f"the {kind} of {' and '.join(map(repr, about))} is not the model's")
    if len(faults) > NAMED:
        faults = [*faults[:NAMED], f"... and {len(faults) - NAMED} more margins or pairs"]
    under = " under the condition of the card" if wanted else ""
    verdict.note(
        f"{len(model.table_schema_)} margins and {len(pairs)} pairs are those of the model "
        f"({n:,} rows against {size * SAMPLES:,} drawn{under})",
        faults,
    )
    least = 0.1 + _least_shift(n, size * SAMPLES, len(compared))
    verdict.not_shown.append(
        "that no rows were put in, or all are real ones: rows that have the model's margins and "
        "pairs are not found, nor are few rows of any kind, nor what is hidden in the order of "
        f"rows or the spelling of numbers; with {n:,} rows a tenth of the values must have become "
        f"{least:.1%} of them to be found (a true table is suspected with a chance of at most "
        f"{SUSPICION:g})"
    )


def _groups(codes: NDArray[np.intp], size: int, ordered: bool, parts: int) -> NDArray[np.intp]:
    """A group for each cell: about ``parts`` of equal mass, and one of cells that no row is in.

    Cells stand in their order, those of categories by how many rows they have.
    """
    counts = np.bincount(codes, minlength=size)
    order = np.flatnonzero(counts) if ordered else np.argsort(-counts, kind="stable")
    groups, current, filled = np.zeros(size, dtype=np.intp), 1, 0
    for cell in order[counts[order] > 0]:
        groups[cell] = current
        filled += counts[cell]
        if filled * parts >= len(codes):
            current, filled = current + 1, 0
    return np.unique(groups, return_inverse=True)[1]


def log_chance(table: FloatArray, samples: Sequence[FloatArray]) -> float:
    """Logarithm of a bound on the chance that a table of the model differs so much from samples.

    Both are numbers of rows in each group.
    """
    model: FloatArray = np.sum(samples, axis=0)
    degrees = int(np.count_nonzero(table + model)) - 1
    free = (len(samples) - 1) * (int(np.count_nonzero(model)) - 1)
    shares = model / model.sum()
    between = 2 * sum(_divergence(one, shares) for one in samples) / max(free, 1)
    both = (table + model) / (table.sum() + model.sum())
    t = _divergence(table if table.sum() <= model.sum() else model, both) / max(between, 1.0)
    if degrees == 0 or t <= degrees:
        return 0.0
    return -t + degrees + degrees * math.log(t / degrees)


def _divergence(counts: FloatArray, shares: FloatArray) -> float:
    """Number of rows times D(counts || shares), in nats."""
    seen = counts > 0
    found = counts[seen] * np.log(counts[seen] / (counts.sum() * shares[seen]))
    return max(float(found.sum()), 0.0)


def _least_shift(n: int, drawn: int, comparisons: int) -> float:
    """What share of all rows must have moved into one of ten equal groups to be found."""
    chance = math.log(SUSPICION / comparisons)
    even = np.full(10, 0.1)
    for shift in np.linspace(0.0, 0.9, 901)[1:]:
        moved = even - shift / 9
        moved[0] = 0.1 + shift
        if log_chance(n * moved, [drawn * even]) < chance:
            return float(shift)
    return 1.0
