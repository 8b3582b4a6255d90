"""Synthetic people with several rows: constants are exact, and all else is of her own rows."""

from __future__ import annotations

from dataclasses import replace
from itertools import chain, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tables import fitted

from copula_shirley import Column, PrivateVine, Schema, load
from copula_shirley.baselines import DPHistogram
from copula_shirley.baselines.reference import Real, Uniform
from copula_shirley.errors import SchemaError, SettingError
from copula_shirley.evaluation import evaluate, verdict
from copula_shirley.evaluation.contract import check_generator
from copula_shirley.evaluation.contract.tables import town
from copula_shirley.experiments.benchmarks.two_levels import SCHEMA, patients, two_levels
from copula_shirley.generator import generators
from copula_shirley.privacy.card import Card
from copula_shirley.publish.outputs import card_path
from copula_shirley.publish.pages import write_page
from copula_shirley.publish.verify import verify_file
from copula_shirley.rows.writing import write_table
from copula_shirley.rules.check import numbers_of
from copula_shirley.rules.coordinates import Coordinates
from copula_shirley.rules.grouping import grouped
from copula_shirley.schema.draft import draft_notes, summary
from copula_shirley.tasks import check

SMALL = Schema.from_yaml(
    """
person: {column: who, max_rows: 3}
columns:
  sex: {kind: categorical, categories: [F, M], per: person}
  born: {kind: integer, minimum: 1900, maximum: 2000, missing: true, per: person}
  year: {kind: integer, minimum: 1900, maximum: 2020}
  age: {kind: integer, minimum: 0, maximum: 120, missing: true}
rules:
  - {order: [born, year]}
  - {computed: age, as: year - born}
"""
)


def small(**changes: Any) -> pd.DataFrame:
    """Ann has three rows, Bob two, Cid one."""
    table = pd.DataFrame(
        {
            "who": ["ann", "bob", "ann", "cid", "bob", "ann"],
            "sex": ["F", "M", "F", "M", "M", "F"],
            "born": [1950, 1960, 1950, None, 1960, 1950],
            "year": [1970, 1980, 1990, 2000, 2010, 2020],
        }
    ).assign(**changes)
    return table.assign(age=table["year"] - table["born"])


# -- what a schema says --------------------------------------------------------------------


def test_a_schema_with_people_goes_to_yaml_and_back() -> None:
    named = Schema.from_yaml(
        """
person: {column: who, max_rows: 3}
columns:
  who: {kind: id, pattern: "P-{n:03}"}
  name: {kind: fake, fake: name, per: person}
  sex: {kind: categorical, categories: [F, M], per: person}
  x: {kind: boolean}
"""
    )
    for schema in (SMALL, named, SCHEMA):
        assert Schema.from_yaml(schema.to_yaml()) == schema
    assert (SMALL.constants, named.constants) == (("sex", "born"), ("sex",))
    assert named.once == {"who", "name"} and list(SMALL.replaced) == ["who"]
    assert SMALL.synthetic_names(small().columns) == ["who", "sex", "born", "year", "age"]


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ("x: {kind: boolean, per: person}", r"column 'x': per .person. needs a column that says"),
        ("x: {kind: boolean, per: stay}", r"per .'stay'. must be person, or be left out"),
        ("y: {kind: drop, per: person}, x: {kind: boolean}", r"per .'person'. must be person, of"),
        ("y: {kind: id, per: person}, x: {kind: boolean}", r"column 'y': per .person. needs"),
    ],
)
def test_people_without_a_column_that_names_them_are_refused(columns: str, words: str) -> None:
    with pytest.raises(SchemaError, match=words):
        Schema.from_yaml(f"columns: {{{columns}}}")


def test_a_made_up_name_tells_nobody_apart() -> None:
    text = """
person: {column: who}
columns: {who: {kind: fake, fake: name}, x: {kind: boolean, per: person}}
"""
    with pytest.raises(SchemaError, match=r"'who': replace .fake. must be id, since column 'x'"):
        Schema.from_yaml(text)


def test_what_varies_gives_no_constant() -> None:
    columns = tuple(replace(c, per="person") if c.name == "age" else c for c in SMALL)
    words = "age is the same in all rows of a who.*from 'year', which is not per: person"
    with pytest.raises(SchemaError, match=words):
        Uniform().check_settings(replace(SMALL, columns=columns))


def test_the_domain_of_a_constant_is_not_bought() -> None:
    columns = [replace(c, provenance="drafted") if c.name == "sex" else c for c in SMALL]
    with pytest.raises(SchemaError, match="'sex': its domain cannot be measured"):
        PrivateVine(domain="measured").check_settings(replace(SMALL, columns=tuple(columns)))


# -- rows that enter -----------------------------------------------------------------------


def entered(table: pd.DataFrame, on_broken: str = "refuse") -> pd.DataFrame:
    coordinates = Coordinates.of(replace(SMALL, on_broken=on_broken))
    return coordinates.entered(coordinates.enforced(table))


def test_each_row_says_how_many_rows_its_person_has() -> None:
    coordinates = Coordinates.of(SMALL)
    assert coordinates.modelled["rows of who"].domain.number_range == (1.0, 3.0)
    assert not coordinates.modelled.per_person and coordinates.modelled.person == "who"
    assert entered(small())["rows of who"].tolist() == [3, 2, 3, 1, 2, 3]
    alone = replace(SMALL, max_rows=1)
    assert "rows of who" not in Coordinates.of(alone).modelled.names


UNLIKE = {"sex": ["F", "F", "M", "M", "M", "F"], "born": [None, 1960, 1950, None, 1960, 1960]}


def test_a_constant_that_varies_is_refused_by_name_alone() -> None:
    with pytest.raises(SchemaError) as caught:
        entered(small(**UNLIKE))
    text = str(caught.value)
    assert "'sex is the same in all rows of a who'" in text and "'born is the same" in text
    assert not any(word in text for word in ("ann", "bob", "1950", "1960", "2 ", "3 "))


def test_a_constant_that_varies_becomes_the_first_known_one() -> None:
    coordinates = Coordinates.of(SMALL)
    rows = numbers_of(entered(small(**UNLIKE), "repair"), {c.name: c for c in coordinates.modelled})
    found, good = coordinates.left(rows)
    assert good.all()
    assert found["sex"].tolist() == [0, 0, 0, 1, 0, 0]
    assert found["born"].tolist() == [1950, 1960, 1950, -np.inf, 1960, 1950]


def test_rows_that_differ_from_the_first_known_value_are_dropped() -> None:
    found = entered(small(**UNLIKE), "drop")  # ann keeps none: F, M, F; gap, 1950, 1960
    assert found.index.tolist() == [1, 3]
    assert found["rows of who"].tolist() == [1, 1]
    dropping = replace(SMALL, on_broken="drop", rules=())
    with pytest.raises(SchemaError, match=r"on_broken .drop. must be refuse or repair"):
        DPHistogram(neighbours="replace-one").check_settings(dropping)


@pytest.mark.parametrize("on_broken", ["repair", "drop"])
def test_rows_of_one_person_change_nothing_for_others(on_broken: str) -> None:
    table = small(**UNLIKE)
    before = entered(table, on_broken)
    for who in ("ann", "bob", "cid"):
        others = table["who"] != who
        after = entered(table[others], on_broken)
        pd.testing.assert_frame_equal(before[before["who"] != who], after)
        changed = table.assign(
            sex=table["sex"].where(others, "M"), born=table["born"].where(others)
        )
        after = entered(changed.assign(age=changed["year"] - changed["born"]), on_broken)
        rest = after["who"] != who
        pd.testing.assert_frame_equal(before[before["who"] != who], after[rest])


# -- rows that are put together --------------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.integers(1, 5), min_size=1, max_size=200),
    st.integers(1, 3),
    st.integers(0, 9),
)
def test_every_row_is_used_once_and_sizes_follow_the_rows(
    sizes: list[int], columns: int, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    near = [rng.integers(0, 9, len(sizes)).astype(float) for _ in range(columns)]
    order, starts = grouped(np.array(sizes, dtype=float), near, [1.0] * columns, rng)
    assert len(set(order.tolist())) == len(order) == starts[-1] and starts[0] == 0
    assert len(sizes) - len(order) < max(sizes)
    counts = np.diff(starts)
    assert (counts > 0).all()
    if len(sizes) >= max(sizes):
        assert set(counts.tolist()) <= set(sizes)


def test_people_have_as_many_rows_as_their_rows_say_and_near_constants() -> None:
    rng = np.random.default_rng(0)
    sizes = np.repeat([1.0, 2.0, 4.0], [400, 800, 1600])
    kind = rng.integers(0, 2, len(sizes)).astype(float)
    height = rng.random(len(sizes))
    order, starts = grouped(sizes, [kind, height], [1.0, 1.0], rng)
    people = [order[a:b] for a, b in pairwise(starts)]
    assert np.unique(np.diff(starts), return_counts=True)[1].tolist() == [400, 400, 400]
    assert all((sizes[rows] == len(rows)).all() for rows in people)
    mixed = sum(len(set(kind[rows])) > 1 for rows in people)
    spread = np.mean([np.ptp(height[rows]) for rows in people if len(rows) > 1])
    assert mixed < 10 and spread < 0.02  # of two halves, and of 0.4 by chance


def test_constants_on_which_nothing_depends_are_matched_last() -> None:
    rng = np.random.default_rng(0)
    who = np.repeat(np.arange(1000), 3)
    constants = rng.random((8, 1000))[:, who].round(1)  # a tenth is nobody's own
    table = pd.DataFrame(dict(zip("abcdefgh", constants, strict=True))).assign(who=who)
    table["x"] = (table["a"] + rng.normal(0, 0.1, len(table))).clip(-1, 2)
    columns = [Column(n, "continuous", minimum=-1, maximum=2) for n in "abcdefghx"]
    own = [replace(c, per=None if c.name == "x" else "person") for c in columns]
    schema = Schema(tuple(own), "who", 3)
    drawn = Real(random_state=0).fit(table, schema).sample()
    found = [t["a"].corr(t["x"], method="spearman") for t in (table, drawn)]
    assert found[0] > 0.9 and abs(found[1] - found[0]) < 0.005


# -- rows that leave -------------------------------------------------------------------------


def whole(drawn: pd.DataFrame, schema: Schema = SCHEMA) -> None:
    """Rows fit the schema, and keep all rules, those of people included."""
    schema.validate(drawn)
    found = Coordinates.of(schema).broken(drawn)
    assert not {str(rule.rule): int(rows.sum()) for rule, rows in found if rows.any()}


@pytest.mark.parametrize("name", sorted(generators()))
def test_every_generator_draws_people(name: str, tmp_path: Path) -> None:
    extra: dict[str, Any] = {"target": "emergency"} if name == "copula-shirley" else {}
    table = patients(300)
    model = fitted(name, table, SCHEMA, random_state=0, **extra)
    drawn = model.sample(500)
    assert list(drawn.columns) == list(table.columns) and len(drawn) == 500
    whole(drawn)
    # said once more in words of pandas
    facts = two_levels(table, drawn)
    assert facts["patients with two values of a constant"] == facts["rows that break a rule"] == 0
    ids = drawn["patient"].drop_duplicates()
    assert ids.tolist() == [f"P-{n:06}" for n in range(1, len(ids) + 1)]
    assert drawn["patient"].is_monotonic_increasing and len(ids) < 450
    stays = drawn.groupby("patient")["admission"]
    assert stays.apply(lambda dates: dates.is_monotonic_increasing).all()
    if model.publishable:
        model.save(tmp_path / "model")
        again = load(tmp_path / "model")
        assert again.table_schema_ == SCHEMA
        pd.testing.assert_frame_equal(
            again.sample(20, random_state=1), model.sample(20, random_state=1)
        )


def test_numbers_of_rows_and_who_has_many_are_those_of_the_model() -> None:
    table = patients(4000)
    facts = two_levels(table, Real(random_state=0).fit(table, SCHEMA).sample())
    assert facts["rows per patient, total variation"] < 0.02
    real, drawn = (facts[f"rank correlation of rows and birth, {x}"] for x in ("real", "synthetic"))
    assert real < -0.4 and abs(drawn - real) < 0.05


def test_what_follows_from_a_constant_is_derived_anew() -> None:
    rng = np.random.default_rng(0)
    who = np.repeat(np.arange(200), 3)
    born, year = rng.integers(1900, 2000, 200)[who], rng.integers(2000, 2021, 600)
    table = pd.DataFrame({"who": who, "sex": rng.choice(["F", "M"], 200)[who], "born": born})
    table = table.assign(year=year, age=year - born)
    drawn = Uniform(random_state=0).fit(table, SMALL).sample(400)
    whole(drawn, SMALL)
    known = drawn["born"].notna()
    assert (drawn["age"] == drawn["year"] - drawn["born"])[known].all() and known.sum() > 300
    several = drawn.groupby("who")["year"].nunique()
    assert (several > 1).sum() > 50  # rows of a person are not one row repeated


def test_people_without_constants_have_rows_and_fakes_of_their_own() -> None:
    pytest.importorskip("faker")
    schema = Schema.from_yaml(
        """
person: {column: who, max_rows: 3}
columns:
  who: {kind: id, per: person}
  row: {kind: id}
  name: {kind: fake, fake: uuid4, per: person}
  x: {kind: boolean}
"""
    )
    table = pd.DataFrame({"who": [1, 1, 2, 3, 3, 3] * 9, "row": 0, "name": "", "x": True})
    table["who"] += 10 * (np.arange(54) // 6)
    drawn = Real(random_state=0).fit(table, schema).sample(54)
    assert drawn["row"].tolist() == list(range(1, 55))
    assert drawn.groupby("who")["name"].nunique().max() == 1
    assert drawn["name"].nunique() == drawn["who"].nunique()
    sizes = drawn.groupby("who").size().value_counts()
    assert sizes.index.max() == 3 and sizes.sum() == pytest.approx(27, abs=2)


def test_identifiers_go_on_from_chunk_to_chunk(monkeypatch: pytest.MonkeyPatch) -> None:
    model = fitted("uniform", patients(50), SCHEMA, random_state=0)
    monkeypatch.setattr("copula_shirley.fitted.CHUNK", 40)
    chunks = list(model.sample_chunks(100, random_state=0))
    assert [len(chunk) for chunk in chunks] == [40, 40, 20]
    ids = [chunk["patient"].unique().tolist() for chunk in chunks]
    assert [*chain(*ids)] == [f"P-{n:06}" for n in range(1, sum(map(len, ids)) + 1)]
    whole(pd.concat(chunks, ignore_index=True))


def test_conditions_hold_for_a_person_or_choose_her_rows() -> None:
    model = fitted("private-vine", patients(2000), SCHEMA, random_state=0, epsilon=8.0)
    plain = model.sample(3000, random_state=0)
    women = model.sample(3000, random_state=0, given={"sex": "F"})
    assert set(women["sex"]) == {"F"}
    ward = model.sample(1000, random_state=0, given={"ward": "surgery", "sex": "M"})
    assert set(ward["ward"]) == {"surgery"} and set(ward["sex"]) == {"M"} and len(ward) == 1000
    for drawn in (women, ward):
        whole(drawn)

    def each(table: pd.DataFrame) -> float:
        return float(table.groupby("patient").size().mean())

    # people keep all their rows under a condition on a constant, and some under another
    assert each(women) > 0.85 * each(plain) and each(ward) < 0.75 * each(plain)
    with pytest.raises(SettingError, match="fewer than"):
        model.sample(5, given={"admission": ("2019-01-01", "2019-01-02")})


# -- what is said of it ------------------------------------------------------------------------


def test_check_shows_people_whose_rows_differ() -> None:
    found = {f.problem: (f.rows, f.lines) for f in check(small(**UNLIKE), SMALL)}
    assert found["sex is the same in all rows of a who"] == (2, (3, 5))
    assert found["born is the same in all rows of a who"] == (2, (1, 6))
    assert not check(small(), SMALL)


def test_drafts_propose_what_is_the_same_in_all_rows_of_a_person() -> None:
    table = patients(300)
    head = summary(table, Schema.draft(table, person="patient"), {})
    proposed = [line.split()[1] for line in head.splitlines() if "'per: person'?" in line]
    assert proposed == ["sex", "birth_date", "region"]
    alone = table.drop_duplicates("patient")
    assert "per: person" not in summary(alone, Schema.draft(alone, person="patient"), {})
    drafted = Schema.draft(table, person="patient")
    (said,) = [note for note in draft_notes(table, drafted) if "per: person" in note]
    assert said.startswith("the same in all rows of each patient: 'sex', 'birth_date', 'region'. ")
    every = [replace(c, per="person" if c.name in proposed else None) for c in drafted]
    told = replace(drafted, columns=tuple(every))
    assert "per: person" not in " ".join([summary(table, told, {}), *draft_notes(table, told)])


def test_scores_know_people() -> None:
    real, drawn = small(), small(sex=["F", "M", "M", "M", "M", "F"])
    names = ["validity", "rows_per_person", "rows_per_person_drift"]
    frame = evaluate(real, real, drawn, SMALL, metrics=names).set_index("metric")
    rules = frame.loc["validity", "detail"]["rules"]
    assert rules["sex is the same in all rows of a who"] == pytest.approx(5 / 6)
    assert rules["at most 3 rows of a who"] == 1
    assert frame.loc["rows_per_person", "value"] == 0
    alone = real.assign(who=range(6))
    frame = evaluate(real, real, alone, SMALL, metrics=names).set_index("metric")
    # a third of the people each have 1, 2 and 3 rows; in the other table all have 1
    assert frame.loc["rows_per_person", "value"] == pytest.approx(2 / 3)
    means = frame.loc["rows_per_person", "detail"]["means"]
    assert means == {"test": 2.0, "synthetic": 1.0}
    line = {"metric": "rows_per_person", **frame.loc["rows_per_person"].to_dict()}
    assert verdict(line) == "1.00 rows a person, of real rows 2.00"
    # born: missing, 1960, 1950 with 1, 2 and 3 rows: ranks 1, 3, 2; then no correlation
    assert frame.loc["rows_per_person_drift", "value"] == pytest.approx(0.5)
    bare = drawn.drop(columns="who")
    (line,) = evaluate(real, real, bare, SMALL, metrics=["validity"]).to_dict("records")
    assert line["detail"]["note"] == "no column 'who': rows of a person were not compared"
    with pytest.raises(SettingError, match="needs a schema with columns per: person, and"):
        evaluate(real, real, bare, SMALL, metrics=["rows_per_person"])


def bent(drawn: pd.DataFrame, fault: str) -> pd.DataFrame:
    table = drawn.copy()
    several = table["patient"].duplicated()
    first = int(np.flatnonzero(several)[0])
    if fault == "constant":
        table.loc[first, "sex"] = {"F": "M", "M": "F"}[str(table.loc[first, "sex"])]
        table["ward"] = "internal"
    if fault == "crowd":
        table["patient"] = "P-000001"
    if fault == "stranger":
        table.loc[table["patient"] == "P-000002", "patient"] = "P-777777"
    return table


def test_verify_looks_at_people(tmp_path: Path) -> None:
    model = fitted("dp-histogram", patients(1000), SCHEMA, random_state=0)
    model.save(tmp_path / "model")
    drawn = model.sample(2000)
    told = {
        "good": "every row keeps the 6 rules of the schema",
        "constant": "1 rows break the rule 'sex is the same in all rows of a patient'",
        "crowd": "2,000 rows are of people with more rows than max_rows (6)",
        "stranger": "column 'patient' must hold P-000001, P-000002, ...",
    }
    for fault, words in told.items():
        path = tmp_path / f"{fault}.csv"
        write_table(path, [bent(drawn, fault)], "csv")
        write_page(card_path(path), model.card(), path.name, path)
        found = verify_file(path, model=tmp_path / "model")
        assert found.fits == (fault == "good"), found.faults
        assert any(words in text for text in (*found.passed, *found.faults)), found


def test_plans_and_cards_tell_people() -> None:
    (note,) = (n for n in PrivateVine().plan(SCHEMA, 20_000).notes if "rows of patient" in n)
    assert note.startswith("sex, birth_date, region: drawn once a patient. How many rows")
    card = fitted("uniform", small(), SMALL).card()
    ways = {rule["rule"]: rule["kept_by"] for rule in card["rules"]}
    assert ways["sex is the same in all rows of a who"] == "drawing once a person"
    assert "drawing once a person" in card.to_html()
    assert Card.from_dict(card.to_dict()) == card


# -- privacy -------------------------------------------------------------------------------------


def two_level_town(on_broken: str) -> tuple[pd.DataFrame, Schema]:
    """The table of the contract, in which constants of a person differ where they are repaired."""
    case = town(people=True)
    constant = ("job", "day", "pay")
    columns = (replace(c, per="person") if c.name in constant else c for c in case.schema)
    table = case.table
    if on_broken == "refuse":
        firsts = table.groupby("who")[list(constant)].transform("first")
        table = table.assign(**{name: firsts[name] for name in constant})
    return table, replace(case.schema, columns=tuple(columns), on_broken=on_broken)


@pytest.mark.parametrize(
    ("kind", "on_broken"),
    [
        (PrivateVine, "refuse"),
        (DPHistogram, "repair"),
        pytest.param(PrivateVine, "repair", marks=pytest.mark.slow),
        pytest.param(PrivateVine, "drop", marks=pytest.mark.slow),
    ],
)
def test_people_enter_a_model_through_noisy_answers_alone(kind: Any, on_broken: str) -> None:
    """Record and replay: no neighbour shows in anything but what noise covers."""
    table, schema = two_level_town(on_broken)
    only = ("person", "replay", "cost", "dtypes", "messages", "no row in the model")
    report = check_generator(kind, table=table, schema=schema, only=only, neighbours="add-remove")
    assert {outcome.status for outcome in report.outcomes} == {"passed"}, report


def test_the_column_of_rows_is_counted_with_the_noise_of_a_person() -> None:
    table, schema = two_level_town("refuse")
    model = PrivateVine(1.0, random_state=0).fit(table, schema)
    assert (model.ledger_.unit, model.ledger_.rows_per_unit) == ("person", 3)
    assert "rows of who" in model.schema_.names and "rows of who" not in model.ledger_.domains
    assert model.ledger_.proved is not None
    column = Column("rows of who", "integer", minimum=1, maximum=3)
    assert model.schema_["rows of who"] == column
