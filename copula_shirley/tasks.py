"""What people ask for, without a terminal: draft, plan, fit, sample, synthesize, inspect, verify.

The command line and the page are faces of these. Each task checks all it can before it reads rows
or spends anything, tells its progress to a callback, and gives back what came of it; what is wrong
with the input is a ``ShirleyError``. Files are written whole or not at all.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd

from copula_shirley.errors import ArtefactError, PoorTableWarning, PrivacyWarning, SettingError
from copula_shirley.files.atomic import atomic_path
from copula_shirley.files.texts import one_line
from copula_shirley.fitted import Progress, RandomState, silent
from copula_shirley.generator import Generator, load
from copula_shirley.jobs import check_jobs
from copula_shirley.least_squares import Regression, regression, unproved
from copula_shirley.measure.journal import Journal, journal_path
from copula_shirley.outlook import ABOUT_ROWS
from copula_shirley.privacy.card import Card
from copula_shirley.publish.outputs import Output, card_path, check_apart
from copula_shirley.publish.pages import write_page
from copula_shirley.publish.releases import ReleaseLedger, Reservation
from copula_shirley.publish.verify import verify_file
from copula_shirley.registry import make_generator
from copula_shirley.rows.databases import Query
from copula_shirley.rows.engines import check_whole, engine_notes, held_table, source_of
from copula_shirley.rows.files import files_at, is_several
from copula_shirley.rows.findings import SHOWN, Earlier, Finding, findings
from copula_shirley.rows.formats import check_format, file_of
from copula_shirley.rows.pieces import Source
from copula_shirley.rows.recognising import recognised
from copula_shirley.rows.tables import check_extension, check_written, is_table, read_table, whole
from copula_shirley.rows.text_files import line_numbers
from copula_shirley.rows.writing import formulas, write_table
from copula_shirley.rules.drawing import check_given
from copula_shirley.rules.suggesting import suggested
from copula_shirley.schema.codebook import labels_note, with_labels
from copula_shirley.schema.conditions import given_from_texts
from copula_shirley.schema.draft import draft_notes, summary
from copula_shirley.schema.file_format import PLAIN
from copula_shirley.schema.frames import as_frame, like
from copula_shirley.schema.left_out import LeftOut
from copula_shirley.schema.schema import Schema, check_schema
from copula_shirley.schema.schema_files import ENDINGS, LONGEST_LIST
from copula_shirley.schema.standards import converted, imported
from copula_shirley.schema.updating import updated

verify = verify_file
#: Told the schema and the number of rows, and raises where they cannot be written.
CheckSize = Callable[[Schema, int], None]
DEFAULT_MODEL = "private-vine"


@dataclass(frozen=True)
class Order:
    """What a generator, not yet fitted, shall learn from; a file is opened once."""

    generator: Generator
    data: Path | Query | pd.DataFrame
    #: Without one it is drafted from the rows, and nothing is proved.
    schema: Path | Schema | None = None
    #: Texts that stand for a missing value in a CSV file.
    missing: tuple[str, ...] = ()
    #: Sheet of a workbook that is read, if the schema names none.
    sheet: str | None = None
    #: Whether errors may quote private values.
    show_values: bool = False
    #: Release ledger in which the cost is reserved before a row is read.
    releases: Path | None = None
    #: Go on although nothing is proved about privacy.
    accept_unproved: bool = False
    #: Go on although noise will leave nothing useful.
    accept_poor: bool = False
    #: About how many rows there are, if that is public: whether a fit is refused as useless then
    #: depends on nothing private.
    rows_about: int | None = None
    #: Start anew although there is the journal of a fit that was stopped.
    fresh: bool = False
    #: Told what deserves a look before anything is spent, such as a poor outlook.
    tell: Callable[[str], None] | None = None
    #: Where rows are held: in memory, or in files that are read in pieces; by default as it suits.
    engine: str | None = None
    #: Processes that read pieces.
    workers: int = 1
    #: Address of a Dask scheduler, or master of a Spark cluster.
    cluster: str | None = None
    #: Asked whether to go on where nothing useful can come out; without it that is refused.
    ask: Callable[[str], bool] | None = None

    @cached_property
    def declared(self) -> Schema | None:
        """The schema, read if it is a file."""
        return Schema.read(self.schema) if isinstance(self.schema, Path) else self.schema

    @property
    def inputs(self) -> list[Path]:
        """Files that are read."""
        named = (file_of(self.data), self.schema, self.releases)
        found = [path for path in named if isinstance(path, Path)]
        return [one for path in found for one in (files_at(path) if is_several(path) else [path])]


@dataclass(frozen=True)
class Done:
    """What came of a task: a fitted generator, and what there is to say about it."""

    generator: Generator
    #: Why nothing is proved about its privacy; empty if something is.
    unproved: list[str]
    #: What deserves a look.
    notes: list[str] = field(default_factory=list)
    #: Where claim and proof differ.
    warnings: list[str] = field(default_factory=list)
    #: The releases so far, this one included.
    ledger: ReleaseLedger | None = None


# -- the tasks ---------------------------------------------------------------------


def draft(
    data: Path | Query,
    output: Path | None = None,
    *,
    person: str | None = None,
    missing: Sequence[str] = (),
    sheet: str | None = None,
    drop: Sequence[str] = (),
    force: bool = False,
    update: bool = False,
    suggest_rules: bool = False,
    declare_labels: bool = False,
) -> tuple[str, list[str]]:
    """Draft a schema from a table as YAML, and note what to look at. It reads rows: it is private.

    A schema that is there already is kept; with ``update`` what was reviewed in it is, with
    ``force`` nothing. With ``suggest_rules`` rules that all rows keep are drafted, too.
    ``declare_labels`` says that the file's value labels come from a codebook.
    """
    check_apart([file_of(data)], ("output", output))
    if (update or force) and output is None:
        raise SettingError("output (None) must name the schema to update or replace")
    if output is not None and output.suffix.lower() not in ENDINGS:
        rule = f"must end in {' or '.join(ENDINGS)}: a schema is written there"
        raise SettingError(f"output ({str(output)!r}) {rule}")
    old = Schema.read(output) if update and output is not None else None
    if output is not None and output.exists() and not (force or update):
        rule = "exists, and may have been reviewed: --update keeps what was, --force replaces it"
        raise SettingError(f"output ({str(output)!r}) {rule}")
    reviewed = old is not None and old.file.provenance == "declared"
    found = recognised(data, missing, old.file if old and reviewed else None, sheet)
    table = found.table
    for name in drop:
        if name not in table:
            raise SettingError(f"drop ({name!r}) must be a column of the table")
    if person is not None and person not in table:
        raise SettingError(f"person ({person!r}) must be a column of the table")
    person = person or (old.person if old else None)
    schema = Schema.draft(table.drop(columns=list(drop)), person=person, file=found.file)
    source = Path(str(data)).name
    schema = with_labels(schema, table, found.codebook, source, declared=declare_labels)
    left = tuple(LeftOut(name, "dropped by whoever drafted the schema") for name in drop)
    schema = replace(schema, left_out=(*left, *schema.left_out))
    notes = draft_notes(table, schema)
    if old is not None:
        schema, kept = updated(old, schema, [str(name) for name in table])
        notes = kept + draft_notes(table, schema)
    if suggest_rules:
        reviewed_rules = tuple(r for r in schema.rules if r.provenance != "drafted")
        schema, how = suggested(table, replace(schema, rules=reviewed_rules))
        notes += how
    notes += labels_note(schema, found.codebook, declared=declare_labels)
    head = summary(table, schema, found.odd)
    if output is not None:
        schema.write(output, head=head, longest_list=LONGEST_LIST)
    return head + schema.to_yaml(), notes


def check(
    data: Path | Query | pd.DataFrame,
    schema: Path | Schema,
    missing: Sequence[str] = (),
    sheet: str | None = None,
) -> list[Finding]:
    """Everything in a table that its schema forbids, for who may see the rows. Nothing is spent."""
    declared = Schema.read(schema) if isinstance(schema, Path) else schema
    if not isinstance(data, Path | Query):
        return findings(data, declared)
    if not isinstance(data, Path) or not is_several(data):
        return _findings(data, declared, missing, sheet)
    earlier = Earlier()
    return [
        replace(found, where=f"{path.name}: {found.where}")
        for path in files_at(data)
        for found in _findings(path, declared, missing, sheet, earlier)
    ]


def _findings(
    data: Path | Query,
    declared: Schema,
    missing: Sequence[str],
    sheet: str | None,
    earlier: Earlier | None = None,
) -> list[Finding]:
    """What is wrong with one file, or with what a query gives."""
    lines = None
    if check_format(data).is_text and (file := file_of(data)) is not None:
        lines, odd = whole(file, lambda: line_numbers(file, declared.file))
        if odd:
            rule = "a row has another number of fields than the header"
            return [Finding("file", rule, len(odd), tuple(odd[:SHOWN]))]
    table = read_table(data, declared, missing, sheet=sheet)
    return findings(table, declared, lines, earlier)


def convert(
    source: Path,
    output: Path | None = None,
    *,
    to: str = "table-schema",
    data: str | None = None,
    known_from: str | None = None,
    resource: str | None = None,
    force: bool = False,
) -> tuple[str, list[str]]:
    """Write a schema as a standard has it, or the schema of a Table Schema; what, and notes.

    What a file of a standard says counts as declared if one says where it is ``known_from``, else
    as drafted. ``data`` is the published table that is described: a path beside it, or a URL.
    """
    check_apart([source], ("output", output))
    if output is not None and output.exists() and not force:
        raise SettingError(f"output ({str(output)!r}) exists; --force replaces it")
    notes: list[str] = []
    found = converted(source, to, data, known_from, resource, notes.append)
    if isinstance(found, Schema):
        head = f"# From {one_line(source.name)}"
        head += ", which does not say where it is known from.\n" if found.drafted else ".\n"
        if output is not None:
            found.write(output, head=head, longest_list=LONGEST_LIST)
        return head + found.to_yaml(), notes
    for name, value in (("source", known_from), ("resource", resource)):
        if value is not None:
            rule = f"must be left out: {source.name!r} is a schema, which is written and not read"
            raise SettingError(f"{name} ({value!r}) {rule}")
    if output is not None:
        with atomic_path(output) as partial:
            partial.write_text(found, encoding="utf-8")
    return found, notes


def import_schema(
    source: Path, *, known_from: str | None = None, resource: str | None = None
) -> tuple[Schema, list[str]]:
    """The schema of a file, one of ours or of a standard that ``convert`` reads; and notes."""
    notes: list[str] = []
    return imported(source, known_from, resource, notes.append), notes


def sums(
    data: Path | Query,
    schema: Path,
    columns: Sequence[str],
    on: str,
    *,
    epsilon: float | None = 1.0,
    missing: Sequence[str] = (),
    sheet: str | None = None,
    accept_unproved: bool = False,
    **more: Any,
) -> Regression:
    """Explain a column by others, from noisy sums that spend epsilon; a file is read once."""
    declared = Schema.read(schema)
    check_proved(unproved(declared, columns, on, epsilon), accept_unproved)
    table = read_table(data, declared, missing, sheet=sheet)
    return regression(table, declared, columns, on, epsilon=epsilon, **more)


def plan(schema: Path | Schema, rows: int, generator: Generator) -> Any:
    """What a fit to so many rows will measure, at which price and noise. It reads no row."""
    return generator.plan(Schema.read(schema) if isinstance(schema, Path) else schema, rows)


def fit(order: Order, output: Output, progress: Progress = silent) -> Done:
    """Fit a generator and save it; spends what its settings say."""
    if output.is_stream:
        raise SettingError("output ('-') must be a file: a model is no text")
    with _journal(order, output) as journal, output.written(order.inputs) as files:
        _check_model_name("output", output.path)
        done = fitted(order, output.path.name, progress, journal=journal)
        card = done.generator.card()
        done.generator.save(files.at[output.path], card)
        files.add_cards(card)
    return done


def _check_model_name(option: str, path: Path | None) -> None:
    """Refuse a model under the name of a table, as which it would be handed out."""
    if path is not None and is_table(path):
        rule = "must be the name of a model, such as model.shirley, not of a table"
        raise SettingError(f"{option} ({str(path)!r}) {rule}")


def sample(
    model: Path,
    output: Output,
    rows: int | None = None,
    *,
    given: Sequence[str] = (),
    random_state: RandomState = None,
    jobs: int = 1,
    accept_unproved: bool = False,
    progress: Progress = silent,
) -> Done:
    """Draw rows from a saved model; that costs no privacy, as often as one likes.

    Rows are written while they are drawn, in memory that does not grow with them; several processes
    (``jobs``) draw the same rows.
    """
    check_jobs(jobs)
    check_extension(output.path, "output", writes=True)
    with output.written([model]) as files:
        generator = load(model)
        done = Done(generator, why_unproved(generator))
        check_proved(done.unproved, accept_unproved)
        drawn = generator.n_rows_ if rows is None else rows
        check_written(output.path, generator.table_schema_, drawn)
        place, drawing = files.at[output.path], {"random_state": random_state, "jobs": jobs}
        _draw(generator, rows, place, output, given, progress, **drawing)
        files.add_cards(generator.card(), given)
    return replace(done, notes=formula_notes(generator, output))


def synthesize(
    order: Order,
    output: Output,
    rows: int | None = None,
    *,
    given: Sequence[str] = (),
    progress: Progress = silent,
) -> Done:
    """Fit a generator and draw rows in one go; spends what its settings say."""
    check_extension(output.path, "output", writes=True)
    if rows is not None and rows < 0:
        raise SettingError(f"rows ({rows}) must be 0 or more")
    if given and order.declared is not None:  # what can be wrong shows before the fit
        wanted = given_from_texts(given, order.declared)
        check_given(order.generator.coordinates(order.declared), wanted)

    def check_size(schema: Schema, fitted_rows: int) -> None:
        check_written(output.path, schema, fitted_rows if rows is None else rows)

    with _journal(order, output) as journal, output.written(order.inputs) as files:
        _check_model_name("save_model", output.model)
        done = fitted(order, output.path.name, progress, check_size, journal)
        card = done.generator.card()
        if output.model is not None:
            done.generator.save(files.at[output.model], card)
        _draw(done.generator, rows, files.at[output.path], output, given, progress)
        files.add_cards(card, given)
    return replace(done, notes=done.notes + formula_notes(done.generator, output))


def synthesize_table(
    table: Any,
    schema: Schema | None = None,
    epsilon: float | None = 1.0,
    *,
    model: str = DEFAULT_MODEL,
    rows: int | None = None,
    accept_unproved: bool = False,
    accept_poor: bool = False,
    **settings: Any,
) -> Any:
    """Synthetic rows like those of a table: the first line of a newcomer.

    The second is ``PrivateVine(epsilon).fit(table, schema)``: a fitted model has the card and the
    ledger, can be saved, and draws further rows, under conditions too, at no cost.

    Parameters
    ----------
    table : DataFrame
        Or a table of polars, duckdb or pyarrow; one of polars or of pyarrow is then given back.
    schema : Schema
        The public domain; without one nothing is proved. ``Schema.draft(table)`` writes a draft.
    epsilon : float or None
        The privacy budget; None draws no noise, and nothing is proved.
    model : str
        Name of the generator; ``settings`` are its own, such as ``delta=1e-6``.
    rows : int, optional
        By default about as many as the table has.
    accept_unproved : bool
        Go on although nothing is proved about privacy; without it that is a ``SettingError``.
    accept_poor : bool
        Go on although noise will leave nothing useful; without it that is a ``SettingError``.

    Warns
    -----
    PoorTableWarning
        What noise will leave little of, such as columns that come out independent.
    PrivacyWarning
        What the privacy card warns of, such as seeded noise: the table leaves without its card.

    Examples
    --------
    >>> from copula_shirley import Column, synthesize
    >>> schema = Schema((Column("age", "integer", minimum=0, maximum=120),))
    >>> len(synthesize(pd.DataFrame({"age": [30, 41, 52] * 50}), schema, epsilon=2.0, rows=5))
    5
    """
    if schema is not None:
        check_schema(schema)
    generator = make_generator(model, {"epsilon": epsilon, **settings})
    given, table = table, as_frame(table)
    poor: list[str] = []
    order = Order(generator, table, schema, accept_unproved=accept_unproved)
    fitted(replace(order, accept_poor=accept_poor, tell=poor.append), "", silent)
    if poor:
        warnings.warn(" ".join(poor), PoorTableWarning, stacklevel=2)
    words = generator.card().words
    if words.warnings:  # the table leaves without its card
        warnings.warn(f"synthesize: {words.caution}", PrivacyWarning, stacklevel=2)
    return like(given, generator.sample(rows))


def inspect(
    model: Path, plot: Path | None = None, card: Path | None = None
) -> tuple[Generator, Card]:
    """A saved model and its card; draws its vine and writes the card as a page if asked to."""
    check_apart([model], ("plot", plot), ("card", card))
    if card is not None and card.suffix.lower() not in (".html", ".htm"):
        raise SettingError(f"output ({str(card)!r}) must end in .html: the card is a page")
    generator = load(model)
    found = generator.card()
    if plot is not None:
        generator.plot(plot)
    if card is not None:
        with atomic_path(card) as partial:
            write_page(partial, found, model.name, model)
    return generator, found


# -- their parts -------------------------------------------------------------------


def _journal(order: Order, output: Output) -> AbstractContextManager[Journal | None]:
    """Where a fit is written down: beside its output, if it has a place and a fit can go on."""
    place = output.model if output.is_stream else output.path
    if place is None or not order.generator.can_resume:
        return nullcontext()
    if not Path(place).parent.is_dir():
        folder = str(Path(place).parent)
        raise ArtefactError(f"{str(place)!r} cannot be written: folder {folder!r} does not exist")
    return Journal(journal_path(place), fresh=order.fresh, tell=order.tell)


def fitted(
    order: Order,
    what: str,
    progress: Progress,
    check_size: CheckSize | None = None,
    journal: Journal | None = None,
) -> Done:
    """Read, check and fit; what is wrong with the input shows before the fit starts.

    With a release ledger the cost is reserved before a row is read, under the name ``what``.
    ``check_size`` is told the schema and the number of rows before anything is spent.
    """
    if journal is not None and order.declared is not None:
        releases = None if order.releases is None else str(order.releases.resolve())
        journal.check(order.generator.facts(order.declared, releases))
    if order.rows_about is not None and order.rows_about < 1:
        raise SettingError(f"rows_about ({order.rows_about!r}) must be 1 or more")
    if order.releases is None:
        done = _fit_table(order, None, progress, check_size, journal)
        check_proved(done.unproved, order.accept_unproved)
        return done
    if order.declared is None:
        raise SettingError("schema (None) must be named: a release ledger needs a declared domain")
    ledger = ReleaseLedger.open(order.releases)
    if journal is not None and journal.begun:
        reserved = ledger.resume(order.generator, order.declared, journal)
    else:
        reserved = ledger.reserve(order.generator, order.declared, what)
    with reserved as reservation:
        done = _fit_table(order, reservation, progress, check_size, journal)
        return replace(done, ledger=ledger)


def _fit_table(
    order: Order,
    reservation: Reservation | None,
    progress: Progress,
    check_size: CheckSize | None,
    journal: Journal | None,
) -> Done:
    def told(stage: str, share: float) -> None:
        progress(f"fit: {stage}", share)

    generator, schema, table = order.generator, order.declared, as_frame(source_of(order.data))
    notes: list[str] = []
    check_proved(generator.unproved(schema), order.accept_unproved)
    if schema is not None:
        generator.check_settings(schema)
    if schema is not None and order.rows_about is not None:  # before the rows are looked at
        notes += _consented(order, schema, order.rows_about, "")
    told("read", 0.0)
    file = PLAIN
    if schema is None:
        check_whole(table, order.engine)
    if isinstance(table, Path | Query) and schema is None:
        found = recognised(table, order.missing, sheet=order.sheet)
        table, file = found.table, found.file
    elif isinstance(table, Path | Query) and schema is not None:
        table = held_table(
            table,
            schema,
            order.engine,
            missing=order.missing,
            sheet=order.sheet,
            workers=order.workers,
            cluster=order.cluster,
            counts_pieces=generator.counts_pieces,
        )
    if schema is None:
        schema = Schema.draft(table, file=file)
        notes += draft_notes(table, schema)
    notes += _told(order, generator.notes(schema))
    more: dict[str, Any] = {} if journal is None else {"marked": True}
    if isinstance(table, Source):
        more["progress"] = told
    admitted = generator.admit(table, schema, show_values=order.show_values, **more)
    notes += _told(order, [*engine_notes(table, order.engine), *_made_notes(order.data)])
    if check_size is not None:
        check_size(schema, admitted.before)
    if order.declared is None or order.rows_about is None:
        rows = order.rows_about or admitted.rows
        notes += _consented(order, schema, rows, ABOUT_ROWS)
    notes += _told(order, _left_out(admitted.before, admitted.rows, schema))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", PrivacyWarning)
        warnings.simplefilter("ignore", PoorTableWarning)  # said and decided above
        known = {} if journal is None else {"journal": journal}
        if reservation is None:
            generator.fit(admitted, schema, progress=told, **known)
        else:
            reservation.fit(admitted, progress=told, **known)
    said = [str(warning.message) for warning in caught]
    return Done(generator, why_unproved(generator), notes, said)


def _made_notes(data: Any) -> list[str]:
    """Say which files of a folder or pattern are tables that a model has made."""
    several = isinstance(data, Path) and is_several(data)
    made = [path for path in files_at(data) if card_path(path).exists()] if several else []
    return [
        f"{str(path)!r} has a privacy card: it is synthetic, and its rows are learnt from as well"
        for path in made[:1]
    ]


def _consented(order: Order, schema: Schema, rows: int, mark: str) -> list[str]:
    """Refuse a fit of which nothing useful can come out, unless its maker wants it all the same.

    Nothing is spent by then. Gives back what is left to say of a poor one.
    """
    outlook = order.generator.outlook(schema, rows)
    poor = [f"{text} {mark}".strip() for text in outlook.poor]
    if not outlook.useless:
        return _told(order, poor)
    said = f"{outlook.words[0]} {mark}".strip()
    if order.accept_poor:
        return _told(order, [said, *poor])
    if order.ask is None:  # one line, and no notes before it
        raise SettingError(
            f"{said[0].lower()}{said[1:]}; to go on all the same, add --accept-poor (in Python: "
            "accept_poor=True)"
        )
    if not order.ask("\n".join([said, *poor])):
        raise SettingError("stopped before anything was spent: nothing useful could come out")
    return []


def _told(order: Order, notes: list[str]) -> list[str]:
    """Tell notes before the fit; those that nobody wanted to hear then are for after it."""
    if order.tell is None:
        return notes
    for text in notes:
        order.tell(text)
    return []


def _left_out(before: int, after: int, schema: Schema) -> list[str]:
    """Say how many rows of a table are not learnt from."""
    if after == before:
        return []
    why = [f"a person's rows beyond max_rows ({schema.max_rows:,})"] * (schema.person is not None)
    why += ["rows that break a rule (on_broken: drop)"] * (schema.on_broken == "drop")
    share = f"{before - after:,} of {before:,} rows ({(before - after) / before:.1%})"
    return [f"{share} are left out: {' and '.join(why)} {ABOUT_ROWS}"]


def _draw(
    generator: Generator,
    rows: int | None,
    path: Path,
    output: Output,
    given: Sequence[str],
    progress: Progress,
    **drawing: Any,
) -> None:
    """Write drawn rows, chunk by chunk."""
    chunks = generator.sample_chunks(
        rows,
        given=given_from_texts(given, generator.table_schema_),
        progress=lambda stage, share: progress(f"sample: {stage}", share),
        **drawing,
    )
    kind, how = check_format(output.path, writes=True).name, generator.table_schema_.file
    write_table(path, chunks, kind, escape_formulas=output.escape_formulas, how=how)


def check_proved(reasons: Sequence[str], accepted: bool) -> None:
    """Refuse a release of which nothing is proved, unless its maker says that he knows."""
    if reasons and not accepted:
        raise SettingError(
            f"nothing would be proved about privacy: {'; '.join(reasons)}. To write it all the "
            "same, for nobody but who may see the rows, add --accept-unproved (in Python: "
            "accept_unproved=True)"
        )


def why_unproved(generator: Generator) -> list[str]:
    """Why nothing is proved of a fitted model; empty if something is."""
    ledger = generator.ledger_
    if ledger.proved is not None:
        return generator.unproved(generator.table_schema_)
    uses = dict.fromkeys(f"{use.stage}: {use.why}" for use in ledger.unprotected)
    replayed = ["its noise was recorded or replayed by a test"]
    return generator.unproved(generator.table_schema_) or list(uses) or replayed


def formula_notes(generator: Generator, output: Output) -> list[str]:
    """Say so if a spreadsheet would run what a CSV file holds; declared texts are public."""
    if check_extension(output.path) != "csv" or output.escape_formulas:
        return []
    return [
        f"column {name!r} has texts that a spreadsheet would run as formulas "
        "(they begin with = + - @, tab or CR); --escape-formulas puts a quote before them"
        for name in formulas(generator.table_schema_)[:1]
    ]
