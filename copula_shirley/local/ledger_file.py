"""The file in which a device remembers what it said. Standard library only, as ``coins``.

An entry is on the disk before what it is about leaves the device: a crash in between costs a
report and never a promise. One process at a time holds the file.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from copula_shirley.errors import ReportError

#: Bytes of a ledger; a longer one is none of ours.
LARGEST = 2**24


@contextmanager
def held(path: str | Path, form: str, empty: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The entries of a ledger, ``empty`` if there is none yet; nobody else reads it meanwhile."""
    lock = Path(f"{os.path.realpath(path)}.lock")
    try:
        os.close(os.open(lock, os.O_CREAT | os.O_EXCL | os.O_WRONLY))
    except FileExistsError:
        raise ReportError(
            f"ledger ({str(path)!r}) is in use; if no other program runs, one was stopped: remove "
            f"{str(lock)!r}"
        ) from None
    try:
        yield _read(Path(path), form, empty)
    finally:
        with suppress(FileNotFoundError):
            os.unlink(lock)


def _read(path: Path, form: str, empty: dict[str, Any]) -> dict[str, Any]:
    try:
        with open(path, "rb") as file:
            text = file.read(LARGEST + 1)
        found: Any = json.loads(text) if len(text) <= LARGEST else None
    except FileNotFoundError:
        return {"format": form, **empty}
    except (ValueError, RecursionError):
        found = None
    known = isinstance(found, dict) and found.get("format") == form
    if not known or any(type(found.get(name)) is not type(value) for name, value in empty.items()):
        raise ReportError(
            f"ledger ({str(path)!r}) is none of {form}: it is damaged, or another file; restore "
            "it, since a new one would forget what was reported"
        )
    return dict(found)


def save(path: str | Path, entries: dict[str, Any]) -> None:
    """Write the ledger beside itself and move it into place, on the disk before this returns.

    A link is followed: replaced by a file, it would leave an older ledger where it led to.
    """
    path = os.path.realpath(path)
    beside = Path(f"{path}.new")
    with open(os.open(beside, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600), "w") as file:
        json.dump(entries, file)
        file.flush()
        os.fsync(file.fileno())
    os.replace(beside, path)
    with suppress(OSError):  # Windows opens no folders
        folder = os.open(Path(path).resolve().parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
