"""Processes forked from a server that has the slow imports and the data sets in memory.

It is the server of ``multiprocessing``. Two things differ. A new process does not import the main
module of the runner again: the command line would bring everything that a person may ask for, and
cost more than many a run. And the server is told which data sets to read before it forks.
"""

from __future__ import annotations

import io
import os
from collections.abc import Iterable
from multiprocessing import context, forkserver, popen_forkserver, reduction, spawn, util
from typing import Any

#: What the server imports before it forks the first run.
PRELOADED = ["experiments.warm"]
#: Tells the server which data sets to read.
DATASETS = "COPULA_SHIRLEY_WARM"
#: In the server and in runs: whether the server adopts the orphans of runs.
adopts = False


def start_server(datasets: Iterable[str] = ()) -> None:
    """Start the server, if it is not there, and do not wait for its imports.

    Parameters
    ----------
    datasets : names
        Read once there, so that each run finds them in its memory. A run reads those that are not
        there, or whose file has changed since, for itself.
    """
    before = os.environ.get(DATASETS)
    os.environ[DATASETS] = ",".join(dict.fromkeys(datasets))
    try:
        forkserver.set_forkserver_preload(PRELOADED)
        forkserver.ensure_running()
    finally:
        if before is None:
            del os.environ[DATASETS]
        else:
            os.environ[DATASETS] = before


class Popen(popen_forkserver.Popen):
    """A start without the main module of the runner."""

    def _launch(self, process_obj: Any) -> None:
        """As in the standard library, but for the main module."""
        prepared = spawn.get_preparation_data(process_obj._name)
        if not process_obj.needs_main:
            prepared = {key: prepared[key] for key in prepared if not key.startswith("init_main")}
        buffer = io.BytesIO()
        context.set_spawning_popen(self)
        try:
            reduction.dump(prepared, buffer)
            reduction.dump(process_obj, buffer)
        finally:
            context.set_spawning_popen(None)
        self.sentinel, write = forkserver.connect_to_new_process(self._fds)  # type: ignore[attr-defined]
        close: Any = util.close_fds  # type: ignore[attr-defined]
        self.finalizer = util.Finalize(self, close, (os.dup(write), self.sentinel))
        with open(write, "wb", closefd=True) as pipe:
            pipe.write(buffer.getbuffer())
        self.pid = forkserver.read_signed(self.sentinel)


class ForkedProcess(context.ForkServerProcess):
    """A process that the server forks.

    Parameters
    ----------
    needs_main : bool
        Whether it needs the main module of the runner all the same.
    """

    def __init__(self, needs_main: bool = False, **options: Any) -> None:
        super().__init__(**options)
        self.needs_main = needs_main

    @staticmethod
    def _Popen(process_obj: Any) -> Popen:  # noqa: N802
        return Popen(process_obj)

    def start(self) -> None:
        """Start it; the server first, if nobody has."""
        forkserver.set_forkserver_preload(PRELOADED)
        super().start()
