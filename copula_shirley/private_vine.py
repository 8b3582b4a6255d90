"""PrivateVine: a vine copula whose epsilon is real.

Everything that COPULA-SHIRLEY estimates from raw pseudo-observations is estimated here from noisy
counts. Only ``measure`` sees rows; the model is a function of its transcript of noisy whole
numbers. docs/private_vine.md has the algorithm and the proof.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
import pandas as pd

from copula_shirley import domain
from copula_shirley.api import Generator, Progress, RandomState, Rows, _silent
from copula_shirley.conditions import conditions, held
from copula_shirley.domain import FloatArray, Grid
from copula_shirley.errors import SchemaError, SettingError
from copula_shirley.fitted_vine import FittedVine
from copula_shirley.inspection import DrawnEdge, graphs_of, plot_trees
from copula_shirley.measure import Measure, Noise, Records, Transcript, replay, run
from copula_shirley.noise import noise_of
from copula_shirley.privacy import (
    NEIGHBOURS,
    Budget,
    Ledger,
    Sensitivity,
    check_epsilon,
    histogram_sensitivity,
)
from copula_shirley.rounds import Problem, learn
from copula_shirley.schema import Column, OnUnknown, Schema

#: Trees of truncation "auto": a third gained nothing on any data set that was tried.
AUTO_TREES = 2
#: A target with more classes would leave too few rows in each.
MOST_CLASSES = 32
NO_LIMIT = 10_000


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
        A column with few classes that matters most: every table of tree 1 is measured in each
        class of it.
    truncation : "auto", int or None
        Number of trees; None for as many as there can be.
    families : bool
        Parametric pair copulas take part in the choice, for pairs of ordered columns.
    tilt : bool
        Measure tables beyond the vine and bring drawn rows nearer to them.
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
    transcript_: Transcript

    def __init__(
        self,
        epsilon: float | None = 1.0,
        delta: float = 1e-9,
        *,
        neighbours: str = "add-remove",
        target: str | None = None,
        truncation: int | Literal["auto"] | None = "auto",
        families: bool = True,
        tilt: bool = True,
        on_unknown: OnUnknown = "refuse",
        random_state: RandomState = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.neighbours = neighbours
        self.target = target
        self.truncation = truncation
        self.families = families
        self.tilt = tilt
        self.on_unknown = on_unknown
        self.random_state = random_state

    # -- the contract ----------------------------------------------------------------

    def fit(
        self, table: pd.DataFrame, schema: Schema | None = None, *, progress: Progress | None = None
    ) -> PrivateVine:
        """Fit the vine; a schema is needed, since it must not come from the rows."""
        if schema is None:
            raise SchemaError(
                "a schema is needed: bounds and categories read off the rows are not private. "
                "Declare one (Schema), or accept Schema.draft(table), which the ledger will say"
            )
        return super().fit(table, schema, progress=progress)

    def _check_settings(self, schema: Schema) -> None:
        if self.epsilon is not None:
            check_epsilon(self.epsilon)
        if isinstance(self.delta, bool) or not isinstance(self.delta, int | float):
            raise SettingError(f"delta ({self.delta!r}) must be a number in [0, 1)")
        if not (self.delta == 0 or 1e-100 <= self.delta < 1):
            raise SettingError(f"delta ({self.delta!r}) must be 0 or in [1e-100, 1)")
        if self.neighbours not in NEIGHBOURS:
            allowed = ", ".join(NEIGHBOURS)
            raise SettingError(f"neighbours ({self.neighbours!r}) must be one of {allowed}")
        if self.truncation not in ("auto", None) and (
            isinstance(self.truncation, bool)
            or not isinstance(self.truncation, int)
            or self.truncation < 1
        ):
            raise SettingError(
                f"truncation ({self.truncation!r}) must be a positive whole number, 'auto' or None"
            )
        for setting in ("families", "tilt"):
            if not isinstance(getattr(self, setting), bool):
                raise SettingError(f"{setting} ({getattr(self, setting)!r}) must be true or false")
        if self.target is not None:
            size = schema[self.target].size
            if size > MOST_CLASSES:
                raise SettingError(
                    f"target ({self.target!r}) must have at most {MOST_CLASSES} cells, it has "
                    f"{size}"
                )

    def _budget(self) -> Budget | None:
        return None if self.epsilon is None else Budget(float(self.epsilon), float(self.delta))

    def _open_ledger(self, schema: Schema) -> Ledger:
        budget = self._budget()
        return Ledger(
            budget,
            claimed=budget,
            neighbours=self.neighbours,
            unit="row" if schema.person is None else "person",
            rows_per_unit=self._rows_per_unit(schema),
            seeded=self.random_state is not None,
            zcdp=budget is not None and budget.delta > 0,
        )

    @staticmethod
    def _rows_per_unit(schema: Schema) -> int:
        return 1 if schema.person is None else schema.max_rows

    def _noise(self, schema: Schema) -> Noise:
        unit: Sensitivity = histogram_sensitivity(self.neighbours, self._rows_per_unit(schema))
        return Noise(self._budget(), unit)

    def _problem(self, schema: Schema, pool_seed: int) -> Problem:
        trees = {"auto": AUTO_TREES, None: NO_LIMIT}.get(self.truncation, self.truncation)  # type: ignore[arg-type]
        return Problem(
            schema=schema,
            target=self.target,
            truncation=int(trees),  # type: ignore[arg-type]
            families=self.families,
            tilted=self.tilt,
            noise=self._noise(schema),
            share=1.0,
            pool_seed=pool_seed,
        )

    def _fit(
        self, rows: Rows, ledger: Ledger, rng: np.random.Generator, progress: Progress
    ) -> None:
        jitter, noise, pool = rng.spawn(3)
        source = None
        if self.epsilon is not None:
            source = noise_of(noise if self.random_state is not None else None)
        ledger.randomness = source.label if source else "no noise"
        records = Records(Grid(rows.schema).codes(rows.numbers), jitter)
        measure = Measure(records, ledger, source)
        self._pool_seed = int(pool.integers(2**63))
        self._model = run(learn(self._problem(rows.schema, self._pool_seed), progress), measure)
        self.transcript_ = measure.transcript

    def _draw(self, n: int, rng: np.random.Generator) -> dict[str, FloatArray]:
        return self._model.sample(n, rng)

    def _draw_given(
        self, n: int, rng: np.random.Generator, given: Mapping[str, Any]
    ) -> dict[str, FloatArray]:
        wanted = conditions(given, self.schema_)
        names = self._model.names
        cells = {names.index(name): condition.cells for name, condition in wanted.items()}
        numbers = self._model.sample(n, rng, cells)
        return held(numbers, wanted, self.schema_, rng)

    def _size_to_keep(self, rows: int) -> int:
        """The noisy number of rows; the true one is private."""
        return max(1, round(self._model.total))

    def _dtype_to_keep(self, column: Column, series: pd.Series) -> str:
        return domain.private_storage(column, series)

    def _state(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        queries, arrays = self.transcript_.state()
        return {"pool_seed": self._pool_seed, "queries": queries}, arrays

    def _restore(self, state: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
        """Learn again from the transcript: the same model, bit for bit."""
        self._pool_seed = int(state["pool_seed"])
        self.transcript_ = Transcript.restored(state["queries"], arrays)
        problem = self._problem(self.schema_, self._pool_seed)
        self._model = replay(learn(problem, _silent), self.transcript_)

    # -- for people --------------------------------------------------------------------

    def tables(self) -> dict[str, pd.DataFrame]:
        """The vine's edges, and what was measured with which noise."""
        self._check_fitted()
        return {"Vine": self._edges(), "Measured": self._measured()}

    def _edges(self) -> pd.DataFrame:
        names = self._model.names
        lines = [
            {
                "tree": tree,
                "edge": f"{names[edge.partner]} - {names[edge.child]}",
                "given": ", ".join(sorted(names[v] for v in edge.given)),
                "pair copula": edge.copula.family if edge.copula else "independence",
                "tau": f"{edge.copula.strength:.2f}" if edge.copula else "0",
            }
            for tree, edge in sorted(self._model.vine.edges, key=lambda item: item[0])
        ]
        return pd.DataFrame(lines, columns=["tree", "edge", "given", "pair copula", "tau"])

    def _measured(self) -> pd.DataFrame:
        lines = [
            {
                "stage": query["stage"],
                "answers": len(query["what"]),
                "share of the budget": f"{query['share']:.1%}",
                "noise": f"{query['sigma']:.1f}" if query["kind"] != "Choice" else "-",
            }
            for query in self.transcript_.queries
        ]
        return pd.DataFrame(lines)

    def plot(self, path: str | Path) -> None:
        """Draw the trees of the vine."""
        self._check_fitted()
        trees: dict[int, list[DrawnEdge]] = {}
        for tree, edge in sorted(self._model.vine.edges, key=lambda item: item[0]):
            tau, family = 0.0, "independence"
            if edge.copula is not None:
                tau, family = edge.copula.strength, edge.copula.family
            drawn = DrawnEdge(edge.partner, edge.child, edge.given, tau, family)
            trees.setdefault(tree, []).append(drawn)
        plot_trees(graphs_of(list(trees.values()), self._model.names), path)

    @property
    def model_(self) -> FittedVine:
        """The fitted vine: margins, pair copulas, tilt."""
        self._check_fitted()
        return self._model
