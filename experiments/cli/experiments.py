"""``shirley experiments``: list, run, look at and report the runs of a grid."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from rich.progress import MofNCompleteColumn

from copula_shirley.cli.options import METHOD, OUTPUT, Quiet, option, takes
from copula_shirley.cli.terminal import messages, note, plain, progress_bars, screen
from copula_shirley.errors import SettingError
from copula_shirley.experiments.cli.display import Display, print_failures, print_status
from copula_shirley.experiments.peers import PeerError, find_peer, known_peers
from copula_shirley.experiments.report import write_report
from copula_shirley.experiments.run.candidates import check_settings
from copula_shirley.experiments.run.on_dask import run_on_dask
from copula_shirley.experiments.run.processes import Limits, start_server
from copula_shirley.experiments.run.runner import ended_rows, exit_code, is_stale, run_all
from copula_shirley.experiments.run.store import Row, Store, tidy
from copula_shirley.experiments.specs import Grid, Run
from copula_shirley.files.atomic import atomic_path
from copula_shirley.publish.outputs import check_apart

app = typer.Typer(no_args_is_help=True, help="Run a grid of generators, data sets and epsilons.")


Redo = StrEnum("Redo", ["failed", "timeout", "skipped", "stale"])
Config = Annotated[str, typer.Argument(help="A grid: a .yaml file, or the name of one of ours.")]
Results = Annotated[
    Path | None,
    option(OUTPUT, "Folder of the results; shirley-results/NAME by default.", file_okay=False),
]


@dataclass(frozen=True)
class Report:
    """Where the report and its figures go, as options say; refused before anything runs."""

    output: Annotated[Path, option(OUTPUT, "HTML to write.", "--output", "-o", dir_okay=False)] = (
        Path("report.html")
    )
    csv: Annotated[
        Path | None, option(OUTPUT, "Also all figures as one tidy table.", dir_okay=False)
    ] = None

    def check(self, *inputs: Path) -> None:
        """Refuse a place in no folder, and one that is taken."""
        places = ("output", self.output), ("csv", self.csv)
        for name, path in places:
            if path and not path.parent.is_dir():
                raise SettingError(f"{name} ({str(path)!r}) must be in a folder that exists")
        check_apart(inputs, *places)

    def write(self, rows: list[Row], title: str) -> None:
        """Write the report, and all figures as one tidy table."""
        write_report(rows, self.output, title)
        messages.print(f"Report written to {plain(self.output.resolve())}", soft_wrap=True)
        if self.csv is not None:
            with atomic_path(self.csv) as partial:
                tidy(rows).to_csv(partial, index=False)
            messages.print(f"Figures written to {plain(self.csv)}", soft_wrap=True)


@dataclass(frozen=True)
class Maker:
    """Makes the runs of a grid with a display, as options say."""

    jobs: Annotated[int | None, option(METHOD, "Runs at a time.", "--jobs", "-j", min=1)] = None
    again: Annotated[
        list[Redo] | None, option(METHOD, "Make these once more; stale: made by other code.")
    ] = None
    dask: Annotated[str | None, option(METHOD, "Send the runs to this Dask scheduler.")] = None
    quiet: Quiet = False

    def make(self, grid: Grid, store: Store) -> list[Row]:
        """Make the runs of a grid with a display."""
        runs = grid.runs()
        ended = ended_rows(runs, store, self.again or ())
        done = {row["id"] for row in ended}
        todo = [run for run in runs if run.id not in done]
        if todo and self.dask is None:
            start_server(grid.threads)  # it imports while the rest is prepared
        stale = sum(map(is_stale, ended))
        if stale and not self.quiet:
            note(f"{stale} of the kept results were made by other code; --again stale remakes them")
        for run in {(run.use, run.settings): run for run in runs}.values():
            check_settings(run)
        prepare_peers(todo, self.quiet)
        limits = Limits(grid.minutes * 60, grid.gigabytes * 2**30)
        try:
            with progress_bars(self.quiet, MofNCompleteColumn()) as bars:
                display = Display(bars, len(runs), ended, self.quiet)
                if self.dask is None:
                    made = run_all(todo, store, limits, display, self.jobs)
                else:
                    made = run_on_dask(self.dask, todo, store, limits, display)
        except KeyboardInterrupt:
            messages.print(
                f"stopped; {len(store.rows(runs))} of {len(runs)} runs are kept in "
                f"{plain(store.folder)}, the same command goes on",
                style="red",
                soft_wrap=True,
            )
            raise SystemExit(130) from None
        rows = {row["id"]: row for row in [*ended, *made]}
        return [rows[run.id] for run in runs if run.id in rows]

    def conclude(self, runs: list[Run], rows: list[Row], store: Store) -> None:
        """Say how it went; exit code 1 with the list if something failed."""
        if not self.quiet:
            print_status(runs, rows)
            messages.print(f"Results are in {plain(store.folder)}", soft_wrap=True)
        print_failures(rows)
        if exit_code(rows):
            raise typer.Exit(1)


@app.command("list")
def list_runs(config: Config) -> None:
    """Print every run of a grid; nothing is run."""
    runs = Grid.read(config).runs()
    for run in runs:
        screen.print(f"{run.id}  {plain(run)}", soft_wrap=True, highlight=False)
    messages.print(f"{len(runs)} runs")


@app.command("run")
@takes(Maker)
def run_grid(maker: Maker, config: Config, results: Results = None) -> None:
    """Run a grid; what has ended before is not run again.

    Exit code 1 if something failed, or if every run was skipped.
    """
    grid = Grid.read(config)
    store = store_of(grid, results)
    maker.conclude(grid.runs(), maker.make(grid, store), store)


@app.command()
def status(config: Config, results: Results = None) -> None:
    """Show how many runs of a grid are done, failed and open."""
    grid = Grid.read(config)
    runs = grid.runs()
    rows = store_of(grid, results).rows(runs)
    print_status(runs, rows)
    print_failures(rows, screen)
    if exit_code(rows):
        raise typer.Exit(1)


@app.command()
@takes(Report)
def report(to: Report, config: Config, results: Results = None) -> None:
    """Write the report of all runs that have ended: one HTML file."""
    grid = Grid.read(config)
    to.check(Path(config))
    store = store_of(grid, results)
    rows = store.rows(grid.runs())
    if not rows:
        raise SettingError(f"results ({str(store.folder)!r}) must hold at least one ended run")
    to.write(rows, grid.title)


def store_of(grid: Grid, folder: Path | None = None) -> Store:
    """The results of a grid, in a folder of its name unless somebody says otherwise."""
    return Store(folder or Path("shirley-results") / grid.name)


def prepare_peers(runs: Sequence[Run], quiet: bool) -> None:
    """Build the environments of the peers, which takes minutes, before any run's time counts.

    One that cannot be built is told; its runs will fail and say why.
    """
    for use in dict.fromkeys(run.use for run in runs):
        if use in known_peers() or use.endswith(".py"):
            if not quiet:
                messages.print(f"environment of {plain(use)}: built if it is not there ...")
            try:
                find_peer(use).prepare()
            except PeerError as error:
                note(str(error))
