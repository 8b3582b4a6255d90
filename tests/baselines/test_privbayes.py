from __future__ import annotations

from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from tables import whole_numbers

from copula_shirley import Budget, Column, Ledger, Schema, SettingError
from copula_shirley.baselines import PrivBayes
from copula_shirley.baselines.bayes import UNIT, Scores, _maximal_sets, score_sensitivity
from copula_shirley.baselines.network import Joint, consistent, project
from copula_shirley.rows.memory import MemoryRows

BINARY = whole_numbers("abcde", 1)


def known_network(n: int = 30_000) -> pd.DataFrame:
    """a -> c <- b, c -> d, (c, d) -> e, with known conditional tables."""
    rng = np.random.default_rng(0)
    a, b = (rng.random((2, n)) < [[0.3], [0.6]]).astype(int)
    c = (rng.random(n) < np.array([[0.1, 0.7], [0.8, 0.2]])[a, b]).astype(int)
    d = (rng.random(n) < np.array([0.25, 0.85])[c]).astype(int)
    e = (rng.random(n) < np.array([[0.9, 0.3], [0.4, 0.1]])[c, d]).astype(int)
    return pd.DataFrame({"a": a, "b": b, "c": c, "d": d, "e": e})


def test_noise_off_recovers_a_known_network() -> None:
    model = PrivBayes(None, degree=2, random_state=0).fit(known_network(), BINARY)
    synthetic = model.sample(60_000)
    # 3,600 rows and more per group: standard error below .008; the training rows add theirs
    for parents, child, shares in (
        ("ab", "c", [0.1, 0.7, 0.8, 0.2]),
        ("c", "d", [0.25, 0.85]),
        ("cd", "e", [0.9, 0.3, 0.4, 0.1]),
    ):
        found = synthetic.groupby(list(parents))[child].mean().to_numpy()
        assert found == pytest.approx(shares, abs=0.03)


def score_of(rows: list[tuple[int, int]], score: str) -> float:
    codes = {"x": np.array([r[0] for r in rows]), "y": np.array([r[1] for r in rows])}
    held = MemoryRows(BINARY, {k: v.astype(float) for k, v in codes.items()}, codes=codes)
    scores = Scores((("x", ("y",)),), {"x": 2, "y": 3}, score, 0.0)
    return int(scores.numbers(held)[0]) / UNIT


@pytest.mark.parametrize(
    ("score", "neighbours"),
    [("R", "replace-one"), ("R", "add-remove"), ("mutual-information", "replace-one")],
)
def test_score_sensitivity_by_brute_force(score: str, neighbours: str) -> None:
    """All tables of 5 rows over 2 x 3 values up to order, and all their neighbours."""
    values = list(product(range(2), range(3)))
    rng = np.random.default_rng(0)
    worst, n = 0.0, 5
    for _ in range(400):
        rows = [values[i] for i in rng.integers(0, 6, n)]
        for new in values:
            other = [*rows[:-1], new] if neighbours == "replace-one" else [*rows, new]
            worst = max(worst, abs(score_of(rows, score) - score_of(other, score)))
    # scores are rounded down, which is worth less than 1 / UNIT
    assert 0.4 < worst <= score_sensitivity(score, neighbours, n) + 1 / UNIT


def test_scores_by_hand() -> None:
    # x equals y on 4 rows: joint 2, 0, 0, 2 against expected 1 each
    rows = [(0, 0), (0, 0), (1, 1), (1, 1)]
    assert score_of(rows, "R") == pytest.approx(2.0)
    assert score_of(rows, "mutual-information") == pytest.approx(4 * np.log(2), abs=1 / UNIT)
    assert score_of([(0, 0), (0, 1), (1, 0), (1, 1)], "R") == 0


@given(arrays(float, st.integers(1, 30), elements=st.floats(-50, 50)), st.floats(0.5, 100))
def test_projection_is_non_negative_with_the_right_total(noisy: np.ndarray, total: float) -> None:
    assert project(np.array([5.0, 3.0, -9.0]), 6.0).tolist() == [4.0, 2.0, 0.0]
    got = project(noisy, total)
    assert np.all(got >= 0)
    assert got.sum() == pytest.approx(total)


def test_consistent_tables_agree_on_shared_columns() -> None:
    mass = np.arange(24.0).reshape(2, 3, 4)
    joint = Joint(("a", "b", "c"), mass).sum_to(("c", "a"))
    assert joint.mass.tolist() == mass.sum(axis=1).T.tolist()
    rng = np.random.default_rng(0)
    noisy = [
        Joint(("a", "b"), rng.random((3, 4)) * 100 - 10),
        Joint(("b", "c"), rng.random((4, 5)) * 60 - 10),
    ]
    first, second = consistent(noisy, 500.0)
    shared = [joint.sum_to(("b",)).mass for joint in (first, second)]
    assert shared[0] == pytest.approx(shared[1], rel=0.02)
    assert first.mass.sum() == pytest.approx(500, rel=0.02)
    assert np.all(first.mass >= 0) and np.all(second.mass >= 0)


def test_drawing_follows_the_table_and_never_an_empty_cell() -> None:
    joint = Joint(("p", "x"), np.array([[0.0, 3.0, 1.0], [5.0, 0.0, 0.0], [0.0, 0.0, 0.0]]))
    codes = {"p": np.repeat([0, 1, 2], 20_000)}
    drawn = joint.draw(codes, 60_000, np.random.default_rng(0))
    # parents that the table does not know fall back to the child's own shares
    expected = [[0, 0.75, 0.25], [1, 0, 0], [5 / 9, 3 / 9, 1 / 9]]
    for part, shares in zip(drawn.reshape(3, -1), expected, strict=True):
        found = np.bincount(part, minlength=3) / 20_000
        assert found == pytest.approx(shares, abs=0.015)
        assert found[np.equal(shares, 0)].sum() == 0


def test_theta_usefulness_by_hand() -> None:
    sizes = {"x": 2, "p": 3, "q": 4, "r": 10}
    # 2 x 3 x 4 = 24 fits into 25 cells, 2 x 10 = 20 fits alone
    assert _maximal_sets("x", ["p", "q", "r"], sizes, 25) == [("p", "q"), ("r",)]
    assert _maximal_sets("x", ["p", "q", "r"], sizes, 1) == [()]


def test_numeric_columns_are_binned_and_drawn_inside_their_bin() -> None:
    money = Column("money", "continuous", minimum=0, maximum=1000, resolution=0.01)
    schema = Schema((money, *whole_numbers(["few"], 5)))
    rng = np.random.default_rng(0)
    few = rng.integers(1, 6, 5000)
    table = pd.DataFrame({"money": np.round(few * 150 + rng.random(5000) * 100, 2), "few": few})
    synthetic = PrivBayes(None, degree=1, random_state=0).fit(table, schema).sample(5000)
    assert set(synthetic["few"]) == {1, 2, 3, 4, 5}
    assert synthetic["money"].nunique() > 1000
    assert synthetic.groupby("few")["money"].mean().is_monotonic_increasing


def test_a_table_too_large_names_columns_and_sizes() -> None:
    codes = tuple(map(str, range(500)))
    big = Schema(tuple(Column(n, "categorical", categories=codes) for n in ("zip", "job", "town")))
    table = pd.DataFrame({name: ["0"] * 20 for name in big.names})
    words = r"degree \(2\): .* 'zip' \(500\), 'job' \(500\).* 1.25e\+08"
    with pytest.raises(SettingError, match=words):
        PrivBayes(1.0, degree=2).fit(table, big)


def test_people_with_several_rows_need_more_noise() -> None:
    table = known_network(600).assign(who=np.arange(600) // 3)
    schema = Schema(BINARY.columns, person="who", max_rows=3)
    ledger = PrivBayes(1.0, degree=1, random_state=0).fit(table, schema).ledger_
    assert (ledger.unit, ledger.sensitivity().l1) == ("person", 6)
    assert any(s.stage == "size" for s in ledger.spends)  # a person replaced may change n
    # three rows removed and three added, each worth 2
    assert PrivBayes(1.0)._score_reach(ledger) == 12


def test_scores_of_neighbours_with_several_rows_by_brute_force() -> None:
    values = list(product(range(2), range(3)))
    rng = np.random.default_rng(1)
    ledger = Ledger(Budget(1.0), unit="person", rows_per_unit=2)
    worst = 0.0
    for _ in range(2000):
        rows = [values[i] for i in rng.integers(0, 6, 4)]
        before, after = (
            rows + [values[i] for i in rng.integers(0, 6, rng.integers(0, 3))] for _ in range(2)
        )
        worst = max(worst, abs(score_of(before, "R") - score_of(after, "R")))
    assert worst <= PrivBayes(1.0)._score_reach(ledger) + 1 / UNIT


def test_the_network_can_be_read_and_drawn(tmp_path: Path) -> None:
    model = PrivBayes(None, degree=2, random_state=0).fit(known_network(2000), BINARY)
    network = model.tables()["Network"]
    assert sorted(network["column"]) == list("abcde")
    seen: set[str] = set()
    for row in network.itertuples():
        assert set(filter(None, row.parents.split(", "))) <= seen
        seen.add(row.column)
    model.plot(tmp_path / "network.png")
    assert (tmp_path / "network.png").read_bytes().startswith(b"\x89PNG")
