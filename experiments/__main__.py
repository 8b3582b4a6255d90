"""``make run``, the main job on the embedded data set."""

from __future__ import annotations

from copula_shirley.cli.terminal import messages, screen
from copula_shirley.experiments.cli.display import print_failures, print_leaderboard
from copula_shirley.experiments.cli.experiments import Maker, Redo, Report, store_of
from copula_shirley.experiments.run.runner import exit_code
from copula_shirley.experiments.specs import Grid


def main() -> int:
    """Fit every generator on a few folds, score them, write the report."""
    grid = Grid.read("showcase")
    messages.print(f"{grid.title}: {len(grid.runs())} runs, a few minutes")
    rows = Maker(again=[Redo.failed, Redo.timeout, Redo.stale]).make(grid, store_of(grid))
    print_leaderboard(rows, screen)
    print_failures(rows)
    Report().write(rows, grid.title)
    return exit_code(rows)


if __name__ == "__main__":
    raise SystemExit(main())
