"""Send the runs of a grid to a Dask cluster (the extra ``dask``).

Workers need this project, and the data sets, installed. Each run is made in a process of its own
there, under the same limits; results come back and are written here. A worker that dies loses
nothing but the runs it had begun: Dask hands them to another one.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Sequence
from pathlib import Path
from threading import Event
from typing import Any

import pandas as pd

from copula_shirley.errors import SettingError
from copula_shirley.experiments.run.execute import heading
from copula_shirley.experiments.run.provenance import provenance
from copula_shirley.experiments.run.runner import Watcher, open_runs, run_apart
from copula_shirley.experiments.run.store import Row, Store
from copula_shirley.experiments.run.supervise import Limits
from copula_shirley.experiments.specs import Run

#: Seconds to wait for a scheduler.
PATIENCE = 20


def run_on_dask(
    address: str,
    runs: Sequence[Run],
    store: Store,
    limits: Limits,
    watcher: Watcher,
    again: Sequence[str] = (),
) -> list[Row]:
    """Make the runs that have not ended yet on a cluster, and give the results of all."""
    distributed = _distributed()
    made_by = provenance()
    with store.opened(), _client(distributed, address) as client:
        todo = {run.id: run for run in open_runs(runs, store, again)}
        futures = [
            client.submit(remote_run, run.to_dict(), limits, key=f"shirley-{run.id}", pure=False)
            for run in todo.values()
        ]
        names = {future.key: run for future, run in zip(futures, todo.values(), strict=True)}
        for run in todo.values():
            watcher.started(run)
        for future in distributed.as_completed(futures, loop=client.loop):
            run = names[future.key]
            row, table = _outcome(future, run, made_by)
            store.put(run, row, table)
            watcher.ended(run, row)
            future.release()
    return store.rows(runs)


def remote_run(entry: dict[str, Any], limits: Limits) -> tuple[str, pd.DataFrame | None]:
    """Make one run on a worker; the result as JSON, and the table if it is to be kept."""
    run, made_by = Run.from_dict(entry), provenance()  # the worker's versions and processor
    with tempfile.TemporaryDirectory(prefix="shirley-") as folder:
        store = Store(Path(folder))
        row = run_apart(run, store, limits, made_by, Event())
        table = None
        if run.keep_table and row is not None and row["status"] == "done":
            table = pd.read_parquet(store.table_path(run))
        return json.dumps(row), table


def _outcome(future: Any, run: Run, made_by: dict[str, Any]) -> tuple[Row, pd.DataFrame | None]:
    if future.status == "finished":
        text, table = future.result()
        return json.loads(text), table
    error = future.exception()
    reason = f"{type(error).__name__}: {error}"
    failed = {"status": "failed", "reason": reason, "traceback": reason}
    return {**heading(run, made_by), **failed}, None


def _distributed() -> Any:
    try:
        import distributed  # noqa: PLC0415  (optional)
    except ImportError:
        raise SettingError(
            "--dask needs the package distributed: pip install 'copula-shirley[dask]'"
        ) from None
    return distributed


def _client(distributed: Any, address: str) -> Any:
    try:
        return distributed.Client(address, timeout=PATIENCE, set_as_default=False)
    except (OSError, TimeoutError, ValueError) as error:
        raise SettingError(
            f"--dask ({address!r}) must be the address of a scheduler, such as "
            f"tcp://127.0.0.1:8786: {type(error).__name__}"
        ) from None
