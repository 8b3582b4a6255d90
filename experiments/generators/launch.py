"""Run a script in another environment: one folder, few threads, nobody left behind.

The process stays in the process group of the run that starts it, so that whoever stops the run
stops the peer too. All that it starts carries a mark among its variables; when it has ended, or
when we are interrupted, whoever still has the mark is killed.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

from copula_shirley.experiments.generators.environments import PeerError, clean_environment, log_end
from copula_shirley.experiments.run.kin import kill_marked

#: Among the variables of a peer and of its children; the value is the folder of the job.
MARK = "COPULA_SHIRLEY_PEER"
#: Variables that tell numerical libraries how many threads to take.
THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "NUMBA_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "LOKY_MAX_CPU_COUNT",
)


def launch(python: Path, script: Path, folder: Path, threads: int, name: str) -> None:
    """Run ``script FOLDER`` with a Python and wait; what it says goes to ``log`` in the folder.

    Raises
    ------
    PeerError
        If it ends with an error; the message has the end of its log.
    """
    log = folder / "log"
    with log.open("wb") as out:
        try:
            process = subprocess.Popen(
                [str(python), str(script), str(folder)],
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                cwd=folder,
                env=variables(folder, threads),
            )
        except OSError as error:
            raise PeerError(f"{name}: {python} cannot be run: {error.strerror}") from None
        try:
            code = process.wait()
        finally:
            process.kill()
            kill_marked(MARK, str(folder))
            process.wait()
    if code != 0:
        raise PeerError(f"{name} ended with {code}: {log_end(log)}")


def variables(folder: Path, threads: int) -> dict[str, str]:
    """The variables of a peer's process."""
    own = dict.fromkeys(THREAD_VARIABLES, str(threads))
    own |= {
        MARK: str(folder),
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
