"""Processes forked from a server that has the slow imports and the data sets in memory.

The server is a copy of the runner where a copy is safe, and has at once what the runner imported.
Elsewhere it is an interpreter of its own that imports everything again: where another thread might
hold a lock that nobody in the copy would ever release, and where the system is not Linux.

Runner and server talk over a pair of sockets. A request is a pickled call and the writing end of a
pipe, into which the server writes the number of the process that it forked and, when that has
ended, its exit code. All have the reading end of one more pipe, ``alive``, whose writing end only
the runner has: it closes when the runner is gone.
"""

from __future__ import annotations

import os
import pickle
import signal
import socket
import subprocess
import sys
import threading
import warnings
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from multiprocessing import spawn
from multiprocessing.connection import wait
from pathlib import Path
from typing import Any, Protocol

from threadpoolctl import ThreadpoolController

from experiments.serving import ENDED, LENGTH, STARTED, leaving, read_all, serve

#: What a process takes over from the runner; the last only if it needs the main module.
PREPARED = ("sys_path", "sys_argv", "orig_dir", "dir")
MAIN = ("init_main_from_name", "init_main_from_path")
#: The name of a thread of jemalloc.
JEMALLOC = "jemalloc_bg_thd"

_servers: list[Server] = []  # the one that runs, if there is one
_lock = threading.Lock()


def start_server(datasets: Sequence[str] = (), threads: int = 1) -> Server:
    """Start the server, if it is not there, and do not wait for its imports.

    Parameters
    ----------
    datasets : names
        Read once there, so that each run finds them in its memory. A run reads those that are not
        there, or whose file has changed since, for itself.
    threads : int
        How many the numerical libraries take there.
    """
    with _lock:
        if _servers and not _servers[-1].is_running():
            _servers.pop().stop()
        if not _servers:
            _servers.append(Server(datasets, threads))
        return _servers[-1]


def stop_server() -> None:
    """Stop the server, if it is there, and wait for it; its runs die."""
    with _lock:
        if _servers:
            _servers.pop().stop()


class Server:
    """The server, as the runner sees it."""

    def __init__(self, datasets: Sequence[str], threads: int) -> None:
        self._process: Started
        self._line, line = socket.socketpair()
        alive_r, alive_w = os.pipe()
        self._alive = open(alive_w, "wb", buffering=0)  # noqa: SIM115 (stop closes it)
        with line:
            if may_copy():
                with ThreadpoolController().limit(limits=threads):
                    self._process = copied(line, alive_r, (self._line.fileno(), alive_w))
            else:
                self._process = spawned(line.fileno(), alive_r)
        os.close(alive_r)
        with suppress(OSError):  # it has died: who asks for a run will see
            self._send(pickle.dumps(list(dict.fromkeys(datasets))))

    @property
    def pid(self) -> int:
        """Its process."""
        return self._process.pid

    def is_running(self) -> bool:
        """Whether it has not died."""
        return self._process.poll() is None

    def stop(self) -> None:
        """Stop it, if it has not died, and its runs, and wait for it."""
        self._line.close()
        self._alive.close()
        self._process.wait()

    def fork(
        self, work: Callable[..., None], arguments: tuple[Any, ...], needs_main: bool = False
    ) -> Forked:
        """Call a function at the top of a module in a process of its own.

        Its first argument is the reading end of ``alive``. The process has the folder and the
        module path of this one. The main module, if it is not there already, is imported only for
        who needs it: the command line would bring all that a person may ask for, and cost more than
        many a run.
        """
        known = spawn.get_preparation_data("run")
        kept = (*PREPARED, *MAIN) if needs_main else PREPARED
        prepared = {key: known[key] for key in kept if key in known}
        # apart: what is called can only be found once the module path is set
        request = pickle.dumps(prepared) + pickle.dumps((work, arguments))
        reader, writer = os.pipe()
        try:
            self._send(request, writer)
        except OSError:
            os.close(reader)
            raise
        finally:
            os.close(writer)
        return Forked(reader, self.pid)

    def _send(self, request: bytes, *fds: int) -> None:
        socket.send_fds(self._line, [LENGTH.pack(len(request))], fds)
        self._line.sendall(request)


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
            raise OSError(f"process {server}, from which runs are forked, has died")
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
        f"from experiments.serving import serve; serve({line}, {alive})"
    )
    return subprocess.Popen([sys.executable, "-c", code], pass_fds=(line, alive))


def copied(line: socket.socket, alive: int, own: Iterable[int]) -> Started:
    """A server that is a copy of this process, with all its open files but its ``own``.

    A lock that this process has on a file would outlive it, until its copy has seen its end: start
    the server before you take one.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of threads: may_copy has looked
        pid = os.fork()
    if pid == 0:
        with leaving():
            for end in own:
                os.close(end)
            for number in (signal.SIGTERM, signal.SIGHUP):
                signal.signal(number, signal.SIG_DFL)
            serve(line.detach(), alive)
    return Copy(pid)


def may_copy() -> bool:
    """Whether nothing but this thread runs in this process.

    Threads of OpenBLAS and of jemalloc (Arrow's memory) do not count: these libraries stop them
    before a fork and start them again in the copy. All others do, OpenMP's for one: who had some
    would wait for them in the copy forever.
    """
    if sys.platform != "linux" or threading.active_count() > 1:
        return False
    pools = [pool for pool in ThreadpoolController().info() if pool["internal_api"] == "openblas"]
    safe = 1 + sum(int(pool["num_threads"]) - 1 for pool in pools)
    names = [name.read_text().strip() for name in Path("/proc/self/task").glob("*/comm")]
    return len([name for name in names if name != JEMALLOC]) <= safe


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
            pid, status = os.waitpid(self.pid, how)
            self._code = os.waitstatus_to_exitcode(status) if pid else None
        return self._code
