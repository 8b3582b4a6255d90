from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from copula_shirley import Column, Schema
from copula_shirley.evaluation import evaluate

NAMES = tuple("abcdefghijkl")
SCHEMA = Schema(
    (
        Column("name", "categorical", categories=NAMES),
        Column("ill", "categorical", categories=("flu", "cold", "none", "rare"), missing=True),
        Column("age", "integer", minimum=0, maximum=100, missing=True),
    )
)


def people(names: str, ill: Any, age: Any) -> pd.DataFrame:
    n = len(names)
    ill = [ill] * n if isinstance(ill, str) or ill is None else ill
    age = [age] * n if np.isscalar(age) else age
    return pd.DataFrame({"name": list(names), "ill": ill, "age": age})


def line(
    train: pd.DataFrame, test: pd.DataFrame, synthetic: pd.DataFrame, *secrets: str, seed: int = 0
) -> pd.Series:
    frame = evaluate(
        train, test, synthetic, SCHEMA, None, seed,
        metrics=["attribute_inference"], sensitive=secrets,
    )  # fmt: skip
    return frame.iloc[0]


TRAIN = people("abcdef", ["flu", "cold", "none"] * 2, 50)
TEST = people("ghijkl", "rare", 50)


def test_copies_by_hand() -> None:
    # the nearest synthetic row is the person's own: 6 of 6. Strangers are told one of flu, cold
    # and none, but have rare: 0 of 6. Who asks the control rows hears rare: 0 of 6
    found = line(TRAIN, TEST, TRAIN, "ill")
    assert found["value"] == 1
    detail = found["detail"]
    assert (detail["train"], detail["control"], detail["baseline"]) == (1, 0, 0)
    # 7/8 - 1/8 with two made-up people, +- 1.96 * sqrt(2 * (7/64) / 8) = .3241
    assert detail["interval"] == pytest.approx((0.75 - 0.3241, 1), abs=1e-3)
    column = detail["columns"]["ill"]
    assert {who: column[who]["rate"] for who in ("train", "control", "baseline")} == {
        "train": 1, "control": 0, "baseline": 0,
    }  # fmt: skip
    assert column["train"]["trials"] == 6
    # Wilson: 6 of 6 is 6 / (6 + 3.84) = .6097 to 1
    assert column["train"]["interval"] == pytest.approx((0.6097, 1), abs=1e-3)
    assert column["advantage"] == 1 and column["interval"] == detail["interval"]


def test_what_strangers_lose_too_is_no_leak() -> None:
    sick = people("abcdef", "flu", 50)
    found = line(sick, people("ghijkl", "flu", 50), sick, "ill")
    assert found["value"] == 0
    assert found["detail"]["train"] == found["detail"]["control"] == 1
    assert found["detail"]["baseline"] == 1
    low, high = found["detail"]["interval"]
    assert low < 0 < high


def test_the_tolerance_of_numbers() -> None:
    # 5 years of the declared 100 are right, 6 are not
    near, far = people("abcdef", "flu", 55), people("abcdef", "flu", 56)
    assert line(TRAIN.assign(ill="flu"), TEST, near, "age")["detail"]["train"] == 1
    assert line(TRAIN.assign(ill="flu"), TEST, far, "age")["detail"]["train"] == 0


def test_a_missing_secret_is_guessed_by_a_missing_one() -> None:
    gone = people("abcdef", None, [np.nan] * 6)
    found = line(gone, TEST, gone, "ill", "age")
    assert found["detail"]["train"] == 1 and found["detail"]["control"] == 0
    known = line(gone, TEST, TRAIN, "ill", "age")
    assert known["detail"]["train"] == 0


def test_the_nearest_row_by_gower() -> None:
    # person a, 50: row (b, 50) differs by 1, row (a, 90) by .4, row (a, gap) by 1
    train, test = people("aaaaaa", "flu", 50), people("llllll", "rare", 50)
    synthetic = people("baa", ["cold", "flu", "none"], [50, 90, np.nan])
    assert line(train, test, synthetic, "ill")["detail"]["train"] == 1
    # far beyond the declared range it differs by 1 at most, as much as another name
    synthetic = people("ba", ["cold", "flu"], [40, 9999])
    train_rate = line(train, test, synthetic, "ill")["detail"]["train"]
    assert train_rate == 1  # 1/2 (clipped at 100) against 1 + .1
    assert line(train.assign(age=0), test, synthetic, "ill")["detail"]["train"] == 1


def test_ties_are_broken_at_random_and_not_by_value() -> None:
    # every row is as near: over 200 people the four answers come out alike
    n = 200
    train = people("a" * n, "flu", 50)
    rows = [people("b" * 4, ["flu", "cold", "none", "rare"], 50)] * 50
    rates = [
        line(train, people("ccc", "flu", 50), pd.concat(rows), "ill", seed=seed)["detail"]["train"]
        for seed in range(30)
    ]
    # one draw for all who are alike, in each run: 1 in 4, standard error .079
    assert np.mean(rates) == pytest.approx(1 / 4, abs=0.24)


def test_the_default_secrets() -> None:
    named = evaluate(
        TRAIN, TEST, TRAIN, SCHEMA, {"multiclass": "ill", "regression": "age"}, 0,
        metrics=["attribute_inference"],
    )  # fmt: skip
    assert list(named["detail"][0]["columns"]) == ["ill", "age"]
    everything = evaluate(TRAIN, TEST, TRAIN, SCHEMA, None, 0, metrics=["attribute_inference"])
    assert list(everything["detail"][0]["columns"]) == ["name", "ill", "age"]


def test_one_column_cannot_be_guessed() -> None:
    schema = Schema(SCHEMA.columns[:1])
    tables = [t[["name"]] for t in (TRAIN, TEST, TRAIN)]
    found = evaluate(*tables, schema, metrics=["attribute_inference"]).iloc[0]
    assert found["value"] == 0 and "one column" in found["detail"]["note"]


def test_several_secrets_count_alike() -> None:
    # illnesses are copied, and ages are 90 in place of 50: one secret of two is guessed
    found = line(TRAIN, TEST, TRAIN.assign(age=90), "ill", "age")
    assert found["value"] == found["detail"]["train"] == 0.5
    assert found["detail"]["control"] == 0
    advantages = {name: c["advantage"] for name, c in found["detail"]["columns"].items()}
    assert advantages == {"ill": 1, "age": 0}


def test_one_row_of_each_person_is_attacked() -> None:
    # Once wrong: rows of the same person counted as so many successes
    schema = Schema(SCHEMA.columns, person="who", max_rows=6)
    train = TRAIN.assign(who=[1, 1, 1, 2, 2, 3])
    tables = train, TEST.assign(who=range(10, 16)), TRAIN
    found = evaluate(
        *tables, schema, None, 0, metrics=["attribute_inference"], sensitive=["ill"]
    )["detail"][0]["columns"]["ill"]  # fmt: skip
    assert (found["train"]["trials"], found["control"]["trials"]) == (3, 6)
    assert found["train"]["rate"] == 1


# -- teeth ---------------------------------------------------------------------------------

WIDE = Schema(
    (
        *(Column(f"k{i}", "integer", minimum=0, maximum=50) for i in range(4)),
        Column("secret", "categorical", categories=tuple("uvwx")),
    )
)


def draw(n: int, seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    keys = {f"k{i}": rng.integers(0, 51, n) for i in range(4)}
    return pd.DataFrame({**keys, "secret": rng.choice(list("uvwx"), n)})


def attacked(synthetic: pd.DataFrame, seed: int = 0) -> pd.Series:
    frame = evaluate(
        draw(600, 1), draw(600, 2), synthetic, WIDE, None, seed,
        metrics=["attribute_inference"], sensitive=["secret"],
    )  # fmt: skip
    return frame.iloc[0]


def test_copies_leak() -> None:
    found = attacked(draw(600, 1))
    assert found["detail"]["interval"][0] > 0.5
    assert found["detail"]["train"] > 0.9
    assert found["detail"]["columns"]["secret"]["train"]["trials"] == 500
    # who never saw the training rows guesses one of four
    assert found["detail"]["baseline"] == pytest.approx(0.25, abs=0.1)
    assert found["detail"]["control"] == pytest.approx(0.25, abs=0.1)


@pytest.mark.parametrize("seed", [3, 4, 5])
def test_independent_draws_do_not_leak(seed: int) -> None:
    low, high = attacked(draw(600, seed), seed)["detail"]["interval"]
    assert low < 0 < high
