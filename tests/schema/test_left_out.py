"""Columns that no model learns from, in the schema, in every generator, on the card."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from card_models import SCHEMA as DESCRIBED
from card_models import SETTINGS, rows

from copula_shirley import Column, Schema, SchemaError, load
from copula_shirley.evaluation import evaluate
from copula_shirley.fitted import CHUNK
from copula_shirley.generator import find_generator, generators
from copula_shirley.privacy.card import domain_warnings
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
