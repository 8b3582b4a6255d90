"""The ``shirley`` command: schema, fit, sample, synthesize, inspect, and installed ones.

Errors are one line on stderr and exit code 2; nothing is half-written.
"""

from __future__ import annotations

import os
import signal
import sys
import warnings
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from importlib.metadata import entry_points
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape
from rich.progress import MofNCompleteColumn
from rich.table import Table

from copula_shirley.api import Generator, find_generator, load
from copula_shirley.artefact import atomic_path
from copula_shirley.errors import PrivacyWarning, SettingError, ShirleyError
from copula_shirley.privacy import Ledger
from copula_shirley.schema import Schema, draft_notes, load_yaml
from copula_shirley.tables import check_extension, read_table, write_table
from copula_shirley.terminal import (
    assignment,
    check_apart,
    messages,
    note,
    progress_bars,
    screen,
)

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,  # a traceback with locals would print private values
    help="Synthetic tables from vine copulas, with a privacy label that is true.",
)

Data = Annotated[Path, typer.Argument(help="Table to learn from, .csv or .parquet.")]
SchemaFile = Annotated[
    Path | None, typer.Option("--schema", help="Declared domain (YAML); see 'shirley schema'.")
]
Model = Annotated[
    str, typer.Option("--model", help="copula-shirley, privbayes, dp-copula, dp-histogram ...")
]
Epsilon = Annotated[str, typer.Option(help="Privacy parameter, or 'none' for no noise.")]
Delta = Annotated[
    float | None, typer.Option(help="Delta of the Gaussian mechanism (default 0.001).")
]
Encoder = Annotated[
    str | None, typer.Option(help="ordinal, onehot, woe (default, needs --target), glmm.")
]
Target = Annotated[str | None, typer.Option(help="Column that woe and glmm look at.")]
MechanismName = Annotated[str | None, typer.Option(help="laplace, geometric or gaussian.")]
Split = Annotated[float | None, typer.Option(help="Share of the histogram rows, in (0, 1).")]
TruncationText = Annotated[str | None, typer.Option(help="Number of trees, 'auto' or 'none'.")]
Accounting = Annotated[str | None, typer.Option(help="thesis or honest.")]
Families = Annotated[str | None, typer.Option(help="all, parametric, ... or names with commas.")]
Discrete = Annotated[bool | None, typer.Option(help="Tell the vine which columns are discrete.")]
NeighbourNames = Annotated[str | None, typer.Option(help="replace-one or add-remove.")]
Threads = Annotated[int | None, typer.Option(help="Threads; one per core by default.")]
Seed = Annotated[int | None, typer.Option(help="Repeatable noise and rows: experiments only.")]
OnUnknownText = Annotated[str | None, typer.Option(help="Values off the schema: refuse or clip.")]
ShowValues = Annotated[bool, typer.Option(help="Quote private values in error messages.")]
Setting = Annotated[
    list[str] | None,
    typer.Option("--set", help="Any setting of the model, e.g. --set degree=2; repeatable."),
]
Missing = Annotated[
    list[str] | None, typer.Option(help="Text that stands for a missing value; repeatable.")
]
Rows = Annotated[
    int | None, typer.Option("--rows", "-n", help="Rows to draw; as many as were fitted.")
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress and no summary.")]


@app.command()
def schema(
    data: Data,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="YAML to write.")] = None,
    person: Annotated[str | None, typer.Option(help="Column that says whose row it is.")] = None,
    missing: Missing = None,
) -> None:
    """Draft a schema from a table, for review; it is printed unless -o is given."""
    check_apart([data], [output])
    table = read_table(data, missing=missing or ())
    draft = Schema.draft(table, person=person)
    for text in draft_notes(table, draft):
        note(text)
    if output is None:
        sys.stdout.write(draft.to_yaml())
        return
    with atomic_path(output) as partial:
        partial.write_text(draft.to_yaml(), encoding="utf-8")
    messages.print(f"Draft written to {escape(str(output))}; review it before you rely on it.")


@dataclass(frozen=True)
class Request:
    """What fit and synthesize are asked for: a generator and what it learns from."""

    generator: Generator
    data: Path
    schema_file: Path | None
    declared: Schema | None
    missing: tuple[str, ...]
    show_values: bool
    quiet: bool


def request(
    data: Data,
    schema_file: SchemaFile = None,
    model: Model = "copula-shirley",
    epsilon: Epsilon = "1",
    delta: Delta = None,
    encoder: Encoder = None,
    target: Target = None,
    mechanism: MechanismName = None,
    split: Split = None,
    truncation: TruncationText = None,
    accounting: Accounting = None,
    families: Families = None,
    discrete: Discrete = None,
    neighbours: NeighbourNames = None,
    threads: Threads = None,
    seed: Seed = None,
    on_unknown: OnUnknownText = None,
    show_values: ShowValues = False,
    missing: Missing = None,
    extra: Setting = None,
    quiet: Quiet = False,
) -> Request:
    """The options that fit and synthesize share."""
    settings = {
        "delta": delta,
        "encoder": encoder,
        "target": target,
        "mechanism": mechanism,
        "split": split,
        "truncation": truncation,
        "accounting": accounting,
        "families": families,
        "discrete": discrete,
        "neighbours": neighbours,
        "threads": threads,
        "on_unknown": on_unknown,
        **dict(_setting(text) for text in extra or ()),
    }
    generator = _generator(model, epsilon, seed, settings)
    declared = None if schema_file is None else Schema.read(schema_file)
    return Request(generator, data, schema_file, declared, tuple(missing or ()), show_values, quiet)


def shares_request(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options of ``request`` in place of its first parameter."""
    options = signature(request, eval_str=True).parameters
    own = list(signature(command, eval_str=True).parameters.values())[1:]

    def run(**given: Any) -> None:
        asked = request(**{name: given.pop(name) for name in options})
        command(asked, **given)

    parameters = [p.replace(kind=Parameter.KEYWORD_ONLY) for p in [*options.values(), *own]]
    run.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {p.name: p.annotation for p in parameters}
    run.__name__, run.__doc__ = command.__name__, command.__doc__
    return run


@app.command()
@shares_request
def fit(
    asked: Request,
    output: Annotated[Path, typer.Option("--output", "-o", help="Model file to write.")],
) -> None:
    """Fit a generator to a table and save it."""
    check_apart([asked.data, asked.schema_file], [output])
    with atomic_path(output) as partial:
        _fit(asked)
        asked.generator.save(partial)
    _conclude(asked, f"Model written to {output}")


@app.command()
def sample(
    model: Annotated[Path, typer.Argument(help="Model file that 'shirley fit' wrote.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Table, .csv or .parquet.")],
    rows: Rows = None,
    seed: Seed = None,
    quiet: Quiet = False,
) -> None:
    """Draw synthetic rows from a saved model."""
    kind = check_extension(output)
    check_apart([model], [output])
    generator = load(model)
    with atomic_path(output) as partial:
        _draw(generator, rows, seed, partial, kind, quiet)
    if not quiet:
        messages.print(f"Synthetic rows written to {output}")


@app.command()
@shares_request
def synthesize(
    asked: Request,
    output: Annotated[Path, typer.Option("--output", "-o", help="Table, .csv or .parquet.")],
    rows: Rows = None,
    save_model: Annotated[Path | None, typer.Option(help="Keep the fitted model here.")] = None,
) -> None:
    """Fit a generator and draw synthetic rows in one go."""
    kind = check_extension(output)
    if rows is not None and rows < 0:
        raise SettingError(f"rows ({rows}) must be 0 or more")
    check_apart([asked.data, asked.schema_file], [output, save_model])
    with ExitStack() as files:
        table_file = files.enter_context(atomic_path(output))
        model_file = files.enter_context(atomic_path(save_model)) if save_model else None
        _fit(asked)
        if model_file:
            asked.generator.save(model_file)
        _draw(asked.generator, rows, None, table_file, kind, asked.quiet)
    _conclude(asked, f"Synthetic rows written to {output}")


@app.command()
def inspect(
    model: Annotated[Path, typer.Argument(help="Model file that 'shirley fit' wrote.")],
    plot: Annotated[Path | None, typer.Option(help="Draw the vine's trees, e.g. tree.png.")] = None,
    json: Annotated[bool, typer.Option("--json", help="The ledger as JSON.")] = False,
) -> None:
    """Show a model's privacy ledger and its vine."""
    if json and plot:
        raise SettingError("--json and --plot cannot be asked for at once")
    generator = load(model)
    if json:
        sys.stdout.write(generator.ledger_.to_json() + "\n")
        return
    _print_ledger(generator.ledger_)
    for title, frame in generator.tables().items():
        table = Table(*frame.columns, title=title)
        for row in frame.itertuples(index=False):
            table.add_row(*(escape(str(cell)) for cell in row))
        screen.print(table)
    if plot:
        generator.plot(plot)
        messages.print(f"Drawn to {escape(str(plot))}")


# -- parts of the commands -----------------------------------------------------


def _setting(text: str) -> tuple[str, Any]:
    name, value = assignment("--set", text)
    return name.replace("-", "_"), load_yaml(value)


def _generator(name: str, epsilon: str, seed: int | None, settings: dict[str, Any]) -> Generator:
    """The unfitted generator that the options describe."""
    kind = find_generator(name)
    if not kind.publishable:
        raise SettingError(
            f"model ({name!r}) holds the rows themselves; nothing is published of it"
        )
    known = kind._get_param_names()
    given = {key: value for key, value in settings.items() if value is not None}
    given["random_state"] = seed
    if "epsilon" in known:
        given["epsilon"] = _number_or_none("epsilon", epsilon)
    if isinstance(given.get("truncation"), str) and given["truncation"] != "auto":
        given["truncation"] = _number_or_none("truncation", given["truncation"], whole=True)
    if isinstance(given.get("families"), str) and "," in given["families"]:
        given["families"] = [family.strip() for family in given["families"].split(",")]
    foreign = [key for key in given if key not in known]
    if foreign:
        raise SettingError(
            f"{foreign[0]} is no setting of model {name!r}; it has {', '.join(known)}"
        )
    return kind(**given)


def _number_or_none(setting: str, text: str, *, whole: bool = False) -> float | int | None:
    if text.lower() == "none":
        return None
    try:
        return int(text) if whole else float(text)
    except ValueError:
        what = "a whole number, 'auto'" if whole else "a positive number"
        raise SettingError(f"{setting} ({text!r}) must be {what} or 'none'") from None


def _fit(asked: Request) -> None:
    """Read, check and fit; what is wrong with the input shows before the fit starts."""
    table = read_table(asked.data, asked.declared, asked.missing)
    schema_ = asked.declared or Schema.draft(table)
    if asked.declared is None and not asked.quiet:
        for text in draft_notes(table, schema_):
            note(text)
    asked.generator._check_settings(schema_)
    schema_.validate(table, on_unknown=asked.generator.on_unknown, show_values=asked.show_values)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", PrivacyWarning)
        with progress_bars(asked.quiet) as bars:
            bar = bars.add_task("fit", total=1.0)
            asked.generator.fit(
                table,
                schema_,
                progress=lambda stage, share: bars.update(
                    bar, description=f"fit: {stage}", completed=share
                ),
            )
    for warning in caught:
        if not asked.quiet:
            messages.print(f"[yellow]warning:[/] {escape(str(warning.message))}", soft_wrap=True)


def _draw(
    generator: Generator, rows: int | None, seed: int | None, path: Path, kind: str, quiet: bool
) -> None:
    total = generator.n_rows_ if rows is None else rows
    with progress_bars(quiet, MofNCompleteColumn()) as bars:
        bar = bars.add_task("sample: rows", total=total)
        chunks = generator.sample_chunks(rows, random_state=seed)
        write_table(path, chunks, kind, lambda n: bars.advance(bar, n))


def _conclude(asked: Request, text: str) -> None:
    if not asked.quiet:
        messages.print(_label(asked.generator.ledger_))
        messages.print(text)


def _label(ledger: Ledger) -> Table:
    table = Table("", "", title="Privacy label", show_header=False)
    for heading, text in ledger.summary():
        table.add_row(heading, escape(text))
    return table


def _print_ledger(ledger: Ledger) -> None:
    screen.print(_label(ledger))
    if ledger.spends:
        head, lines = ledger.spends_table()
        spends = Table(*head, title="Spends")
        for line in lines:
            spends.add_row(*map(escape, line))
        screen.print(spends)
    if ledger.unprotected:
        uses = Table("stage", "what", "rows", "why", title="Unprotected uses of rows")
        for stage, what, rows, why in ledger.grouped_unprotected():
            uses.add_row(stage, escape(what), rows, why)
        screen.print(uses)


def _add_installed_commands() -> None:
    """Commands of packages above this one, and of outsiders: a typer function by its name."""
    for entry in entry_points(group="copula_shirley.commands"):
        app.command(entry.name)(entry.load())


_add_installed_commands()


def main() -> None:
    """Run the command; every fault of the input is one line and exit code 2."""
    # a terminated command cleans up like an interrupted one
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        if app(standalone_mode=False) == 130:  # what typer makes of an interrupt
            raise KeyboardInterrupt
    except ShirleyError as error:
        _fail(str(error))
    except OSError as error:
        _fail(f"{error.filename or 'file'}: {error.strerror or error}")
    except (KeyboardInterrupt, typer.Abort):
        messages.print("stopped; nothing was written", style="red")
        raise SystemExit(130) from None
    except Exception as error:
        if type(error).__name__ == "NoArgsIsHelpError":  # the help was shown
            raise SystemExit(2) from None
        if hasattr(error, "format_message"):  # wrong words on the command line
            _fail(error.format_message())
        if os.environ.get("SHIRLEY_DEBUG"):
            raise
        # the text of an unforeseen error may quote rows
        _fail(f"internal error ({type(error).__name__}); set SHIRLEY_DEBUG=1 to see it", code=3)


def _fail(text: str, code: int = 2) -> None:
    messages.print(f"error: {' '.join(text.split())}", style="red", markup=False, soft_wrap=True)
    raise SystemExit(code)
