"""``shirley evaluate``: score a synthetic file and say in plain words what the figures mean."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass, replace
from inspect import signature
from pathlib import Path
from typing import Annotated, Any
from zipfile import is_zipfile

import pandas as pd
import typer
from rich.table import Column, Table

from copula_shirley.cli.options import (
    DATA,
    METHOD,
    OUTPUT,
    AskedOf,
    Missing,
    OnUnknown,
    Quiet,
    assignment,
    option,
    takes,
    unfitted,
)
from copula_shirley.cli.terminal import messages, plain, print_table, progress_told, screen
from copula_shirley.errors import SettingError
from copula_shirley.evaluation.comparison import TASKS, Profile
from copula_shirley.evaluation.figures import plot_evaluation
from copula_shirley.evaluation.judging import EXACT, Judged, judge, judge_tables
from copula_shirley.evaluation.metrics.registry import verdict
from copula_shirley.evaluation.report.summary import headline, sentences
from copula_shirley.files.atomic import atomic_path
from copula_shirley.generator import Generator, load
from copula_shirley.publish.outputs import check_apart
from copula_shirley.rows.formats import file_of, place_of
from copula_shirley.rows.tables import read_table
from copula_shirley.schema.schema import Schema
from copula_shirley.settings import check_one_of

#: First letters of the metrics of each part of the table; what is left stands at its end.
PARTS = (
    (
        "ks",
        "spearman",
        "tvd",
        "rules",
        "detection",
        "propensity",
        "coverage",
        "validity",
        "rows_per",
    ),
    ("mcc", "rmse"),
    ("membership", "attribute", "singling"),
    ("k_", "l_", "t_"),
    ("",),
)
Texts = list[str] | None


@dataclass(frozen=True)
class Places:
    """Where figures, report and picture go."""

    output: Annotated[
        Path, option(OUTPUT, "JSON with all figures; .html for a report.", "--output", "-o")
    ] = Path("evaluation.json")
    report: Annotated[Path | None, option(OUTPUT, "HTML report.", dir_okay=False)] = None
    plot: Annotated[
        Path | None, option(OUTPUT, "Picture of columns and pairs, .png, .svg or .pdf.")
    ] = None

    def settled(self, inputs: list[Path], *, own: bool) -> Places:
        """With the report that ``-o report.html`` names, or that one's own table gets."""
        found = self
        if self.output.suffix.lower() in (".html", ".htm"):
            if self.report is not None:
                rule = "must end in .json, as --report names the report"
                raise SettingError(f"output ({str(self.output)!r}) {rule}")
            found = replace(
                self, output=self.output.with_name("evaluation.json"), report=self.output
            )
        elif own and self.report is None:
            found = replace(self, report=self.output.with_name("report.html"))
        outputs = [("output", found.output), ("report", found.report), ("plot", found.plot)]
        check_apart(inputs, *outputs)
        if self.plot is not None and self.plot.suffix.lower() not in (".png", ".svg", ".pdf"):
            raise SettingError(f"plot ({str(self.plot)!r}) must end in .png, .svg or .pdf")
        return found


@dataclass(frozen=True)
class Measures:
    """What is computed, as options say."""

    task: Annotated[
        Texts,
        option(METHOD, "binary=COLUMN, multiclass=COLUMN, regression=COLUMN; repeatable."),
    ] = None
    quasi_identifiers: Annotated[
        str, option(METHOD, "Columns with commas, for k-anonymity and the like.")
    ] = ""
    sensitive: Annotated[
        str, option(METHOD, "Secret columns with commas; default: the tasks' targets.")
    ] = ""
    metric: Annotated[Texts, option(METHOD, "Only this metric; repeatable.")] = None
    profile: Annotated[
        Profile, option(METHOD, "Classifiers: thesis has 512 trees of depth 64.")
    ] = "light"
    reference: Annotated[
        bool, option(METHOD, "Score the training rows too, as the mark to reach.")
    ] = True
    seed: Annotated[int | None, option(METHOD, "Repeatable figures.", min=0)] = None
    threads: Annotated[int, option(METHOD, "Threads of XGBoost.", min=1)] = 1

    @property
    def words(self) -> dict[str, Any]:
        """What ``judge`` and ``judge_tables`` take."""
        own = {name: getattr(self, name) for name in ("profile", "reference", "threads")}
        return {
            "tasks": tasks_of(self.task or []),
            "random_state": self.seed,
            "metrics": self.metric,
            "quasi_identifiers": _names(self.quasi_identifiers),
            "sensitive": _names(self.sensitive),
            **own,
        }


@takes(unfitted, Measures, Places)
def evaluate_files(
    generator: Generator,
    measures: Measures,
    places: Places,
    ctx: typer.Context,
    schema: Annotated[
        Path, option(DATA, "Declared domain (YAML), or a model file for the measured one.")
    ],
    data: Annotated[
        str | None, typer.Argument(help="Your table: it is split, fitted, drawn and scored.")
    ] = None,
    query: AskedOf = None,
    train: Annotated[Path | None, option(DATA, "Rows that the generator learned from.")] = None,
    test: Annotated[Path | None, option(DATA, "Rows that it never saw.")] = None,
    synthetic: Annotated[Path | None, option(DATA, "Its synthetic rows.")] = None,
    missing: Missing = None,
    on_unknown: OnUnknown = None,
    quiet: Quiet = False,
) -> None:
    """Score a synthetic table against real rows, and attack it: for who may see the rows.

    With a table alone, a fifth of its rows is held back, a model is fitted to the others for a
    trial, and an HTML report says what its rows are worth.
    """
    roles = {"train": train, "test": test, "synthetic": synthetic}
    own = place_of(data or "", query) if data or query else None
    _check_mode(ctx, own, roles)
    files = [path for path in (file_of(own), *roles.values(), schema) if path is not None]
    places = places.settled(files, own=own is not None)
    words = measures.words
    declared = load(schema).table_schema_ if is_zipfile(schema) else Schema.read(schema)
    # opened first, so that a folder that cannot be written to shows before the work
    with ExitStack() as opened:
        made = [places.output, places.report, places.plot]
        paths = [opened.enter_context(atomic_path(path)) if path else None for path in made]
        tell = opened.enter_context(progress_told(quiet))

        def told(stage: str, share: float) -> None:
            tell(f"evaluate: {stage}", share)

        if own is not None:
            if on_unknown is not None:
                generator.set_params(on_unknown=on_unknown)
            if measures.seed is not None:
                generator.set_params(random_state=measures.seed)
            generator.check_settings(declared)
            table = read_table(own, declared, missing or ())
            title = Path(str(own)).name
            judged = judge(table, declared, generator, title=title, progress=told, **words)
        else:
            tables = {
                role: read_table(path, declared, missing or ())
                for role, path in roles.items()
                if path is not None
            }
            for role in ("train", "test") if on_unknown == "clip" else ():
                tables[role] = declared.clipped(tables[role], declared.names)
            title = synthetic.name if synthetic else ""
            three = (tables["train"], tables["test"], tables["synthetic"])
            judged = judge_tables(*three, declared, title=title, progress=told, **words)
        judged = replace(judged, about={"seed": measures.seed})
        _write(judged, places, *paths)
    if not quiet:
        _tell(judged, places)


def _check_mode(ctx: typer.Context, data: object, roles: dict[str, Path | None]) -> None:
    """A table alone, or three; with three nothing is fitted, and options of a fit would be lost."""
    given = {name: ctx.get_parameter_source(name) for name in ctx.params}
    named = {name for name, source in given.items() if source and source.name == "COMMANDLINE"}
    for name, path in roles.items():
        if data is not None and path is not None:
            raise SettingError(
                f"{name} ({str(path)!r}) must be left out: a table to split is given"
            )
        if data is None and path is None:
            rule = "must name a file, beside --train, --test and --synthetic; or name one table"
            raise SettingError(f"{name} (not given) {rule} to split, fit and judge")
    for name in signature(unfitted).parameters:
        if data is None and name in named:
            option_ = {"settings": "set"}.get(name, name)
            rule = "must be left out: nothing is fitted with --train, --test and --synthetic"
            raise SettingError(f"--{option_} ({ctx.params[name]}) {rule}")


def _write(
    judged: Judged, places: Places, figures: Path | None, report: Path | None, plot: Path | None
) -> None:
    """Write all that was asked for to where it stands until it is moved."""
    if figures is not None:
        figures.write_text(judged.to_json(), encoding="utf-8")
    if report is not None:
        report.write_text(judged.to_html(), encoding="utf-8", errors="replace")
    if plot is not None and places.plot is not None:
        plot_evaluation(judged.frame, plot, places.plot.suffix.lstrip(".").lower())


def _tell(judged: Judged, places: Places) -> None:
    """Print the verdict or the figures, what a trial spent, and where everything is."""
    verdicts = [] if places.report is None else sentences(judged.lines)
    if not verdicts:  # some metrics have none
        screen.print(_table(judged.frame))
    else:
        screen.print(plain(headline(verdicts)), style="bold", soft_wrap=True, highlight=False)
        print_table("", ("", "", ""), ((s.word, s.topic, s.text) for s in verdicts))
    if judged.chosen_tasks and judged.comparison.tasks:
        names = ", ".join(f"{task}={target}" for task, target in judged.comparison.tasks.items())
        messages.print(f"Tasks were chosen: {plain(names)}; --task names others", soft_wrap=True)
    if judged.trial is not None:
        spent = dict(judged.trial.summary).get("spent", judged.trial.claimed)
        messages.print(
            f"The trial fit spent {plain(spent)}; it counts as soon as anything of it is handed "
            "out. Neither model nor rows were kept",
            soft_wrap=True,
        )
    messages.print(f"Figures written to {plain(places.output)}. {EXACT}", soft_wrap=True)
    for what, path in (("Report written", places.report), ("Drawn", places.plot)):
        if path is not None:
            messages.print(f"{what} to {plain(path)}", soft_wrap=True)


def tasks_of(texts: list[str]) -> dict[str, str]:
    """The target of each task, from ``--task name=column``."""
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
