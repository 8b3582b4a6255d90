"""What a plan says in plain words, and how to choose epsilon, max_rows and bounds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from statistics import median
from typing import TYPE_CHECKING

from copula_shirley.files.texts import some
from copula_shirley.privacy.budget import LARGEST_EPSILON
from copula_shirley.privacy.card_words import percent, unit_in_words
from copula_shirley.privacy.meaning import most_true_positives
from copula_shirley.private_vine.allocation import SHARES
from copula_shirley.private_vine.intervals import Intervals
from copula_shirley.private_vine.outlook import LOOKED_AT, NOISY, Expected
from copula_shirley.rules.coordinates import Coordinates

if TYPE_CHECKING:
    from copula_shirley.private_vine.generator import PrivateVine

#: Below this error of a typical column half of the epsilon would do.
PLENTY = 0.01
#: False alarms in the sentence about a person.
ALARMS = 0.05


@dataclass(frozen=True)
class Case:
    """A fit with these settings to about so many rows of this schema."""

    model: PrivateVine
    coordinates: Coordinates
    rows: int

    @property
    def expected(self) -> Expected:
        problem = self.model.problem(self.coordinates, pool_seed=0, families=False)
        return Expected(problem, self.rows)

    @property
    def noise(self) -> float:
        """Standard deviation of the noise in a count of one of the tables of tree 1."""
        return self.expected.sigma(SHARES.first_tree, len(self.coordinates.modelled) - 1)

    @property
    def typical(self) -> float:
        """The expected error of a typical column."""
        return min(median(self.expected.errors.values() or [1.0]), 1.0)

    @property
    def found(self) -> str:
        """Of 100 people those whom somebody can find at most, who is wrong about 5 of 100."""
        ledger = self.model.open_ledger(self.coordinates.modelled)
        noise = self.expected.problem.noise
        budget = noise.budget
        if budget is None:
            return "100"
        most = most_true_positives(
            ALARMS,
            budget.epsilon,
            budget.delta,
            rho=noise.total if noise.zcdp else 0.0,
            failing=noise.failure_probability,
            gdp=ledger.gdp,
        )
        return percent(100 * most)

    def with_epsilon(self, epsilon: float) -> Case:
        settings = {**self.model.get_params(), "epsilon": epsilon}
        return replace(self, model=type(self.model)(**settings))

    # -- in words -------------------------------------------------------------------

    def plainly(self) -> Iterator[str]:
        """What the fit means for a person, and what for the table."""
        if self.model.epsilon is None:
            yield "No noise is drawn: nobody is protected."
            return
        unit = unit_in_words(self.model.open_ledger(self.coordinates.modelled))
        who = "person with one row" if unit == "row" else unit
        yield (
            f"For a {who}: whoever knows all others and raises a false alarm about "
            f"{100 * ALARMS:g} of 100 finds at most {self.found} of 100, whatever they compute "
            "from the synthetic table."
        )
        errors = self.expected.errors
        if errors:
            worst = max(errors, key=lambda name: errors[name])
            yield (
                f"For the table: noise alone moves about {_share(self.typical)} of the rows of a "
                f"typical column to other values, and {_share(errors[worst])} of {worst!r}."
            )

    def advice(self) -> Iterator[str]:
        """How to choose settings, a sentence for each."""
        if self.model.epsilon is None:
            return
        yield self._epsilon()
        schema = self.coordinates.schema
        if schema.max_rows > 1:
            fewer = max(1, schema.max_rows // 3)
            modelled = replace(self.coordinates.modelled, max_rows=fewer, person_draft=None)
            case = replace(self, coordinates=replace(self.coordinates, modelled=modelled))
            yield (
                f"max_rows {fewer} in place of {schema.max_rows} would divide the noise by "
                f"{self.noise / case.noise:.2g}; with --on-unknown clip further rows of a person "
                "are left out."
            )
        yield from self._domains()

    def _epsilon(self) -> str:
        own = float(self.model.epsilon or 1.0)
        other = own / 2 if self.typical < PLENTY else min(2 * own, LARGEST_EPSILON)
        case = self.with_epsilon(other)
        does = "protects less" if other > own else "would do, too"
        return (
            f"Epsilon {other:g} in place of {own:g} {does}: the noise in a count goes from "
            f"{self.noise:,.3g} to {case.noise:,.3g} rows, the rows that it moves from "
            f"{_share(self.typical)} to {_share(case.typical)}, and what can be found of 100 from "
            f"{self.found} to {case.found}."
        )

    def _domains(self) -> Iterator[str]:
        errors, schema = self.expected.errors, self.coordinates.modelled
        long = [c.name for c in schema if c.nominal and c.size > LOOKED_AT and c.name in errors]
        long = [name for name in long if errors[name] > NOISY / LOOKED_AT]
        if long:
            name = max(long, key=lambda each: errors[each])
            size = schema[name].size
            yield (
                f"{LOOKED_AT} categories of {name!r} in place of {size:,}, the others as one, "
                f"would bring the rows that noise moves there from {_share(errors[name])} to "
                f"{_share(errors[name] * LOOKED_AT / size)}."
            )
        wide = [c.name for c in schema if not c.is_listed and Intervals.of(c).has_octaves]
        if wide:
            yield (
                f"The maximum of {some(wide)} may be generous: twice as large a one adds one cell. "
                "Values beyond it are refused or clipped, so widen it where you are not sure."
            )


def _share(error: float) -> str:
    """A share of the rows in percent, as large as it can be."""
    return f"{percent(100 * min(error, 1.0))} %"
