"""Formats of tables by the endings of files: who reads and writes them, and what that needs."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from copula_shirley.errors import SchemaError
from copula_shirley.rows import parquet, text_files
from copula_shirley.rows.packed import is_packed
from copula_shirley.schema.file_format import FileFormat
from copula_shirley.schema.schema import Schema

Read = Callable[[str | Path, Schema | None, FileFormat], pd.DataFrame]
Write = Callable[[Path, Iterable[pd.DataFrame], FileFormat], None]


@dataclass(frozen=True)
class Format:
    """A format of tables."""

    name: str
    endings: tuple[str, ...]
    read: Read
    #: None: it is read only.
    write: Write | None = None
    #: Whether it is text with separators: all of ``FileFormat`` matters, and it may be packed.
    is_text: bool = False


FORMATS = (
    Format("csv", (".csv", ".tsv", ".txt"), text_files.read, text_files.write, is_text=True),
    Format("parquet", (".parquet", ".pq"), parquet.read, parquet.write),
)
ENDINGS = {ending: found for found in FORMATS for ending in found.endings}


def format_of(path: str | Path) -> Format | None:
    """The format of a table file by its ending; None if it is none."""
    path = Path(path)
    if not is_packed(path):
        return ENDINGS.get(path.suffix.lower())
    inner = ENDINGS.get(Path(path.stem).suffix.lower() or ".csv")
    return inner if inner is not None and inner.is_text else None


def check_format(path: str | Path, what: str = "file name", *, writes: bool = False) -> Format:
    """The format of a table file, or one error that names those that there are."""
    found = format_of(path)
    if found is None or (writes and (found.write is None or is_packed(path))):
        endings = [e for e, f in ENDINGS.items() if f.write is not None or not writes]
        packed = "" if writes else " (texts also .gz and .zip)"
        raise SchemaError(f"{what} ({str(path)!r}) must end in one of {', '.join(endings)}{packed}")
    return found
