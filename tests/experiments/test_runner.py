"""The runner: every ending on record, resuming, signals."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterable
from multiprocessing import forkserver
from pathlib import Path
from threading import Event
from typing import Any

import psutil
import pytest
import works
from commands import Command

from copula_shirley.experiments.run import processes as apart
from copula_shirley.experiments.run import runner
from copula_shirley.experiments.run.processes import Limits
from copula_shirley.experiments.run.runner import ended_rows, exit_code, run_all, run_one
from copula_shirley.experiments.run.store import Row, Store
from copula_shirley.experiments.specs import Grid, Run

HERE = Path(__file__).parent
#: Seconds and bytes are those of this machine; everything else must be the same.
VOLATILE = ("seconds", "memory", "provenance")


class Watcher:
    def __init__(self) -> None:
        self.told: list[str] = []

    def __call__(self, run: Run, row: Row | None) -> None:
        self.told.append(f"{run.use} {row['status'] if row else 'started'}")


def run_of(use: str, **settings: Any) -> Run:
    given = tuple(settings.items())
    return Run("made", use, use, given, rows=60, folds=2, metrics=("ks",), keep_table=True)


def lasting(rows: Iterable[Row]) -> dict[str, Row]:
    return {row["id"]: {k: v for k, v in row.items() if k not in VOLATILE} for row in rows}


def test_every_ending_is_on_record_and_harms_nobody(tmp_path: Path) -> None:
    uses = ("Raises", "Eats", "Dies", "Gaps", "Copies")
    runs = [*(run_of(f"strangers:{use}") for use in uses), run_of("dp-histogram")]
    watcher, store = Watcher(), Store(tmp_path)
    old = {"run": {}, "id": runs[2].id, "status": "failed", "reason": "of another time"}
    store.put(runs[2], old)
    rows = run_all(runs, store, Limits(bytes=0.8 * 2**30), watcher, jobs=2)
    statuses = ["failed", "failed", "failed", "done", "done", "done"]
    assert [row["id"] for row in rows] == [run.id for run in runs]
    assert [row["status"] for row in rows] == statuses
    told = zip([run.use for run in runs], statuses, strict=True)
    assert sorted(watcher.told) == sorted(
        line for use, status in told for line in (f"{use} started", f"{use} {status}")
    )
    assert rows[1]["reason"] == "took more than 0.8 GB of memory and was stopped"
    assert rows[2]["reason"] == "its process died with exit code 7 and left no result"
    assert "my last words" in rows[2]["traceback"]
    assert exit_code(rows) == 1
    assert exit_code(rows[3:]) == 0
    # the same as without the bad ones
    alone = run_all(runs[-1:], Store(tmp_path / "b"), Limits(), Watcher())
    assert lasting(alone) == lasting(rows[-1:])


def test_one_that_hangs_and_one_without_a_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, run = Store(tmp_path), run_of("strangers:Hangs", pid_file=str(tmp_path / "pid"))
    row = run_one(run, store, Limits(seconds=0.5), {}, Event())
    assert row is not None
    assert (row["status"], row["reason"]) == (
        "timeout",
        "took more than 0.5 seconds and was stopped",
    )
    store.forget(run)
    stop = Event()
    stop.set()
    assert run_one(run, store, Limits(), {}, stop) is None
    assert store.get(run) is None

    def refused(*_: object, **__: object) -> None:
        raise OSError("no process is left")

    monkeypatch.setattr(runner, "run_apart", refused)
    row = run_one(run, store, Limits(), {}, Event())
    assert row is not None
    assert row["reason"] == "no process could be started for it: no process is left"


def test_what_need_not_be_made_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "edited.py").write_text((HERE / "strangers.py").read_text(encoding="utf-8"))
    store, runs = Store(tmp_path), [run_of("uniform"), run_of("edited:Raises")]
    rows = run_all(runs, store, Limits(), Watcher())
    assert ended_rows(runs, store) == ended_rows(runs, store, ["stale"]) == rows
    assert ended_rows(runs, store, ["failed"]) == rows[:1]
    with monkeypatch.context() as other:
        other.setattr(runner, "code_digest", lambda: "other")
        assert ended_rows(runs, store, ["stale"]) == []
    with (tmp_path / "edited.py").open("a", encoding="utf-8") as file:
        file.write("#\n")
    assert ended_rows(runs, store) == rows[:1]


CONFIG = """
datasets: [made]
rows: 60
folds: 2
metrics: [ks]
keep_table: true
generators: {{dp-histogram: , 'strangers:Hangs': {{settings: {{pid_file: '{pid}'}}}}}}
"""


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGKILL, -9), (signal.SIGINT, 130), (signal.SIGTERM, 143)]
)
def test_a_signal_stops_at_once_and_keeps_what_is_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, code: int
) -> None:
    config, results, pid = tmp_path / "grid.yaml", tmp_path / "results", tmp_path / "pid"
    config.write_text(CONFIG.format(pid=pid), encoding="utf-8")
    first, hangs = Grid.read(config).runs()[:2]
    monkeypatch.setattr(apart, "PRELOAD", apart.PRELOAD[:1])
    monkeypatch.setitem(vars(forkserver._forkserver), "_forkserver_pid", None)  # type: ignore[attr-defined]
    words = ["experiments", "run", str(config), "--results", str(results), "--jobs", "1"]
    command = Command(tmp_path, words)
    works.wait_for(pid.exists)
    os.kill(command.pid, number)
    ended = command.ended()
    assert ended.code == code, ended.err
    child = int(pid.read_text(encoding="ascii"))
    works.wait_for(lambda: not psutil.pid_exists(child), 20)
    store = Store(results)
    with store.opened():  # its lock is free
        assert store.get(hangs) is None
    kept, table = json.loads(store.path(first).read_bytes()), store.table_path(first.id)
    # as if nothing had happened
    monkeypatch.undo()
    whole = Store(tmp_path / "whole")
    assert lasting([kept]) == lasting(run_all([first], whole, Limits(), Watcher()))
    assert table.read_bytes() == whole.table_path(first.id).read_bytes()
