"""Peak memory of sampling a million Adult rows to Parquet, against a limit of 2 GB.

Run it with ``python -m copula_shirley.experiments.benchmarks.sample_memory [ROWS]``. The sampling
is the ``shirley sample`` command, whose peak the operating system reports.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

import pyarrow.parquet as pq

from copula_shirley import CopulaShirley, PrivacyWarning
from copula_shirley.experiments import load_dataset

LIMIT = 2e9


def main(rows: str = "1000000") -> bool:
    """Fit once, sample in a process of its own; whether it took more than the limit."""
    adult = load_dataset("adult")
    with tempfile.TemporaryDirectory() as folder:
        model, out = Path(folder, "model.shirley"), Path(folder, "out.parquet")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PrivacyWarning)
            fitted = CopulaShirley(1.0, target="salary", random_state=0)
            fitted.fit(adult.table, adult.schema).save(model)
        shirley = Path(sys.executable).with_name("shirley")
        start = time.perf_counter()
        words = f"sample {model} -n {rows} -o {out} -q --accept-unproved".split()
        subprocess.run([shirley, *words], check=True)
        seconds = time.perf_counter() - start
        written = pq.read_metadata(out).num_rows
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024
    print(f"{written} rows in {seconds:.0f} s, peak memory {peak / 1e9:.2f} GB of {LIMIT / 1e9} GB")
    return peak > LIMIT


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:2]))
