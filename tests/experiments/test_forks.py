"""The server from which runs are forked: a copy of the runner, or an interpreter of its own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest

from experiments import forks
from experiments.forks import Forked, Server

HERE = Path(__file__).parent
MARK: list[str] = []


def tell(alive: int, path: str, code: int) -> None:
    Path(path).write_text(f"{os.getpid()} {os.getcwd()} {MARK}", encoding="utf-8")
    os.fstat(alive)
    sys.exit(code)


def fail(alive: int) -> None:
    raise ValueError(f"{alive} is of no use")


def sleep(alive: int) -> None:
    os.read(alive, 1)


@pytest.fixture(params=["copied", "spawned"])
def server(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    """A server of either kind, whatever this process has run before."""
    monkeypatch.setattr(forks, "may_copy", lambda: request.param == "copied")
    monkeypatch.setattr(sys.modules[__name__], "MARK", [request.param])
    found = Server((), threads=1)
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
    with pytest.raises(OSError, match=r"Broken pipe|has died"):
        server.fork(sleep, ())
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

import experiments.commands
from experiments.forks import may_copy

said = [may_copy()]
waiting = Event()
thread = Thread(target=waiting.wait)
thread.start()
said.append(may_copy())
waiting.set()
thread.join()
said.append(may_copy())

import numpy as np
from xgboost import XGBClassifier

XGBClassifier(n_estimators=2, n_jobs=2).fit(np.arange(100.0).reshape(-1, 1), np.arange(100) % 2)
said.append(may_copy())
print(said)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="copies are made on Linux only")
def test_a_process_with_other_threads_is_not_copied() -> None:
    """Neither with one of Python's, nor with those that OpenMP keeps."""
    words = [sys.executable, "-c", textwrap.dedent(ALONE)]
    found = subprocess.run(words, check=True, capture_output=True, text=True).stdout
    assert found.strip() == "[True, False, True, False]"
