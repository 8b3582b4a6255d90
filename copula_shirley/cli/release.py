"""From a table to a release: ``shirley draft``, ``plan``, ``fit``, ``sample``, ``synthesize``."""

from __future__ import annotations

import sys
from dataclasses import replace
from math import isnan
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from copula_shirley import tasks
from copula_shirley.cli.inspection import label_lines
from copula_shirley.cli.options import (
    DATA,
    OUTPUT,
    PRIVACY,
    AcceptUnproved,
    Given,
    Json,
    Missing,
    ModelFile,
    Quiet,
    Rows,
    Seed,
    Sheet,
    Waves,
    file_output,
    option,
    order,
    reporting,
    source,
    table_output,
    takes,
    unfitted,
)
from copula_shirley.cli.terminal import (
    alarm,
    messages,
    note,
    plain,
    print_json,
    print_table,
    progress_told,
    screen,
)
from copula_shirley.errors import SettingError
from copula_shirley.files.texts import one_line
from copula_shirley.generator import Generator
from copula_shirley.publish.outputs import Output
from copula_shirley.rows.databases import Query
from copula_shirley.rows.packed import STANDARD


@takes(source)
def draft(
    data: Path | Query,
    output: Annotated[Path | None, option(OUTPUT, "YAML to write.", "--output", "-o")] = None,
    person: Annotated[str | None, option(DATA, "Column that says whose row it is.")] = None,
    missing: Missing = None,
    sheet: Sheet = None,
    drop: Annotated[
        list[str] | None, option(DATA, "Column that the synthetic table shall lack; repeatable.")
    ] = None,
    suggest_rules: Annotated[
        bool, option(DATA, "Look for rules between columns that all rows keep.", "--suggest-rules")
    ] = False,
    declare_labels: Annotated[
        bool,
        option(
            DATA,
            "Value labels of Stata, SPSS or SAS are a codebook's, not made from the rows.",
            "--declare-labels",
        ),
    ] = False,
    update: Annotated[
        bool, option(OUTPUT, "Keep what was reviewed in the schema that is there.", "--update")
    ] = False,
    force: Annotated[bool, option(OUTPUT, "Replace the schema that is there.", "--force")] = False,
) -> None:
    """Draft a schema from a table, for review; it is printed unless -o is given."""
    schema, notes = tasks.draft(
        data,
        output,
        person=person,
        missing=missing or (),
        sheet=sheet,
        drop=drop or (),
        force=force,
        update=update,
        suggest_rules=suggest_rules,
        declare_labels=declare_labels,
    )
    for text in notes:
        note(text)
    if output is None:
        sys.stdout.write(schema)
    else:
        messages.print(f"Draft written to {plain(output)}; review it before you rely on it.")


@takes(unfitted)
def plan(
    generator: Generator,
    schema_file: Annotated[Path, typer.Argument(help="Declared domain (YAML).")],
    rows: Annotated[int, option(DATA, "About how many rows there are.", "--rows", "-n")],
    trust: Annotated[
        Literal["curator", "local"],
        option(PRIVACY, "local: people report themselves; see docs/local.md."),
    ] = "curator",
    waves: Waves = "adaptive",
    json: Json = False,
) -> None:
    """Show what a fit will measure, at which price and noise; reads no row."""
    if trust == "local":
        generator = reporting(generator, waves)
    elif waves != "adaptive":
        raise SettingError(f"waves ({waves}) must be left out without --trust local")
    planned = tasks.plan(schema_file, rows, generator)
    if json:
        print_json(planned.to_dict())
        return
    screen.print(plain(f"Plan: {planned.budget}"), soft_wrap=True)
    for text in planned.notes:
        screen.print(plain(text), soft_wrap=True)
    stages = planned.stages
    lines = ([_figure(cell) for cell in line] for line in stages.itertuples(index=False))
    print_table("Details: what is asked, and its noise", stages.columns, lines)
    for text in [planned.effort, *planned.advice]:
        screen.print(plain(text), soft_wrap=True)


@takes(order, file_output)
def fit(order: tasks.Order, output: Output, quiet: Quiet = False) -> None:
    """Fit a generator to a table and save it."""
    with progress_told(quiet) as progress:
        done = tasks.fit(telling(order, quiet), output, progress)
    tell(done, "Model", output.path, quiet)


@takes(table_output)
def sample(
    output: Output,
    model: ModelFile,
    rows: Rows = None,
    given: Given = None,
    seed: Seed = None,
    jobs: Annotated[
        int, option(OUTPUT, "Processes that draw; the rows are the same.", "--jobs", "-j", min=1)
    ] = 1,
    accept_unproved: AcceptUnproved = False,
    quiet: Quiet = False,
) -> None:
    """Draw synthetic rows from a saved model; that costs no privacy, as often as one likes."""
    with progress_told(quiet) as progress:
        done = tasks.sample(
            model,
            output,
            rows,
            given=given or (),
            random_state=seed,
            jobs=jobs,
            accept_unproved=accept_unproved,
            progress=progress,
        )
    tell(done, "Synthetic rows", output.path, quiet, label=False)


@takes(order, table_output)
def synthesize(
    order: tasks.Order,
    output: Output,
    rows: Rows = None,
    given: Given = None,
    save_model: Annotated[Path | None, option(OUTPUT, "Keep the fitted model here.")] = None,
    quiet: Quiet = False,
) -> None:
    """Fit a generator and draw synthetic rows in one go."""
    where = replace(output, model=save_model)
    with progress_told(quiet) as progress:
        done = tasks.synthesize(
            telling(order, quiet), where, rows, given=given or (), progress=progress
        )
    tell(done, "Synthetic rows", output.path, quiet)


def telling(order: tasks.Order, quiet: bool) -> tasks.Order:
    """The order with notes said before anything is spent."""
    return replace(order, tell=None if quiet else note)


def tell(done: tasks.Done, what: str, output: Path, quiet: bool, label: bool = True) -> None:
    """Say how it went, and in red where nothing is proved, also when told to be quiet."""
    name = "standard output" if str(output) == STANDARD else str(output)
    if not quiet:
        for text in done.notes:
            note(text)
        for text in done.warnings:
            note(text, "warning")
        if done.ledger is not None:
            where, ledger = plain(done.ledger.path), done.ledger
            messages.print(f"Releases: {ledger.total} of {ledger.cap} in {where}", soft_wrap=True)
        if label:
            print_table("Privacy label", ("", ""), label_lines(done.generator), to=messages)
        messages.print(plain(f"{what} written to {name}"))
    if done.unproved:
        alarm(
            f"NOT PROTECTED: nothing is proved about the privacy of {one_line(name)}: "
            f"{'; '.join(done.unproved)}. Treat it as the rows themselves."
        )
        return
    for text in done.generator.card().words.warnings:
        note(text, "warning")


def _figure(cell: Any) -> str:
    if isinstance(cell, str):
        return cell
    return "" if cell is None or isnan(cell) else f"{cell:.4g}"
