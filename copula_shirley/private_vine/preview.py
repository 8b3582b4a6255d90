"""What noise would do to rows that are made up: a fit that is rehearsed without a row of the table.

Rows are spread evenly over the schema. Their counts, as if there were n of them, get the noise that
a fit would draw, and the stages make a model of these answers. All of it follows from the schema,
the settings and n.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from copula_shirley.fitted import Fitted, silent
from copula_shirley.measure.calibration import Calibration
from copula_shirley.measure.learned_functions import learn_functions
from copula_shirley.measure.queries import Query
from copula_shirley.measure.transcript import Answer, run
from copula_shirley.privacy.noise import SeededNoise
from copula_shirley.private_vine.domain import closed
from copula_shirley.private_vine.plan import check_rows
from copula_shirley.rows.memory import MemoryRows
from copula_shirley.rules.coordinates import Coordinates
from copula_shirley.schema.domain import FloatArray, Grid
from copula_shirley.schema.schema import Schema, check_schema

if TYPE_CHECKING:
    from copula_shirley.private_vine.generator import PrivateVine

Drawing = Callable[[int, np.random.Generator], dict[str, FloatArray]]
#: Rows of each table of a preview.
ROWS = 20_000


@dataclass(frozen=True, eq=False)
class Preview:
    """Two tables of made-up rows.

    Attributes
    ----------
    even : DataFrame
        Rows spread evenly over the schema, as far as its rules let them.
    drawn : DataFrame
        What a fit to n such rows would draw: where it differs, noise did it.
    schema : Schema
        The columns of both.
    unknown : list of str
        Columns that are in neither, since their domain is to be measured.
    """

    even: pd.DataFrame
    drawn: pd.DataFrame
    schema: Schema
    unknown: list[str]


def preview_of(model: PrivateVine, schema: Schema, n: int, bought: Sequence[str]) -> Preview:
    check_schema(schema)
    check_rows(n)
    model.check_settings(schema)
    coordinates = model.coordinates(closed(schema))
    problem = model.problem(coordinates, pool_seed=0)
    grid, rng = Grid(coordinates.modelled), np.random.default_rng(0)

    def spread(size: int, rng: np.random.Generator) -> dict[str, FloatArray]:
        codes = {name: rng.integers(0, cells, size) for name, cells in grid.sizes.items()}
        return grid.numbers(codes, rng)

    made_up = MadeUp(coordinates.modelled, spread(ROWS, rng), n / ROWS, problem.noise, rng)
    run(learn_functions(coordinates, problem.noise), made_up)
    vine = run(model.learning(problem, silent), made_up)
    even, drawn = (Rehearsed(coordinates, draw).rows() for draw in (spread, vine.sample))
    shown = tuple(column for column in coordinates.schema if column.name not in bought)
    known = [name for name in even if name not in bought]
    return Preview(even[known], drawn[known], Schema(shown), [*bought])


class MadeUp:
    """Answers about made-up rows, each of which counts ``times``, with the noise of a fit."""

    def __init__(
        self,
        schema: Schema,
        numbers: dict[str, FloatArray],
        times: float,
        noise: Calibration,
        rng: np.random.Generator,
    ) -> None:
        self.rows, self.times, self.noise = MemoryRows(schema, numbers), times, noise
        source = SeededNoise(rng)
        self.draw = source.gaussian if noise.gaussian else source.laplace

    def answer(self, query: Query) -> Answer:
        maps, scale = query.cell_maps, self.noise.scale(query.share, len(query.cell_maps))
        counts = [np.zeros(one.shape, dtype=np.int64) for one in maps]
        if all({*one.names} <= {*self.rows.numbers, "rows"} for one in maps):  # else of functions
            exact = self.rows.count(maps)
            counts = [np.rint(count * self.times).astype(np.int64) for count in exact]
        if scale:
            counts = [self.draw(count, scale) for count in counts]
        return Answer(counts, self.noise.deviation(scale))


class Rehearsed(Fitted):
    """Draws rows of a table without a fit; it has no ledger, so nobody can save it."""

    name = "rehearsed"
    publishable = False

    def __init__(self, coordinates: Coordinates, draw: Drawing) -> None:
        self.coordinates_, self.schema_ = coordinates, coordinates.modelled
        schema, self._drawing = coordinates.schema, draw
        self.columns_ = [*schema.names, *(n for n in schema.replaced if n not in schema.names)]
        self.dtypes_ = {column.name: column.domain.private_storage for column in schema}

    def rows(self) -> pd.DataFrame:
        rng = np.random.default_rng(0)
        return pd.concat(self._chunks(ROWS, rng), ignore_index=True)

    def _draw(self, n: int, rng: np.random.Generator) -> dict[str, FloatArray]:
        return self._drawing(n, rng)

    def _state(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        return {}, {}
