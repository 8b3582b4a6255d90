"""Peak memory of sampling a million Adult rows to Parquet, against a limit of 2 GB.

Run it with ``python -m copula_shirley.experiments.benchmarks.sample_memory [--rows N]``. The
sampling runs in a
process of its own, the ``shirley sample`` command, whose peak the operating system reports.
"""

from __future__ import annotations

import argparse
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


def main() -> None:
    """Fit once, sample in a child process, report its peak memory."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    rows = parser.parse_args().rows
    adult = load_dataset("adult")
    with tempfile.TemporaryDirectory() as folder:
        model, out = Path(folder, "model.shirley"), Path(folder, "out.parquet")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PrivacyWarning)
            fitted = CopulaShirley(1.0, target="salary", random_state=0)
            fitted.fit(adult.table, adult.schema).save(model)
        shirley = Path(sys.executable).with_name("shirley")
        start = time.perf_counter()
        subprocess.run([shirley, "sample", model, "-n", str(rows), "-o", out, "-q"], check=True)
        seconds = time.perf_counter() - start
        written = pq.read_metadata(out).num_rows
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024
    print(f"{written} rows in {seconds:.0f} s, peak memory {peak / 1e9:.2f} GB of {LIMIT / 1e9} GB")
    sys.exit(peak > LIMIT)


if __name__ == "__main__":
    main()
