"""What our fits and samples cost in time and memory.

Run it with ``python -m copula_shirley.experiments.benchmarks.costs PART``:

- scaling: PrivateVine on Adult's rows drawn with replacement, seconds of the processor (other work
  on the machine counts little) on one core, and memory
- vine: our vine fit against a plain ``pyvinecopulib.Vinecop.from_data``, same controls, two
  threads, on pseudo-observations of 13,000 Adult rows under margins of CopulaShirley at epsilon 1
- sampling: peak memory of ``shirley sample``, a million Adult rows to Parquet, limit 2 GB
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pyvinecopulib as pv
from threadpoolctl import threadpool_limits

from copula_shirley import CopulaShirley, PrivacyWarning, PrivateVine
from copula_shirley.experiments import load_dataset
from copula_shirley.rows.memory import MemoryRows
from copula_shirley.thesis.margins import pseudo_observations
from copula_shirley.thesis.vine import fit_vine

SCALING_ROWS = (10_000, 30_000, 100_000, 300_000, 1_000_000)
VINE_ROWS, VINE_THREADS = 13_000, 2
SAMPLED_ROWS, LIMIT = 1_000_000, 2e9


def scaling() -> bool:
    """Seconds and memory of the fit by rows, a process each."""
    costs = []
    for rows in SCALING_ROWS:
        with ProcessPoolExecutor(1, get_context("spawn")) as pool:
            seconds, size, extra = pool.submit(cost_of_fit, rows).result()
        costs.append(seconds)
        memory = f"{extra / 2**20:.0f} MB beyond {size / 2**20:.0f} MB ({extra / size:.2f} times)"
        print(f"{rows:>9,} rows: {seconds:6.2f} s, table and {memory}")
    slope = np.polyfit(np.log(SCALING_ROWS), np.log(costs), 1)[0]
    print(f"exponent of the cost in rows: {slope:.2f}")
    return True


def cost_of_fit(rows: int) -> tuple[float, int, int]:
    """Seconds of one fit, bytes of its table, and bytes that it took beyond."""
    threadpool_limits(1)
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, [max(os.sched_getaffinity(0))])
    dataset = load_dataset("adult")
    table = dataset.table.sample(rows, replace=True, random_state=0).reset_index(drop=True)
    model = PrivateVine(1.0, 1e-9, target="salary", random_state=0)
    PrivateVine(1.0, 1e-9, random_state=0).fit(table.head(1000), dataset.schema)  # imports
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = time.process_time()
    model.fit(table, dataset.schema)
    seconds = time.process_time() - start
    extra = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    return seconds, int(table.memory_usage(deep=True).sum()), extra * 1024


def vine() -> bool:
    """Time both fits and compare their log-likelihoods."""
    adult = load_dataset("adult")
    families = ["indep", "gaussian"]
    model = CopulaShirley(1.0, target="salary", families=families, truncation=1, random_state=0)
    model.fit(adult.table, adult.schema)
    order = np.random.default_rng(1).permutation(len(adult.table))[:VINE_ROWS]
    numbers = MemoryRows.of(adult.table, adult.schema).take(order)
    encoded = np.hstack([model._codings[n].encode(numbers[n]) for n in adult.schema.names])
    u = np.asfortranarray(pseudo_observations(encoded, model._all_margins()))
    controls = pv.FitControlsVinecop(
        selection_criterion="aic", tree_criterion="rho", trunc_lvl=2, num_threads=VINE_THREADS
    )
    fits: dict[str, Callable[[], Any]] = {
        "ours": lambda: fit_vine(u, truncation=2, threads=VINE_THREADS),
        "plain": lambda: pv.Vinecop.from_data(u, controls),
    }
    for name, fit in fits.items():
        start = time.perf_counter()
        found = fit()
        seconds = time.perf_counter() - start
        print(f"{name:<6} {seconds:8.2f} s   log-likelihood {found.loglik(u):.1f}")
    return True


def sampling() -> bool:
    """Fit once, sample in a process of its own; whether it keeps the limit."""
    adult = load_dataset("adult")
    with tempfile.TemporaryDirectory() as folder:
        model, out = Path(folder, "model.shirley"), Path(folder, "out.parquet")
        fitted = CopulaShirley(1.0, target="salary", random_state=0)
        fitted.fit(adult.table, adult.schema).save(model)
        start = time.perf_counter()
        words = f"sample {model} -n {SAMPLED_ROWS} -o {out} -q --accept-unproved".split()
        subprocess.run([Path(sys.executable).with_name("shirley"), *words], check=True)
        seconds, written = time.perf_counter() - start, pq.read_metadata(out).num_rows
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024
    print(f"{written} rows in {seconds:.0f} s, peak memory {peak / 1e9:.2f} GB of {LIMIT / 1e9} GB")
    return peak <= LIMIT


PARTS = {"scaling": scaling, "vine": vine, "sampling": sampling}

if __name__ == "__main__":
    if sys.argv[1:2] not in [[name] for name in PARTS]:
        sys.exit(__doc__)
    warnings.simplefilter("ignore", PrivacyWarning)
    sys.exit(not PARTS[sys.argv[1]]())
