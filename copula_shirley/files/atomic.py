"""Files that are whole: written beside their place and moved there, read only if they are files.

What is promised. A kill of this process at any moment leaves the old file or the new one. An error,
an interrupt or a termination also takes the unfinished file away. After a SIGKILL an unfinished
``.NAME.*.partial`` may stay beside the target; nobody reads it, and it can be removed by hand.
Before the move the file, and after it the folder, are flushed to the disk (fsync), so that a power
cut does not leave an empty file under the new name either.
"""

from __future__ import annotations

import errno
import os
import secrets
import shutil
import stat
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from copula_shirley.errors import ArtefactError, ShirleyError

#: Errors of a full or failing disk: nobody's input is at fault, and no retry helps.
DISK_ERRORS = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EROFS)
#: Unfinished files of this process, for whoever cleans up when it ends.
_unfinished: set[Path] = set()
#: Files that this process has put into their place.
finished: list[Path] = []
#: Files from which the same command goes on: it was stopped before its output was written.
resumable: list[Path] = []


@contextmanager
def atomic_path(path: str | Path) -> Iterator[Path]:
    """Give a path to write to; on success it becomes ``path``, else it vanishes.

    Nothing outside the target's folder is written: a link is replaced by the file, not followed.
    A folder, a device or a pipe is refused.
    """
    if Path(path) in _unfinished:  # who gave it out moves it, and names the target in errors
        yield Path(path)
        return
    with atomic_paths([path]) as (partial,):
        yield partial


@contextmanager
def atomic_paths(paths: Sequence[str | Path]) -> Iterator[list[Path]]:
    """Give paths to write to; they become ``paths`` all, the last first, or none does.

    Where one cannot be moved to its place, those that were are put back as they were before. A
    process that is killed between two moves leaves the last ones new and the first ones old, each
    of them whole.
    """
    targets = {_beside(target, "partial"): target for target in map(_target, paths)}
    before: dict[Path, Path | None] = {}
    current, written = Path(*paths[:1]), False
    _unfinished.update(targets)  # before they are there: an interrupt may come at any moment
    try:
        for partial, target in targets.items():  # for their owner alone
            with _named(target):
                os.close(os.open(partial, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
        yield list(targets)
        written = True
        for partial, current in targets.items():
            _flush(partial)
            partial.chmod(0o666 & ~_umask())
            if len(targets) > 1:
                before[current] = _second_name(current)
        for partial, current in reversed(targets.items()):
            partial.replace(current)
            finished.append(current)
            flush_folder(current)
    except BaseException as error:
        _put_back(before)
        if not isinstance(error, OSError):
            raise
        named = targets.get(Path(str(error.filename)), None if error.filename else current)
        if not written and (named is None or error.errno not in DISK_ERRORS):
            raise  # of something else than the targets
        with _named(named or current):
            raise
    finally:
        beside = (*targets, *filter(None, before.values()))
        for path in beside:
            with suppress(OSError):
                path.unlink(missing_ok=True)
        _unfinished.difference_update(beside)


def remove_unfinished() -> None:
    """Take away what an interrupt between two steps of ``atomic_path`` left; for the end."""
    for partial in tuple(_unfinished):
        with suppress(OSError):
            partial.unlink(missing_ok=True)
        _unfinished.discard(partial)


def check_regular(path: str | Path, error: type[ShirleyError]) -> None:
    """Refuse what is no file: reading a pipe or a device may never end.

    An absent path passes; who opens it says so.
    """
    if reason := _no_file(path):
        raise error(f"{str(path)!r} cannot be read: {reason}")


def read_bytes(path: str | Path, most: int, error: type[ShirleyError], what: str) -> bytes:
    """The content of a file, at most so many bytes of it, or one error."""
    check_regular(path, error)
    try:
        with open(path, "rb") as file:
            content = file.read(most + 1)
    except FileNotFoundError:
        raise error(f"{what} {str(path)!r} does not exist") from None
    except OSError as reason:
        raise error(f"{what} {str(path)!r} cannot be read: {reason.strerror or reason}") from None
    if len(content) > most:
        raise error(f"{what} {str(path)!r} must have at most {most:,} bytes")
    return content


def read_text(path: str | Path, most: int, error: type[ShirleyError], what: str) -> str:
    """The text of a small file in UTF-8, at most so many bytes of it, or one error."""
    try:
        return read_bytes(path, most, error, what).decode("utf-8-sig")
    except UnicodeDecodeError:
        raise error(f"{what} {str(path)!r} is not UTF-8 text") from None


def flush_folder(path: Path) -> None:
    """Bring the name of a file to the disk, where folders can be flushed."""
    with suppress(OSError):
        _flush(path.parent)


# -- parts ---------------------------------------------------------------------------


def _no_file(path: str | Path) -> str | None:
    """Why something at a path is no file; None for a file, and where nothing is."""
    try:
        mode = os.stat(path).st_mode
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as reason:  # a name with a NUL byte is a ValueError
        return str(getattr(reason, "strerror", None) or reason)
    if stat.S_ISDIR(mode):
        return "it is a folder; name a file"
    return None if stat.S_ISREG(mode) else "it is a pipe or a device, not a file"


def _target(path: str | Path) -> Path:
    """The file to replace, which is no folder, pipe or device."""
    if reason := _no_file(path) or (None if Path(path).name else "it has no name"):
        raise ArtefactError(f"{str(path)!r} cannot be written: {reason}")
    return Path(path)


@contextmanager
def _named(target: Path) -> Iterator[None]:
    """Errors of the system name the file that shall be written."""
    try:
        yield
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno else error
        raise ArtefactError(f"{str(target)!r} cannot be written: {reason}") from None


def _beside(target: Path, ending: str) -> Path:
    """A new hidden name beside a file, of which only so much is kept that it is a name (255 B)."""
    short = os.fsdecode(os.fsencode(target.name)[:200])
    return target.with_name(f".{short}.{secrets.token_hex(4)}.{ending}")


def _flush(path: Path) -> None:
    """Bring a file, which its writer may have made anew, or a folder's new names to the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _umask() -> int:
    umask = os.umask(0)
    os.umask(umask)
    return umask


def _second_name(target: Path) -> Path | None:
    """A second name, or else a copy, of a file that will be replaced; None if there is none."""
    if not target.exists():
        return None
    second = _beside(target, "old")
    _unfinished.add(second)  # an interrupt may come before anybody is given the name
    try:
        os.link(target, second)
    except OSError:
        shutil.copy2(target, second)
    return second


def _put_back(before: Mapping[Path, Path | None]) -> None:
    """Every target as it was before."""
    for target, old in before.items():
        with suppress(OSError):  # a disk that fails for good: what is there is whole
            if old is None:
                target.unlink(missing_ok=True)
            else:
                old.replace(target)
        finished[:] = [path for path in finished if path != target]
