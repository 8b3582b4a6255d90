"""How near a fit of PrivateVine can come to the rows: public arithmetic on the noise.

Noise of standard deviation s in each of k cells moves about .4 s k of the n rows of a margin (half
of its mean absolute values). Divided by n this is an expected total variation distance, before
projection and smoothing lower it. Measured on made tables (tests/private_vine/test_outlook.py) what
comes out is about half of it, and once it exceeds 1 - 1/k, a margin is hardly nearer to the rows
(by less than a quarter) than that of a table drawn evenly from the declared domain, which costs no
privacy.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from statistics import median
from typing import TYPE_CHECKING

from copula_shirley.files.texts import some
from copula_shirley.outlook import Outlook
from copula_shirley.private_vine.allocation import RARE, SHARES, Allocation, allocation
from copula_shirley.private_vine.coarse import ABSOLUTE
from copula_shirley.private_vine.domain import SHARE, closed
from copula_shirley.private_vine.intervals import Intervals
from copula_shirley.private_vine.stages import Problem
from copula_shirley.schema.schema import Column, Schema

if TYPE_CHECKING:
    from copula_shirley.private_vine.generator import PrivateVine

#: Cells in which the margin of an ordered column is looked at, as the figure tvd1 does.
LOOKED_AT = 20
#: Error of a column that is worth a note, and that of a typical column which is fine.
NOISY, FINE = 0.3, 0.2


@dataclass(frozen=True)
class Expected:
    """Errors that noise alone will bring to a fit to about ``rows`` rows."""

    problem: Problem
    rows: int

    @property
    def schema(self) -> Schema:
        return self.problem.schema

    @cached_property
    def plan(self) -> Allocation:
        target = self.problem.target
        return allocation(
            self.rows,
            len(self.schema),
            1 if target is None else self.schema[target].size,
            self.problem.noise,
            targeted=target is not None,
            reweighted=self.problem.reweighted,
        )

    def sigma(self, share: float, tables: int) -> float:
        """Noise in a count of one of these tables, which cost a share of the budget together."""
        return self.problem.noise.sigma(share * self.problem.share, max(tables, 1))

    @cached_property
    def bought(self) -> list[str]:
        """Columns whose domain is measured; nobody knows their cells beforehand."""
        own = self.schema if self.problem.share < 1 else ()
        return [column.name for column in own if column.provenance != "declared"]

    @cached_property
    def errors(self) -> dict[str, float]:
        """The expected distance of each margin whose domain is declared; it may exceed 1."""
        columns = [column for column in self.schema if column.name not in self.bought]
        wide = [c for c in columns if not c.is_listed and Intervals.of(c).values.max() > 1]
        cells, _, groups = self.plan.histograms(len(wide) / len(self.schema))
        first, second = (self.sigma(share, len(self.schema)) for share in (cells, groups))
        both = first * second / max(math.hypot(first, second), 1e-300)
        found = {}
        for column in columns:
            twice = not column.is_ordered or column.size <= self.plan.margin_groups
            noise = both if twice else second
            found[column.name] = 0.5 * ABSOLUTE * noise * self.cells(column) / self.rows
        return found

    @cached_property
    def pairs(self) -> dict[tuple[str, str], float]:
        """The expected distance of a table of each pair of columns, if it is measured in tree 1.

        In the table's own groups, of which a column has at most as many as cells. The target has
        tables of its own with every column.
        """
        own, target = self.plan, self.problem.target
        classes = 1 if target is None else self.schema[target].size
        links = max(len(self.schema) - (target is not None) - 1, 1)
        inside = math.sqrt(classes) if own.in_classes else 1.0  # tables of all classes add up
        sigmas = {False: inside * self.sigma(own.first_tree, links) if own.first_tree else math.inf}
        sigmas[True] = self.sigma(own.classes, links + 1) if own.classes else math.inf
        groups = {
            name: min(self.schema[name].size, own.groups)
            if self.schema[name].is_ordered and name != target
            else self.schema[name].size
            for name in self.errors
        }
        halved = 0.5 * ABSOLUTE / self.rows
        found = {
            (a, b): halved * sigmas[target in (a, b)] * groups[a] * groups[b]
            for a, b in combinations(groups, 2)
        }
        return {pair: error for pair, error in found.items() if math.isfinite(error)}

    def cells(self, column: Column) -> int:
        """Cells in which a margin is looked at."""
        return min(column.size, LOOKED_AT) if column.is_ordered else column.size

    @cached_property
    def lost(self) -> list[str]:
        """Columns of which an even draw from the domain would tell as much."""
        lost = [n for n, e in self.errors.items() if e > 1 - 1 / max(self.cells(self.schema[n]), 2)]
        unseen = [name for name in self.listed if self.threshold > self.rows]
        return lost + unseen

    @property
    def listed(self) -> list[str]:
        """Columns whose categories are measured."""
        return [name for name in self.bought if self.schema[name].is_listed]

    @cached_property
    def threshold(self) -> int:
        """Rows that a category must have to be found."""
        stored = len(self.listed), len(self.bought) - len(self.listed)
        share = SHARE / max(1, 2 * bool(stored[0]) + 2 * bool(stored[1]) - all(stored))
        return self.problem.noise.threshold(share, max(stored[0], 1), self.schema.max_rows)

    @property
    def independent(self) -> bool:
        """Whether no table of two columns will be measured."""
        return len(self.schema) > 1 and self.plan.first_tree == self.plan.classes == 0

    # -- in words -------------------------------------------------------------------

    def outlook(self) -> Outlook:
        if self.problem.noise.budget is None:
            return Outlook()
        lost = len(self.lost) > len(self.schema) / 2
        return Outlook(self._useless() if lost else "", [*self._poor(lost)])

    def _useless(self) -> str:
        return (
            f"in {len(self.lost)} of {len(self.schema)} columns ({some(self.lost)}) noise moves "
            f"as much as {self.rows:,} rows show. Rows drawn evenly from the declared domain, "
            f"without a look at the table, would be as near to it. {self.remedy}"
        )

    @property
    def remedy(self) -> str:
        """What would make a typical column fine: its error goes by 1 / (epsilon rows)."""
        errors = [*self.errors.values()] or [1.0]
        times = math.ceil(max(median(errors) / FINE, 2.0))
        person = ", a smaller max_rows" if self.schema.max_rows > 1 else ""
        return (
            f"About {times:,} times the epsilon, or {times:,} times the rows, would do; fewer "
            f"columns or categories{person} help, too."
        )

    def _poor(self, lost: bool) -> list[str]:
        found, most = [], sorted(self.errors, key=lambda name: -self.errors[name])
        if self.independent:
            found.append(
                "The noise would drown every table of two columns: only single columns are "
                "measured, and the columns of the synthetic table will be independent. A larger "
                "epsilon or more rows would change that."
            )
        noisy = [name for name in most if self.errors[name] > NOISY]
        if noisy and not lost:
            share = min(self.errors[noisy[0]], 1)
            found.append(
                f"Noise may move about {share:.0%} of the rows of {some(noisy)} to wrong values. "
                "Fewer columns or categories, more rows or a larger epsilon help."
            )
        rare = RARE * self.sigma(SHARES.first_tree, len(self.schema))
        drowned = [
            column.name
            for column in self.schema
            if column.nominal and column.size > 2 and rare > self.rows / column.size
        ]
        if drowned and not lost:
            found.append(
                f"Most categories of {some(drowned)} will drown: one that fewer than about "
                f"{rare:,.0f} rows have is hardly told from an empty one."
            )
        if self.listed and self.threshold > self.rows / LOOKED_AT:
            what = f"are found where at least about {self.threshold:,} of {self.rows:,} rows have"
            if self.threshold > self.rows:
                what = f"would need {self.threshold:,} rows each, and there are {self.rows:,}: all"
                found.append(f"The categories of {some(self.listed)} {what} become '(other)'.")
            else:
                others = "them; the others become '(other)'."
                found.append(f"Categories of {some(self.listed)} {what} {others}")
        return found


def outlook_of(model: PrivateVine, schema: Schema, rows: int) -> Outlook:
    """What a fit to so many rows can be worth; no row is read."""
    coordinates = model.coordinates(closed(schema))
    return Expected(model.problem(coordinates, pool_seed=0, families=False), rows).outlook()
