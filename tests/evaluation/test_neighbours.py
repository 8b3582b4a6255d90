"""Pairs that an audit uses really are neighbours, and nothing else passes for one."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from tables import whole_numbers

from copula_shirley import Schema, SchemaError
from copula_shirley.errors import SettingError
from copula_shirley.evaluation.audit.neighbours import Canaries, Pair, check_neighbours
from copula_shirley.evaluation.audit.pairs import PAIRS, built_in, read_pair
from copula_shirley.privacy.ledger import NEIGHBOURS


def rows_of(table: pd.DataFrame) -> Counter[str]:
    """Rows as plain text, by a way of their own."""
    return Counter(",".join(map(str, row)) for row in table.astype(object).itertuples(index=False))


@pytest.mark.parametrize("relation", NEIGHBOURS)
@pytest.mark.parametrize("name", [n for n in PAIRS if "canar" not in n and n != "questions"])
def test_built_in_pairs_are_neighbours(name: str, relation: str) -> None:
    pair = built_in(name, relation)
    first, second = (rows_of(table.convert_dtypes()) for table in pair.tables)
    rows = 3 if name == "person" else 1
    assert sum((first - second).values()) == rows
    assert sum((second - first).values()) == (rows if relation == "replace-one" else 0)
    assert len(pair.differing) == (2 * rows if relation == "replace-one" else rows)
    for table in pair.tables:
        pair.schema.validate(table)
        assert 3 <= len(table.columns) <= 6 and 50 <= len(table) <= 200
    assert pair.schema.drafted == ()


@pytest.mark.parametrize("relation", NEIGHBOURS)
@pytest.mark.parametrize("name", ["canaries", "canary-people"])
def test_tables_of_canaries_are_neighbours_if_one_coin_differs(name: str, relation: str) -> None:
    tested = built_in(name, relation)
    assert isinstance(tested, Canaries) and tested.count == 400
    coins = np.random.default_rng(0).random(tested.count) < 0.5
    table = tested.drawn(coins)
    for i in (0, 211, 399):
        other = coins.copy()
        other[i] = not other[i]
        check_neighbours(table, tested.drawn(other), tested.schema, relation, tested.unit)
        other[i - 1] = not other[i - 1]
        with pytest.raises(SettingError, match="must be neighbours"):
            check_neighbours(table, tested.drawn(other), tested.schema, relation, tested.unit)


def test_the_tree_flipping_table_is_symmetric_without_its_record() -> None:
    pair = built_in("tree-flip", "add-remove")
    exchanged = pair.second.rename(columns={"b": "c", "c": "b"})[["a", "b", "c"]]
    assert rows_of(pair.second) == rows_of(exchanged)
    before, after = (t.corr("spearman") for t in (pair.second, pair.first))
    assert before.loc["a", "b"] == pytest.approx(before.loc["a", "c"])
    assert after.loc["a", "b"] - after.loc["a", "c"] > 0.05


SCHEMA = whole_numbers("x", 9)
PEOPLE = Schema(SCHEMA.columns, person="who", max_rows=2)


def numbers(*values: int) -> pd.DataFrame:
    return pd.DataFrame({"x": list(values)})


def people(*rows: tuple[str, int]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=["who", "x"])


@pytest.mark.parametrize(
    ("first", "second", "relation"),
    [
        (numbers(1, 2), numbers(1, 2), "add-remove"),
        (numbers(1, 2), numbers(2, 1), "replace-one"),
        (numbers(1, 2, 3), numbers(1), "add-remove"),
        (numbers(1, 2, 2), numbers(1, 1, 2, 2, 2), "add-remove"),
        (numbers(1, 2), numbers(1, 3), "add-remove"),
        (numbers(1, 2), numbers(1), "replace-one"),
        (numbers(1, 2, 2), numbers(1, 3, 4), "replace-one"),
    ],
)
def test_others_are_refused(first: pd.DataFrame, second: pd.DataFrame, relation: str) -> None:
    with pytest.raises(SettingError, match=f"neighbours by {relation}"):
        Pair("mine", first, second, SCHEMA, relation)


def test_the_order_of_rows_does_not_count() -> None:
    Pair("mine", numbers(3, 1, 2), numbers(2, 3), SCHEMA, "add-remove")
    pair = Pair("mine", numbers(3, 1, 2), numbers(2, 4, 3), SCHEMA, "replace-one")
    assert pair.differing["x"].tolist() == [1, 4]


def test_a_person_may_bring_several_rows() -> None:
    base = (("a", 1), ("a", 2), ("b", 3))
    more, other = people(*base, ("c", 5), ("c", 5)), people(*base, ("d", 7))
    Pair("mine", more, people(*base), PEOPLE, "add-remove", "person")
    Pair("mine", more, other, PEOPLE, "replace-one", "person")
    two = people(*base, ("c", 5), ("d", 7))
    with pytest.raises(SettingError, match="2 persons are only in the first"):
        Pair("mine", two, people(*base), PEOPLE, "add-remove", "person")
    with pytest.raises(SettingError, match="2 rows are only in the first"):
        Pair("mine", more, people(*base), PEOPLE, "add-remove", "row")
    with pytest.raises(SchemaError, match="who"):  # more rows than a person may have
        Pair("mine", people(*base, *[("c", 5)] * 3), people(*base), PEOPLE, "add-remove", "person")


def test_what_is_no_pair_is_refused_in_words() -> None:
    with pytest.raises(SettingError, match=r"neighbours .'both'. must be one of"):
        Pair("mine", numbers(1), numbers(1, 2), SCHEMA, "both")
    with pytest.raises(SettingError, match="needs a schema that names a person"):
        Pair("mine", numbers(1), numbers(1, 2), SCHEMA, "add-remove", "person")
    with pytest.raises(SchemaError, match="x"):
        Pair("mine", numbers(1), numbers(1, 99), SCHEMA, "add-remove")
    with pytest.raises(SettingError, match=r"pair .'flip'. must be one of outlier"):
        built_in("flip", "add-remove")


def test_a_pair_of_files(tmp_path: Path) -> None:
    numbers(1, 2, 3).to_csv(tmp_path / "a.csv", index=False)
    numbers(1, 2).to_csv(tmp_path / "b.csv", index=False)
    (tmp_path / "s.yaml").write_text(SCHEMA.to_yaml(), encoding="utf-8")
    files = [tmp_path / name for name in ("a.csv", "b.csv", "s.yaml")]
    assert read_pair(*files, (), "add-remove").differing["x"].tolist() == [3]
    with pytest.raises(SettingError, match="all but one row alike"):
        read_pair(*files, (), "replace-one")
