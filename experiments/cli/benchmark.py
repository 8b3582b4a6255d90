"""``shirley benchmark``: score anybody's generator beside ours, on the same folds."""

from __future__ import annotations

import sys
from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated, Any

import typer

from copula_shirley.cli.options import (
    DATA,
    METHOD,
    PRIVACY,
    Missing,
    OnUnknown,
    epsilon_of,
    option,
    settings_of,
    takes,
)
from copula_shirley.cli.terminal import messages, note, plain, screen
from copula_shirley.errors import SettingError
from copula_shirley.evaluation.cli import tasks_of
from copula_shirley.evaluation.comparison import check_tasks
from copula_shirley.evaluation.judging import EXACT, sensible_tasks
from copula_shirley.experiments.cli.display import print_leaderboard
from copula_shirley.experiments.cli.experiments import Maker, Report, Results, store_of
from copula_shirley.experiments.own_tables import OwnTable
from copula_shirley.experiments.peers import known_peers
from copula_shirley.experiments.run.candidates import find_candidate
from copula_shirley.experiments.specs import GRIDS, Grid, Unit
from copula_shirley.files.strict_yaml import load_yaml


def own_table(
    data: Annotated[
        Path | None, option(DATA, "A table of yours, in place of a data set.", dir_okay=False)
    ] = None,
    schema: Annotated[Path | None, option(DATA, "Its declared domain (YAML).")] = None,
    task: Annotated[
        list[str] | None,
        option(METHOD, "Of your table: binary=COLUMN and the like; repeatable."),
    ] = None,
    missing: Missing = None,
    on_unknown: OnUnknown = None,
) -> OwnTable | None:
    """The table that the options name; what is wrong with it shows before anything runs."""
    given = {"schema": schema, "task": task, "missing": missing, "on_unknown": on_unknown}
    if data is None:
        for name, value in given.items():
            if value:
                raise SettingError(f"--{name.replace('_', '-')} ({value}) goes with --data")
        return None
    if schema is None:
        raise SettingError("--schema (not given) must name the declared domain of --data")
    places = str(data.resolve()), str(schema.resolve())
    own = OwnTable(*places, tasks_of(task or []), tuple(missing or ()), on_unknown or "refuse")
    dataset = own.load()
    check_tasks(own.tasks, dataset.schema)
    return own if task else replace(own, tasks=sensible_tasks(dataset.table, dataset.schema))


@takes(Maker, Report, own_table)
def benchmark(
    maker: Maker,
    to: Report,
    own: OwnTable | None,
    generators: Annotated[
        list[str] | None,
        typer.Argument(help="mypackage.mymodule:MyGenerator, an adapter.py, or a known name."),
    ] = None,
    dataset: Annotated[list[str] | None, option(DATA, "Data set; repeatable.")] = None,
    epsilon: Annotated[list[str] | None, option(PRIVACY, "Epsilon, or 'off'; repeatable.")] = None,
    folds: Annotated[int, option(DATA, "Folds of the cross-validation.", min=2)] = 5,
    first: Annotated[int | None, option(DATA, "Only so many folds.", min=1)] = None,
    seeds: Annotated[int, option(DATA, "Fits per fold, each with another seed.", min=1)] = 1,
    rows: Annotated[int | None, option(DATA, "Only so many rows of each data set.", min=1)] = None,
    unit: Annotated[Unit, option(PRIVACY, "Who is protected.")] = "person",
    settings: Annotated[
        list[str] | None, option(METHOD, "Setting of your generators; name=value.", "--set")
    ] = None,
    peers: Annotated[
        bool, option(METHOD, "Also the peers, in environments that are built.", "--peers")
    ] = False,
    alone: Annotated[bool, option(METHOD, "Leave our generators out.", "--alone")] = False,
    minutes: Annotated[float, option(METHOD, "Time limit of a run.")] = 60.0,
    gigabytes: Annotated[float, option(METHOD, "Memory limit of a run.")] = 8.0,
    results: Results = None,
) -> None:
    """Score your generator beside ours, or ours on your table: for who may see its rows."""
    if not generators and not peers and own is None:
        raise SettingError("generators must name at least one, or --peers, or --data a table")
    if own is not None and dataset:
        raise SettingError(f"--dataset ({dataset[0]!r}) must be left out: --data is given")
    if first is not None and first > folds:
        raise SettingError(f"--first ({first}) must be at most the number of folds ({folds})")
    to.check(*([Path(own.data), Path(own.schema)] if own else []))
    sys.path.insert(0, str(Path.cwd()))  # where the user's module is
    entry = load_yaml((GRIDS / "benchmark.yaml").read_text(encoding="utf-8"))
    ours, entries = entry["generators"], dict[str, Any]()
    for use in generators or ():
        find_candidate(use)  # what cannot be had shows before anything runs
        label = label_of(use)
        if label in entries or (label in ours and ours[label].get("use", label) != use):
            raise SettingError(f"generator ({use!r}): another one is called {label} too")
        entries[label] = {"use": use, "settings": settings_of(settings, "--seeds")}
    others = {**(dict.fromkeys(known_peers()) if peers else {}), **({} if alone else ours)}
    entries |= {label: about for label, about in others.items() if label not in entries}
    entry |= {
        "generators": entries,
        "epsilons": [epsilon_of(text) for text in epsilon or ["1"]],
        "folds": folds,
        "only_folds": first and list(range(first)),
        "seeds": list(range(seeds)),
        "rows": rows,
        "unit": unit,
        "minutes": minutes,
        "gigabytes": gigabytes,
    }
    if dataset:
        entry["datasets"] = dataset
    if own is not None:
        entry |= {"tables": {"own": asdict(own)}, "datasets": ["own"]}
        names = ", ".join(f"{name}={column}" for name, column in own.tasks.items())
        messages.print(f"Tasks: {plain(names) or 'none'}; --task names others", soft_wrap=True)
    grid = Grid.from_dict(entry, "benchmark")
    store = store_of(grid, results)
    found = maker.make(grid, store)
    print_leaderboard(found, screen)
    to.write(found, grid.title)
    if own is not None:
        note(f"figures and results are not private: {EXACT[:1].lower()}{EXACT[1:]}")
    maker.conclude(grid.runs(), found, store)


def label_of(use: str) -> str:
    """A short name for tables.

    Examples
    --------
    >>> label_of("mypackage.mymodule:MyGenerator"), label_of("folder/adapter.py")
    ('MyGenerator', 'adapter')
    """
    return use.partition(":")[2] if ":" in use else Path(use).stem
