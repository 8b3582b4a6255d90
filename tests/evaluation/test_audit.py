"""Audits of generators whose privacy is known, and what an audit refuses.

Everything is seeded. A refutation of a true claim has a chance below 1 in 1,000 per audit (the
instrument's own rate); each was drawn once.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from audit_generators import Constant, Copies, NoisyHistogram

from copula_shirley import Budget, Ledger
from copula_shirley.errors import SettingError
from copula_shirley.evaluation.audit.audit import Audit, audit
from copula_shirley.evaluation.audit.bounds import DELTA
from copula_shirley.evaluation.audit.claims import Claim, claim_of
from copula_shirley.evaluation.audit.control import control_runs, controls, runs_needed
from copula_shirley.evaluation.audit.events import Encoding, Measurand, learn_event
from copula_shirley.evaluation.audit.evidence import Evidence, black_box, flatten
from copula_shirley.evaluation.audit.findings import (
    CONSISTENT,
    INCONCLUSIVE,
    NO_POWER,
    REFUTED,
    Power,
    examine,
    judge,
)
from copula_shirley.evaluation.audit.fits import CHUNK, run_all, seed_of
from copula_shirley.evaluation.audit.neighbours import built_in
from copula_shirley.privacy.zcdp import epsilon_of, rho_of


def of(**settings: Any) -> Any:
    return lambda seed: NoisyHistogram(random_state=seed, **settings)


# -- verdicts ------------------------------------------------------------------------------


def test_a_true_claim_is_consistent() -> None:
    result = audit(of(), "category", runs=600, boxes=("white",))
    assert result.verdict == CONSISTENT and not result.refuted
    assert 0 < result.lower_bound < 1 < result.ceiling
    assert result.claim.epsilon == 1.0 and result.claim.relation == "add-remove"
    assert result.power.quantity == "epsilon" and 0.5 <= result.power.seen <= 1
    assert result.power.noticed == (2, 4, 8) and "noise / 2, noise / 4" in result.reason


def test_noise_that_is_too_small_is_refuted() -> None:
    result = audit(of(factor=0.2), "category", runs=200, boxes=("white",))
    assert result.verdict == REFUTED
    assert result.lower_bound > 1 and "category" in result.reason
    more, fewer = result.findings[0].hits
    assert more > 90 and fewer < 10  # of 100: the category of one record


@pytest.mark.parametrize("relation", ["add-remove", "replace-one"])
def test_the_relation_is_the_one_of_the_ledger(relation: str) -> None:
    make = of(factor=0.1, neighbours=relation)
    assert audit(make, "category", runs=60, boxes=("white",)).claim.relation == relation
    other = built_in("category", "replace-one" if relation == "add-remove" else "add-remove")
    with pytest.raises(SettingError, match=f"must be neighbours by {relation}"):
        audit(make, other, runs=60)


def test_an_outsider_has_a_black_box_and_a_claim_that_is_given() -> None:
    result = audit(lambda _: Copies(), ["outlier", "category"], claim=1.0, runs=60)
    assert result.verdict == REFUTED and {f.box for f in result.findings} == {"black"}
    assert result.lower_bound == pytest.approx(result.ceiling)
    assert any("no white box" in note for note in result.notes)
    harmless = audit(lambda _: Constant(), "outlier", claim=1.0, runs=100)
    assert not harmless.refuted and harmless.lower_bound == 0


def test_a_claim_above_the_ceiling_is_inconclusive() -> None:
    result = audit(of(epsilon=6.0), "category", runs=60, boxes=("white",))
    assert result.verdict == NO_POWER and "more runs are needed, about" in result.reason
    assert result.ceiling < 6 and not result.power.noticed


def test_noise_of_a_quarter_that_no_pair_shows_is_not_consistent() -> None:
    """Epsilon 4.3 under a claim of 1: a pair sees nothing of it, nor of the control."""
    claim = Claim(1.0, 1e-9, rho_of(1.0, 1e-9), gaussian=True)
    faulty = examine(*control_runs(1.0, 1e-9, claim.rho, 200, 3, weaker=4), claim, looks=10)
    control, power, weaker = controls(claim, 200, 0, 10, None, events=True)
    assert not any(f.refuted for f in faulty)
    verdict, reason = judge(faulty, control, power)
    assert verdict == NO_POWER == "inconclusive: no power"
    assert "of the control's mu 0.173 it saw 0" in reason and "more runs" in reason
    assert [entry["noise_divided_by"] for entry in weaker] == [2, 4, 8]
    assert power.needed is not None and power.needed > 5_000


def test_runs_are_not_asked_for_where_they_do_not_help() -> None:
    """No audit sees an event of chance 1e-9, and without rho nothing else is claimed."""
    assert runs_needed(Claim(1.0, 1e-9), 60, 1, None) is None
    verdict, reason = judge([], [], Power("epsilon", 1.0, 0.0, 1.2, (), (2, 4, 8)))
    assert verdict == NO_POWER and "more runs are no way out" in reason


@pytest.mark.parametrize(("seen", "noticed", "ceiling"), [(0.4, (8,), 3), (1, (), 3), (1, (8,), 1)])
def test_power_needs_half_of_the_control_and_weaker_noise(
    seen: float, noticed: tuple[int, ...], ceiling: float
) -> None:
    power = Power("epsilon", 1.0, seen, ceiling, noticed, (2,))
    assert not power.enough and replace(power, seen=0.5, ceiling=2, noticed=(8,)).enough


def test_a_refuted_control_makes_it_inconclusive() -> None:
    claim = Claim(1.0)
    told = [Evidence({"x": 1.0})] * 100, [Evidence({"x": 0.0})] * 100
    bad, power = examine(*told, claim), Power("epsilon", 1.0, 1.0, 3.0, (2,), ())
    assert bad[0].refuted and judge(bad, examine(told[1], told[1], claim), power)[0] == REFUTED
    assert judge(bad, bad, power)[0] == INCONCLUSIVE


class Refuses(NoisyHistogram):
    """Stops where a category is there that it does not like, in half of the runs."""

    def fit(self, table: pd.DataFrame, schema: Any) -> Any:
        if (table["job"] == "none").any() and np.random.default_rng(
            self.random_state
        ).random() < 0.5:
            raise ValueError("an unusual table")
        return super().fit(table, schema)


def test_an_exception_on_one_side_is_an_event() -> None:
    result = audit(lambda seed: Refuses(random_state=seed), "category", runs=200, rows=20)
    assert result.refuted
    assert any("runs raised" in note for note in result.notes)


class Quotes(NoisyHistogram):
    """Fails always, and quotes a value of the table."""

    def fit(self, table: pd.DataFrame, schema: Any) -> Any:
        if self.random_state is not None and self.random_state < 10:
            return super().fit(table, schema)
        raise ValueError(f"cannot fit {table.iloc[-1, 0]}")


def test_an_error_that_quotes_a_value_is_an_event() -> None:
    assert audit(lambda seed: Quotes(random_state=seed), "category", runs=60).refuted


class Fixed(NoisyHistogram):
    """Draws the same noise in every fit."""

    def fit(self, table: pd.DataFrame, schema: Any) -> Any:
        self.random_state = 7
        return super().fit(table, schema)


def test_noise_that_is_always_the_same_is_refuted() -> None:
    result = audit(lambda seed: Fixed(random_state=seed), "category", runs=60, boxes=("white",))
    assert result.refuted and result.lower_bound == pytest.approx(result.ceiling)


def test_only_what_is_kept_is_looked_at() -> None:
    make = of(factor=0.2)
    shared: dict[str, Any] = {"runs": 200, "boxes": ("white",)}
    assert audit(make, "category", keep=lambda name: name == "counts[3]", **shared).refuted
    blind = audit(make, "category", keep=lambda name: name == "counts[0]", **shared)
    assert not blind.refuted and blind.findings[0].event != "nothing varies"


# -- what a claim implies ------------------------------------------------------------------


def test_a_claim_in_rho_is_tested_where_there_is_power() -> None:
    rho = rho_of(1.0, 1e-9)
    tests = Claim(1.0, 1e-9, rho, gaussian=True).tests()
    assert [(t.quantity, t.delta) for t in tests] == [
        ("epsilon", 1e-9),
        ("epsilon", DELTA),
        ("mu", 1e-9),
    ]
    assert [t.limit for t in tests] == [1.0, epsilon_of(rho, DELTA), np.sqrt(2 * rho)]
    assert tests[1].limit is not None and tests[1].limit < 0.3
    plain = Claim(1.0, 1e-9).tests()  # without rho: epsilon itself, and mu is told, not judged
    assert [t.limit for t in plain] == [1.0, 1.0, None]
    assert [t.quantity for t in Claim(1.0).tests()] == ["epsilon"]


def test_a_forgotten_root_of_two_is_caught_by_mu() -> None:
    epsilon = 4.0
    rho = rho_of(epsilon, 1e-9)
    claim = Claim(epsilon, 1e-9, rho, gaussian=True)
    honest = examine(*control_runs(epsilon, 1e-9, rho, 6_000, 1), claim)
    assert not any(f.refuted for f in honest)
    faulty = examine(*control_runs(epsilon, 1e-9, 2 * rho, 6_000, 1), claim)
    assert faulty[2].refuted and faulty[2].bound > faulty[2].limit


class Mixed(NoisyHistogram):
    """Its ledger names a choice in some fits only."""

    def fit(self, table: pd.DataFrame, schema: Any) -> Any:
        super().fit(table, schema)
        self.ledger_ = Ledger(
            Budget(1.0, 1e-9), claimed=Budget(1.0, 1e-9), neighbours="add-remove", zcdp=True
        )
        self.ledger_.charge_rho("margins", "job", "discrete gaussian", 1e-3)
        if self.random_state and self.random_state % 2:
            self.ledger_.charge_rho("choice", "job", "exponential", 1e-3)
        return self


def test_mu_refutes_only_where_every_fit_is_gaussian() -> None:
    """The exponential mechanism shows up to 1.25 times sqrt(2 rho)."""
    shared: dict[str, Any] = {"runs": 40, "boxes": ("white",)}
    mixed = audit(lambda seed: Mixed(random_state=seed), "category", **shared)
    assert mixed.claim.rho == rho_of(1.0, 1e-9) and not mixed.claim.gaussian
    plain = audit(lambda seed: Mixed(random_state=2 * (seed or 0)), "category", **shared)
    assert plain.claim.gaussian


def test_the_claim_is_what_was_given_or_what_the_ledger_says() -> None:
    stated = {
        "epsilon": 2.0, "delta": 1e-9, "zcdp": True, "gaussian": True, "proved": "epsilon 2",
        "neighbours": "add-remove", "unit": "row", "rows_per_unit": 1,
    }  # fmt: skip
    claim = claim_of(stated)
    assert (claim.epsilon, claim.delta, claim.source) == (2.0, 1e-9, "ledger")
    assert claim.rho == rho_of(2.0, 1e-9) and claim.gaussian
    assert claim_of(stated, 0.5).epsilon == 0.5 and claim_of(stated, 0.5).rho is None
    assert claim_of(None, otherwise=(3.0, 0.0), relation="add-remove").relation == "add-remove"
    assert claim_of({**stated, "epsilon": None}, otherwise=(3.0, 0.0)).epsilon == 3.0
    with pytest.raises(SettingError, match=r"claim .None. must be given: it keeps no ledger"):
        claim_of(None)


# -- the instrument ------------------------------------------------------------------------


def test_the_bound_comes_from_runs_that_the_event_was_not_learnt_on() -> None:
    """Pure noise with many numbers: the learning half is fooled, the test half is not."""
    rng = np.random.default_rng(0)
    sides = [[Evidence({f"x{j}": v for j, v in enumerate(r)}) for r in rng.normal(size=(60, 300))]
             for _ in range(2)]  # fmt: skip
    (finding,) = examine(sides[0], sides[1], Claim(1.0))
    assert finding.runs == 30 and finding.bound == 0


def test_learning_finds_the_number_that_differs() -> None:
    rng = np.random.default_rng(0)
    first, second = rng.normal(size=(2, 200, 40))
    first[:, 17] += 5
    event = learn_event(first, second, [f"x{j}" for j in range(40)], Measurand("epsilon"))
    assert event is not None
    more, fewer = event.hits(first, second)
    assert more > 180 and fewer < 20
    assert learn_event(first[:, :0], second[:, :0], [], Measurand("epsilon")) is None


def test_many_weak_numbers_are_added_up() -> None:
    rng = np.random.default_rng(0)
    first, second = rng.normal(size=(2, 1_000, 30))
    first += 0.4  # each alone shows mu 0.4, together 2.2
    event = learn_event(first, second, [f"x{j}" for j in range(30)], Measurand("mu"))
    assert event is not None and "score" in event.about
    fresh = rng.normal(size=(2, 1_000, 30)) + np.array([0.4, 0.0])[:, None, None]
    more, fewer = event.hits(fresh[0], fresh[1])
    assert more - fewer > 600  # at best Phi(1.1) - Phi(-1.1) = 0.73 of 1,000


def test_words_and_absent_numbers_count() -> None:
    runs = [
        Evidence({"a": 1.0}, {"tree": "ab"}),
        Evidence({"a": 1.0, "b": 2.0}, {"tree": "ac"}),
        Evidence({"a": 1.0, "b": 2.0}, {"tree": "ab"}),
    ]
    encoding = Encoding(runs)
    assert encoding.names == ["b is there", "tree = ab", "tree = ac"]
    assert encoding.matrix(runs).tolist() == [[0, 1, 0], [1, 0, 1], [1, 1, 0]]
    assert encoding.matrix([Evidence({}, {"tree": "new"})]).tolist() == [[0, 0, 0]]


def test_every_number_of_a_state_is_seen() -> None:
    evidence = Evidence()
    state = {"x": [1, {"y": 2.5}], "text": json.dumps({"z": [3]}), "flag": True, "none": None}
    flatten(evidence, "s", {**state, "a": np.array([[1, 2]]), "nan": float("nan")})
    assert evidence.numbers == {
        "s.x[0]": 1.0, "s.x[1].y": 2.5, "s.text.z[0]": 3.0, "s.a[0]": 1.0, "s.a[1]": 2.0,
    }  # fmt: skip
    assert evidence.words["s.flag"] == "True" and evidence.words["s.nan"] == "nan"
    assert evidence.words["s.a[]"] == "int64 (1, 2)" and evidence.words["s.x[]"] == "2"


def test_drawn_rows_are_compared_with_the_record() -> None:
    pair = built_in("category", "replace-one")
    table = pd.DataFrame({"job": ["none", "law", "none"], "x": [9, 0, 1], "y": [4, 0, 4]})
    numbers = black_box(table, pair.schema, pair.differing()).numbers
    assert (numbers["as record 0"], numbers["as record 1"]) == (1, 1)
    assert numbers["as record 0 job"] == 2 and numbers["as record 0 job and y"] == 2
    assert (numbers["cell job[3]"], numbers["max x"], numbers["distinct y"]) == (2, 9, 2)
    strange = black_box(table.assign(x=["?", "?", "?"]), pair.schema, pair.differing())
    assert strange.words["dtype x"] != "int64" and strange.words["min x"] == "-inf"
    assert black_box([1], pair.schema, pair.differing()).words == {"sample": "list"}


# -- many fits, and files ------------------------------------------------------------------


def test_seeds_are_different_and_do_not_depend_on_the_number_of_runs() -> None:
    pair, other = built_in("category", "add-remove"), built_in("outlier", "add-remove")
    seeds = {seed_of(s, p, side, i) for s in (0, 1) for p in (pair, other) for side in (0, 1)
             for i in range(50)}  # fmt: skip
    assert len(seeds) == 400
    few = run_all(of(), [pair], 50, ("white",))
    many = run_all(of(), [pair], 70, ("white",))
    assert [f.boxes for f in many[0, 1][:50]] == [f.boxes for f in few[0, 1]]


class LateLeak:
    """Shows a row where a short look does not reach: deep in a text, in bytes, far in a list."""

    def fit(self, table: pd.DataFrame) -> None:
        row = str(sorted(map(str, table.iloc[-1])))
        self.state = {self.where: {"text": "x" * 3000 + row, "bytes": row.encode()}.get(self.where)}
        if self.where == "list":
            self.state["list"] = ["-"] * 6000 + [row]

    def __init__(self, where: str) -> None:
        self.where = where

    def sample(self, n: int) -> pd.DataFrame:
        return pd.DataFrame({"a": range(n)})

    def _state(self) -> tuple[dict[str, Any], dict[str, Any]]:
        return self.state, {}


@pytest.mark.parametrize("where", ["text", "bytes", "list"])
def test_no_place_of_the_white_box_is_too_far(where: str) -> None:
    result = audit(lambda _: LateLeak(where), "category", claim=1.0, runs=80, boxes=("white",))
    assert result.refuted


def test_runs_are_kept_only_under_a_name_that_tells_generators_apart(tmp_path: Path) -> None:
    with pytest.raises(SettingError, match="identity"):
        audit(Killed(), "category", runs=90, folder=tmp_path)


class Killed:
    """A factory that stops the audit at some fit, as a kill would."""

    def __init__(self, after: int | None = None) -> None:
        self.calls, self.after = 0, after

    def __call__(self, seed: int | None) -> NoisyHistogram:
        self.calls += 1
        if self.after is not None and self.calls > self.after:
            raise KeyboardInterrupt
        return NoisyHistogram(random_state=seed)


def figures(result: Audit) -> Any:
    return result.findings, result.verdict, result.lower_bound


def test_an_audit_that_was_killed_goes_on_and_gives_the_same(tmp_path: Path) -> None:
    shared: dict[str, Any] = {"runs": 90, "identity": "histogram", "boxes": ("white",)}
    whole = Killed()
    expected = audit(whole, "category", **shared)
    killed = Killed(after=130)
    with pytest.raises(KeyboardInterrupt):
        audit(killed, "category", folder=tmp_path, **shared)
    kept = sorted(tmp_path.rglob("*.json.gz"))
    assert 4 <= len(kept) <= 6 and not list(tmp_path.rglob("*.partial"))
    kept[0].write_bytes(kept[0].read_bytes()[:40])  # half a file is as good as none
    again = Killed()
    result = audit(again, "category", folder=tmp_path, **shared)
    assert figures(result) == figures(expected)
    assert again.calls == whole.calls - (len(kept) - 1) * CHUNK
    third = Killed()
    assert figures(audit(third, "category", folder=tmp_path, **shared)) == figures(expected)
    assert third.calls == 3  # one asks for the claim, two try the pair


def test_runs_of_another_generator_or_seed_are_not_taken(tmp_path: Path) -> None:
    shared: dict[str, Any] = {"runs": 40, "boxes": ("white",), "folder": tmp_path}
    audit(Killed(), "category", name="one", **shared)
    for change in ({"name": "two"}, {"name": "one", "seed": 1}, {"name": "one", "identity": "x"}):
        other = Killed()
        audit(other, "category", **change, **shared)
        assert other.calls == 83


@pytest.mark.slow
def test_processes_and_progress() -> None:
    steps: list[tuple[int, int]] = []
    make = of(factor=0.2)
    shared: dict[str, Any] = {"runs": 60, "boxes": ("white",)}
    alone = audit(make, "category", **shared)
    together = audit(make, "category", jobs=2, progress=lambda *step: steps.append(step), **shared)
    assert figures(alone) == figures(together)
    assert steps[0] == (0, 120) and steps[-1] == (120, 120)


def test_the_dictionary_is_plain_json() -> None:
    result = audit(of(), ["category", "missing"], runs=40, rows=10)
    text = json.dumps(result.to_dict(), allow_nan=False)
    found = json.loads(text)
    for name in ("generator", "claim", "lower_bound", "ceiling", "runs", "verdict", "control",
                 "findings", "power", "weaker_controls", "false_alarm_rate",
                 "versions", "seconds", "pairs"):  # fmt: skip
        assert name in found
    assert found["claim"]["epsilon"] == 1.0 and found["pairs"] == ["category", "missing"]
    assert {(f["pair"], f["box"]) for f in found["findings"]} == {
        (pair, box) for pair in ("category", "missing") for box in ("white", "black")
    }


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"runs": 10}, r"runs \(10\) must be a whole number, 40 or more"),
        ({"boxes": ("grey",)}, r"box \('grey'\) must be white, black"),
        ({"pair": "flip"}, r"pair \('flip'\) must be one of"),
        ({"pair": []}, "at least one pair"),
        ({"pair": ["category", "category"]}, "must not be named twice"),
        ({"pair": "person"}, "differs by a person"),
        ({"claim": 0.0}, r"epsilon \(0.0\) must be"),
    ],
)
def test_what_cannot_be_is_refused(changes: dict[str, Any], words: str) -> None:
    arguments: dict[str, Any] = {"pair": "category", "runs": 40, **changes}
    with pytest.raises(SettingError, match=words):
        audit(of(), **arguments)


def test_a_generator_that_always_fails_is_no_result() -> None:
    with pytest.raises(SettingError, match="fails on pair 'category': TypeError"):
        audit(lambda seed: NoisyHistogram(sedd=seed), "category", claim=1.0, runs=40)  # type: ignore[call-arg]
    with pytest.raises(SettingError, match="must be black"):
        audit(lambda _: Copies(), "category", claim=1.0, runs=40, boxes=("white",))
