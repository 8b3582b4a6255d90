"""The ``shirley`` command: schema, plan, fit, sample, synthesize, inspect, verify, and others.

Errors are one line on stderr and exit code 2; nothing is half-written.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable
from dataclasses import replace
from json import dumps
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.progress import MofNCompleteColumn
from rich.table import Table

from copula_shirley.cli.ending import clean_ending, drop_output, flush_output
from copula_shirley.cli.installed import LazyGroup
from copula_shirley.cli.request import (
    DEFAULT_MODEL,
    AcceptUnproved,
    Data,
    Delta,
    Domain,
    Epsilon,
    EscapeFormulas,
    Given,
    Missing,
    NeighbourNames,
    NoCard,
    Quiet,
    Request,
    Rows,
    Seed,
    Sign,
    Target,
    TruncationText,
    generator_from,
    shares_request,
)
from copula_shirley.cli.terminal import (
    alarm,
    check_apart,
    messages,
    note,
    plain,
    progress_bars,
    screen,
)
from copula_shirley.errors import PrivacyWarning, SettingError, ShirleyError
from copula_shirley.files.atomic import finished
from copula_shirley.files.model_file import atomic_path
from copula_shirley.files.texts import one_line
from copula_shirley.publish.outputs import with_cards, written_with_cards
from copula_shirley.rows.tables import check_extension, read_table
from copula_shirley.rows.writing import formulas, write_table
from copula_shirley.schema.draft import draft_notes
from copula_shirley.schema.schema import Schema

if TYPE_CHECKING:  # what takes seconds to import is imported by the commands that need it
    from copula_shirley.generator import Generator
    from copula_shirley.privacy.card import Card

app = typer.Typer(
    cls=LazyGroup,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,  # a traceback with locals would print private values
    help="Synthetic tables from vine copulas, with a privacy label that is true.",
)


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
    messages.print(f"Draft written to {plain(output)}; review it before you rely on it.")


@app.command()
def plan(
    schema_file: Annotated[Path, typer.Argument(help="Declared domain (YAML).")],
    rows: Annotated[int, typer.Option("--rows", "-n", help="About how many rows there are.")],
    epsilon: Epsilon = "1",
    delta: Delta = None,
    target: Target = None,
    truncation: TruncationText = None,
    neighbours: NeighbourNames = None,
    domain: Domain = None,
    json: Annotated[bool, typer.Option("--json", help="The plan as JSON.")] = False,
) -> None:
    """Show what a fit of private-vine will measure, at which price and noise; reads no row."""
    settings = {
        "delta": delta,
        "target": target,
        "truncation": truncation,
        "neighbours": neighbours,
        "domain": domain,
    }
    from copula_shirley.private_vine.plan import plan as make_plan  # noqa: PLC0415  (slow)

    generator = generator_from(DEFAULT_MODEL, epsilon, None, settings)
    planned = make_plan(Schema.read(schema_file), rows, **generator.get_params())
    if json:
        sys.stdout.write(dumps(planned.to_dict(), indent=2) + "\n")
        return
    table = Table(*planned.stages.columns, title=planned.budget)
    for line in planned.stages.itertuples(index=False):
        table.add_row(*(_figure(cell) for cell in line))
    screen.print(table)
    for text in [*planned.notes, planned.effort]:
        screen.print(plain(text), soft_wrap=True)


@app.command()
@shares_request
def fit(
    asked: Request,
    output: Annotated[Path, typer.Option("--output", "-o", help="Model file to write.")],
) -> None:
    """Fit a generator to a table and save it."""
    check_apart(
        [asked.data, asked.schema_file, asked.releases, asked.sign],
        with_cards([output], asked.no_card, asked.sign),
    )
    with written_with_cards([output], asked.no_card, asked.sign) as files:
        _fit(asked, output.name)
        asked.generator.save(files.paths[0])
        files.add_cards(asked.generator)
    _conclude(asked, "Model", output)


@app.command()
def sample(
    model: Annotated[Path, typer.Argument(help="Model file that 'shirley fit' wrote.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Table, .csv or .parquet.")],
    rows: Rows = None,
    given: Given = None,
    seed: Seed = None,
    no_card: NoCard = False,
    sign: Sign = None,
    escape_formulas: EscapeFormulas = False,
    accept_unproved: AcceptUnproved = False,
    quiet: Quiet = False,
) -> None:
    """Draw synthetic rows from a saved model; that costs no privacy, as often as one likes."""
    kind = check_extension(output)
    check_apart([model, sign], with_cards([output], no_card, sign))
    from copula_shirley.generator import load  # noqa: PLC0415  (slow)
    from copula_shirley.schema.conditions import given_from_texts  # noqa: PLC0415  (slow)

    generator = load(model)
    _check_proved(_why_unproved(generator), accept_unproved)
    wanted = given_from_texts(given or (), generator.schema_)
    with written_with_cards([output], no_card, sign) as files:
        _draw(generator, rows, seed, files.paths[0], kind, quiet, wanted, escape_formulas)
        files.add_cards(generator, given)
    if not quiet:
        _note_formulas(generator, kind, escape_formulas)
        messages.print(f"Synthetic rows written to {plain(output)}")
    _warn_unproved(generator, output)


@app.command()
@shares_request
def synthesize(
    asked: Request,
    output: Annotated[Path, typer.Option("--output", "-o", help="Table, .csv or .parquet.")],
    rows: Rows = None,
    given: Given = None,
    save_model: Annotated[Path | None, typer.Option(help="Keep the fitted model here.")] = None,
    escape_formulas: EscapeFormulas = False,
) -> None:
    """Fit a generator and draw synthetic rows in one go."""
    kind = check_extension(output)
    if rows is not None and rows < 0:
        raise SettingError(f"rows ({rows}) must be 0 or more")
    outputs = [output, save_model] if save_model else [output]
    check_apart(
        [asked.data, asked.schema_file, asked.releases, asked.sign],
        with_cards(outputs, asked.no_card, asked.sign),
    )
    from copula_shirley.schema.conditions import given_from_texts  # noqa: PLC0415  (slow)

    if given and asked.declared is not None:  # what can be wrong shows before the fit
        given_from_texts(given, asked.declared)
    with written_with_cards(outputs, asked.no_card, asked.sign) as files:
        _fit(asked, output.name)
        if save_model:
            asked.generator.save(files.paths[1])
        wanted = given_from_texts(given or (), asked.generator.schema_)
        out = files.paths[0]
        _draw(asked.generator, rows, None, out, kind, asked.quiet, wanted, escape_formulas)
        files.add_cards(asked.generator, given)
    if not asked.quiet:
        _note_formulas(asked.generator, kind, escape_formulas)
    _conclude(asked, "Synthetic rows", output)


@app.command()
def inspect(
    model: Annotated[Path, typer.Argument(help="Model file that 'shirley fit' wrote.")],
    plot: Annotated[Path | None, typer.Option(help="Draw the vine's trees, e.g. tree.png.")] = None,
    card: Annotated[Path | None, typer.Option(help="Write the privacy card, e.g. c.html.")] = None,
    json: Annotated[bool, typer.Option("--json", help="The ledger as JSON.")] = False,
) -> None:
    """Show a model's privacy card and ledger, and its vine."""
    if json and (plot or card):
        raise SettingError("--json and --plot or --card cannot be asked for at once")
    check_apart([model], [plot, card])
    from copula_shirley.generator import load  # noqa: PLC0415  (slow)
    from copula_shirley.publish.pages import write_page  # noqa: PLC0415  (slow)

    generator = load(model)
    if json:
        sys.stdout.write(generator.ledger_.to_json() + "\n")
        return
    _print_ledger(generator)
    found = generator.card()
    _print_card(found)
    for title, frame in generator.tables().items():
        table = Table(*frame.columns, title=title)
        for row in frame.itertuples(index=False):
            table.add_row(*(plain(cell) for cell in row))
        screen.print(table)
    if plot:
        generator.plot(plot)
        messages.print(f"Drawn to {plain(plot)}")
    if card:
        with atomic_path(card) as partial:
            write_page(partial, found, model.name, model)
        messages.print(f"Card written to {plain(card)}")


# -- parts of the commands -----------------------------------------------------


def _figure(cell: Any) -> str:
    if isinstance(cell, str):
        return plain(cell)
    return "" if cell is None or isnan(cell) else f"{cell:.4g}"


def _fit(asked: Request, what: str) -> None:
    """Read, check and fit; what is wrong with the input shows before the fit starts.

    With a release ledger the cost is reserved before a row is read.
    """
    if asked.releases is None:
        _fit_table(asked, asked.generator.fit)
        _check_proved(_why_unproved(asked.generator), asked.accept_unproved)
        return
    if asked.declared is None:
        raise SettingError("schema (None) must be named with --schema for --releases")
    from copula_shirley.publish.releases import ReleaseLedger  # noqa: PLC0415  (slow)

    ledger = ReleaseLedger.open(asked.releases)
    with ledger.reserve(asked.generator, asked.declared, what) as reservation:
        _fit_table(asked, lambda table, _, progress: reservation.fit(table, progress=progress))
    if not asked.quiet:
        messages.print(
            f"Releases: {ledger.total} of {ledger.cap} in {plain(asked.releases)}",
            soft_wrap=True,
        )


def _fit_table(asked: Request, fit_to: Callable[..., Generator]) -> None:
    from copula_shirley.private_vine.generator import PrivateVine  # noqa: PLC0415  (slow)

    if asked.declared is None and isinstance(asked.generator, PrivateVine):
        raise SettingError(
            "schema (None) must be named with --schema: what a file holds is no public domain. "
            f"Write a draft with 'shirley schema {asked.data}' and review it; --domain measured "
            "buys the bounds and categories of columns that you mark with provenance: private"
        )
    if asked.declared is not None:
        asked.generator._check_settings(asked.declared)
        asked.generator._check_bought(asked.declared)
    _check_proved(asked.generator.unproved(asked.declared), asked.accept_unproved)
    table = read_table(asked.data, asked.declared, asked.missing)
    schema_ = asked.declared or Schema.draft(table)
    if asked.declared is None:
        asked.generator._check_settings(schema_)
        for text in [] if asked.quiet else draft_notes(table, schema_):
            note(text)
    known = tuple(c for c in schema_ if c.name not in asked.generator._to_buy(schema_))
    if known:
        schema_.check_columns(table)
        part = replace(schema_, columns=known, left_out=())
        kept = [c.name for c in known] + ([part.person] if part.person else [])
        on_unknown = asked.generator.on_unknown
        part.validate(table[kept], on_unknown=on_unknown, show_values=asked.show_values)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", PrivacyWarning)
        with progress_bars(asked.quiet) as bars:
            bar = bars.add_task("fit", total=1.0)
            fit_to(
                table,
                schema_,
                progress=lambda stage, share: bars.update(
                    bar, description=plain(f"fit: {stage}"), completed=share
                ),
            )
    for warning in caught:
        if not asked.quiet:
            messages.print(f"[yellow]warning:[/] {plain(warning.message)}", soft_wrap=True)


def _draw(
    generator: Generator,
    rows: int | None,
    seed: int | None,
    path: Path,
    kind: str,
    quiet: bool,
    given: dict[str, Any],
    escape_formulas: bool,
) -> None:
    total = generator.n_rows_ if rows is None else rows
    with progress_bars(quiet, MofNCompleteColumn()) as bars:
        bar = bars.add_task("sample: rows", total=total)
        chunks = generator.sample_chunks(rows, random_state=seed, given=given)
        write_table(
            path,
            chunks,
            kind,
            lambda n: bars.advance(bar, n),
            escape_formulas=escape_formulas,
        )


def _note_formulas(generator: Generator, kind: str, escaped: bool) -> None:
    """Say so once if a spreadsheet would run what a CSV file holds; declared texts are public."""
    found = formulas(generator.schema_) if kind == "csv" and not escaped else []
    if found:
        note(
            f"column {found[0]!r} has texts that a spreadsheet would run as formulas "
            "(they begin with = + - @, tab or CR); --escape-formulas puts a quote before them"
        )


def _check_proved(reasons: list[str], accepted: bool) -> None:
    """Refuse a release of which nothing is proved, unless its maker says that he knows."""
    if reasons and not accepted:
        raise SettingError(
            f"nothing would be proved about privacy: {'; '.join(reasons)}. To write it all the "
            "same, for nobody but who may see the rows, add --accept-unproved"
        )


def _why_unproved(generator: Generator) -> list[str]:
    """Why nothing is proved of a fitted model; empty if something is."""
    ledger = generator.ledger_
    if ledger.proved is not None:
        return []
    uses = dict.fromkeys(f"{use.stage}: {use.why}" for use in ledger.unprotected)
    replayed = ["its noise was recorded or replayed by a test"]
    return generator.unproved(generator.schema_) or list(uses) or replayed


def _warn_unproved(generator: Generator, output: Path) -> None:
    """Say so in red where nothing is proved of what was written, also when told to be quiet."""
    if generator.ledger_.proved is None:
        reasons = "; ".join(_why_unproved(generator))
        alarm(
            f"NOT PROTECTED: nothing is proved about the privacy of {one_line(str(output))}: "
            f"{reasons}. Treat it as the rows themselves."
        )


def _conclude(asked: Request, what: str, output: Path) -> None:
    if not asked.quiet:
        messages.print(_label(asked.generator))
        messages.print(plain(f"{what} written to {output}"))
    _warn_unproved(asked.generator, output)


def _label(generator: Generator) -> Table:
    from copula_shirley.privacy.card import domain_warnings  # noqa: PLC0415  (slow)

    schema_ = generator.schema_
    table = Table("", "", title="Privacy label", show_header=False)
    for heading, text in generator.ledger_.summary():
        table.add_row(heading, plain(text))
    table.add_row("cells", plain(", ".join(f"{c.name} {c.size:,}" for c in schema_)))
    bought = [c for c in schema_ if c.provenance == "private" and not c.categories]
    if bought:
        bounds = (f"{c.name} {c.minimum} to {c.maximum}" for c in bought)
        table.add_row("bought", plain(", ".join(bounds)))
    for left in schema_.left_out:
        table.add_row("left out", plain(f"{left.name}: {left.reason or 'no reason stated'}"))
    for text in domain_warnings(schema_, generator.n_rows_):
        table.add_row("[yellow]warning[/]", plain(text))
    return table


def _print_ledger(generator: Generator) -> None:
    ledger = generator.ledger_
    screen.print(_label(generator))
    if ledger.spends:
        head, lines = ledger.spends_table()
        spends = Table(*head, title="Spends")
        for line in lines:
            spends.add_row(*map(plain, line))
        screen.print(spends)
    if ledger.unprotected:
        uses = Table("stage", "what", "rows", "why", title="Unprotected uses of rows")
        for stage, what, rows, why in ledger.grouped_unprotected():
            uses.add_row(*map(plain, (stage, what, rows, why)))
        screen.print(uses)


def _print_card(card: Card) -> None:
    """What the label means for a person, and what the model was made of."""
    from copula_shirley.privacy.card_words import RANDOMNESS, percent  # noqa: PLC0415  (slow)

    table = Table("", "", title="Privacy card", show_header=False)
    table.add_row("verdict", plain(card.words.headline))
    for line in card.meaning or ():
        table.add_row(
            f"at {line.false_positives:.0%} false alarms",
            f"no attacker finds more than {percent(100 * line.most_true_positives)}%",
        )
    table.add_row("randomness", RANDOMNESS[card.randomness])
    table.add_row("settings", f"sha256 {card.settings_sha256[:16]}")
    table.add_row("schema", f"sha256 {card.schema_sha256[:16]}")
    table.add_row("made with", plain(", ".join(f"{k} {v}" for k, v in card.versions.items())))
    screen.print(table)


def main() -> None:
    """Run the command; every fault of the input is one line and exit code 2."""
    with clean_ending():
        try:
            _run()
        except SystemExit:
            raise
        except BrokenPipeError:  # nobody reads on, as in ``shirley schema data.csv | head -1``
            drop_output()
            raise SystemExit(1) from None
        except (KeyboardInterrupt, typer.Abort):
            kept = "what was written is whole" if finished else "nothing was written"
            messages.print(f"stopped; {kept}", style="red")
            raise SystemExit(130) from None
        except Exception as error:
            _tell(error)


def _run() -> None:
    finished.clear()
    try:
        code = app(standalone_mode=False)
    finally:
        flush_output()
    if code == 130:  # what typer makes of an interrupt
        raise KeyboardInterrupt
    if isinstance(code, int) and code:  # a command that says how it went
        raise SystemExit(code)


def _tell(error: Exception) -> None:
    """Say in one line what went wrong, and end."""
    if isinstance(error, ShirleyError):
        _fail(str(error))
    if isinstance(error, OSError):
        named = repr(str(error.filename))
        if error.filename is None:  # what was printed could not be written
            drop_output()
            named = "standard output"
        _fail(f"{named}: {error.strerror or error}")
    if isinstance(error, MemoryError):
        _fail("the memory does not suffice: fewer rows, columns or cells need less")
    if type(error).__name__ == "NoArgsIsHelpError":  # the help was shown
        raise SystemExit(2) from None
    if hasattr(error, "format_message"):  # wrong words on the command line
        _fail(error.format_message())
    if os.environ.get("SHIRLEY_DEBUG"):
        raise error
    # the text of an unforeseen error may quote rows
    _fail(f"internal error ({type(error).__name__}); set SHIRLEY_DEBUG=1 to see it", code=3)


def _fail(text: str, code: int = 2) -> None:
    messages.print(f"error: {one_line(text)}", style="red", markup=False, soft_wrap=True)
    raise SystemExit(code)
