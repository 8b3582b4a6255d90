"""What a fit of PrivateVine will ask, cost and be worth, before any row is read.

The stages are rehearsed with answers that are made up: n rows, spread evenly. So the plan shows the
questions of a real fit, their noise and their price; which columns an edge joins is decided by the
real answers.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from copula_shirley.errors import SettingError
from copula_shirley.fitted import silent
from copula_shirley.measure.calibration import Calibration
from copula_shirley.measure.learned_functions import learn_functions
from copula_shirley.measure.queries import Query
from copula_shirley.measure.transcript import Answer, run
from copula_shirley.private_vine.advice import Case
from copula_shirley.private_vine.coarse import ABSOLUTE
from copula_shirley.private_vine.domain import SHARE, closed
from copula_shirley.private_vine.intervals import HEAVY, Intervals
from copula_shirley.private_vine.outlook import Expected
from copula_shirley.rules.coordinates import LEAST_KEPT, Coordinates
from copula_shirley.schema.domain import Grid
from copula_shirley.schema.schema import Schema, check_schema

if TYPE_CHECKING:
    from copula_shirley.private_vine.generator import PrivateVine

#: Rows that show whether rules leave anything.
EVEN_ROWS = 4_000
#: Rows drawn by the model of made-up answers, which is thrown away.
REHEARSED = 1_000
#: Most rows of a plan.
MOST_ROWS = 10**12
#: Seconds of a fit, measured on one core of an ordinary server (experiments.benchmarks.costs
#: scaling): to begin with, for each pair of columns, and for each row and column.
SECONDS = (0.3, 0.008, 1.0e-6)
#: Part of the rows that noise may hide before a plan says so: tails are of such a size.
HIDDEN = 0.005
#: Bytes for each row and column beside the table.
BYTES = 45
#: Megabytes from which files are better read in pieces.
LARGE = 2000


@dataclass(frozen=True, eq=False)
class Plan:
    """What will be asked.

    Attributes
    ----------
    stages : DataFrame
        One line a stage: number of tables, cells of the largest, share and cost (rho, or epsilon
        without a delta), standard deviation of the noise in a count, and the error that noise
        alone would bring to a table (total variation distance, before anything is smoothed).
    budget : str
    notes : list of str
        What it means for a person and for the table, and what one should know, in words.
    advice : list of str
        How to choose epsilon, max_rows and bounds.
    seconds, megabytes : float
        Of the fit, roughly.
    errors : dict of str to float
        Of each column whose domain is declared, the share of rows that the noise of its counts is
        expected to move elsewhere. It is no bound: smoothing often leaves less, few large values
        and rules that leave out drawn rows leave more.
    pairs : dict of (str, str) to float
        The same of each pair of such columns, if a table of it is measured; which are is decided by
        the noisy answers, and what is known of the others follows from these.
    """

    stages: pd.DataFrame
    budget: str
    notes: list[str]
    seconds: float
    megabytes: float
    advice: list[str] = field(default_factory=list)
    errors: dict[str, float] = field(default_factory=dict)
    pairs: dict[tuple[str, str], float] = field(default_factory=dict)

    def __str__(self) -> str:
        lines = [f"PLAN: {self.budget}", *self.notes, self.stages.to_string(index=False)]
        return "\n".join([*lines, self.effort, *self.advice])

    def _repr_html_(self) -> str:
        """In notebooks: the stages as a table, and what one should know."""
        before, after = (
            "".join(f"<p>{escape(text)}</p>" for text in texts)
            for texts in (self.notes, [self.effort, *self.advice])
        )
        stages = self.stages.to_html(index=False, na_rep="")
        return f"<p>Plan: {escape(self.budget)}</p>{before}{stages}{after}"

    @property
    def effort(self) -> str:
        less = " (less from files in pieces, docs/scale.md)" if self.megabytes > LARGE else ""
        used = f"{self.seconds:.1f} s and {self.megabytes:.0f} MB{less}"
        return f"The fit takes about {used} on one core."

    def to_dict(self) -> dict[str, Any]:
        stages = self.stages.astype(object).where(self.stages.notna(), None)
        return {
            "budget": self.budget,
            "stages": stages.to_dict("records"),
            "notes": self.notes,
            "advice": self.advice,
            "errors": self.errors,
            "pairs": [{"columns": [*pair], "error": error} for pair, error in self.pairs.items()],
            "seconds": self.seconds,
            "megabytes": self.megabytes,
        }


def check_rows(n: int) -> None:
    """Refuse what is no number of rows."""
    if not isinstance(n, int | np.integer) or isinstance(n, bool) or not 1 <= n <= MOST_ROWS:
        raise SettingError(f"n ({n!r}) must be a whole number of rows from 1 to {MOST_ROWS:,}")


def plan_of(model: PrivateVine, schema: Schema, n: int) -> Plan:
    check_schema(schema)
    check_rows(n)
    model.check_settings(schema)
    coordinates = model.coordinates(closed(schema))
    schema = coordinates.modelled
    problem = model.problem(coordinates, pool_seed=0, families=False)
    rehearsal = Rehearsal(problem.noise, n)
    if problem.share < coordinates.share_left:
        cost = SHARE * problem.noise.total
        line = {"stage": "domain", "what": "bounds, categories", "share": SHARE, "cost": cost}
        rehearsal.lines.append(line)
    run(learn_functions(coordinates, problem.noise), rehearsal)
    run(model.learning(replace(problem, pool=REHEARSED), silent), rehearsal)
    stages = pd.DataFrame(rehearsal.lines)
    stages = stages.rename(columns={"cost": "rho" if problem.noise.zcdp else "epsilon"})
    columns = len(schema)
    seconds = SECONDS[0] + SECONDS[1] * columns**2 / 2 + SECONDS[2] * n * columns
    ledger = model.open_ledger(schema)
    budget = f"{ledger.budget or 'no noise'}; {dict(ledger.summary())['neighbours']}; {n:,} rows"
    megabytes = BYTES * n * columns / 2**20 + 150
    expected = Expected(problem, n)
    case = Case(model, coordinates, n)
    notes = [
        *case.plainly(),
        *_notes(stages, coordinates, expected),
        *_wide_notes(stages, coordinates, n),
    ]
    errors = {name: min(float(error), 1.0) for name, error in expected.errors.items()}
    pairs = {pair: min(float(error), 1.0) for pair, error in expected.pairs.items()}
    return Plan(stages, budget, notes, seconds, megabytes, [*case.advice()], errors, pairs)


@dataclass
class Rehearsal:
    """Answers queries as about n rows, spread evenly, and writes a line about each."""

    noise: Calibration
    n: int
    lines: list[dict[str, Any]] = field(default_factory=list)

    def answer(self, query: Query) -> Answer:
        count, share = len(query.cell_maps), query.share
        line = {"stage": query.stage, "what": query.in_words, "share": share}
        line["cost"] = share * self.noise.total
        self.lines.append(line)
        sigma = self.noise.sigma(share, count)
        cells = [math.prod(one.shape) for one in query.cell_maps]
        error = 0.5 * ABSOLUTE * sigma * float(np.mean(cells)) / self.n
        line |= {"cells": max(cells), "noise": sigma, "error": min(error, 1.0)}
        even = [max(1, round(self.n / size)) for size in cells]
        if query.stage == "coarse pairs":  # as if all columns were equal: no table is left out
            values = [np.eye(*one.shape, dtype=np.int64) for one in query.cell_maps]
            return Answer([table * (self.n // min(table.shape)) for table in values], sigma)
        pairs = zip(query.cell_maps, even, strict=True)
        return Answer([np.full(one.shape, rows) for one, rows in pairs], sigma)


def _rule_notes(coordinates: Coordinates, noise: Calibration) -> Iterator[str]:
    """How rules are kept, in words."""
    checks = coordinates.checks
    if not checks:
        return
    count = "1 rule is" if len(checks) == 1 else f"{len(checks)} rules are"
    kept = f"{count} kept in every row"
    apart = [repr(str(check.rule)) for check in checks if check not in coordinates.kept]
    if len(apart) < len(checks):
        kept += " by a change of coordinates"
    if not apart:
        yield f"{kept}."
    else:
        other = ", or" if len(apart) < len(checks) else ""
        yield (
            f"{kept}{other} by leaving out drawn rows that break {'; '.join(apart)}. Values that "
            "such rows often have become rarer."
        )
    yield from _scarce_notes(coordinates)
    for check in coordinates.learned:
        least = noise.sigma(check.rule.share, 1) * noise.largest(check.shape[-1])
        otherwise = "the commonest value" if check.rule.default is None else "the default"
        yield (
            f"That {check.rule} is learned for {check.rule.share:.1%} of the budget: where fewer "
            f"than about {math.ceil(least):,} rows share {' and '.join(check.rule.of)}, "
            f"{otherwise} takes the place of what noise hides. Rows that break the function are "
            "not looked for."
        )


def _scarce_notes(coordinates: Coordinates) -> Iterator[str]:
    """Rules that leave next to nothing of the declared domains, as far as drawn rows show it."""
    rng, grid = np.random.default_rng(0), Grid(coordinates.modelled)
    codes = {name: rng.integers(0, size, EVEN_ROWS) for name, size in grid.sizes.items()}
    _, good = coordinates.left(grid.numbers(codes, rng))
    if good.mean() < LEAST_KEPT:
        yield (
            f"Only {good.mean():.1%} of rows spread evenly over the declared domains keep all "
            "rules. If the rows of the table are no better, nothing can be drawn after the fit: "
            "see that the rules agree with each other and with the bounds of their columns."
        )


def _wide_notes(stages: pd.DataFrame, coordinates: Coordinates, n: int) -> list[str]:
    """Numeric columns whose tails noise will hide.

    Their first cells are octaves, from one power of two to the next. One that holds fewer rows than
    ``HEAVY`` standard deviations of the noise is not cut, and cannot be told from an empty one.
    """
    notes = []
    numeric = [column for column in coordinates.modelled if not column.is_listed]
    octaves = [repr(c.name) for c in numeric if Intervals.of(c).has_octaves]
    margins = stages[stages["stage"] == "margins"]["noise"]
    hidden = HEAVY * float(margins.iloc[0]) if len(margins) else 0.0
    if octaves and hidden > HIDDEN * n:
        notes.append(
            f"Large values of {', '.join(octaves)} will be seen dimly: what fewer than about "
            f"{hidden:,.0f} of {n:,} rows ({min(hidden / n, 1):.1%}) have, from one power of two "
            "to the next, cannot be told from noise. A larger epsilon, fewer columns or "
            "more rows help."
        )
    return notes


def _people_notes(coordinates: Coordinates) -> list[str]:
    """What synthetic people cost, in words."""
    schema, size = coordinates.schema, coordinates.size
    if size is None:
        return []
    person = schema.person
    same = f"{', '.join(schema.constants)}: drawn once a {person}. " if schema.constants else ""
    return [
        f"{same}How many rows each {person} has (1 to {schema.max_rows}) is one column more, "
        f"{size.name!r}, measured like the {len(coordinates.modelled) - 1} others; rows of one "
        f"{person} have nothing else in common."
    ]


def _notes(stages: pd.DataFrame, coordinates: Coordinates, expected: Expected) -> list[str]:
    schema = coordinates.modelled
    asked = set(stages["stage"])
    notes = expected.outlook().words
    if not expected.independent and "tables beyond the vine" not in asked and len(schema) > 3:
        notes.append(
            "The noise leaves room for little more than the strongest dependences between columns."
        )
    notes += [*_rule_notes(coordinates, expected.problem.noise), *_people_notes(coordinates)]
    if schema.drafted:
        notes.append(
            f"The domain of {len(schema.drafted)} columns was drafted from data; nothing is proved "
            "of a fit unless it is declared, or its kind alone is (provenance: private) and the "
            "rest is measured (domain='measured')."
        )
    return notes
