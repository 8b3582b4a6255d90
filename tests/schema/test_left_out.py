"""Columns that no model learns from, in the schema, in every generator, on the card."""

from __future__ import annotations

import sys
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from card_models import SCHEMA as DESCRIBED
from card_models import SETTINGS, rows

from copula_shirley import Column, Generator, Schema, SchemaError, SettingError, load, read_table
from copula_shirley.evaluation import evaluate
from copula_shirley.fitted import CHUNK
from copula_shirley.generator import find_generator, generators
from copula_shirley.privacy.card import domain_warnings
from copula_shirley.publish.table_check import against_model
from copula_shirley.publish.verify import Verdict
from copula_shirley.rows.writing import write_table
from copula_shirley.schema.draft import draft_notes
from copula_shirley.schema.schema import LeftOut

NAMES = sorted(set(generators()) - {"real"})
LEFT = (
    LeftOut("email", "its values look like e-mail addresses"),
    LeftOut("no", "numbers of records", "id"),
)
SCHEMA = replace(DESCRIBED, left_out=LEFT)


def table() -> pd.DataFrame:
    """The identifiers stand first and in the middle."""
    made = rows()
    made.insert(0, "no", [4711 + 3 * i for i in range(len(made))])
    made.insert(2, "email", [f"secret{i}@example.org" for i in range(len(made))])
    return made


@pytest.mark.parametrize("name", NAMES)
def test_no_generator_learns_from_them(name: str, tmp_path: Path) -> None:
    settings = SETTINGS.get(name, {}) | {"random_state": 1}
    model = find_generator(name)(**settings).fit(table(), SCHEMA)
    drawn = model.sample(40)
    assert list(drawn.columns) == ["no", "age", "job", "rich"]
    assert drawn["no"].tolist() == list(range(1, 41)) and drawn["no"].dtype == "int64"
    without = find_generator(name)(**settings).fit(rows(), DESCRIBED).sample(40)
    pd.testing.assert_frame_equal(drawn.drop(columns="no"), without)
    model.save(tmp_path / "m")
    again = load(tmp_path / "m")
    assert again.schema_ == SCHEMA and list(again.sample(0).columns) == list(drawn.columns)
    content = (tmp_path / "m").read_bytes()
    assert b"secret" not in content and b"4711" not in content


def test_numbers_go_on_over_chunks_and_start_again() -> None:
    model = find_generator("uniform")().fit(table(), SCHEMA)
    for _ in range(2):
        chunks = list(model.sample_chunks(CHUNK + 3))
        numbers = np.concatenate([chunk["no"] for chunk in chunks])
        assert len(chunks) == 2 and np.array_equal(numbers, np.arange(1, CHUNK + 4))


def test_a_table_may_lack_them() -> None:
    SCHEMA.validate(rows())
    model = find_generator("uniform")().fit(rows(), SCHEMA)
    assert list(model.sample(3).columns) == ["age", "job", "rich", "no"]
    with pytest.raises(SchemaError, match="name it under left_out, or drop it"):
        DESCRIBED.validate(table())


def test_they_come_back_from_yaml() -> None:
    assert Schema.from_yaml(SCHEMA.to_yaml()) == SCHEMA
    short = Schema.from_yaml("left_out: {a: }\ncolumns: {b: {kind: boolean}}")
    assert short.left_out == (LeftOut("a"),)


def test_evaluate_takes_tables_with_them() -> None:
    drawn = find_generator("uniform")(random_state=0).fit(table(), SCHEMA).sample(300)
    figures = evaluate(table(), table(), drawn, SCHEMA, metrics=["ks"], random_state=0)
    assert len(figures) == 1 and figures["value"].between(0, 1).all()
    model = find_generator("dp-histogram")(random_state=0).fit(table())  # drafted, left out too
    assert list(model.sample(5).columns) == ["age", "job", "rich"]


# -- identifiers and fakes ---------------------------------------------------------------

REPLACED = """
person: {column: who, max_rows: 9}
columns:
  no: {kind: id, pattern: "P-{n:04}"}
  email: {kind: fake, fake: email, locale: de_DE}
  who: {kind: id}
  phone: {kind: fake, fake: phone_number}
  note: drop
"""


def replaced() -> Schema:
    described = Schema.from_yaml(REPLACED + "  age: {kind: boolean}")
    return replace(described, columns=DESCRIBED.columns)


@pytest.mark.parametrize("name", NAMES)
def test_all_columns_come_out_and_nothing_of_their_content(name: str, tmp_path: Path) -> None:
    given = table().assign(note="secret", phone="secret", who=np.arange(300) // 2)
    settings = SETTINGS.get(name, {}) | {"random_state": 1}
    model = find_generator(name)(**settings).fit(given, replaced())
    drawn = model.sample(60)
    assert list(drawn.columns) == [column for column in given if column != "note"]
    assert drawn["no"].tolist() == [f"P-{i:04}" for i in range(1, 61)]
    assert drawn["who"].tolist() == list(range(1, 61))
    assert drawn["email"].str.contains("@example.").all() and drawn["phone"].nunique() > 50
    assert "secret" not in drawn.to_csv()
    learnt = replace(replaced(), left_out=())
    without = given.drop(columns=["no", "email", "phone", "note"])
    alone = find_generator(name)(**settings).fit(without, learnt).sample(60)
    pd.testing.assert_frame_equal(drawn[list(alone)], alone)  # nothing else was drawn otherwise
    again = find_generator(name)(**settings).fit(given, replaced()).sample(60)
    pd.testing.assert_frame_equal(drawn, again)
    model.save(tmp_path / "m")
    assert list(load(tmp_path / "m").sample(2, random_state=1)) == list(drawn)


def test_their_values_are_never_read(tmp_path: Path) -> None:
    """Not even what no schema could read."""
    odd: list[Any] = [[1], {"a": 1}, Decimal("sNaN")] * 100
    given = table().assign(note="x", phone=pd.Series(odd), who=1)
    schema = replace(replaced(), person=None)
    find_generator("uniform")().fit(given.drop(columns="who"), schema)
    written = rows().assign(
        email="secret", phone="secret", note="secret", no="secret", who=range(300)
    )
    for kind in ("csv", "parquet"):
        write_table(tmp_path / f"t.{kind}", [written], kind)
        read = read_table(tmp_path / f"t.{kind}", replaced())
        assert list(read.columns) == list(written.columns)
        assert "secret" not in read.to_csv() and read["who"].astype(int).tolist() == list(
            range(300)
        )
        assert read["age"].astype(int).tolist() == written["age"].tolist()


def compared(path: Path, model: Generator) -> Verdict:
    verdict = Verdict(path.name, "table")
    against_model(path, model, None, verdict)
    return verdict


def test_a_table_of_replaced_columns_is_verified(tmp_path: Path) -> None:
    given = table().assign(note="secret", phone="secret", who=np.arange(300))
    model = find_generator("dp-histogram")(5.0).fit(given, replaced())
    for escape in (False, True):
        path = tmp_path / f"{escape}.csv"
        write_table(path, [model.sample(2000)], "csv", escape_formulas=escape)
        verdict = compared(path, model)
        assert not verdict.faults
        assert any("'email' are made up" in text for text in verdict.not_shown)
    changed = model.sample(2000).assign(no="secret")
    write_table(tmp_path / "c.csv", [changed], "csv")
    (fault,) = compared(tmp_path / "c.csv", model).faults
    assert fault.startswith("column 'no' must hold P-0001, P-0002")


WRONG = {
    "{kind: id, pattern: P}": "pattern ('P') must be a text with one {n}",
    "{kind: id, pattern: '{n}{n}'}": "must be a text with one {n}",
    "{kind: id, pattern: '{n.__class__}'}": "must be a text with one {n}",
    "{kind: id, pattern: 7}": "pattern (7) must be a text",
    "{kind: id, fake: name}": "fake ('name') goes with fake, not with id",
    "{kind: fake}": "fake (not given) must be one of name",
    "{kind: fake, fake: seed_instance}": "fake ('seed_instance') must be one of name",
    "{kind: fake, fake: name, locale: german}": "locale ('german') must be such as de_DE",
    "{kind: fake, fake: name, pattern: '{n}'}": "pattern ('{n}') goes with id",
    "{kind: drop, minimum: 3}": "must be a mapping of reason, replace",
    "{kind: id, provenance: private}": "must be declared or drafted",
}


@pytest.mark.parametrize("entry", WRONG)
def test_a_replacement_that_cannot_be_is_one_error(entry: str) -> None:
    with pytest.raises(SchemaError) as caught:
        Schema.from_yaml(f"columns: {{x: {entry}, y: {{kind: boolean}}}}")
    assert str(caught.value).startswith("left_out: column 'x'")
    assert WRONG[entry] in str(caught.value)


def test_fakes_that_cannot_be_made_here_are_refused_before_a_row_is_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def check(locale: str) -> None:
        left = (LeftOut("no", replace="fake", fake="name", locale=locale),)
        find_generator("dp-histogram")().check_settings(replace(DESCRIBED, left_out=left))

    with pytest.raises(SchemaError, match=r"locale \('xx_YY'\) must be one that Faker has"):
        check("xx_YY")
    monkeypatch.setitem(sys.modules, "faker", None)
    with pytest.raises(SettingError, match=r"'no': kind fake needs .*copula-shirley\[fakes\]"):
        check("de_DE")


# -- the card ------------------------------------------------------------------------


def test_the_card_tells_sizes_sources_and_what_was_left_out(tmp_path: Path) -> None:
    age = replace(DESCRIBED["age"], source="census 2019, p. 4")
    columns = (age, DESCRIBED["job"], DESCRIBED["rich"])
    schema = Schema(columns, "who", 3, left_out=LEFT, person_source="ward rules")
    model = find_generator("dp-histogram")(1.0).fit(table().assign(who=range(300)), schema)
    card = model.card()
    assert [c["cells"] for c in card["columns"]] == [73, 3, 2]
    assert [c["source"] for c in card["columns"]] == ["census 2019, p. 4", None, None]
    assert card["person"] == {
        "max_rows": 3, "domain": "declared", "source": "ward rules", "as_drafted": False,
    }  # fmt: skip
    assert card["left_out"][1] == {
        "name": "no", "reason": "numbers of records", "replace": "id", "provenance": "declared",
    }  # fmt: skip
    known = [replace(c, provenance="declared", source="book") for c in Schema.draft(rows())]
    drafted = find_generator("dp-histogram")(1.0).fit(rows(), Schema(tuple(known))).card()
    assert all(c["as_drafted"] for c in drafted["columns"])
    assert "book (the values are exactly those that a draft read off" in drafted.to_html()
    page = card.to_html()
    for text in ("census 2019, p. 4", "source not stated", "ward rules", "e-mail addresses"):
        assert text in page, text
    assert "consecutive numbers, from no row" in page and "secret" not in page
    model.save(tmp_path / "m")
    assert load(tmp_path / "m").card() == card


def test_a_list_as_long_as_the_table_is_warned_of() -> None:
    codes = tuple(f"c{i}" for i in range(40))
    schema = Schema((Column("x", "categorical", codes), Column("y", "categorical", codes, True)))
    assert domain_warnings(schema, 400) == []
    (text,) = domain_warnings(schema, 399)
    assert "'x' has 40 categories" in text and "399" not in text and "c1" not in text
    made = pd.DataFrame({"x": list(codes) * 5, "y": list(codes) * 5})
    card = find_generator("dp-histogram")(1.0).fit(made, schema).card()
    assert card["domain_warnings"] == [text]
    assert "has 40 categories, more than a tenth" in card.to_html()


def test_a_draft_says_of_which_columns_nothing_can_be_learnt() -> None:
    made = pd.DataFrame({"age": [30, 41] * 200, "remark": [None] * 400})
    schema = Schema.draft(made)
    assert [note[:35] for note in draft_notes(made, schema)] == [
        "column 'remark': no row has a value"
    ]
    gone = replace(schema, columns=schema.columns[:1], left_out=(LeftOut("remark"),))
    assert draft_notes(made, gone) == ["column 'remark' is left out: as reviewed"]
