"""Work for other processes, which need little to do it."""

from __future__ import annotations

import os
import warnings


def doubled(number: int) -> tuple[int, int]:
    """The double, and the process; 3 is warned of, and 100 ends the process."""
    if number == 3:
        warnings.warn("three", UserWarning, stacklevel=2)
    if number == 100:
        os._exit(1)
    return 2 * number, os.getpid()
