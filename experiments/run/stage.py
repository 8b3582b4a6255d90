"""Seconds and peak memory of a stretch of work; the driver of the peers loads this file, too."""

from __future__ import annotations

import os
import resource
import sys
import time
from contextlib import suppress
from pathlib import Path

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


def _status(key: str) -> int:
    if STATUS.is_file():
        for line in STATUS.read_text(encoding="ascii", errors="replace").splitlines():
            if line.startswith(f"{key}:"):
                return int(line.split()[1]) * 1024
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
