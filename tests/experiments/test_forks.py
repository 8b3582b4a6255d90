"""The server from which runs are forked: a copy of the runner, or an interpreter of its own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from copula_shirley.experiments.run import forks
from copula_shirley.experiments.run.forks import Forked, Server

MARK: list[str] = []


def tell(alive: int, path: str, code: int) -> None:
    Path(path).write_text(f"{os.getpid()} {os.getcwd()} {MARK}", encoding="utf-8")
    os.fstat(alive)
    sys.exit(code)


def fail(alive: int) -> None:
    raise ValueError(f"{alive} is of no use")


def sleep(alive: int) -> None:
    os.read(alive, 1)


@pytest.fixture(params=["copied", pytest.param("spawned", marks=pytest.mark.slow)])
def server(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    """A server of either kind, whatever threads this process has."""
    monkeypatch.setattr(threading, "active_count", lambda: 1)
    monkeypatch.setattr(forks, "is_alone", lambda: True)
    monkeypatch.setattr(sys.modules[__name__], "MARK", [request.param])
    with forks._lock:  # as start_server has it
        found = Server((), threads=1, copy=request.param == "copied")
    yield found
    found.stop()


def code_of(process: Forked) -> int | None:
    assert process.has_ended(120)
    return process.end()


def test_a_call_is_made_in_a_process_of_its_own(server: Server, tmp_path: Path) -> None:
    kind, told = MARK[0], tmp_path / "told"
    process = server.fork(tell, (str(told), 7))
    assert code_of(process) == 7
    # a copy has what was in the memory of this process, and nobody else has
    known = MARK if kind == "copied" else []
    assert told.read_text(encoding="utf-8") == f"{process.pid} {os.getcwd()} {known}"
    assert process.pid not in (os.getpid(), server.pid)


def test_an_error_ends_one_process_only(server: Server, tmp_path: Path) -> None:
    assert code_of(server.fork(fail, ())) == 1
    assert code_of(server.fork(tell, (str(tmp_path / "told"), 0))) == 0


def test_who_is_killed_says_so(server: Server) -> None:
    process = server.fork(sleep, ())
    assert not process.has_ended(0.2)
    assert process.end() == -signal.SIGKILL


def test_a_dead_server_is_told_and_replaced(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(forks, "_servers", [server])
    process = server.fork(sleep, ())
    os.kill(server.pid, signal.SIGKILL)
    assert process.has_ended(60)
    os.kill(process.pid, signal.SIGKILL)
    assert process.end() is None
    with pytest.raises(OSError, match=r"Broken pipe|reset by peer|could not fork"):
        server.fork(sleep, ())
    assert not server.is_running(after=60)
    other = forks.start_server()
    assert other is not server and other.is_running()
    assert code_of(other.fork(tell, (str(tmp_path / "told"), 0))) == 0
    forks.stop_server()
    assert not other.is_running()


def test_processes_see_the_end_of_the_runner(server: Server) -> None:
    process = server.fork(sleep, ())
    server.stop()
    assert process.has_ended(60)
    assert process.end() is None  # the server, which would know, ended first


ALONE = """
from threading import Event, Thread

import copula_shirley.experiments.cli.experiments
from copula_shirley.experiments.run import forks

def copies():
    forks.start_server(copy=True)
    found = forks._servers[-1]._is_copy
    forks.stop_server()
    return found

said = [copies(), copies()]
waiting = Event()
thread = Thread(target=waiting.wait)
thread.start()
said.append(copies())
waiting.set()
thread.join()

import numpy as np
from xgboost import XGBClassifier

XGBClassifier(n_estimators=2, n_jobs=2).fit(np.arange(100.0).reshape(-1, 1), np.arange(100) % 2)
said.append(copies())
print(said)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="copies are made on Linux only")
def test_a_process_with_other_threads_is_not_copied() -> None:
    """Neither with one of Python's, nor with those that OpenMP keeps, after a fork either."""
    words = [sys.executable, "-c", textwrap.dedent(ALONE)]
    found = subprocess.run(words, check=True, capture_output=True, text=True).stdout
    assert found.strip() == "[True, True, False, False]"


def nested(alive: int, told: str) -> None:
    os.fstat(alive)
    process = forks.start_server().fork(tell, (told, 3))
    assert process.has_ended(240)
    sys.exit(process.end())


def test_a_process_may_have_a_server_of_its_own(server: Server, tmp_path: Path) -> None:
    process = server.fork(nested, (str(tmp_path / "told"),))
    assert process.has_ended(240)
    assert process.end() == 3


def test_signals_to_all_of_us_leave_the_server_alone(server: Server, tmp_path: Path) -> None:
    """A terminal that closes under nohup; a SIGTERM to the group that the runner survives."""
    assert code_of(server.fork(tell, (str(tmp_path / "ready"), 0))) == 0
    for number in (signal.SIGHUP, signal.SIGTERM, signal.SIGINT):
        os.kill(server.pid, number)
    assert code_of(server.fork(tell, (str(tmp_path / "told"), 0))) == 0


def busy(alive: int, told: str) -> None:
    Path(told).write_text(str(os.getpid()), encoding="ascii")
    assert alive
    while True:
        pass


def test_who_does_not_look_dies_with_the_runner_all_the_same(
    server: Server, tmp_path: Path
) -> None:
    process = server.fork(busy, (str(tmp_path / "told"),))
    server.stop()
    end = time.monotonic() + 60
    while psutil.pid_exists(process.pid) and time.monotonic() < end:
        time.sleep(0.05)
    assert not psutil.pid_exists(process.pid)


def test_a_long_request_arrives_whole(server: Server, tmp_path: Path) -> None:
    """Also if processes end meanwhile, which interrupts the server."""
    many = [server.fork(tell, (str(tmp_path / "told"), 0)) for _ in range(5)]
    long = server.fork(length, (str(tmp_path / "long"), "x" * 3_000_000))
    assert [code_of(process) for process in [*many, long]] == [0] * 6
    assert (tmp_path / "long").read_text(encoding="ascii") == "3000000"


def length(alive: int, told: str, content: str) -> None:
    os.fstat(alive)
    Path(told).write_text(str(len(content)), encoding="ascii")


def test_another_number_of_threads_is_another_server(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(forks, "_servers", [server])
    assert forks.start_server() is server is forks.start_server(threads=1)
    other = forks.start_server(threads=2)
    assert other is not server and not server.is_running()
    forks.stop_server()
