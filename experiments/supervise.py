"""A run in a process of its own, with limits of time and memory.

Processes are forked from a server that has the slow imports behind it, so that a run starts in
milliseconds and yet shares no memory with another. Each leads a process group of its own; when it
ends, passes a limit, or the runner stops, the group dies with all that it ever started: a run
adopts the orphans among them, and the server those of a run that has ended. Where a system has no
such adoption, who carries the mark of the run among its variables is looked for instead. If the
runner itself is killed its runs die too.

This guards against accidents, not against malice: a generator runs as its user and in no sandbox.
Memory is looked at a few times a second, so that a shorter spike passes.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing.connection import wait
from pathlib import Path
from threading import Event, Lock
from typing import Any, Literal

import psutil

from experiments import forks, kin
from experiments.forks import ForkedProcess

#: Seconds between two looks at the memory of a run.
LOOK = 0.2
#: Among the variables of a run and of what it starts; the value is the path of its log.
MARK = "COPULA_SHIRLEY_RUN"
#: How much of what a run printed is shown when it dies.
LOG_END = 2000
#: Processes of the runs under way, and the lock under which they are started and counted.
_running: set[int] = set()
_starting = Lock()

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
    work: Callable[..., None],
    arguments: tuple[Any, ...],
    log: Path,
    limits: Limits,
    stop: Event,
    needs_main: bool = False,
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
    needs_main : bool
        Whether it needs the main module of this process.
    """
    process = _start(work, arguments, log, needs_main)
    start, peak = time.monotonic(), 0
    seen: set[psutil.Process] = set()
    try:
        while not wait([process.sentinel], timeout=LOOK):
            seen |= kin.family_of(process.pid)
            peak = max(peak, kin.memory_of(seen))
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
        _end(process, seen, log)


def _start(
    work: Callable[..., None], arguments: tuple[Any, ...], log: Path, needs_main: bool
) -> Any:
    # a Dask worker is a daemon, which Python forbids children: ours are killed by us
    current: Any = multiprocessing.current_process()
    daemon = current._config.get("daemon")
    with _starting:
        current._config["daemon"] = False
        try:
            words = (work, arguments, str(log))
            process = ForkedProcess(needs_main, target=_enter, args=words)
            process.start()
        finally:
            current._config["daemon"] = daemon
        _running.add(int(process.pid or 0))
    return process


def _end(process: Any, seen: set[psutil.Process], log: Path) -> None:
    """Kill a run, if it has not ended, and all that it has started."""
    kin.kill_all(process.pid, seen | kin.family_of(process.pid))
    process.kill()  # it may not lead its group yet
    process.join()
    server = adopted(log)
    with _starting:  # who is being started is no orphan
        _running.discard(process.pid)
        searched = server is not None and kin.kill_orphans(server, _running)
    process.close()
    if not searched:
        kin.kill_marked(MARK, str(log))


def adopted(log: Path) -> int | None:
    """The process that adopts what a run leaves behind, as the run said when it began."""
    try:
        return int(log.with_suffix(".server").read_text(encoding="ascii"))
    except (OSError, ValueError):
        return None


def _enter(work: Callable[..., None], arguments: tuple[Any, ...], log: str) -> None:
    """What a new process does first."""
    os.setsid()
    threading.Thread(target=die_with_runner, daemon=True).start()
    os.environ[MARK] = log
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the runner decides
    try:
        out = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    except OSError:  # the runner has stopped, and its folder is gone
        os._exit(1)
    for stream in (1, 2):
        os.dup2(out, stream)
    if forks.adopts and kin.adopt_orphans():
        Path(log).with_suffix(".server").write_text(str(os.getppid()), encoding="ascii")
    work(*arguments)


def die_with_runner() -> None:
    """Kill this process with all that it started as soon as the runner is gone."""
    runner = multiprocessing.parent_process()
    if runner is not None:
        wait([runner.sentinel])
        for process in kin.family_of(os.getpid()) - {psutil.Process()}:
            with suppress(psutil.Error):
                process.kill()
        os.killpg(os.getpgrp(), signal.SIGKILL)


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
