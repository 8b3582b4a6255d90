"""Fitted models as files: one zip with JSON and npy arrays, no pickle, no row.

The file is a valid ``.npz`` with one more member, ``model.json``, which carries the format
version, and ends in a digest (``copula_shirley.seal``). It is written beside its destination and
then moved there, so that a reader never sees half of it.
"""

from __future__ import annotations

import io
import json
import os
import shutil
import tempfile
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from copula_shirley.errors import ArtefactError
from copula_shirley.seal import BLANK, close_seal

FORMAT = 1
HEADER = "model.json"
#: Every member gets this date, so that the same model gives the same bytes.
EPOCH = (1980, 1, 1, 0, 0, 0)


def write(path: str | Path, header: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
    """Write header and arrays to one file."""
    about = {"format": FORMAT, "copula-shirley": version("copula-shirley"), **header}
    with atomic_path(path) as partial:
        with zipfile.ZipFile(partial, "w") as file:
            file.comment = BLANK
            _member(file, HEADER, json.dumps(about, indent=1, allow_nan=False).encode())
            for name, array in arrays.items():
                buffer = io.BytesIO()
                np.save(buffer, array, allow_pickle=False)
                _member(file, f"{name}.npy", buffer.getvalue())
        close_seal(partial)


def _member(file: zipfile.ZipFile, name: str, content: bytes) -> None:
    about = zipfile.ZipInfo(name, EPOCH)
    about.create_system = 3  # the same bytes on every system
    file.writestr(about, content, zipfile.ZIP_DEFLATED)


def read(path: str | Path) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Read header and arrays, or raise one ``ArtefactError``."""
    where = repr(str(path))
    try:
        with zipfile.ZipFile(path) as file:
            members = {name: file.read(name) for name in file.namelist()}
        header = json.loads(members.pop(HEADER))
    except FileNotFoundError:
        raise ArtefactError(f"{where} does not exist") from None
    except (zipfile.BadZipFile, zlib.error, EOFError):
        raise ArtefactError(f"{where} is not a whole model file; it may be truncated") from None
    except (KeyError, ValueError, NotImplementedError, RuntimeError):
        raise ArtefactError(f"{where} is a zip file but not a model of this project") from None
    except OSError as error:
        raise ArtefactError(f"{where} cannot be read: {error.strerror or error}") from None
    found = header.get("format") if isinstance(header, dict) else None
    if not isinstance(found, int):
        raise ArtefactError(f"{where} is a zip file but not a model of this project")
    if found > FORMAT:
        raise ArtefactError(
            f"{where} has format {found}, newer than {FORMAT}, the newest that this version "
            "reads; upgrade copula-shirley"
        )
    try:
        arrays = {
            name.removesuffix(".npy"): np.load(io.BytesIO(content), allow_pickle=False)
            for name, content in members.items()
        }
    except (ValueError, EOFError, OSError):
        raise ArtefactError(f"{where} is damaged: an array cannot be read") from None
    return header, arrays


@contextmanager
def atomic_path(path: str | Path) -> Iterator[Path]:
    """Give a path to write to; on success it becomes ``path``, else it vanishes."""
    target = Path(path)
    if target.is_dir():
        raise ArtefactError(f"{str(path)!r} cannot be written: it is a folder")
    try:
        handle, name = tempfile.mkstemp(
            prefix=f".{target.name}.", suffix=".partial", dir=target.parent
        )
    except OSError as error:
        raise ArtefactError(f"{str(path)!r} cannot be written: {error.strerror}") from None
    os.close(handle)
    partial = Path(name)
    try:
        yield partial
        umask = os.umask(0)
        os.umask(umask)
        partial.chmod(0o666 & ~umask)
        partial.replace(target)
    finally:
        partial.unlink(missing_ok=True)


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
            yield [files.enter_context(atomic_path(target)) for target in targets]
            for target in targets:
                before[target] = _kept(target)
    except BaseException:
        for target, old in before.items():
            if old is None:
                target.unlink(missing_ok=True)
            else:
                old.replace(target)
        raise
    finally:
        for old in before.values():
            if old is not None:
                old.unlink(missing_ok=True)


def _kept(target: Path) -> Path | None:
    """A second name, or else a copy, of a file that will be replaced; None if there is none."""
    if not target.exists():
        return None
    handle, name = tempfile.mkstemp(prefix=f".{target.name}.", suffix=".old", dir=target.parent)
    os.close(handle)
    os.unlink(name)
    try:
        os.link(target, name)
    except OSError:
        shutil.copy2(target, name)
    return Path(name)
