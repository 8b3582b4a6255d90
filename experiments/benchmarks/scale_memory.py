"""Parts of ``scale`` about one machine's memory: fit, counting, sampling, wide tables, cells, text.

Each prints its figures with the bar beside them and says whether it keeps the bars. Older revisions
are other checkouts of this project (``git worktree add ../old 6f238d9``), run by this Python in
processes of their own.
"""

from __future__ import annotations

import math
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from copula_shirley import Column, PrivateVine, Schema
from copula_shirley.experiments.datasets import load_dataset
from copula_shirley.measure.recorded_fits import recorded
from copula_shirley.rows.memory import MemoryRows
from copula_shirley.rows.tables import read_table

HERE = Path(__file__).resolve().parents[2]
ROWS = 10**6
#: Most of an older revision's time: of a fit, and of a million rows to Parquet.
FIT, SAMPLING = 0.45, 0.4
#: Most in bare counts, in plain ``pandas.read_csv``, and distance of conditional samples.
COUNTING, TEXT, CONDITION = 1.5, 4.0, 0.02
#: Seconds of a fit with so many cells, and of the widest fit; growth by columns.
CELLS, SMOOTHING, WIDE, GROWTH = 999_000, 10.0, 60.0, 2.0
#: Rows of the chunks of a bare count.
STEP = 2**15
FITTING = """
import sys, time, warnings
warnings.simplefilter("ignore")
import pandas as pd
from threadpoolctl import threadpool_limits
from copula_shirley import PrivateVine, Schema
threadpool_limits(1)
schema, table = Schema.read(sys.argv[1]), pd.read_parquet(sys.argv[2])
PrivateVine(1.0, 1e-9, target="salary", random_state=0).fit(table[:500], schema).sample(10)
model = PrivateVine(1.0, 1e-9, target="salary", random_state=0)
start = time.process_time()
model.fit(table, schema)
print(time.process_time() - start)
model.save(sys.argv[3])
"""
COMMAND = """
import sys
try:
    from copula_shirley.cli.main import main
except ImportError:
    from copula_shirley.cli import main
sys.argv[0] = "shirley"
main()
"""


def said(figure: str, value: float, bar: float) -> bool:
    """Print a figure beside its bar; whether it keeps it."""
    good = value <= bar
    print(f"{figure}: {value:.3g} (bar {bar:g}{'' if good else ', MISSED'})", flush=True)
    return good


def seconds(work: Callable[[], Any], times: int = 3) -> float:
    """Seconds of the processor, the least of some times."""
    found = []
    for _ in range(times):
        start = time.process_time()
        work()
        found.append(time.process_time() - start)
    return min(found)


def processor(checkout: Path, code: str, *given: str) -> tuple[float, float, str]:
    """Seconds of a process that runs code of a checkout, its MB at the most, what it printed."""
    where = {**os.environ, "PYTHONPATH": str(checkout), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-c", code, *given]
    with subprocess.Popen(command, cwd=checkout, env=where, stdout=subprocess.PIPE) as process:
        text = process.stdout.read().decode() if process.stdout else ""
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{checkout}: ended with {process.returncode}")
    return used.ru_utime + used.ru_stime, used.ru_maxrss / 1024, text


def made(folder: Path, part: Callable[..., pd.DataFrame]) -> list[str]:
    """Paths of a schema and of a table of a million rows."""
    adult, paths = load_dataset("adult"), [folder / "schema.yaml", folder / "table.parquet"]
    adult.schema.write(paths[0])
    part(adult, ROWS, 0).to_parquet(paths[1], index=False)
    return list(map(str, paths))


def sampling(part: Callable[..., pd.DataFrame], against: Sequence[Path]) -> bool:
    """A fit of a million rows and as many rows to Parquet, by the commands of each revision."""
    good, lines = True, []
    with tempfile.TemporaryDirectory() as name:
        paths = made(Path(name), part)
        for checkout in (HERE, *against):
            model, out = f"{name}/model.shirley", f"{name}/out.parquet"
            fitting = float(processor(checkout, FITTING, *paths, model)[2])
            options = ["sample", model, "-n", str(ROWS), "-o", out, "-q"]
            lines.append({"fit": fitting})
            try:
                cost, memory, _ = processor(checkout, COMMAND, *options)
            except SystemExit as error:  # of old ones the installed names of generators are others
                print(f"no sample: {error}")
                continue
            lines[-1] |= {"rows to Parquet": cost, "MB": memory}
            print(checkout.name, {k: round(v, 2) for k, v in lines[-1].items()}, flush=True)
            if checkout == HERE:
                both = processor(checkout, COMMAND, *options, "-j", "2")
                print(f"with 2 processes: {both[0]:.2f} s of this and its processes")
            Path(model).unlink()
    for checkout, line in zip(against, lines[1:], strict=True):
        for what, bar in (("fit", FIT), ("rows to Parquet", SAMPLING)):
            if what in line:
                good &= said(f"{what}, of {checkout.name}", lines[0][what] / line[what], bar)
    return good


def counting(part: Callable[..., pd.DataFrame]) -> bool:
    """All tables of a fit, against a bare ``numpy.bincount`` of groups that are found already."""
    adult = load_dataset("adult")
    table = part(adult, ROWS, 0)
    model = PrivateVine(1.0, 1e-9, target="salary", random_state=0)
    with recorded(model) as recording:
        model.fit(table, adult.schema)
    maps = [question.query.cell_maps for question in recording.questions]
    rows = MemoryRows.of(table, adult.schema)
    one = rows.chunk()
    held = [
        [(axis.index(one).astype(np.intp), axis.size) for axis in cell_map.parts]
        for cell_maps in maps
        for cell_map in cell_maps
        if hasattr(cell_map, "parts")
    ]

    def bare() -> None:
        for axes in held:
            size = math.prod(own for _, own in axes)
            total = np.zeros(size, dtype=np.int64)
            for at in range(0, ROWS, STEP):
                cell = axes[0][0][at : at + STEP]
                for groups, own in axes[1:]:
                    cell = cell * own + groups[at : at + STEP]
                total += np.bincount(cell, minlength=size)

    def ours() -> None:
        fresh = MemoryRows(adult.schema, rows.numbers, codes=rows.codes)
        for cell_maps in maps:
            fresh.count(cell_maps)

    ratio = seconds(ours) / seconds(bare)
    return said(f"counting {len(held)} tables, in bare counts", ratio, COUNTING)


def conditions(part: Callable[..., pd.DataFrame]) -> bool:
    """Margins of conditional samples, against rows of a plain one that fulfil the condition."""
    adult = load_dataset("adult")
    model = PrivateVine(1.0, 1e-9, target="salary", random_state=0)
    model.fit(part(adult, ROWS, 0), adult.schema)
    plain, good = model.sample(4 * 10**5, random_state=1), True
    for name, value in (("sex", "Male"), ("education", "Masters"), ("age", (20, 30))):
        low, high = value if isinstance(value, tuple) else (value, value)
        kept = plain[(plain[name] >= low) & (plain[name] <= high)]
        drawn = model.sample(50_000, random_state=2, given={name: value})
        apart = []
        for column in adult.schema:
            shares = [
                np.bincount(
                    column.domain.cells().index(column.domain.to_numbers(t[column.name])),
                    minlength=column.size,
                )
                / len(t)
                for t in (kept, drawn)
            ]
            apart.append(np.abs(shares[0] - shares[1]).sum() / 2)
        good &= said(f"rows with {name} {value}, margins apart", float(np.mean(apart)), CONDITION)
    return good


def wide(cost: Callable[..., dict[str, float]], columns: Sequence[int], rows: int) -> bool:
    """Fits of more and more columns; the exponent of the last step."""
    lines = []
    for width in columns:
        lines.append(cost(rows, width))
        print({name: round(value, 2) for name, value in lines[-1].items()}, flush=True)
    before, last = lines[-2:]
    wider = math.log(last["columns"] / before["columns"])
    good = said("growth of a fit by columns", math.log(last["fit"] / before["fit"]) / wider, GROWTH)
    return said(f"seconds of {columns[-1]} columns", last["fit"], WIDE) and good


def cells() -> bool:
    """A date with as many declared cells as a schema may have."""
    rng = np.random.default_rng(0)
    passed = pd.to_timedelta(rng.gamma(2, 3e6, 50_000).clip(0, 3e7).astype(int), unit="s")
    table = pd.DataFrame({"day": pd.Timestamp("2020-01-01") + passed})
    day = Column("day", "datetime", minimum="2020-01-01", maximum="2021-01-01", cells=CELLS)
    schema = Schema((day,))
    model = PrivateVine(1.0, 1e-9, random_state=0)
    return said(f"seconds of {CELLS:,} cells", seconds(lambda: model.fit(table, schema)), SMOOTHING)


def text(part: Callable[..., pd.DataFrame]) -> bool:
    """A CSV file of a million rows, against pandas, which guesses types."""
    adult = load_dataset("adult")
    with tempfile.TemporaryDirectory() as name:
        path = Path(name, "table.csv")
        part(adult, ROWS, 0).to_csv(path, index=False)
        bare = seconds(partial(pd.read_csv, path))
        own = seconds(partial(read_table, path, adult.schema))
    return said("reading CSV, in pandas.read_csv", own / bare, TEXT)
