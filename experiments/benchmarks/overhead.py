"""What the runner costs beside fit, sample and metrics, on the quick models grid.

Run it with ``python -m experiments.benchmarks.overhead [--grid models] [--size quick]``. One run
at a time: the overhead is the time on the wall less that spent in fit, sample and metrics, as a
share of the latter; starting processes, reading data and writing results all count.
"""

from __future__ import annotations

import argparse
import tempfile
import time

from experiments.commands import make
from experiments.runner import exit_code
from experiments.specs import Grid
from experiments.store import Store

LIMIT = 0.05


def main() -> int:
    """Print the overhead; 1 if it is above the limit or a run failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--grid", default="models")
    parser.add_argument("--size", default="quick", choices=("quick", "full"))
    options = parser.parse_args()
    grid = Grid.read(options.grid, options.size)
    with tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        rows = make(grid, Store(folder), jobs=1, quiet=True)
        wall = time.perf_counter() - start
    parts = ("fit", "sample", "evaluate")
    spent = sum(row["seconds"][part] for row in rows for part in parts if row["status"] == "done")
    overhead = (wall - spent) / spent
    print(
        f"{len(rows)} runs: {wall:.1f} s on the wall, {spent:.1f} s in fit, sample and metrics; "
        f"overhead {overhead:.1%} (limit {LIMIT:.0%})"
    )
    return int(overhead > LIMIT or exit_code(rows))


if __name__ == "__main__":
    raise SystemExit(main())
