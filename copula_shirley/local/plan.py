"""What a survey of people's own reports will ask and be worth, before anybody is asked."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from copula_shirley.local.calibration import people_needed
from copula_shirley.private_vine.generator import PrivateVine
from copula_shirley.private_vine.outlook import Expected
from copula_shirley.private_vine.plan import Plan
from copula_shirley.schema.schema import Schema

if TYPE_CHECKING:
    from copula_shirley.local.generator import LocalVine

#: Values of epsilon for which a plan says how many people it takes.
EPSILONS = (1.0, 2.0, 4.0)
#: Groups of a column that tables of two columns must leave for the vine to be nearer to the rows
#: than margins alone; measured by experiments.benchmarks.local.
ENOUGH_GROUPS = 5
#: Delta of the curator with whom people are compared.
DELTA = 1e-9


def is_worth_it(model: LocalVine, schema: Schema, people: int) -> bool:
    """Whether so many people tell enough of pairs of columns for a vine."""
    coordinates = model.coordinates(schema)
    problem = model.problem(coordinates, pool_seed=0, families=False)
    expected = Expected(problem, people)
    return not expected.independent and expected.plan.groups >= ENOUGH_GROUPS


def local_plan(model: LocalVine, schema: Schema, people: int) -> Plan:
    """The plan of a model that counts with so many people."""
    found = PrivateVine.plan(model, schema, people)
    stages = found.stages.drop(columns="epsilon")
    stages.insert(3, "people", (stages["share"] * people).round().astype(int))
    stages.loc[stages["cells"] == 1, "people"] = 0
    epsilon = float(model.epsilon or 0)
    first = [comparison(schema, people, epsilon), verdict(model, schema, people)]
    return replace(
        found,
        budget=f"epsilon {epsilon:g} of each person's one report, delta 0; {people:,} people",
        stages=stages,
        notes=[*first, *found.notes[1:]],  # all but the sentence about a curator's release
        advice=[],
    )


def comparison(schema: Schema, rows: int, epsilon: float) -> str:
    """How many people it takes to be as good as a curator of so many rows."""
    curator = PrivateVine(epsilon, DELTA)
    rho = curator.problem(curator.coordinates(schema), 0).noise.total
    needed = {own: people_needed(rho, rows, own) for own in EPSILONS}
    told = [f"{_rounded(many):,} at epsilon {own:g}" for own, many in needed.items()]
    return (
        f"What a curator does with {rows:,} rows at epsilon {epsilon:g} takes so many people who "
        f"report themselves: {', '.join(told)}."
    )


def _rounded(number: float) -> int:
    """To two digits."""
    return int(float(f"{number:.1e}"))


def verdict(model: LocalVine, schema: Schema, people: int) -> str:
    if is_worth_it(model, schema, people):
        return "Worth it: so many people tell enough of pairs of columns for a vine."
    return (
        "Not worth it: pairs of columns will drown, and rows of a vine may be no nearer to the "
        "truth than columns drawn apart. More people or a larger epsilon would do."
    )
