"""One process at a time: a lock beside the file that several want to change."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock

from copula_shirley.errors import ArtefactError


@contextmanager
def locked(path: Path) -> Iterator[Callable[[], bool]]:
    """Hold the lock of a file, ``.NAME.lock`` beside it; it ends with the process.

    Whoever removes the lock file lets another process make a new one and lock that. What is given
    says whether the lock file is still the one that is held: ask before the change is made.
    """
    lock = path.with_name(f".{path.name}.lock")
    try:
        lock.touch()
        before = os.stat(lock)
        holding = FileLock(lock)
        holding.acquire()
    except OSError as error:
        raise ArtefactError(f"{str(path)!r} cannot be locked: {error.strerror or error}") from None

    def still_held() -> bool:
        try:
            return os.path.samestat(before, os.stat(lock))
        except FileNotFoundError:
            return False

    try:
        yield still_held
    finally:
        holding.release()
