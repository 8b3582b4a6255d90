"""The commands by name, loaded when somebody asks for one and not before.

Installed packages add theirs under the entry points ``copula_shirley.commands``: a function for
typer, or an app of its own. A list of all commands imports nobody.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from copula_shirley.errors import SettingError

ENTRY_POINTS = "copula_shirley.commands"


@dataclass(frozen=True)
class Place:
    """Where a command is, its words in a list of all, and the panel of the list."""

    place: str
    words: str
    panel: str = "From other packages"


#: What has to be installed for a package, as an extra.
EXTRAS = {"evaluation": "evaluate", "experiments": "experiments"}
#: The commands of each panel of the help, with their places and words.
_OURS = {
    "Release": {
        "draft": ("cli.release:draft", "Draft a schema from a table, for review."),
        "plan": ("cli.release:plan", "Show what a fit will measure and cost."),
        "fit": ("cli.release:fit", "Fit a generator to a table and save it."),
        "sample": ("cli.release:sample", "Draw synthetic rows from a saved model."),
        "synthesize": ("cli.release:synthesize", "Fit and draw synthetic rows in one go."),
        "releases": ("cli.curator:releases", "What was already published from the same data."),
        "keys": ("cli.curator:keys", "Keys to sign models, tables and cards with."),
    },
    "Judge": {
        "inspect": ("cli.look:inspect", "Show a model's privacy card, ledger and vine."),
        "verify": ("cli.look:verify", "Compare file, card, ledger and transcript."),
        "evaluate": ("evaluation.cli:evaluate_files", "Score a synthetic table and attack it."),
        "audit": ("evaluation.audit.cli:audit_generator", "Test a generator's privacy claim."),
    },
    "Research": {
        "benchmark": ("experiments.cli.benchmark:benchmark", "Score a generator beside ours."),
        "experiments": ("experiments.cli.experiments:app", "Run a grid of generators and sets."),
        "reproduce": ("experiments.cli.reproduce:reproduce", "The thesis' figures again."),
    },
}
COMMANDS = {
    name: Place(place, words, panel)
    for panel, commands in _OURS.items()
    for name, (place, words) in commands.items()
}


class LazyGroup(TyperGroup):
    """All commands; a list of them has stand-ins with a name and words."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        for name, place in COMMANDS.items():
            self.add_command(stand_in(name, place))
        self._listing = False

    def list_commands(self, ctx: Any) -> list[str]:
        """Names of all commands, those of other packages last."""
        for name, entry in installed_commands().items():
            package = entry.dist.metadata["Summary"] if entry.dist else None
            words = package or f"A command of {entry.module.partition('.')[0]}."
            self.commands.setdefault(name, stand_in(name, Place(entry.value, words)))
        return list(self.commands)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """A command, or its stand-in in a list."""
        if self._listing:
            return self.commands.get(cmd_name)
        if cmd_name in COMMANDS:
            return loaded(cmd_name, COMMANDS[cmd_name])
        entry = installed_commands().get(cmd_name)
        return loaded(cmd_name, Place(entry.value, "")) if entry is not None else None

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """The help of the whole, which lists all commands."""
        self._listing = True
        try:
            super().format_help(ctx, formatter)
        finally:
            self._listing = False

    def shell_complete(self, ctx: Any, incomplete: str) -> Any:
        """Names of commands that begin so."""
        self._listing = True
        try:
            return super().shell_complete(ctx, incomplete)
        finally:
            self._listing = False


def installed_commands() -> dict[str, EntryPoint]:
    """Entry points of other packages by name; none replaces a command of ours."""
    found = entry_points(group=ENTRY_POINTS)
    return {entry.name: entry for entry in found if entry.name not in COMMANDS}


def stand_in(name: str, place: Place) -> TyperCommand:
    """A command that only has the name and the words of another."""
    return TyperCommand(name, help=place.words, rich_help_panel=place.panel)


def loaded(name: str, place: Place) -> Any:
    """The command behind a name.

    Raises
    ------
    SettingError
        If its package cannot be imported, or has no such command.
    """
    module, _, attribute = place.place.partition(":")
    module = f"copula_shirley.{module}" if name in COMMANDS else module
    try:
        found = getattr(import_module(module), attribute)
    except Exception as error:
        extra = EXTRAS.get(place.place.partition(".")[0])
        lacks = extra is not None and isinstance(error, ImportError)
        hint = f"; pip install 'copula-shirley[{extra}]' adds it" if lacks else ""
        raise SettingError(
            f"command ({name!r}) cannot be loaded from {module}:{attribute}: "
            f"{type(error).__name__}: {error}{hint}"
        ) from error
    outer = typer.Typer(add_completion=False)
    if isinstance(found, typer.Typer):
        outer.add_typer(found, name=name)
    else:
        outer.command(name)(found)
    outer.callback()(lambda: None)  # else typer makes the only command the whole
    return typer.main.get_group(outer).commands[name]
