"""What the runner costs beside fit, sample and metrics, on the quick models grid, and where.

Run it with ``python -m copula_shirley.experiments.benchmarks.overhead [--grid models] [--size
quick] [--rows N]``.
One run at a time. The overhead is what is taken less what is spent in fit, sample and metrics, as a
share of the latter; the imports of the server, starting processes, reading data and writing results
all count. It is measured on the wall, which wants a quiet machine, and in seconds of the processor
of all processes together, which other work on the machine changes little. The imports of this
command itself, before the first line of the grid is read, are shown and not counted.

=======  ==========================================================================================
server   its imports and the data sets, once per command; on the wall what the first run waits for
start    from the runner's wish to the first line of the run
data     reading and checking the data set
fold     dealing the rows
margins  shares of the cells, which the report draws
rest     of the run: settings, checks of the table, the result's file, the end of the process
runner   the runner: checks, provenance, looking after the runs, keeping the results
=======  ==========================================================================================
"""

from __future__ import annotations

import argparse
import resource
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace

import psutil

from copula_shirley.experiments.cli.experiments import make
from copula_shirley.experiments.run import forks
from copula_shirley.experiments.run.runner import exit_code
from copula_shirley.experiments.run.store import Row, Store
from copula_shirley.experiments.specs import Grid

LIMIT = 0.05
PARTS = ("fit", "sample", "evaluate")
BESIDE = ("start", "data", "fold", "margins")


def main() -> int:
    """Print the overhead; 1 if it is above the limit or a run failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--grid", default="models")
    parser.add_argument("--size", default="quick", choices=("quick", "full"))
    parser.add_argument("--rows", type=int, help="of each data set; shorter runs")
    options = parser.parse_args()
    imports = processor_seconds()
    start = time.perf_counter()
    grid = Grid.read(options.grid, options.size)
    if options.rows is not None:
        grid = replace(grid, rows=options.rows)
    with tempfile.TemporaryDirectory() as folder:
        rows = make(grid, Store(folder), jobs=1, quiet=True)
    wall = time.perf_counter() - start
    server, in_runs = server_seconds()
    processor = processor_seconds() - imports
    done = [row for row in rows if row["status"] == "done"]
    walls = of_wall(done, wall)
    processors = of_processor(done, processor, server, in_runs)
    print(
        f"{len(rows)} runs; imports of this command, not counted: {imports:.1f} processor seconds"
    )
    shares = [table("wall", walls), table("processor", processors)]
    return int(max(shares) > LIMIT or exit_code(rows))


def of_wall(rows: Sequence[Row], wall: float) -> dict[str, float]:
    """Seconds on the wall by what they went into."""
    found = spent(rows, "")
    first = max((row["beside"]["start"] for row in rows), default=0.0)
    usual = sorted(row["beside"]["start"] for row in rows)[len(rows) // 2]
    found["server"] = max(first - usual, 0.0)  # the first run waits for it
    found["start"] -= found["server"]
    total = sum(row["seconds"]["total"] for row in rows)
    found["rest"] = total - sum(found[name] for name in ("parts", "data", "fold", "margins"))
    return found | {"runner": wall - sum(found.values())}


def of_processor(
    rows: Sequence[Row], processor: float, server: float, in_runs: float
) -> dict[str, float]:
    """Seconds of the processor by what they went into."""
    found = spent(rows, "_cpu")
    found |= {"rest": in_runs - sum(found.values()), "server": server}
    return found | {"runner": processor - sum(found.values())}


def spent(rows: Sequence[Row], kind: str) -> dict[str, float]:
    """Seconds of fit, sample and metrics, and of what the runs say that it took beside."""
    parts = sum(row["seconds"][f"{part}{kind}"] for row in rows for part in PARTS)
    beside = {name: sum(row["beside"][f"{name}{kind}"] for row in rows) for name in BESIDE}
    return {"parts": parts, **beside}


def table(title: str, found: dict[str, float]) -> float:
    """Print where the seconds went; the share of the overhead."""
    parts = found.pop("parts")
    share = sum(found.values()) / parts
    print(f"{title}: {parts:.1f} s in fit, sample and metrics; overhead {share:.1%} of it")
    for name in ("server", *BESIDE, "rest", "runner"):
        print(f"  {name:8}{found[name]:7.2f} s {found[name] / parts:7.1%}")
    return share


def processor_seconds() -> float:
    """Of this process and of all below it that have ended."""
    own, below = (resource.getrusage(w) for w in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return own.ru_utime + own.ru_stime + below.ru_utime + below.ru_stime


def server_seconds() -> tuple[float, float]:
    """Seconds of the processor of the server and of its runs; it is stopped."""
    server = forks.start_server()
    times = psutil.Process(server.pid).cpu_times()
    forks.stop_server()  # only what has ended is counted
    return times.user + times.system, times.children_user + times.children_system


if __name__ == "__main__":
    raise SystemExit(main())
