"""Call a function in a process of its own, with limits of time and memory.

The fork server of the standard library has the slow imports behind it, so that a process starts in
milliseconds and shares no memory with another. What it forks is a guard, which forks the work and
then only waits. The guard adopts the orphans among all that the work starts, daemons too, and kills
everything below it when the work ends, when the runner says so (SIGTERM), or when the runner is
gone. This guards against accidents, not against malice: the work runs as its user, in no sandbox.
"""

from __future__ import annotations

import ctypes
import gc
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing import (
    connection,
    current_process,
    forkserver,
    get_context,
    parent_process,
    resource_tracker,
    spawn,
)
from pathlib import Path
from threading import Event, Lock
from typing import Any, Literal
from unittest.mock import patch

import psutil

#: Imported once, in the fork server.
PRELOAD = (
    "copula_shirley.experiments.run.runner",
    "copula_shirley.private_vine.generator",
    "copula_shirley.thesis.generator",
    "copula_shirley.thesis.vine",
    "scipy.stats",
    "xgboost",
)
#: Variables that tell numerical libraries how many threads to take, read when they load.
THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
#: Seconds between two looks of the runner at time and memory, and of the guard at the work.
RUNNER_PAUSE, GUARD_PAUSE = 0.2, 0.02
#: Seconds that killed processes are given to end.
PATIENCE = 10.0
#: Of linux/prctl.h: orphans below a process become its children.
PR_SET_CHILD_SUBREAPER = 36
#: Signals of which the server knows nothing: the runner decides.
OF_RUNNER = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

Ending = Literal["ended", "timeout", "memory", "stopped"]
_context = get_context("forkserver")
_starting = Lock()


@dataclass(frozen=True)
class Limits:
    """Seconds on the wall, and bytes of the work with all that it started."""

    seconds: float = float("inf")
    bytes: float = float("inf")


@dataclass(frozen=True)
class Ended:
    """How the work ended; its exit code is 128 and the number if a signal ended it."""

    how: Ending
    code: int | None


def run_apart(
    work: Callable[..., None],
    arguments: tuple[Any, ...],
    log: Path,
    limits: Limits,
    stop: Event,
    *,
    threads: int = 1,
    needs_main: bool = False,
) -> Ended:
    """Call a function at the top of a module in a process of its own and wait for its end.

    ``log`` gets what the process prints. Once ``stop`` is set, the process is killed. ``threads``
    is how many numerical libraries take. If it ``needs_main``, the process imports the main module
    of this one; the command line's would bring all that a person may ask for, and cost more than
    many a run.
    """
    with _preparing(threads, needs_main) as variables:
        guard = _context.Process(target=_guard, args=(str(log), variables, work, arguments))
        guard.start()
    deadline = time.monotonic() + limits.seconds
    how: Ending = "ended"
    try:
        while how == "ended" and not connection.wait([guard.sentinel], RUNNER_PAUSE):
            if _memory_below(guard.pid) > limits.bytes:
                how = "memory"
            elif time.monotonic() > deadline:
                how = "timeout"
            elif stop.is_set():
                how = "stopped"
    finally:
        guard.terminate()
        guard.join()
    return Ended(how, guard.exitcode if how == "ended" else None)


def start_server(threads: int = 1) -> None:
    """Start the fork server, if it does not run, and do not wait for its imports."""
    with _preparing(threads):
        forkserver.ensure_running()


@contextmanager
def _preparing(threads: int, needs_main: bool = False) -> Iterator[dict[str, str]]:
    """Give the variables of a new process; a server that starts meanwhile has them, too.

    Signals are blocked there, so that one sent to the whole group of the runner does not end the
    server, and with it the exit codes of all runs. The workers of Dask are daemons, to which the
    standard library allows no children, since these would outlive them; the guard sees to that.
    """
    known = spawn.get_preparation_data

    def prepared(name: str) -> dict[str, Any]:
        data = known(name).items()
        return {key: some for key, some in data if needs_main or not key.startswith("init_main")}

    number = dict.fromkeys(THREAD_VARIABLES, str(threads))
    with (
        _starting,
        patch.dict(os.environ, number),
        patch.dict(vars(current_process())["_config"], daemon=False),
        patch.object(spawn, "get_preparation_data", prepared),
    ):
        _context.set_forkserver_preload(list(PRELOAD))
        resource_tracker.ensure_running()  # its start would take signals out of the mask
        before = signal.pthread_sigmask(signal.SIG_BLOCK, OF_RUNNER)
        try:
            yield dict(os.environ)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)


# -- in the guard --------------------------------------------------------------------


def _guard(
    log: str, variables: Mapping[str, str], work: Callable[..., None], arguments: tuple[Any, ...]
) -> None:
    """Fork the work, wait for its end or the runner's, leave nobody behind."""
    os.setsid()
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    signal.signal(signal.SIGTERM, _leave)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, OF_RUNNER)
    os.environ.clear()
    os.environ.update(variables)
    _redirect_streams(log)
    process = get_context("fork").Process(target=_work, args=(work, arguments))
    runner = parent_process()
    assert runner is not None
    try:
        process.start()
        while process.is_alive() and not connection.wait([runner.sentinel], GUARD_PAUSE):
            pass
    finally:
        code = process.exitcode
        _kill_all(process.pid)
    if code:
        sys.exit(code if code > 0 else 128 - code)


def _leave(*_: object) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # once is enough
    sys.exit(128 + signal.SIGTERM)


def _redirect_streams(log: str) -> None:
    out = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    for handle, number in ((os.open(os.devnull, os.O_RDONLY), 0), (out, 1), (out, 2)):
        os.dup2(handle, number)
    sys.stdout, sys.stderr = (open(n, "w", buffering=1, closefd=False) for n in (1, 2))  # noqa: SIM115


def _work(work: Callable[..., None], arguments: tuple[Any, ...]) -> None:
    os.setsid()
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    gc.freeze()  # else the first collection would touch, and so copy, all that the server imported
    work(*arguments)


def _kill_all(group: int | None) -> None:
    """Kill all below this process, and where orphans are not adopted at least the work's group."""
    end = time.monotonic() + PATIENCE
    if group is not None:
        with suppress(OSError):
            os.killpg(group, signal.SIGKILL)
    while (below := psutil.Process().children(recursive=True)) and time.monotonic() < end:
        for process in below:
            with suppress(psutil.Error):
                process.kill()
        time.sleep(0.01)
        with suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass


def _memory_below(pid: int | None) -> int:
    """Bytes that all below a process hold now."""
    total = 0
    with suppress(psutil.Error):
        for process in psutil.Process(pid).children(recursive=True):
            with suppress(psutil.Error):
                total += process.memory_info().rss
    return total
