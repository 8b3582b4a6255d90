"""Tables written to files, in chunks; texts that a spreadsheet would run as formulas."""

from __future__ import annotations

import csv
from collections.abc import Iterable
from itertools import chain
from pathlib import Path
from typing import Any, Literal

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from copula_shirley.schema.duration import text_of
from copula_shirley.schema.schema import Schema

#: A spreadsheet takes a text that begins so for a formula and runs it (OWASP, CSV injection).
FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")


def write_table(
    path: Path, chunks: Iterable[pd.DataFrame], kind: str, *, escape_formulas: bool = False
) -> None:
    """Write chunks of one table.

    ``escape_formulas`` puts a single quote before texts, and names of columns, that a spreadsheet
    would run as a formula (see ``escaped``). It changes values, so that it is off by default.
    """
    if kind == "csv":
        with open(path, "w", encoding="utf-8", newline="") as file:
            for i, chunk in enumerate(chunks):
                table = _with_clocks(escaped(chunk) if escape_formulas else chunk)
                how: dict[str, Any] = {"lineterminator": "\n", "quoting": _quoting(table)}
                table.to_csv(file, index=False, header=i == 0, **how)
        return
    chunks = iter(chunks)
    first = next(chunks)
    fields = pa.Schema.from_pandas(first, preserve_index=False)
    for i, field in enumerate(fields):
        if pa.types.is_null(field.type):  # a later chunk may hold texts
            fields = fields.set(i, field.with_type(pa.string()))
    with pq.ParquetWriter(path, fields) as writer:
        for chunk in chain([first], chunks):
            writer.write_table(pa.Table.from_pandas(chunk, schema=fields, preserve_index=False))


def _with_clocks(table: pd.DataFrame) -> pd.DataFrame:
    """The table with lengths of time as 51:30:00, which pandas writes as 2 days 03:30:00."""
    lengths = {n: table[n] for n in table if table[n].dtype.kind == "m"}
    return table.assign(**{str(n): v.map(text_of, "ignore") for n, v in lengths.items()})


def _quoting(table: pd.DataFrame) -> Literal[0, 2]:
    """Quotes around every text if one holds a carriage return, which Python's csv leaves bare."""
    texts = [table[n].dropna().unique() for n in table if table[n].dtype.kind not in "biufmM"]
    held = any(isinstance(v, str) and "\r" in v for v in [*table, *(v for t in texts for v in t)])
    return csv.QUOTE_NONNUMERIC if held else csv.QUOTE_MINIMAL


def is_formula(value: Any) -> bool:
    """Whether a spreadsheet would run a text as a formula; a number is none.

    Examples
    --------
    >>> is_formula("=1+1"), is_formula("-5 to 0"), is_formula(-5), is_formula("a=b")
    (True, True, False, False)
    """
    return isinstance(value, str) and value.startswith(FORMULA_STARTS)


def quoted(value: Any) -> Any:
    """The value with a single quote before it if it is a formula."""
    return f"'{value}" if is_formula(value) else value


def escaped(table: pd.DataFrame) -> pd.DataFrame:
    """The table with a single quote before every text and name that is a formula.

    To read the values again, take one leading quote off each text whose second letter is one of
    ``= + - @``, tab or carriage return. A text that had such a quote already cannot be told apart
    from an escaped one.

    Examples
    --------
    >>> escaped(pd.DataFrame({"=x": ["@home", "away"], "n": [-1, 2]})).to_dict("list")
    {"'=x": ["'@home", 'away'], 'n': [-1, 2]}
    """
    numeric = pd.api.types.is_numeric_dtype
    kept = {n for n, v in table.items() if numeric(v) or v.dtype.kind == "m"}
    return pd.DataFrame(
        {quoted(n): v if n in kept else v.astype(object).map(quoted) for n, v in table.items()}
    )


def formulas(schema: Schema) -> list[str]:
    """Names of the columns that hold, or are, texts that a spreadsheet would run."""
    texts = {c.name: (c.name, c.format, *c.categories) for c in schema}
    texts |= {name: (name,) for name in schema.ids}
    return [name for name, own in texts.items() if any(map(is_formula, own))]
