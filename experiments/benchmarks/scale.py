"""What scale costs, part by part: rows, columns, cells, files, samples.

Run it with ``python -m copula_shirley.experiments.benchmarks.scale PART...``. Seconds are of the
processor, one thread, each fit in a process of its own; ratios are of one run. It ends with 1 if a
bar is missed. Parts:

``files [--rows 1e6,1e7,1e8] [--folder /tmp]``: Adult drawn again, 14 columns, its numbers moved by
up to 2, in Parquet parts of 1e6 rows that are made for the run and removed. A fit from files is
compared with a bare pass: a count of all tables of that fit by ``numpy.bincount``, of groups that
lie in memory already, in chunks of 32,768.
``dask`` and ``spark``: see ``copula_shirley.experiments.benchmarks.scale_clusters``.
``sampling --against ../old`` (fits and samples of this and of older checkouts), ``counting``,
``conditions``, ``wide``, ``cells``, ``text``: see
``copula_shirley.experiments.benchmarks.scale_memory``.
"""

from __future__ import annotations

import argparse
import math
import resource
import shutil
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits

from copula_shirley import PrivateVine
from copula_shirley.experiments.benchmarks import scale_clusters, scale_memory
from copula_shirley.experiments.benchmarks.wide import cost, numbers
from copula_shirley.experiments.datasets import Dataset, load_dataset
from copula_shirley.measure.recorded_fits import recorded
from copula_shirley.rows.memory import MemoryRows

#: Rows of a file, of its row groups, and of a chunk of the bare count.
PART, GROUP, STEP = 10**6, 250_000, 2**15
#: Bars: processor time in bare passes of all tables per pass, growth, and memory in MB.
RATIO, GROWTH, MEMORY = 3.0, 1.02, 1500.0


def adult_part(adult: Dataset, rows: int, seed: int) -> pd.DataFrame:
    """Rows of Adult drawn again, with numbers moved a little."""
    rng = np.random.default_rng(seed)
    table = adult.table.take(rng.integers(0, len(adult.table), rows)).reset_index(drop=True)
    for column in adult.schema:
        if column.is_listed or column.size < 20:
            continue
        values = table[column.name].to_numpy()
        moved = values + np.where(values > 0, rng.integers(-2, 3, rows), 0)
        table[column.name] = np.clip(moved, column.minimum, column.maximum).astype(values.dtype)
    return table


def made(folder: Path, rows: int) -> int:
    """Write rows to Parquet files; their bytes."""
    adult = load_dataset("adult")
    for i, start in enumerate(range(0, rows, PART)):
        part = adult_part(adult, min(PART, rows - start), i)
        part.to_parquet(folder / f"{i:04}.parquet", index=False, row_group_size=GROUP)
    return sum(path.stat().st_size for path in folder.iterdir())


def fitted(folder: Path) -> dict[str, float]:
    """What a fit from files costs in this process."""
    threadpool_limits(1)
    warnings.simplefilter("ignore")
    adult = load_dataset("adult")
    model = PrivateVine(1.0, target="salary", random_state=0)
    PrivateVine(1.0, random_state=0).fit(adult.table[:500], adult.schema).sample(10)  # imports
    start = time.process_time()
    with recorded(model) as recording:
        model.fit(folder, adult.schema)
    seconds = time.process_time() - start
    rows = recording.questions[-1].rows
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"fit": seconds, "passes": rows.passes + 1, "peak MB": peak}


def bare(folder: Path) -> tuple[float, int]:
    """Seconds of a bare count of all tables of a fit to the rows of one file, and the tables."""
    threadpool_limits(1)
    warnings.simplefilter("ignore")
    adult = load_dataset("adult")
    table = pd.read_parquet(next(iter(sorted(folder.iterdir()))))
    model = PrivateVine(1.0, target="salary", random_state=0)
    with recorded(model) as recording:
        model.fit(table, adult.schema)
    chunk, held = MemoryRows.of(table, adult.schema).chunk(), []
    for question in recording.questions:
        for cell_map in question.query.cell_maps:
            axes = getattr(cell_map, "parts", ())
            held.append([(axis.index(chunk).astype(np.intp), axis.size) for axis in axes])
    start = time.process_time()
    for axes in filter(None, held):
        size = math.prod(size for _, size in axes)
        total = np.zeros(size, dtype=np.int64)
        for at in range(0, len(table), STEP):
            cell = axes[0][0][at : at + STEP]
            for groups, own in axes[1:]:
                cell = cell * own + groups[at : at + STEP]
            total += np.bincount(cell, minlength=size)
    return time.process_time() - start, len(held)


def apart(work: Callable[..., Any], *given: Any) -> Any:
    """What a function gives in a process of its own."""
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        return pool.submit(work, *given).result()


def files(sizes: list[int], place: Path) -> bool:
    """A whole fit from Parquet files in one process; whether it keeps the bars."""
    lines: list[dict[str, float]] = []
    for rows in sizes:
        folder = Path(tempfile.mkdtemp(prefix="shirley-scale-", dir=place))
        try:
            size = apart(made, folder, rows)
            line = apart(fitted, folder)
            if not lines:
                seconds, tables = apart(bare, folder)
                each = seconds / min(rows, PART)
                print(f"bare pass of {tables} tables: {1e9 * each:.0f} ns a row", flush=True)
        finally:
            shutil.rmtree(folder)
        line = {"rows": rows, "MB": size / 1e6, **line}
        line["bare passes"] = line["fit"] / (each * rows)
        line["per pass"] = line["bare passes"] / line["passes"]
        if lines:
            before = lines[0]
            line["growth"] = math.log(line["fit"] / before["fit"]) / math.log(rows / before["rows"])
        lines.append(line)
        print(pd.DataFrame(lines).round(3).to_string(index=False), flush=True)
    good = lines[-1]["per pass"] <= RATIO and lines[-1]["peak MB"] <= MEMORY
    return good and lines[-1].get("growth", 0.0) < GROWTH


def by_rows(
    work: Callable[[list[int], Path], bool],
) -> Callable[[argparse.Namespace], bool]:
    """A part that is told numbers of rows and a folder."""
    return lambda asked: work([int(float(n)) for n in asked.rows.split(",")], asked.folder)


#: What is measured, by name: each is told the options and says whether it keeps its bars.
PARTS: dict[str, Callable[[argparse.Namespace], bool]] = {
    "files": by_rows(files),
    "dask": by_rows(partial(scale_clusters.dask, made)),
    "spark": by_rows(partial(scale_clusters.spark, made)),
    "sampling": lambda asked: apart(scale_memory.sampling, adult_part, asked.against),
    "counting": lambda _: apart(scale_memory.counting, adult_part),
    "conditions": lambda _: apart(scale_memory.conditions, adult_part),
    "wide": lambda asked: scale_memory.wide(partial(apart, cost), asked.columns, 20_000),
    "cells": lambda _: apart(scale_memory.cells),
    "text": lambda _: apart(scale_memory.text, adult_part),
}


def main() -> int:
    """Measure parts, one after another."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="+", choices=PARTS)
    parser.add_argument("--rows", default="1e6,1e7,1e8")
    parser.add_argument("--columns", type=numbers, default=[100, 200, 400])
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()))
    parser.add_argument(
        "--against", type=Path, action="append", default=[], help="checkout of the old code"
    )
    asked = parser.parse_args()
    kept = [PARTS[name](asked) for name in asked.parts]
    return int(not all(kept))


if __name__ == "__main__":
    sys.exit(main())
