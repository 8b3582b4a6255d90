"""What PrivateVine costs as rows grow, and how well it keeps the thesis' table 5.2.

Run it with ``python -m copula_shirley.experiments.benchmarks.private_vine scaling`` or ``made
[--epsilons 1,8]``. Its quality beside that of its peers comes from
``experiments/grids/peers.yaml``. Seconds are of the processor, so that other work on the machine
counts little; everything runs on one core.
"""

from __future__ import annotations

import argparse
import os
import resource
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import numpy as np
from rich.console import Console
from rich.table import Table
from threadpoolctl import threadpool_limits

from copula_shirley import PrivateVine
from copula_shirley.experiments.datasets import load_dataset
from copula_shirley.experiments.paper.coefficients import PAIRS, coefficients

DELTA = 1e-9
SCALING_ROWS = (10_000, 30_000, 100_000, 300_000, 1_000_000)

console = Console(width=160)


def scaling() -> None:
    """Seconds and memory of the fit, Adult's rows drawn with replacement; a process each."""
    table = Table("rows", "fit s", "table MB", "peak less start MB", "ratio")
    costs = []
    for rows in SCALING_ROWS:
        with ProcessPoolExecutor(1, get_context("spawn")) as pool:
            seconds, size, extra = pool.submit(cost_of_fit, rows).result()
        costs.append(seconds)
        sizes = (f"{size / 2**20:.0f}", f"{extra / 2**20:.0f}", f"{extra / size:.2f}")
        table.add_row(f"{rows:,}", f"{seconds:.2f}", *sizes)
    console.print(table)
    slope = np.polyfit(np.log(SCALING_ROWS), np.log(costs), 1)[0]
    console.print(f"exponent of the cost in rows: {slope:.2f}")


def cost_of_fit(rows: int) -> tuple[float, int, int]:
    """Seconds of one fit, bytes of its table, and bytes that it took beyond."""
    threadpool_limits(1)
    dataset = load_dataset("adult")
    table = dataset.table.sample(rows, replace=True, random_state=0).reset_index(drop=True)
    model = PrivateVine(1.0, DELTA, target="salary", random_state=0)
    PrivateVine(1.0, DELTA, random_state=0).fit(table.head(1000), dataset.schema)  # imports
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = time.process_time()
    model.fit(table, dataset.schema)
    seconds = time.process_time() - start
    extra = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    return seconds, int(table.memory_usage(deep=True).sum()), extra * 1024


def made(epsilons: list[float]) -> None:
    """Mean absolute error of the seven coefficients of table 5.2, five seeds."""
    dataset = load_dataset("made")
    real = coefficients(dataset.table)
    table = Table("epsilon", *PAIRS, "mean abs. error", "over seeds")
    table.add_row("real", *(f"{value:.3f}" for value in real))
    for epsilon in epsilons:
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


def main() -> None:
    """Run one part."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("part", choices=("scaling", "made"))
    parser.add_argument("--epsilons", default="1,8")
    options = parser.parse_args()
    threadpool_limits(1)
    if hasattr(os, "sched_setaffinity"):  # children get the same core
        os.sched_setaffinity(0, [max(os.sched_getaffinity(0))])
    if options.part == "scaling":
        scaling()
    else:
        made([float(word) for word in options.epsilons.split(",")])


if __name__ == "__main__":
    main()
