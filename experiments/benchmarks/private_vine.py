"""What PrivateVine costs as rows grow, and how well it keeps the thesis' table 5.2.

Run it with ``python -m copula_shirley.experiments.benchmarks.private_vine scaling`` or ``made
[--epsilons 1,8]``.
Its quality beside that of its peers comes from ``experiments/grids/peers.yaml``. Seconds are of the
processor, so that other work on the machine counts little; everything runs on one core.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import time

import numpy as np
from rich.console import Console
from rich.table import Table
from threadpoolctl import threadpool_limits

from copula_shirley import PrivateVine
from copula_shirley.experiments.datasets import load_dataset
from copula_shirley.experiments.paper.coefficients import PAIRS, coefficients

DELTA = 1e-9

console = Console(width=160)


# -- scaling -------------------------------------------------------------------------

SCALING_ROWS = (10_000, 30_000, 100_000, 300_000, 1_000_000)


def scaling(_: argparse.Namespace) -> None:
    """Seconds and memory of the fit, Adult's rows drawn with replacement; a process each."""
    table = Table("rows", "fit s", "table MB", "peak less start MB", "ratio")
    seconds = []
    for rows in SCALING_ROWS:
        command = [sys.executable, "-m", __spec__.name, "fit-rows", "--rows", str(rows)]
        found = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
        seconds.append(found["fit"])
        sizes = found["table"] / 2**20, found["extra"] / 2**20
        table.add_row(
            f"{rows:,}",
            f"{found['fit']:.2f}",
            *(f"{s:.0f}" for s in sizes),
            f"{found['ratio']:.2f}",
        )
    console.print(table)
    slope = np.polyfit(np.log(SCALING_ROWS), np.log(seconds), 1)[0]
    console.print(f"exponent of the cost in rows: {slope:.2f}")


def fit_rows(options: argparse.Namespace) -> None:
    """One fit, in a process of its own; prints JSON."""
    dataset = load_dataset("adult")
    table = dataset.table.sample(options.rows, replace=True, random_state=0)
    table = table.reset_index(drop=True)
    model = PrivateVine(1.0, DELTA, target="salary", random_state=0)
    PrivateVine(1.0, DELTA, random_state=0).fit(table.head(1000), dataset.schema)  # imports
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    start = time.process_time()
    model.fit(table, dataset.schema)
    seconds = time.process_time() - start
    size = int(table.memory_usage(deep=True).sum())
    extra = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 - before
    print(json.dumps({"fit": seconds, "table": size, "extra": extra, "ratio": extra / size}))


# -- the made set of table 5.2 ---------------------------------------------------------


def made(options: argparse.Namespace) -> None:
    """Mean absolute error of the seven coefficients, five seeds."""
    dataset = load_dataset("made")
    real = coefficients(dataset.table)
    table = Table("epsilon", *PAIRS, "mean abs. error", "over seeds")
    table.add_row("real", *(f"{value:.3f}" for value in real))
    for epsilon in options.epsilons:
        found = []
        for seed in range(5):
            model = PrivateVine(epsilon, DELTA, random_state=seed)
            synthetic = model.fit(dataset.table, dataset.schema).sample(len(dataset.table))
            found.append(coefficients(synthetic))
        errors = np.abs(np.array(found) - real).mean(axis=1)
        cells = [f"{value:.3f}" for value in np.mean(found, axis=0)]
        spread = f"{errors.min():.3f} to {errors.max():.3f}"
        table.add_row(f"{epsilon:g}", *cells, f"{errors.mean():.4f}", spread)
    console.print(table)


PARTS = {"scaling": scaling, "made": made, "fit-rows": fit_rows}


def main() -> None:
    """Run one part."""

    def listed(text: str) -> list[float]:
        return [float(word) for word in text.split(",")]

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("part", choices=tuple(PARTS))
    parser.add_argument("--epsilons", type=listed, default=[1.0, 8.0])
    parser.add_argument("--rows", type=int, default=10_000, help=argparse.SUPPRESS)
    parser.add_argument("--core", type=int, default=-1, help="which core is used")
    options = parser.parse_args()
    threadpool_limits(1)
    if hasattr(os, "sched_setaffinity"):  # children get the same core
        os.sched_setaffinity(0, [sorted(os.sched_getaffinity(0))[options.core]])
    PARTS[options.part](options)


if __name__ == "__main__":
    main()
