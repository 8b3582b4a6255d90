"""Does a table fit the model that it is said to be drawn from? For ``shirley verify --model``.

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
Where rows repeat each other, as under a condition that few rows of the pool fulfil, samples of the
model differ from each other by more than chance: t is divided by what they do.

What is not found: rows that were put in and have the model's margins and pairs, and few rows of
any kind. Values inside one group of cells are not compared either.
"""

from __future__ import annotations

import io
import json
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from copula_shirley.errors import SchemaError, SettingError
from copula_shirley.generator import CHUNK, Generator
from copula_shirley.privacy.ledger import Reason
from copula_shirley.rows.tables import check_extension, read_table
from copula_shirley.rows.writing import formulas, quoted
from copula_shirley.schema.conditions import conditions, given_from_texts
from copula_shirley.schema.domain import FloatArray, Grid
from copula_shirley.schema.schema import Column, Schema
from copula_shirley.schema.values import as_floats

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
#: Of a resolution, or of a number stored in four bytes.
SLACK = 1e-6

Codes = dict[str, NDArray[np.intp]]


@dataclass(frozen=True, eq=False)
class Comparison:
    """What was compared: in words, what is wrong, and what it cannot show."""

    text: str
    faults: Sequence[str] = ()
    not_shown: str = ""


def against_model(path: Path, model: Generator, given: str | None) -> Iterator[Comparison]:
    """Compare a table with a model that was found to add up.

    Parameters
    ----------
    path : a table, CSV or Parquet
    model : the model
    given : the condition under which the rows were drawn, as the card says it
    """
    try:
        table, schema, wrong = _read(path, model)
    except SchemaError as error:
        yield Comparison("", [str(error)])
        return
    columns = "the columns are those of the model, in its order"
    if wrong is not None:
        yield Comparison(columns, [wrong])
        return
    wanted = _condition(given, model.schema_)
    if isinstance(wanted, str):
        yield Comparison("", [wanted])
        return
    first = model.sample(PILOT, random_state=0, given=wanted)
    if check_extension(path) == "parquet":
        columns += " and dtypes, with no other metadata"
        yield Comparison(columns, _stored_otherwise(path, first, model))
    else:
        yield Comparison(columns)
    faults = [text for column in schema for text in _outside(column, table[column.name])]
    faults += [text for name in schema.ids for text in _other_ids(name, table[name])]
    own = {c.name: c.domain.to_numbers(first[c.name]) for c in model.schema_}
    coarse = [c for c in model.schema_ if not _finer(c, own[c.name]).any()]
    # whoever draws numbers finer than the resolution does so in the sample, too
    if not faults:
        numbers = {
            column.name: now.domain.to_numbers(table[now.name])
            for column, now in zip(model.schema_, schema, strict=True)
        }
        faults = [
            f"column {c.name!r}: {_finer(c, numbers[c.name]).sum():,} values are finer than the "
            f"resolution {c.resolution}"
            for c in coarse
            if _finer(c, numbers[c.name]).any()
        ]
    yield Comparison("every value lies in the model's domain", faults)
    if faults:
        return
    if wanted:
        met = "every row fulfils the condition of the card"
        yield Comparison(met, _unmet(wanted, model.schema_, numbers))
    yield _margins(model, own, numbers, wanted)


def _read(path: Path, model: Generator) -> tuple[pd.DataFrame, Schema, str | None]:
    """The table, the schema in whose words it is, and what is wrong with its columns."""
    schemas: list[tuple[Schema, Callable[[Any], Any]]] = [(model.schema_, lambda text: text)]
    if check_extension(path) == "csv" and formulas(model.schema_):
        schemas.append((_escaped(model.schema_), quoted))  # by --escape-formulas
    found = []
    for schema, name_of in schemas:
        table = _with_dates(read_table(path, schema), schema)
        names = [name_of(name) for name in model.columns_]
        same = list(table.columns) == names
        found.append((table, schema, None if same else _other_columns(list(table.columns), names)))
        if same and (len(schemas) == 1 or not _any_outside(table, schema)):
            return found[-1]
    return min(found, key=lambda read: read[2] is not None)


def _with_dates(table: pd.DataFrame, schema: Schema) -> pd.DataFrame:
    """The table with dates that a CSV file holds as text; what is no date stays as it is."""
    for column in schema:
        if column.name in table:
            table[column.name] = column.domain.from_file(table[column.name])
    return table


def _any_outside(table: pd.DataFrame, schema: Schema) -> bool:
    return any(_outside(column, table[column.name]) for column in schema)


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
    left = tuple(replace(column, name=quoted(column.name)) for column in schema.left_out)
    return replace(schema, columns=tuple(columns), left_out=left)


def _other_columns(found: list[Any], wanted: list[str]) -> str:
    missing = [name for name in wanted if name not in found]
    extra = [name for name in found if name not in wanted]
    if missing:
        return f"column {missing[0]!r} of the model is not in the table"
    if extra:
        return f"column {extra[0]!r} of the table is not in the model"
    return "the columns stand in another order than the model draws them"


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


def _outside(column: Column, series: pd.Series) -> list[str]:
    wrong = int(column.domain.outside(series).sum())
    if not wrong:
        return []
    try:
        column.domain.check(series)
    except SchemaError as error:
        return [f"{error} ({wrong:,} rows)"]
    return []


def _other_ids(name: str, series: pd.Series) -> list[str]:
    numbers = as_floats(series)
    if np.array_equal(numbers, np.arange(1, len(numbers) + 1)):
        return []
    return [f"column {name!r} must hold the numbers 1, 2, 3, ... that are generated for it"]


def _finer(column: Column, numbers: FloatArray) -> NDArray[np.bool_]:
    """Numbers that are no multiple of the declared resolution."""
    known = np.where(np.isneginf(numbers), 0.0, numbers)
    rounded = np.where(np.isneginf(numbers), 0.0, column.domain.round(numbers))
    step = column.domain.step_size
    return np.asarray(np.abs(known - rounded) > SLACK * np.maximum(step, np.abs(known)))


# -- conditions --------------------------------------------------------------------


def _condition(given: str | None, schema: Schema) -> dict[str, Any] | str:
    """The condition of a card, or why it cannot be read."""
    if given is None:
        return {}
    texts: list[str] = []
    for part in given.split(", "):  # a category may hold a comma
        if part.partition("=")[0] in schema.names and "=" in part:
            texts.append(part)
        elif texts:
            texts[-1] += f", {part}"
        else:
            texts = [part]
    try:
        return given_from_texts(texts, schema)
    except SettingError as error:
        return f"the condition of the card cannot be read: {error}"


def _unmet(wanted: dict[str, Any], schema: Schema, numbers: dict[str, FloatArray]) -> list[str]:
    found = []
    for name, condition in conditions(wanted, schema).items():
        unmet = (numbers[name] < condition.low) | (numbers[name] > condition.high)
        if unmet.any():
            found.append(
                f"column {name!r}: {unmet.sum():,} rows do not fulfil the condition of the card"
            )
    return found


# -- margins -----------------------------------------------------------------------


def _margins(
    model: Generator,
    pilot: dict[str, FloatArray],
    numbers: dict[str, FloatArray],
    wanted: dict[str, Any],
) -> Comparison:
    """Margins and pairs of the table against those of rows that the model draws."""
    n = len(next(iter(numbers.values())))
    if n == 0:
        return Comparison("the table has no rows, so nothing was compared")
    if any(use.reason is Reason.NOISE_OFF for use in model.ledger_.unprotected):
        # without noise the tilt of a vine has no bound: pools of candidate rows differ too much
        return Comparison(
            "the noise of the model is off, so margins were not compared",
            not_shown="that margins and pairs are those of the model: its noise is off, nothing is "
            "proved of it",
        )
    grid = Grid(model.schema_)
    size = min(n, MOST_ROWS)
    samples = []
    for seed in range(1, SAMPLES + 1):
        rows = model.sample(size, random_state=seed, given=wanted)
        drawn = {c.name: c.domain.to_numbers(rows[c.name]) for c in model.schema_}
        samples.append(grid.codes(drawn))
    own, first = grid.codes(numbers), grid.codes(pilot)
    names = list(model.schema_.names)
    pairs = list(combinations(names, 2))
    pairs = pairs[:: math.ceil(len(pairs) / MOST_PAIRS)] if pairs else []
    maps: dict[int, Codes] = {}
    for parts in (GROUPS, PAIR_GROUPS):
        maps[parts] = {
            c.name: _groups(first[c.name], grid.sizes[c.name], not c.nominal, parts)
            for c in model.schema_
        }
    compared = [((name,), GROUPS) for name in names] + [(pair, PAIR_GROUPS) for pair in pairs]
    chance, faults = math.log(SUSPICION / len(compared)), []
    for about, parts in compared:
        group_of = _joint(about, maps[parts])
        sizes = math.prod(int(maps[parts][name].max()) + 1 for name in about)
        mine = np.bincount(group_of(own), minlength=sizes).astype(float)
        theirs = [np.bincount(group_of(s), minlength=sizes).astype(float) for s in samples]
        if log_chance(mine, theirs) < chance:
            faults.append(
                f"the {'margin' if len(about) == 1 else 'pair'} of "
                f"{' and '.join(map(repr, about))} is not the model's"
            )
    if len(faults) > 5:
        faults = [*faults[:5], f"... and {len(faults) - 5} more margins or pairs"]
    under = " under the condition of the card" if wanted else ""
    against = f"{n:,} rows against {size * SAMPLES:,} drawn{under}"
    text = f"{len(names)} margins and {len(pairs)} pairs are those of the model ({against})"
    return Comparison(
        text,
        faults,
        "that no rows were put in, or all are real ones: rows that have the model's margins and "
        "pairs are not found, nor are few rows of any kind, nor what is hidden in the order of "
        "rows or the spelling of numbers; "
        f"with {n:,} rows a tenth of the values must have become "
        f"{0.1 + _least_shift(n, size * SAMPLES, len(compared)):.1%} of them to be found (a true "
        f"table is suspected with a chance of at most {SUSPICION:g})",
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


def _joint(names: Sequence[str], maps: Codes) -> Callable[[Codes], NDArray[np.intp]]:
    def group_of(codes: Codes) -> NDArray[np.intp]:
        found = np.zeros(len(codes[names[0]]), dtype=np.intp)
        for name in names:
            found = found * (int(maps[name].max()) + 1) + maps[name][codes[name]]
        return found

    return group_of


def log_chance(table: FloatArray, samples: Sequence[FloatArray]) -> float:
    """Logarithm of a bound on the chance that a table of the model differs so much from samples.

    Parameters
    ----------
    table : rows of the table in each group
    samples : rows of each sample of the model
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
