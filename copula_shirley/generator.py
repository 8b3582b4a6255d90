"""The contract that every generator satisfies, here, in baselines and from outside.

A generator is fitted on a table and draws synthetic rows; it keeps a ledger of what the fit cost,
and a saved file from which it can be drawn again. Settings are keyword arguments stored untouched,
as in scikit-learn; what is learnt ends in an underscore.
"""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, replace
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from inspect import isabstract
from pathlib import Path
from pkgutil import resolve_name
from threading import Lock
from typing import Any, ClassVar, Self

import numpy as np
import pandas as pd

from copula_shirley import restoring
from copula_shirley.drafted import advice, uses_of_drafts
from copula_shirley.errors import (
    ArtefactError,
    BudgetError,
    OtherRevisionError,
    PoorTableWarning,
    PrivacyWarning,
    SchemaError,
    SettingError,
)
from copula_shirley.files import model_file as artefact
from copula_shirley.files.plain_json import sha256_of
from copula_shirley.fitted import Fitted, Progress, generator_of, silent
from copula_shirley.measure.curator import Curator
from copula_shirley.measure.journal import Journal, Resumed
from copula_shirley.measure.learned_functions import charged_functions, learn_functions
from copula_shirley.measure.transcript import run
from copula_shirley.outlook import ABOUT_ROWS, Outlook
from copula_shirley.privacy.card import Card
from copula_shirley.privacy.ledger import Ledger
from copula_shirley.privacy.noise import NoiseSource, SecureNoise, SeededNoise
from copula_shirley.rows.admission import Admission
from copula_shirley.rows.admitted import Admitted, AdmittedPieces, Held
from copula_shirley.rows.engines import check_whole, held_table, source_of
from copula_shirley.rows.made_up import check_made_up
from copula_shirley.rows.pieces import Source
from copula_shirley.rows.rows import CellMap, Rows
from copula_shirley.rows.views import Entered, Unruled
from copula_shirley.rules.coordinates import Coordinates
from copula_shirley.rules.functions import STAGE as FUNCTIONS
from copula_shirley.schema.frames import as_frame
from copula_shirley.schema.schema import Column, Schema, check_schema

ENTRY_POINTS = "copula_shirley.generators"
#: Models that no curator fits to a table: files know them by name, ``--model`` does not.
OF_REPORTS = {"local-vine": "copula_shirley.local.generator:LocalVine"}
#: Letters of the reason why a file is refused.
LONGEST_REASON = 300
#: Held while a fit begins.
FITTING = Lock()
#: The release ledger in whose ``with`` block the running code is.
RESERVING: ContextVar[str | None] = ContextVar("release ledger", default=None)


@dataclass(frozen=True, eq=False)
class Rebuilt:
    """What follows from the settings, the schema and the answers of a fitted model."""

    ledger: Ledger
    #: What is wrong with the noise of the answers.
    noise_faults: Sequence[str] = ()
    #: Part of the stated noise below which the answers would have given it away; None if they
    #: show nothing of their noise.
    noise_shown: float | None = None


class Generator(Fitted):
    """Base of all generators; a subclass writes the abstract methods."""

    #: Whether a fit with noise and a declared domain proves anything about the whole release.
    provable: ClassVar[bool] = True
    #: Whether unseeded noise is exact; the low bits of floating-point noise can betray a count.
    exact_noise: ClassVar[bool] = False
    #: Whether a fit asks anything of the rows; one that does not has epsilon 0 without a budget.
    uses_rows: ClassVar[bool] = True
    #: Whether a fit has a budget of which learned functions can have a share.
    learns_functions: ClassVar[bool] = True
    #: Whether a fit does nothing with rows but to count them, and can learn from pieces of a table.
    counts_pieces: ClassVar[bool] = False
    #: Whether a fit that was stopped can go on from a journal.
    resumes: ClassVar[bool] = False
    #: Number of the method, for those that may make another model of the same answers.
    revision: ClassVar[int] = 0
    #: Who answers questions about the rows; audits put one in its place that also takes notes.
    curator_class: type[Curator] = Curator
    #: Set by subclasses in ``__init__``.
    on_unknown: Any
    random_state: Any
    #: The release ledger that every fit of this generator, and of its clones, must be reserved in.
    release_ledger: str | None = None
    #: Told by a reservation just before it fits; true for that one fit.
    reserved: bool = False
    #: Whether a fit is under way, and where it is written down.
    _busy: bool = False
    _journal: Journal | None = None

    # -- what a subclass writes ----------------------------------------------------

    @abstractmethod
    def _check_settings(self, schema: Schema) -> None:
        """Refuse settings that cannot be, before a row is used."""

    @abstractmethod
    def open_ledger(self, schema: Schema) -> Ledger:
        """A fresh ledger with the budget and the claim of these settings."""

    @abstractmethod
    def _fit(self, rows: Any, ledger: Ledger, rng: np.random.Generator, progress: Progress) -> None:
        """Learn from the rows; every use of them goes into the ledger."""

    @abstractmethod
    def _restore(self, state: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
        """Take back what ``_state`` gave."""

    # -- what a subclass may write ---------------------------------------------------

    @classmethod
    def _check_revision(cls, state: Mapping[str, Any]) -> None:
        """Refuse what ``_state`` gave in another revision of the method."""

    def _drafted(self, table: pd.DataFrame) -> Schema:
        """The schema of a fit without one, which is read off the rows."""
        return Schema.draft(table)

    def _prepare(self, held: Held, rng: np.random.Generator) -> None:
        """Before anything is asked of a validated table."""

    def _enter(
        self, held: Held, coordinates: Coordinates, rng: np.random.Generator
    ) -> tuple[Rows, Schema, Ledger]:
        """The rows of a table on its domain, the domain, and the ledger of this fit."""
        rows = held.seen(Entered(coordinates), lasting=True)
        return rows, coordinates.modelled, self.open_ledger(coordinates.modelled)

    def _asked_first(self, coordinates: Coordinates) -> Sequence[CellMap]:
        """What a fit asks whatever is answered: counted in the pass that checks pieces."""
        return ()

    def _curator_of_functions(
        self, rows: Any, ledger: Ledger, rng: np.random.Generator
    ) -> Curator | Resumed:
        """Who answers what is asked about functions that a schema leaves to be learned."""
        source = None if ledger.budget is None else self.noise_source(rng.spawn(1)[0])
        return self.curator_class(rows, ledger, source)

    def _to_buy(self, schema: Schema) -> tuple[str, ...]:
        """Names of the columns whose bounds or categories a fit buys with its budget."""
        return ()

    def _forget(self) -> None:
        """Before rows are looked at the old model goes: a fit that is stopped leaves none."""
        self.__dict__.pop("ledger_", None)

    def _size_to_keep(self, rows: int) -> int:
        """The number of rows that the model remembers; it must not betray a private one.

        Asked of a model that was read from a file, with the number in the file: the one that
        follows from what was learnt, or else the same.
        """
        return rows

    def failure_probability(self, schema: Schema) -> float:
        """The part of delta with which a fit to this domain may have no guarantee in zCDP."""
        return 0.0

    def _dtype_to_keep(self, column: Column, series: pd.Series) -> str:
        """The dtype in which the model stores a column; it must not betray a private one."""
        return column.domain.storage(series)

    def rebuilt(self) -> Rebuilt:
        """The ledger made again from settings, schema and what was learnt; for ``shirley verify``.

        Here spends are charged again as the model's own ledger says them. What that must say of
        budget, claim, unit and domains follows from the settings, and so do the price of learned
        functions and that it says something of the rows at all.
        """
        own, again = self.ledger_, self.open_ledger(self.schema_)
        self._state_domain(again, self.table_schema_)
        uses = tuple(use for use in own.unprotected if use not in again.unprotected)
        spends = own.spends
        if again.budget is not None:
            charged_functions(self.coordinates(self.table_schema_), again)
            rest = tuple(spend for spend in spends if spend.stage != FUNCTIONS)
            if tuple(spend for spend in spends if spend not in rest) != again.spends:
                spends = again.spends + rest
        again = replace(
            again,
            noise=own.noise,
            partitions=own.partitions,
            spends=spends,
            unprotected=again.unprotected + uses,
        )
        if again.unprotected or not self.uses_rows:
            return Rebuilt(again)
        if not self.provable or not again.spends:
            again.record_unprotected("fit", self.name, "what no noise protects")
        return Rebuilt(again)

    def noise_source(self, rng: np.random.Generator) -> NoiseSource:
        """Where the noise of a fit comes from: exact, or of ``rng`` where there is a seed."""
        return SecureNoise() if self.random_state is None else SeededNoise(rng)

    def notes(self, schema: Schema) -> list[str]:
        """What a curator should know of a fit to this domain; no row is read."""
        return []

    def outlook(self, schema: Schema, rows: int) -> Outlook:
        """How useful a fit to so many rows can be; empty if nothing speaks against it."""
        return Outlook()

    def plan(self, schema: Schema, n: int) -> Any:
        """What a fit to n rows would ask, cost and be worth; no row is read."""
        raise SettingError(f"model ({self.name!r}) cannot be planned; 'private-vine' can")

    def preview(self, schema: Schema, n: int) -> Any:
        """What noise would do to n made-up rows; no row is read."""
        raise SettingError(f"model ({self.name!r}) has no preview; 'private-vine' has")

    # -- before a row is read ----------------------------------------------------------

    def facts(self, schema: Schema, releases: str | None) -> dict[str, Any]:
        """Which fit it would be, for a journal: method, settings, schema, release ledger, seed."""
        settings = {k: v for k, v in self.get_params().items() if k != "random_state"}
        seed = self.random_state
        return {
            "generator": self.name,
            "revision": self.revision,
            "settings": settings,
            "schema_sha256": sha256_of(schema.to_dict()),
            "random_state": int(seed) if isinstance(seed, np.integer) else seed,
            "releases": releases,
        }

    @property
    def can_resume(self) -> bool:
        """Whether a fit with these settings could go on from a journal."""
        return self.resumes and isinstance(self.random_state, int | np.integer | None)

    def _check_journal(self) -> None:
        """Refuse a journal where a fit could not go on."""
        if not self.resumes:
            raise SettingError(f"journal must be None: a fit of {self.name!r} cannot go on with it")
        if not self.can_resume:
            raise SettingError(
                "random_state must be None or a whole number where there is a journal"
            )

    def coordinates(self, schema: Schema) -> Coordinates:
        """How rows with the rules of a schema enter the model; a target stays as it is."""
        return Coordinates.under(schema, self.get_params())

    def check_settings(self, schema: Schema) -> None:
        """Refuse settings that cannot be, and columns to be bought by a fit that buys none."""
        check_made_up(schema)
        coordinates = self.coordinates(schema)
        self._check_settings(coordinates.modelled)
        self._check_rules(coordinates)
        for column in schema:
            if column.provenance == "private" and column.name not in self._to_buy(schema):
                raise SchemaError(
                    f"column {column.name!r}: provenance (private) means that bounds and "
                    "categories are bought, which PrivateVine alone does, with domain 'measured' "
                    "(--domain measured); or declare them, with provenance: declared"
                )

    def _check_rules(self, coordinates: Coordinates) -> None:
        """Refuse rules about columns whose domain is bought, and rows dropped that are counted."""
        schema = coordinates.schema
        for name in self._to_buy(schema):
            if name in coordinates.ruled:
                raise SchemaError(
                    f"column {name!r}: its domain cannot be measured, since a rule is about it; "
                    "declare it (provenance: declared)"
                )
        if coordinates.learned and not self.learns_functions:
            raise coordinates.learned[0].rule.error(
                f"a {self.name} model has no share of a budget for a table that is learned; name a "
                "public one (table: ...), or take another generator, such as private-vine"
            )
        if not (coordinates.checks or coordinates.constants) or schema.on_broken != "drop":
            return
        if self.open_ledger(coordinates.modelled).neighbours == "replace-one":
            raise SchemaError(
                "on_broken (drop) must be refuse or repair with neighbours 'replace-one': there "
                "the number of rows is public, and would tell how many rows break a rule"
            )

    def unproved(self, schema: Schema | None) -> list[str]:
        """Why nothing would be proved of a fit to this domain; empty if something would.

        Known before a row is read. The ledger of a fit may have further reasons.
        """
        found = []
        if not self.provable:
            found.append(f"a {self.name} model proves nothing at any epsilon (docs/privacy.md)")
        if self.get_params().get("epsilon", 1) is None:
            found.append("epsilon off draws no noise")
        if schema is None:
            return [
                *found,
                "without a schema kinds, bounds and categories are read off the rows: write one "
                "with 'shirley draft', review it and name it with --schema",
            ]
        found += advice(schema, self._to_buy(schema))
        return found

    # -- fit ---------------------------------------------------------------------------

    def fit(
        self,
        table: pd.DataFrame | Admitted | AdmittedPieces | Source | str | Path,
        schema: Schema | None = None,
        *,
        progress: Progress | None = None,
        journal: Journal | None = None,
    ) -> Self:
        """Fit the generator.

        Parameters
        ----------
        table : DataFrame
            Or a table of polars, duckdb or pyarrow (whatever gives an Arrow stream), or what
            ``admit`` gave, which is not validated again; or the path of a file. PrivateVine also
            takes a folder, a pattern such as ``"parts/*.parquet"`` or a large file, which it reads
            in pieces (docs/scale.md).
        schema : Schema, optional
            The public domain. Without it one is drafted from the table, which the ledger records
            as an unprotected use of the rows: nothing is proved, and a ``PrivacyWarning`` says so.
        progress : callable, optional
            Told the name of each stage and the share of the work that is done.
        journal : Journal, optional
            Where every answer is written down, so that a fit that was stopped goes on there.
        """
        self._check_reserved()
        if journal is not None:
            self._check_journal()
        with FITTING:
            if self._busy:  # two fits of one object would share answers
                raise SettingError("this generator is being fitted; fit a clone of it meanwhile")
            self._busy = True
        self._journal = journal
        try:
            return self._fitted(table, schema, progress or silent)
        finally:
            self._busy, self._journal = False, None

    def _fitted(self, given: Any, schema: Schema | None, report: Progress) -> Self:
        report("validate", 0.0)
        fit_rng, sampling = generator_of(self.random_state).spawn(2)
        if schema is not None:  # before the table is touched
            check_schema(schema)
            self.check_settings(schema)
        if schema is None:
            warnings.warn(self.unproved(None)[-1], PrivacyWarning, stacklevel=3)
            check_whole(given := source_of(given), None)
            whole = given.given if isinstance(given, Admitted) else as_frame(given)
            schema = self._drafted(whole)
            self.check_settings(schema)
        held = self._held(given, schema, report)
        try:
            return self._learnt(held, fit_rng, sampling, report)
        finally:
            held.close()

    def _learnt(
        self,
        held: Held,
        fit_rng: np.random.Generator,
        sampling: np.random.Generator,
        report: Progress,
    ) -> Self:
        schema, report = held.schema, held.telling(report)
        if poor := self.outlook(schema, held.rows).words:
            warnings.warn(f"{' '.join(poor)} {ABOUT_ROWS}", PoorTableWarning, stacklevel=4)
        self._prepare(held, fit_rng)
        coordinates = self.coordinates(schema)
        rows, modelled, ledger = self._enter(held, coordinates, fit_rng)
        if modelled is not coordinates.modelled:
            coordinates = self.coordinates(coordinates.with_measured(modelled))
        schema = coordinates.schema
        self._state_domain(ledger, schema)
        self._forget()
        settings = {k: v for k, v in self.get_params().items() if k != "random_state"}
        self._card = None
        self._sampling_rng = sampling
        self.coordinates_ = coordinates
        self._learn_functions(held, ledger, fit_rng)
        self._fit(rows, ledger, fit_rng, report)
        self.settings_ = settings
        self.schema_, self.n_rows_ = modelled, self._size_to_keep(len(rows))
        self.columns_ = schema.synthetic_names(held.names)
        stored = held.first_row(coordinates)
        self.dtypes_ = {c.name: self._dtype_to_keep(c, stored[c.name]) for c in schema}
        self.ledger_ = ledger
        report("done", 1.0)
        return self

    def _held(self, given: Any, schema: Schema, report: Progress) -> Held:
        """A table that was validated for such a fit, or is now."""
        if isinstance(given, str | Path):
            given = held_table(given, schema, counts_pieces=self.counts_pieces)
        marked = self._journal is not None
        if not isinstance(given, Admitted | AdmittedPieces):
            return self.admit(given, schema, marked=marked, progress=report)
        same = (given.schema, given.on_unknown) == (schema, self.on_unknown)
        if isinstance(given, Admitted):
            known = True
        else:
            known = given.lasts and (not marked or given.mark is not None)
        if same and known:
            return given
        return self.admit(given.given, schema, marked=marked, progress=report)

    def _learn_functions(self, held: Held, ledger: Ledger, rng: np.random.Generator) -> None:
        """Learn what columns follow from others, as rules of the schema leave it to a fit."""
        coordinates = self.coordinates_
        rows = rows_of_functions(held, coordinates)
        if rows is None:
            return
        curator = self._curator_of_functions(rows, ledger, rng)
        run(learn_functions(coordinates, curator.calibration), curator)

    def admit(
        self,
        table: pd.DataFrame | Source,
        schema: Schema,
        *,
        show_values: bool = False,
        marked: bool = False,
        progress: Progress | None = None,
    ) -> Admitted | AdmittedPieces:
        """The table on the declared part of its domain, or one error before anything is spent.

        ``fit`` takes it in place of the table. It is a copy: what becomes of the caller's table
        changes nothing. Pieces of a table are read once, and refused if they change later.
        ``marked`` is for a fit with a journal, which must know the rows again. ``progress`` is told
        how many rows of pieces are checked.
        """
        bought, how, coordinates = self._to_buy(schema), self.on_unknown, self.coordinates(schema)
        names = tuple(name for name in schema.names if name not in bought)
        admission = Admission(schema, coordinates, how, show_values, names, marked)
        table = as_frame(source_of(table))
        if not isinstance(table, Source):
            found = admission.whole(table)
            kept = found.copy() if found is table else found
            return Admitted(kept, schema, how, len(table))
        if not self.counts_pieces:
            raise SettingError(
                f"model ({self.name!r}) learns from a table in memory alone: read it with "
                "read_table(path, schema) (--engine memory), or take 'private-vine'"
            )
        first = None if bought else Entered(coordinates)
        asked = () if bought else self._asked_first(coordinates)
        return AdmittedPieces(table, admission, first, asked, progress)

    def _state_domain(self, ledger: Ledger, schema: Schema) -> None:
        """Tell the ledger where the domain comes from, and record what was drafted from rows."""
        ledger.domains = {column.name: column.provenance for column in schema}
        for what, reason in uses_of_drafts(schema, self._to_buy(schema)):
            ledger.record_unprotected("domain", what, reason)

    def _check_reserved(self) -> None:
        """Refuse a fit that a release ledger would not count, before a row is looked at.

        Counted is what a reservation fits. Everything else is refused inside its ``with`` block,
        whatever object fits; and what was reserved for once, or is a clone of such a generator, is
        refused everywhere.
        """
        ledger, reserved = self.release_ledger or RESERVING.get(), self.reserved
        self.reserved = False
        if ledger is not None and not reserved:
            raise BudgetError(
                f"releases: this fit would not be counted in {ledger!r}; reserve for it and call "
                "fit of the reservation, 'with ledger.reserve(generator, schema) as reservation: "
                "reservation.fit(table)'"
            )

    def __sklearn_clone__(self) -> Self:
        """An unfitted generator of the same settings, whose fits the same ledger must count."""
        twin = super().__sklearn_clone__()
        twin.release_ledger = self.release_ledger
        return twin

    # -- files and cards -----------------------------------------------------------------

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a fitted model of this class; ``Generator.load`` reads any that is installed."""
        found = load(path, None if isabstract(cls) else cls)
        if not isinstance(found, cls):
            raise ArtefactError(f"{str(path)!r} is a {found.name}, not a {cls.__name__}")
        return found


def rows_of_functions(held: Held, coordinates: Coordinates) -> Rows | None:
    """The columns of a table whose functions are learned; None without any."""
    names = {name for check in coordinates.learned for name in check.names}
    if not names:
        return None
    columns = tuple(column for column in coordinates.schema if column.name in names)
    return held.seen(Unruled(replace(coordinates.schema, columns=columns, rules=())))


def load(path: str | Path, kind: type[Generator] | None = None) -> Generator:
    """Read a fitted model that ``save`` wrote; of ``kind``, where no entry point names it."""
    return restored(path, *artefact.read(path), kind)


def restored(
    path: str | Path,
    header: dict[str, Any],
    arrays: dict[str, np.ndarray],
    kind: type[Generator] | None = None,
) -> Generator:
    """The model of a file's header and arrays."""
    try:
        with np.errstate(all="ignore"):
            return _checked(header, arrays, kind)
    except Exception as error:  # whatever a bent file leads to, the file is at fault
        reason = " ".join(str(error).split())[:LONGEST_REASON] or type(error).__name__
        if isinstance(error, OtherRevisionError):
            raise OtherRevisionError(f"{str(path)!r} cannot be loaded: {reason}") from None
        raise ArtefactError(f"{str(path)!r} is damaged: {reason}") from None


def _checked(
    header: dict[str, Any], arrays: dict[str, np.ndarray], kind: type[Generator] | None
) -> Generator:
    """The generator that a file describes, checked until it is known to draw."""
    about = restoring.read_header(header)
    if kind is not None and about.generator != kind.name:
        raise ArtefactError(f"the model is a {about.generator}, not a {kind.name}")
    kind = kind or find_generator(about.generator)
    kind._check_revision(about.model)
    generator = kind(**kind.modern(about.settings))  # its card has the digest of the old words
    schema = Schema.from_dict(about.schema)
    restoring.check_columns(schema, about.columns, about.dtypes)
    generator.coordinates_ = generator.coordinates(schema)
    modelled = generator.coordinates_.modelled
    generator._check_settings(modelled)
    generator.settings_, generator.schema_ = about.settings, modelled
    generator.columns_, generator.dtypes_ = about.columns, about.dtypes
    generator.n_rows_, generator._sampling_rng = about.rows, np.random.default_rng()
    for i, check in enumerate(generator.coordinates_.learned):
        check.take(arrays[f"function_{i}"])
    generator._restore(about.model, arrays)
    noisy = generator._size_to_keep(about.rows)
    if noisy != about.rows:
        raise ArtefactError(f"its rows ({about.rows:,}) must be the noisy number, {noisy:,}")
    generator.ledger_ = Ledger.from_dict(about.ledger)
    generator._card = Card.from_dict(about.card)
    if sorted(generator.ledger_.domains) != sorted(schema.names):
        raise ArtefactError("its ledger must be about the columns of its schema")
    generator.tables()
    trial = np.random.default_rng(0)
    for rows in generator._chunks(restoring.TRIAL, trial, learnt_only=True):
        restoring.check_draws(rows, schema)
    return generator


@cache
def generators() -> dict[str, EntryPoint]:
    """Entry points of all installed generators, by name; the files of every package are read."""
    return {point.name: point for point in entry_points(group=ENTRY_POINTS)}


def find_generator(name: str) -> type[Generator]:
    """The class of an installed generator."""
    if name in OF_REPORTS:
        return resolve_name(OF_REPORTS[name])  # type: ignore[no-any-return]
    if name not in generators():
        raise SettingError(f"generator ({name!r}) must be one of {', '.join(sorted(generators()))}")
    return generators()[name].load()  # type: ignore[no-any-return]
