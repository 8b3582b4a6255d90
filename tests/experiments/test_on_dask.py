"""A real cluster of two worker processes, one of which is killed midway."""

from __future__ import annotations

import os
import signal
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from copula_shirley import SettingError
from copula_shirley.experiments.run.on_dask import run_on_dask
from copula_shirley.experiments.run.store import Row, Store
from copula_shirley.experiments.run.supervise import Limits
from copula_shirley.experiments.specs import Run

distributed = pytest.importorskip("distributed")
pytestmark = pytest.mark.filterwarnings("ignore")


class Killer:
    """Kills a worker as soon as the first run has ended."""

    def __init__(self, cluster: Any) -> None:
        self.cluster, self.killed = cluster, 0
        self.statuses: list[str] = []

    def started(self, run: Run) -> None:
        pass

    def ended(self, run: Run, row: Row) -> None:
        self.statuses.append(row["status"])
        if not self.killed:
            worker = next(iter(self.cluster.workers.values()))
            self.killed = worker.process.process.pid
            os.kill(self.killed, signal.SIGKILL)


def runs() -> list[Run]:
    made: dict[str, Any] = {"rows": 60, "folds": 4, "metrics": ("ks",)}
    return [
        Run("made", use, use, fold=fold, keep_table=fold == 0, **made)
        for fold in range(4)
        for use in ("uniform", "dp-histogram")
    ]


def test_a_grid_completes_though_a_worker_is_killed(tmp_path: Path) -> None:
    from copula_shirley.experiments.run.runner import run_all  # noqa: PLC0415

    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
    ) as cluster:
        killer = Killer(cluster)
        rows = run_on_dask(
            cluster.scheduler_address, runs(), Store(tmp_path / "dask"), Limits(), killer
        )
    assert killer.killed
    assert killer.statuses == ["done"] * 8
    here = run_all(runs(), Store(tmp_path / "here"), Limits(), Quiet(), jobs=1)
    assert [row["figures"] for row in rows] == [row["figures"] for row in here]
    assert Store(tmp_path / "dask").table_path(runs()[0]).is_file()


class Quiet:
    def started(self, run: Run) -> None:
        pass

    def ended(self, run: Run, row: Row) -> None:
        pass


def test_an_address_where_nobody_listens(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("copula_shirley.experiments.run.on_dask.PATIENCE", 1)
    before = time.monotonic()
    with pytest.raises(SettingError, match=r"--dask \('tcp://127.0.0.1:1'\) must be the address"):
        run_on_dask("tcp://127.0.0.1:1", runs(), Store(tmp_path), Limits(), Quiet())
    assert time.monotonic() > before and threading.active_count() >= 1
