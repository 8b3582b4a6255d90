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
    option,
    order,
    reporting,
    table_output,
    takes,
)
from copula_shirley.cli.release import tell, telling
from copula_shirley.cli.terminal import progress_told
from copula_shirley.publish.outputs import Output

#: What becomes of a curator's generator, by trust model.
PLAYED = {"local": reporting}


@takes(order, table_output)
def simulate(
    order: tasks.Order,
    output: Output,
    trust: Annotated[
        Literal["local"],
        option(PRIVACY, "local: each row is a person who perturbs her own answer."),
    ] = "local",
    rows: Rows = None,
    given: Given = None,
    save_model: Annotated[Path | None, option(OUTPUT, "Keep the fitted model here.")] = None,
    quiet: Quiet = False,
) -> None:
    """Fit and draw as if nobody collected the rows; see docs/local.md."""
    asked = replace(order, generator=PLAYED[trust](order.generator))
    with progress_told(quiet) as progress:
        done = tasks.synthesize(
            telling(asked, quiet),
            replace(output, model=save_model),
            rows,
            given=given or (),
            progress=progress,
        )
    tell(done, "Synthetic rows", output.path, quiet)
