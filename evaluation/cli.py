"""``shirley evaluate``: score a synthetic file and say in plain words what the figures mean."""

from __future__ import annotations

import json
import platform
from contextlib import ExitStack
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any
from zipfile import is_zipfile

import numpy as np
import pandas as pd
from rich.table import Column, Table

from copula_shirley.cli.options import (
    DATA,
    METHOD,
    OUTPUT,
    Missing,
    OnUnknown,
    Quiet,
    assignment,
    option,
)
from copula_shirley.cli.terminal import messages, plain, progress_told, screen
from copula_shirley.errors import SettingError
from copula_shirley.evaluation.comparison import TASKS, Profile
from copula_shirley.evaluation.figures import plot_evaluation
from copula_shirley.evaluation.metrics.registry import evaluate, verdict
from copula_shirley.evaluation.result import jsonable
from copula_shirley.files.atomic import atomic_path
from copula_shirley.generator import load
from copula_shirley.publish.outputs import check_apart
from copula_shirley.rows.tables import read_table
from copula_shirley.schema.schema import Schema
from copula_shirley.settings import check_one_of

#: What must be said beside figures of real rows.
EXACT = "They are computed from the real rows without noise, and no label covers them"
#: First letters of the metrics of each part of the table; what is left stands at its end.
PARTS = (
    ("ks", "spearman", "tvd", "detection", "propensity", "coverage", "validity"),
    ("mcc", "rmse"),
    ("membership", "attribute", "singling"),
    ("k_", "l_", "t_"),
    ("",),
)
Texts = list[str] | None


def evaluate_files(
    train: Annotated[Path, option(DATA, "Rows that the generator learned from.")],
    test: Annotated[Path, option(DATA, "Rows that it never saw.")],
    synthetic: Annotated[Path, option(DATA, "Its synthetic rows.")],
    schema: Annotated[
        Path, option(DATA, "Declared domain (YAML), or a model file for the measured one.")
    ],
    missing: Missing = None,
    on_unknown: OnUnknown = None,
    task: Annotated[
        Texts,
        option(METHOD, "binary=COLUMN, multiclass=COLUMN, regression=COLUMN; repeatable."),
    ] = None,
    quasi_identifiers: Annotated[
        str, option(METHOD, "Columns with commas, for k-anonymity and the like.")
    ] = "",
    sensitive: Annotated[
        str, option(METHOD, "Secret columns with commas; default: the tasks' targets.")
    ] = "",
    metric: Annotated[Texts, option(METHOD, "Only this metric; repeatable.")] = None,
    profile: Annotated[
        Profile, option(METHOD, "Classifiers: thesis has 512 trees of depth 64.")
    ] = "light",
    reference: Annotated[
        bool, option(METHOD, "Score the training rows too, as the mark to reach.")
    ] = True,
    seed: Annotated[int | None, option(METHOD, "Repeatable figures.", min=0)] = None,
    threads: Annotated[int, option(METHOD, "Threads of XGBoost.", min=1)] = 1,
    output: Annotated[Path, option(OUTPUT, "JSON with all figures.", "--output", "-o")] = Path(
        "evaluation.json"
    ),
    plot: Annotated[
        Path | None, option(OUTPUT, "Picture of columns and pairs, .png, .svg or .pdf.")
    ] = None,
    quiet: Quiet = False,
) -> None:
    """Score a synthetic table against real rows, and attack it."""
    check_apart([train, test, synthetic, schema], ("output", output), ("plot", plot))
    if plot is not None and plot.suffix.lower() not in (".png", ".svg", ".pdf"):
        raise SettingError(f"plot ({str(plot)!r}) must end in .png, .svg or .pdf")
    declared = load(schema).table_schema_ if is_zipfile(schema) else Schema.read(schema)
    paths = {"train": train, "test": test, "synthetic": synthetic}
    tables = {role: read_table(path, declared, missing or ()) for role, path in paths.items()}
    for role in ("train", "test") if on_unknown == "clip" else ():
        tables[role] = declared.clipped(tables[role], declared.names)
    # opened first, so that a folder that cannot be written to shows before the work
    with ExitStack() as files:
        json_file = files.enter_context(atomic_path(output))
        plot_file = files.enter_context(atomic_path(plot)) if plot else None
        tell = files.enter_context(progress_told(quiet))
        frame = evaluate(
            **tables,
            schema=declared,
            tasks=_tasks(task or []),
            random_state=seed,
            metrics=metric,
            quasi_identifiers=_names(quasi_identifiers),
            sensitive=_names(sensitive),
            profile=profile,
            reference=reference,
            threads=threads,
            progress=lambda name, share: tell(f"evaluate: {name}", share),
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
        check_one_of("--task", name, TASKS)
        if name in tasks:
            raise SettingError(f"--task ({text!r}) must be the only one for {name}")
        tasks[name] = column
    return tasks


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


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
    real = ["real rows"] if "reference" in frame else []
    table = Table(Column("metric", no_wrap=True), "value", "best", *real, "in words")
    left = frame.to_dict("records")
    for starts in PARTS:
        own = [line for line in left if line["metric"].startswith(starts)]
        left = [line for line in left if not line["metric"].startswith(starts)]
        for line in own:
            low, high = line["bounds"]
            marks = {"lower": f"{max(low, 0):g}", "higher": f"{high:g}", "0.5": "0.5"}
            figures = [f"{line['value']:.4g}", marks.get(line["better"], "-")]
            figures += [f"{line['reference']:.4g}"] if real else []
            table.add_row(plain(line["metric"]), *figures, plain(verdict(line)))
        if own:
            table.add_section()
    return table
