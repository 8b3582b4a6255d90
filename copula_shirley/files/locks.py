"""One process at a time: a lock beside the file that several want to change."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from filelock import FileLock, Timeout

from copula_shirley.errors import ArtefactError


@contextmanager
def locked(path: Path, *, wait: bool = True) -> Iterator[Callable[[], bool]]:
    """Hold the lock of a file, ``.NAME.lock`` beside it; it ends with the process.

    Whoever removes the lock file lets another process make a new one and lock that. What is given
    says whether the lock file is still the one that is held: ask before the change is made.
    Without ``wait`` a file that another process holds is refused; the lock file goes at the end.
    """
    lock = path.with_name(f".{path.name}.lock")

    def still_held() -> bool:
        try:
            return os.path.samestat(before, os.stat(lock))
        except FileNotFoundError:
            return False

    try:
        lock.touch()
        before = os.stat(lock)
        holding = FileLock(lock)
        holding.acquire(timeout=-1 if wait else 0)
    except Timeout:
        raise _held(path) from None
    except OSError as error:
        raise ArtefactError(f"{str(path)!r} cannot be locked: {error.strerror or error}") from None
    try:
        if not wait and not still_held():  # whoever held it has ended this very moment
            raise _held(path)
        yield still_held
    finally:
        if not wait and still_held():
            with suppress(OSError):
                lock.unlink()
        holding.release()


def _held(path: Path) -> ArtefactError:
    return ArtefactError(f"{str(path)!r} is used by another process; wait for its end, or stop it")
