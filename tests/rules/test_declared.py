"""Rules as a schema declares them: read, written, refused."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tables import STAYS, stays

from copula_shirley import Column, PrivateVine, Schema
from copula_shirley.baselines import DPHistogram, Uniform
from copula_shirley.errors import SchemaError
from copula_shirley.rules.coordinates import Coordinates
from copula_shirley.schema.rule_entries import rules_from
from copula_shirley.schema.rules import Allowed, Computed, Function, Implies, OneHot, Order

COLUMNS = (
    *(Column(name, "integer", minimum=0, maximum=9) for name in ("a", "b", "c")),
    Column("gap", "integer", minimum=0, maximum=9, missing=True),
    *(Column(name, "categorical", categories=("no", "yes")) for name in ("p", "q")),
    Column("day", "datetime", minimum="2020-01-01", maximum="2020-12-31", resolution="1D"),
    Column("late", "integer", minimum=20, maximum=30),
)


def ruled(*rules: dict[str, Any]) -> Schema:
    return Schema(COLUMNS, rules=rules_from(list(rules)))


def test_a_schema_with_rules_is_written_and_read_again() -> None:
    assert Schema.from_yaml(STAYS.to_yaml()) == STAYS
    kinds = [Order, Computed, Function, OneHot, Implies, Implies, Implies, Implies]
    assert [type(rule) for rule in STAYS.rules] == kinds
    more = ruled(
        {"order": ["a", "b", "c"], "gap": [{"minimum": 1}, {"maximum": 3}], "strict": True},
        {"computed": "gap", "as": "a + b", "missing": "all", "tolerance": 1, "source": "p. 4"},
        {"function": "p", "of": ["q", "a"], "table": [["no", 1, "yes"]], "default": "no"},
        {"forbidden": {"columns": ["p", "q"], "rows": [["yes", "yes"]]}, "provenance": "drafted"},
        {"when": {"a": "2..4", "p": ["no", "yes"]}, "then": {"gap": "missing"}},
    )
    assert Schema.from_yaml(more.to_yaml()) == more
    assert isinstance(more.rules[3], Allowed)
    assert "rules" not in Schema(COLUMNS).to_dict()  # old schemas stay as they are


def test_a_table_can_stand_in_a_file_beside_the_schema(tmp_path: Path) -> None:
    (tmp_path / "money.csv").write_text("country,currency\nDE,EUR\nFR,EUR\nUS,USD\n")
    text = STAYS.to_yaml().replace("table: {DE: EUR, FR: EUR, US: USD}", "table: {file: money.csv}")
    (tmp_path / "s.yaml").write_text(text)
    assert Schema.read(tmp_path / "s.yaml") == STAYS
    (tmp_path / "s.yaml").write_text(text.replace("money.csv", "../money.csv"))
    with pytest.raises(SchemaError, match=r"table .'../money.csv'. must name a file beside"):
        Schema.read(tmp_path / "s.yaml")
    (tmp_path / "s.yaml").write_text(text)
    (tmp_path / "money.csv").write_text("land,currency\nDE,EUR\n")
    with pytest.raises(SchemaError, match=r"money.csv.* with the columns country, currency"):
        Schema.read(tmp_path / "s.yaml")


@pytest.mark.parametrize(
    ("rules", "words"),
    [
        ("a <= b", "must be a list of rules"),
        ([{"a": 1}], "entry 1: .* must have one of the entries order, computed"),
        ([{"order": ["a", "b"], "gaps": 1}], "unknown entry .'gaps'.; known are order, gap"),
        ([{"order": ["a"]}], "must name two or more different columns"),
        ([{"order": ["a", "b"], "gap": [{}, {}]}], "gap must have 1 entries"),
        ([{"order": ["a", "b"], "gap": {"most": 1}}], "entries minimum and maximum"),
        ([{"order": ["a", "b"], "strict": "yes"}], "must be true or false"),
        ([{"order": ["a", {}]}], "must name a column"),
        ([{"computed": "a", "as": "a + 1"}], "cannot be computed from itself"),
        ([{"computed": "a"}], "as .not given. must be an expression"),
        ([{"computed": "a", "as": "min(b", "c)": None}], "quote a text with a comma in { }"),
        ([{"computed": "a", "as": "b", "tolerance": -1}], "must be a number from 0"),
        ([{"computed": "a", "as": "b", "missing": "some"}], "must be any or all"),
        ([{"function": "a", "of": ["b"], "table": 7}], "must map values to values"),
        ([{"function": "a", "of": ["b"], "table": {}}], "table must have 1 to"),
        ([{"function": "a", "of": ["a"], "table": {1: 1}}], "of must name other columns"),
        ([{"function": "a", "of": ["b", "c"], "table": [[1, 2]]}], "must hold b, c, a"),
        ([{"one_hot": ["a", "b"], "exactly": 2}], "exactly: 1"),
        ([{"allowed": {"columns": ["a"], "rows": []}}], "rows must hold 1 to"),
        ([{"allowed": {"columns": ["a"], "rows": [[1, 2]]}}], "must have a value for each"),
        ([{"allowed": [1]}], "must have the entries columns"),
        ([{"when": {"a": 1}}], "then .not given. must map columns"),
        ([{"when": {"a": 1}, "then": {"b": 1}, "provenance": "private"}], "declared or drafted"),
        ([{"order": [["a"], "b"]}], "must name a column"),
        ([{"order": ["a", "a"]}], "must name two or more different columns"),
        ([{"one_hot": ["a"]}], "must name two or more different columns"),
        ([{"order": ["a", "b"], "computed": "a", "as": "b"}], "must have one of the entries order"),
        ([{"computed": "a", "as": "b.real"}], "holds what no rule may"),
        ([{"computed": "a", "as": "2 + 3"}], "must name a column"),
        ([{"function": "a", "of": [], "table": "learned"}], "of must name other columns"),
        (
            [{"function": "a", "of": "b", "table": "learned", "share": 2}],
            "share .2. must be a part",
        ),
        ([{"function": "a", "of": "b", "table": [[1, 2], [1, 3]]}], "names the same values twice"),
        ([{"when": {}, "then": {"b": 1}}], "when .{}. must map columns"),
        ([{"when": {"a": 1}, "then": {"b": 1}, "source": 7}], "source .7. must be a printable"),
        ([{"constant": ["a"]}], "the same in all rows of a person"),
        ([{"order": ["a", "b\x1b[2K"]}], "control character"),
    ],
)
def test_faults_of_an_entry(rules: Any, words: str) -> None:
    with pytest.raises(SchemaError, match=words):
        rules_from(rules)


@pytest.mark.parametrize(
    ("rules", "words"),
    [
        ([{"order": ["a", "p"]}], "column 'p' must hold numbers, dates or durations"),
        ([{"order": ["a", "day"]}], "all columns must be numbers, or all dates"),
        ([{"order": ["late", "a"]}], "no row of the declared domains can keep it"),
        ([{"order": ["a", "b"], "gap": {"minimum": 3, "maximum": 2}}], "nothing between them"),
        ([{"order": ["a", "b"], "gap": {"minimum": "3D"}}], "gap .'3D'. must be a number"),
        ([{"order": ["a", "b"], "gap": {"minimum": -1}}], "must be 0 or more"),
        ([{"computed": "a", "as": "day - day"}], None),
        ([{"computed": "a", "as": "day + 1"}], "result is a date, but the column holds a number"),
        ([{"computed": "day", "as": "a"}], "result is a number, but the column holds a date"),
        ([{"computed": "a", "as": "p + 1"}], "column 'p' must hold numbers"),
        (
            [{"computed": "a", "as": "b"}, {"computed": "a", "as": "c"}],
            "column 'a' is derived by 'a = b', too",
        ),
        (
            [
                {"computed": "a", "as": "b"},
                {"computed": "b", "as": "c"},
                {"computed": "c", "as": "a"},
            ],
            "in a cycle by the rules 'a = b'; 'b = c'; 'c = a'",
        ),
        ([{"function": "p", "of": ["q"], "table": {"no": "yes"}}], "give a default"),
        ([{"function": "p", "of": ["q"], "table": {"no": "x", "yes": "no"}}], "p .'x'. must be in"),
        ([{"one_hot": ["a", "p"]}], "column 'a' must be boolean, 0 and 1, or two"),
        ([{"one_hot": ["p", "gap"]}], "must not have missing values"),
        ([{"when": {"p": "maybe"}, "then": {"q": "no"}}], "p .'maybe'. must be in its domain"),
        ([{"when": {"a": "5..2"}, "then": {"q": "no"}}], "lower end first"),
        ([{"when": {"p": "no"}, "then": {"a": "50..60"}}], "a .'50..60'. holds nothing of 0 to 9"),
        ([{"when": {"p": {"x": 1}}, "then": {"q": "no"}}], "must be a single value"),
        (
            [{"function": "p", "of": "q", "table": "learned", "default": "x"}],
            "must be in its domain",
        ),
        ([{"order": ["a", "b"], "gap": {"minimum": 50}}], "no row of the declared domains"),
        ([{"order": ["a", "b"], "gap": {"maximum": float("inf")}}], "gap .inf. must be a number"),
        ([{"when": {"a": []}, "then": {"q": "no"}}], "must name a value"),
        ([{"when": {"a": 1}, "then": {"q": "missing"}}], "cannot be missing: declare"),
        (
            [
                {"forbidden": {"columns": ["p"], "rows": [["no"]]}},
                {"when": {"p": "yes"}, "then": {"q": "no"}},
                {"when": {"p": "yes"}, "then": {"q": "yes"}},
            ],
            "no combination of the declared values can keep it",
        ),
    ],
)
def test_rules_that_do_not_fit_their_columns_are_refused(
    rules: list[dict[str, Any]], words: str | None
) -> None:
    if words is None:
        Coordinates.of(ruled(*rules))
        return
    with pytest.raises(SchemaError, match=words):
        Uniform().check_settings(ruled(*rules))


def test_rules_are_about_columns_of_the_model() -> None:
    with pytest.raises(SchemaError, match="rule 'a <= x': column 'x' is not among the columns"):
        ruled({"order": ["a", "x"]})
    with pytest.raises(SchemaError, match=r"on_broken .'mend'. must be one of refuse"):
        replace(STAYS, on_broken="mend")


def test_a_target_is_never_derived() -> None:
    with pytest.raises(SchemaError, match=r"currency .*target .'currency'. must be modelled"):
        PrivateVine(target="currency").check_settings(STAYS)
    # where another column can be derived, that one is
    kept = PrivateVine(target="pregnant").coordinates(STAYS).modelled
    assert {"sex", "pregnant"} <= set(kept.names)


def test_dropping_rows_needs_a_private_number_of_them() -> None:
    dropping = replace(STAYS, on_broken="drop")
    DPHistogram(neighbours="add-remove").check_settings(dropping)
    with pytest.raises(SchemaError, match=r"on_broken .drop. must be refuse or repair"):
        DPHistogram(neighbours="replace-one").check_settings(dropping)


def test_a_domain_that_is_bought_has_no_rules() -> None:
    columns = [replace(c, provenance="drafted") if c.name == "age" else c for c in STAYS]
    with pytest.raises(SchemaError, match="column 'age': its domain cannot be measured"):
        PrivateVine(domain="measured").fit(stays(), replace(STAYS, columns=tuple(columns)))


def test_drafted_rules_prove_nothing() -> None:
    drafted = replace(STAYS, rules=(replace(STAYS.rules[0], provenance="drafted"),))
    model = PrivateVine(random_state=0)
    assert "rules ('admission <= discharge') were drafted" in model.unproved(drafted)[0]
    model.fit(stays(), drafted)
    assert model.ledger_.proved is None
    assert "found in the rows" in model.ledger_.unprotected[0].why
