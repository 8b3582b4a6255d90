"""What every installed generator promises, tried on each of them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from copula_shirley import Generator, Schema, SchemaError, load
from copula_shirley.api import find_generator, generators

#: Settings that make a generator fit these tables quickly.
SETTINGS = {
    "copula-shirley": {"target": "rich", "families": ["indep", "gaussian"]},
    "privbayes": {"degree": 2},
}
#: Generators that spend no budget; tests/baselines/test_reference.py is about them.
REFERENCES = {"real", "uniform"}


@pytest.fixture(params=sorted(set(generators()) - REFERENCES))
def generator(request: pytest.FixtureRequest) -> Generator:
    return find_generator(request.param)(
        epsilon=1.0, random_state=0, **SETTINGS.get(request.param, {})
    )


def test_fit_returns_itself_and_changes_neither_table_nor_settings(
    generator: Generator, people: pd.DataFrame, people_schema: Schema
) -> None:
    before, settings = people.copy(), generator.get_params()
    assert generator.fit(people, people_schema) is generator
    pd.testing.assert_frame_equal(people, before)
    assert generator.get_params() == settings


def test_samples_fit_the_schema_and_look_like_the_table(
    generator: Generator, people: pd.DataFrame, people_schema: Schema
) -> None:
    synthetic = generator.fit(people, people_schema).sample(200)
    people_schema.validate(synthetic)
    assert synthetic.columns.tolist() == people.columns.tolist()
    assert synthetic.index.tolist() == list(range(200))
    for name in set(people.columns) - {"grade"}:
        assert synthetic[name].dtype == people[name].dtype


def test_the_ledger_is_within_its_budget(
    generator: Generator, people: pd.DataFrame, people_schema: Schema
) -> None:
    ledger = generator.fit(people, people_schema).ledger_
    assert ledger.budget is not None
    assert 0 < ledger.spent.epsilon <= ledger.budget.epsilon * (1 + 1e-9)
    assert ledger.proved is None or ledger.proved == ledger.spent


def test_clones_with_one_seed_agree(
    generator: Generator, people: pd.DataFrame, people_schema: Schema
) -> None:
    first = clone(generator).fit(people, people_schema).sample(60)
    second = clone(generator).fit(people, people_schema).sample(60)
    pd.testing.assert_frame_equal(first, second)


def test_global_randomness_is_neither_used_nor_changed(
    generator: Generator, people: pd.DataFrame, people_schema: Schema
) -> None:
    state = np.random.get_state()[1].copy()  # noqa: NPY002
    generator.fit(people, people_schema).sample(10)
    assert np.array_equal(state, np.random.get_state()[1])  # noqa: NPY002


def test_save_and_load(
    generator: Generator, people: pd.DataFrame, people_schema: Schema, tmp_path: Path
) -> None:
    generator.fit(people, people_schema).save(tmp_path / "model")
    again = load(tmp_path / "model")
    assert type(again) is type(generator)
    pd.testing.assert_frame_equal(
        again.sample(40, random_state=1), generator.sample(40, random_state=1)
    )
    assert again.ledger_.to_dict() == generator.ledger_.to_dict()


def test_a_table_off_the_schema_is_refused(
    generator: Generator, people: pd.DataFrame, people_schema: Schema
) -> None:
    with pytest.raises(SchemaError, match="'job'") as error:
        generator.fit(people.assign(job="a secret profession"), people_schema)
    assert "secret" not in str(error.value)


def test_progress_runs_from_nothing_to_done(
    generator: Generator, people: pd.DataFrame, people_schema: Schema
) -> None:
    told: list[tuple[str, float]] = []
    generator.fit(people, people_schema, progress=lambda *step: told.append(step))
    shares = [share for _, share in told]
    assert shares == sorted(shares) and told[-1] == ("done", 1.0)
