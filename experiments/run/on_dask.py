"""Send the runs of a grid to a Dask cluster (the extra ``dask``).

Workers need this project, and the data sets, installed. Each run is made in a process of its own
there, under the same limits; results come back and are written here. A worker that dies loses
nothing but the runs it had begun: Dask hands them to another one.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from threading import Event
from typing import Any

import pandas as pd

from copula_shirley.errors import SettingError
from copula_shirley.experiments.run.execute import heading
from copula_shirley.experiments.run.processes import Limits
from copula_shirley.experiments.run.provenance import provenance
from copula_shirley.experiments.run.runner import Watcher, run_one
from copula_shirley.experiments.run.store import Row, Store
from copula_shirley.experiments.specs import Run
from copula_shirley.lazy import LazyModule

#: Of the extra ``dask``, which may not be there.
distributed: Any = LazyModule("distributed")
#: Seconds to wait for a scheduler.
PATIENCE = 20


def run_on_dask(
    address: str, todo: Sequence[Run], store: Store, limits: Limits, watcher: Watcher
) -> list[Row]:
    """Make runs on a cluster and give their results; see ``run_all``."""
    try:
        client = distributed.Client(address, timeout=PATIENCE, set_as_default=False)
    except (OSError, TimeoutError, ValueError) as error:
        raise SettingError(
            f"--dask ({address!r}) must be the address of a scheduler, such as "
            f"tcp://127.0.0.1:8786: {type(error).__name__}"
        ) from None
    made_by, rows, runs = provenance(), [], {}
    with client, store.opened():
        for run in todo:
            store.forget(run)
            runs[client.submit(remote_run, run.to_dict(), limits, pure=False)] = run
            watcher(run, None)
        for future in distributed.as_completed(list(runs), loop=client.loop):
            run = runs.pop(future)
            try:
                row, table = future.result()
            except Exception as error:  # of Dask: no worker was left, or it could not import us
                reason = f"{type(error).__name__}: {error}"
                failed = {"status": "failed", "reason": reason, "traceback": reason}
                row, table = {**heading(run, made_by), **failed}, None
            store.put(run, row, table)
            watcher(run, row)
            rows.append(row)
    return rows


def remote_run(entry: dict[str, Any], limits: Limits) -> tuple[Row | None, pd.DataFrame | None]:
    """Make one run on a worker; the result, and the table if it is to be kept."""
    run, made_by = Run.from_dict(entry), provenance()  # the worker's versions and processor
    with tempfile.TemporaryDirectory(prefix="shirley-") as folder:
        store = Store(folder)
        row = run_one(run, store, limits, made_by, Event())
        table = store.table_path(run.id)
        return row, pd.read_parquet(table) if table.is_file() else None
