"""What PrivateVine spends where: a public function of schema, number of rows and budget."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from copula_shirley.measure.calibration import Calibration


@dataclass(frozen=True)
class Shares:
    """Shares of the budget when data are plenty; margins get the rest."""

    size: float = 0.005  # the number of rows, on which the other shares depend
    classes: float = 0.10  # tables with the target; half of both where tree 1 has no classes
    first_tree: float = 0.35  # both shares where there is no target
    coarse: float = 0.20  # a coarse table of every pair, from which tree and extras are chosen
    extras: float = 0.13  # tables that the vine cannot hold


SHARES = Shares()
#: Relative shares of the margins' histograms: of first cells; of their parts, parts of parts and
#: parts of these, if all columns had cells to cut; of equally heavy groups of cells.
CELLS, PARTS, GROUPS = 1.0, (1.0, 0.5, 0.3), 1.0
#: Rows in a cell of a table, in standard deviations of noise and chance.
ROWS_PER_NOISE = 2.0
#: With fewer groups per column than POOR nothing but margins is measured, with fewer than FAIR
#: no extras, and from RICH on all of them, and tables of tree 1 in each class of the target. There,
#: and without classes from PLENTY on, the other shares above hold.
POOR, FAIR, RICH, PLENTY = 1.5, 4.0, 6.0, 9.0
LEAST_GROUPS, MOST_GROUPS = 3, 20
#: Groups whose margins are measured, for each group of tables; least and most.
MARGIN_GROUPS, LEAST_MARGIN, MOST_MARGIN = 2.0, 16, 40
#: Groups of coarse tables: least and most.
LEAST_COARSE, MOST_COARSE = 2, 8
#: Categories with fewer rows than so many standard deviations share a group.
RARE = 2.5
#: Weight of the vine against the noisy tables in the reweighting, times their noise.
KAPPA = 2.0
LEAST_EXTRAS, MOST_EXTRAS, EXTRAS_PER_GROUP = 14, 30, 1.4


def rows_per_cell(sigma: float) -> float:
    """Rows that a cell needs: ROWS_PER_NOISE standard deviations, of noise and of chance.

    The root m of m = c sqrt(sigma^2 + m): chance is that of a Poisson count.
    """
    square = ROWS_PER_NOISE**2
    return (square + math.sqrt(square**2 + 4 * square * sigma**2)) / 2


def _groups(n: float, sigma: float) -> float:
    """Groups per column that leave the cells of a table of two columns the rows that they need."""
    return math.sqrt(n / rows_per_cell(sigma))


def shows_pairs(n: float, columns: int, noise: Calibration, share: float) -> bool:
    """Whether coarse tables of all pairs for this share would show at least equal columns.

    Between halves of two columns with correlation phi the diagonals of a table differ by n phi rows
    and the noise of four cells. Where not even phi = 1 exceeds the largest noise of all pairs,
    these tables would choose pairs by noise.
    """
    pairs = math.comb(columns, 2)
    return n > 2 * noise.sigma(share, pairs) * noise.largest(pairs)


@dataclass(frozen=True)
class Allocation:
    """Shares of the budget, which sum to 1 with ``SHARES.size``, and what the noise allows."""

    margins: float
    classes: float
    coarse: float
    first_tree: float
    extras: float
    #: Groups of equal mass into which a numeric column is cut.
    groups: int
    #: Categories of less mass share a group.
    rare: float
    #: Weight of the vine in the reweighting.
    kappa: float
    extra_tables: int
    #: Noise that counts of cells are taken to have at least, in rows.
    least_noise: float
    #: Whether tables of tree 1 are measured in each class of the target.
    in_classes: bool
    #: Whether margins are short of budget: pairs that do not stand out leave theirs to them.
    scarce: bool

    @property
    def margin_groups(self) -> int:
        """Groups of equal mass whose counts settle the margins."""
        return int(np.clip(MARGIN_GROUPS * self.groups, LEAST_MARGIN, MOST_MARGIN))

    def histograms(self, cut: float) -> tuple[float, list[float], float]:
        """Shares of first cells, of each round of parts and of groups.

        ``cut`` is the share of columns whose cells can be cut.
        """
        relative = [CELLS, *(part * cut for part in PARTS), GROUPS]
        cells, *parts, groups = [self.margins * one / sum(relative) for one in relative]
        return cells, parts, groups


def allocation(
    n: float,
    columns: int,
    classes: int,
    noise: Calibration,
    *,
    targeted: bool,
    reweighted: bool = True,
) -> Allocation:
    """The more the noise drowns a table, the more goes to the margins.

    With a target each column is counted against it. Tables of tree 1 have its classes only where
    data are plenty: else there are more cells than rows can fill, and classes share pair copulas
    that are made of finer tables without them.

    Parameters
    ----------
    n : number of rows, public or noisy
    columns : number of columns, the target included
    classes : number of classes of the target, 1 without one
    targeted : whether there is a target, which may have one class only
    reweighted : whether tables that the vine cannot hold are of use
    """
    others = columns - targeted
    own, links = (SHARES.classes if classes > 1 else 0.0), max(1, others - 1)
    both = SHARES.classes + SHARES.first_tree
    sigma = max(noise.sigma(both - own, links), 1e-9)
    k = _groups(n / classes, sigma)
    in_classes = classes > 1 and k >= RICH
    if classes > 1 and not in_classes:
        # these tables alone show the target now: as much as for the others
        own = both / 2
        sigma = max(noise.sigma(both - own, links), 1e-9)
        k = _groups(n, sigma)
    enough = 1.0 if in_classes else float(np.clip((k - POOR) / (PLENTY - POOR), 0, 1))
    depth = enough if others > 1 else 0.0
    more = float(np.clip((k - FAIR) / (RICH - FAIR), 0, 1)) if others > 2 else 0.0
    if others > 2 and depth > 0 and not shows_pairs(n, others, noise, SHARES.coarse * depth):
        depth = more = 0.0
    shares = {
        "classes": own * enough * (others > 0),
        "coarse": SHARES.coarse * depth if others > 2 else 0.0,
        "first_tree": (both - own) * depth + SHARES.extras * more * (not reweighted),
        "extras": SHARES.extras * more * reweighted,
    }
    groups = int(np.clip(round(min(k, 1e6)), LEAST_GROUPS, MOST_GROUPS))
    # rows are a draw themselves: exact counts tell no more than the chance of a cell allows, and
    # drawn rows that are weighed to meet them closer become few
    chance = math.sqrt(n / (groups**2 * (classes if in_classes else 1)))
    return Allocation(
        margins=1 - SHARES.size - sum(shares.values()),
        **shares,
        groups=groups,
        rare=min(0.2, RARE * sigma / n),
        kappa=KAPPA / max(sigma, chance),
        extra_tables=int(np.clip(EXTRAS_PER_GROUP * groups, LEAST_EXTRAS, MOST_EXTRAS)),
        least_noise=chance,
        in_classes=in_classes,
        scarce=enough < 1,
    )
