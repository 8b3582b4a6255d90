"""How much noise people's own reports have, on the scale of all people: public arithmetic.

Each person answers one question, once, with all of her epsilon. A query for c tables with the share
s goes to the next s N of N people, s N / c for each table; from the n people of a table the count
of a cell among all N is estimated with variance N^2 v / n. So its standard deviation is

    N sqrt(v c / (s N)) = sqrt(c / (2 s rho))   with   rho = 1 / (2 N v),

the law of a curator's discrete Gaussian noise of that rho: a share of the people takes the place of
a share of the budget, and whoever plans with a ``Calibration`` need not know. (That those who are
asked are a sample of all people is chance, too, but no noise: answers do not state it.)

Privacy: docs/local.md. People are dealt out by a draw that does not look at their records, so the
cost of all queries is that of the one that a person answers (parallel composition).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from copula_shirley.local.coins import Unary
from copula_shirley.local.oracles import best, variance
from copula_shirley.measure.calibration import Calibration
from copula_shirley.measure.queries import Query
from copula_shirley.privacy.budget import Budget, Sensitivity, histogram_sensitivity
from copula_shirley.privacy.ledger import ALL_ROWS, Ledger

MECHANISM = "perturbed reports"
NEIGHBOURS = "replace-one"
#: Cells of the table for which plans count the noise; large tables have that of OUE at the most.
#: With fewer cells a plan asks for finer tables.
USUAL_CELLS = 16


def asks_nobody(query: Query) -> bool:
    """Whether the answer is known: each person lies in the one cell of each table."""
    return all(math.prod(one.shape) == 1 for one in query.cell_maps)


class LocalCalibration(Calibration):
    """Noise of what ``people`` report, each once with ``epsilon``.

    Examples
    --------
    >>> noise = LocalCalibration(1_000_000, 1.0)
    >>> round(noise.sigma(0.5, 10))  # 50,000 people a table, each with variance 3.68
    8582
    """

    def __init__(self, people: int, epsilon: float) -> None:
        super().__init__(Budget(epsilon), histogram_sensitivity(NEIGHBOURS))
        self.people, self.epsilon = people, epsilon
        self.variance = variance(best(USUAL_CELLS, epsilon))
        self.total = 1 / (2 * people * self.variance)

    @property
    def gaussian(self) -> bool:
        """Sums of many people's coins have nearly the shape of a bell."""
        return True

    def scale_of(self, share: float, reach: Sensitivity, count: int = 1) -> float:
        return math.sqrt(count / (2 * share * self.total))

    #: How many people answered each table of each query, where real ones did.
    told: Sequence[Sequence[int]] = ()

    def asked(self, query: Query) -> list[int]:
        """How many people answer each table."""
        many = math.floor(query.share * self.people * (1 + 1e-12))
        return [len(part) for part in np.array_split(np.empty(many), len(query.cell_maps))]

    def sigma_of(self, asked: Sequence[int], variances: Sequence[float]) -> float:
        """Standard deviation of the noise in a count, on average over the tables."""
        squares = [v / max(n, 1) for n, v in zip(asked, variances, strict=True)]
        return self.people * math.sqrt(math.fsum(squares) / len(squares))

    def charge(self, ledger: Ledger, query: Query, part: str = ALL_ROWS) -> None:
        """Charge the people of this query, who are asked nothing else."""
        if asks_nobody(query):
            return
        wave = len(ledger.partitions) + 1
        rest = f"people after wave {wave - 1}" if wave > 1 else part
        parts = (f"people of wave {wave}", f"people after wave {wave}")
        ledger.partition(parts, whole=rest, by_value=False)
        ledger.charge(query.stage, query.in_words, MECHANISM, self.epsilon, rows=parts[0])


def people_needed(rho: float, rows: int, epsilon: float) -> float:
    """People whose reports have the relative noise of a curator with this rho and so many rows.

    A count of the curator's has variance c / (2 s rho), of n rows; that of N people v c N / s.
    """
    return 2 * rho * rows**2 * variance(Unary.of(2, epsilon))
