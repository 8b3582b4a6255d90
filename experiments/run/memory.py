"""Peak memory of a stretch of code."""

from __future__ import annotations

import resource
import sys
from contextlib import suppress
from pathlib import Path

STATUS, CLEAR = Path("/proc/self/status"), Path("/proc/self/clear_refs")


class PeakMemory:
    """Bytes that this process took at most since the object was made, beyond what it had.

    Linux lets a process forget its earlier peak; elsewhere the peak of the whole process counts,
    so that only growth beyond it shows.
    """

    def __init__(self) -> None:
        with suppress(OSError):
            CLEAR.write_text("5", encoding="ascii")
        self._before = _status("VmRSS")

    def peak(self) -> int:
        """Bytes at the peak, less those at the start."""
        return max(_status("VmHWM") - self._before, 0)


def _status(key: str) -> int:
    if STATUS.is_file():
        for line in STATUS.read_text(encoding="ascii", errors="replace").splitlines():
            if line.startswith(f"{key}:"):
                return int(line.split()[1]) * 1024
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
