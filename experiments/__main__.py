"""``make run``, the main job on the embedded data set."""

from __future__ import annotations

import argparse
from pathlib import Path

from copula_shirley.cli.terminal import messages, screen
from copula_shirley.experiments.cli.display import print_failures, print_leaderboard
from copula_shirley.experiments.cli.experiments import default_folder, make, publish
from copula_shirley.experiments.run.runner import exit_code
from copula_shirley.experiments.run.store import Store
from copula_shirley.experiments.specs import Grid


def main() -> int:
    """Fit every generator on a few folds, score them, write the report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, default=Path("report.html"))
    output = parser.parse_args().output
    grid = Grid.read("showcase")
    messages.print(f"{grid.title}: {len(grid.runs())} runs, a few minutes")
    rows = make(grid, Store(default_folder(grid)), again=["failed", "timeout", "stale"])
    print_leaderboard(rows, screen)
    print_failures(rows)
    publish(rows, grid.title, output)
    return exit_code(rows)


if __name__ == "__main__":
    raise SystemExit(main())
