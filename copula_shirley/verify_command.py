"""``shirley verify``: whether a file, its card and its ledger fit each other."""

from __future__ import annotations

import sys
from json import dumps
from pathlib import Path
from typing import Annotated

import typer

from copula_shirley.ending import one_line
from copula_shirley.terminal import screen
from copula_shirley.verify import verify_file


def verify(
    file: Annotated[Path, typer.Argument(help="Model file, or a table with its card beside it.")],
    card: Annotated[
        Path | None, typer.Option(help="The card, if it is not beside the file.")
    ] = None,
    sha256: Annotated[
        str | None, typer.Option(help="The file's sha256 as its maker published it.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False,
) -> int:
    """Add a card's costs up again and compare card, ledger, transcript and file.

    Exit code 0 if all fits, 1 if something does not, 2 if the file cannot be read.
    """
    found = verify_file(file, card, sha256)
    if json:
        sys.stdout.write(dumps(found.to_dict(), indent=2) + "\n")
        return int(not found.fits)
    for text in found.passed:
        screen.print(one_line(f"fits: {text}"), markup=False, soft_wrap=True)
    for text in found.faults:
        screen.print(one_line(f"FAULT: {text}"), markup=False, soft_wrap=True)
    screen.print(one_line(found.conclusion), markup=False, soft_wrap=True)
    return int(not found.fits)
