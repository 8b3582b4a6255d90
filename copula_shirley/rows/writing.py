"""Tables written to files, in chunks; texts that a spreadsheet would run as formulas."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pandas as pd

from copula_shirley.errors import SchemaError
from copula_shirley.rows.formats import FORMATS
from copula_shirley.schema.file_format import PLAIN, FileFormat
from copula_shirley.schema.schema import Schema

#: A spreadsheet takes a text that begins so for a formula and runs it (OWASP, CSV injection).
FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")


def write_table(
    path: Path,
    chunks: Iterable[pd.DataFrame],
    kind: str,
    *,
    escape_formulas: bool = False,
    how: FileFormat = PLAIN,
) -> None:
    """Write chunks of one table in a format, such as csv; texts as ``how`` says.

    ``escape_formulas`` puts a single quote before texts, and names of columns, that a spreadsheet
    would run as a formula (see ``escaped``). It changes values, so that it is off by default.
    """
    found = next(f for f in FORMATS if f.name == kind)
    if found.write is None:
        raise SchemaError(f"tables of the format {kind} are read only")
    written = map(escaped, chunks) if escape_formulas and found.is_text else chunks
    found.write(path, written, how)


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
    for name, left in schema.replaced.items():  # phone numbers begin with +
        texts[name] = (name, left.pattern, "+" if left.fake == "phone_number" else None)
    return [name for name, own in texts.items() if any(map(is_formula, own))]
