"""The main job on the embedded data set: ``python -m experiments`` (``make run``)."""

from __future__ import annotations

import argparse
from pathlib import Path

from rich.console import Console

from experiments.datasets import load_dataset
from experiments.report import write_report
from experiments.showcase import score_all

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dataset", default="randhie", help="a name from datasets.yaml")
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--output", type=Path, default=Path("report.html"))
    options = parser.parse_args()
    console = Console()
    dataset = load_dataset(options.dataset)
    console.print(f"{dataset.title}: {dataset.table.shape[0]} rows, {len(dataset.schema)} columns")
    scores = score_all(dataset, options.epsilon, console)
    write_report(dataset, scores, options.output)
    console.print(f"Report written to {options.output.resolve()}")
