"""Files as streams of bytes, unpacked if they are packed, up to a size that can be."""

from __future__ import annotations

import gzip
import io
import sys
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, Any, BinaryIO, cast

from copula_shirley.errors import SchemaError

PACKED = (".gz", ".zip")
#: Standard input, or standard output.
STANDARD = "-"
#: Bytes of a packed file in full, whatever the size of the file; and how many times the file's size
#: they may be beyond that. Zeros pack a thousand times, tables some ten times.
HARMLESS, LARGEST_RATIO = 2**30, 100
#: What Python makes of bent bytes.
BROKEN = (
    *(gzip.BadGzipFile, zipfile.BadZipFile, zlib.error, EOFError),
    *(NotImplementedError, RuntimeError),
)


def is_packed(path: str | Path) -> bool:
    return Path(path).suffix.lower() in PACKED


@contextmanager
def opened(path: str | Path) -> Iterator[BinaryIO]:
    """The bytes of a file, opened once; of a packed one those that were packed."""
    if str(path) == STANDARD:
        yield sys.stdin.buffer
        return
    kind = Path(path).suffix.lower()
    with ExitStack() as stack:
        file: IO[bytes] = stack.enter_context(open(path, "rb"))
        if kind not in PACKED:
            yield cast(BinaryIO, file)
            return
        size = file.seek(0, io.SEEK_END)
        file.seek(0)
        try:
            inner: Any = gzip.GzipFile(fileobj=file) if kind == ".gz" else _member(path, file)
            limited = _Limited(
                str(path), stack.enter_context(inner), max(HARMLESS, LARGEST_RATIO * size)
            )
            yield cast(BinaryIO, io.BufferedReader(limited))
        except BROKEN as error:
            why = type(error).__name__
            raise SchemaError(f"{str(path)!r} cannot be unpacked: {why}") from None


def _member(path: str | Path, file: IO[bytes]) -> IO[bytes]:
    """The one file of a zip file."""
    archive = zipfile.ZipFile(file)
    inside = [i for i in archive.infolist() if not i.is_dir() and "__MACOSX" not in i.filename]
    if len(inside) != 1 or inside[0].flag_bits & 1:
        found = f"{len(inside)} files" if len(inside) != 1 else "a file with a password"
        raise SchemaError(f"{str(path)!r} must hold one table, and holds {found}")
    return archive.open(inside[0])


class _Limited(io.RawIOBase):
    """A stream that ends in an error after so many bytes."""

    def __init__(self, path: str, inner: IO[bytes], most: int) -> None:
        self._path, self._inner, self._most, self._left = path, inner, most, most

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray) -> int:  # type: ignore[override]
        found = self._inner.read(len(buffer))
        buffer[: len(found)] = found
        self._left -= len(found)
        if self._left < 0:
            raise SchemaError(
                f"{self._path!r} holds more than {self._most:,} bytes, the most that a packed file "
                "of its size may; unpack it if it is meant so"
            )
        return len(found)
