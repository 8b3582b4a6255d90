"""Schemas of other standards: ``shirley convert``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Literal

import typer

from copula_shirley import tasks
from copula_shirley.cli.options import DATA, OUTPUT, option
from copula_shirley.cli.terminal import messages, note, plain
from copula_shirley.errors import SettingError


def convert(
    source_file: Annotated[
        Path,
        typer.Argument(help="Schema (YAML), or a Table Schema or data package of Frictionless."),
    ],
    output: Annotated[Path | None, option(OUTPUT, "File to write.", "--output", "-o")] = None,
    to: Annotated[
        Literal["table-schema", "data-package", "csvw", "croissant"] | None,
        option(OUTPUT, "What a schema becomes; by default a Table Schema."),
    ] = None,
    data: Annotated[
        str | None, option(DATA, "Published table that is described: a file beside, or a URL.")
    ] = None,
    declared: Annotated[
        bool, option(DATA, "What is read is documentation, not drafted from rows.", "--declared")
    ] = False,
    source: Annotated[
        str | None, option(DATA, 'With --declared: where from, such as "codebook 2019".')
    ] = None,
    resource: Annotated[str | None, option(DATA, "Which table of a package of several.")] = None,
    force: Annotated[bool, option(OUTPUT, "Replace the file that is there.", "--force")] = False,
) -> None:
    """Write a schema as a Table Schema, data package, CSVW or Croissant; or read a Table Schema.

    A schema of another standard does not say where it is known from: it counts as drafted, which
    proves nothing, unless it is --declared. What cannot be kept is told. Rows are never read.
    """
    if declared is not (source is not None):
        rule = "must be given with --declared, and only with it: the card prints it"
        raise SettingError(f"source ({source!r}) {rule}")
    text, notes = tasks.convert(
        source_file,
        output,
        to=to or "table-schema",
        data=data,
        known_from=source,
        resource=resource,
        force=force,
    )
    for said in notes:
        note(said)
    if output is None:
        sys.stdout.write(text)
    else:
        messages.print(f"Written to {plain(output)}.")
