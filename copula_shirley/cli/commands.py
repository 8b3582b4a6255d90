"""The commands by name, loaded when somebody asks for one and not before.

Installed packages add theirs under the entry points ``copula_shirley.commands``: a function for
typer, or an app of its own. A list of all commands imports nobody.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from copula_shirley.errors import SettingError, ShirleyError

ENTRY_POINTS = "copula_shirley.commands"
#: The modules that are installed with an extra only.
EXTRAS = {
    "evaluate": ("matplotlib", "xgboost"),
    "thesis": ("category_encoders", "diffprivlib", "statsmodels"),
    "experiments": ("markdown_it", "pooch", "psutil"),
    "dask": ("distributed",),
}
#: The commands of each panel of the help, with their places and words.
PANELS = {
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
    name: EntryPoint(name, f"copula_shirley.{place}", ENTRY_POINTS)
    for commands in PANELS.values()
    for name, (place, _) in commands.items()
}
#: Settings whose options have other names.
OTHER_NAMES = {"random_state": "seed", "n": "rows", "generator": "model"}


class LazyGroup(TyperGroup):
    """All commands; a list of them has stand-ins with a name and words."""

    _listing = False

    def list_commands(self, ctx: Any) -> list[str]:
        """Names of all commands, those of other packages last."""
        return [*COMMANDS, *installed_commands()]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """A command, or its stand-in in a list."""
        entry = COMMANDS.get(cmd_name) or installed_commands().get(cmd_name)
        if self._listing:
            return stand_ins()[cmd_name]
        return None if entry is None else loaded(entry)

    @contextmanager
    def _all(self) -> Iterator[None]:
        self._listing = True
        try:
            yield
        finally:
            self._listing = False

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """The help of the whole, which lists all commands."""
        with self._all():
            super().format_help(ctx, formatter)

    def shell_complete(self, ctx: Any, incomplete: str) -> Any:
        """Names of commands that begin so."""
        with self._all():
            return super().shell_complete(ctx, incomplete)

    def invoke(self, ctx: Any) -> Any:
        """Run a command; its errors name options where those of Python name settings."""
        try:
            return super().invoke(ctx)
        except ShirleyError as error:
            name = ctx.invoked_subcommand
            if name is not None:
                text = in_options(str(error), options_of(self.get_command(ctx, name)))
                error.args = (text + hint(error.__cause__),)
            raise


@cache
def installed_commands() -> dict[str, EntryPoint]:
    """Entry points of other packages by name; none replaces a command of ours."""
    found = entry_points(group=ENTRY_POINTS)
    return {entry.name: entry for entry in found if entry.name not in COMMANDS}


def stand_ins() -> dict[str, TyperCommand]:
    """Commands that only have the name and the words of others."""
    found = {
        name: TyperCommand(name, help=words, rich_help_panel=panel)
        for panel, commands in PANELS.items()
        for name, (_, words) in commands.items()
    }
    for name, entry in installed_commands().items():
        package = entry.dist.metadata["Summary"] if entry.dist else None
        words = package or f"A command of {entry.module.partition('.')[0]}."
        found[name] = TyperCommand(name, help=words, rich_help_panel="From other packages")
    return found


def loaded(entry: EntryPoint) -> Any:
    """The command of an entry point, or a ``SettingError``."""
    name = entry.name
    try:
        found = entry.load()
    except Exception as error:
        raise SettingError(
            f"command ({name!r}) cannot be loaded from {entry.value}: "
            f"{type(error).__name__}: {error}{hint(error)}"
        ) from error
    outer = typer.Typer(add_completion=False, rich_markup_mode="markdown")
    if isinstance(found, typer.Typer):
        outer.add_typer(found, name=name)
    else:
        outer.command(name)(found)
    outer.callback()(lambda: None)  # else typer makes the only command the whole
    return typer.main.get_group(outer).commands[name]


def hint(error: BaseException | None) -> str:
    """The extra that adds what could not be imported."""
    lacking = error.name if isinstance(error, ImportError) and error.name else ""
    found = [extra for extra, names in EXTRAS.items() if lacking.partition(".")[0] in names]
    return f"; pip install 'copula-shirley[{found[0]}]' adds it" if found else ""


def options_of(command: Any) -> set[str]:
    """The options of a command, or of the commands below it."""
    found = {name for parameter in command.params for name in parameter.opts}
    return found.union(*map(options_of, getattr(command, "commands", {}).values()))


def in_options(text: str, options: set[str]) -> str:
    """An error that starts with a setting and its value, with the option that sets it.

    Examples
    --------
    >>> in_options("n (0) must be positive", {"--rows"})
    '--rows (0) must be positive'
    """
    start = re.match(r"(\w+) (\(|'\w+' \()", text)
    if start is None:
        return text
    name = start[1]
    option = f"--{OTHER_NAMES.get(name, name).replace('_', '-')}"
    if option not in options and "--set" in options:
        from copula_shirley.registry import who_has  # noqa: PLC0415  (slow)

        options, option = {"--set"} if who_has(name) else set(), f"--set {name}"
    return option + text[start.end(1) :] if option.split()[0] in options else text
