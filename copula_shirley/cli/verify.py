"""``shirley verify``: whether a file, its card and its ledger fit each other."""

from __future__ import annotations

import sys
from json import dumps
from pathlib import Path
from typing import Annotated

import typer

from copula_shirley.cli.terminal import screen
from copula_shirley.files.texts import one_line
from copula_shirley.publish.verify import verify_file


def verify(
    file: Annotated[Path, typer.Argument(help="Model file, or a table with its card beside it.")],
    card: Annotated[
        Path | None, typer.Option(help="The card, if it is not beside the file.")
    ] = None,
    sha256: Annotated[
        str | None, typer.Option(help="The file's sha256 as its maker published it.")
    ] = None,
    model: Annotated[
        Path | None, typer.Option(help="Of a table: the model that it is said to be drawn from.")
    ] = None,
    public_key: Annotated[
        Path | None, typer.Option(help="Public key (PEM) of who is said to have signed.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False,
) -> int:
    """Add a card's costs up again and compare card, ledger, transcript and file.

    Exit code 0 if nothing that was compared contradicts, 1 if something does, 2 if the file cannot
    be read. Of a table without --model, 0 says only that card and file belong together: it does
    not show that the rows were drawn from a private model.
    """
    found = verify_file(file, card, sha256, model, public_key)
    if json:
        sys.stdout.write(dumps(found.to_dict(), indent=2) + "\n")
        return int(not found.fits)
    for text in found.passed:
        screen.print(one_line(f"fits: {text}"), markup=False, soft_wrap=True)
    for text in found.faults:
        screen.print(one_line(f"FAULT: {text}"), markup=False, soft_wrap=True)
    for text in found.not_shown:
        screen.print(one_line(f"not shown: {text}"), markup=False, soft_wrap=True)
    screen.print(one_line(found.conclusion), markup=False, soft_wrap=True)
    return int(not found.fits)
