"""Run a grid: in parallel, resumable, each run with limits, every ending on record."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event
from typing import Any

import psutil

from copula_shirley.experiments.run.candidates import code_of
from copula_shirley.experiments.run.execute import execute, heading
from copula_shirley.experiments.run.processes import Ended, Limits, run_apart, start_server
from copula_shirley.experiments.run.provenance import provenance
from copula_shirley.experiments.run.store import Row, Store
from copula_shirley.experiments.specs import Run
from copula_shirley.files.versions import code_digest

#: How many letters of what a run printed are shown when it dies.
LOG_END = 2000
#: Told of each run: without a result when it begins, with it when it ends.
Watcher = Callable[[Run, Row | None], None]


def ended_rows(runs: Sequence[Run], store: Store, again: Sequence[str] = ()) -> list[Row]:
    """The results that need not be made again.

    Those whose status is among ``again`` must be, with "stale" also those that other code made, and
    in any case those of somebody's own generator whose file is no longer what was run.
    """
    return [
        row
        for row in store.rows(runs)
        if row["status"] not in again
        and not ("stale" in again and is_stale(row))
        and row.get("generator_code", "") == code_of(row["run"]["use"])
    ]


def is_stale(row: Row) -> bool:
    """Whether a result was made by other code than this."""
    return bool(row.get("provenance", {}).get("code") != code_digest())


def run_all(
    todo: Sequence[Run], store: Store, limits: Limits, watcher: Watcher, jobs: int | None = None
) -> list[Row]:
    """Make runs and give their results; what the store had of them goes first.

    So many ``jobs`` are done at a time, by default as many as the cores give threads to.
    """
    stop = Event()
    threads = max((run.threads for run in todo), default=1)
    if todo:
        start_server(threads)
    made_by = provenance()  # while the server imports

    def one(run: Run) -> Row | None:
        if stop.is_set():
            return None
        watcher(run, None)
        row = run_one(run, store, limits, made_by, stop)
        if row is not None:
            watcher(run, row)
        return row

    # threads that only wait for the processes of their runs
    with store.opened(), ThreadPoolExecutor(jobs or max(cores() // threads, 1)) as pool:
        for run in todo:
            store.forget(run)
        try:
            return [row for row in pool.map(one, todo) if row is not None]
        finally:
            stop.set()


def cores() -> int:
    """How many cores this process may use."""
    return len(psutil.Process().cpu_affinity()) if psutil.LINUX else os.cpu_count() or 1


def run_one(
    run: Run, store: Store, limits: Limits, made_by: Mapping[str, Any], stop: Event
) -> Row | None:
    """Make one run in a process of its own; None if it was stopped before its end.

    The process puts its result into the store. If it dies before, the reason is put there.
    """
    with tempfile.TemporaryDirectory(prefix="shirley-") as folder:
        log = Path(folder) / "log"
        arguments = (run.to_dict(), str(store.folder.resolve()), dict(made_by))
        main = run.use.startswith("__main__:")
        try:
            ended = run_apart(
                make_run, arguments, log, limits, stop, threads=run.threads, needs_main=main
            )
        except (OSError, EOFError) as error:  # EOFError: of a server that died
            about = {"reason": f"no process could be started for it: {error}", "traceback": ""}
        else:
            row = store.get(run)
            if row is not None or ended.how == "stopped" or stop.is_set():
                return row
            text = log.read_text(encoding="utf-8", errors="replace") if log.is_file() else ""
            about = _reason(ended, limits, text)
    row = {**heading(run, made_by), "status": "failed", **about}
    store.put(run, row)
    return row


def make_run(entry: dict[str, Any], folder: str, made_by: dict[str, Any]) -> None:
    """Make one run and keep its result; called in a process of its own."""
    run = Run.from_dict(entry)
    Store(folder).put(run, *execute(run, made_by))


def _reason(ended: Ended, limits: Limits, log: str) -> dict[str, str]:
    """Why a process left no result."""
    if ended.how == "timeout":
        why = f"took more than {limits.seconds:g} seconds and was stopped"
        return {"status": "timeout", "reason": why}
    why = f"its process died with exit code {ended.code} and left no result"
    if ended.how == "memory":
        why = f"took more than {limits.bytes / 2**30:g} GB of memory and was stopped"
    return {"reason": why, "traceback": log[-LOG_END:]}


def exit_code(rows: Sequence[Row]) -> int:
    """1 if something failed or ran out of time, or if everything was skipped."""
    failed = any(row["status"] in ("failed", "timeout") for row in rows)
    return int(failed or all_skipped(rows))


def all_skipped(rows: Sequence[Row]) -> bool:
    """Whether there were runs, and none of them was made."""
    return bool(rows) and all(row["status"] == "skipped" for row in rows)
