"""Seconds and memory of fit and sample; the driver of the peers loads this file, too."""

from __future__ import annotations

import os
import random
import resource
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy

STATUS, CLEAR = Path("/proc/self/status"), Path("/proc/self/clear_refs")


class Stage:
    """What this process takes from now on.

    Linux lets a process forget its earlier peak of memory; elsewhere the peak of the whole process
    counts, so that only growth beyond it shows.
    """

    def __init__(self) -> None:
        with suppress(OSError):
            CLEAR.write_text("5", encoding="ascii")
        self._memory = _status("VmRSS")
        self._cpu, self._wall = sum(os.times()[:4]), time.perf_counter()

    def taken(self, name: str) -> dict[str, float]:
        """Seconds on the wall until now, and of the processor with its children that have ended."""
        wall, cpu = time.perf_counter() - self._wall, sum(os.times()[:4]) - self._cpu
        return {name: wall, f"{name}_cpu": cpu}

    def memory(self) -> int:
        """Bytes at the peak, less those at the start."""
        return max(_status("VmHWM") - self._memory, 0)


def seed_globals(seed: int) -> None:
    """Seed the global states, from which many generators of the field draw (we never do)."""
    random.seed(seed)
    numpy.random.seed(seed)  # noqa: NPY002


def fit_and_sample(
    generator: Any, rows: int, *given: Any
) -> tuple[Any, dict[str, float], dict[str, int]]:
    """The rows of a generator that is fitted to what is given, seconds, and bytes of memory."""
    fit = Stage()
    generator.fit(*given)
    seconds, memory = fit.taken("fit"), {"fit": fit.memory()}
    sample = Stage()
    drawn = generator.sample(rows)
    return drawn, seconds | sample.taken("sample"), memory | {"sample": sample.memory()}


def _status(key: str) -> int:
    if STATUS.is_file():
        for line in STATUS.read_text(encoding="ascii", errors="replace").splitlines():
            if line.startswith(f"{key}:"):
                return int(line.split()[1]) * 1024
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
