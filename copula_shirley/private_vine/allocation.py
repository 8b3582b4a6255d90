"""What PrivateVine spends where: a public function of schema, number of rows and budget."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from copula_shirley.measure.calibration import Calibration


@dataclass(frozen=True)
class Shares:
    """Shares of the budget when data are plenty; margins get the rest."""

    size: float = 0.005  # the number of rows, on which the other shares depend
    classes: float = 0.10  # tables with the target; goes to tree 1 where there is none
    scores: float = 0.05  # one number per pair of columns
    first_tree: float = 0.30
    higher_trees: float = 0.07
    extras: float = 0.28  # tables that the vine cannot hold


SHARES = Shares()
#: Parts of the margins' share, if all columns had wide cells: for their parts, and parts of parts.
PARTS = (0.10, 0.05, 0.05)
#: Part of the margins' share for counts of ranges of cells, if all columns had ranges.
RANGED = 0.3
#: Part of the share of higher trees for choosing edges, and of the extras' for choosing tables.
CHOOSING_EDGES, CHOOSING_EXTRAS = 0.25, 0.2
#: A table may have so many cells that a cell holds this many standard deviations of noise.
CELLS_PER_NOISE = 3.0
#: With fewer groups per column than POOR nothing but margins is measured, with fewer than FAIR
#: no higher trees and extras, and from RICH on the shares above hold.
POOR, FAIR, RICH = 1.5, 4.0, 6.0
#: With fewer groups than this a higher tree costs more than it shows: truncation "auto" has one.
DEEP = 20.0
#: Trees of truncation "auto" otherwise; a third gained nothing on any data set that was tried.
AUTO_TREES = 2
#: Higher trees with less than this part of their share would show noise only.
WORTH = 0.2
LEAST_GROUPS, MOST_GROUPS = 3, 20
#: Categories with fewer rows than so many standard deviations share a group.
RARE = 2.5
#: Weight of the vine against the noisy tables in the reweighting, times their noise.
KAPPA = 2.0
LEAST_EXTRAS, MOST_EXTRAS, EXTRAS_PER_GROUP = 14, 30, 1.4


@dataclass(frozen=True)
class Allocation:
    """Shares of the budget, which sum to 1 with ``SHARES.size``, and what the noise allows."""

    margins: float
    classes: float
    scores: float
    first_tree: float
    higher_trees: float
    extras: float
    #: Groups of equal mass into which a numeric column is cut.
    groups: int
    #: Categories of less mass share a group.
    rare: float
    #: Weight of the vine in the reweighting.
    kappa: float
    extra_tables: int
    trees: int


def allocation(
    n: float,
    columns: int,
    classes: int,
    truncation: int | None,
    noise: Calibration,
    *,
    targeted: bool,
    reweighted: bool = True,
) -> Allocation:
    """The more the noise drowns a table, the more goes to the margins.

    Parameters
    ----------
    n : number of rows, public or noisy
    columns : number of columns, the target included
    classes : number of classes of the target, 1 without one
    truncation : number of trees, None to choose it here
    targeted : whether there is a target, which may have one class only
    reweighted : whether tables that the vine cannot hold are of use
    """
    others = columns - targeted
    own = SHARES.classes if classes > 1 else 0.0
    first = SHARES.first_tree + SHARES.classes - own
    sigma = max(noise.sigma(first, max(1, others - 1)), 1e-9)
    k = float(np.sqrt(n / (classes * sigma * CELLS_PER_NOISE)))
    enough = float(np.clip((k - POOR) / (RICH - POOR), 0, 1))
    depth = enough if others > 1 else 0.0
    more = float(np.clip((k - FAIR) / (RICH - FAIR), 0, 1)) if others > 2 else 0.0
    if truncation is None:
        truncation = AUTO_TREES if k >= DEEP else 1
    higher = SHARES.higher_trees * more * (truncation > 1 and more > WORTH)
    spare = SHARES.higher_trees * more - higher
    shares = {
        "classes": own * enough * (others > 0),
        "scores": SHARES.scores * depth,
        "first_tree": first * depth + SHARES.extras * more * (not reweighted) + spare / 2,
        "higher_trees": higher,
        "extras": SHARES.extras * more * reweighted,
    }
    groups = int(np.clip(round(min(k, 1e6)), LEAST_GROUPS, MOST_GROUPS))
    return Allocation(
        margins=1 - SHARES.size - sum(shares.values()),
        **shares,
        groups=groups,
        rare=min(0.2, RARE * sigma / n),
        kappa=KAPPA / sigma,
        extra_tables=int(np.clip(EXTRAS_PER_GROUP * groups, LEAST_EXTRAS, MOST_EXTRAS)),
        trees=truncation,
    )
