"""Functions whose table a fit learns: charged, exact in every row, kept in the model."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from tables import fitted

from copula_shirley import Column, PrivateVine, Schema, load
from copula_shirley.baselines import Real, Uniform
from copula_shirley.cli.inspection import label_lines
from copula_shirley.errors import ArtefactError, SchemaError
from copula_shirley.files import model_file
from copula_shirley.publish.verify import verify_file
from copula_shirley.rows.findings import findings
from copula_shirley.rules.coordinates import Coordinates
from copula_shirley.schema.rule_entries import rules_from

CODES = tuple(f"c{i}" for i in range(6))
#: Code c5 has no row.
TRUE = {"c0": "N", "c1": "N", "c2": "S", "c3": "W", "c4": "S", "c5": None}
PLACES = Schema.from_yaml(
    """
columns:
  code: {kind: categorical, categories: [c0, c1, c2, c3, c4, c5]}
  region: {kind: categorical, categories: [N, S, W], missing: true}
  age: {kind: integer, minimum: 0, maximum: 99}
rules:
  - {function: region, of: code, table: learned}
"""
)
#: What a tenth of the rows say, against the function.
WRONG = 0.1


def places(n: int = 4000) -> pd.DataFrame:
    rng = np.random.default_rng(1)
    code = rng.choice(CODES[:5], n, p=[0.1, 0.1, 0.4, 0.2, 0.2])
    region = pd.Series(code).map(TRUE)
    region = region.mask(rng.random(n) < WRONG, "W")
    return pd.DataFrame({"code": code, "region": region, "age": rng.integers(0, 100, n)})


def learning(**about: Any) -> Schema:
    entry = {"function": "region", "of": "code", "table": "learned", **about}
    return replace(PLACES, rules=rules_from([entry]))


def pairs(table: pd.DataFrame) -> dict[str, set[Any]]:
    known = table.astype(object).where(table.notna(), None)
    return {code: set(own) for code, own in known.groupby("code")["region"]}


def test_the_commonest_value_wins_and_the_first_of_equal_ones() -> None:
    (check,) = Coordinates.of(PLACES).learned
    assert (check.names, check.shape) == (("code", "region"), (6, 4))  # a missing region is a value
    counts = np.array(
        [
            [0, 9, 3, 2],  # N
            [0, 7, 7, 7],  # three are equal: the first
            [0, 1, 8, 0],  # S
            [9, 0, 0, 2],  # mostly missing
            [2, 2, 3, 3],  # nothing above 3: what is commonest by the whole table, S
            [-4, 3, -9, 1],
        ]
    )
    check.learn(counts, least=3.0)
    assert check.found.tolist() == [1, 1, 2, 0, 1, 1]  # sums: 8, 22, 12, 15
    values = {"code": np.arange(6.0), "region": np.zeros(6)}
    assert check.result(values).tolist() == [0, 0, 1, -np.inf, 0, 0]
    assert check.broken(values).tolist() == [False, False, True, True, False, False]
    (check,) = Coordinates.of(learning(default="W")).learned
    check.learn(counts, least=3.0)
    assert check.found.tolist() == [1, 1, 2, 0, 3, 3]


@pytest.mark.parametrize("name", ["private-vine", "dp-histogram", "dp-copula", "privbayes"])
def test_a_learned_function_is_exact_in_every_row(name: str, tmp_path: Path) -> None:
    model = fitted(name, places(), PLACES, epsilon=8.0, random_state=0)
    assert "region" not in model.schema_.names
    found = pairs(model.sample(3000))
    assert all(found[code] == {TRUE[code]} for code in CODES[:5])
    assert found.get("c5", {"S"}) == {"S"}  # nobody has it: the commonest region
    ledger = model.ledger_
    first = ledger.spends[0]
    assert (first.stage, first.what) == ("functions", "region is a function of code")
    assert ledger.proved is not None and ledger.proved.epsilon == pytest.approx(8.0)
    model.save(tmp_path / "model")
    again = load(tmp_path / "model")
    pd.testing.assert_frame_equal(
        again.sample(50, random_state=1), model.sample(50, random_state=1)
    )
    verdict = verify_file(tmp_path / "model")
    assert verdict.fits, verdict.faults


def test_real_rows_have_the_function_and_their_ledger_says_so() -> None:
    model = Real(random_state=0).fit(places(), PLACES)
    assert pairs(model.sample(4000)) == {code: {TRUE[code]} for code in CODES[:5]}
    assert model.ledger_.unprotected[0].stage == "functions"


def test_rows_off_the_function_are_not_refused_dropped_or_repaired() -> None:
    """What the function says is known only when it was counted, and is looked at nowhere else."""
    for how in ("refuse", "drop", "repair"):
        schema = replace(PLACES, on_broken=how)
        coordinates = Coordinates.of(schema)
        table = schema.validate(places())
        assert len(coordinates.enforced(table)) == len(table)
        entered = coordinates.entered(table)
        pd.testing.assert_frame_equal(entered, table[["code", "age"]], check_dtype=False)


def test_a_transcript_with_another_table_is_refused(tmp_path: Path) -> None:
    model = fitted("private-vine", places(), PLACES, random_state=0)
    header, arrays = model.contents(model.card().to_dict())
    assert header["model"]["queries"][0]["stage"] == "functions"
    assert arrays["answer_0_0"].shape == (6, 4)
    bent = {**arrays, "function_0": np.roll(arrays["function_0"], 1)}
    model_file.write(tmp_path / "bent", header, bent)
    faults_found = verify_file(tmp_path / "bent").faults
    assert any("function_0" in text for text in faults_found), faults_found
    bent = {**arrays, "function_0": arrays["function_0"] + 9}
    model_file.write(tmp_path / "worse", header, bent)
    with pytest.raises(ArtefactError, match="'region is a function of code' does not fit it"):
        load(tmp_path / "worse")


@pytest.mark.parametrize("name", ["dp-histogram", "privbayes", "private-vine"])
def test_a_ledger_without_the_price_of_a_function_is_found(name: str, tmp_path: Path) -> None:
    model = fitted(name, places(), PLACES, random_state=0)
    rest = tuple(spend for spend in model.ledger_.spends if spend.stage != "functions")
    model.ledger_ = replace(model.ledger_, spends=rest)
    model.save(tmp_path / "forged")
    faults = verify_file(tmp_path / "forged").faults
    assert any("must be 'region is a function of code'" in text for text in faults), faults


def test_who_cannot_charge_refuses_and_who_looks_at_nothing_has_the_default() -> None:
    with pytest.raises(SchemaError, match="has no share of a budget for a table that is learned"):
        fitted("copula-shirley", places(), PLACES, target="code")
    model = Uniform(random_state=0).fit(places(), learning(default="W"))
    assert pairs(model.sample(500)) == {code: {"W"} for code in CODES}
    assert model.ledger_.proved is not None and model.ledger_.proved.epsilon == 0


@pytest.mark.parametrize(
    ("about", "words"),
    [
        ({"share": 0.6}, r"share .0.6. must be a part of the budget from 0.005 to 0.5"),
        ({"share": "much"}, r"share .'much'. must be a part"),
        ({"share": 0.1, "table": {"c0": "N"}, "default": "N"}, "goes with 'table: learned'"),
        ({"provenance": "declared", "default": "Q"}, r"region .'Q'. must be in its domain"),
        ({"provenance": "private", "table": {"c0": "N"}}, "must be declared or drafted"),
        ({"of": ["code", "pay"]}, "column 'pay' must be listed, or have a cell for each"),
        ({"of": ["code", "age", "wide"]}, r"1,202,400 cells .code 6, age 100, wide 501, region 4"),
    ],
)
def test_functions_that_cannot_be_learned_are_refused(about: dict[str, Any], words: str) -> None:
    columns = (
        *PLACES.columns,
        Column("pay", "continuous", minimum=0, maximum=1e5),
        Column("wide", "integer", minimum=0, maximum=500),
    )
    entry = {"function": "region", "of": ["code"], "table": "learned", **about}
    with pytest.raises(SchemaError, match=words):
        PrivateVine().check_settings(Schema(columns, rules=rules_from([entry])))


def test_learned_functions_leave_half_of_the_budget() -> None:
    rules = [
        {"function": "region", "of": "code", "table": "learned", "share": 0.3},
        {"function": "age", "of": "code", "table": "learned", "share": 0.3},
    ]
    with pytest.raises(SchemaError, match=r"2 learned functions .0.6 together. must be at most"):
        replace(PLACES, rules=rules_from(rules))


def test_plans_cards_and_labels_tell_what_is_learned() -> None:
    schema = learning(share=0.05)
    plan = PrivateVine().plan(schema, 4000)
    line = plan.stages.iloc[0]
    assert (line["stage"], line["share"], line["cells"]) == ("functions", 0.05, 24)
    assert float(plan.stages["share"].sum()) == pytest.approx(1)
    assert any("learned for 5.0% of the budget" in note for note in plan.notes)
    model = fitted("private-vine", places(), schema, random_state=0)
    (rule,) = model.card()["rules"]
    assert rule["kept_by"] == "a table that was learned for 5.0% of the budget"
    assert "declared, but for its table" in model.card().to_html()
    told = dict(label_lines(model))
    assert told["rule"].endswith("kept by a table that was learned for 5.0% of the budget")


@pytest.mark.parametrize(
    ("name", "settings", "words"),
    [
        ("uniform", {}, "its default, or the first value of the column"),
        ("dp-histogram", {"epsilon": None}, "an exact table of the rows, without noise"),
        ("private-vine", {"epsilon": None}, "an exact table of the rows, without noise"),
    ],
)
def test_a_function_that_nobody_paid_for_is_told_so(
    name: str, settings: dict[str, Any], words: str
) -> None:
    model = fitted(name, places(), PLACES, random_state=0, **settings)
    (rule,) = model.card()["rules"]
    assert rule["kept_by"] == words
    assert dict(label_lines(model))["rule"].endswith(f"kept by {words}")


def test_check_tells_rows_off_the_commonest_value() -> None:
    (found,) = findings(places(), PLACES)
    off = places()["region"] != places()["code"].map(TRUE)
    assert (found.where, found.rows) == ("rule", int(off.sum()))
    assert 0 < found.rows < 0.1 * 4000
