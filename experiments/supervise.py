"""A run in a process of its own, with limits of time and memory.

Processes are forked from a server that has the slow imports behind it, so that a run starts in
milliseconds and yet nothing that a generator does can touch another run. Each leads a process
group of its own; when a limit is passed, or the runner stops, the group dies with all children.
If the runner itself is killed its runs die too: nothing goes on behind anybody's back.
"""

from __future__ import annotations

import ctypes
import multiprocessing
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing.connection import wait
from pathlib import Path
from threading import Event
from typing import Any, Literal

import psutil

#: What the server imports before it forks the first run.
PRELOADED = ["experiments.execute", "copula_shirley.vine", "scipy.stats", "xgboost"]
#: Seconds between two looks at the memory of a run.
LOOK = 0.2
PR_SET_PDEATHSIG = 1
#: How much of what a run printed is shown when it dies.
LOG_END = 2000

Ending = Literal["ended", "timeout", "memory", "stopped"]


@dataclass(frozen=True)
class Limits:
    """What a run may take."""

    seconds: float = float("inf")
    bytes: float = float("inf")


@dataclass(frozen=True)
class Ended:
    """How a process ended, and the most memory that it was seen to take."""

    how: Ending
    code: int | None
    peak: int


def supervise(
    work: Callable[..., None], arguments: tuple[Any, ...], log: Path, limits: Limits, stop: Event
) -> Ended:
    """Call a function in a process of its own and wait for it.

    Parameters
    ----------
    work : function at the top of a module
    arguments : tuple
    log : path
        Gets what the process prints.
    limits : Limits
        Of the process and all its children together.
    stop : Event
        Once set, the process is killed.
    """
    process = _start(work, arguments, log)
    start, peak = time.monotonic(), 0
    try:
        while not wait([process.sentinel], timeout=LOOK):
            peak = max(peak, memory_of(process.pid))
            how: Ending | None = None
            if peak > limits.bytes:
                how = "memory"
            elif time.monotonic() - start > limits.seconds:
                how = "timeout"
            elif stop.is_set():
                how = "stopped"
            if how is not None:
                return Ended(how, None, peak)
        return Ended("ended", process.exitcode, peak)
    finally:
        kill_group(process.pid)
        process.kill()  # it may not lead its group yet
        process.join()
        process.close()


def _start(work: Callable[..., None], arguments: tuple[Any, ...], log: Path) -> Any:
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(PRELOADED)
    # a Dask worker is a daemon, which Python forbids children: ours are killed by us
    current: Any = multiprocessing.current_process()
    daemon = current._config.get("daemon")
    current._config["daemon"] = False
    try:
        process = context.Process(target=_enter, args=(work, arguments, str(log)))
        process.start()
    finally:
        current._config["daemon"] = daemon
    return process


def _enter(work: Callable[..., None], arguments: tuple[Any, ...], log: str) -> None:
    """What a new process does first."""
    os.setsid()
    die_with_parent()
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the runner decides
    out = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    for stream in (1, 2):
        os.dup2(out, stream)
    work(*arguments)


def die_with_parent() -> None:
    """Have this process killed when the one that started it ends; Linux only."""
    if sys.platform == "linux":
        parent = os.getppid()
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:  # it ended just before
            os._exit(1)


def memory_of(pid: int) -> int:
    """Bytes that a process and its children hold now."""
    try:
        parent = psutil.Process(pid)
        family = [parent, *parent.children(recursive=True)]
    except psutil.Error:
        return 0
    total = 0
    for process in family:
        with suppress(psutil.Error):
            total += process.memory_info().rss
    return total


def kill_group(pid: int) -> None:
    """Kill a run with all its children, also those that left its group."""
    family = []
    with suppress(psutil.Error):
        family = psutil.Process(pid).children(recursive=True)
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)
    for process in family:
        with suppress(psutil.Error):
            process.kill()


@contextmanager
def stopped_by_signals(stop: Event) -> Iterator[None]:
    """Set the event first when this process is interrupted or terminated.

    Whoever waits for the runs' threads would otherwise wait for the runs.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def handler(number: int, frame: Any) -> None:
        stop.set()
        before = known[signal.Signals(number)]
        if callable(before):
            before(number, frame)
        else:
            raise SystemExit(128 + number)

    known = {number: signal.signal(number, handler) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        stop.set()
        for number, before in known.items():
            signal.signal(number, before)


def log_end(log: Path) -> str:
    """The last of what a process printed."""
    try:
        return log.read_text(encoding="utf-8", errors="replace")[-LOG_END:]
    except OSError:
        return ""
