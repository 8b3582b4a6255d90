"""How a file is written, found out from its rows for a draft: separator, decimal sign, gaps.

All of it goes into the schema (``FileFormat``), where it can be reviewed, so that no later command
guesses: one row can decide what is found here.
"""

from __future__ import annotations

import codecs
import csv
import io
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice, product
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from copula_shirley.errors import SchemaError
from copula_shirley.rows.cells import Cells, texts_of, typed_cells, without_named
from copula_shirley.rows.formats import Place, check_format
from copula_shirley.rows.packed import STANDARD, opened
from copula_shirley.rows.tables import told, whole
from copula_shirley.rows.text_files import of_ending, read_texts, typed
from copula_shirley.schema.codebook import NO_CODEBOOK, Codebook
from copula_shirley.schema.column import KINDS
from copula_shirley.schema.file_format import PLAIN, FileFormat
from copula_shirley.schema.identifiers import RARE

#: Bytes that are decoded together, letters in which separators are counted, and lines of them.
BLOCK, SAMPLE, LINES = 2**20, 2**18, 200
#: Separators, the likeliest first.
SEPARATORS = (",", ";", "\t", "|")
#: Byte order marks and the encodings that they stand for.
MARKS = {
    codecs.BOM_UTF8: "utf-8",
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
#: What stands for missing values in any column, and what does among numbers or dates.
SURELY_MISSING = ("N/A", "n/a", "#N/A", "NULL", "null", "NaN", "nan", "-", "--", "?", ".", "k.A.")
PERHAPS_MISSING = ("NA", "na", "None", "none", "Null")
SYMBOLS = ("€", "$", "£", "¥", "₹", "%", "EUR", "USD", "GBP", "CHF", "kr", "zł")
#: Texts of a column by which the decimal sign is chosen.
LOOKED_AT = 2000
#: Different texts of a column of which nothing is said.
FEW_TEXTS = 5
#: Part of the different texts of a column that must be numbers for the others to be gaps.
MOSTLY = 0.9


@dataclass(frozen=True)
class Recognised:
    """A table, how its file is written, and what is odd about its columns."""

    table: pd.DataFrame
    file: FileFormat
    odd: Mapping[str, list[str]] = field(default_factory=dict)
    codebook: Codebook = NO_CODEBOOK


def recognised(
    path: Place,
    missing: Sequence[str] = (),
    declared: FileFormat | None = None,
    sheet: str | None = None,
) -> Recognised:
    """Read a table and find out how it is written, unless that is declared."""
    if str(path) == STANDARD:
        rule = "is read once, and a draft looks at a table twice: name a file, or a schema"
        raise SchemaError(f"standard input {rule}")
    how = told(path, declared or PLAIN, missing, sheet)
    found: Recognised = whole(path, lambda: _recognised(path, how, declared))
    tell = check_format(path).codebook
    if tell is None:
        return found
    codebook: Codebook = whole(path, lambda: tell(path, how))
    odd = {str(n): [*codebook.told(str(n)), *found.odd.get(str(n), [])] for n in found.table}
    return replace(found, odd=odd, codebook=codebook)


def _recognised(path: Any, how: FileFormat, declared: FileFormat | None) -> Recognised:
    kind = check_format(path)
    if declared is None and kind.cells is not None:
        return _of_cells(kind.cells(path, how), how)
    if declared is not None or not kind.is_text:
        table = kind.read(path, None, how)
        if declared is not None:
            return Recognised(table, how)
        how, odd = _meanings({str(n): _texts(v) for n, v in table.items()}, how)
        how = replace(how, decimal=".", thousands=None, symbols=())  # numbers are no texts there
        return Recognised(without_named(table, None, how), how, odd)
    encoding, sample = _encoding(path)
    how = of_ending(path, replace(how, encoding=encoding))
    how = replace(how, separator=_separator(sample, how.separator))
    fields = read_texts(path, how)
    how, odd = _meanings({name: _counted(array) for name, array in fields.items()}, how)
    names = {n: n.strip() if how.strip else n for n in fields}
    return Recognised(pd.DataFrame({names[n]: typed(f, how) for n, f in fields.items()}), how, odd)


def _of_cells(cells: Cells, how: FileFormat) -> Recognised:
    """Cells are read as the texts of a file that has the decimal sign of the texts among them."""
    own = {n: [v for v in values if isinstance(v, str) and v] for n, values in cells.items()}
    decimal = _signs({n: [*dict.fromkeys(texts)][:LOOKED_AT] for n, texts in own.items()}, how)
    how = replace(how, decimal=decimal.decimal)
    how, odd = _meanings({n: _counted(texts_of(v, how)) for n, v in cells.items()}, how)
    table = {name: typed_cells(values, how) for name, values in cells.items()}
    return Recognised(pd.DataFrame(table), how, odd)


def _counted(fields: pa.DictionaryArray) -> dict[str, int]:
    """How often each text stands in a column."""
    parts = pc.value_counts(fields).flatten()
    return dict(zip(*(part.to_pylist() for part in parts), strict=True))


def _texts(series: pd.Series) -> dict[str, int]:
    """How often each text stands in a column of values."""
    if series.dtype.kind in "biufmM":
        return {}
    texts = series[series.map(lambda value: isinstance(value, str)).to_numpy(dtype=bool)]
    return {str(text): int(n) for text, n in texts.value_counts().items() if n}


# -- bytes and lines --------------------------------------------------------------------


def _encoding(path: str | Path) -> tuple[str, str]:
    """An encoding that fits all bytes of a file, and its first letters."""
    with opened(path) as stream:
        first = stream.read(BLOCK)
        marked = next((name for mark, name in MARKS.items() if first.startswith(mark)), None)
        if marked:
            return marked, first.decode(marked, errors="ignore")[:SAMPLE].lstrip("\ufeff")
        fitting = [codecs.getincrementaldecoder(name)() for name in ("utf-8", "cp1252")]
        names, block = ["utf-8", "cp1252"], first
        while block:
            for name, decoder in zip(list(names), list(fitting), strict=True):
                try:
                    decoder.decode(block)
                except UnicodeDecodeError:
                    fitting.remove(decoder)
                    names.remove(name)
            block = stream.read(BLOCK) if names else b""
    found = (*names, "latin-1")[0]
    return found, first.decode(found, errors="ignore")[:SAMPLE]


def _separator(sample: str, likely: str) -> str:
    """The sign that cuts all first lines into equally many fields, the most of them."""
    widths = {}
    for sign in (likely, *(s for s in SEPARATORS if s != likely)):
        reader = csv.reader(io.StringIO(sample, newline=""), delimiter=sign)
        try:
            lines = [len(line) for line in islice(reader, LINES) if line]
        except csv.Error:
            continue
        if len(lines) > 1 and len(sample) >= SAMPLE:
            lines.pop()  # the sample may end in the midst of it
        if len(set(lines)) == 1 and lines[0] > 1:
            widths[sign] = lines[0]
    if widths:
        return max(widths, key=lambda sign: widths[sign])
    header = sample.partition("\n")[0]
    return likely if likely in header else max(SEPARATORS, key=header.count)


# -- what texts mean ----------------------------------------------------------------------


def _meanings(
    counts: Mapping[str, Mapping[str, int]], how: FileFormat
) -> tuple[FileFormat, dict[str, list[str]]]:
    """How numbers and missing values are written in columns whose texts were counted."""
    strip = any(text != text.strip() for texts in (*counts.values(), counts) for text in texts)
    columns = {}
    for name, texts in counts.items():
        plain: dict[str, int] = {}
        for text, rows in texts.items():
            plain[text.strip()] = plain.get(text.strip(), 0) + rows
        columns[name] = {t: n for t, n in plain.items() if t and t not in how.missing}
    how = replace(how, strip=strip)
    words = {*SURELY_MISSING, *PERHAPS_MISSING}
    known = {n: [t for t in texts if t not in words] for n, texts in columns.items()}
    signs = _signs({n: texts[:LOOKED_AT] for n, texts in known.items()}, how)
    if signs.thousands is None:
        signs = _with_thousands(signs, known.values())
    gaps: dict[str, None] = {}
    used: dict[str, list[str]] = {}
    for name, texts in columns.items():
        numbers = [t for t in known[name] if not math.isnan(signs.number(t))]
        others = [t for t in known[name] if math.isnan(signs.number(t))]
        if others and len(numbers) >= MOSTLY * len(known[name]):
            # words among numbers: only those of many rows are told
            spoken = [t for t in others if texts[t] >= RARE and not any(c.isdigit() for c in t)]
            others = [t for t in others if t not in spoken]
            gaps |= dict.fromkeys(spoken)
        numeric = bool(numbers) and not others
        if numeric:
            used[name] = numbers
        measured = numeric or _are_times(known[name])
        fitting = words if measured else SURELY_MISSING
        gaps |= {t: None for t in texts if t in fitting}
    how = _needed(replace(signs, missing=(*how.missing, *gaps)), used)
    odd = {name: _odd(name, texts, columns[name], how, used) for name, texts in counts.items()}
    provenance = (
        "declared"
        if how == replace(PLAIN, missing=how.missing, sheet=how.sheet) and not gaps
        else "drafted"
    )
    return replace(how, provenance=provenance), odd


def _signs(columns: Mapping[str, list[str]], how: FileFormat) -> FileFormat:
    """The decimal sign and thousands by which most columns are numbers; the usual ones first."""
    comma_first = how.separator == ";"
    pairs = sorted(
        product(".,", (None, ",", ".", " ", "'")),
        key=lambda pair: (pair != (".", None), (pair[0] == ".") is comma_first),
    )
    formats = [replace(how, decimal=d, thousands=t, symbols=SYMBOLS) for d, t in pairs if d != t]

    listed = list(filter(None, columns.values()))

    def fitting(file: FileFormat) -> int:
        others = [(sum(math.isnan(file.number(t)) for t in ts), len(ts)) for ts in listed]
        return sum(wrong <= (1 - MOSTLY) * size for wrong, size in others)

    return max(formats, key=fitting)  # the first one of the best


def _with_thousands(how: FileFormat, columns: Iterable[list[str]]) -> FileFormat:
    """The format with the sign that makes numbers of what are none in columns of mostly numbers.

    A number of a thousand and more may be too rare among cents to stand among the first values.
    """
    rest: list[str] = []
    for texts in columns:
        others = [text for text in texts if math.isnan(how.number(text))]
        if len(others) <= (1 - MOSTLY) * len(texts):
            rest += others
    signs = [replace(how, thousands=sign) for sign in ",. '" if sign != how.decimal]
    gained = [sum(not math.isnan(file.number(text)) for text in rest) for file in signs]
    return signs[gained.index(max(gained))] if any(gained) else how


def _needed(how: FileFormat, used: Mapping[str, Iterable[str]]) -> FileFormat:
    """The format without signs that no number has."""
    texts = [text for texts in used.values() for text in texts]
    symbols = tuple(s for s in how.symbols if any(s in text for text in texts))
    bare = replace(how, thousands=None, symbols=symbols)
    if all(not math.isnan(bare.number(text)) for text in texts):
        how = bare
    if not any(how.decimal in text for text in texts):
        how = replace(how, decimal="." if how.thousands != "." else how.decimal)
    return replace(how, symbols=symbols)


def _are_times(texts: list[str]) -> bool:
    """Whether texts are dates or durations."""
    kinds = (KINDS["datetime"], KINDS["duration"])
    return bool(texts) and any(kind.draft(pd.Series(texts, dtype=object)) for kind in kinds)


def _odd(
    name: str,
    texts: Mapping[str, int],
    plain: Mapping[str, int],
    how: FileFormat,
    used: Mapping[str, list[str]],
) -> list[str]:
    """What is odd about the texts of a column."""
    said = []
    gaps = [text for text in plain if text in how.missing]
    if gaps:
        said.append(f"missing: {', '.join(gaps)}")
    if any(text != text.strip() for text in texts):
        said.append("spaces around values")
    if name in used and not how.has_plain_numbers:
        own = [s for s in how.symbols if any(s in text for text in used[name])]
        own += ["decimal comma"] * any(how.decimal == "," in text for text in used[name])
        marks = how.thousands and any(how.thousands in text for text in used[name])
        said += [f"numbers with {' and '.join(own)}"] * bool(own)
        said += [f"{how.thousands!r} between thousands"] * bool(marks)
    if name not in used and _are_other_numbers(list(plain)[:LOOKED_AT], how):
        said.append("numbers written in another way than those of other columns? Only one is read")
    return said


def _are_other_numbers(texts: list[str], how: FileFormat) -> bool:
    """Whether texts that are no numbers are some with other signs."""
    others = [
        replace(how, decimal=decimal, thousands=thousands, symbols=SYMBOLS)
        for decimal, thousands in ((",", "."), (",", " "), (".", ","))
    ]
    known = [text for text in texts if text not in how.missing and math.isnan(how.number(text))]
    return len(known) > FEW_TEXTS and any(
        sum(not math.isnan(other.number(text)) for text in known) >= MOSTLY * len(known)
        for other in others
    )
