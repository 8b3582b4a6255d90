from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from copula_shirley import Column, Schema, load
from copula_shirley.errors import SettingError
from copula_shirley.local.generator import LocalVine
from copula_shirley.local.waves import public_groups
from copula_shirley.private_vine.intervals import Intervals
from copula_shirley.publish.verify import verify_file

SCHEMA = Schema(
    (
        Column("age", "integer", minimum=0, maximum=39),
        Column("city", "categorical", categories=("a", "b", "c")),
        Column("pay", "continuous", minimum=0, maximum=100_000),
        Column("sick", "boolean", missing=True),
    )
)


def table(people: int = 40_000) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    age = rng.integers(0, 40, people)
    city = np.where(age < 20, "a", rng.choice(["b", "c"], people))
    sick = pd.array(rng.random(people) < age / 40, dtype="boolean")
    return pd.DataFrame(
        {"age": age, "city": city, "pay": 30 * age**2 + rng.random(people), "sick": sick}
    )


@pytest.mark.parametrize(("form", "asked"), [("two", 2), ("one", 1)])
def test_few_waves_tell_what_columns_have_to_do_with_each_other(
    form: str, asked: int, tmp_path: Path
) -> None:
    model = LocalVine(4.0, waves=form, random_state=0).fit(table(), SCHEMA)  # type: ignore[arg-type]
    assert [spend.rows for spend in model.ledger_.spends] == [
        f"people of wave {i + 1}" for i in range(asked)
    ]
    drawn = model.sample(20_000, random_state=0)
    old = drawn["age"] >= 20
    assert abs(old.mean() - 0.5) < 0.05
    in_a = drawn["city"] == "a"
    assert in_a[~old].mean() > 0.75 and in_a[old].mean() < 0.3
    # people of 20 and more have 12,000 and more
    assert (drawn["pay"] > 12_000)[old].mean() - (drawn["pay"] > 12_000)[~old].mean() > 0.6
    model.save(tmp_path / "m.shirley")
    again = load(tmp_path / "m.shirley")
    assert again.sample(20, random_state=1).equals(model.sample(20, random_state=1))
    assert not verify_file(tmp_path / "m.shirley").faults
    planned = LocalVine(4.0, waves=form).plan(SCHEMA, 40_000)  # type: ignore[arg-type]
    assert len(planned.stages) == asked + 1


def test_all_people_are_asked_once() -> None:
    planned = LocalVine(4.0, waves="two").plan(SCHEMA, 100_000)
    assert planned.stages["people"].tolist() == [0, 49_750, 49_750]


def test_one_column_alone_has_no_pairs() -> None:
    schema = Schema((SCHEMA["age"],))
    for form in ("two", "one"):
        model = LocalVine(4.0, waves=form, random_state=0)  # type: ignore[arg-type]
        drawn = model.fit(table(5000)[["age"]], schema).sample(2000, random_state=0)
        assert abs(drawn["age"].mean() - 19.5) < 2


def test_groups_of_the_schema_by_hand() -> None:
    age, city, sick = (SCHEMA[name] for name in ("age", "city", "sick"))
    assert (
        public_groups(age, Intervals.of(age), 4).tolist()
        == [0] * 10 + [1] * 10 + [2] * 10 + [3] * 10
    )
    assert public_groups(city, None, 2).tolist() == [0, 1, 1]
    assert public_groups(sick, None, 3).tolist() == [0, 1, 2]
    missing = Column("age", "integer", minimum=0, maximum=7, missing=True)
    # the missing values first, alone
    assert public_groups(missing, Intervals.of(missing), 3).tolist() == [0] + [1] * 4 + [2] * 4


def test_other_forms_are_refused() -> None:
    with pytest.raises(
        SettingError, match=r"waves \(three\) must be one of adaptive, two, one|waves"
    ):
        LocalVine(1.0, waves="three").check_settings(SCHEMA)  # type: ignore[arg-type]
