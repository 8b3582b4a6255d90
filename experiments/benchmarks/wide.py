"""What PrivateVine costs on wide tables: fit, sample, save, load and verify.

Run it with ``python -m copula_shirley.experiments.benchmarks.wide [--columns 50,100,200,400]
[--rows 20000]``. Made tables (``made_tables``): two fifths of the columns nominal, a fifth money, a
fifth whole numbers with ties, values missing in half of them; epsilon 4, at which pairs are
measured at each of these widths (at 1 only margins are, of 400 columns), no target. Seconds are of
the processor, one thread, a process for each width; the exponent is that of the last doubling and
of the whole line. It ends with 1 if a fit of 400 columns and 20,000 rows takes more than 60 s.
"""

from __future__ import annotations

import argparse
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits

from copula_shirley import PrivateVine
from copula_shirley.experiments.benchmarks.made_tables import Recipe
from copula_shirley.publish.verify import verify_file

COLUMNS, ROWS = (50, 100, 200, 400), 20_000
EPSILON = 4.0
#: Seconds that a fit of the table in the middle may take.
WIDE, LIMIT = 400, 60.0


def cost(rows: int, columns: int) -> dict[str, float]:
    """Seconds of each step and the most memory, in MB, of this process."""
    threadpool_limits(1)
    recipe = Recipe(rows, columns, "mixture", missing=0.05)
    PrivateVine(EPSILON, random_state=0).fit(*Recipe(500, 3).make()).sample(10)  # imports
    table, schema = recipe.make()
    model = PrivateVine(EPSILON, 1e-9, random_state=0)
    found: dict[str, float] = {"columns": columns}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.shirley")
        steps: dict[str, Callable[[], Any]] = {
            "plan": lambda: model.plan(schema, rows),
            "fit": lambda: model.fit(table, schema),
            "sample": lambda: model.sample(rows),
            "save": lambda: model.save(path),
            "load": lambda: PrivateVine.load(path),
            "verify": lambda: verify_file(path).fits or sys.exit("the model does not verify"),
        }
        for name, step in steps.items():
            start = time.process_time()
            step()
            found[name] = time.process_time() - start
        found["file MB"] = path.stat().st_size / 1e6
    found["peak MB"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return found


def numbers(text: str) -> list[int]:
    return [int(part) for part in text.split(",")]


def main() -> None:
    """Print a line a width."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--columns", type=numbers, default=list(COLUMNS))
    parser.add_argument("--rows", type=int, default=ROWS)
    options = parser.parse_args()
    lines = []
    for columns in options.columns:
        with ProcessPoolExecutor(1, get_context("spawn")) as pool:
            lines.append(pool.submit(cost, options.rows, columns).result())
        print(", ".join(f"{name} {value:.4g}" for name, value in lines[-1].items()), flush=True)
    frame = pd.DataFrame(lines).set_index("columns")
    if len(frame) > 1:
        for name in ("fit", "sample", "load"):
            x, y = np.log(frame.index.to_numpy(dtype=float)), np.log(frame[name].to_numpy())
            last = (y[-1] - y[-2]) / (x[-1] - x[-2])
            print(f"exponent of {name}: {np.polyfit(x, y, 1)[0]:.2f}, at the end {last:.2f}")
    wide = frame[(frame.index <= WIDE) & (options.rows <= ROWS)]
    sys.exit(bool((wide["fit"] > LIMIT).any()))


if __name__ == "__main__":
    main()
