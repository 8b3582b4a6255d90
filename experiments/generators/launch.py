"""Run a script in another environment: one folder, few threads.

What it leaves behind ends with the run (``experiments.run.apart``).
"""

from __future__ import annotations

from pathlib import Path

from copula_shirley.experiments.generators.environments import (
    PeerError,
    clean_environment,
    log_end,
    logged,
)
from copula_shirley.experiments.run.apart import THREAD_VARIABLES

#: Variables that tell numerical libraries how many threads to take.
THREADS = (
    *THREAD_VARIABLES,
    "NUMEXPR_NUM_THREADS",
    "NUMBA_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "LOKY_MAX_CPU_COUNT",
)


def launch(python: Path, script: Path, folder: Path, threads: int, name: str) -> None:
    """Run ``script FOLDER`` with a Python and wait; what it says goes to ``log`` in the folder."""
    log = folder / "log"
    command = [str(python), str(script), str(folder)]
    with log.open("wb") as out:
        code = logged(command, out, cwd=folder, env=variables(folder, threads))
    if code != 0:
        raise PeerError(f"{name} ended with {code}: {log_end(log)}")


def variables(folder: Path, threads: int) -> dict[str, str]:
    """The variables of a peer's process."""
    own = dict.fromkeys(THREADS, str(threads))
    own |= {
        "TMPDIR": str(folder),  # goes with the folder, whatever happens to the peer
        "MPLBACKEND": "Agg",
        "PYTHONHASHSEED": "0",  # an order of sets must not change figures
        "PYTHONNOUSERSITE": "1",
        "PYTHONSAFEPATH": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    if threads == 1:  # JAX reads no other variable
        own["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false"
    return {**clean_environment(), **own}
