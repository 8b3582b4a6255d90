"""Commands of installed packages, loaded when somebody asks for them and not before.

Packages name them under the entry points ``copula_shirley.commands``: a function for typer, or an
app of its own. The list of all commands takes their words from the source files, so that a look at
the help imports nobody; what cannot be loaded is told in a line and stops nobody else.
"""

from __future__ import annotations

import ast
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import typer
from typer.core import TyperGroup

from copula_shirley.cli.terminal import note
from copula_shirley.errors import SettingError

ENTRY_POINTS = "copula_shirley.commands"


class LazyGroup(TyperGroup):
    """The commands of an app, and behind them those of installed packages."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._listing = False
        for name in installed_commands():
            self.commands.setdefault(name, None)  # type: ignore[arg-type]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """A command; for a list of all, only its name and words."""
        found = self.commands.get(cmd_name)
        if found is not None or cmd_name not in self.commands:
            return found
        entry = installed_commands()[cmd_name]
        return listed(entry) if self._listing else loaded(entry)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """The help of the whole, which lists all commands."""
        self._listing = True
        try:
            super().format_help(ctx, formatter)
        finally:
            self._listing = False


def installed_commands() -> dict[str, EntryPoint]:
    """The entry points by name."""
    return {entry.name: entry for entry in entry_points(group=ENTRY_POINTS)}


def loaded(entry: EntryPoint) -> Any:
    """The command behind an entry point.

    Raises
    ------
    SettingError
        If its package cannot be imported, or has no such command.
    """
    try:
        found = entry.load()
    except Exception as error:
        raise SettingError(
            f"command ({entry.name!r}) cannot be loaded from {entry.value}: "
            f"{type(error).__name__}: {error}"
        ) from error
    return as_command(found, entry.name)


def listed(entry: EntryPoint) -> Any:
    """A command that only has the name and the words of another."""
    words = words_of(entry)
    if words is None:
        try:
            return loaded(entry)
        except SettingError as error:
            note(str(error))
            words = "Cannot be loaded."

    def stand_in() -> None:
        pass

    stand_in.__doc__ = words
    return as_command(stand_in, entry.name)


def as_command(found: Any, name: str) -> Any:
    """What typer makes of a function or an app."""
    outer = typer.Typer(add_completion=False)
    if isinstance(found, typer.Typer):
        outer.add_typer(found, name=name)
    else:
        outer.command(name)(found)
    outer.callback()(lambda: None)  # else typer makes the only command the whole
    return typer.main.get_group(outer).commands[name]


@cache
def words_of(entry: EntryPoint) -> str | None:
    """What the source of a command says about it, without importing it; None if one cannot tell."""
    file = source_of(entry.module)
    try:
        tree = ast.parse(file.read_bytes()) if file is not None else None
    except (OSError, SyntaxError, ValueError):
        return None
    for node in tree.body if tree is not None else ():
        if isinstance(node, ast.FunctionDef) and node.name == entry.attr:
            return ast.get_docstring(node)
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
            named = [target.id for target in node.targets if isinstance(target, ast.Name)]
            helps = [word.value for word in node.value.keywords if word.arg == "help"]
            if entry.attr in named and helps and isinstance(helps[0], ast.Constant):
                return str(helps[0].value)
    return None


def source_of(module: str) -> Path | None:
    """The file of a module; nothing is imported, not even the packages around it."""
    top, *rest = module.split(".")
    try:
        spec = find_spec(top)
    except (ImportError, ValueError):
        return None
    if spec is None:
        return None
    if not rest:
        return Path(spec.origin) if spec.origin else None
    for place in spec.submodule_search_locations or ():
        for file in (Path(place, *rest).with_suffix(".py"), Path(place, *rest, "__init__.py")):
            if file.is_file():
                return file
    return None
