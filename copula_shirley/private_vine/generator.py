"""PrivateVine: a vine copula whose epsilon is real.

Everything that COPULA-SHIRLEY estimates from raw pseudo-observations is estimated here from noisy
counts. Only the curator sees rows; the model is a function of its transcript of noisy whole
numbers. docs/private_vine.md has the algorithm and the proof.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

import msgspec
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from copula_shirley.errors import ArtefactError, OtherRevisionError, SchemaError, SettingError
from copula_shirley.fitted import Progress, RandomState, sampling_rng, silent
from copula_shirley.generator import Generator, Rebuilt
from copula_shirley.measure.calibration import Calibration
from copula_shirley.measure.curator import Curator
from copula_shirley.measure.evidence import noise_faults
from copula_shirley.measure.journal import Resumed
from copula_shirley.measure.learned_functions import learn_functions
from copula_shirley.measure.queries import Queries
from copula_shirley.measure.transcript import Answering, Replay, Transcript, run
from copula_shirley.measure.trust import VECTOR, Holders, charge_shares, restored
from copula_shirley.outlook import Outlook
from copula_shirley.pictures import DrawnEdge, graphs_of, plot_trees
from copula_shirley.privacy.budget import (
    Budget,
    NeighbourName,
    check_epsilon,
)
from copula_shirley.privacy.card import TrustFacts
from copula_shirley.privacy.ledger import Ledger
from copula_shirley.privacy.noise import LARGEST_SCALE
from copula_shirley.private_vine.allocation import SHARES
from copula_shirley.private_vine.domain import (
    DELTA_SHARE,
    SHARE,
    Inside,
    Raw,
    learn_domain,
    undeclared,
)
from copula_shirley.private_vine.model import FittedVine
from copula_shirley.private_vine.outlook import outlook_of
from copula_shirley.private_vine.plan import Plan, plan_of
from copula_shirley.private_vine.preview import Preview, preview_of
from copula_shirley.private_vine.stages import REVISION, Problem, first_tables, learn
from copula_shirley.private_vine.vine import Edge
from copula_shirley.rows.admitted import Held
from copula_shirley.rows.memory import MemoryRows
from copula_shirley.rows.rows import CellMap, Rows
from copula_shirley.rules.coordinates import Coordinates
from copula_shirley.schema.conditions import conditions
from copula_shirley.schema.domain import FloatArray
from copula_shirley.schema.schema import Column, OnUnknown, Schema, check_schema
from copula_shirley.settings import check_choices, check_one_of, taking_old_names

#: A target with more classes would leave too few rows in each.
MOST_CLASSES = 32
NO_LIMIT = 10_000
#: Shares of less would not be told apart from rounding.
LEAST_EPSILON = 1e-5
#: Logarithms and tails for less are not computed well.
LEAST_DELTA = 1e-100


@taking_old_names
@dataclass(eq=False, repr=False)
class PrivateVine(Generator):
    """A vine copula fitted to noisy counts, with (epsilon, delta)-differential privacy.

    Parameters
    ----------
    epsilon : float or None
        None draws no noise, and nothing is proved.
    delta : float
        With delta > 0 costs are added up in zCDP and the noise is discrete Gaussian; with 0 it is
        discrete Laplace and the promise is pure epsilon-DP.
    neighbours : {"add-remove", "replace-one"}
        Tables that differ by one unit: a row, or a person with up to ``max_rows`` rows.
    target : str, optional
        A column with few classes that matters most: every column is counted against it, and tables
        of tree 1 are measured in each class of it where rows are enough for that.
    truncation : "auto", int or None
        The most trees. With "auto" and None there are as many as there can be: trees above the
        first follow from tables that are measured anyway.
    families : bool
        Parametric pair copulas take part in the choice, for pairs of ordered columns.
    reweight : bool
        Measure tables beyond the vine and bring drawn rows nearer to them.
    domain : {"declared", "measured"}
        Where bounds and categories come from. "measured" spends a tenth of the budget on those of
        columns that the schema marks as private (``copula_shirley.private_vine.domain``); the kinds
        are still declared, say by ``Schema.of_kinds``. Those of drafted columns are measured, too,
        and without a schema those of all; but then their kinds were read off the rows, which the
        ledger calls unprotected. Categories need a delta.
    on_unknown : {"refuse", "clip"}
        What to do with values outside the schema.
    random_state : None, int or Generator
        None draws exact noise from the operating system, fit for release. A seed makes noise and
        rows repeatable, for experiments only.

    Attributes
    ----------
    transcript_ : Transcript
        Every noisy answer about the rows: all that the model learned.

    Examples
    --------
    >>> table = pd.DataFrame({"a": [0, 1] * 500, "b": [0, 1] * 500})
    >>> schema = Schema.draft(table)
    >>> model = PrivateVine(epsilon=8.0, random_state=0).fit(table, schema)
    >>> synthetic = model.sample(1000)
    >>> bool((synthetic["a"] == synthetic["b"]).mean() > 0.9)
    True
    """

    name: ClassVar[str] = "private-vine"
    exact_noise: ClassVar[bool] = True
    counts_pieces: ClassVar[bool] = True
    resumes: ClassVar[bool] = True
    revision: ClassVar[int] = REVISION
    RENAMED: ClassVar[Mapping[str, str]] = {"tilt": "reweight"}
    RENAMED_VALUES: ClassVar[Mapping[tuple[str, Any], Any]] = {("domain", "private"): "measured"}

    epsilon: float | None = 1.0
    delta: float = 1e-9
    _: KW_ONLY
    neighbours: NeighbourName = "add-remove"
    target: str | None = None
    truncation: int | Literal["auto"] | None = "auto"
    families: bool = True
    reweight: bool = True
    domain: Literal["declared", "measured"] = "declared"
    on_unknown: OnUnknown = "refuse"
    random_state: RandomState = None
    transcript_: Transcript = field(init=False)
    #: Answers of the journal that a fit goes on with; None but during one that has a journal.
    _known: Replay | None = field(default=None, init=False)
    #: How the columns are stored whose domain is measured; set by ``fit``.
    _stored: Mapping[str, str] = field(default_factory=dict, init=False)
    #: Where several holders answered: what they agreed on and signed, and their masked vectors.
    trust_: Holders | None = field(default=None, init=False)
    vectors_: Mapping[str, NDArray[np.uint64]] = field(default_factory=dict, init=False)

    # -- the contract ----------------------------------------------------------------

    def _drafted(self, table: pd.DataFrame) -> Schema:
        return undeclared(table) if self.domain == "measured" else super()._drafted(table)

    def _check_settings(self, schema: Schema) -> None:
        check_choices(self)
        for setting in ("families", "reweight"):
            check_one_of(setting, getattr(self, setting), (True, False))
        if self.epsilon is not None:
            check_epsilon(self.epsilon)
            if self.epsilon < LEAST_EPSILON:
                raise SettingError(f"epsilon ({self.epsilon!r}) must be at least {LEAST_EPSILON:g}")
        Budget(1.0, self.delta)  # refuses what is no delta
        if 0 < self.delta < LEAST_DELTA:
            raise SettingError(f"delta ({self.delta!r}) must be 0 or in [{LEAST_DELTA:g}, 1)")
        self._check_noise(schema)
        trees = self.truncation
        if trees not in ("auto", None) and (type(trees) is not int or trees < 1):
            raise SettingError(
                f"truncation ({trees!r}) must be a positive whole number, 'auto' or None"
            )
        target = self.target
        if target is not None and target not in schema.names:
            names = ", ".join(schema.names)
            raise SettingError(f"target ({target!r}) must be a column of the schema: {names}")
        if target is not None and target not in self._to_buy(schema):
            size = schema[target].size
            if size > MOST_CLASSES:
                raise SettingError(
                    f"target ({target!r}) must have at most {MOST_CLASSES} cells, it has {size}"
                )
        stored = self._storages(schema)
        listed = [name for name, storage in stored.items() if storage == "category"]
        if listed and self.delta == 0 and self.epsilon is not None:
            raise SettingError(
                f"delta (0) must be positive to find the categories of {listed[0]!r}; or declare "
                "them in a schema"
            )

    def _check_noise(self, schema: Schema) -> None:
        """Refuse noise that cannot be drawn, before a stage that needs it has spent anything."""
        # more than any stage needs for as many tables as there are columns
        scale = self._noise(schema).scale(SHARES.size / 2, len(schema))
        if scale > LARGEST_SCALE:
            raise SettingError(
                f"epsilon ({self.epsilon!r}) is too small for these columns ({len(schema):,}) and "
                f"rows of a person ({schema.max_rows:,}): noise of scale {scale:.3g} "
                f"would be needed, and {LARGEST_SCALE:.3g} is the largest"
            )

    def _to_buy(self, schema: Schema) -> tuple[str, ...]:
        if self.domain != "measured":
            return ()
        return tuple(c.name for c in schema if c.provenance != "declared")

    def _storages(self, schema: Schema) -> dict[str, str]:
        """How the columns are stored whose domain is to be measured."""
        for name in self._to_buy(schema):
            if not schema[name].domain.measurable:
                raise SchemaError(
                    f"column {name!r}: the box of places cannot be measured; declare minimum and "
                    "maximum (provenance: declared)"
                )
        return {
            name: "category" if name == self.target else schema[name].domain.stored
            for name in self._to_buy(schema)
        }

    def _asked_first(self, coordinates: Coordinates) -> Sequence[CellMap]:
        return first_tables(self.problem(coordinates, pool_seed=0))

    def _prepare(self, held: Held, rng: np.random.Generator) -> None:
        self._pool_seed = int(rng.integers(2**63))
        if self._journal is not None:
            facts = self.facts(held.schema, self.release_ledger)
            self._pool_seed = self._journal.begin(facts, held.mark, self._pool_seed)

    def _enter(
        self, held: Held, coordinates: Coordinates, rng: np.random.Generator
    ) -> tuple[Rows, Schema, Ledger]:
        """The rows on their domain, which is measured where it was not declared."""
        self.trust_, self.vectors_ = None, {}
        stored, rows = self._storages(schema := coordinates.modelled), None
        if stored:
            ledger = self.open_ledger(schema)
        else:
            rows, schema, ledger = super()._enter(held, coordinates, rng)
        # nothing was refused: only now what an earlier fit left may go
        self._forget()
        seeded = rng.spawn(1)[0] if self.random_state is not None else rng
        self._source = None if self.epsilon is None else self.noise_source(seeded)
        self._written, self._stored = Transcript(), stored
        noise = self._noise(schema)
        if self._journal is not None:
            self._written = self._journal.kept(self._source)
            self._known = Replay(self._journal.known, noise, ledger)
        if rows is not None:
            return rows, schema, ledger
        raw = Raw(coordinates, stored)
        shown = held.seen(raw)
        answerer = self._answerer(shown, ledger, noise)
        columns = run(learn_domain(stored, self.target, noise), answerer)
        schema = _with_columns(schema, columns)
        known = shown if isinstance(shown, MemoryRows) else None
        return held.seen(Inside(raw, schema, known), lasting=True), schema, ledger

    def _budget(self) -> Budget | None:
        return None if self.epsilon is None else Budget(float(self.epsilon), float(self.delta))

    def open_ledger(self, schema: Schema) -> Ledger:
        ledger = Ledger.of(schema, self._budget(), self.neighbours, gaussian=True)
        if self.trust_ is not None:
            charge_shares(ledger, self.trust_.agreement.shares)
        return ledger

    def failure_probability(self, schema: Schema) -> float:
        """A part of delta is for categories that are measured."""
        return self.delta * DELTA_SHARE if self._to_buy(schema) else 0.0

    def _noise(self, schema: Schema) -> Calibration:
        # a plan is made before a fit, which knows what it has measured
        listed = "category" in (self._stored or self._storages(schema)).values()
        failing = self.delta * DELTA_SHARE if listed else 0.0
        ledger = self.open_ledger(schema)
        if self.trust_ is not None:
            return self.trust_.calibration(ledger, failing)
        return Calibration.of(ledger, failing)

    def problem(
        self, coordinates: Coordinates, pool_seed: int, *, families: bool | None = None
    ) -> Problem:
        """Everything public that the stages of a fit depend on."""
        schema = coordinates.modelled
        return Problem(
            schema=schema,
            target=self.target,
            truncation=self.truncation if isinstance(self.truncation, int) else NO_LIMIT,
            families=self.families if families is None else families,
            reweighted=self.reweight,
            noise=self._noise(schema),
            share=coordinates.share_left - SHARE * bool(self._stored or self._to_buy(schema)),
            pool_seed=pool_seed,
            rejecting=coordinates.rejecting(),
        )

    def learning(self, problem: Problem, progress: Progress) -> Queries[FittedVine]:
        """What is asked, and what is made of the answers."""
        return learn(problem, progress)

    def fit_answers(
        self,
        schema: Schema,
        trust: Holders | None,
        pool_seed: int,
        answering: Callable[[Calibration, Ledger], Answering],
        progress: Progress = silent,
    ) -> Self:
        """Fit by the answers of others, who hold the rows: nothing here sees one.

        Parameters
        ----------
        schema : Schema
            The declared domain.
        trust : Holders, optional
            What the holders agreed on; None where people report themselves. What holders sign
            while they answer, and their vectors, are put into the fitted model afterwards.
        pool_seed : int
            Seed of the rows drawn at the fit.
        answering : callable
            Given calibration and ledger, who answers: see ``copula_shirley.holders``.
        """
        self._check_reserved()
        check_schema(schema)
        if self.domain == "measured":
            raise SettingError(
                "domain (measured) must be 'declared' with several holders: categories out of no "
                "list do not add up; declare bounds and categories in the schema"
            )
        self.check_settings(schema)
        self._forget()
        self.trust_, self._stored, self._card = trust, {}, None
        self.coordinates_ = coordinates = self.coordinates(schema)
        self.schema_, self._pool_seed = coordinates.modelled, pool_seed
        ledger, noise = self.open_ledger(self.schema_), self._noise(self.schema_)
        self._state_domain(ledger, coordinates.schema)
        answers = answering(noise, ledger)
        run(learn_functions(coordinates, noise), answers)
        self._model = run(self.learning(self.problem(coordinates, pool_seed), progress), answers)
        self.transcript_ = answers.transcript
        self.settings_ = {k: v for k, v in self.get_params().items() if k != "random_state"}
        self._sampling_rng = sampling_rng(self.random_state)
        self.n_rows_ = self._size_to_keep(0)
        self.columns_ = [*schema.names, *(n for n in schema.replaced if n not in schema.names)]
        self.dtypes_ = {column.name: column.domain.private_storage for column in schema}
        self.ledger_ = ledger
        return self

    def _trust_facts(self) -> TrustFacts | None:
        return None if self.trust_ is None else self.trust_.facts(self.ledger_)

    def _answerer(self, rows: Any, ledger: Ledger, noise: Calibration) -> Curator | Resumed:
        """Who answers: the journal as long as it has answers, and a curator."""
        curator = self.curator_class(rows, ledger, self._source, noise, self._written)
        if self._journal is None or self._known is None:
            return curator
        return Resumed(self._journal, self._known, curator)

    def _curator_of_functions(
        self, rows: Any, ledger: Ledger, rng: np.random.Generator
    ) -> Curator | Resumed:
        return self._answerer(rows, ledger, self._noise(rows.schema))

    def _fit(self, rows: Any, ledger: Ledger, rng: np.random.Generator, progress: Progress) -> None:
        answerer = self._answerer(rows, ledger, self._noise(rows.schema))
        self._model = run(
            self.learning(self.problem(self.coordinates_, self._pool_seed), progress), answerer
        )
        if self._journal is not None and self._known is not None:
            self._journal.check_used(self._known.position)
        self.transcript_ = Transcript(self._written.answers, self._written.queries)
        self._written, self._known = self.transcript_, None

    def _draw(self, n: int, rng: np.random.Generator) -> dict[str, FloatArray]:
        return self._model.sample(n, rng)

    def _draw_given(
        self, n: int, rng: np.random.Generator, given: Mapping[str, Any]
    ) -> dict[str, FloatArray]:
        wanted = conditions(given, self.schema_)
        names = self._model.names
        cells = {names.index(name): condition for name, condition in wanted.items()}
        return self._model.sample(n, rng, cells)

    def _size_to_keep(self, rows: int) -> int:
        """The noisy number of rows; the true one is private."""
        return max(1, round(self._model.total))

    def _dtype_to_keep(self, column: Column, series: pd.Series) -> str:
        return column.domain.private_storage

    def _state(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        queries, arrays = self.transcript_.state()
        public: dict[str, Any] = {"revision": REVISION}
        public |= {"pool_seed": self._pool_seed, "stored": dict(self._stored)}
        if self.trust_ is not None:
            public["trust"] = msgspec.to_builtins(self.trust_)
            arrays |= self.vectors_
        return {**public, "queries": queries}, arrays

    @classmethod
    def _check_revision(cls, state: Mapping[str, Any]) -> None:
        revision = state.get("revision", "1 or 2")
        if "revision" in state and type(revision) is not int:
            raise ArtefactError("its revision must be a whole number")
        if revision != REVISION:
            raise OtherRevisionError(
                f"it was fitted by revision {revision} of PrivateVine, and revision {REVISION} "
                "would make another model of the same answers; use the version of copula-shirley "
                "that wrote it, or fit again, which spends again"
            )

    def _restore(self, state: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
        """Learn again from the transcript: the same model, bit for bit."""
        self._pool_seed, self._stored = int(state["pool_seed"]), dict(state["stored"])
        self.transcript_ = Transcript.restored(state["queries"], arrays)
        if "trust" in state:
            self.vectors_ = {name: own for name, own in arrays.items() if name.startswith(VECTOR)}
            self.trust_ = restored(state["trust"], self.vectors_)
        self._model, _ = self.replayed(self.open_ledger(self.schema_))

    def replayed(self, ledger: Ledger) -> tuple[FittedVine, Replay]:
        """What the transcript teaches once more, each answer charged to this ledger."""
        noise = self._noise(self.schema_)
        answers = self._answers_again(noise, ledger)
        columns = run(learn_domain(self._stored, self.target, noise), answers)
        if _with_columns(self.schema_, columns) != self.schema_:
            raise ArtefactError("the schema is not the one of the transcript")
        run(learn_functions(self.coordinates_, noise), answers)
        self._state_domain(ledger, self.table_schema_)
        problem = self.problem(self.coordinates_, self._pool_seed)
        model = run(self.learning(problem, silent), answers)
        answers.check_end()
        if self.trust_ is not None:
            self.trust_.charge_attempts(ledger, noise, [query for query, _ in answers.tables])
        return model, answers

    def _answers_again(self, noise: Calibration, ledger: Ledger) -> Replay:
        return Replay(self.transcript_, noise, ledger)

    def rebuilt(self) -> Rebuilt:
        """The ledger by replay, and the noise that sub-totals of the tables show."""
        ledger = self.open_ledger(self.schema_)
        _, answers = self.replayed(ledger)
        if ledger.budget is None:
            return Rebuilt(ledger)
        ledger.noise = self.ledger_.noise
        return Rebuilt(ledger, *noise_faults(answers.tables, gaussian=ledger.zcdp))

    def outlook(self, schema: Schema, rows: int) -> Outlook:
        return outlook_of(self, schema, rows)

    def plan(self, schema: Schema, n: int) -> Plan:
        """What a fit to n rows would ask, cost and be worth; no row is read.

        Examples
        --------
        >>> from copula_shirley import Column
        >>> schema = Schema(tuple(Column(name, "integer", minimum=0, maximum=9) for name in "abc"))
        >>> planned = PrivateVine(epsilon=1.0).plan(schema, 10_000)
        >>> round(float(planned.stages["share"].sum()), 9)
        1.0
        """
        return plan_of(self, schema, n)

    def preview(self, schema: Schema, n: int) -> Preview:
        """What noise would do to n made-up rows, spread evenly over a schema; no row is read.

        Examples
        --------
        >>> from copula_shirley import Column
        >>> schema = Schema(tuple(Column(name, "integer", minimum=0, maximum=9) for name in "abc"))
        >>> shown = PrivateVine(epsilon=1.0).preview(schema, 10_000)
        >>> bool(abs(shown.even["a"].mean() - shown.drawn["a"].mean()) < 1)
        True
        """
        return preview_of(self, schema, n, self._to_buy(schema))

    # -- for people --------------------------------------------------------------------

    def tables(self) -> dict[str, pd.DataFrame]:
        self._check_fitted()
        return {"Vine": self._edges(), "Measured": self._measured()}

    def _edges(self) -> pd.DataFrame:
        names = self._model.names
        lines = [
            {
                "tree": tree,
                "edge": f"{names[edge.partner]} - {names[edge.child]}",
                "given": ", ".join(sorted(names[v] for v in edge.given)),
                "pair copula": edge.family,
                "strength": self._strength(edge)[1],
            }
            for tree, edge in self._model.vine.edges
            if tree == 1 or edge.correlation
        ]
        return pd.DataFrame(lines, columns=["tree", "edge", "given", "pair copula", "strength"])

    def _strength(self, edge: Edge) -> tuple[float, str]:
        """Kendall's tau, or Cramer's V where a column of the pair has no order."""
        if edge.correlation:
            tau = 2 / math.pi * math.asin(edge.correlation)
            return tau, f"tau {tau:+.2f}"
        if edge.copula is None:
            return 0.0, ""
        columns = (self.schema_[self._model.names[v]] for v in (edge.child, edge.partner))
        if any(column.nominal for column in columns):
            return edge.copula.association, f"V {edge.copula.association:.2f}"
        return edge.copula.tau, f"tau {edge.copula.tau:+.2f}"

    def _measured(self) -> pd.DataFrame:
        lines = [
            {
                "stage": query["stage"],
                "answers": len(query["what"]),
                "share of the budget": f"{query['share']:.1%}",
                "noise": f"{query['sigma']:.1f}",
            }
            for query in self.transcript_.queries
        ]
        return pd.DataFrame(lines)

    def plot(self, path: str | Path) -> None:
        self._check_fitted()
        drawn = []
        for tree, edge in self._model.vine.edges:
            strength, label = self._strength(edge)
            if edge.family not in ("checkerboard", "independence"):
                label = f"{edge.family}\n{label}"
            drawn.append(DrawnEdge(tree, edge.partner, edge.child, edge.given, strength, label))
        inside = "" if self.target is None else f", in each class of {self.target}"
        graphs = graphs_of(drawn, self._model.names)
        plot_trees(graphs, path, f"Kendall's tau or Cramer's V{inside}")

    @property
    def seed_of_pool(self) -> int:
        """The seed of the rows drawn at the fit, which depends on no private row."""
        return self._pool_seed

    @property
    def model_(self) -> FittedVine:
        """The fitted vine: margins, pair copulas, reweighting."""
        self._check_fitted()
        return self._model


def plan(
    schema: Schema, n: int, epsilon: float | None = 1.0, delta: float = 1e-9, **settings: Any
) -> Plan:
    """The plan of ``PrivateVine(epsilon, delta, **settings)``; see ``PrivateVine.plan``."""
    return PrivateVine(epsilon, delta, **settings).plan(schema, n)


def _with_columns(schema: Schema, columns: Mapping[str, Column]) -> Schema:
    """A schema with the domain of some columns replaced.

    What was declared stays: that values may be missing, and the format of dates. So does that a
    kind was drafted, which no measured bounds undo.
    """
    measured = {}
    for name, column in columns.items():
        own = schema[name]
        measured[name] = replace(
            column,
            format=own.format if "format" in column.domain.fields else None,
            missing=column.missing or own.missing,
            provenance="drafted" if own.provenance == "drafted" else "private",
        )
    return replace(schema, columns=tuple(measured.get(c.name, c) for c in schema))
