"""A process and all that it started, found without a look at every process of the machine.

On Linux a run *adopts orphans* (``PR_SET_CHILD_SUBREAPER``): what it started stays below it even
when those in between have ended, so that a double fork does not hide anybody. The server from which
runs are forked adopts those whose run has ended; there they are found and killed.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from collections.abc import Collection, Iterable
from contextlib import suppress
from functools import cache
from pathlib import Path

import psutil

#: ``PR_SET_CHILD_SUBREAPER`` of linux/prctl.h.
SET_SUBREAPER = 36


def adopt_orphans() -> bool:
    """Become the parent of every orphan among one's descendants; False where one cannot."""
    if sys.platform != "linux" or not lists_children():
        return False
    try:
        return bool(ctypes.CDLL(None).prctl(SET_SUBREAPER, 1, 0, 0, 0) == 0)
    except (OSError, AttributeError):
        return False


@cache
def lists_children() -> bool:
    """Whether this system keeps a list of each process' children."""
    return Path(f"/proc/self/task/{os.getpid()}/children").is_file()


def children_of(pid: int) -> set[int]:
    """The children of a process, where the system lists them; none if it has ended."""
    found: set[int] = set()
    with suppress(OSError):
        for thread in os.listdir(f"/proc/{pid}/task"):
            with suppress(OSError):
                text = Path(f"/proc/{pid}/task/{thread}/children").read_text(encoding="ascii")
                found.update(map(int, text.split()))
    return found


def family_of(pid: int) -> set[psutil.Process]:
    """A process and all its children."""
    try:
        parent = psutil.Process(pid)
        if not lists_children():
            return {parent, *parent.children(recursive=True)}
    except psutil.Error:
        return set()
    found, to_ask = {parent}, [pid]
    while to_ask:
        for child in children_of(to_ask.pop()):
            with suppress(psutil.Error):
                found.add(psutil.Process(child))
                to_ask.append(child)
    return found


def memory_of(processes: Iterable[psutil.Process]) -> int:
    """Bytes that processes hold now."""
    total = 0
    for process in processes:
        with suppress(psutil.Error):
            total += process.memory_info().rss
    return total


def kill_all(group: int, processes: Iterable[psutil.Process]) -> None:
    """Kill a run's group, and those of its children that left it."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(group, signal.SIGKILL)
    for process in processes:
        with suppress(psutil.Error):  # psutil knows a pid that went to a stranger
            process.kill()


def kill_orphans(server: int, runs: Collection[int]) -> bool:
    """Kill the server's children that are no run, with all of theirs; False if it is gone.

    They are what runs left behind that have ended: whoever is in the server's own process group
    was forked by it for somebody else and has not left it, as runs do first of all.
    """
    try:
        group = os.getpgid(server)
    except OSError:
        return False
    left = True
    while left:  # one may start another while we look
        left = False
        # twice: the list may lack somebody if another one ends while it is read
        for child in (children_of(server) | children_of(server)) - set(runs):
            if not _left_behind(child, group):
                continue
            family = family_of(child)
            for process in family:
                with suppress(psutil.Error):
                    process.kill()
            psutil.wait_procs(family, timeout=10)
            left = True
    return True


def _left_behind(child: int, group: int) -> bool:
    try:
        ended = psutil.Process(child).status() == psutil.STATUS_ZOMBIE
        return not ended and os.getpgid(child) != group
    except (OSError, psutil.Error):
        return False


def kill_marked(variable: str, value: str) -> None:
    """Kill the processes that have a variable with this value, whoever their parent is now."""
    left = True
    while left:  # one may start another while we look
        left = False
        for process in psutil.process_iter():
            with suppress(psutil.Error, OSError):
                if process.environ().get(variable) == value:
                    process.kill()
                    process.wait(10)
                    left = True
