from __future__ import annotations

import re

import pandas as pd
import pytest

from copula_shirley import Column, PrivateVine, Schema, SettingError, plan


def test_the_plan_is_what_a_fit_charges(people: pd.DataFrame, people_schema: Schema) -> None:
    """Stages whose price does not hang on answers have the price of the plan."""
    table = pd.concat([people] * 20, ignore_index=True)
    model = PrivateVine(1.0, target="rich", neighbours="replace-one", random_state=0)
    ledger = model.fit(table, people_schema).ledger_
    planned = plan(people_schema, len(table), 1.0, target="rich", neighbours="replace-one")
    prices = planned.stages.set_index("stage")["rho"]
    charged = {s.stage: s.rho for s in ledger.spends}
    for stage in ("size", "margins", "target", "coarse pairs", "tree 1"):
        # shares follow the noisy number of rows
        assert charged[stage] == pytest.approx(prices[stage], rel=0.05)
    noise = planned.stages.set_index("stage")["noise"]
    told = {q["stage"]: q["sigma"] for q in model.transcript_.queries}
    assert told["size"] == pytest.approx(noise["size"])


@pytest.mark.parametrize("epsilon", [0.001, 1.0, 100.0])
@pytest.mark.parametrize("delta", [0, 1e-9])
@pytest.mark.parametrize("domain", ["declared", "measured"])
def test_shares_sum_to_one(
    people_schema: Schema, epsilon: float, delta: float, domain: str
) -> None:
    schema = people_schema
    if domain == "measured":
        schema = Schema((Column("x", "integer", minimum=0, maximum=1, provenance="drafted"),))
    planned = plan(schema, 10_000, epsilon, delta, domain=domain)
    assert planned.stages["share"].sum() == pytest.approx(1, abs=1e-9)
    assert ("domain" in set(planned.stages["stage"])) == (domain == "measured")
    assert planned.seconds > 0 and "MB" in str(planned)


def test_hopeless_noise_is_said_in_words(people_schema: Schema) -> None:
    assert "independent" in str(plan(people_schema, 400, 0.01))
    assert "independent" not in str(plan(people_schema, 100_000, 1.0))


@pytest.mark.parametrize(
    ("n", "settings", "said"),
    [
        (0, {}, r"n \(0\)"),
        (2.5, {}, r"n \(2.5\)"),
        (10, {"epsilon": -1.0}, r"epsilon \(-1.0\)"),
        (10, {"target": "shoe"}, r"target \('shoe'\)"),
        (10, {"truncation": 0}, r"truncation \(0\)"),
    ],
)
def test_wrong_settings(people_schema: Schema, n: int, settings: dict, said: str) -> None:  # type: ignore[type-arg]
    with pytest.raises(SettingError, match=said):
        plan(people_schema, n, **settings)


def test_a_plan_ends_with_how_to_choose(people_schema: Schema) -> None:
    columns = (*people_schema.columns, Column("pay", "integer", minimum=0, maximum=10**6))
    wards = Column("ward", "categorical", categories=tuple(map(str, range(200))))
    schema = Schema((*columns, wards), person="who", max_rows=12)
    planned = plan(schema, 30_000, 1.0)
    assert "For a person with up to 12 rows" in planned.notes[0]
    assert "finds at most 7.2 of 100" in planned.notes[0]  # as README and card have it
    epsilon, max_rows, wards_said, bounds = planned.advice
    assert epsilon.startswith("Epsilon 2 in place of 1 protects less")
    before, after = (float(x) for x in re.findall(r"from ([\d.]+) to ([\d.]+) rows", epsilon)[0])
    assert after == pytest.approx(before / 2, rel=0.06)  # GDP: a little less than half
    assert before == pytest.approx(
        planned.stages.set_index("stage").loc["tree 1", "noise"], rel=0.2
    )
    assert "max_rows 4 in place of 12 would divide the noise by 3;" in max_rows
    assert "20 categories of 'ward' in place of 200" in wards_said and "'pay'" in bounds
    assert str(planned).endswith(bounds) and planned.to_dict()["advice"] == planned.advice
    plenty = plan(people_schema, 10**7, 1.0).advice[0]
    assert plenty.startswith("Epsilon 0.5 in place of 1 would do, too")
    assert plan(people_schema, 1000, None).advice == []
