"""COPULA-SHIRLEY, the thesis' generator (4.2, Algorithms 1 to 4).

What its privacy label means
----------------------------
The thesis' theorem 4.1 says that Algorithm 1 is epsilon-DP. It is not, for reasons that do not
depend on each other:

(a) d histograms of the same rows with epsilon each cost d times epsilon; parallel composition needs
    disjoint *records*, not columns.
(b) The vine is fitted to F(x) of raw records. F is private, x is not: this is no post-processing,
    and its trees, families and parameters carry no guarantee at any epsilon.
(c) The bins are the data's distinct values, so that an unusual value can appear in the output only
    if its owner is in the data.
(d) The supervised encoders are exact statistics of private labels.

``accounting="honest"`` mends (a) and (c); nothing but another method mends (b). The ledger says all
of this of every fit.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal

import msgspec
import numpy as np
import pandas as pd
import pyvinecopulib as pv
from numpy.typing import NDArray

from copula_shirley.errors import ArtefactError, PrivacyWarning, SettingError
from copula_shirley.fitted import Progress, RandomState
from copula_shirley.generator import Generator, Rebuilt
from copula_shirley.measure.curator import Curator
from copula_shirley.measure.queries import Tables
from copula_shirley.pictures import edges_of, graphs_of, plot_trees, trees_table
from copula_shirley.privacy.budget import Budget, NeighbourName
from copula_shirley.privacy.card_words import words_of
from copula_shirley.privacy.floating import DiffprivlibNoise
from copula_shirley.privacy.ledger import Ledger, Reason
from copula_shirley.privacy.noise import NoiseSource
from copula_shirley.rows.memory import MemoryRows
from copula_shirley.schema.domain import Cells, FloatArray
from copula_shirley.schema.scales import notes_on_scales
from copula_shirley.schema.schema import OnUnknown, Schema
from copula_shirley.settings import check_choices, check_positive_whole, check_share
from copula_shirley.thesis import encoders, vine
from copula_shirley.thesis.histograms import Atoms, ThesisCalibration, check_noise, split_rows
from copula_shirley.thesis.margins import Margin, from_uniforms, pseudo_observations, to_mass

ENCODER_ROWS, HISTOGRAM_ROWS, COPULA_ROWS = "encoder rows", "histogram rows", "copula rows"
#: Rounds in which one-hot rows without a category are drawn anew.
MOST_REDRAWS = 100


class _State(msgspec.Struct):
    """What a fit learned, but for the arrays of the margins."""

    codings: dict[str, encoders.Coding]
    #: Positions of the encoded columns that vary.
    in_vine: list[int]
    vine: str | None


@dataclass(eq=False, repr=False)
class CopulaShirley(Generator):
    """Vine copula generator of the thesis, under its true label.

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"x": [i % 11 for i in range(99)], "y": [i % 7 for i in range(99)]})
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore", PrivacyWarning)
    ...     model = CopulaShirley(epsilon=1.0, random_state=0).fit(table)
    >>> model.sample(3).columns.tolist()
    ['x', 'y']
    >>> model.ledger_.claimed, model.ledger_.proved
    (Budget(epsilon=1.0, delta=0.0), None)
    """

    name: ClassVar[str] = "copula-shirley"
    provable: ClassVar[bool] = False  # fault (b)
    learns_functions: ClassVar[bool] = False  # all of epsilon goes into the thesis' histograms

    #: The thesis' privacy parameter; None switches the noise off (the thesis writes 0), and with it
    #: the split of the rows.
    epsilon: float | None = 1.0
    _: KW_ONLY
    #: How nominal columns become numbers.
    encoder: encoders.EncoderName = "woe"
    #: The column that the supervised encoders (woe, glmm) look at.
    target: str | None = None
    mechanism: Literal["laplace", "geometric", "gaussian"] = "laplace"
    #: Spent by the Gaussian mechanism only.
    delta: float = 1e-3
    #: Share of the histogram rows; the other rows fit the vine.
    split: float = 0.5
    #: Share of all rows that is set aside for a supervised encoder.
    encoder_share: float = 0.2
    #: Number of trees; "auto": chosen by mBICV; None: all.
    truncation: vine.Truncation = 2
    #: "thesis": epsilon for every column, bins from the data. "honest": epsilon divided by the
    #: columns, bins from the schema, and a person with several rows is protected as one.
    accounting: Literal["thesis", "honest"] = "thesis"
    #: A set of families ("all", "parametric", ...), or their names.
    families: str | Sequence[str] = "all"
    criterion: vine.Criterion = "aic"
    tree_criterion: vine.TreeCriterion = "rho"
    threads: int | None = None
    #: Tell the vine which columns are discrete; the thesis does not.
    discrete: bool = False
    neighbours: NeighbourName = "replace-one"
    #: What to do with values outside the schema.
    on_unknown: OnUnknown = "refuse"
    #: A seed makes noise and rows repeatable: for experiments only.
    random_state: RandomState = None

    # -- settings and ledger -----------------------------------------------------

    @property
    def _honest(self) -> bool:
        return self.accounting == "honest"

    def _check_settings(self, schema: Schema) -> None:
        check_choices(self)
        check_share("split", self.split)
        check_share("encoder_share", self.encoder_share)
        check_noise(self.mechanism, self.epsilon, self.delta, len(schema), shared=self._honest)
        vine.family_set(self.families)
        if self.threads is not None:
            check_positive_whole("threads", self.threads)
        if self.truncation not in (None, "auto"):
            check_positive_whole("truncation", self.truncation)
        encoders.check_encoder(self.encoder, self.target, schema.columns)

    def open_ledger(self, schema: Schema) -> Ledger:
        """The budget is the true cost: d times epsilon by the thesis' accounting."""
        by_person = self._honest and schema.person is not None
        ledger = Ledger(
            self._budget(1 if self._honest else len(schema)),
            neighbours=self.neighbours,
            claimed=self._budget(1),
            unit="person" if by_person else "row",
            rows_per_unit=schema.max_rows if by_person else 1,
        )
        if schema.person is not None and not by_person:
            ledger.record_unprotected(
                "ledger", f"person column {schema.person}", Reason.PERSON_AS_ROWS
            )
        return ledger

    def _budget(self, times: int, shared_by: int = 1) -> Budget | None:
        """Epsilon (and the Gaussian's delta) some times over, shared by some columns."""
        if self.epsilon is None:
            return None
        delta = self.delta * times / shared_by if self.mechanism == "gaussian" else 0.0
        return Budget(self.epsilon * times / shared_by, delta)

    # -- Algorithms 1 to 3 -------------------------------------------------------

    def _fit(
        self, rows: MemoryRows, ledger: Ledger, rng: np.random.Generator, progress: Progress
    ) -> None:
        split_rng, noise_rng = rng.spawn(2)
        schema = rows.schema
        self._cells = self._cells_of(schema)
        parts = self._split(rows, ledger, split_rng)
        progress("encode", 0.05)
        if ENCODER_ROWS in parts:  # Algorithm 2, line 1
            what = f"{self.encoder} codes"
            ledger.record_unprotected("encoder", what, Reason.SUPERVISED_CODES, ENCODER_ROWS)
        encoder_rows = rows.take(parts.get(ENCODER_ROWS, np.empty(0, dtype=np.intp)))
        self._codings = encoders.fit_codings(
            self.encoder, schema.columns, self.target, encoder_rows
        )
        progress("histograms", 0.1)
        part = COPULA_ROWS if self.epsilon is None else HISTOGRAM_ROWS
        numbers = self._snapped(rows.take(parts[part]))
        if not (self._honest or len(parts[part])):
            raise SettingError(f"split ({self.split!r}) left no histogram rows of so small a table")
        cost = self._budget(1, shared_by=len(schema) if self._honest else 1)
        curator = self.curator_class(
            MemoryRows(schema, numbers, codes={}),
            ledger,
            self.noise_source(noise_rng),
            ThesisCalibration(cost, ledger.sensitivity(), self.mechanism),
            part=part,
        )
        self._margins = {}
        for name, values in numbers.items():
            if not self._honest:
                ledger.record_unprotected("bins", name, Reason.DISTINCT_VALUES, part)
            atoms = self._cells[name].first if self._honest else np.unique(values)
            self._margins[name] = self._fit_margins(name, atoms, curator)
        progress("pseudo-observations", 0.15)
        copula_rows = self._snapped(rows.take(parts[COPULA_ROWS]))
        self._vine, self._in_vine = self._fit_vine(schema, copula_rows, ledger, progress)
        ledger.record_unprotected("output", "dtypes and number of rows", Reason.STORAGE)
        told = f"CopulaShirley: {words_of(ledger, self.name).caution}"
        warnings.warn(f"{told} Why: print(model.ledger_).", PrivacyWarning, 5)

    def notes(self, schema: Schema) -> list[str]:
        return notes_on_scales(schema) if self._honest else []

    def noise_source(self, rng: np.random.Generator) -> NoiseSource:
        """The thesis' noise, which diffprivlib draws in floating point."""
        seeded = None if self.random_state is None else rng
        return DiffprivlibNoise(seeded, geometric=self.mechanism == "geometric")

    def _cells_of(self, schema: Schema) -> dict[str, Cells]:
        """Histogram cells of the declared domain; none by the thesis' accounting."""
        return {c.name: c.domain.cells() for c in schema} if self._honest else {}

    def _snapped(self, numbers: dict[str, FloatArray]) -> dict[str, FloatArray]:
        """Each number at the first one of its cell, where there are cells."""
        return {k: self._cells[k].snap(v) if self._honest else v for k, v in numbers.items()}

    def _split(
        self, rows: MemoryRows, ledger: Ledger, rng: np.random.Generator
    ) -> dict[str, NDArray[np.intp]]:
        """Deal the rows to encoder, histograms and vine (Algorithm 2, line 2).

        Without noise the thesis does not split: histograms see the copula rows.
        """
        shares = {}
        if encoders.supervised(self.encoder, rows.schema.columns, self.target):
            shares[ENCODER_ROWS] = self.encoder_share
        if self.epsilon is not None:
            shares[HISTOGRAM_ROWS] = (1 - sum(shares.values())) * self.split
        shares[COPULA_ROWS] = 1 - sum(shares.values())
        # By the thesis' accounting a unit is a row, whoever it belongs to.
        units = rows.units if self._honest else np.arange(len(rows))
        parts = split_rows(units, shares, self.neighbours, rng)
        ledger.partition(tuple(parts), by_value=False)
        return parts

    def _fit_margins(self, name: str, atoms: FloatArray, curator: Curator) -> list[Margin]:
        """Noisy histogram of one attribute, as margins (Algorithm 2, lines 3 to 6).

        Whatever the bins, one unit changes each histogram by ``ledger.sensitivity()``: all of its
        rows may sit in one bin. Each attribute is a spend of its own, on the same rows.
        """
        query = Tables("histogram", [Atoms(name, atoms)], 1.0, what=name)
        (noisy,) = curator.answer(query).values  # noqa: PD011  (no table of pandas)
        return self._codings[name].margins(atoms, to_mass(noisy.astype(float)))

    def _fit_vine(
        self, schema: Schema, numbers: dict[str, FloatArray], ledger: Ledger, progress: Progress
    ) -> tuple[pv.Vinecop | None, list[int]]:
        """Fit the vine to the pseudo-observations (Algorithm 2, lines 7 to 9; Algorithm 3).

        A column that does not vary depends on nothing and stays outside.
        """
        ledger.record_unprotected("vine", "pseudo-observations", Reason.RAW_RANKS, COPULA_ROWS)
        encoded = np.hstack([c.encode(numbers[name]) for name, c in self._codings.items()])
        margins = self._all_margins()
        pseudo = pseudo_observations(encoded, margins)
        varies = np.flatnonzero(np.ptp(pseudo, axis=0)).tolist()
        if not varies:
            return None, varies
        columns = [schema[name] for name, c in self._codings.items() for _ in range(c.width)]
        found = vine.fit_vine(
            pseudo[:, varies],
            families=self.families,
            criterion=self.criterion,
            tree_criterion=self.tree_criterion,
            truncation=self.truncation,
            threads=self.threads,
            left=pseudo_observations(encoded, margins, left=True)[:, varies],
            discrete=[self.discrete and bool(columns[j].domain.is_discrete) for j in varies],
            progress=lambda stage, share: progress(stage, 0.2 + 0.8 * share),
        )
        return found, varies

    def _all_margins(self) -> list[Margin]:
        return [margin for margins in self._margins.values() for margin in margins]

    # -- Algorithm 4 -------------------------------------------------------------

    def _draw(self, n: int, rng: np.random.Generator) -> dict[str, FloatArray]:
        """Sample the vine, invert the margins, decode (Algorithm 4)."""
        vine_rng, inside_rng = rng.spawn(2)
        numbers = self._draw_numbers(n, vine_rng)
        for _ in range(MOST_REDRAWS):
            undecided = np.flatnonzero(np.any([np.isnan(v) for v in numbers.values()], axis=0))
            if not len(undecided):
                break
            again = self._draw_numbers(len(undecided), vine_rng)
            for name, values in again.items():
                numbers[name][undecided] = values
        for name, values in numbers.items():
            self._decide(name, values, inside_rng)
            if self._cells:
                spread = self._cells[name].spread(values, inside_rng)
                numbers[name] = self.schema_[name].domain.round(spread)
        return numbers

    def _draw_numbers(self, n: int, rng: np.random.Generator) -> dict[str, FloatArray]:
        margins = self._all_margins()
        uniforms = rng.random((n, len(margins)))
        if self._vine is not None:
            uniforms[:, self._in_vine] = vine.sample_vine(self._vine, n, rng, self.threads)
        encoded = from_uniforms(uniforms, margins)
        ends = np.cumsum([coding.width for coding in self._codings.values()])
        parts = np.split(encoded, ends[:-1], axis=1)
        return {
            name: coding.decode(part)
            for (name, coding), part in zip(self._codings.items(), parts, strict=True)
        }

    def _decide(self, name: str, values: FloatArray, rng: np.random.Generator) -> None:
        """Draw a category by its share where no redraw set a dummy."""
        undecided = np.isnan(values)
        if undecided.any():
            shares = np.array([margin.mass[-1] for margin in self._margins[name]])
            drawn = rng.choice(len(shares), size=undecided.sum(), p=shares / shares.sum())
            values[undecided] = self._codings[name].decode(np.eye(len(shares))[drawn])

    def rebuilt(self) -> Rebuilt:
        """The vine is always unprotected, and by the thesis' accounting so are the bins.

        What the model holds are shares of noisy counts, which show nothing of their noise.
        """
        needed = [
            ("vine", Reason.RAW_RANKS, "pseudo-observations"),
            ("output", Reason.STORAGE, "dtypes and number of rows"),
        ]
        if not self._honest:
            needed += [("bins", Reason.DISTINCT_VALUES, name) for name in self.schema_.names]
        again = super().rebuilt()
        named = {(use.reason, use.what) for use in again.ledger.unprotected}
        for stage, reason, what in needed:
            if (reason, what) not in named:
                again.ledger.record_unprotected(stage, what, reason)
        return again

    # -- saving and looking ------------------------------------------------------

    def _state(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        arrays = {}
        for j, margin in enumerate(self._all_margins()):
            arrays[f"atoms_{j}"] = margin.atoms
            arrays[f"cumulative_{j}"] = margin.cumulative
        text = None if self._vine is None else vine.vine_to_json(self._vine)
        return msgspec.to_builtins(_State(self._codings, self._in_vine, text)), arrays

    def _restore(self, state: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
        known = msgspec.convert(state, _State)
        self._codings, self._in_vine = known.codings, known.in_vine
        if sorted(self._codings) != sorted(self.schema_.names):
            raise ArtefactError("its codings must be those of its columns")
        self._margins, j = {}, 0
        for name, coding in self._codings.items():
            self._margins[name] = [
                Margin.restored(arrays[f"atoms_{k}"], arrays[f"cumulative_{k}"])
                for k in range(j, j + coding.width)
            ]
            if not coding.fits(self.schema_[name], self._margins[name]):
                raise ArtefactError(f"the coding of {name!r} does not fit the column")
            j += coding.width
        self._vine = None if known.vine is None else vine.vine_from_json(known.vine)
        dimension = len(self._in_vine) if self._vine is None else self._vine.dim
        if not len(self._in_vine) == len(set(self._in_vine) & set(range(j))) == dimension:
            raise ArtefactError("its vine must be about its columns")
        self._cells = self._cells_of(self.schema_)

    @property
    def vine_(self) -> pv.Vinecop | None:
        """The fitted vine copula; None where no column varies."""
        self._check_fitted()
        return self._vine

    def vine_names(self) -> list[str]:
        """Names of the vine's variables: columns, or dummies as ``column=category``."""
        self._check_fitted()
        names = []
        for name, coding in self._codings.items():
            listed = [*self.schema_[name].domain.categories, "missing"][: coding.width]
            names += [f"{name}={k}" for k in listed] if coding.width > 1 else [name]
        return [names[j] for j in self._in_vine]

    def tables(self) -> dict[str, pd.DataFrame]:
        edges = trees_table(self.vine_, self.vine_names()) if self.vine_ else pd.DataFrame()
        return {"Vine": edges}

    def plot(self, path: str | Path) -> None:
        if self.vine_ is None:
            raise SettingError(f"plot ({str(path)!r}): no column varies, there is no vine")
        edges = (edge for edge, _ in edges_of(self.vine_))
        plot_trees(graphs_of(edges, self.vine_names()), path)
