"""``shirley releases``: start and show the ledger of what was published from the same data."""

from __future__ import annotations

import sys
from json import dumps
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from copula_shirley.cli.terminal import messages, plain, screen
from copula_shirley.privacy.ledger import Budget
from copula_shirley.publish.releases import ReleaseLedger

#: Ten times what private-vine takes unless told otherwise.
DELTA = 1e-8

app = typer.Typer(
    no_args_is_help=True,
    help="What was already published from the same data, and a cap on all of it.",
)
LedgerFile = Annotated[Path, typer.Argument(help="Release ledger (JSON), kept by the curator.")]


@app.command()
def new(
    ledger: LedgerFile,
    epsilon: Annotated[float, typer.Option(help="Cap of all releases together.")],
    delta: Annotated[float, typer.Option(help="Cap of their delta.")] = DELTA,
    neighbours: Annotated[str, typer.Option(help="add-remove or replace-one.")] = "add-remove",
    unit: Annotated[str, typer.Option(help="row; or person, if the schema names one.")] = "row",
) -> None:
    """Start a release ledger with a cap that no sum of releases may pass."""
    cap = Budget(epsilon, delta)
    ReleaseLedger.new(ledger, cap, neighbours=neighbours, unit=unit)
    messages.print(f"Release ledger {plain(ledger)} with a cap of {cap}", soft_wrap=True)


@app.command()
def show(
    ledger: LedgerFile,
    json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False,
) -> None:
    """Show what was published and what it adds up to."""
    found = ReleaseLedger.open(ledger)
    if json:
        sys.stdout.write(dumps(found.to_dict(), indent=2) + "\n")
        return
    table = Table("", "time", "model", "what", "state", "epsilon", "delta", "rho", title="Releases")
    for release in found.releases:
        cost = release.cost
        table.add_row(
            str(release.number),
            plain(release.time[:16].replace("T", " ")),
            plain(release.generator),
            plain(release.what),
            release.state,
            f"{cost.epsilon:.4g}",
            f"{cost.delta:.3g}",
            "" if cost.rho is None else f"{cost.rho:.4g}",
        )
    screen.print(table)
    screen.print(
        f"Total: {found.total} of {found.cap}, for every {found.unit} "
        f"({found.neighbours}). Drawing again from a saved model costs nothing.",
        soft_wrap=True,
    )
