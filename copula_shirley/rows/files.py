"""Tables in files that are read piece by piece: memory does not grow with the rows.

A piece is a text file, or a row group of a Parquet file. A text file is read from its start to its
end, since a quote in one line decides what later ones mean; many files can be read by several
processes. The order of the table is that of the paths by name, whatever order they are found in.
"""

from __future__ import annotations

import glob
import hashlib
import os
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path

import pandas as pd

from copula_shirley.errors import SchemaError, SettingError
from copula_shirley.rows import parquet
from copula_shirley.rows.formats import Format, format_of
from copula_shirley.rows.packed import is_packed
from copula_shirley.rows.pieces import Parts, Piece, T, Work, Workers
from copula_shirley.rows.tables import reading, whole
from copula_shirley.rows.text_files import declared_frames, fields_of, of_ending
from copula_shirley.schema.file_format import FileFormat
from copula_shirley.schema.schema import Schema

#: Letters that make a pattern of a path.
WILD = "*?["
#: Bytes at the end of a file whose digest tells whether it was changed: a Parquet file's footer.
FOOTER = 2**16
#: How many times its size a packed text may have.
PACKED_TEXT = 10
#: Processes that read pieces, at the most.
MOST_WORKERS = 256


@dataclass(frozen=True)
class FilePiece:
    """A text file, or a row group of a Parquet file."""

    path: Path
    group: int | None
    stamp: str
    schema: Schema
    how: FileFormat
    #: About how many bytes it has in memory.
    size: int

    def frames(self) -> Iterator[pd.DataFrame]:
        """Rows in order; a file that was changed meanwhile is refused."""
        self._check_unchanged()
        with reading(self.path):
            if self.group is None:
                yield from declared_frames(self.path, self.schema, self.how)
            else:
                yield from parquet.frames(self.path, self.group, self.schema, self.how)
        self._check_unchanged()

    def _check_unchanged(self) -> None:
        if _stamp(self.path) != self.stamp:
            raise SchemaError(
                f"{str(self.path)!r} has changed since its rows were checked; fit again when "
                "nobody writes to it"
            )


class FileSource(Parts):
    """Rows in files, read by this process, by several or by a cluster."""

    def __init__(
        self,
        paths: Sequence[Path],
        schema: Schema,
        how: FileFormat,
        workers: int | Workers = 1,
    ) -> None:
        all_names: Sequence[str] = ()
        pieces: list[FilePiece] = []
        workers = Pool(workers) if isinstance(workers, int) else workers
        for path in sorted(paths):
            names, found = _pieces(path, schema, how)
            if all_names and set(names) != set(all_names):
                lacks = ", ".join(map(repr, sorted(set(all_names) - set(names)))) or "none"
                more = ", ".join(map(repr, sorted(set(names) - set(all_names)))) or "none"
                raise SchemaError(
                    f"{str(path)!r} must have the same columns as {str(min(paths))!r}: it lacks "
                    f"{lacks}, and has {more} beyond them"
                )
            all_names = all_names or names
            pieces += found
        super().__init__(all_names, pieces, workers, sum(piece.size for piece in pieces))
        self.files = len(paths)


class Pool:
    """Does work on pieces, in this process or in several that end with ``close``."""

    may_keep = True

    def __init__(self, workers: int) -> None:
        if type(workers) is not int or not 1 <= workers <= MOST_WORKERS:
            raise SettingError(f"workers ({workers!r}) must be a whole number to {MOST_WORKERS}")
        self.workers = workers
        self._processes: ProcessPoolExecutor | None = None

    def each(self, pieces: Sequence[Piece], work: Work[T]) -> Iterator[tuple[int, T]]:
        if min(self.workers, len(pieces)) <= 1:
            for number, piece in enumerate(pieces):
                yield number, work(number, piece.frames())
            return
        if self._processes is None:
            self._processes = ProcessPoolExecutor(self.workers, get_context("spawn"))
        try:
            waiting = {
                self._processes.submit(_done, work, number, piece): number
                for number, piece in enumerate(pieces)
            }
            for done in as_completed(waiting):
                yield waiting.pop(done), done.result()
        except BrokenProcessPool:
            self.close()
            raise SettingError(
                f"workers ({self.workers}): a process ended, perhaps for lack of memory; try fewer"
            ) from None

    def close(self) -> None:
        if self._processes is not None:
            self._processes.shutdown(cancel_futures=True)
            self._processes = None


def _done(work: Work[T], number: int, piece: Piece) -> T:
    return work(number, piece.frames())


# -- which files ----------------------------------------------------------------------


def is_several(place: str | Path) -> bool:
    """Whether a path is a folder, or a pattern of paths."""
    path = Path(place)
    return path.is_dir() or (any(sign in str(place) for sign in WILD) and not path.exists())


def files_at(place: str | Path) -> list[Path]:
    """The tables of a file, a folder or a pattern, by name, each once; hidden ones are left out."""
    path = Path(place)
    if not is_several(path):
        found: Iterable[Path] = [path]
    elif path.is_dir():
        # links to folders are not followed, nor are those to nothing: both are refused below
        listed = (p for p in path.rglob("*") if p.is_symlink() or not p.is_dir())
        inside = (p.relative_to(path).parts for p in listed)
        found = [path.joinpath(*parts) for parts in inside if not any(map(_hidden, parts))]
    else:
        found = [p for p in map(Path, glob.glob(str(path), recursive=True)) if p.is_file()]
    paths = sorted({*found})  # two stars twice in a pattern give paths twice
    if not paths:
        raise SchemaError(f"{str(place)!r} holds no file, but a table must be there")
    for one in paths:
        if not _is_counted(format_of(one)):
            raise SchemaError(
                f"{str(one)!r} must be a text file (.csv, .tsv, .txt, also .gz and .zip) or a "
                "Parquet file to be read in pieces; name the tables of a folder by a pattern, such "
                "as 'folder/*.parquet'"
            )
    _check_once(paths)
    return paths


def _check_once(paths: Iterable[Path]) -> None:
    """Refuse a file that has two names: each row would count twice, and noise is for once."""
    known: dict[tuple[int, int], Path] = {}
    for path in paths:
        if not path.exists():  # who opens it says so
            continue
        about = path.stat()
        first = known.setdefault((about.st_dev, about.st_ino), path)
        if first is not path:
            raise SchemaError(
                f"{str(path)!r} must be another file than {str(first)!r}, to which it is linked: "
                "each row would count twice; remove one of the two, or name files by a pattern"
            )


def _hidden(name: str) -> bool:
    return name.startswith((".", "_"))


def _is_counted(found: Format | None) -> bool:
    return found is not None and (found.is_text or found.name == "parquet")


def _pieces(path: Path, schema: Schema, how: FileFormat) -> tuple[list[str], list[FilePiece]]:
    """The columns of a file, and its pieces."""
    kind = format_of(path)
    assert kind is not None
    if not kind.is_text:
        names, groups = whole(path, lambda: parquet.groups_of(path))
        stamp, width = _stamp(path), 8 * len(names)
        return names, [
            FilePiece(path, i, stamp, schema, how, rows * width) for i, rows in enumerate(groups)
        ]
    own = of_ending(path, how)
    with reading(path), fields_of(path, own) as (names, _):
        size = path.stat().st_size * (PACKED_TEXT if is_packed(path) else 1)
        return names, [FilePiece(path, None, _stamp(path), schema, own, size)]


def _stamp(path: Path) -> str:
    """What tells a file that was changed: its size, its time, and what its end is."""
    try:
        with open(path, "rb") as file:
            about = os.fstat(file.fileno())
            file.seek(max(0, about.st_size - FOOTER))
            digest = hashlib.sha256(file.read()).hexdigest()
    except OSError as error:
        raise SchemaError(f"{str(path)!r} cannot be read: {error.strerror or error}") from None
    return f"{about.st_size} {about.st_mtime_ns} {digest}"
