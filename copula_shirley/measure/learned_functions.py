"""Functions between columns whose tables are learned from noisy counts, each for a charge.

A rule such as ``{function: region, of: postcode, table: learned}`` claims that the one follows from
the other, which is public, and leaves open how. So the joint cells of these columns are counted
once, with noise, before anything else is asked about the modelled columns. The function gives at
each combination of the others the value with the highest noisy count (of equal ones the first in
the domain); where no count stands out of the noise, the rule's ``default``, or the value that is
commonest by the whole noisy table. The column then leaves the model, and every drawn row follows
the function.

Privacy: one query about a cell map of declared cells (docs/private_vine.md, lemma 1), charged by
``Curator.answer`` before rows are counted; the rest follows from the answer. What a row holds in
the column is looked at nowhere else, so nothing is refused, repaired or dropped for breaking a
function that nobody knew.
"""

from __future__ import annotations

import numpy as np

from copula_shirley.measure.calibration import Calibration
from copula_shirley.measure.queries import Declared, Queries, Query, Tables
from copula_shirley.measure.transcript import Answer, run
from copula_shirley.privacy.ledger import Ledger
from copula_shirley.rules.coordinates import Coordinates
from copula_shirley.rules.functions import STAGE


def learn_functions(coordinates: Coordinates, noise: Calibration) -> Queries[None]:
    """Learn the functions of these coordinates, one query each."""
    for check in coordinates.learned:
        cells = Declared(check.names, check.shape)
        answer = yield Tables(STAGE, [cells], check.rule.share, what=str(check.rule))
        # the largest of as many noises as there are values
        check.learn(answer.values[0], answer.sigma * noise.largest(check.shape[-1]))


class _Price:
    """Charges queries to a ledger, and answers that there are no rows."""

    def __init__(self, ledger: Ledger) -> None:
        self.ledger, self.noise = ledger, Calibration.of(ledger)

    def answer(self, query: Query) -> Answer:
        self.noise.charge(self.ledger, query)
        tables = [np.zeros(cells.shape, dtype=np.int64) for cells in query.cell_maps]
        return Answer(tables, self.noise.sigma(query.share, len(tables)))


def charged_functions(coordinates: Coordinates, ledger: Ledger) -> None:
    """Charge a ledger what a fit pays for the functions of these coordinates, which forget them."""
    price = _Price(ledger)
    run(learn_functions(coordinates, price.noise), price)
