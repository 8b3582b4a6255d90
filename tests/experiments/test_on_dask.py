"""A real cluster of two worker processes, one of which is killed midway."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import pytest

from copula_shirley import SettingError
from copula_shirley.experiments.run import on_dask
from copula_shirley.experiments.run.on_dask import run_on_dask
from copula_shirley.experiments.run.processes import Limits
from copula_shirley.experiments.run.runner import run_all
from copula_shirley.experiments.run.store import Row, Store
from copula_shirley.experiments.specs import Run

distributed = pytest.importorskip("distributed")
pytestmark = pytest.mark.filterwarnings("ignore")
RUNS = [
    Run("made", use, use, rows=60, folds=4, fold=fold, metrics=("ks",), keep_table=fold == 0)
    for fold in range(3)
    for use in ("uniform", "dp-histogram")
]


class Killer:
    """Kills a worker, if there is a cluster, as soon as the first run has ended."""

    def __init__(self, cluster: Any = None) -> None:
        self.cluster = cluster

    def __call__(self, run: Run, row: Row | None) -> None:
        if row is not None and self.cluster is not None:
            worker = next(iter(self.cluster.workers.values()))
            os.kill(worker.process.process.pid, signal.SIGKILL)
            self.cluster = None


def test_a_grid_completes_though_a_worker_is_killed(tmp_path: Path) -> None:
    there, here = Store(tmp_path / "there"), Store(tmp_path / "here")
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
    ) as cluster:
        killer = Killer(cluster)
        rows = run_on_dask(cluster.scheduler_address, RUNS, there, Limits(), killer)
    assert killer.cluster is None
    assert len(rows) == len(RUNS)
    run_all(RUNS, here, Limits(), Killer(), jobs=1)
    found = [[row["figures"] for row in store.rows(RUNS)] for store in (there, here)]
    assert len(found[0]) == len(RUNS)
    assert found[0] == found[1]


def test_an_address_where_nobody_listens(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(on_dask, "PATIENCE", 1)
    with pytest.raises(SettingError, match=r"--dask \('tcp://127.0.0.1:1'\) must be the address"):
        run_on_dask("tcp://127.0.0.1:1", RUNS, Store(tmp_path), Limits(), Killer())
