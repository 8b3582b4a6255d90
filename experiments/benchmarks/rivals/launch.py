"""Build the environment of a rival and run its driver there, with a time limit."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pooch  # type: ignore[import-untyped, unused-ignore]

from copula_shirley.domain import categories
from copula_shirley.schema import Column

CACHE = Path(pooch.os_cache("copula-shirley")) / "rivals"
#: Has ``run_NAME.py`` and the pinned requirements ``NAME.txt`` of each rival.
DRIVERS = Path(__file__).parent
#: The newest that all rivals take.
PYTHON = (3, 11)


class RivalError(RuntimeError):
    """A rival cannot be installed or does not run."""


def launch(rival: str, folder: Path, limit: float) -> None:
    """Run the driver of a rival on a folder.

    Raises
    ------
    RivalError
        If it cannot be installed or fails; the message has the end of its log.
    subprocess.TimeoutExpired
        If it takes more than ``limit`` seconds.
    """
    driver = DRIVERS / f"run_{rival}.py"
    code = _supervise([str(environment(rival)), "-I", str(driver), str(folder)], folder, limit)
    if code != 0:
        log = (folder / "log").read_text(encoding="utf-8", errors="replace")
        raise RivalError(f"{rival} ended with {code}:\n{log[-2000:]}")


def declared(column: Column, bins: int) -> dict[str, Any]:
    """The domain of a column; integers with few values are categories, no bins."""
    if column.kind in ("categorical", "boolean"):
        return {"categories": list(categories(column))}
    if column.kind == "integer" and column.maximum - column.minimum < bins:
        return {"categories": list(range(int(column.minimum), int(column.maximum) + 1))}
    return {"lower": column.minimum, "upper": column.maximum}


def environment(rival: str) -> Path:
    """The Python of a rival's environment, which is built if its pins changed."""
    folder, pins = CACHE / rival, DRIVERS / f"{rival}.txt"
    python, done = folder / "bin" / "python", folder / "installed.txt"
    if done.is_file() and done.read_bytes() == pins.read_bytes():
        return python
    name = "python{}.{}".format(*PYTHON)
    base = sys.executable if sys.version_info[:2] == PYTHON else shutil.which(name)
    if base is None:
        raise RivalError(f"{rival} needs {name}, which is not on the PATH")
    shutil.rmtree(folder, ignore_errors=True)
    try:
        subprocess.run([base, "-m", "venv", str(folder)], check=True)
        subprocess.run([str(python), "-m", "pip", "install", "-q", "-r", str(pins)], check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        raise RivalError(f"the environment of {rival} could not be built: {error}") from error
    shutil.copyfile(pins, done)
    return python


def _supervise(command: list[str], folder: Path, limit: float) -> int:
    """Run a command; on the time limit or an interrupt it dies with all its children."""
    threads = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    with (folder / "log").open("wb") as file:
        process = subprocess.Popen(
            command,
            stdout=file,
            stderr=subprocess.STDOUT,
            env={**os.environ, **threads},
            start_new_session=True,
        )
        try:
            return process.wait(limit)
        except BaseException:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            raise
