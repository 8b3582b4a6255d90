"""What a curator keeps: ``shirley releases``, the ledger of publications, and ``shirley keys``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from copula_shirley.cli.options import PRIVACY, Json, option
from copula_shirley.cli.terminal import messages, plain, print_json, print_table, screen
from copula_shirley.privacy.ledger import Budget
from copula_shirley.publish.releases import ReleaseLedger
from copula_shirley.publish.signatures import new_key

#: Ten times what private-vine takes unless told otherwise.
DELTA = 1e-8

releases = typer.Typer(
    no_args_is_help=True,
    help="What was already published from the same data, and a cap on all of it.",
)
keys = typer.Typer(no_args_is_help=True, help="Keys to sign models, tables and cards with.")
keys.callback()(lambda: None)  # else typer makes the only command the whole
LedgerFile = Annotated[Path, typer.Argument(help="Release ledger (JSON), kept by the curator.")]


@releases.command("new")
def new_ledger(
    ledger: LedgerFile,
    epsilon: Annotated[float, option(PRIVACY, "Cap of all releases together.")],
    delta: Annotated[float, option(PRIVACY, "Cap of their delta.")] = DELTA,
    neighbours: Annotated[
        Literal["add-remove", "replace-one"], option(PRIVACY, "How neighbouring tables differ.")
    ] = "add-remove",
    unit: Annotated[
        Literal["row", "person"], option(PRIVACY, "Who is protected; the schema names a person.")
    ] = "row",
) -> None:
    """Start a release ledger with a cap that no sum of releases may pass."""
    cap = Budget(epsilon, delta)
    ReleaseLedger.new(ledger, cap, neighbours=neighbours, unit=unit)
    messages.print(f"Release ledger {plain(ledger)} with a cap of {cap}", soft_wrap=True)


@releases.command()
def show(ledger: LedgerFile, json: Json = False) -> None:
    """Show what was published and what it adds up to."""
    found = ReleaseLedger.open(ledger)
    if json:
        print_json(found.to_dict())
        return
    head = ("", "time", "model", "what", "state", "epsilon", "delta", "rho")
    lines = (
        (
            release.number,
            release.time[:16].replace("T", " "),
            release.generator,
            release.what,
            release.state,
            f"{release.cost.epsilon:.4g}",
            f"{release.cost.delta:.3g}",
            "" if release.cost.rho is None else f"{release.cost.rho:.4g}",
        )
        for release in found.releases
    )
    print_table("Releases", head, lines)
    screen.print(
        f"Total: {found.total} of {found.cap}, for every {found.unit} "
        f"({found.neighbours}). Drawing again from a saved model costs nothing.",
        soft_wrap=True,
    )


@keys.command("new")
def new_key_pair(
    key: Annotated[Path, typer.Argument(help="Private key to write (PEM, Ed25519).")],
) -> None:
    """Make a key: KEY, which nobody else may have, and KEY.pub, to publish."""
    public = new_key(key)
    messages.print(
        f"Private key in {plain(key)}: keep it. Public key in {plain(public)}: publish it where "
        "readers trust that it is yours.",
        soft_wrap=True,
    )
