"""People's own reports: ``shirley survey`` asks, ``shirley report`` answers."""

from __future__ import annotations

import json as plain_json
import sys
from pathlib import Path
from typing import Annotated

import typer

from copula_shirley.cli.options import (
    DATA,
    OUTPUT,
    PRIVACY,
    Waves,
    option,
    reporting,
    takes,
    unfitted,
)
from copula_shirley.cli.terminal import messages, note, plain
from copula_shirley.errors import ReportError, SettingError
from copula_shirley.files.atomic import atomic_path
from copula_shirley.files.strict_yaml import load_yaml
from copula_shirley.generator import Generator
from copula_shirley.local.device import answer, read_question, unknown
from copula_shirley.local.survey import Survey
from copula_shirley.measure.queries import Query
from copula_shirley.rows.tables import is_table
from copula_shirley.schema.schema import Schema

survey = typer.Typer(
    help="Ask people, who perturb their own answers, in waves; see docs/local.md.",
    no_args_is_help=True,
)

Folder = Annotated[Path, typer.Argument(help="Folder of the survey.")]


@survey.command("new")
@takes(unfitted)
def new(
    generator: Generator,
    folder: Folder,
    schema_file: Annotated[Path, typer.Argument(help="Declared domain (YAML).")],
    people: Annotated[int, option(DATA, "About how many people will answer.")],
    waves: Waves = "adaptive",
) -> None:
    """Begin a survey and write its first question."""
    model = reporting(generator, waves)
    found = Survey.create(folder, Schema.read(schema_file), model, people)
    _tell(found, found.next_query())


@survey.command("close")
def close(
    folder: Folder,
    reports: Annotated[list[Path], typer.Argument(help="Files of reports, one a line.")],
) -> None:
    """Add up the reports of the open wave, and write the next question."""
    found = Survey.open(folder)
    many, query = found.close(reports)
    messages.print(f"{many:,} reports added up", soft_wrap=True)
    _tell(found, query)


@survey.command("finish")
def finish(
    folder: Folder,
    output: Annotated[Path, option(OUTPUT, "Model to write.", "--output", "-o")],
) -> None:
    """Write the model that the reports gave; see 'shirley sample'."""
    if is_table(output):
        raise SettingError(f"output ({str(output)!r}) must be the name of a model, not of a table")
    Survey.open(folder).finish().save(output)
    messages.print(plain(f"Model written to {output}"), soft_wrap=True)


def _tell(found: Survey, query: Query | None) -> None:
    """Say what is to be done next."""
    if query is None:
        text = f"All questions are answered: shirley survey finish {found.folder} -o model.shirley"
    else:
        text = (
            f"Wave {found.wave}: give {found.question_path} to about {found.wanted(query):,} "
            "people who have not answered yet, chosen without a look at their records"
        )
    messages.print(plain(text), soft_wrap=True)


def report(
    question: Annotated[Path, typer.Argument(help="Question file of the survey.")],
    record: Annotated[Path, typer.Argument(help="One's own values by column (JSON or YAML).")],
    ledger: Annotated[
        Path, option(PRIVACY, "What this device has reported; made by the first report.")
    ],
    most_epsilon: Annotated[
        float, option(PRIVACY, "What all reports of this device may cost together.", min=0)
    ],
    output: Annotated[
        Path | None, option(OUTPUT, "Report to write; it is printed without.", "--output", "-o")
    ] = None,
) -> None:
    """Perturb one answer about one's own record; nothing else leaves.

    A device answers one question of a survey once: its ledger refuses a second one. A value that
    the question does not know is replaced by chance, since a report that is lacking would tell.
    """
    if output is not None and output.exists():
        raise SettingError(f"output ({str(output)!r}) must not be there yet")
    own = load_yaml(record.read_text(encoding="utf-8"))
    if not isinstance(own, dict):
        raise ReportError(f"record ({str(record)!r}) must have values by column")
    values = {str(k): v.isoformat() if hasattr(v, "isoformat") else v for k, v in own.items()}
    asked = read_question(question)
    text = plain_json.dumps(answer(asked, values, ledger, most_epsilon)) + "\n"
    for doubt in unknown(asked, values):
        note(f"{doubt}; a report about this column says nothing of you, and was made all the same")
    if output is None:
        sys.stdout.write(text)
        return
    with atomic_path(output) as path:
        path.write_text(text, encoding="utf-8")
