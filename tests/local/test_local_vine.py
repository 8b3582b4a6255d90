from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from tables import PEOPLE, people

from copula_shirley import Column, Ledger, PrivateVine, Schema, load
from copula_shirley.errors import ArtefactError, BudgetError, SchemaError, SettingError
from copula_shirley.evaluation.contract import check_generator
from copula_shirley.local.calibration import LocalCalibration, people_needed
from copula_shirley.local.coins import Unary, Wave
from copula_shirley.local.curator import LocalCurator, randomisers_of
from copula_shirley.local.generator import LocalVine, local_vine, simulate
from copula_shirley.local.oracles import Coins
from copula_shirley.measure.queries import Declared, Numbers, Tables
from copula_shirley.privacy.zcdp import rho_of
from copula_shirley.publish.verify import verify_file
from copula_shirley.rows.memory import MemoryRows

SCHEMA = Schema(
    (
        Column("age", "integer", minimum=0, maximum=39),
        Column("city", "categorical", categories=("a", "b", "c")),
        Column("sick", "boolean"),
    )
)


def table(people: int = 30_000) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    age = rng.integers(0, 40, people)
    city = np.where(age < 20, "a", rng.choice(["b", "c"], people))
    return pd.DataFrame({"age": age, "city": city, "sick": rng.random(people) < age / 40})


@pytest.fixture(scope="module")
def fitted() -> LocalVine:
    return simulate(table(), SCHEMA, PrivateVine(4.0, target="sick", random_state=1))


def curator(people: int, epsilon: float) -> tuple[LocalCurator, Ledger]:
    model = LocalVine(epsilon)
    ledger = model.open_ledger(SCHEMA)
    rows = MemoryRows.of(table(people), SCHEMA)
    noise = LocalCalibration(people, epsilon)
    return LocalCurator(rows, ledger, Coins(np.random.default_rng(0)), noise), ledger


def test_each_person_answers_one_question_with_all_of_epsilon() -> None:
    asked, ledger = curator(10_000, 2.0)
    seen: list[int] = []
    records = asked._records
    asked._records = lambda cell_map, people: (seen.extend(people), records(cell_map, people))[1]  # type: ignore[method-assign]
    maps = [Declared(("age",), (40,)), Declared(("city",), (3,))]
    for share in (0.25, 0.5):
        asked.answer(Tables("margins", maps, share))
    assert len(seen) == len(set(seen)) == 7500
    assert [(s.epsilon, s.rows) for s in ledger.spends] == [
        (2.0, "people of wave 1"),
        (2.0, "people of wave 2"),
    ]
    assert (ledger.spent.epsilon, ledger.spent.delta) == (2.0, 0.0)
    with pytest.raises(BudgetError, match="5,000 people would be asked, and 2,500 have not"):
        asked.answer(Tables("more", maps, 0.5))


def test_counts_are_of_all_people_with_the_stated_noise() -> None:
    cells = [Declared(("age",), (40,)), Declared(("city",), (3,))]
    found, sigmas = [], []
    for seed in range(60):
        rows = MemoryRows.of(table(4000), SCHEMA)
        ledger = LocalVine(1.0).open_ledger(SCHEMA)
        asked = LocalCurator(
            rows, ledger, Coins(np.random.default_rng(seed)), LocalCalibration(4000, 1.0)
        )
        answer = asked.answer(Tables("margins", cells, 1.0))
        found.append(np.concatenate(answer.values))
        sigmas.append(answer.sigma)
    true = np.concatenate([one.ravel() for one in MemoryRows.of(table(4000), SCHEMA).count(cells)])
    off = np.array(found) - true
    # stated is the noise of the coins; that 2,000 of 4,000 people answer each table adds its chance
    per_table = [off[:, :40].std(), off[:, 40:].std()]
    chance = [4000 * math.sqrt((1 - 1 / k) / k / 2000) for k in (40, 3)]
    both = math.sqrt(sigmas[0] ** 2 + np.mean(np.square(chance)))
    assert math.sqrt(np.mean(np.square(per_table))) == pytest.approx(both, rel=0.1)
    assert np.abs(off.mean(axis=0)).max() < 4.5 * max(per_table) / math.sqrt(60)


def test_the_noise_follows_the_law_of_a_curator() -> None:
    noise = LocalCalibration(1_000_000, 1.0)
    # N sqrt(v c / (s N)) = sqrt(c / (2 s rho)), rho = 1 / (2 N v)
    by_hand = 1e6 * math.sqrt(noise.variance * 7 / (0.3 * 1e6))
    assert noise.sigma(0.3, 7) == pytest.approx(by_hand)
    assert noise.sigma(0.3, 7) == pytest.approx(math.sqrt(7 / (2 * 0.3 * noise.total)))
    query = Tables("some", [Declared(("age",), (40,))] * 3, 0.1)
    assert noise.asked(query) == [33_334, 33_333, 33_333]
    # equal relative noise: 7.5e7 people at epsilon 1 for the curator's rho of 26,048 rows
    assert people_needed(rho_of(1.0, 1e-9), 26_048, 1.0) == pytest.approx(7.5e7, rel=0.01)


def test_a_table_of_one_cell_asks_nobody() -> None:
    asked, ledger = curator(1000, 1.0)
    answer = asked.answer(Tables("size", [Declared(("rows",), (1,))], 0.5))
    (counts,) = vars(answer)["values"]
    assert (counts.tolist(), answer.sigma, ledger.spends) == ([1000], 0.0, ())
    # beside others it has people, who are asked nothing
    both = [Declared(("rows",), (1,)), Declared(("city",), (3,))]
    counts, _ = vars(asked.answer(Tables("both", both, 0.5)))["values"]
    assert counts.tolist() == [1000]
    kinds = randomisers_of(Tables("some", [*both, Declared(("age",), (400,))], 1.0), 1.0)
    assert [type(one) for one in kinds] == [type(None), Wave, Unary]


def test_only_tables_can_be_asked_for_and_only_by_such_a_calibration() -> None:
    asked, ledger = curator(1000, 1.0)
    with pytest.raises(SettingError, match=r"query \(Numbers\) must be Tables"):
        asked._answer(Numbers("stage", [], 0.5))
    with pytest.raises(SettingError, match="LocalCalibration"):
        LocalCurator(MemoryRows.of(table(9), SCHEMA), ledger, Coins())


def test_the_vine_is_learnt(fitted: LocalVine) -> None:
    synthetic = fitted.sample(20_000, random_state=0)
    old = synthetic["age"] >= 20
    assert (synthetic["city"] == "a")[~old].mean() > 0.85
    assert synthetic["sick"][old].mean() - synthetic["sick"][~old].mean() > 0.3
    assert fitted.n_rows_ == 30_000
    assert fitted.ledger_.spent.epsilon == 4.0


def test_card_file_and_verdict_go_together(fitted: LocalVine, tmp_path: Path) -> None:
    card = fitted.card()
    assert "epsilon 4, for every row" in card.words.headline
    rehearsed, nobody, *_ = card["trust"]["words"]
    assert rehearsed.startswith("A rehearsal: one process had all rows")
    assert "Nobody has to be trusted" in nobody
    assert "when, and from where" in card.to_html() and "Holders" not in card.to_html()
    fitted.save(tmp_path / "model.shirley")
    again = load(tmp_path / "model.shirley")
    assert isinstance(again, LocalVine)
    assert again.sample(50, random_state=3).equals(fitted.sample(50, random_state=3))
    assert not verify_file(tmp_path / "model.shirley").faults
    assert again.card()["trust"] == card["trust"]
    # an answer that states less noise than its people make is refused
    again.transcript_.answers[1] = type(again.transcript_.answers[1])(
        again.transcript_.answers[1].values, again.transcript_.answers[1].sigma / 2
    )
    again.transcript_.queries[1]["sigma"] /= 2
    with pytest.raises(ArtefactError, match="the noise of an answer"):
        again.rebuilt()


def test_secure_coins_are_fit_for_release_and_seeded_ones_are_not(fitted: LocalVine) -> None:
    assert fitted.ledger_.seeded
    model = LocalVine(4.0).fit(table(2000), SCHEMA)
    assert model.ledger_.noise is not None and model.ledger_.noise.for_release
    assert model.card().words.verdict == "proved"


def test_settings_of_a_curator_are_taken_over_or_refused() -> None:
    made = local_vine(PrivateVine(2.0, target="sick", truncation=1, random_state=5))
    assert (made.epsilon, made.target, made.truncation, made.random_state) == (2.0, "sick", 1, 5)
    assert (made.delta, made.neighbours) == (0.0, "replace-one")
    for settings, words in (
        ({"delta": 1e-6}, r"delta \(1e-06\) must be 0"),
        ({"domain": "measured"}, r"domain \('measured'\)"),
        ({"epsilon": None}, r"epsilon \(None\) of a person's report must be from 0.001 to 16"),
        ({"epsilon": 17.0}, r"epsilon \(17.0\)"),
    ):
        with pytest.raises(SettingError, match=words):
            simulate(table(500), SCHEMA, PrivateVine(**settings))
    with pytest.raises(SettingError, match=r"people \(20\) must be at least 50"):
        LocalVine(1.0).fit(table(20), SCHEMA)
    several = Schema(SCHEMA.columns, person="who", max_rows=2)
    with pytest.raises(SchemaError, match=r"max_rows \(2\) must be 1"):
        LocalVine(1.0).check_settings(several)


def test_a_plan_says_how_many_people_it_takes() -> None:
    planned = LocalVine(1.0).plan(SCHEMA, 26_048)
    curators = PrivateVine(1.0, 1e-9)
    rho = curators.problem(curators.coordinates(SCHEMA), 0).noise.total
    needed = f"{float(f'{people_needed(rho, 26_048, 1.0):.1e}'):,.0f} at epsilon 1,"
    assert needed in planned.notes[0] and "Not worth it" in planned.notes[1]
    assert "rho" not in planned.stages and "epsilon" not in planned.stages
    assert planned.stages["people"].sum() == pytest.approx(26_048, rel=0.01)
    assert planned.stages["people"][0] == 0  # their number is public
    assert "Worth it" in LocalVine(4.0).plan(SCHEMA, 1_000_000).notes[1]


def test_a_preview_counts_with_the_people_that_are_asked_for() -> None:
    few, many = (LocalVine(1.0, target="sick").preview(SCHEMA, n) for n in (1000, 10_000_000))
    # made-up rows are spread evenly; noise of few people moves them
    off = [np.abs(p.drawn["city"].value_counts(normalize=True) - 1 / 3).sum() for p in (few, many)]
    assert off[0] > 0.1 > off[1]


def test_the_contract_is_kept() -> None:
    """Every rule, with the cost of neighbours by first principles, where a person is a row."""
    report = check_generator(LocalVine, epsilon=4.0, raise_=False, table=people(120), schema=PEOPLE)
    assert not report.failures, report
    skipped = {o.name: o.reason for o in report.outcomes if o.status != "passed"}
    assert skipped == {"person": "the table given has no person column"}


def test_the_contract_finds_reports_that_cost_more_than_was_charged(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    charge = LocalCalibration.charge

    def half(self: LocalCalibration, *given: Any) -> None:
        whole, self.epsilon = self.epsilon, self.epsilon / 2
        charge(self, *given)
        self.epsilon = whole

    monkeypatch.setattr(LocalCalibration, "charge", half)
    report = check_generator(LocalVine, epsilon=4.0, raise_=False, table=people(120), schema=PEOPLE)
    assert "cost" in {one.name for one in report.failures}
