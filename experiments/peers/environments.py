"""Environments of their own, built once per set of pins, and scripts that are run in them.

An environment is a venv in the cache, named after its requirements file and a hash of the pins and
of the version of Python. It is built beside its place and moved there when it is whole, so that a
build that is killed leaves nothing that anybody uses. A lock keeps a second process waiting.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import pooch
from filelock import FileLock

from copula_shirley.errors import ShirleyError
from copula_shirley.experiments.run.processes import THREAD_VARIABLES

CACHE = Path(pooch.os_cache("copula-shirley")) / "peers"
#: How many letters of a log stand in an error.
LOG_END = 1500
#: Can this Python make an environment, and which version is it?
PROBE = "import sys, ensurepip, venv; print('%d.%d' % sys.version_info[:2])"
#: Variables that make another Python look into our packages.
FOREIGN = ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV", "PYTHONSTARTUP", "__PYVENV_LAUNCHER__")
#: Variables that tell numerical libraries how many threads to take.
THREADS = (
    *THREAD_VARIABLES,
    "NUMEXPR_NUM_THREADS",
    "NUMBA_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "LOKY_MAX_CPU_COUNT",
)


class PeerError(ShirleyError):
    """A peer is not described well, cannot be installed or does not run."""


def environment(requirements: Path, version: str, cache: Path | None = None) -> Path:
    """The Python of the environment with these pins, built in a cache if it is not there.

    ``requirements`` pins every package that is needed, a line each, as ``pip freeze`` writes them:
    pip installs these and looks for no others. ``version`` is that of Python, such as "3.11".
    """
    cache = CACHE if cache is None else cache
    name = environment_name(requirements, version)
    folder = cache / name
    if not folder.exists():
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
        with FileLock(cache / f"{name}.lock"):
            if not folder.exists():  # nobody built it while we waited
                for rest in cache.glob(f".{name}.*"):  # of builds that were killed
                    shutil.rmtree(rest, ignore_errors=True)
                made = Path(tempfile.mkdtemp(dir=cache, prefix=f".{name}."))
                build(base, made, requirements, cache / f"{name}.log")
                made.rename(folder)
    return folder / "bin" / "python"


def environment_name(requirements: Path, version: str) -> str:
    """A name that changes when a pin or the version of Python does."""
    try:
        pins = requirements.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "not a text in UTF-8"
        raise PeerError(f"requirements {str(requirements)!r} cannot be read: {reason}") from None
    key = hashlib.sha256(f"whole\n{version}\n{pins}".encode()).hexdigest()[:12]
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


def build(base: str, folder: Path, requirements: Path, log: Path) -> None:
    """Make a venv and install the pins and nothing else."""
    pip = [str(folder / "bin" / "python"), "-m", "pip", "install", "--no-deps", "--no-input"]
    what = f"the environment of {requirements.name} could not be built (log: {log}):"
    run_logged([base, "-m", "venv", str(folder)], log, f"{what} venv", clean_environment())
    words = ["--disable-pip-version-check", "-r", str(requirements)]
    run_logged([*pip, *words], log, f"{what} pip", clean_environment())


def launch(python: Path, script: Path, folder: Path, threads: int, name: str) -> None:
    """Run ``script FOLDER`` with a Python and wait; what it says goes to ``log`` in the folder.

    What it leaves behind ends with the run (``experiments.run.processes``).
    """
    variables = {
        **clean_environment(),
        **dict.fromkeys(THREADS, str(threads)),
        "TMPDIR": str(folder),  # goes with the folder, whatever happens to the peer
        "MPLBACKEND": "Agg",
        "PYTHONHASHSEED": "0",  # an order of sets must not change figures
        "PYTHONNOUSERSITE": "1",
        "PYTHONSAFEPATH": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    if threads == 1:  # JAX reads no other variable
        variables["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false"
    run_logged([str(python), str(script), str(folder)], folder / "log", name, variables)


def run_logged(command: Sequence[str], log: Path, name: str, variables: Mapping[str, str]) -> None:
    """Run a command in the folder of its log; a failure is an error with the end of the log."""
    with log.open("wb") as out:
        try:
            code = subprocess.run(
                command,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                check=False,
                cwd=log.parent,
                env=variables,
            ).returncode
        except OSError as error:
            raise PeerError(f"{command[0]} cannot be run: {error.strerror}") from None
    if code != 0:
        lines = map(str.strip, log.read_text(encoding="utf-8", errors="replace").splitlines())
        end = " / ".join(filter(None, lines))[-LOG_END:] or "it said nothing"
        raise PeerError(f"{name} ended with {code}: {end}")


def clean_environment() -> dict[str, str]:
    """Our variables without those that make another Python look into our packages."""
    return {name: value for name, value in os.environ.items() if name not in FOREIGN}
