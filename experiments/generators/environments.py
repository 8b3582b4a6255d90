"""Environments of their own: built once per set of pins, whole or not at all.

An environment is a venv in the cache, named after its requirements file and a hash of the pins and
of the version of Python. A marker file is written when it is whole; one without a marker belongs to
a build that was killed, and is built again. A lock keeps a second process waiting until the first
has built; pip holds it too, so that it is free only when nobody writes any more.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, BinaryIO

import pooch

from copula_shirley.errors import ShirleyError

CACHE = Path(pooch.os_cache("copula-shirley")) / "peers"
#: Written last: an environment that has it is whole.
MARKER = "whole"
#: How much of a log stands in an error.
LOG_END = 1500
#: Can this Python make an environment, and which version is it?
PROBE = "import sys, ensurepip, venv; print('%d.%d' % sys.version_info[:2])"


class PeerError(ShirleyError):
    """A peer is not described well, cannot be installed or does not run."""


def environment(requirements: Path, version: str, cache: Path | None = None) -> Path:
    """The Python of the environment with these pins, built in a cache if it is not there.

    ``requirements`` pins every package that is needed, a line each, as ``pip freeze`` writes them:
    pip installs these and looks for no others. ``version`` is that of Python, such as "3.11".
    """
    cache = CACHE if cache is None else cache
    folder = cache / environment_name(requirements, version)
    python = folder / "bin" / "python"
    if (folder / MARKER).is_file():
        return python
    base = find_python(version)
    if base is None:
        raise PeerError(
            f"{requirements.name} needs Python {version}: no python{version} on the PATH "
            "can make an environment"
        )
    try:
        cache.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise PeerError(f"cache ({str(cache)!r}) cannot be made: {error.strerror}") from None
    with open(folder.with_name(f"{folder.name}.lock"), "a", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / MARKER).is_file():  # nobody built it while we waited
            shutil.rmtree(folder, ignore_errors=True)
            build(base, folder, requirements, lock.fileno())
            (folder / MARKER).touch()
    return python


def environment_name(requirements: Path, version: str) -> str:
    """A name that changes when a pin or the version of Python does."""
    try:
        pins = requirements.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "not a text in UTF-8"
        raise PeerError(f"requirements {str(requirements)!r} cannot be read: {reason}") from None
    key = hashlib.sha256(f"{version}\n{pins}".encode()).hexdigest()[:12]
    return f"{requirements.stem}-{version}-{key}"


def find_python(version: str) -> str | None:
    """A Python of that version: this one, or the first on the PATH that runs."""
    if version == "{}.{}".format(*sys.version_info[:2]):
        return sys.executable
    for folder in os.get_exec_path():
        found = shutil.which(f"python{version}", path=folder)
        # pyenv has a command for each version, also for those that are switched off
        if found is not None and _answer(found) == version:
            return found
    return None


def _answer(python: str) -> str:
    try:
        return subprocess.run(
            [python, "-I", "-c", PROBE], check=True, capture_output=True, text=True, timeout=60
        ).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return ""


def build(base: str, folder: Path, requirements: Path, lock: int) -> None:
    """Make a venv and install the pins and nothing else, with a log beside the folder."""
    python, log = str(folder / "bin" / "python"), folder.with_name(f"{folder.name}.log")
    pip = [python, "-m", "pip", "install", "--no-deps", "--no-input", "--disable-pip-version-check"]
    with log.open("wb") as out:
        for command in ([base, "-m", "venv", str(folder)], [*pip, "-r", str(requirements)]):
            code = logged(command, out, env=clean_environment(), pass_fds=(lock,))
            if code != 0:
                raise PeerError(
                    f"the environment of {requirements.name} could not be built: "
                    f"{' '.join(command[1:4])} ended with {code}: {log_end(log)} "
                    f"(the whole log: {log})"
                )


def logged(command: Sequence[str], out: BinaryIO, **options: Any) -> int:
    """Run a command whose words go to a log; its exit code."""
    try:
        return subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
            check=False,
            **options,
        ).returncode
    except OSError as error:
        raise PeerError(f"{command[0]} cannot be run: {error.strerror}") from None


def clean_environment() -> dict[str, str]:
    """Our variables without those that make another Python look into our packages."""
    foreign = ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV", "PYTHONSTARTUP", "__PYVENV_LAUNCHER__")
    return {name: value for name, value in os.environ.items() if name not in foreign}


def log_end(log: Path) -> str:
    """The end of a log on one line."""
    try:
        text = log.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return "no log"
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return " / ".join(lines)[-LOG_END:] or "it said nothing"
