from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from commands import run
from tables import JOBS, PEOPLE, jobs, people

from copula_shirley import Budget, SettingError
from copula_shirley.baselines import Real, Uniform
from copula_shirley.generator import find_generator
from copula_shirley.publish.releases import ReleaseLedger


def test_real_draws_the_rows_and_never_leaves_the_process(tmp_path: Path) -> None:
    model = Real(random_state=0).fit(people(), PEOPLE)
    drawn = model.sample(400)
    assert sorted(drawn["age"]) == sorted(people()["age"])
    assert len(model.sample(1000)) == 1000
    assert model.ledger_.proved is None
    with pytest.raises(SettingError, match="never saved"):
        model.save(tmp_path / "model")
    people().to_csv(tmp_path / "t.csv", index=False)
    ended = run("synthesize t.csv --model real -o out.csv", folder=tmp_path)
    assert "holds the rows themselves" in ended.refusal()
    assert [path.name for path in tmp_path.iterdir()] == ["t.csv"]


def test_uniform_looks_at_nothing_but_the_schema() -> None:
    model, other = (Uniform(random_state=0).fit(people(n), PEOPLE) for n in (400, 3))
    pd.testing.assert_frame_equal(model.sample(50), other.sample(50))
    assert model.n_rows_ == other.n_rows_
    assert model.ledger_.proved is not None and model.ledger_.proved.epsilon == 0
    PEOPLE.validate(model.sample(200))


@pytest.mark.parametrize("name", ["dp-histogram", "dp-copula", "privbayes"])
def test_baselines_without_a_seed_may_be_released(name: str, tmp_path: Path) -> None:
    ledger = ReleaseLedger.new(tmp_path / "r.json", Budget(1.0), neighbours="replace-one")
    model = find_generator(name)(epsilon=1.0)
    with ledger.reserve(model, JOBS) as reservation:
        reservation.fit(jobs())
    assert model.ledger_.noise is not None and model.ledger_.noise.for_release
    assert ReleaseLedger.open(tmp_path / "r.json").total.epsilon == pytest.approx(1.0)
