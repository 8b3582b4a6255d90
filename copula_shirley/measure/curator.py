"""The only code that asks rows: a query in, noisy whole numbers out.

Privacy
-------
A *cell map* is a public function that maps each row to one cell of a table, by that row alone. One
unit (a row, or a person with k rows) changes a table of counts by ``histogram_sensitivity``: s1 in
the L1 norm and s2 in L2.

- ``Tables``: m tables answered together change by m s1 in L1 and sqrt(m) s2 in L2, since each of
  them changes by at most s1 and s2.
- ``Distances``: the L1 distance of a table to a public table changes by at most s1 (triangle
  inequality), so c of them change by c s1 in L1 and sqrt(c) s1 in L2.
- ``Discovery``: categories out of no list. Those that neighbours share are counts as above. A
  category that only one unit has holds at most k rows; it is released if its noisy count reaches a
  threshold k + t, so noise of t or more is needed, which has a chance of at most delta divided by
  the number of such categories. Outside that event nobody sees that it was there.
- ``Choice``: k rounds of the exponential mechanism among scores of sensitivity s1. A round with
  parameter e costs e in epsilon and e^2/8 in rho.

Discrete Gaussian noise of parameter sigma costs rho = L2^2 / (2 sigma^2), discrete Laplace noise of
scale b costs epsilon = L1 / b. Each query is charged before rows are looked at. Jitter, which
breaks ties inside a cell, is drawn for each row independently of its values: given the jitter the
above holds, so it holds on average.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from copula_shirley.errors import SettingError
from copula_shirley.measure.calibration import Calibration
from copula_shirley.measure.queries import (
    Choice,
    Discovery,
    Distances,
    Query,
    Tables,
)
from copula_shirley.measure.transcript import Answer, Transcript
from copula_shirley.privacy import recording as tape
from copula_shirley.privacy.ledger import Ledger
from copula_shirley.privacy.noise import Integers, ReleaseNoise
from copula_shirley.rows.rows import ABSENT, LabelMap, Rows


class Curator:
    """Answers queries about the rows and writes the transcript; nothing else sees rows."""

    def __init__(
        self,
        rows: Rows,
        ledger: Ledger,
        source: ReleaseNoise | None,
        calibration: Calibration | None = None,
        transcript: Transcript | None = None,
    ) -> None:
        self._rows = rows
        self._ledger = ledger
        self._source = source
        self.calibration = calibration or Calibration(ledger.budget, ledger.sensitivity())
        self.transcript = Transcript() if transcript is None else transcript

    def answer(self, query: Query) -> Answer:
        """Charge the query, then answer it."""
        tape.asked(query, self._rows)
        self._charge(query)
        if isinstance(query, Choice):
            answer = Answer([self._chosen(query)], 0.0)
        elif isinstance(query, Discovery):
            answer = self._discovered(query)
        elif isinstance(query, Distances):
            gaps = self._gaps(query)
            sigma = self.calibration.sigma(query.share, len(gaps), distances=True)
            scale = self.calibration.scale(query.share, len(gaps), distances=True)
            answer = Answer([self._noisy(gaps, scale)], sigma)
        elif isinstance(query, Tables):
            scale = self.calibration.scale(query.share, len(query.cell_maps))
            counts = [self._noisy(self._rows.count(one), scale) for one in query.cell_maps]
            answer = Answer(counts, self.calibration.sigma(query.share, len(query.cell_maps)))
        else:
            raise SettingError(f"query ({type(query).__name__}) must be one of this module")
        self.transcript.add(query, answer)
        return answer

    def _charge(self, query: Query) -> None:
        what = f"{len(query.cell_maps)} tables"
        if isinstance(query, Distances):
            what = f"{len(query.cell_maps)} distances"
        if isinstance(query, Choice):
            what = f"{query.count} of {len(query.cell_maps)} tables"
        if isinstance(query, Discovery):
            what = f"categories of {len(query.cell_maps)} columns"
        if self.calibration.budget is None:
            self._ledger.record_unprotected(query.stage, what, "noise is off: exact counts")
            return
        cost = query.share * self.calibration.total
        if isinstance(query, Choice):
            mechanism = "exponential"
        else:
            mechanism = "discrete gaussian" if self.calibration.zcdp else "discrete laplace"
        charge = self._ledger.charge_rho if self.calibration.zcdp else self._ledger.charge
        failing = self.calibration.failure_probability if isinstance(query, Discovery) else 0.0
        charge(query.stage, what, mechanism, cost, failing)

    def _gaps(self, query: Distances | Choice) -> Integers:
        again = isinstance(query, Choice)  # which comes in batches
        counts = (self._rows.count(one, again=again) for one in query.cell_maps)
        gaps = [np.abs(own - g).sum() for own, g in zip(counts, query.guesses, strict=True)]
        return np.array(gaps, dtype=np.int64)

    def _noisy(self, counts: Integers, scale: float) -> Integers:
        if self._source is None or scale == 0:
            return counts
        draw = self._source.gaussian if self.calibration.zcdp else self._source.laplace
        return draw(counts, scale)

    def _discovered(self, query: Discovery) -> Answer:
        """Categories above the threshold in an order of their own, and their noisy counts."""
        count = len(query.cell_maps)
        least = self.calibration.threshold(query.share, count, self._ledger.rows_per_unit)
        scale = self.calibration.scale(query.share, count)
        tallies = [self._tally(one) for one in query.cell_maps]

        def release() -> Answer:
            values, labels = [], []
            for tally in tallies:
                noisy = self._noisy(np.array(list(tally.values()), dtype=np.int64), scale)
                kept = np.append(noisy[:-1] >= least, True)
                values.append(noisy[kept])
                labels.append([pair[1] for pair, keep in zip(tally, kept, strict=True) if keep])
            return Answer(
                values, self.calibration.sigma(query.share, count), [x[:-1] for x in labels]
            )

        if self._source is None:
            return release()
        # one answer: how many categories there are is no part of it
        return tape.answered(self._source, "discovery", tallies, scale, release, least=least)

    def _tally(self, label_map: LabelMap) -> dict[tuple[str, Any], int]:
        """How often each category occurs, in an order of their own; missing values last."""
        tally = self._rows.tally(label_map)
        missing = tally.pop(ABSENT)
        ordered = sorted(tally, key=lambda pair: (pair[0], str(pair[1])))
        return {**{pair: tally[pair] for pair in ordered}, ABSENT: missing}

    def _chosen(self, query: Choice) -> Integers:
        """Positions, the best first; each round leaves out what was chosen before."""
        merits = (self._gaps(query) - query.handicaps).astype(float)  # whole numbers: exact
        if self._source is None:
            return np.argsort(-merits, kind="stable")[: query.count].astype(np.int64)
        scale = self.calibration.choice_scale(query.share, query.count)
        left = list(range(len(merits)))
        chosen = np.empty(query.count, dtype=np.int64)
        for i in range(query.count):
            chosen[i] = left.pop(self._source.choose(merits[left], scale))
        return chosen
