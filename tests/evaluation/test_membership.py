from __future__ import annotations

import math
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tables import whole_numbers

from copula_shirley import Column, Schema, SchemaError
from copula_shirley.errors import SettingError
from copula_shirley.evaluation import Membership, evaluate, membership_inference
from copula_shirley.evaluation.attacks import encoding
from copula_shirley.evaluation.attacks import membership as module
from copula_shirley.evaluation.attacks.encoding import Wide
from copula_shirley.evaluation.attacks.membership import share_of_members

HOW = list(product(("hamming", "euclidean"), ("distance", "counting")))
each_distance = pytest.mark.parametrize("distance", ["hamming", "euclidean"])
each_way = pytest.mark.parametrize(("distance", "estimator"), HOW)


def attack(*tables: Any, how: tuple[str, str] = HOW[0], **more: Any) -> Membership:
    """The attack on all rows, which draws nothing, unless ``more`` says otherwise."""
    more = {"n_synthetic": None, "repetitions": 1, "random_state": 0, **more}
    distance, estimator = how
    some: Any = [pd.DataFrame(table) for table in tables]
    return membership_inference(*some, distance, estimator=estimator, **more)


# -- by hand -------------------------------------------------------------------------------


def figure(metric: str, *tables: list[tuple[int, int]]) -> pd.Series:
    frames = [pd.DataFrame(rows, columns=["a", "b"]) for rows in tables]
    return evaluate(*frames, whole_numbers("ab", 20), metrics=[metric], random_state=0).iloc[0]


@pytest.mark.parametrize(
    ("metric", "expected"), [("", 0.5), ("_max", 0.5), ("_counting", 0.0), ("_all", 0.5)]
)
def test_the_hamming_metrics_by_hand(metric: str, expected: float) -> None:
    # least distances 0, 1 and 1/2, 1/2: the radius is 1/2. One copy weighs -log(1e-12) = 27.6,
    # two half-distant rows 2 log 2 = 1.4. By distance the first member is called and one of the
    # two controls, which tie: 1/2. Counting 1, 0, 2, 2 calls both controls: 0
    synthetic = [(1, 1), (3, 8), (3, 9), (4, 10), (4, 11)]
    line = figure(f"membership_hamming{metric}", [(1, 1), (2, 2)], [(3, 3), (4, 4)], synthetic)
    detail = line["detail"]
    assert line["value"] == detail["mean"] == detail["maximum"] == expected
    assert (detail["members"], detail["n_synthetic"]) == (2, 5)
    # 1.96 * sqrt(.25 / 3) = .566 more or less, within [0, 1]
    assert detail["interval"] == pytest.approx((0, min(expected + 0.5658, 1)), abs=1e-4)
    few = "only 5 synthetic rows, 500 asked for"
    assert detail.get("note") == (None if metric == "_all" else few)


@pytest.mark.parametrize(
    ("metric", "expected"), [("", 2 / 3), ("_max", 2 / 3), ("_counting", 1 / 3)]
)
def test_the_euclidean_metrics_by_hand(metric: str, expected: float) -> None:
    # b is constant; a as shares of the declared 20: members 0, .5, .9; controls .2, .6, .8;
    # rows 0, .5, .15, .25, .55, .65. Least distances 0, 0, .25 | .05, .05, .15: radius .05
    # (all over sqrt(2), for the two columns). Rows within it: 1, 2, 0 | 2, 2, 0.
    # By distance a copy weighs 27.6 and a row at .05/sqrt(2) 3.3: 27.6, 30.9, 0 | 6.7, 6.7, 0,
    # so both members are called and one of the two controls: 2/3.
    # Counting calls .5, .2 and .6: 1/3
    numbers = (0, 10, 18), (4, 12, 16), (0, 10, 3, 5, 11, 13)
    line = figure(f"membership_euclidean{metric}", *[[(a, 0) for a in some] for some in numbers])
    assert line["value"] == pytest.approx(expected)


# -- ties ----------------------------------------------------------------------------------


halves = st.integers(1, 8).flatmap(
    lambda m: st.lists(st.integers(0, 3), min_size=2 * m, max_size=2 * m)
)


@given(halves)
def test_ties_are_the_mean_over_all_ways_to_break_them(drawn: list[int]) -> None:
    scores, m = np.array(drawn, dtype=float), len(drawn) // 2
    # breaking ties at random, many times, in expectation: add noise that only orders ties
    noisy = scores + np.random.default_rng(0).random((4000, 2 * m)) * 1e-6
    called = np.argsort(-noisy, axis=1)[:, :m]
    # 4000 draws of a share: standard error below .008
    assert share_of_members(scores) == pytest.approx((called < m).mean(), abs=0.04)
    mirrored = share_of_members(np.concatenate([scores[m:], scores[:m]]))
    assert share_of_members(scores) + mirrored == pytest.approx(1.0)


@each_way
def test_what_is_a_coin(distance: str, estimator: str) -> None:
    how = distance, estimator
    for n, d in ((1, 1), (37, 7)):  # nothing in common
        names = [{f"c{j}": [f"{who}{i}" for i in range(n)] for j in range(d)} for who in "abs"]
        assert attack(*names, how=how).mean == 0.5
    rng = np.random.default_rng(1)
    rows, synthetic = rng.integers(0, 3, (41, 8)), rng.integers(0, 3, (97, 8))
    assert attack(rows, rows, synthetic, how=how).mean == 0.5
    same = np.repeat(rows[:1, :7], 33, axis=0)  # equal scores tie wherever the record stands
    assert attack(same, same, rng.integers(0, 3, (499, 7)), how=how).mean == 0.5
    # one row each
    for row, expected in ((1, 1.0), (2, 0.0), (3, 0.5)):
        assert attack([(1, 1)], [(2, 2)], [(row, row)]).mean == expected


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


# Once wrong: Euclidean scores that are equal but for rounding do not tie; a coordinate for each
# of 1,000 texts took 3.5 GB for 30,000 rows of each table, so that many texts are codes
@each_way
@pytest.mark.parametrize("coordinates", [64, 1])
@pytest.mark.parametrize("seed", range(12))
def test_the_attack_equals_a_naive_double_loop(
    distance: str, estimator: str, seed: int, coordinates: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(encoding, "MOST_COORDINATES", coordinates)
    tables = random_tables(seed)
    naive = share_of_members(np.array(naive_scores(tables, distance, estimator)))
    ours = attack(*tables.values(), how=(distance, estimator)).mean
    assert ours == pytest.approx(naive, abs=1e-9)


def test_a_wrong_guess_of_enough_agreements_changes_nothing() -> None:
    rng = np.random.default_rng(0)
    few = np.array([[0, 0], [1, 1], [5, 5], [6, 6]], dtype=np.int32)
    # two of the four few have no row in common: the median lies between 0 and 1 differences
    tables = (few, few[:2]), tuple(rng.integers(0, 4, (n, 6)).astype(np.int32) for n in (30, 20))
    for records, rows in tables:
        slow = module._hamming_scores(records, rows)
        for enough in range(records.shape[1] + 1):
            quick = module._hamming_scores(records, rows, enough)
            assert all((slow[estimator] == quick[estimator]).all() for estimator in slow)


def test_pairs_that_are_not_stored_are_computed_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    records, rows = rng.random((300, 4)), rng.random((70, 4))
    stored = module._euclidean_scores(records, rows, Wide())
    monkeypatch.setattr(module, "PAIRS_TO_STORE", 10)
    computed = module._euclidean_scores(records, rows, Wide())
    for estimator, scores in stored.items():
        assert scores.any() and (scores == computed[estimator]).all()


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


@each_way
def test_copies_are_found_and_independent_draws_are_a_coin(distance: str, estimator: str) -> None:
    rng, how = np.random.default_rng(0), (distance, estimator)
    train, control = draw(rng, 300), draw(rng, 300)
    found = attack(train, control, train, how=how)
    assert found.mean > 0.95 and found.maximum == found.mean
    assert found.detected and found.interval[0] > 0.85
    assert found.members == found.n_synthetic == 300
    outside, means = 0, []
    for seed in range(10):
        rng = np.random.default_rng(seed)
        tables = draw(rng, 400), draw(rng, 200), draw(rng, 600)
        found = attack(*tables, how=how, n_synthetic=500, repetitions=3, random_state=seed)
        outside += not found.interval[0] <= 0.5 <= found.interval[1]
        means.append(found.mean)
        assert len(found.shares) == 3 and found.members == 200 and found.n_synthetic == 500
    # a 95 % interval misses 3 times of 10 with a chance of 1 %; the mean of ten has error .008
    assert outside <= 2
    assert np.mean(means) == pytest.approx(0.5, abs=0.025)


@pytest.mark.slow
@each_distance
@pytest.mark.parametrize("n_synthetic", [None, 60])
def test_the_interval_covers_a_coin_as_often_as_it_says(
    distance: str, n_synthetic: int | None
) -> None:
    covered = 0
    for seed in range(100):
        rng = np.random.default_rng(seed)
        tables = [draw(rng, n, 4) for n in (60, 50, 80)]
        settings: dict[str, Any] = {"n_synthetic": n_synthetic, "repetitions": 4}
        found = attack(*tables, how=(distance, "distance"), random_state=seed, **settings)
        covered += found.interval[0] <= 0.5 <= found.interval[1]
    assert covered >= 90


def test_one_copied_row_in_ten_is_detected() -> None:
    rng = np.random.default_rng(5)
    train, control, fresh = draw(rng, 2000), draw(rng, 2000), draw(rng, 1800)
    found = attack(train, control, pd.concat([train[:200], fresh]))
    assert found.detected
    assert 0.5 < found.interval[0] < found.mean < 0.65
    assert not attack(train, control, pd.concat([draw(rng, 200), fresh])).detected


def test_the_interval_of_people_with_three_rows_by_hand() -> None:
    rng = np.random.default_rng(0)
    people = [draw(rng, 60, 4).assign(who=first + np.arange(60)) for first in (0, 100, 200)]
    # three rows of each, all but alike
    tables = [pd.concat([t] * 3).assign(year=np.repeat([1, 2, 3], 60)) for t in people]
    rows = [table.drop(columns="who") for table in tables]
    columns = Schema.draft(pd.concat(rows)).columns
    named, unnamed = Schema(columns, person="who", max_rows=3), Schema(columns)
    # 180 members are 60 people: .25 / 119 in place of .25 / 359
    for train, test, schema, variance in (
        (*tables[:2], named, 0.25 / 119), (*rows[:2], unnamed, 0.25 / 359),
    ):  # fmt: skip
        names = ["membership_hamming_all"]
        found = evaluate(train, test, rows[2], schema, None, 0, metrics=names)["detail"][0]
        reach = 1.959964 * np.sqrt(variance)
        assert found["interval"] == pytest.approx((found["mean"] - reach, found["mean"] + reach))


@each_distance
def test_with_a_schema_a_leak_of_people_dates_and_durations_is_seen(distance: Any) -> None:
    rng = np.random.default_rng(2)
    days, stays = rng.integers(0, 300, 240), rng.integers(1, 5_000, 240)
    rows = pd.DataFrame({"who": np.arange(240) // 2})
    rows["day"] = (pd.Timestamp("2020-01-01") + pd.to_timedelta(days, "D")).strftime("%d.%m.%Y")
    rows["stay"] = [f"PT{n}M" for n in stays]
    bounds = {"minimum": "2020-01-01", "maximum": "2020-12-31", "resolution": "1D"}
    stay = {"minimum": "0s", "maximum": "4 days", "resolution": "1min"}
    columns = (
        Column("day", "datetime", **bounds, format="%d.%m.%Y"),
        Column("stay", "duration", **stay),
    )
    schema = Schema(columns, person="who", max_rows=2)
    train, control = rows[:120], rows[120:]
    # the same spells in another spelling, and without the column that says whose they are
    copies = train[["day"]].assign(stay=[f"{n // 60}:{n % 60:02}:00" for n in stays[:120]])
    found = membership_inference(train, control, copies, distance, None, 1, 0, schema=schema)
    assert found.mean > 0.95
    # 120 members are 60 people: .25 / 119 in place of .25 / 239
    assert found.interval[0] == pytest.approx(found.mean - 1.959964 * np.sqrt(0.25 / 119))
    with pytest.raises(SchemaError, match="column 'who' is in only one of train and synthetic"):
        membership_inference(train, control, copies)


# -- settings ------------------------------------------------------------------------------


def three() -> list[pd.DataFrame]:
    rng = np.random.default_rng(0)
    return [draw(rng, n) for n in (80, 60, 90)]


def test_mean_maximum_and_interval_of_the_repetitions() -> None:
    found = attack(*three(), n_synthetic=40, repetitions=20, random_state=1)
    assert found.shares.shape == (20,)
    assert found.mean == found.shares.mean() and found.maximum == found.shares.max()
    assert found.maximum > found.mean
    # m = 60: a coin's variance .25 / 119, and that of the mean of 20 repetitions
    reach = 1.959964 * np.sqrt(0.25 / 119 + found.shares.var(ddof=1) / 20)
    assert found.interval == pytest.approx((found.mean - reach, found.mean + reach))
    assert (found.distance, found.estimator) == ("hamming", "distance")


@each_distance
def test_the_same_seed_gives_the_same_shares_however_many_there_are(distance: str) -> None:
    def shares(seed: Any, repetitions: int = 6) -> list[float]:
        how, size = (distance, "distance"), {"n_synthetic": 40, "repetitions": repetitions}
        return attack(*three(), how=how, random_state=seed, **size).shares.tolist()

    assert shares(1) == shares(1) != shares(2)
    assert shares(np.random.default_rng(1)) == shares(1)
    assert shares(1, 3) == shares(1)[:3]


# Once wrong: rows with equal keys keep the table's order, and keys have about 17 bits
@each_distance
def test_the_order_of_the_rows_does_not_matter(distance: str) -> None:
    rng = np.random.default_rng(8)
    tables = [draw(rng, n, 5) for n in (900, 800, 1000)]
    settings: dict[str, Any] = {"n_synthetic": 300, "repetitions": 4, "members": 200}
    expected = attack(*tables, how=(distance, "distance"), **settings).shares.tolist()
    for which in range(3):
        turned = list(tables)
        turned[which] = tables[which].sample(frac=1, random_state=1)
        found = attack(*turned, how=(distance, "distance"), **settings)
        assert found.shares.tolist() == expected


def test_fewer_rows_than_asked_for() -> None:
    for members, expected in ((None, 60), (7, 7), (99, 60)):
        found = attack(*three(), n_synthetic=500, members=members, repetitions=2)
        assert (found.members, found.n_synthetic) == (expected, 90)


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"distance": "cosine"}, r"distance \('cosine'\) must be one of hamming, euclidean"),
        ({"estimator": "median"}, r"estimator \('median'\) must be one of distance, counting"),
        ({"n_synthetic": 0}, r"n_synthetic \(0\) must be a positive whole number"),
        ({"repetitions": None}, r"repetitions \(None\) must be a positive whole number"),
        ({"members": 0}, r"members \(0\) must be a positive whole number"),
    ],
)
def test_settings_that_are_refused(setting: dict[str, Any], message: str) -> None:
    rows = pd.DataFrame({"x": [1, 2, 3], "c": ["a", "b", "c"]})
    with pytest.raises(SettingError, match=message):
        membership_inference(rows, rows, rows, **setting)
