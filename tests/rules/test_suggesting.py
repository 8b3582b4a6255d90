"""Rules that a draft finds in the rows: what is found, what is not, and that it proves nothing."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from commands import run
from tables import declared

from copula_shirley import PrivateVine, Schema
from copula_shirley.errors import SchemaError
from copula_shirley.rules.suggesting import suggested
from copula_shirley.schema.rule_entries import rules_from
from copula_shirley.schema.rules import Function

ROWS = 800
MONEY = {"DE": "EUR", "FR": "EUR", "US": "USD", "CH": "CHF"}


def shop(n: int = ROWS) -> pd.DataFrame:
    """Orders with one rule of each kind that is looked for, and columns that keep none."""
    rng = np.random.default_rng(2)
    day = pd.Timestamp("2022-01-01") + pd.to_timedelta(rng.integers(0, 500, n), unit="D")
    sent = day + pd.to_timedelta(rng.integers(0, 20, n), unit="D")
    price, items = rng.lognormal(3, 1, n).round(2), rng.integers(1, 9, n)
    goods, post, tax = (rng.gamma(2, 10, n).round(2) for _ in range(3))
    country = rng.choice(["DE", "FR", "US", "CH"], n)
    state = rng.choice(["open", "paid", "void"], n)
    return pd.DataFrame(
        {
            "ordered": day,
            "sent": sent,
            "back": pd.Series(sent + pd.to_timedelta(rng.integers(0, 9, n), unit="D")).mask(
                rng.random(n) < 0.3
            ),
            "price": price,
            "items": items,
            "worth": (price * items).round(2),
            "goods": goods,
            "post": post,
            "tax": tax,
            "sum total": (goods + post + tax).round(2),
            "days": (sent - day).days,
            "country": country,
            "currency": pd.Series(country).map(
                {"DE": "EUR", "FR": "EUR", "US": "USD", "CH": "CHF"}
            ),
            "state": state,
            "paid on": pd.Series(rng.integers(1, 29, n)).where(state == "paid"),
            "paid by": pd.Series(rng.choice(["card", "cash"], n)).where(state == "paid"),
            "age": rng.integers(18, 90, n),
            "children": rng.integers(0, 5, n),
        }
    )


def words(table: pd.DataFrame, schema: Schema | None = None) -> list[str]:
    return [str(rule) for rule in suggested(table, schema or Schema.draft(table))[0].rules]


def test_rules_of_each_kind_are_found_and_no_others() -> None:
    table = shop()
    schema, notes = suggested(table, Schema.draft(table))
    found = [str(rule) for rule in schema.rules]
    assert found == [
        "days = sent - ordered",
        "worth = price * items",
        "sum total = goods + post + tax",
        "when state in open, void then paid on is missing",
        "when state = paid then paid on is present",
        "when paid on is missing then paid by is missing",
        "when paid on is present then paid by is present",
        "currency is a function of country",
        "ordered <= sent <= back",
    ]
    assert {rule.provenance for rule in schema.rules} == {"drafted"}
    assert len(notes) == len(schema.rules)
    assert notes[0] == (
        "suggested rule 'days = sent - ordered': holds in all 800 rows that have the values"
    )
    (function,) = (rule for rule in schema.rules if isinstance(rule, Function))
    assert function.table == (("CH", "CHF"), ("DE", "EUR"), ("FR", "EUR"), ("US", "USD"))
    assert Schema.from_yaml(schema.to_yaml()) == schema


@pytest.mark.parametrize(
    ("spoil", "rule"),
    [
        ({"sent": pd.Timestamp("2021-01-01")}, "ordered <= sent <= back"),
        ({"worth": 0.01}, "worth = price * items"),
        ({"sum total": 9999.0}, "sum total = goods + post + tax"),
        ({"currency": "GBP"}, "currency is a function of country"),
        ({"paid on": 3.0, "state": "open"}, "when state = paid then paid on is present"),
    ],
)
def test_one_row_against_it_is_enough(spoil: dict[str, Any], rule: str) -> None:
    table = shop()
    assert rule in words(table)
    for name, value in spoil.items():
        table.loc[[17] if name != "currency" else range(17, 37), name] = value
    assert rule not in words(table)


def test_rows_that_do_not_fit_the_schema_are_left_aside() -> None:
    rng = np.random.default_rng(4)
    country = rng.choice([*MONEY], ROWS)
    table = pd.DataFrame({"country": country, "currency": [MONEY[one] for one in country]})
    schema = declared(table)
    table.loc[:9, "country"] = " de"  # a review took it for a typing error
    found, notes = suggested(table, schema)
    assert [rule.names for rule in found.rules] == [("currency", "country")]
    assert notes[0].endswith(f"in all {ROWS - 10} rows")


def test_what_may_be_chance_is_not_suggested() -> None:
    rng = np.random.default_rng(0)
    n = 2000
    table = pd.DataFrame(
        {
            "small": rng.integers(0, 4, n),
            "age": rng.integers(18, 90, n),  # small <= age, by their bounds
            "nearly": np.where(np.arange(n) < 2, "b", "a"),  # follows from whatever is fine enough
            "code": rng.integers(0, 900, n),  # few rows each
            "one": np.ones(n, dtype=int),
            "price": rng.lognormal(3, 1, n).round(2),
            "early": pd.Timestamp("2001-01-01") + pd.to_timedelta(rng.integers(0, 90, n), unit="D"),
            "late": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 90, n), unit="D"),
        }
    )
    assert words(table) == []
    table["same"] = table["price"] * table["one"]
    assert words(table) == ["same = price"]
    assert words(shop(99)) == []  # too few rows


def test_a_long_table_is_left_to_be_learned() -> None:
    rng = np.random.default_rng(0)
    code = rng.integers(0, 80, 4000)
    table = pd.DataFrame(
        {"code": [f"k{i}" for i in code], "zone": np.array(list("abcd"))[code % 4]}
    )
    schema, _ = suggested(table, Schema.draft(table))
    (rule,) = schema.rules
    assert isinstance(rule, Function) and rule.table is None and rule.provenance == "drafted"


def test_a_suggested_rule_proves_nothing_until_it_is_declared_with_a_source() -> None:
    table = shop()
    found, _ = suggested(table, declared(table))
    assert not found.drafted
    model = PrivateVine(random_state=0).fit(table, found)
    assert model.ledger_.proved is None
    uses = {use.what for use in model.ledger_.unprotected}
    assert uses == {str(rule) for rule in found.rules}
    bought = Function("a", ("b",), None, provenance="drafted")
    for rule, mark in ((found.rules[0], "declared"), (bought, "private")):
        with pytest.raises(SchemaError, match=rf"provenance .{mark}. does not fit: the rule is ex"):
            replace(rule, provenance=mark)
    sure = tuple(replace(r, provenance="declared", source="the shop's manual") for r in found.rules)
    assert all(rule.draft for rule in sure)
    model = PrivateVine(random_state=0).fit(table, replace(found, rules=sure))
    assert model.ledger_.proved is not None
    # what says something else is no draft any more
    other = rules_from([{**found.rules[0].to_dict(), "tolerance": 1, "provenance": "declared"}])
    assert other[0].draft is None


def test_the_command_suggests_and_an_update_keeps_what_was_reviewed(tmp_path: Path) -> None:
    shop().to_csv(tmp_path / "shop.csv", index=False)
    assert not Schema.from_yaml(run("draft shop.csv", folder=tmp_path).out).rules
    done = run("draft shop.csv --suggest-rules -o s.yaml", folder=tmp_path)
    assert done.code == 0
    assert "suggested rule 'worth = price * items': holds in all 800 rows" in done.said
    first = Schema.read(tmp_path / "s.yaml")
    reviewed = rules_from(
        [
            {"order": ["ordered", "sent"], "gap": {"maximum": "30D"}, "source": "the manual"},
            {"computed": "worth", "as": "items * price"},
        ]
    )
    replace(first, rules=(*reviewed, first.rules[0])).write(tmp_path / "s.yaml")
    assert run("draft shop.csv --update -o s.yaml", folder=tmp_path).code == 0
    assert Schema.read(tmp_path / "s.yaml").rules == (*reviewed, first.rules[0])
    assert run("draft shop.csv --suggest-rules --update -o s.yaml", folder=tmp_path).code == 0
    again = Schema.read(tmp_path / "s.yaml").rules
    assert again[:2] == reviewed
    assert {str(rule) for rule in again[2:]} == {
        str(rule) for rule in first.rules if str(rule) != "worth = price * items"
    }
