"""The server from which runs are forked (``experiments.run.forks`` starts it and asks it)."""

from __future__ import annotations

import importlib
import json
import os
import selectors
import signal
import socket
import struct
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from multiprocessing import current_process, spawn
from typing import Any

import psutil

from copula_shirley.experiments.run import kin

#: How many bytes of a request follow.
LENGTH = struct.Struct("<Q")
#: What the server says: the process and whether its orphans are adopted; later its exit code.
STARTED, ENDED = struct.Struct("<q?"), struct.Struct("<q")


def serve(line: int, alive: int) -> None:
    """Fork a process for every request until the runner is gone.

    The first request is the list of the data sets to read.
    """
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)  # the runner decides
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    with socket.socket(fileno=line) as requests:
        first = receive(requests)
        if first is None:
            return
        datasets = json.loads(first[0])
        importlib.import_module("copula_shirley.experiments.run.warm").warm(datasets)
        with Forking(requests, alive) as forking:
            while forking.turn():
                pass
    # runs see for themselves that the runner is gone, unless one is busy in a long call
    for process in kin.family_of(os.getpid()) - {psutil.Process()}:
        with suppress(psutil.Error):
            process.kill()


class Forking:
    """Processes that the server has forked, and what wakes it."""

    def __init__(self, requests: socket.socket, alive: int) -> None:
        self._requests, self._alive = requests, alive
        self._adopts = kin.adopt_orphans()
        self._writers: dict[int, int] = {}  # of each process, what its end is written to

    def __enter__(self) -> Forking:
        self._woken, self._waker = os.pipe()
        os.set_blocking(self._woken, False)
        os.set_blocking(self._waker, False)
        signal.signal(signal.SIGCHLD, lambda *_: None)  # someone must listen, or nothing wakes
        signal.set_wakeup_fd(self._waker)
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._requests, selectors.EVENT_READ)
        self._selector.register(self._woken, selectors.EVENT_READ)
        return self

    def __exit__(self, *_: object) -> None:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        self._selector.close()
        for end in (self._woken, self._waker, *self._writers.values()):
            os.close(end)

    def turn(self) -> bool:
        """Wait for something to do and do it; False if the runner is gone."""
        ready = {key.fileobj for key, _ in self._selector.select()}
        if self._woken in ready:
            os.read(self._woken, 65536)
            self._reap()
        if self._requests not in ready:
            return True
        received = receive(self._requests)
        if received is not None:
            self._fork(*received)
        return received is not None

    def _reap(self) -> None:
        """Tell the exit codes of those that have ended; those of adopted orphans nobody wants."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            writer = self._writers.pop(pid, None)
            if writer is not None:
                tell(writer, ENDED.pack(os.waitstatus_to_exitcode(status)))
                os.close(writer)

    def _fork(self, request: bytes, writer: int) -> None:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DeprecationWarning)  # of jemalloc's thread
                pid = os.fork()
        except OSError:  # no process is left; the runner sees the end of the pipe
            os.close(writer)
            return
        if pid == 0:
            with leaving():
                os.close(writer)
                self.__exit__()
                self._requests.close()
                become(request, self._alive)
        self._writers[pid] = writer
        tell(writer, STARTED.pack(pid, self._adopts))


def become(request: bytes, alive: int) -> None:
    """In a new process: do what was asked for."""
    wanted = json.loads(request)
    current: Any = current_process()
    current._inheriting = True  # a main module without a guard must not start processes
    spawn.prepare(wanted["prepared"])
    del current._inheriting
    found(wanted["work"])(alive, *wanted["arguments"])


def name_of(function: Callable[..., Any]) -> str:
    """By what name ``found`` finds a function at the top of a module."""
    return f"{function.__module__}:{function.__qualname__}"


def found(name: str) -> Callable[..., Any]:
    """The function of a name."""
    module, _, function = name.partition(":")
    return getattr(importlib.import_module(module), function)  # type: ignore[no-any-return]


@contextmanager
def leaving() -> Iterator[None]:
    """Leave this process at the end, whatever happens: what called us is the runner's to do."""
    code = 0
    try:
        yield
    except SystemExit as error:
        code = error.code if isinstance(error.code, int) else int(error.code is not None)
    except BaseException:
        code = 1
        traceback.print_exc()
    finally:
        try:
            for stream in filter(None, (sys.stdout, sys.stderr)):
                stream.flush()
        finally:
            os._exit(code & 0xFF)


# -- bytes -----------------------------------------------------------------------


def receive(line: socket.socket) -> tuple[bytes, int] | None:
    """A request and the file that came with it, -1 if none did; None at the end."""
    head, fds, _, _ = socket.recv_fds(line, LENGTH.size, 1)
    if len(head) < LENGTH.size:
        return None
    (length,) = LENGTH.unpack(head)
    request = bytearray()
    while len(request) < length:
        some = line.recv(length - len(request))
        if not some:
            return None
        request += some
    return bytes(request), fds[0] if fds else -1


def read_all(reader: int, size: int) -> bytes | None:
    """So many bytes of a pipe; None if it ends before."""
    found = b""
    while len(found) < size:
        some = os.read(reader, size - len(found))
        if not some:
            return None
        found += some
    return found


def tell(writer: int, words: bytes) -> None:
    """Write a few bytes to the runner, if it is still there."""
    with suppress(BrokenPipeError):
        os.write(writer, words)
