"""``shirley reproduce``: chapter V of the thesis again, and the experiments of other papers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape

from copula_shirley.cli.options import DATA, METHOD, OUTPUT, option, takes
from copula_shirley.cli.terminal import messages, screen
from copula_shirley.errors import SettingError
from copula_shirley.evaluation.comparison import Profile
from copula_shirley.experiments.cli.display import print_failures
from copula_shirley.experiments.cli.experiments import Maker
from copula_shirley.experiments.datasets import list_datasets
from copula_shirley.experiments.paper.chapter import CHAPTER
from copula_shirley.experiments.paper.gather import (
    gather,
    known,
    make_folder,
    narrowed,
    read,
    write_all,
)
from copula_shirley.experiments.published.document import EXPERIMENTS
from copula_shirley.experiments.published.document import reproduce as published
from copula_shirley.experiments.run.runner import all_skipped, exit_code
from copula_shirley.experiments.run.store import Store
from copula_shirley.experiments.specs import Grid, Size
from copula_shirley.settings import check_one_of


@takes(Maker)
def reproduce(
    maker: Maker,
    names: Annotated[
        list[str] | None,
        typer.Argument(
            help="ratio, encoders, mechanisms, truncation, models, runtime, multivariate; all "
            "of them by default. Or other papers: agrawal-srikant, cai-kou, rappor."
        ),
    ] = None,
    size: Annotated[
        Size, option(METHOD, "quick: minutes, few folds and rows; full: the thesis' protocol.")
    ] = "quick",
    dataset: Annotated[list[str] | None, option(DATA, "Only this data set; repeatable.")] = None,
    profile: Annotated[
        Profile | None,
        option(METHOD, "Classifiers: thesis (512 trees of depth 64) or light; that of the size."),
    ] = None,
    folder: Annotated[Path, option(OUTPUT, "Folder to write to.")] = Path("reproduction"),
    drawn_from: Annotated[
        Path | None,
        option(DATA, "Draw from this results.csv of an earlier time; run nothing.", "--from"),
    ] = None,
    results: Annotated[
        Path | None,
        option(
            OUTPUT,
            "Folder with a folder of results per experiment; FOLDER/results.",
            file_okay=False,
        ),
    ] = None,
    no_run: Annotated[
        bool, option(METHOD, "Draw from the runs that have ended; run nothing.", "--no-run")
    ] = False,
) -> None:
    """Make the thesis' figures and tables again, with a verdict on each of its claims.

    Other papers are done again at once, and take --size and --folder only.

    What has ended before is not run again. Exit code 1 if a run failed or all were skipped; all
    is written even so. With --dataset and no names, multivariate is left to its made set.
    """
    for name in names or ():
        check_one_of("experiment", name, [*CHAPTER.experiments, *EXPERIMENTS])
    others = dict.fromkeys(name for name in names or () if name in EXPERIMENTS)
    if others:
        own = {"dataset": dataset, "profile": profile, "from": drawn_from, "results": results}
        _check_alone(list(others), names or [], {**own, "no_run": no_run or None})
        for name in others:
            _tell(published(name, size, folder))
        return
    chosen, sets = known(names or []), known_datasets(dataset or [])
    if sets and "multivariate" in (names or ()):
        raise SettingError(
            f"dataset ({sets[0]!r}) must be left out for multivariate, which is about the made set "
            "of table 5.2; name the other experiments in a command of their own"
        )
    if drawn_from is not None:
        frame, made = read(drawn_from)
        _tell(write_all(narrowed(frame, chosen, sets), made, folder))
        return
    if not no_run:
        make_folder(folder)  # before anything runs
    grids = {name: grid_of(name, size, sets, profile) for name in chosen}
    place = results or folder / "results"
    stores = {name: Store(place / name) for name in chosen}
    rows = {}
    for name, grid in grids.items():
        if no_run:
            rows[name] = stores[name].rows(grid.runs())
            continue
        if not maker.quiet:
            messages.print(f"[bold]{escape(grid.title)}[/]", highlight=False)
        rows[name] = maker.make(grid, stores[name])
    _tell(write_all(*gather(rows, stores), folder))
    ended = list(chain.from_iterable(rows.values()))
    if all_skipped(ended) or not maker.quiet:
        print_failures(ended, skips=False)
    if exit_code(ended):
        raise typer.Exit(1)


def _check_alone(others: list[str], names: list[str], options: dict[str, Any]) -> None:
    """Refuse the thesis' experiments and options beside other papers."""
    if thesis := [name for name in names if name not in others]:
        raise SettingError(
            f"experiment ({thesis[0]!r}) must be named in a command of its own: it is of the "
            f"thesis, {others[0]} of another paper"
        )
    for name, value in options.items():
        if value is not None:
            raise SettingError(f"{name} ({value}) must be left out for {others[0]}")


def grid_of(name: str, size: Size, datasets: Sequence[str], profile: Profile | None = None) -> Grid:
    """The grid of an experiment; the made set is what ``multivariate`` is about."""
    grid = Grid.read(name, size)
    if profile is not None:
        grid = replace(grid, profile=profile)
    if datasets and name != "multivariate":
        grid = replace(grid, datasets=tuple(datasets))
    return grid


def known_datasets(names: Sequence[str]) -> list[str]:
    """Names of data sets, or an error that says which there are."""
    for name in names:
        check_one_of("dataset", name, sorted({*list_datasets()} - {"made"}))
    return list(dict.fromkeys(names))


def _tell(path: Path) -> None:
    screen.print(escape(str(path.resolve())), soft_wrap=True, highlight=False)
    messages.print(
        f"Figures, tables and verdicts are in {escape(str(path.parent))}", soft_wrap=True
    )
