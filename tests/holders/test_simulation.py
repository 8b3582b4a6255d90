"""A whole fit by several holders, its file, and what verify finds in one that was bent."""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from copula_shirley import Column, PrivateVine, Schema, SettingError, load, verify_file
from copula_shirley.files import model_file
from copula_shirley.holders import simulate

SCHEMA = Schema(tuple(Column(name, "integer", minimum=0, maximum=5) for name in "abc"))


def parts(holders: int = 3, rows: int = 400) -> list[pd.DataFrame]:
    rng = np.random.default_rng(0)
    found = []
    for _ in range(holders):
        a = rng.integers(0, 6, rows)
        found.append(pd.DataFrame({"a": a, "b": a, "c": (a + rng.integers(0, 2, rows)) % 6}))
    return found


@pytest.fixture(scope="module")
def fitted() -> PrivateVine:
    return simulate(parts(), SCHEMA, PrivateVine(8.0, target="a", random_state=0))


@pytest.fixture
def saved(fitted: PrivateVine, tmp_path: Path) -> Path:
    fitted.save(tmp_path / "model.shirley")
    return tmp_path / "model.shirley"


def test_holders_and_a_curator_learn_the_same_but_for_noise(fitted: PrivateVine) -> None:
    curator = PrivateVine(8.0, target="a", random_state=0).fit(pd.concat(parts()), SCHEMA)
    for model in (fitted, curator):
        drawn = model.sample(2000, random_state=0)
        assert (drawn["a"] == drawn["b"]).mean() > 0.95
    first, other = (m.transcript_.queries[0]["sigma"] for m in (fitted, curator))
    assert first / other == pytest.approx(np.sqrt(3 / 2), rel=1e-6)
    assert fitted.ledger_.spent.epsilon == pytest.approx(8.0)


def test_the_card_says_against_whom_it_protects(fitted: PrivateVine) -> None:
    trust = fitted.card()["trust"]
    assert (trust["model"], trust["holders"], trust["colluding"]) == ("holders", 3, 1)
    assert trust["words"][0].startswith("A rehearsal: one process had all rows")
    assert any("coordinator, readers and up to 1 of them" in text for text in trust["words"])
    assert any(text.startswith("Epsilon if more holders collude") for text in trust["words"])
    assert "Against whom it holds" in fitted.card().to_html()


@pytest.mark.parametrize("delta", [1e-9, 0.0])
def test_a_model_of_holders_is_read_and_verified(tmp_path: Path, delta: float) -> None:
    model = simulate(parts(2, 50), SCHEMA, PrivateVine(4.0, delta, random_state=1))
    model.save(tmp_path / "model.shirley")
    again = load(tmp_path / "model.shirley")
    drawn = [one.sample(50, random_state=3) for one in (model, again)]
    pd.testing.assert_frame_equal(*drawn)
    verdict = verify_file(tmp_path / "model.shirley")
    assert not verdict.faults
    assert any("holders signed every question" in text for text in verdict.passed)
    # a table of one curator is no model of holders any more
    again.fit(parts(1)[0], SCHEMA)
    assert again.trust_ is None
    assert again.ledger_.spends[0].stage == "size"


def test_people_with_rows_at_several_holders_are_spoken_of() -> None:
    schema = Schema(SCHEMA.columns, person="who", max_rows=4)
    rows = [part.assign(who=np.arange(len(part)) // 2) for part in parts(2, 60)]
    model = simulate(rows, schema, PrivateVine(8.0, random_state=0))
    assert model.ledger_.rows_per_unit == 4
    assert any("at most 4" in text for text in model.card()["trust"]["words"])


# -- bent files ---------------------------------------------------------------------------


def other_answer(_: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
    arrays["answer_0_0"] = arrays["answer_0_0"] + 1


def other_vector(header: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
    other_answer(header, arrays)
    arrays["masked_0"] = arrays["masked_0"].copy()
    arrays["masked_0"][0, 0] += np.uint64(1)


def other_session(header: dict[str, Any], _: dict[str, np.ndarray]) -> None:
    header["model"]["trust"]["agreement"]["session"] = "ab"


def other_seed(header: dict[str, Any], _: dict[str, np.ndarray]) -> None:
    header["model"]["pool_seed"] += 1


def unsigned(header: dict[str, Any], _: dict[str, np.ndarray]) -> None:
    del header["model"]["trust"]["signatures"]["holder-2"]


def vector_left_out(_: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
    arrays["masked_0"] = arrays["masked_0"][:-1]


def nobody_signed_it(header: dict[str, Any], _: dict[str, np.ndarray]) -> None:
    del header["model"]["trust"]["rounds"][0]["masked"]["holder-2"]


def swapped_answers(header: dict[str, Any], _: dict[str, np.ndarray]) -> None:
    rounds = header["model"]["trust"]["rounds"]
    rounds[1]["ready"] = rounds[2]["ready"]


@pytest.mark.parametrize(
    ("bend", "fault"),
    [
        (other_answer, "is not the sum of the vectors"),
        (other_vector, "masked of 'holder-1' was not signed"),
        (other_session, "signature of 'holder-1' was not signed"),
        (other_seed, "seed of the rows drawn"),
        (unsigned, "'holder-2' has not signed the agreement"),
        (vector_left_out, "one signed vector of each holder"),
        (nobody_signed_it, "one signed vector of each holder"),
        (swapped_answers, "signed another question"),
    ],
    ids=lambda one: getattr(one, "__name__", ""),
)
def test_verify_finds_what_holders_did_not_sign(
    saved: Path, bend: Callable[[dict[str, Any], dict[str, np.ndarray]], None], fault: str
) -> None:
    header, arrays = model_file.read(saved)
    header = copy.deepcopy(header)
    bend(header, arrays)
    del header["format"], header["copula-shirley"]
    model_file.write(saved, header, arrays)
    faults = verify_file(saved).faults
    assert any(fault in text for text in faults), faults


def test_attempts_that_are_missing_in_the_ledger_are_found(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A coordinator that hides that all vectors of an attempt were thrown away."""
    from copula_shirley.holders import coordinator  # noqa: PLC0415

    add_up, tried = coordinator.Coordinator._add_up, []

    def thrown_away(self: Any, query: Any) -> Any:
        if len(self.rounds) == 1 and not tried:
            tried.append(query)
            self.restart()
            return self.answer_to(1, query)
        return add_up(self, query)

    monkeypatch.setattr(coordinator.Coordinator, "_add_up", thrown_away)
    model = simulate(parts(), SCHEMA, PrivateVine(8.0, random_state=0), spare=0.5)
    model.save(tmp_path / "honest.shirley")
    assert not verify_file(tmp_path / "honest.shirley").faults
    assert model.trust_ is not None
    assert model.trust_.rounds[1].charged == 2
    header, arrays = model_file.read(tmp_path / "honest.shirley")
    header["model"]["trust"]["rounds"][1]["charged"] = 1
    del header["format"], header["copula-shirley"]
    model_file.write(tmp_path / "hiding.shirley", header, arrays)
    faults = verify_file(tmp_path / "hiding.shirley").faults
    assert any("attempts that failed are missing" in text for text in faults)


# -- refusals -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("count", "settings", "more", "match"),
    [
        (1, {}, {}, r"holders \(1\) must be 2 to 1000"),
        (3, {}, {"colluding": 3}, r"colluding \(3\) must be 0 to 2"),
        (2, {"epsilon": None}, {}, r"epsilon \(None\) must be a number"),
        (2, {"domain": "measured"}, {}, "domain"),
        (2, {}, {"spare": 1.5}, "spare"),
    ],
)
def test_what_cannot_be_is_one_error(
    count: int, settings: dict[str, Any], more: dict[str, Any], match: str
) -> None:
    with pytest.raises(SettingError, match=match):
        simulate(parts(count, 20), SCHEMA, PrivateVine(**settings), **more)


def test_a_drafted_schema_is_refused_as_unproved() -> None:
    table = parts(1, 50)[0]
    with pytest.raises(SettingError, match="nothing would be proved"):
        simulate([table, table], Schema.draft(table))
