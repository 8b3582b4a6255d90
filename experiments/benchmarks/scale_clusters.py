"""What a fit costs on workers, pass by pass: files in one process, Dask, and Spark.

The parts ``dask`` and ``spark`` of ``copula_shirley.experiments.benchmarks.scale``. Seconds are of
the processor, of this process and all that it started. A cluster has two workers on this machine;
it runs, and has imported all it needs, before anything is measured.
"""

from __future__ import annotations

import shutil
import tempfile
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import psutil

from copula_shirley import PrivateVine
from copula_shirley.experiments.datasets import load_dataset
from copula_shirley.rows.files import FileSource, Pool
from copula_shirley.rows.pieces import Piece, Work, Workers
from copula_shirley.schema.file_format import PLAIN

#: Bar: processor time of Dask in that of files.
RATIO = 4.0
#: Pieces of no row, by which the cost of a task is measured.
TASKS = 400


def tree_seconds() -> float:
    """Seconds of the processor that this process and its children have had."""
    total, own = 0.0, psutil.Process()
    for process in [own, *own.children(recursive=True)]:
        try:
            total += sum(process.cpu_times()[:4])  # those of children that ended included
        except psutil.Error:
            continue
    return total


class Measured:
    """Workers whose passes are measured."""

    def __init__(self, workers: Workers) -> None:
        self.workers, self.may_keep = workers, workers.may_keep
        self.passes: list[float] = []

    def each(self, pieces: Sequence[Piece], work: Work[Any]) -> Iterator[tuple[int, Any]]:
        start = tree_seconds()
        yield from self.workers.each(pieces, work)
        self.passes.append(tree_seconds() - start)

    def close(self) -> None:
        """They are used again."""


@dataclass(frozen=True)
class NoRows:
    """A piece without rows."""

    def frames(self) -> Iterable[pd.DataFrame]:
        return ()


def nothing(number: int, frames: Iterable[pd.DataFrame]) -> int:  # noqa: ARG001
    return number


def fitted_by(engine: str, folder: Path, rows: int) -> dict[str, Any]:
    """What a fit costs with an engine; all answers, too."""
    warnings.simplefilter("ignore")
    with WORKERS[engine]() as workers:
        measured, adult = Measured(workers), load_dataset("adult")
        _fit(adult, sorted(folder.iterdir())[:1], measured)  # imports
        measured.passes.clear()
        before, since = tree_seconds(), time.perf_counter()
        model = _fit(adult, sorted(folder.iterdir()), measured)
        seconds, lasted = tree_seconds() - before, time.perf_counter() - since
        first, *later = measured.passes
        [*measured.each([NoRows()] * TASKS, nothing)]
    answers = [[t.tolist() for t in a.values] for a in model.transcript_.answers]  # noqa: PD011
    return {
        "engine": engine,
        "CPU s": seconds,
        "s": lasted,
        "passes": 1 + len(later),
        "first, ns a row": 1e9 * first / rows,
        "later, ns a row": 1e9 * float(np.mean(later)) / rows,
        "public work, s": seconds - first - sum(later),
        "a task, ms": 1e3 * measured.passes[-1] / TASKS,
        "most cells": max(sum(np.size(table) for table in tables) for tables in answers),
        "answers": answers,
    }


def _fit(adult: Any, paths: Sequence[Path], workers: Workers) -> PrivateVine:
    source = FileSource(paths, adult.schema, PLAIN, workers)
    return PrivateVine(1.0, target="salary", random_state=0).fit(source, adult.schema)


@contextmanager
def _here() -> Iterator[Workers]:
    yield Pool(1)


@contextmanager
def _on_dask() -> Iterator[Workers]:
    from copula_shirley.rows.dask_rows import DaskWorkers  # noqa: PLC0415

    distributed: Any = import_module("distributed")
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0"}
    with (
        distributed.LocalCluster(**options) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        yield DaskWorkers(client)


@contextmanager
def _on_spark() -> Iterator[Workers]:
    from copula_shirley.rows.spark_rows import SparkWorkers  # noqa: PLC0415  (an extra)

    workers = SparkWorkers("local[2]")
    try:
        yield workers
    finally:
        workers.close()


WORKERS: dict[str, Callable[[], Any]] = {"files": _here, "dask": _on_dask, "spark": _on_spark}


def compared(
    engine: str, made: Callable[[Path, int], int], sizes: list[int], place: Path
) -> list[dict[str, Any]]:
    """Files in one process and an engine, fitted to the same files; the largest size is used."""
    rows, folder = max(sizes), Path(tempfile.mkdtemp(prefix="shirley-scale-", dir=place))
    lines = []
    try:
        for work in (made, *("files", engine)):
            with ProcessPoolExecutor(1, get_context("spawn")) as pool:
                if callable(work):
                    pool.submit(work, folder, rows).result()
                else:
                    lines.append(pool.submit(fitted_by, work, folder, rows).result())
    finally:
        shutil.rmtree(folder)
    answers = [line.pop("answers") for line in lines]
    shown = pd.DataFrame(lines).assign(ratio=[line["CPU s"] / lines[0]["CPU s"] for line in lines])
    print(f"{rows:,} rows", shown.round(3).to_string(index=False), sep="\n", flush=True)
    if answers[0] != answers[1]:
        raise SystemExit("the answers differ")
    return lines


def dask(made: Callable[[Path, int], int], sizes: list[int], place: Path) -> bool:
    files, other = compared("dask", made, sizes, place)
    return bool(other["CPU s"] <= RATIO * files["CPU s"])


def spark(made: Callable[[Path, int], int], sizes: list[int], place: Path) -> bool:
    compared("spark", made, sizes, place)
    return True
