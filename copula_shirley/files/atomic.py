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
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from copula_shirley.errors import ArtefactError, ShirleyError

#: Errors of a full or failing disk: nobody's input is at fault, and no retry helps.
DISK_ERRORS = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EROFS)
#: Unfinished files of this process, for whoever cleans up when it ends.
_unfinished: set[Path] = set()
#: Files that this process has put into their place.
finished: list[Path] = []


@contextmanager
def atomic_path(path: str | Path) -> Iterator[Path]:
    """Give a path to write to; on success it becomes ``path``, else it vanishes.

    Nothing outside the target's folder is written: a link is replaced by the file, not followed.
    A folder, a device or a pipe is refused.
    """
    if Path(path) in _unfinished:  # who gave it out moves it, and names the target in errors
        yield Path(path)
        return
    target = _target(path)
    partial = target.with_name(f".{_short(target.name)}.{secrets.token_hex(4)}.partial")
    complete = False
    _unfinished.add(partial)  # before it is there: an interrupt may come at any moment
    try:
        _make(partial, path)
        yield partial
        complete = True
        with open(partial, "rb") as file:  # the writer may have made it anew
            os.fsync(file.fileno())
        umask = os.umask(0)
        os.umask(umask)
        partial.chmod(0o666 & ~umask)
        partial.replace(target)
        finished.append(target)
        _sync_folder(target.parent)
    except OSError as error:
        other = error.filename is not None and str(error.filename) != str(partial)
        if not complete and (other or error.errno not in DISK_ERRORS):
            raise  # of something else than the target
        reason = os.strerror(error.errno) if error.errno else error
        raise ArtefactError(f"{str(path)!r} cannot be written: {reason}") from None
    finally:
        partial.unlink(missing_ok=True)
        _unfinished.discard(partial)


@contextmanager
def atomic_paths(paths: Sequence[str | Path]) -> Iterator[list[Path]]:
    """Give paths to write to; they become ``paths`` all, the last first, or none does.

    Where one cannot be moved to its place, those that were are put back as they were before. A
    process that is killed between two moves leaves the last ones new and the first ones old, each
    of them whole.
    """
    targets = [Path(path) for path in paths]
    before: dict[Path, Path | None] = {}
    try:
        with ExitStack() as files:
            partials = [files.enter_context(atomic_path(target)) for target in targets]
            try:
                yield partials
                for target in targets:
                    before[target] = _kept(target)
            except OSError as error:
                raise _of_one(error, targets, partials) from None
    except BaseException:
        for target, old in before.items():
            with suppress(OSError):  # a disk that fails for good: what is there is whole
                if old is None:
                    target.unlink(missing_ok=True)
                else:
                    old.replace(target)
                finished[:] = [path for path in finished if path != target]
        raise
    finally:
        for old in before.values():
            if old is not None:
                with suppress(OSError):
                    old.unlink(missing_ok=True)


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
    try:
        mode = os.stat(path).st_mode
    except FileNotFoundError:
        return
    except (OSError, ValueError) as reason:  # a name with a NUL byte is a ValueError
        text = getattr(reason, "strerror", None) or reason
        raise error(f"{str(path)!r} cannot be read: {text}") from None
    if stat.S_ISDIR(mode):
        raise error(f"{str(path)!r} cannot be read: it is a folder")
    if not stat.S_ISREG(mode):
        raise error(f"{str(path)!r} cannot be read: it is a pipe or a device, not a file")


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


# -- parts ---------------------------------------------------------------------------


def _target(path: str | Path) -> Path:
    """The file to replace, which is no folder, pipe or device."""
    target = Path(path)
    try:
        mode = target.stat().st_mode
    except FileNotFoundError:
        if not target.name:
            raise ArtefactError(f"{str(path)!r} cannot be written: it has no name") from None
        return target
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise ArtefactError(f"{str(path)!r} cannot be written: {reason}") from None
    if stat.S_ISDIR(mode):
        raise ArtefactError(f"{str(path)!r} cannot be written: it is a folder")
    if not stat.S_ISREG(mode):
        raise ArtefactError(
            f"{str(path)!r} cannot be written: it is a pipe or a device, not a file"
        )
    return target


def _short(name: str) -> str:
    """So much of a name that the longer one of an unfinished file still is one (255 bytes)."""
    return os.fsdecode(os.fsencode(name)[:200])


def _make(partial: Path, path: str | Path) -> None:
    """Make the unfinished file, for its owner alone."""
    try:
        os.close(os.open(partial, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise ArtefactError(f"{str(path)!r} cannot be written: {reason}") from None


def _of_one(error: OSError, targets: Sequence[Path], partials: Sequence[Path]) -> Exception:
    """The error of a disk with the name of the target; the first where nobody says which."""
    names = {str(partial): target for partial, target in zip(partials, targets, strict=True)}
    named = error.filename is not None
    if error.errno not in DISK_ERRORS or (named and str(error.filename) not in names):
        return error
    target = names[str(error.filename)] if named else targets[0]
    return ArtefactError(f"{str(target)!r} cannot be written: {os.strerror(error.errno)}")


def _kept(target: Path) -> Path | None:
    """A second name, or else a copy, of a file that will be replaced; None if there is none."""
    if not target.exists():
        return None
    second = target.with_name(f".{_short(target.name)}.{secrets.token_hex(4)}.old")
    try:
        os.link(target, second)
    except OSError:
        shutil.copy2(target, second)
    return second


def _sync_folder(folder: Path) -> None:
    """Flush the new name to the disk, where folders can be flushed."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
