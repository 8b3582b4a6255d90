"""Processes forked from a server that has the slow imports and the data sets in memory.

The server is a copy of the runner where that is asked for and safe, and has at once what the runner
imported. Elsewhere it is an interpreter of its own that imports everything again. The command line
asks for a copy, before it has done anything else; a process that lives longer has locks, threads,
memory and modules of which runs must know nothing.

Runner and server talk over a pair of sockets. A request is a call in JSON and the writing end of a
pipe, into which the server writes the number of the process that it forked and, when that has
ended, its exit code. Server and runs have the reading end of one more pipe, ``alive``, whose
writing end only the runner has: it closes when the runner is gone.
"""

from __future__ import annotations

import atexit
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from multiprocessing import spawn
from multiprocessing.connection import wait
from pathlib import Path
from typing import Any, Protocol

from threadpoolctl import ThreadpoolController

from copula_shirley.experiments.run.serving import (
    ENDED,
    LENGTH,
    STARTED,
    leaving,
    name_of,
    read_all,
    serve,
)

#: What a process takes over from the runner; the last only if it needs the main module.
PREPARED = ("sys_path", "sys_argv", "orig_dir", "dir")
MAIN = ("init_main_from_name", "init_main_from_path")
#: The name of a thread of jemalloc.
JEMALLOC = "jemalloc_bg_thd"

_servers: list[Server] = []  # the one that runs, if there is one
_lock = threading.Lock()


def start_server(
    datasets: Sequence[str] = (), threads: int | None = None, *, copy: bool = False
) -> Server:
    """Start the server, if it is not there, and do not wait for its imports.

    Parameters
    ----------
    datasets : names
        Read once there, so that each run finds them in its memory. A run reads those that are not
        there, or whose file has changed since, for itself.
    threads : int, optional
        How many the numerical libraries take there. A server with another number is replaced: no
        run of it must be under way.
    copy : bool
        Whether the server may be a copy of this process.
    """
    with _lock:
        known = _servers[-1] if _servers else None
        if known and not (known.is_running() and threads in (None, known.threads)):
            _servers.pop().stop()
        if not _servers:
            _servers.append(Server(datasets, threads or 1, copy))
        return _servers[-1]


@atexit.register
def stop_server() -> None:
    """Stop the server, if it is there, and wait for it; its runs die."""
    with _lock:
        if _servers:
            _servers.pop().stop()


class Server:
    """The server, as the runner sees it."""

    def __init__(self, datasets: Sequence[str], threads: int, copy: bool) -> None:
        self.threads = threads
        self._line, line = socket.socketpair()
        alive_r, alive_w = os.pipe()
        self._alive = open(alive_w, "wb", buffering=0)  # noqa: SIM115 (stop closes it)
        own = (self._line.fileno(), alive_w)
        with line:
            found = copied(line, alive_r, own, threads) if copy else None
            self._is_copy = found is not None
            self._process: Started = found or spawned(line.fileno(), alive_r)
        os.close(alive_r)
        with suppress(OSError):  # it has died: who asks for a run will see
            self._send(list(dict.fromkeys(datasets)))

    @property
    def pid(self) -> int:
        """Its process."""
        return self._process.pid

    def is_running(self, after: float = 0.0) -> bool:
        """Whether it has not died, and does not within so many seconds."""
        end = time.monotonic() + after
        while self._process.poll() is None:
            if time.monotonic() >= end:
                return True
            time.sleep(0.01)
        return False

    def stop(self) -> None:
        """Stop it, if it has not died, and its runs, and wait for it."""
        self._line.close()
        self._alive.close()
        self._process.wait()

    def fork(
        self, work: Callable[..., None], arguments: tuple[Any, ...], needs_main: bool = False
    ) -> Forked:
        """Call a function at the top of a module, with plain values, in a process of its own.

        Its first argument is the reading end of ``alive``. The process has the folder and the
        module path of this one. The main module, if it is not there already, is imported only for
        who needs it: the command line would bring all that a person may ask for, and cost more than
        many a run.
        """
        known = spawn.get_preparation_data("run")
        kept = (*PREPARED, *MAIN) if needs_main and not self._is_copy else PREPARED
        prepared = {key: known[key] for key in kept if key in known}
        request = {"prepared": prepared, "work": name_of(work), "arguments": arguments}
        reader, writer = os.pipe()
        try:
            self._send(request, writer)
        except OSError:
            os.close(reader)
            raise
        finally:
            os.close(writer)
        return Forked(reader, self.pid)

    def _send(self, request: Any, *fds: int) -> None:
        text = json.dumps(request).encode()
        try:
            socket.send_fds(self._line, [LENGTH.pack(len(text))], fds)
            self._line.sendall(text)
        except BaseException:  # half a request: nobody would understand the next one
            self._line.close()
            raise


class Forked:
    """A process that the server forked.

    Attributes
    ----------
    pid : int
    adopted_by : int or None
        The server, if it adopts what the process leaves behind.
    """

    def __init__(self, reader: int, server: int) -> None:
        self._reader = reader
        said = read_all(reader, STARTED.size)
        if said is None:
            os.close(reader)
            raise OSError(f"process {server}, from which runs are forked, could not fork")
        self.pid, adopts = STARTED.unpack(said)
        self.adopted_by = server if adopts else None

    def has_ended(self, timeout: float | None = 0) -> bool:
        """Wait so many seconds for its end."""
        return bool(wait([self._reader], timeout))

    def end(self) -> int | None:
        """Kill it, if it has not ended, and wait for its exit code; None if nobody knows."""
        if not self.has_ended():
            with suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)
        said = read_all(self._reader, ENDED.size)
        os.close(self._reader)
        return None if said is None else int(ENDED.unpack(said)[0])


# -- two ways to start the server ------------------------------------------------


class Started(Protocol):
    """A process, as ``subprocess`` has them."""

    pid: int

    def poll(self) -> int | None:
        """Its exit code, or None while it runs."""

    def wait(self) -> int:
        """Its exit code, when it has ended."""


def spawned(line: int, alive: int) -> Started:
    """A server that is an interpreter of its own."""
    code = (
        f"import sys; sys.path[:] = {sys.path!r}; "
        f"from copula_shirley.experiments.run.serving import serve; serve({line}, {alive})"
    )
    flags: list[str] = subprocess._args_from_interpreter_flags()  # type: ignore[attr-defined]
    return subprocess.Popen([sys.executable, *flags, "-c", code], pass_fds=(line, alive))


def copied(line: socket.socket, alive: int, own: Iterable[int], threads: int) -> Started | None:
    """A server that is a copy of this process, with all its open files but its ``own``.

    None where a copy is not safe: on other systems than Linux, and where another thread might hold
    a lock that nobody in the copy would ever release, or be waited for there in vain, as OpenMP
    does. Threads of OpenBLAS and of jemalloc (Arrow's memory) do no harm: these libraries end them
    before a fork and start others in the copy.

    A lock that this process has on a file would outlive it, until its copy has seen its end: start
    the server before you take one.
    """
    if sys.platform != "linux" or threading.active_count() > 1:
        return None
    for stream in filter(None, (sys.stdout, sys.stderr)):
        stream.flush()
    with ThreadpoolController().limit(limits=threads), warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of threads: we look below
        pid = os.fork()
        if pid == 0:
            with leaving():
                _servers.clear()
                _lock.release()  # start_server of the runner has it, and will never know
                for end in own:
                    os.close(end)
                serve(line.detach(), alive)
        found = Copy(pid)
        if is_alone():  # before OpenBLAS starts its threads again, as the end of limit makes it
            return found
    os.kill(pid, signal.SIGKILL)
    found.wait()
    return None


def is_alone() -> bool:
    """Whether this process has one thread, not counting jemalloc's; just after a fork."""
    try:
        tasks = Path("/proc/self/task").glob("*/comm")
        return [task.read_text().strip() != JEMALLOC for task in tasks].count(True) == 1
    except OSError:  # one ended while we looked
        return False


class Copy:
    """A forked process, with the words of ``subprocess``."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self._code: int | None = None

    def poll(self) -> int | None:
        """Its exit code, or None while it runs."""
        return self._ask(os.WNOHANG)

    def wait(self) -> int:
        """Its exit code, when it has ended."""
        return int(self._ask(0) or 0)

    def _ask(self, how: int) -> int | None:
        if self._code is None:
            try:
                pid, status = os.waitpid(self.pid, how)
                self._code = os.waitstatus_to_exitcode(status) if pid else None
            except ChildProcessError:  # somebody else waited for it, or it is another's child
                self._code = 0
        return self._code
