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

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing.connection import wait
from pathlib import Path
from threading import Event, Lock
from typing import Any, Literal

import psutil

from copula_shirley.experiments.run import forks, kin
from copula_shirley.experiments.run.forks import Forked
from copula_shirley.experiments.run.serving import found, name_of

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
        Of plain values, as JSON has them.
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
    how: Ending = "ended"
    try:
        while how == "ended" and not process.has_ended(LOOK):
            seen |= kin.family_of(process.pid)
            peak = max(peak, kin.memory_of(seen))
            if peak > limits.bytes:
                how = "memory"
            elif time.monotonic() - start > limits.seconds:
                how = "timeout"
            elif stop.is_set():
                how = "stopped"
    finally:
        code = _end(process, seen, log)
    return Ended(how, code if how == "ended" else None, peak)


def _start(
    work: Callable[..., None], arguments: tuple[Any, ...], log: Path, needs_main: bool
) -> Forked:
    call = (_enter, (name_of(work), arguments, str(log)), needs_main)
    with _starting:
        server = forks.start_server()
        try:
            process = server.fork(*call)
        except OSError:
            if server.is_running(after=1.0):  # nothing is wrong with it: no process is left
                raise
            process = forks.start_server().fork(*call)
        _running.add(process.pid)
    return process


def _end(process: Forked, seen: set[psutil.Process], log: Path) -> int | None:
    """Kill a run, if it has not ended, and all that it has started; its exit code."""
    kin.kill_all(process.pid, seen | kin.family_of(process.pid))
    code = process.end()  # it may not lead its group yet
    server = process.adopted_by
    with _starting:  # who is being started is no orphan
        _running.discard(process.pid)
        searched = server is not None and kin.kill_orphans(server, _running)
    if not searched:
        kin.kill_marked(MARK, str(log))
    return code


def _enter(alive: int, work: str, arguments: Sequence[Any], log: str) -> None:
    """What a new process does first."""
    os.setsid()
    threading.Thread(target=die_with_runner, args=[alive], daemon=True).start()
    os.environ[MARK] = log
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the runner decides
    try:
        out = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    except OSError:  # the runner has stopped, and its folder is gone
        os._exit(1)
    for stream in (1, 2):
        os.dup2(out, stream)
    # those of the runner, of which this may be a copy, may lead elsewhere
    sys.stdout, sys.stderr = (open(n, "w", buffering=1, closefd=False) for n in (1, 2))  # noqa: SIM115
    kin.adopt_orphans()
    found(work)(*arguments)


def die_with_runner(alive: int) -> None:
    """Kill this process with all that it started as soon as the runner is gone."""
    wait([alive])
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
