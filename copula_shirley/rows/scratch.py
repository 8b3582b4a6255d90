"""Rows as numbers in a private folder, so that files are read and checked once. As private as rows.

The folder is for its owner alone (mode 0700) and is removed when the fit ends. One that a killed
process left is removed when the next one makes its own: who holds rows there holds a lock.
"""

from __future__ import annotations

import os
import secrets
import shutil
import tempfile
import weakref
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from filelock import FileLock, Timeout
from numpy.typing import NDArray

from copula_shirley.errors import SettingError
from copula_shirley.rows.memory import MemoryRows
from copula_shirley.rows.rows import Few, Lazily, Places
from copula_shirley.schema.column import Column
from copula_shirley.schema.domain import MISSING, FloatArray
from copula_shirley.schema.schema import Schema

PREFIX, LOCK = "shirley-rows-", "lock"
#: Types of places on a grid, by the places that they can tell apart.
NARROW = tuple(np.dtype(name) for name in ("u1", "u2", "u4"))
#: Bytes of places among few numbers.
MOST_BYTES = 2


class Scratch:
    """A private folder in the system's place for temporary files (TMPDIR)."""

    def __init__(self) -> None:
        _remove_abandoned()
        try:
            self.path, lock = _locked_folder()
        except OSError as error:
            raise SettingError(
                f"TMPDIR ({tempfile.gettempdir()!r}) must be a folder for private scratch files: "
                f"{error.strerror or error}"
            ) from None
        #: Removes the folder, at the latest when the process ends.
        self.close = weakref.finalize(self, _remove, self.path, lock)

    def folder(self) -> Path:
        """A new folder inside."""
        inside = self.path / secrets.token_hex(4)
        inside.mkdir(0o700)
        return inside


def _locked_folder() -> tuple[Path, FileLock]:
    """A folder of mode 0700, and its lock, which is held before the folder has its name."""
    new = Path(tempfile.mkdtemp(prefix=f".{PREFIX}"))
    lock = FileLock(new / LOCK)
    lock.acquire()
    return new.rename(new.with_name(new.name[1:])), lock


def _remove(path: Path, lock: FileLock) -> None:
    shutil.rmtree(path, ignore_errors=True)
    with suppress(OSError):
        lock.release()


def _remove_abandoned() -> None:
    """Remove folders of ours whose process is gone."""
    for path in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        with suppress(OSError, Timeout):
            if path.is_symlink() or path.stat().st_uid != os.getuid():
                continue
            lock = FileLock(path / LOCK)
            lock.acquire(timeout=0)
            _remove(path, lock)


# -- rows as bytes --------------------------------------------------------------------


def rows_in(path: Path, schema: Schema) -> Iterator[MemoryRows]:
    """The rows that ``kept_in`` wrote."""
    few = {c.name: found for c in schema if (found := _few(c)) is not None}
    with open(path, "rb") as file:
        size = os.fstat(file.fileno()).st_size
        while file.tell() < size:
            yield _rows({column.name: np.load(file) for column in schema}, schema, few)


def _rows(held: dict[str, NDArray[Any]], schema: Schema, few: dict[str, Few]) -> MemoryRows:
    def numbers(name: str) -> FloatArray:
        return few[name].numbers[held[name]] if name in few else _numbers(held[name], schema[name])

    places = {name: Places(held[name], one) for name, one in few.items()}
    return MemoryRows(schema, Lazily([*held], numbers), places=places)


def kept_in(path: Path, found: Iterable[MemoryRows], schema: Schema) -> Iterator[MemoryRows]:
    """The same rows, which are written meanwhile; the file is there when all were given."""
    with new_file(path) as file:
        for rows in found:
            for column in schema:
                np.save(file, _narrow(rows.numbers[column.name], column))
            yield rows


@contextmanager
def new_file(path: Path) -> Iterator[BinaryIO]:
    """A private file, which is there once it is whole: a piece may be written twice at once."""
    partial = path.with_name(f"{path.name}.{secrets.token_hex(4)}")
    try:
        with open(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            yield file
        partial.replace(path)
    except OSError as error:  # those of tables that are read are none by now
        reason = error.strerror or "not all could be written"
        raise SettingError(
            f"TMPDIR ({tempfile.gettempdir()!r}) must have room for the rows as numbers: {reason}"
        ) from None


def _type_of(column: Column) -> np.dtype[np.unsignedinteger] | None:
    """The smallest type for the places of a column's numbers on its grid; None without one."""
    low, high = column.domain.number_range
    if not column.domain.is_discrete:
        return None
    return next((t for t in NARROW if high - low + 1 <= np.iinfo(t).max), None)


def _few(column: Column) -> Few | None:
    """The numbers of a column, if they are few, in the order of their places."""
    kind = _type_of(column)
    if kind is None or kind.itemsize > MOST_BYTES:
        return None
    low, high = column.domain.number_range
    return Few(np.append(MISSING, np.arange(low, high + 1)))


def _narrow(numbers: FloatArray, column: Column) -> NDArray[Any]:
    """Validated numbers as places from 1; 0 is missing."""
    kind = _type_of(column)
    if kind is None:
        return numbers
    places = numbers - (column.domain.number_range[0] - 1)
    return np.where(np.isneginf(numbers), 0.0, places).astype(kind)


def _numbers(places: NDArray[Any], column: Column) -> FloatArray:
    if _type_of(column) is None:
        return np.asarray(places, dtype=float)
    numbers = places + (column.domain.number_range[0] - 1)
    return np.where(places == 0, MISSING, numbers) if column.missing else numbers
