"""``shirley reproduce`` in this process."""

from __future__ import annotations

import typer
from typer.testing import CliRunner

from copula_shirley.errors import SettingError
from copula_shirley.experiments.cli import reproduce as command

app = typer.Typer()
app.command()(command.reproduce)


def call(*words: str) -> tuple[int, str]:
    """Exit code and output; errors of ours are raised."""
    result = CliRunner().invoke(app, list(words))
    if isinstance(result.exception, SettingError):
        raise result.exception
    return result.exit_code, result.output
