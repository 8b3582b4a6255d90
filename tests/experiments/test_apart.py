"""A process of its own: what it sees, how it ends, and that it leaves nobody behind."""

from __future__ import annotations

import os
import signal
import sys
import time
import types
import warnings
from collections.abc import Callable
from multiprocessing import forkserver
from pathlib import Path
from threading import Event, Timer
from typing import Any

import psutil
import pytest
import works

from copula_shirley.experiments.run import processes as apart
from copula_shirley.experiments.run.processes import Ended, Limits, run_apart


@pytest.fixture
def pids(tmp_path: Path) -> Path:
    folder = tmp_path / "pids"
    folder.mkdir()
    return folder


def call(
    tmp_path: Path, work: Callable[..., None], *arguments: Any, **options: Any
) -> tuple[Ended, str]:
    limits, stop = options.pop("limits", Limits()), options.pop("stop", Event())
    ended = run_apart(work, arguments, tmp_path / "log", limits, stop, **options)
    return ended, (tmp_path / "log").read_text(encoding="utf-8")


def check_gone(pids: Path) -> None:
    found = [int(file.read_text(encoding="ascii")) for file in pids.glob("[a-z]*")]
    assert len(found) == 3
    works.wait_for(lambda: not any(map(psutil.pid_exists, found)), 20)


@pytest.mark.parametrize("needs_main", [False, True])
def test_what_a_process_sees(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, needs_main: bool
) -> None:
    """The folder, variables and streams of its runner; the main module only on demand."""
    main: Any = types.ModuleType("__main__")
    main.__file__ = str(tmp_path / "script.py")
    (tmp_path / "script.py").touch()
    monkeypatch.setitem(sys.modules, "__main__", main)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("WORK", "hard")
    monkeypatch.setenv("OMP_NUM_THREADS", "5")
    told = tmp_path / "told"
    ended, log = call(tmp_path, works.tell, str(told), "x", threads=3, needs_main=needs_main)
    assert ended == Ended("ended", 1)
    assert log.startswith("some words\n")
    assert log.endswith("ValueError: no such luck\n")
    seen = ["script.py" if needs_main else "no main", str(tmp_path), "3", "hard", "x"]
    assert told.read_text(encoding="utf-8").splitlines() == seen
    assert os.environ["OMP_NUM_THREADS"] == "5"


def test_a_signal_is_told_by_its_number(tmp_path: Path) -> None:
    assert call(tmp_path, works.killed)[0] == Ended("ended", 128 + signal.SIGKILL)


def test_too_much_memory(tmp_path: Path) -> None:
    assert call(tmp_path, works.eat, limits=Limits(60, 8e8))[0] == Ended("memory", None)


@pytest.mark.parametrize(
    ("ending", "ended"),
    [
        ("returns", Ended("ended", 0)),
        ("dies", Ended("ended", 7)),
        ("hangs", Ended("timeout", None)),
        ("hangs", Ended("stopped", None)),
    ],
)
def test_nobody_stays_behind(tmp_path: Path, pids: Path, ending: str, ended: Ended) -> None:
    stop, limits = Event(), Limits(seconds=1.0 if ended.how == "timeout" else 60)
    if ended.how == "stopped":
        Timer(1.0, stop.set).start()
    assert call(tmp_path, works.leave, str(pids), ending, limits=limits, stop=stop)[0] == ended
    check_gone(pids)


def test_nobody_outlives_a_killed_runner(
    tmp_path: Path, pids: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runner = forked_runner(monkeypatch, lambda: call(tmp_path, works.leave, str(pids), "hangs"))
    works.wait_for(lambda: len(list(pids.glob("[a-z]*"))) == 3)
    os.kill(runner, signal.SIGKILL)
    os.waitpid(runner, 0)
    check_gone(pids)


def forked_runner(monkeypatch: pytest.MonkeyPatch, call: Callable[[], object]) -> int:
    """A process with a fork server of its own, which imports nothing."""
    monkeypatch.setattr(apart, "PRELOAD", ())
    monkeypatch.setitem(vars(forkserver._forkserver), "_forkserver_pid", None)  # type: ignore[attr-defined]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        pid = os.fork()
    if pid == 0:
        try:
            call()
        finally:
            os._exit(0)
    return pid


def test_a_signal_to_all_of_us_leaves_the_server_alone(tmp_path: Path) -> None:
    apart.start_server()
    server = forkserver._forkserver._forkserver_pid  # type: ignore[attr-defined]
    for number in (signal.SIGHUP, signal.SIGTERM, signal.SIGINT):
        os.kill(server, number)
    time.sleep(0.1)
    assert call(tmp_path, works.killed)[0].code == 137
    assert forkserver._forkserver._forkserver_pid == server  # type: ignore[attr-defined]
