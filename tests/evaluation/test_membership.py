from __future__ import annotations

import math
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from copula_shirley import Column, Schema
from copula_shirley.errors import SettingError
from copula_shirley.evaluation import evaluate, membership_inference
from copula_shirley.evaluation.attacks import membership as module
from copula_shirley.evaluation.attacks import plain
from copula_shirley.evaluation.attacks.membership import share_of_members
from copula_shirley.evaluation.attacks.plain import Wide

BOTH_DISTANCES = ("hamming", "euclidean")
BOTH_ESTIMATORS = ("distance", "counting")


def share(
    train: Any, control: Any, synthetic: Any, distance: str = "hamming", estimator: str = "distance"
) -> float:
    """The attack on all rows, which draws nothing."""
    found = membership_inference(
        pd.DataFrame(train),
        pd.DataFrame(control),
        pd.DataFrame(synthetic),
        distance,  # type: ignore[arg-type]
        None,
        1,
        0,
        estimator=estimator,  # type: ignore[arg-type]
    )
    return found.mean


# -- by hand -------------------------------------------------------------------------------

TRAIN = [(1, 1), (2, 2), (3, 3)]
CONTROL = [(4, 4), (1, 5), (6, 6)]
SYNTHETIC = [(1, 1), (2, 9), (9, 9)]


@pytest.mark.parametrize("estimator", BOTH_ESTIMATORS)
def test_hamming_by_hand(estimator: str) -> None:
    # least distances: 0, 1/2, 1 and 1, 1/2, 1, so the radius is (1/2 + 1) / 2 = 3/4;
    # within it lie (1,1) for the first member, (2,9) for the second, (1,1) for (1,5);
    # these three are called: two of them are members
    assert share(TRAIN, CONTROL, SYNTHETIC, "hamming", estimator) == pytest.approx(2 / 3)


def test_a_row_right_at_the_radius_is_inside() -> None:
    # least distances 0, 0 | 1/3, 1/3: radius 1/6 excludes the controls, and with a third of
    # 1/3 | 1/3 it is 1/3 and includes them
    assert share([(1, 1, 1)], [(1, 1, 2)], [(1, 1, 1)]) == 1.0
    assert share([(1, 1, 3)], [(1, 1, 2)], [(1, 1, 1)], estimator="counting") == 0.5


TABLE = Schema(
    (
        Column("a", "integer", minimum=0, maximum=20),
        Column("b", "integer", minimum=0, maximum=20),
    )
)


def frame(rows: list[tuple[int, int]]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=["a", "b"])


@pytest.mark.parametrize(
    ("metric", "expected"),
    [
        ("membership_hamming", 0.5),
        ("membership_hamming_max", 0.5),
        ("membership_hamming_counting", 0.0),
        ("membership_hamming_all", 0.5),
    ],
)
def test_the_hamming_metrics_by_hand(metric: str, expected: float) -> None:
    # least distances 0, 1 and 1/2, 1/2: the radius is 1/2. One copy weighs -log(1e-12) = 27.6,
    # two half-distant rows 2 log 2 = 1.4. By distance the first member is called and one of the
    # two controls, which tie: 1/2. Counting 1, 0, 2, 2 calls both controls: 0
    train, control = frame([(1, 1), (2, 2)]), frame([(3, 3), (4, 4)])
    synthetic = frame([(1, 1), (3, 8), (3, 9), (4, 10), (4, 11)])
    line = evaluate(train, control, synthetic, TABLE, metrics=[metric], random_state=0).iloc[0]
    assert line["value"] == expected
    detail = line["detail"]
    assert detail["mean"] == detail["maximum"] == expected
    assert (detail["members"], detail["n_synthetic"]) == (2, 5)
    # 1.96 * sqrt(.25 / 3) = .566 more or less, within [0, 1]
    assert detail["interval"] == pytest.approx((0, min(expected + 0.5658, 1)), abs=1e-4)
    few = "only 5 synthetic rows, 500 asked for"
    assert detail.get("note") == (None if metric.endswith("all") else few)


@pytest.mark.parametrize(
    ("metric", "expected"),
    [
        ("membership_euclidean", 2 / 3),
        ("membership_euclidean_max", 2 / 3),
        ("membership_euclidean_counting", 1 / 3),
    ],
)
def test_the_euclidean_metrics_by_hand(metric: str, expected: float) -> None:
    # b is constant; a as shares of the declared 20: members 0, .5, .9; controls .2, .6, .8;
    # rows 0, .5, .15, .25, .55, .65. Least distances 0, 0, .25 | .05, .05, .15: radius .05
    # (all over sqrt(2), for the two columns). Rows within it: 1, 2, 0 | 2, 2, 0.
    # By distance a copy weighs 27.6 and a row at .05/sqrt(2) 3.3: 27.6, 30.9, 0 | 6.7, 6.7, 0,
    # so both members are called and one of the two controls: 2/3.
    # Counting calls .5, .2 and .6: 1/3
    train, control = frame([(0, 0), (10, 0), (18, 0)]), frame([(4, 0), (12, 0), (16, 0)])
    synthetic = frame([(0, 0), (10, 0), (3, 0), (5, 0), (11, 0), (13, 0)])
    line = evaluate(train, control, synthetic, TABLE, metrics=[metric], random_state=0).iloc[0]
    assert line["value"] == pytest.approx(expected)


# -- ties ----------------------------------------------------------------------------------


def test_the_better_half_by_hand() -> None:
    assert share_of_members(np.array([5.0, 4.0, 3.0, 2.0, 1.0, 0.0])) == 1.0
    assert share_of_members(np.array([2.0, 1.0, 0.0, 5.0, 4.0, 3.0])) == 0.0
    # 9 and one of the three that tie at 5, of which one is a member: (1 + 1/3) / 2
    assert share_of_members(np.array([9.0, 5.0, 5.0, 5.0])) == pytest.approx((1 + 1 / 3) / 2)
    assert share_of_members(np.array([1.0, 0.0])) == 1.0
    assert share_of_members(np.zeros(2)) == 0.5


@given(
    st.lists(st.integers(0, 3), min_size=1, max_size=8).flatmap(
        lambda first: st.tuples(
            st.just(first), st.lists(st.integers(0, 3), min_size=len(first), max_size=len(first))
        )
    )
)
def test_ties_are_the_mean_over_all_ways_to_break_them(halves: tuple[list[int], list[int]]) -> None:
    first, second = halves
    m = len(first)
    scores = np.array([*first, *second], dtype=float)
    # breaking ties at random, many times, in expectation: add noise that only orders ties
    rng = np.random.default_rng(0)
    noisy = scores + rng.random((4000, 2 * m)) * 1e-6
    called = np.argsort(-noisy, axis=1)[:, :m]
    # 4000 draws of a share: standard error below .008
    assert share_of_members(scores) == pytest.approx((called < m).mean(), abs=0.04)
    mirrored = share_of_members(np.concatenate([scores[m:], scores[:m]]))
    assert share_of_members(scores) + mirrored == pytest.approx(1.0)


@pytest.mark.parametrize("distance", BOTH_DISTANCES)
@pytest.mark.parametrize("estimator", BOTH_ESTIMATORS)
@pytest.mark.parametrize(("n", "d"), [(1, 1), (37, 7)])
def test_nothing_in_common_is_a_coin(distance: str, estimator: str, n: int, d: int) -> None:
    tables = [
        {f"c{j}": [f"{who}{i}" for i in range(n)] for j in range(d)} for who in ("a", "b", "s")
    ]
    assert share(*tables, distance, estimator) == 0.5


@pytest.mark.parametrize("d", [7, 14])
@pytest.mark.parametrize("n", [5, 33])
@pytest.mark.parametrize("estimator", BOTH_ESTIMATORS)
def test_equal_scores_tie_whatever_the_place_of_the_record(n: int, d: int, estimator: str) -> None:
    rng = np.random.default_rng(d)
    one = pd.DataFrame(rng.integers(0, 3, (1, d)))
    synthetic = pd.DataFrame(rng.integers(0, 3, (499, d)))
    same = pd.concat([one] * n)
    assert share(same, same, synthetic, "hamming", estimator) == 0.5


@pytest.mark.parametrize("distance", BOTH_DISTANCES)
@pytest.mark.parametrize("estimator", BOTH_ESTIMATORS)
@pytest.mark.parametrize("seed", range(2))
def test_the_same_rows_on_both_sides_are_a_coin(distance: str, estimator: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows = pd.DataFrame(rng.integers(0, 3, (41, 8)))
    synthetic = pd.DataFrame(rng.integers(0, 3, (97, 8)))
    assert share(rows, rows, synthetic, distance, estimator) == 0.5


# -- a naive double loop -------------------------------------------------------------------


def naive_scores(tables: dict[str, pd.DataFrame], distance: str, estimator: str) -> list[float]:
    """The definition, pair by pair and column by column."""
    everything = pd.concat(tables.values(), ignore_index=True)
    records = pd.concat([tables["train"], tables["control"]], ignore_index=True)
    rows = tables["synthetic"]
    d = records.shape[1]

    def square(name: str, a: Any, b: Any) -> float:
        if pd.isna(a) and pd.isna(b):
            return 0.0
        if distance == "hamming" or not pd.api.types.is_numeric_dtype(everything[name]):
            return float(pd.isna(a) or pd.isna(b) or a != b)
        low, high = everything[name].min(), everything[name].max()
        x, y = ((v - low) / ((high - low) or 1) for v in (a, b))
        if pd.isna(x) or pd.isna(y):  # in the middle, and sqrt(3)/2 above
            return 0.75 + (np.nansum([x, y]) - 0.5) ** 2
        return float((x - y) ** 2)

    far = [
        [
            sum(square(name, record[name], row[name]) for name in record)
            for row in rows.to_dict("records")
        ]
        for record in records.to_dict("records")
    ]
    far = [[x / d if distance == "hamming" else math.sqrt(x / d) for x in line] for line in far]
    radius = float(np.median([min(line) for line in far])) + 1e-9
    weigh = {"distance": lambda x: -math.log(x + 1e-12), "counting": lambda _: 1.0}[estimator]
    return [sum(weigh(x) for x in line if x <= radius) / len(rows) for line in far]


def naive_share(scores: list[float]) -> float:
    """Fair ties, of scores that are equal but for rounding."""
    m = len(scores) // 2
    rounded = [round(score, 9) for score in scores]
    cut = sorted(rounded, reverse=True)[m - 1]
    above = [i for i, score in enumerate(rounded) if score > cut]
    tied = [i for i, score in enumerate(rounded) if score == cut]
    members = sum(i < m for i in above)
    return (members + (m - len(above)) * sum(i < m for i in tied) / len(tied)) / m


def random_tables(seed: int) -> dict[str, pd.DataFrame]:
    rng = np.random.default_rng(seed)
    m, n, d = int(rng.integers(1, 9)), int(rng.integers(1, 12)), int(rng.integers(1, 4))

    def table(size: int) -> pd.DataFrame:
        columns: dict[str, Any] = {}
        for j in range(d):
            numbers = rng.integers(0, 4, size).astype(float)
            numbers[rng.random(size) < 0.15] = np.nan
            columns[f"x{j}"] = numbers
            texts = pd.Series(rng.choice(list("abc"), size), dtype=object)
            columns[f"c{j}"] = texts.where(rng.random(size) > 0.15, None)
        return pd.DataFrame(columns)

    return {"train": table(m), "control": table(m), "synthetic": table(n)}


# Once wrong: Euclidean scores that are equal but for rounding do not tie
@pytest.mark.parametrize("distance", BOTH_DISTANCES)
@pytest.mark.parametrize("estimator", BOTH_ESTIMATORS)
@pytest.mark.parametrize("seed", range(20))
def test_the_attack_equals_a_naive_double_loop(distance: str, estimator: str, seed: int) -> None:
    tables = random_tables(seed)
    ours = share(*tables.values(), distance, estimator)
    naive = naive_share(naive_scores(tables, distance, estimator))
    assert ours == pytest.approx(naive, abs=1e-9)


# Once wrong: a coordinate for each of 1,000 texts took 3.5 GB for 30,000 rows of each table
@pytest.mark.parametrize("estimator", BOTH_ESTIMATORS)
@pytest.mark.parametrize("seed", range(8))
def test_codes_of_many_texts_give_the_same_attack(
    estimator: str, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plain, "MOST_COORDINATES", 1)
    tables = random_tables(seed)
    ours = share(*tables.values(), "euclidean", estimator)
    naive = naive_share(naive_scores(tables, "euclidean", estimator))
    assert ours == pytest.approx(naive, abs=1e-9)


# -- two ways to the same scores -------------------------------------------------------------


def test_pairs_that_are_not_stored_are_computed_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    records, rows = rng.random((300, 4)), rng.random((70, 4))
    stored = module._euclidean_scores(records, rows, Wide())
    monkeypatch.setattr(module, "PAIRS_TO_STORE", 10)
    computed = module._euclidean_scores(records, rows, Wide())
    for estimator in BOTH_ESTIMATORS:
        assert stored[estimator].any() and (stored[estimator] == computed[estimator]).all()


def test_near_copies_do_not_cancel() -> None:
    # |x|^2 - 2 x g + |g|^2 loses the distance 1e-9 of points near 1; the logarithm must not
    records = np.array([[1.0, 1.0], [0.0, 0.0]])
    rows = np.array([[1.0, 1.0 + 1e-9], [0.5, 0.5]])
    scores = module._euclidean_scores(records, rows, Wide())["distance"]
    assert scores[0] == pytest.approx(-math.log(1e-9 + 1e-12) / 2, rel=1e-6)


# -- it has teeth --------------------------------------------------------------------------


def draw(rng: np.random.Generator, n: int, d: int = 8, values: int = 6) -> pd.DataFrame:
    """Rows from a true distribution with dependence, numbers and texts."""
    hidden = rng.integers(0, values, (n, 1))
    rows = np.where(rng.random((n, d)) < 0.5, hidden, rng.integers(0, values, (n, d)))
    table = pd.DataFrame(rows, columns=[f"x{j}" for j in range(d)])
    return table.assign(x0=table["x0"].map("abcdefgh".__getitem__))


@pytest.mark.parametrize("distance", BOTH_DISTANCES)
@pytest.mark.parametrize("estimator", BOTH_ESTIMATORS)
def test_copies_of_the_training_rows_are_found(distance: str, estimator: str) -> None:
    rng = np.random.default_rng(0)
    train, control = draw(rng, 300), draw(rng, 300)
    found = membership_inference(
        train,
        control,
        train,
        distance,
        None,
        1,
        0,
        estimator=estimator,  # type: ignore[arg-type]
    )
    assert found.mean > 0.95 and found.maximum == found.mean
    assert found.detected and found.interval[0] > 0.85
    assert found.members == found.n_synthetic == 300


@pytest.mark.parametrize("distance", BOTH_DISTANCES)
@pytest.mark.parametrize("estimator", BOTH_ESTIMATORS)
def test_independent_draws_are_a_coin(distance: str, estimator: str) -> None:
    outside, means = 0, []
    for seed in range(10):
        rng = np.random.default_rng(seed)
        found = membership_inference(
            draw(rng, 400), draw(rng, 200), draw(rng, 600), distance, 500, 3, seed,  # type: ignore[arg-type]
            estimator=estimator,  # type: ignore[arg-type]
        )  # fmt: skip
        low, high = found.interval
        outside += not low <= 0.5 <= high
        means.append(found.mean)
        assert len(found.shares) == 3 and found.members == 200 and found.n_synthetic == 500
    # a 95 % interval misses 3 times of 10 with a chance of 1 %; the mean of ten has error .008
    assert outside <= 2
    assert np.mean(means) == pytest.approx(0.5, abs=0.025)


@pytest.mark.slow
@pytest.mark.parametrize("distance", BOTH_DISTANCES)
@pytest.mark.parametrize("n_synthetic", [None, 60])
def test_the_interval_covers_a_coin_as_often_as_it_says(
    distance: str, n_synthetic: int | None
) -> None:
    covered = 0
    for seed in range(100):
        rng = np.random.default_rng(seed)
        found = membership_inference(
            draw(rng, 60, 4), draw(rng, 50, 4), draw(rng, 80, 4), distance,  # type: ignore[arg-type]
            n_synthetic, 4, seed,
        )  # fmt: skip
        low, high = found.interval
        covered += low <= 0.5 <= high
    assert covered >= 90


def test_one_copied_row_in_ten_is_detected() -> None:
    rng = np.random.default_rng(5)
    train, control, fresh = draw(rng, 2000), draw(rng, 2000), draw(rng, 1800)
    synthetic = pd.concat([train[:200], fresh], ignore_index=True)
    found = membership_inference(train, control, synthetic, n_synthetic=None, random_state=0)
    assert found.detected
    assert 0.5 < found.interval[0] < found.mean < 0.65
    honest = pd.concat([draw(rng, 200), fresh], ignore_index=True)
    assert not membership_inference(
        train, control, honest, n_synthetic=None, random_state=0
    ).detected


# -- people with several rows ----------------------------------------------------------------


def years(n: int, rng: np.random.Generator, first: int) -> pd.DataFrame:
    """Three rows of each of n people, all but alike."""
    people = draw(rng, n, 4).assign(who=first + np.arange(n))
    return pd.concat([people] * 3, ignore_index=True).assign(year=np.repeat([1, 2, 3], n))


def clustered(seed: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """What evaluate says of independent draws, with the people named and without."""
    rng = np.random.default_rng(seed)
    train, test, synthetic = (years(60, rng, first) for first in (0, 100, 200))
    rows = [table.drop(columns="who") for table in (train, test, synthetic)]
    columns = Schema.draft(pd.concat(rows)).columns
    named, unnamed = Schema(columns, person="who", max_rows=3), Schema(columns)
    settings: dict[str, Any] = {"random_state": seed, "metrics": ["membership_hamming_all"]}
    aware = evaluate(train, test, rows[2], named, **settings)["detail"][0]
    naive = evaluate(*rows, unnamed, **settings)["detail"][0]
    return aware, naive


def test_the_interval_of_people_with_three_rows_by_hand() -> None:
    aware, naive = clustered(0)
    assert aware["mean"] == naive["mean"]
    # 180 members are 60 people: .25 / 119 in place of .25 / 359
    for found, variance in ((aware, 0.25 / 119), (naive, 0.25 / 359)):
        reach = 1.959964 * np.sqrt(variance)
        assert found["interval"] == pytest.approx((found["mean"] - reach, found["mean"] + reach))


# -- settings ------------------------------------------------------------------------------


def test_mean_maximum_and_interval_of_the_repetitions() -> None:
    rng = np.random.default_rng(0)
    tables = draw(rng, 80), draw(rng, 60), draw(rng, 90)
    found = membership_inference(*tables, n_synthetic=40, repetitions=20, random_state=1)
    assert found.shares.shape == (20,)
    assert found.mean == found.shares.mean() and found.maximum == found.shares.max()
    assert found.maximum > found.mean
    # m = 60: a coin's variance .25 / 119, and that of the mean of 20 repetitions
    reach = 1.959964 * np.sqrt(0.25 / 119 + found.shares.var(ddof=1) / 20)
    assert found.interval == pytest.approx((found.mean - reach, found.mean + reach))
    assert (found.distance, found.estimator) == ("hamming", "distance")


@pytest.mark.parametrize("distance", BOTH_DISTANCES)
def test_the_same_seed_gives_the_same_shares(distance: str) -> None:
    rng = np.random.default_rng(0)
    tables = draw(rng, 80), draw(rng, 60), draw(rng, 90)

    def shares(seed: Any) -> list[float]:
        found = membership_inference(*tables, distance, 40, 6, seed)  # type: ignore[arg-type]
        return found.shares.tolist()

    assert shares(1) == shares(1) != shares(2)
    assert shares(np.random.default_rng(1)) == shares(1)


@pytest.mark.parametrize("distance", BOTH_DISTANCES)
def test_a_repetition_more_leaves_the_first_ones_alone(distance: str) -> None:
    rng = np.random.default_rng(0)
    tables = draw(rng, 80), draw(rng, 60), draw(rng, 90)
    few = membership_inference(*tables, distance, 40, 3, 1)  # type: ignore[arg-type]
    more = membership_inference(*tables, distance, 40, 5, 1)  # type: ignore[arg-type]
    assert few.shares.tolist() == more.shares[:3].tolist()


# Once wrong: rows with equal keys keep the table's order, and keys have about 17 bits
@pytest.mark.parametrize("distance", BOTH_DISTANCES)
@pytest.mark.parametrize("which", range(3))
def test_the_order_of_the_rows_does_not_matter(distance: str, which: int) -> None:
    rng = np.random.default_rng(8)
    tables = [draw(rng, n, 5) for n in (900, 800, 1000)]
    turned = list(tables)
    turned[which] = tables[which].sample(frac=1, random_state=1)
    one, other = (
        membership_inference(*t, distance, 300, 4, 0, members=200)  # type: ignore[arg-type]
        for t in (tables, turned)
    )
    assert one.shares.tolist() == other.shares.tolist()


def test_fewer_synthetic_rows_than_asked_for() -> None:
    rng = np.random.default_rng(0)
    found = membership_inference(draw(rng, 30), draw(rng, 20), draw(rng, 10), repetitions=2)
    assert (found.members, found.n_synthetic) == (20, 10)
    tables = draw(rng, 30), draw(rng, 20), draw(rng, 10)
    for members, expected in ((7, 7), (99, 20)):
        found = membership_inference(*tables, members=members, repetitions=2)
        assert found.members == expected


def test_one_row_each() -> None:
    assert share([(1, 1)], [(2, 2)], [(1, 1)]) == 1.0
    assert share([(1, 1)], [(2, 2)], [(2, 2)]) == 0.0
    assert share([(1, 1)], [(2, 2)], [(3, 3)]) == 0.5


@settings(max_examples=15)
@given(st.integers(0, 2**32 - 1), st.sampled_from(list(product(BOTH_DISTANCES, BOTH_ESTIMATORS))))
def test_bounds(seed: int, how: tuple[str, str]) -> None:
    found = membership_inference(
        *random_tables(seed).values(),
        how[0],
        3,
        2,
        seed,
        estimator=how[1],  # type: ignore[arg-type]
    )
    low, high = found.interval
    assert 0 <= low <= found.mean <= high <= 1
    assert found.mean <= found.maximum <= 1


# -- what is refused -----------------------------------------------------------------------

ROWS = pd.DataFrame({"x": [1, 2, 3], "c": ["a", "b", "c"]})


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"distance": "cosine"}, r"distance \('cosine'\) must be hamming or euclidean"),
        ({"estimator": "median"}, r"estimator \('median'\) must be distance or counting"),
        ({"n_synthetic": 0}, r"n_synthetic \(0\) must be a positive whole number"),
        ({"repetitions": 0}, r"repetitions \(0\) must be a positive whole number"),
        ({"members": 0}, r"members \(0\) must be a positive whole number"),
    ],
)
def test_settings_that_are_refused(setting: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingError, match=message):
        membership_inference(ROWS, ROWS, ROWS, **setting)
