"""``shirley evaluate``: score a synthetic file and say in plain words what the figures mean."""

from __future__ import annotations

import json
import platform
from collections.abc import Hashable
from contextlib import ExitStack
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any
from zipfile import is_zipfile

import numpy as np
import pandas as pd
import typer
from rich.table import Column, Table

from copula_shirley.cli.options import assignment
from copula_shirley.cli.terminal import messages, plain, progress_bars, screen
from copula_shirley.errors import SettingError
from copula_shirley.evaluation.comparison import TASKS
from copula_shirley.evaluation.figures import plot_evaluation
from copula_shirley.evaluation.metrics.registry import evaluate, verdict
from copula_shirley.evaluation.result import jsonable
from copula_shirley.files.model_file import atomic_path
from copula_shirley.generator import load
from copula_shirley.publish.outputs import check_apart
from copula_shirley.rows.tables import read_table
from copula_shirley.schema.schema import Schema

#: What must be said beside figures of real rows.
EXACT = "They are computed from the real rows without noise, and no label covers them"
#: Heading of each part of the table, with the first letters of its metrics.
PARTS = {
    "Likeness": ("ks", "spearman", "tvd", "detection", "propensity", "coverage", "validity"),
    "Use": ("mcc", "rmse"),
    "Attacks": ("membership", "attribute", "singling"),
    "Description": ("k_", "l_", "t_"),
}


def evaluate_files(
    train: Annotated[Path, typer.Option(help="Rows that the generator learned from.")],
    test: Annotated[Path, typer.Option(help="Rows that it never saw.")],
    synthetic: Annotated[Path, typer.Option(help="Its synthetic rows.")],
    schema: Annotated[
        Path, typer.Option(help="Declared domain (YAML), or a model file for the one it bought.")
    ],
    task: Annotated[
        list[str] | None,
        typer.Option(help="binary=COLUMN, multiclass=COLUMN, regression=COLUMN; repeatable."),
    ] = None,
    output: Annotated[Path, typer.Option("--output", "-o", help="JSON with all figures.")] = Path(
        "evaluation.json"
    ),
    plot: Annotated[Path | None, typer.Option(help="Picture of columns and pairs, .png.")] = None,
    quasi_identifiers: Annotated[
        str | None, typer.Option(help="Columns with commas, for k-anonymity and the like.")
    ] = None,
    sensitive: Annotated[
        str | None, typer.Option(help="Secret columns with commas; default: the tasks' targets.")
    ] = None,
    metric: Annotated[list[str] | None, typer.Option(help="Only this metric; repeatable.")] = None,
    profile: Annotated[
        str, typer.Option(help="Classifiers: light, or thesis (512 trees of depth 64).")
    ] = "light",
    reference: Annotated[
        bool, typer.Option(help="Score the training rows too, as the mark to reach.")
    ] = True,
    missing: Annotated[
        list[str] | None, typer.Option(help="Text that stands for a missing value; repeatable.")
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Repeatable figures.")] = None,
    threads: Annotated[int | None, typer.Option(help="Threads of XGBoost (default 1).")] = None,
    on_unknown: Annotated[
        str, typer.Option(help="Real values off the schema: refuse or clip.")
    ] = "refuse",
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Nothing but the JSON.")] = False,
) -> None:
    """Score a synthetic table against real rows, and attack it."""
    check_apart([train, test, synthetic, schema], [output, plot])
    if plot is not None and plot.suffix.lower() not in (".png", ".svg", ".pdf"):
        raise SettingError(f"plot ({str(plot)!r}) must end in .png, .svg or .pdf")
    if on_unknown not in ("refuse", "clip"):
        raise SettingError(f"on_unknown ({on_unknown!r}) must be refuse or clip")
    declared = load(schema).schema_ if is_zipfile(schema) else Schema.read(schema)
    tables = {
        role: read_table(path, declared, missing or ())
        for role, path in (("train", train), ("test", test), ("synthetic", synthetic))
    }
    for role in ("train", "test") if on_unknown == "clip" else ():
        tables[role] = declared.clipped(tables[role], declared.names)
    # opened first, so that a folder that cannot be written to shows before the work
    with ExitStack() as files:
        json_file = files.enter_context(atomic_path(output))
        plot_file = files.enter_context(atomic_path(plot)) if plot else None
        bars = files.enter_context(progress_bars(quiet))
        bar = bars.add_task("evaluate", total=1.0)
        frame = evaluate(
            **tables,
            schema=declared,
            tasks=_tasks(task or []),
            random_state=seed,
            metrics=metric,
            quasi_identifiers=_names(quasi_identifiers),
            sensitive=_names(sensitive),
            profile=profile,  # type: ignore[arg-type]
            reference=reference,
            threads=threads,
            progress=lambda name, share: bars.update(
                bar, description=f"evaluate: {name}", completed=share
            ),
        )
        sizes = {role: len(table) for role, table in tables.items()}
        json_file.write_text(to_json(frame, note=EXACT, rows=sizes, seed=seed), encoding="utf-8")
        if plot and plot_file:
            plot_evaluation(frame, plot_file, plot.suffix.lstrip(".").lower())
    if not quiet:
        screen.print(_table(frame))
        messages.print(f"Figures written to {plain(output)}. {EXACT}", soft_wrap=True)
        if plot is not None:
            messages.print(f"Drawn to {plain(plot)}", soft_wrap=True)


def _tasks(texts: list[str]) -> dict[str, str]:
    tasks: dict[str, str] = {}
    for text in texts:
        name, column = assignment("--task", text)
        if name not in TASKS:
            raise SettingError(f"--task ({name!r}) must be one of {', '.join(TASKS)}")
        if name in tasks:
            raise SettingError(f"--task ({text!r}) must be the only one for {name}")
        tasks[name] = column
    return tasks


def _names(text: str | None) -> list[str]:
    return [] if text is None else [name.strip() for name in text.split(",") if name.strip()]


def to_json(frame: pd.DataFrame, **about: Any) -> str:
    """The figures with their details and verdicts, and what made them."""
    lines = [{**line, "verdict": verdict(line)} for line in frame.to_dict("records")]
    made = {
        "version": version("copula-shirley"),
        "python": platform.python_version(),
        "numpy": np.__version__,
        "xgboost": version("xgboost-cpu"),
    }
    return json.dumps({**about, **made, "metrics": jsonable(lines)}, indent=2, allow_nan=False)


def _table(frame: pd.DataFrame) -> Table:
    table = Table(Column("metric", no_wrap=True), "value", "best")
    if "reference" in frame:
        table.add_column("real rows")
    table.add_column("in words")
    lines = [(_part(line["metric"]), line) for line in frame.to_dict("records")]
    for part in (*PARTS, "Other"):
        own = [line for where, line in lines if where == part]
        for line in own:
            figures = [f"{line['value']:.4g}", _best(line)]
            if "reference" in frame:
                figures.append(f"{line['reference']:.4g}")
            table.add_row(plain(line["metric"]), *figures, plain(verdict(line)))
        if own:
            table.add_section()
    return table


def _best(line: dict[Hashable, Any]) -> str:
    """The best value that a metric can have."""
    low, high = line["bounds"]
    return {"lower": f"{max(low, 0):g}", "higher": f"{high:g}", "0.5": "0.5"}.get(
        line["better"], "-"
    )


def _part(name: str) -> str:
    return next((part for part, starts in PARTS.items() if name.startswith(starts)), "Other")
