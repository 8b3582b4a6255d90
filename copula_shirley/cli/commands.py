"""The commands by name, loaded when somebody asks for one and not before.

Installed packages add theirs under the entry points ``copula_shirley.commands``: a function for
typer, or an app of its own. A list of all commands imports nobody.
"""

from __future__ import annotations

import re
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
    "page": ("python_multipart", "starlette", "uvicorn"),
}
#: The commands of each panel of the help, with their places and words.
PANELS = {
    "Release": {
        "demo": ("cli.demo:demo", "Show every step on a small made table."),
        "page": ("cli.page:page", "A page in the browser, from a table to a release."),
        "draft": ("cli.release:draft", "Draft a schema from a table, for review."),
        "convert": ("cli.converting:convert", "A schema as other standards have it, and back."),
        "check": ("cli.checking:check", "Show what of a table breaks its schema, and where."),
        "plan": ("cli.release:plan", "Show what a fit will measure and cost."),
        "fit": ("cli.release:fit", "Fit a generator to a table and save it."),
        "sample": ("cli.release:sample", "Draw synthetic rows from a saved model."),
        "synthesize": ("cli.release:synthesize", "Fit and draw synthetic rows in one go."),
        "sums": ("cli.sums:sums", "A regression from noisy sums, without a model."),
        "simulate": ("cli.simulate:simulate", "Play another trust model than one curator's."),
        "survey": ("cli.survey:survey", "Ask people, who perturb their own answers."),
        "report": ("cli.survey:report", "Answer a survey's question, on one's own device."),
        "holder": ("cli.holders:holder", "One of several holders of rows."),
        "coordinate": ("cli.holders:coordinate", "Fit one model with several holders."),
        "releases": ("cli.releases:releases", "What was already published from the same data."),
        "keys": ("cli.releases:keys", "Keys to sign models, tables and cards with."),
    },
    "Judge": {
        "inspect": ("cli.inspection:inspect", "Show a model's privacy card, ledger and vine."),
        "verify": ("cli.inspection:verify", "Compare file, card, ledger and transcript."),
        "evaluate": ("evaluation.cli:evaluate_files", "Score a synthetic table and attack it."),
        "audit": ("evaluation.audit.cli:audit_generator", "Test a generator's privacy claim."),
    },
    "Research": {
        "benchmark": ("experiments.cli.benchmark:benchmark", "Score a generator beside ours."),
        "experiments": ("experiments.cli.experiments:app", "Run a grid of generators and sets."),
        "reproduce": ("experiments.cli.reproduce:reproduce", "Papers again, with verdicts."),
    },
}
#: The panels of a command's help, in their order.
OPTION_PANELS = ("Data", "Privacy", "Method", "Output")
#: Settings whose options have other names, where a command has none of their own.
OTHER_NAMES = {
    **{"random_state": "seed", "n": "rows", "generator": "model", "model": "from"},
    **{"card": "output", "folder": "results", "datasets": "dataset", "settings": "set"},
}


class LazyCommand(TyperCommand):
    """A command with a name and words, of which the rest is loaded when it is run."""

    def __init__(self, entry: EntryPoint, words: str, panel: str) -> None:
        super().__init__(entry.name, help=words, rich_help_panel=panel)
        self.entry = entry
        #: The command itself, once it is loaded.
        self.real: Any = None

    def make_context(self, *args: Any, **options: Any) -> Any:
        """The context of the command itself."""
        self.real = loaded(self.entry)
        return self.real.make_context(*args, **options)


COMMANDS = {
    name: LazyCommand(EntryPoint(name, f"copula_shirley.{place}", ENTRY_POINTS), words, panel)
    for panel, commands in PANELS.items()
    for name, (place, words) in commands.items()
}


class LazyGroup(TyperGroup):
    """Our commands and those of installed packages."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Names of all commands, those of other packages last."""
        return [*COMMANDS, *installed_commands()]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """A command of ours, which no other package replaces, or of another one."""
        return COMMANDS.get(cmd_name) or installed_commands().get(cmd_name)

    def invoke(self, ctx: Any) -> Any:
        """Run a command; its errors name options where those of Python name settings."""
        try:
            return super().invoke(ctx)
        except ShirleyError as error:
            options = options_of(self.get_command(ctx, ctx.invoked_subcommand).real)
            error.args = (in_options(str(error), options) + hint(error.__cause__),)
            raise


def installed_commands() -> dict[str, LazyCommand]:
    """The commands of other packages."""
    found = {}
    for entry in entry_points(group=ENTRY_POINTS):
        package = entry.dist.metadata["Summary"] if entry.dist else None
        words = package or f"A command of {entry.module.partition('.')[0]}."
        found[entry.name] = LazyCommand(entry, words, "From other packages")
    return found


def loaded(entry: EntryPoint) -> Any:
    """The command of an entry point, or a ``SettingError``."""
    try:
        found = entry.load()
    except Exception as error:
        raise SettingError(
            f"command ({entry.name!r}) cannot be loaded from {entry.value}: "
            f"{type(error).__name__}: {error}"
        ) from error
    outer = typer.Typer(add_completion=False, rich_markup_mode="markdown")
    if isinstance(found, typer.Typer):
        outer.add_typer(found, name=entry.name)
    else:
        outer.command(entry.name)(found)
    outer.callback()(lambda: None)  # else typer makes the only command the whole
    return in_panels(typer.main.get_group(outer).commands[entry.name])


def in_panels(command: Any) -> Any:
    """A command, or an app of commands, with its options in the order of their panels."""
    order = {panel: place for place, panel in enumerate((None, *OPTION_PANELS))}
    command.params.sort(key=lambda p: order.get(p.rich_help_panel, len(order)))
    for below in getattr(command, "commands", {}).values():
        in_panels(below)
    return command


def hint(error: BaseException | None) -> str:
    """The extra that adds what could not be imported."""
    lacking = error.name if isinstance(error, ImportError) and error.name else ""
    found = [extra for extra, names in EXTRAS.items() if lacking.partition(".")[0] in names]
    return f"; pip install 'copula-shirley[{found[0]}]' adds it" if found else ""


def options_of(command: Any) -> set[str]:
    """The options of a command, or of the commands below it."""
    found = {name for parameter in getattr(command, "params", ()) for name in parameter.opts}
    return found.union(*map(options_of, getattr(command, "commands", {}).values()))


def in_options(text: str, options: set[str]) -> str:
    """An error that starts with a setting and its value, with the option that sets it.

    Examples
    --------
    >>> in_options("n (0) must be positive", {"--rows"})
    '--rows (0) must be positive'
    >>> in_options("truncation (None) must be 1 or more", {"--set"})
    '--set truncation (none) must be 1 or more'
    >>> in_options("given 'marital status' (no) must be declared", {"--given"})
    "--given 'marital status' (no) must be declared"
    """
    start = re.match(r"(\w+) (\(|'[^']*' \(|is no setting of )", text)
    if start is None:
        return text
    name, rest = start[1], text[start.end(1) :]
    for known in (name, OTHER_NAMES.get(name, name)):
        if (option := f"--{known.replace('_', '-')}") in options:
            return option + re.sub(r"^ \(None\)", " (not given)", rest)
    if "--set" in options:
        from copula_shirley.registry import who_has  # noqa: PLC0415  (slow)

        if who_has(name) or start[2].startswith("is no setting"):
            return f"--set {name}{re.sub(r'(?<=^ [(])None|(?<=or )None', 'none', rest)}"
    return text
