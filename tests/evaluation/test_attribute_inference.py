from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from tables import whole_numbers

from copula_shirley import Column, Schema
from copula_shirley.evaluation import evaluate

SCHEMA = Schema(
    (
        Column("name", "categorical", categories=tuple("abcdefghijkl")),
        Column("ill", "categorical", categories=("flu", "cold", "none", "rare"), missing=True),
        Column("age", "integer", minimum=0, maximum=100, missing=True),
    )
)


def people(names: str, ill: Any, age: Any) -> pd.DataFrame:
    ill = [ill] * len(names) if isinstance(ill, str) or ill is None else ill
    return pd.DataFrame({"name": list(names), "ill": ill, "age": age})


def line(
    *tables: pd.DataFrame, secrets: tuple[str, ...] = ("ill",), seed: int = 0, **more: Any
) -> Any:
    """The detail, with the value."""
    schema, tasks = more.get("schema", SCHEMA), more.get("tasks")
    names = ["attribute_inference"]
    found = evaluate(*tables, schema, tasks, seed, metrics=names, sensitive=secrets).iloc[0]
    return {**found["detail"], "value": found["value"]}


TRAIN = people("abcdef", ["flu", "cold", "none"] * 2, 50)
TEST = people("ghijkl", "rare", 50)


def test_copies_by_hand() -> None:
    # the nearest synthetic row is the person's own: 6 of 6. Strangers are told one of flu, cold
    # and none, but have rare: 0 of 6. Who asks the control rows hears rare: 0 of 6
    found = line(TRAIN, TEST, TRAIN)
    assert [found[key] for key in ("value", "train", "control", "baseline")] == [1, 1, 0, 0]
    # 7/8 - 1/8 with two made-up people, +- 1.96 * sqrt(2 * (7/64) / 8) = .3241
    assert found["interval"] == pytest.approx((0.75 - 0.3241, 1), abs=1e-3)
    column = found["columns"]["ill"]
    assert [column[who]["rate"] for who in ("train", "control", "baseline")] == [1, 0, 0]
    assert column["train"]["trials"] == 6
    # Wilson: 6 of 6 is 6 / (6 + 3.84) = .6097 to 1
    assert column["train"]["interval"] == pytest.approx((0.6097, 1), abs=1e-3)
    assert column["advantage"] == 1 and column["interval"] == found["interval"]


def test_what_strangers_lose_too_is_no_leak() -> None:
    sick = people("abcdef", "flu", 50)
    found = line(sick, people("ghijkl", "flu", 50), sick)
    assert [found[key] for key in ("value", "train", "control", "baseline")] == [0, 1, 1, 1]
    assert found["interval"][0] < 0 < found["interval"][1]


@pytest.mark.parametrize(("age", "right"), [(55, 1), (56, 0)])
def test_a_number_is_right_within_a_twentieth_of_its_range(age: int, right: int) -> None:
    synthetic = people("abcdef", "flu", age)
    found = line(TRAIN.assign(ill="flu"), TEST, synthetic, secrets=("age",))
    assert found["train"] == right


def test_a_missing_secret_is_guessed_by_a_missing_one() -> None:
    gone = people("abcdef", None, [np.nan] * 6)
    found = line(gone, TEST, gone, secrets=("ill", "age"))
    assert (found["train"], found["control"]) == (1, 0)
    assert line(gone, TEST, TRAIN, secrets=("ill", "age"))["train"] == 0


@pytest.mark.parametrize(
    ("age", "synthetic"),
    [
        # person a, 50: row (b, 50) differs by 1, row (a, 90) by .4, row (a, gap) by 1
        (50, people("baa", ["cold", "flu", "none"], [50, 90, np.nan])),
        # far beyond the declared range it differs by 1 at most, as much as another name:
        # 1/2 (clipped at 100) against 1 + .1
        (50, people("ba", ["cold", "flu"], [40, 9999])),
        (0, people("ba", ["cold", "flu"], [40, 9999])),
    ],
)
def test_the_nearest_row_by_gower(age: int, synthetic: pd.DataFrame) -> None:
    train, test = people("aaaaaa", "flu", age), people("llllll", "rare", 50)
    assert line(train, test, synthetic)["train"] == 1


def test_ties_are_broken_at_random_and_not_by_value() -> None:
    # every row is as near: over 200 people the four answers come out alike
    train, test = people("a" * 200, "flu", 50), people("ccc", "flu", 50)
    rows = pd.concat([people("b" * 4, ["flu", "cold", "none", "rare"], 50)] * 50)
    rates = [line(train, test, rows, seed=seed)["train"] for seed in range(30)]
    # one draw for all who are alike, in each run: 1 in 4, standard error .079
    assert np.mean(rates) == pytest.approx(1 / 4, abs=0.24)


def test_the_default_secrets() -> None:
    tasks = {"multiclass": "ill", "regression": "age"}
    assert list(line(TRAIN, TEST, TRAIN, secrets=(), tasks=tasks)["columns"]) == ["ill", "age"]
    assert list(line(TRAIN, TEST, TRAIN, secrets=())["columns"]) == ["name", "ill", "age"]


def test_one_column_cannot_be_guessed() -> None:
    tables = [t[["name"]] for t in (TRAIN, TEST, TRAIN)]
    found = line(*tables, secrets=(), schema=Schema(SCHEMA.columns[:1]))
    assert found["value"] == 0 and "one column" in found["note"]


def test_several_secrets_count_alike() -> None:
    # illnesses are copied, and ages are 90 in place of 50: one secret of two is guessed
    found = line(TRAIN, TEST, TRAIN.assign(age=90), secrets=("ill", "age"))
    assert found["value"] == found["train"] == 0.5 and found["control"] == 0
    assert {name: c["advantage"] for name, c in found["columns"].items()} == {"ill": 1, "age": 0}


def test_one_row_of_each_person_is_attacked() -> None:
    # Once wrong: rows of the same person counted as so many successes
    schema = Schema(SCHEMA.columns, person="who", max_rows=6)
    train, test = TRAIN.assign(who=[1, 1, 1, 2, 2, 3]), TEST.assign(who=range(10, 16))
    found = line(train, test, TRAIN, schema=schema)["columns"]["ill"]
    assert (found["train"]["trials"], found["control"]["trials"]) == (3, 6)
    assert found["train"]["rate"] == 1


# -- teeth ---------------------------------------------------------------------------------


def draw(seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    keys = {f"k{i}": rng.integers(0, 51, 600) for i in range(4)}
    return pd.DataFrame({**keys, "ill": rng.choice(list("uvwx"), 600)})


@pytest.mark.parametrize("seed", [1, 3, 4, 5])
def test_copies_leak_and_independent_draws_do_not(seed: int) -> None:
    schema = Schema(
        (
            *whole_numbers(("k0", "k1", "k2", "k3"), 50),
            Column("ill", "categorical", categories=tuple("uvwx")),
        )
    )
    found = line(draw(1), draw(2), draw(seed), schema=schema, seed=seed)
    low, high = found["interval"]
    assert low > 0.5 if seed == 1 else low < 0 < high
    # 500 people are attacked; who never saw the training rows guesses one of four
    assert found["columns"]["ill"]["train"]["trials"] == 500
    assert (found["baseline"], found["control"]) == pytest.approx((0.25, 0.25), abs=0.1)
