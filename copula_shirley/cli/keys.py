"""``shirley keys``: keys with which models, tables and cards are signed."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from copula_shirley.cli.terminal import messages
from copula_shirley.publish.signatures import new_key

app = typer.Typer(no_args_is_help=True, help="Keys to sign models, tables and cards with.")


@app.callback()
def keys() -> None:
    """Keys to sign models, tables and cards with."""


@app.command()
def new(key: Annotated[Path, typer.Argument(help="Private key to write (PEM, Ed25519).")]) -> None:
    """Make a key: KEY, which nobody else may have, and KEY.pub, to publish."""
    public = new_key(key)
    messages.print(
        f"Private key in {escape(str(key))}: keep it. Public key in {escape(str(public))}: publish "
        "it where readers trust that it is yours.",
        soft_wrap=True,
    )
