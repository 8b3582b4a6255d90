"""Other trust models than one curator's, played in one process: ``shirley simulate``."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Literal

from copula_shirley import tasks
from copula_shirley.cli.options import (
    OUTPUT,
    PRIVACY,
    Given,
    Quiet,
    Rows,
    Waves,
    option,
    order,
    reporting,
    table_output,
    takes,
    vine_of,
)
from copula_shirley.cli.release import tell, telling
from copula_shirley.cli.terminal import progress_told
from copula_shirley.errors import SettingError
from copula_shirley.generator import Generator
from copula_shirley.publish.outputs import Output

#: Holders among whom rows are dealt, unless another number is asked for.
HOLDERS = 5


def held(generator: Generator, holders: int, colluding: int, folder: Path | None) -> Generator:
    """The model that several holders fit with the settings of a vine."""
    from copula_shirley.holders import HeldVine  # noqa: PLC0415  (slow)

    return HeldVine(
        **vine_of(generator, "--trust holders").get_params(),
        holders=holders,
        colluding=colluding,
        folder=None if folder is None else str(folder),
    )


@takes(order, table_output)
def simulate(
    order: tasks.Order,
    output: Output,
    trust: Annotated[
        Literal["local", "holders"] | None,
        option(
            PRIVACY,
            "local: each row is a person who perturbs her own answer; holders: the rows are with "
            "several holders. By default as --holders says.",
        ),
    ] = None,
    holders: Annotated[
        int | None, option(PRIVACY, "Holders among whom the rows are dealt by chance.", min=2)
    ] = None,
    colluding: Annotated[int, option(PRIVACY, "Holders of whom so many may collude.", min=0)] = 1,
    folder: Annotated[
        Path | None,
        option(OUTPUT, "Holders: a new folder for the files that they exchange, all to be read."),
    ] = None,
    waves: Waves = "adaptive",
    rows: Rows = None,
    given: Given = None,
    save_model: Annotated[Path | None, option(OUTPUT, "Keep the fitted model here.")] = None,
    quiet: Quiet = False,
) -> None:
    """Fit and draw as if nobody collected the rows; see docs/holders.md and docs/local.md."""
    local = trust == "local" or (trust is None and holders is None)
    if waves != "adaptive" and not local:
        raise SettingError(f"waves ({waves}) must be left out without --trust local")
    if trust == "holders" or (trust is None and holders is not None):
        generator = held(order.generator, holders or HOLDERS, colluding, folder)
    elif holders is not None or folder is not None:
        raise SettingError("holders and folder must be left out with --trust local")
    else:
        generator = reporting(order.generator, waves)
    asked = replace(order, generator=generator)
    with progress_told(quiet) as progress:
        done = tasks.synthesize(
            telling(asked, quiet),
            replace(output, model=save_model),
            rows,
            given=given or (),
            progress=progress,
        )
    tell(done, "Synthetic rows", output.path, quiet)
