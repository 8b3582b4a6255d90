"""Run a grid: in parallel, resumable, each run with limits, every ending on record."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Event
from typing import Any, Protocol

import pandas as pd
from joblib import Parallel, delayed

from copula_shirley.experiments.generators.candidates import code_of
from copula_shirley.experiments.run.execute import execute, heading
from copula_shirley.experiments.run.forks import start_server
from copula_shirley.experiments.run.provenance import provenance
from copula_shirley.experiments.run.store import Row, Store
from copula_shirley.experiments.run.supervise import (
    Ended,
    Limits,
    log_end,
    stopped_by_signals,
    supervise,
)
from copula_shirley.experiments.specs import Run
from copula_shirley.files.code import code_digest

#: Variables that tell numerical libraries how many threads to take, read when they load.
THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


class Watcher(Protocol):
    """Somebody who is told what is going on."""

    def started(self, run: Run) -> None:
        """A run began."""

    def ended(self, run: Run, row: Row) -> None:
        """A run came to an end."""


def run_all(
    runs: Sequence[Run],
    store: Store,
    limits: Limits,
    watcher: Watcher,
    jobs: int | None = None,
    again: Sequence[str] = (),
) -> list[Row]:
    """Make the runs that have not ended yet, and give the results of all.

    Parameters
    ----------
    runs : list of Run
    store : Store
    limits : Limits
        Of each run.
    watcher : Watcher
    jobs : int, optional
        Runs at a time; by default as many as the cores give threads to.
    again : list of str
        What is made once more: "failed", "timeout", "skipped", or "stale", the results of other
        code than this.
    """
    stop = Event()
    threads = max((run.threads for run in runs), default=1)
    warm_up(runs, ended(runs, store, again))
    with store.opened(), few_threads(threads), stopped_by_signals(stop):
        todo = open_runs(runs, store, again)
        made_by = provenance()  # while the server imports
        work = (delayed(_one)(run, store, limits, watcher, made_by, stop) for run in todo)
        # threads that only wait for the processes of their runs
        Parallel(n_jobs=jobs or default_jobs(runs), backend="threading", batch_size=1)(work)
    return store.rows(runs)


def warm_up(runs: Sequence[Run], rows: Sequence[Row], *, copy: bool = False) -> None:
    """Start the server from which runs are forked, if there is a run without a result.

    It may be a copy of this process; ``experiments.run.forks`` says when it had better not be.
    """
    known = {row["id"] for row in rows}
    todo = [run for run in runs if run.id not in known]
    if todo:
        threads = max(run.threads for run in runs)
        with few_threads(threads):
            start_server([run.dataset for run in todo], threads, copy=copy)


def open_runs(runs: Sequence[Run], store: Store, again: Sequence[str] = ()) -> list[Run]:
    """The runs that have not ended, or that are to be made again; what was kept of these goes."""
    known = {row["id"] for row in ended(runs, store, again)}
    todo = [run for run in runs if run.id not in known]
    for run in todo:
        store.forget(run)
    return todo


def ended(runs: Sequence[Run], store: Store, again: Sequence[str] = ()) -> list[Row]:
    """The results that need not be made again."""
    return [row for row in store.rows(runs) if not (to_repeat(row, again) or is_edited(row))]


def to_repeat(row: Row, again: Sequence[str]) -> bool:
    """Whether a run that has ended is to be made once more."""
    return bool(row["status"] in again or ("stale" in again and is_stale(row)))


def is_edited(row: Row) -> bool:
    """Whether the generator is somebody else's, and its file is no longer what was run."""
    return bool(row.get("generator_code", "") != code_of(row["run"]["use"]))


def is_stale(row: Row) -> bool:
    """Whether a result was made by other code than this."""
    return bool(row.get("provenance", {}).get("code") != code_digest())


def default_jobs(runs: Sequence[Run]) -> int:
    """Runs at a time so that each has the threads that it asks for."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return max((cores or 1) // max((run.threads for run in runs), default=1), 1)


@contextmanager
def few_threads(threads: int) -> Iterator[None]:
    """Numerical libraries of new processes take so many threads."""
    before = {name: os.environ.get(name) for name in THREAD_VARIABLES}
    os.environ.update(dict.fromkeys(THREAD_VARIABLES, str(threads)))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def _one(
    run: Run,
    store: Store,
    limits: Limits,
    watcher: Watcher,
    made_by: Mapping[str, Any],
    stop: Event,
) -> None:
    if stop.is_set():
        return
    watcher.started(run)
    row = run_apart(run, store, limits, made_by, stop)
    if row is not None:
        watcher.ended(run, row)


def run_apart(
    run: Run, store: Store, limits: Limits, made_by: Mapping[str, Any], stop: Event
) -> Row | None:
    """Make one run in a process of its own; None if it was stopped.

    The process writes into a folder of its own; what it leaves there is checked and kept here. If
    it dies without a result, the reason is written.
    """
    with tempfile.TemporaryDirectory(prefix="shirley-") as name:
        own, log = Store(Path(name)), Path(name) / "log"
        arguments = (run.to_dict(), name, dict(made_by), time.time())
        needs_main = run.use.startswith("__main__:")
        try:
            ended = supervise(make_run, arguments, log, limits, stop, needs_main)
        except OSError as error:
            reason = f"no process could be started for it: {error}"
            failed = {"status": "failed", "reason": reason, "traceback": ""}
            store.put(run, {**heading(run, made_by), **failed})
            return store.get(run)
        row = own.get(run)
        if row is None and (ended.how == "stopped" or stop.is_set()):
            return None
        if row is None:
            row = _died(run, ended, limits, log, made_by)
        done = run.keep_table and row["status"] == "done"
        store.put(run, row, pd.read_parquet(own.table_path(run)) if done else None)
        return row


def make_run(entry: dict[str, Any], folder: str, made_by: dict[str, Any], asked: float) -> None:
    """Make one run and keep its result; called in a process of its own.

    ``asked`` is when the runner asked for it, by the clock of the system.
    """
    start = {"start": max(time.time() - asked, 0.0), "start_cpu": time.process_time()}
    run = Run.from_dict(entry)
    row, table = execute(run, made_by)
    if "beside" in row:
        row["beside"] = {**start, **row["beside"]}
    Store(folder).leave(run, row, table)


def _died(run: Run, ended: Ended, limits: Limits, log: Path, made_by: Mapping[str, Any]) -> Row:
    about = heading(run, made_by)
    if ended.how == "timeout":
        reason = f"took more than {limits.seconds:g} seconds and was stopped"
        return {**about, "status": "timeout", "reason": reason}
    if ended.how == "memory":
        reason = f"took more than {limits.bytes / 2**30:g} GB of memory and was stopped"
    else:
        reason = f"its process died with exit code {ended.code} and left no result"
    return {**about, "status": "failed", "reason": reason, "traceback": log_end(log)}


def exit_code(rows: Sequence[Row]) -> int:
    """1 if something failed or ran out of time, or if everything was skipped."""
    failed = any(row["status"] in ("failed", "timeout") for row in rows)
    return int(failed or all_skipped(rows))


def all_skipped(rows: Sequence[Row]) -> bool:
    """Whether there were runs, and none of them was made."""
    return bool(rows) and all(row["status"] == "skipped" for row in rows)
