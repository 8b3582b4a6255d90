"""The only code that asks rows: a query in, noisy whole numbers out.

Privacy
-------
A *cell map* is a public function that maps each row to one cell of a table, by that row alone. One
unit (a row, or a person with k rows) changes a table of counts by ``histogram_sensitivity``: s1 in
the L1 norm and s2 in L2.

- ``Tables``: m tables answered together change by m s1 in L1 and sqrt(m) s2 in L2, since each of
  them changes by at most s1 and s2.
- ``Discovery``: categories out of no list. Those that neighbours share are counts as above. A
  category that only one unit has holds at most k rows; it is released if its noisy count reaches a
  threshold k + t, so noise of t or more is needed, which has a chance of at most delta divided by
  the number of such categories. Outside that event nobody sees that it was there.
- ``Numbers``: whole numbers of another statistic, whose reach in both norms is argued beside it.
- ``Best``: one round of the exponential mechanism among whole scores of a statistic, each of which
  one unit changes by at most its reach; with parameter e it costs e in epsilon and e^2/8 in rho.

Discrete Gaussian noise of parameter sigma costs rho = L2^2 / (2 sigma^2) in zCDP, and a little more
in GDP (``copula_shirley.privacy.gdp``); discrete Laplace noise of scale b costs epsilon = L1 / b.
Each query is charged before its counts are looked at. An engine that reads rows in passes may have
counted them in an earlier one, where what was asked until then told that they would be asked for
(``Tables.ahead``); until the charge they stay inside the engine, and nobody sees them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

import numpy as np

from copula_shirley.errors import SettingError
from copula_shirley.measure.calibration import Calibration
from copula_shirley.measure.queries import Best, Discovery, Numbers, Query, Tables
from copula_shirley.measure.transcript import Answer, Transcript
from copula_shirley.privacy.ledger import ALL_ROWS, Ledger
from copula_shirley.privacy.noise import Integers, NoiseSource
from copula_shirley.rows.rows import ABSENT, Tally


class Curator:
    """Answers queries about the rows and writes the transcript; nothing else sees rows.

    The ledger is charged before rows are looked at, and told where the noise comes from; the
    calibration must be for its currency and its unit. The source is None where the budget is, and
    then only. ``part`` is the ledger's name of these rows.
    """

    def __init__(
        self,
        rows: Any,
        ledger: Ledger,
        source: NoiseSource | None,
        calibration: Calibration | None = None,
        transcript: Transcript | None = None,
        *,
        part: str = ALL_ROWS,
    ) -> None:
        self._rows = rows
        self._ledger = ledger
        self._part = part
        self.calibration = calibration or Calibration.of(ledger)
        self.calibration.check_ledger(ledger)
        self.transcript = Transcript() if transcript is None else transcript
        if source is None and self.calibration.budget is not None:
            raise SettingError("source (None) must be one of noise where there is a budget")
        self._source = source if self.calibration.budget is not None else None
        if self._source is not None:
            ledger.drawn_by(self._source.facts)

    def answer(self, query: Query) -> Answer:
        """Charge the query, then answer it."""
        self._charge(query)
        answer = self._answer(query)
        self.transcript.add(query, answer)
        return answer

    def _charge(self, query: Query) -> None:
        self.calibration.charge(self._ledger, query, self._part)

    def _answer(self, query: Query) -> Answer:
        known, share = self.calibration, query.share
        exact: Iterable[Integers]
        match query:
            case Tables(cell_maps=maps):
                exact = self._rows.count(maps, query.ahead)
                scale = known.scale(share, len(maps))
            case Numbers(cell_maps=[statistic]):
                exact = [statistic.numbers(self._rows)]
                scale = known.scale_of(share, statistic.reach)
            case Discovery():
                return self._discovered(query)
            case Best(cell_maps=[scores]):
                return self._chosen(scores.numbers(self._rows), share, scores.reach.l1)
            case _:
                name = type(query).__name__
                raise SettingError(f"query ({name}) must be one of copula_shirley.measure")
        return Answer([self._noisy(counts, scale) for counts in exact], known.deviation(scale))

    def _noisy(self, counts: Integers, scale: float) -> Integers:
        if self._source is None:
            return counts
        draw = self._source.gaussian if self.calibration.gaussian else self._source.laplace
        return draw(counts, scale)

    def _discovered(self, query: Discovery) -> Answer:
        """Categories above the threshold, and their noisy counts.

        Their order follows from their names; the count of missing values comes last.
        """
        count, known = len(query.cell_maps), self.calibration
        scale = known.scale(query.share, count)
        tallies = [ordered(found) for found in self._rows.tally(query.cell_maps)]
        if self._source is None:
            found = [
                (np.array(list(tally.values()), dtype=np.int64), [label for _, label in tally][:-1])
                for tally in tallies
            ]
        else:
            least = known.threshold(query.share, count, self._ledger.rows_per_unit)
            found = self._source.discover(tallies, scale, least, gaussian=known.gaussian)
        values, labels = map(list, zip(*found, strict=True))
        return Answer(values, known.deviation(scale), labels)

    def _chosen(self, merits: Integers, share: float, reach: float) -> Answer:
        """The position of a high merit."""
        if self._source is None:
            chosen = int(np.argmax(merits))
        else:
            chosen = self._source.choose(merits, self.calibration.choice_scale(share, reach))
        return Answer([np.array([chosen], dtype=np.int64)], 0.0)


def ordered(tally: Tally) -> Tally:
    """A tally in an order that follows from the names; missing values come last."""
    missing = tally[ABSENT]
    names = sorted(tally.keys() - {ABSENT}, key=lambda pair: (pair[0], str(pair[1])))
    return Counter({**{pair: tally[pair] for pair in names}, ABSENT: missing})
