"""Association rules, against rules counted by hand and against a search through all of them."""

from __future__ import annotations

from itertools import combinations, product
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from copula_shirley import Column, Schema
from copula_shirley.evaluation import evaluate, verdict
from copula_shirley.evaluation.metrics import association, marginals

NAMES = ("rules_recall", "rules_confidence")
PETS = Schema(
    (
        Column("pet", "categorical", categories=("cat", "dog", "fish")),
        Column("house", "boolean"),
    )
)
#: 8 cats, 8 dogs and 4 fish. Dogs live in houses 6 times of 8, cats 2 times, fish never.
REAL = pd.DataFrame(
    {
        "pet": ["cat"] * 8 + ["dog"] * 8 + ["fish"] * 4,
        "house": [True] * 2 + [False] * 6 + [True] * 6 + [False] * 2 + [False] * 4,
    }
)


def lines(test: pd.DataFrame, synthetic: pd.DataFrame, schema: Schema) -> tuple[Any, Any]:
    frame = evaluate(test, test, synthetic, schema, metrics=NAMES).to_dict("records")
    return frame[0], frame[1]


def test_rules_by_hand() -> None:
    # Houses: 8 of 20 rows have one. Strong are
    #   cat => no house   6 of 8, lift .75 / .6 = 1.25      dog => house  6 of 8, lift .75 / .4
    #   fish => no house  4 of 4, lift 1 / .6               house => dog  6 of 8, lift .75 / .4
    # but no house => cat has only 6 of 12, below .6.
    # In the synthetic rows three of the dogs have lost their houses: dog => house 3 of 8 and
    # house => dog 3 of 5, lift .6 / .4 = 1.5, which just reaches the confidence; cat => no house
    # 6 of 8, lift .75 / .75 = 1, no longer strong; fish => no house 1 / .75.
    synthetic = REAL.assign(house=[*REAL["house"][:8], *[True] * 3, *[False] * 5, *[False] * 4])
    recall, confidence = lines(REAL, synthetic, PETS)
    assert recall["value"] == 2 / 4  # house => dog and fish => no house
    assert recall["detail"]["number"] == 4 and recall["detail"]["found"] == 2
    assert recall["detail"]["precision"] == 1.0
    assert recall["detail"]["columns"] == {"pet": 0.5, "house": 0.5}
    assert verdict(recall) == "2 of 4 strong association rules are kept, 0 are new"
    # dog => house fell from 6/8 to 3/8, house => dog from 6/8 to 3/5, the others not at all
    assert confidence["value"] == pytest.approx((3 / 8 + 3 / 20) / 4)
    told = confidence["detail"]["rules"]
    assert list(told) == ["pet = dog => house = True", "house = True => pet = dog"]
    assert list(told.values()) == pytest.approx([3 / 8, 3 / 20])
    assert verdict(confidence).startswith("worst: pet = dog => house = True (0.375)")


def test_a_premise_that_is_gone_counts_as_confidence_0() -> None:
    cats = REAL.assign(pet="cat")
    recall, confidence = lines(REAL, cats, PETS)
    assert recall["value"] == 0
    # cat => no house: 12 of 20; dogs and fish are gone; house => dog: 0 of 8
    assert confidence["value"] == pytest.approx((0.15 + 0.75 + 1 + 0.75) / 4)


def test_a_table_without_rules_says_so() -> None:
    for frame in (REAL, REAL[["pet"]]):
        even = frame.assign(pet=["cat", "dog"] * 10)
        if "house" in even:
            even["house"] = [True, True, False, False] * 5
        schema = PETS if "house" in even else Schema((PETS["pet"],))
        recall, confidence = lines(even, REAL[list(even)], schema)
        assert (recall["value"], confidence["value"]) == (1.0, 0.0)
        assert verdict(recall) == verdict(confidence) == "the test rows have no strong rule"


def searched(cells: dict[str, np.ndarray]) -> dict[tuple[frozenset[Any], Any], float]:
    """Every strong rule with its confidence, by trying all."""
    n = len(next(iter(cells.values())))
    found = {}
    for group in (*combinations(cells, 2), *combinations(cells, 3)):
        for values in product(*(np.unique(cells[name]) for name in group)):
            has = {x: cells[x] == v for x, v in zip(group, values, strict=True)}
            for then in group:
                premise = np.logical_and.reduce([has[x] for x in group if x != then])
                both = int((premise & has[then]).sum())
                if both == 0:
                    continue
                confidence = both / premise.sum()
                lift = both * n / (int(premise.sum()) * int(has[then].sum()))
                if both / n >= 0.05 and confidence >= 0.6 and lift >= 1.1:
                    items = dict(zip(group, values, strict=True))
                    key = frozenset((x, items[x]) for x in group if x != then), (then, items[then])
                    found[key] = float(confidence)
    return found


FOUR = Schema(
    tuple(Column(x, "categorical", categories=tuple("pqrs"), missing=True) for x in "abcd")
)


def made(n: int, rng: np.random.Generator) -> pd.DataFrame:
    """Columns that follow each other, more or less, with gaps and a rare value."""
    a = rng.integers(0, 3, n)
    columns = {"a": a}
    for name in "bcd":
        columns[name] = np.where(rng.random(n) < 0.6, a, rng.integers(-1, 4, n))
    texts = np.array([None, "p", "q", "r", "s"], dtype=object)
    return pd.DataFrame({name: texts[values + 1] for name, values in columns.items()})


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**30), st.integers(1, 60), st.integers(1, 60))
def test_all_strong_rules_are_found(seed: int, n: int, m: int) -> None:
    rng = np.random.default_rng(seed)
    test, synthetic = made(n, rng), made(m, rng)
    recall, confidence = lines(test, synthetic, FOUR)
    places = {"p": 0, "q": 1, "r": 2, "s": 3}
    codes = [
        {x: table[x].map(places).fillna(-1).to_numpy() for x in "abcd"}
        for table in (test, synthetic)
    ]
    real, drawn = (searched(cells) for cells in codes)
    assert (recall["detail"]["number"], recall["detail"]["found"]) == (len(real), len(drawn))
    if not real:
        return
    assert recall["value"] == pytest.approx(len(real.keys() & drawn.keys()) / len(real))
    if drawn:
        kept = len(real.keys() & drawn.keys()) / len(drawn)
        assert recall["detail"]["precision"] == pytest.approx(kept)
    gaps = []
    for (premise, (then, value)), truth in real.items():
        has = np.logical_and.reduce([codes[1][x] == v for x, v in premise])
        both = has & (codes[1][then] == value)
        gaps.append(abs(truth - both.sum() / max(has.sum(), 1)))
    assert confidence["value"] == pytest.approx(np.mean(gaps))


def test_many_columns_stay_within_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(marginals, "MOST_TRIPLES", 7)
    sizes = []
    table = association._table

    def watched(cells: Any, group: Any, shape: tuple[int, ...]) -> Any:
        sizes.append(int(np.prod(shape)))
        return table(cells, group, shape)

    monkeypatch.setattr(association, "_table", watched)
    rng = np.random.default_rng(0)
    names = [f"n{i}" for i in range(8)]
    schema = Schema(tuple(Column(name, "integer", minimum=0, maximum=10**6) for name in names))
    frame = pd.DataFrame({name: rng.integers(0, 10**6, 300) for name in names})
    frame["n1"] = frame["n0"] // 2
    recall, _ = lines(frame, frame, schema)
    assert len(sizes) == 2 * (28 + 7)  # pairs and the sample of triples, two tables each
    assert max(sizes) <= 41**3  # 20 frequent cells of each table, and the rest
    assert recall["value"] == 1 and recall["detail"]["note"] == "7 of 56 triples"
