"""Who answers queries where people report themselves: nobody collects rows.

``LocalCurator`` plays all people in one process, for rehearsals and research: each of them looks at
her own record, computes its cell, which is a public function of that record, and perturbs it by
exact coins. All that comes of it are the reports, added up. ``local.survey`` does the same with
reports that real devices wrote.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from copula_shirley.errors import BudgetError, SettingError
from copula_shirley.local.calibration import LocalCalibration, asks_nobody
from copula_shirley.local.coins import Randomiser
from copula_shirley.local.oracles import best, estimated, variance
from copula_shirley.measure.curator import Curator
from copula_shirley.measure.queries import Query, Tables
from copula_shirley.measure.transcript import Answer
from copula_shirley.rows.memory import MemoryRows
from copula_shirley.rows.rows import CellMap, Chunk


def answer_of(
    query: Query,
    noise: LocalCalibration,
    randomisers: Sequence[Randomiser | None],
    tallies: Sequence[NDArray[Any]],
    asked: Sequence[int],
) -> Answer:
    """What the reports of some people, added up by table, say of all people.

    A table of one cell, which has no randomiser, holds everybody.
    """
    values = []
    for one, tally, n, cell_map in zip(randomisers, tallies, asked, query.cell_maps, strict=True):
        if one is None:
            found = np.array([float(noise.people)])
        else:
            found = estimated(one, tally, n) * (noise.people / max(n, 1))
        values.append(np.rint(found).astype(np.int64).reshape(cell_map.shape))
    sigma = noise.sigma_of(asked, [variance(one) if one else 0.0 for one in randomisers])
    return Answer(values, sigma)


def randomisers_of(query: Query, epsilon: float) -> list[Randomiser | None]:
    """The randomiser of each table of a query; none for a table of one cell."""
    sizes = [math.prod(one.shape) for one in query.cell_maps]
    return [best(size, epsilon) if size > 1 else None for size in sizes]


class LocalCurator(Curator):
    """Puts each query to people who were not asked before, each about one table."""

    calibration: LocalCalibration
    _source: Any

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        if not isinstance(self.calibration, LocalCalibration):
            raise SettingError("calibration must be one of local reports (LocalCalibration)")
        if not isinstance(self._rows, MemoryRows):
            raise SettingError(
                "rows must be in memory where people are played: read the files first"
            )
        #: People in the order in which they are asked, drawn without a look at their records.
        self._waiting = self._source.order(len(self._rows))

    def _answer(self, query: Query) -> Answer:
        noise = self.calibration
        if not isinstance(query, Tables):
            name = type(query).__name__
            raise SettingError(f"query ({name}) must be Tables: people report cells of tables")
        if asks_nobody(query):
            return Answer([np.full(one.shape, noise.people) for one in query.cell_maps], 0.0)
        asked = noise.asked(query)
        if sum(asked) > len(self._waiting):
            raise BudgetError(
                f"{query.stage}: {sum(asked):,} people would be asked, and {len(self._waiting):,} "
                "have not answered yet"
            )
        randomisers = randomisers_of(query, noise.epsilon)
        tallies: list[NDArray[Any]] = []
        for one, cell_map, n in zip(randomisers, query.cell_maps, asked, strict=True):
            people, self._waiting = self._waiting[:n], self._waiting[n:]
            if one is None:
                tallies.append(np.zeros(1))
            else:
                cells = cell_map.cells(self._records(cell_map, people))
                tallies.append(self._source.reports(cells, noise.epsilon, randomiser=one))
        return answer_of(query, noise, randomisers, tallies, asked)

    def _records(self, cell_map: CellMap, people: NDArray[np.intp]) -> Chunk:
        """What the devices of some people know that this question is about."""
        parts = (self._rows.codes, self._rows.numbers)
        codes, numbers = ({k: part[k][people] for k in cell_map.names} for part in parts)
        return Chunk(codes, numbers)
