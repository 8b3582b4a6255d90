"""The parts of an audit: claims, what is observed, what is learnt, controls, verdicts."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from test_faults_audit import TRIALS, Trial

from copula_shirley.evaluation.audit.bounds import DELTA
from copula_shirley.evaluation.audit.claim import Claim, Limit, Statement, claim_of
from copula_shirley.evaluation.audit.control import control_runs, controls, runs_needed
from copula_shirley.evaluation.audit.distinguisher import Encoding, learn_event
from copula_shirley.evaluation.audit.estimates import (
    CONSISTENT,
    FALSE_LEDGER,
    INCONCLUSIVE,
    NO_POWER,
    REFUTED,
    Power,
    estimates_of_pair,
    judge,
)
from copula_shirley.evaluation.audit.observation import Observation, black_box, flatten
from copula_shirley.evaluation.audit.pairs import built_in
from copula_shirley.evaluation.audit.runs import Setup, run_once
from copula_shirley.privacy.zcdp import epsilon_of, rho_of

ONE, ZERO = ([Observation({"x": value})] * 100 for value in (1.0, 0.0))
POWER = Power("epsilon", 1.0, 1.0, 3.0, (2,), ())

# -- claims --------------------------------------------------------------------------------


def test_a_claim_in_rho_is_tested_where_there_is_power() -> None:
    rho = rho_of(1.0, 1e-9)
    limits = Claim(1.0, 1e-9, rho, gaussian=True).limits()
    implied, mu = epsilon_of(rho, DELTA), np.sqrt(2 * rho)
    assert limits == [
        [Limit("epsilon", 1e-9, 1.0, 1.0)],
        [Limit("epsilon", DELTA, implied, implied)],
        [Limit("mu", 1e-9, mu, 1.05 * mu), Limit("rho", 1e-9, rho, rho)],
    ]
    assert implied < 0.3
    # without Gaussian noise, and where mu is large, mu is told, not judged; nor without rho
    for claim in (Claim(1.0, 1e-9, rho), Claim(9.0, 1e-9, rho_of(9.0, 1e-9), gaussian=True)):
        assert claim.limits()[2][0] == Limit("mu", 1e-9, claim.mu)
    assert Claim(1.0, 1e-9).limits()[1:] == [
        [Limit("epsilon", DELTA, 1.0, 1.0)], [Limit("mu", 1e-9), Limit("rho", 1e-9)],
    ]  # fmt: skip
    assert Claim(1.0).limits() == [[Limit("epsilon", 0.0, 1.0, 1.0)]]


def test_a_forgotten_root_of_two_is_caught_by_mu() -> None:
    rho = rho_of(4.0, 1e-9)
    claim = Claim(4.0, 1e-9, rho, gaussian=True)
    honest = estimates_of_pair(*control_runs(claim, 6_000, 1), claim)
    assert not any(e.refuted for e in honest)
    faulty = estimates_of_pair(*control_runs(replace(claim, rho=2 * rho), 6_000, 1), claim)
    assert faulty[2].refuted and faulty[2].bound > faulty[2].limit


def test_the_claim_is_what_was_given_or_what_the_ledger_says() -> None:
    stated = Statement(2.0, 1e-9, "epsilon 2", zcdp=True, gaussian=True, relation="add-remove")
    claim = claim_of(stated)
    assert (claim.epsilon, claim.delta, claim.source) == (2.0, 1e-9, "ledger")
    assert claim.rho == rho_of(2.0, 1e-9) and claim.gaussian
    assert claim_of(stated, 0.5).epsilon == 0.5 and claim_of(stated, 0.5).rho is None
    assert claim_of(None, otherwise=(3.0, 0.0), relation="add-remove").relation == "add-remove"
    assert claim_of(replace(stated, epsilon=None), otherwise=(3.0, 0.0)).epsilon == 3.0


def test_noise_of_a_quarter_that_no_pair_shows_is_not_consistent() -> None:
    """Epsilon 4.3 under a claim of 1: a pair sees nothing of it, nor of the control."""
    claim = Claim(1.0, 1e-9, rho_of(1.0, 1e-9), gaussian=True)
    faulty = estimates_of_pair(*control_runs(claim, 200, 3, weaker=4), claim, tests=10)
    control = controls(claim, 200, 0, 10, None, pairs=True)
    assert not any(e.refuted for e in faulty)
    verdict, reason = judge(faulty, control.estimates, control.power)
    assert verdict == NO_POWER == "inconclusive: no power"
    assert "of the control's mu 0.173 it saw 0" in reason and "more runs" in reason
    assert list(control.weaker) == [2, 4, 8]
    assert control.power.needed is not None and control.power.needed > 5_000


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


def test_verdicts_in_the_order_in_which_they_count() -> None:
    claim = Claim(1.0)
    bad, good = estimates_of_pair(ONE, ZERO, claim), estimates_of_pair(ZERO, ZERO, claim)
    assert bad[0].refuted and judge(bad, good, POWER, ["why"])[0] == REFUTED
    assert judge(bad, bad, POWER)[0] == INCONCLUSIVE
    assert judge(good, [], POWER, ["why"]) == (FALSE_LEDGER, "why")
    above = [replace(good[0], bound=1.5)]
    assert judge(above, good, POWER)[0] == INCONCLUSIVE


def test_power_is_that_of_released_numbers() -> None:
    """A leak into drawn rows only may pass, and is said to."""
    white, black = (estimates_of_pair(ONE, ONE, Claim(1.0), "p", box) for box in ("white", "black"))
    verdict, reason = judge([*white, *black], [], POWER)
    assert verdict == CONSISTENT and reason.endswith(
        "in all answers that were asked here would have been noticed; drawn rows: no power is "
        "known, since there is no control for them"
    )
    assert "drawn rows" not in judge(white, [], POWER)[1]
    assert judge(black, [], POWER)[0] == NO_POWER


# Once wrong: faults that are planted by names which were gone, seen by slow tests alone
@pytest.mark.parametrize("trial", TRIALS, ids=lambda trial: trial.name)
def test_a_generator_with_a_planted_fault_is_fitted(trial: Trial) -> None:
    make, pair = trial.made(faulty=True)
    fit = run_once(Setup(make, ("white",)), pair, 0, 1)
    assert fit.error is None and (fit.boxes or fit.right)


def test_the_bound_comes_from_runs_that_the_event_was_not_learnt_on() -> None:
    """Pure noise with many numbers: the learning half is fooled, the test half is not."""
    rng = np.random.default_rng(0)
    sides = [
        [Observation({f"x{j}": v for j, v in enumerate(row)}) for row in rng.normal(size=(60, 300))]
        for _ in range(2)
    ]
    (estimate,) = estimates_of_pair(sides[0], sides[1], Claim(1.0))
    assert estimate.runs == 30 and estimate.bound == 0


def test_learning_finds_the_number_that_differs() -> None:
    first, second = np.random.default_rng(0).normal(size=(2, 200, 40))
    first[:, 17] += 5
    event = learn_event(first, second, [f"x{j}" for j in range(40)], Limit("epsilon"))
    assert event is not None
    more, fewer = event.hits(first, second)
    assert more > 180 and fewer < 20
    assert learn_event(first[:, :0], second[:, :0], [], Limit("epsilon")) is None


def test_many_weak_numbers_are_added_up() -> None:
    rng = np.random.default_rng(0)
    shift = np.array([0.4, 0.0])[:, None, None]  # each alone shows mu 0.4, together 2.2
    first, second = rng.normal(size=(2, 1_000, 30)) + shift
    event = learn_event(first, second, [f"x{j}" for j in range(30)], Limit("mu"))
    assert event is not None and "score" in event.about
    more, fewer = event.hits(*(rng.normal(size=(2, 1_000, 30)) + shift))
    assert more - fewer > 600  # at best Phi(1.1) - Phi(-1.1) = 0.73 of 1,000


def test_words_and_absent_numbers_count() -> None:
    runs = [
        Observation(a=1.0, tree="ab"),
        Observation(a=1.0, b=2.0, tree="ac"),
        Observation(a=1.0, b=2.0, tree="ab"),
    ]
    encoding = Encoding(runs)
    assert encoding.names == ["b is there", "tree = ab", "tree = ac"]
    assert encoding.matrix(runs).tolist() == [[0, 1, 0], [1, 0, 1], [1, 1, 0]]
    assert encoding.matrix([Observation(tree="new")]).tolist() == [[0, 0, 0]]


def test_every_number_of_a_state_is_seen() -> None:
    seen: Observation = {}
    state = {"x": [1, {"y": 2.5}], "text": json.dumps({"z": [3]}), "flag": True, "none": None}
    flatten(seen, "s", {**state, "a": np.array([[1, 2]]), "nan": float("nan"), "odd": "{no json"})
    assert {k: v for k, v in seen.items() if isinstance(v, float)} == {
        "s.x[0]": 1.0, "s.x[1].y": 2.5, "s.text.z[0]": 3.0, "s.a[0]": 1.0, "s.a[1]": 2.0,
    }  # fmt: skip
    assert seen["s.flag"] == "True" and seen["s.nan"] == "nan"
    assert seen["s.a[]"] == "int64 (1, 2)" and seen["s.x[]"] == "2"
    assert seen["s.odd"] == "{no json"


def test_drawn_rows_are_compared_with_the_record() -> None:
    pair = built_in("category", "replace-one")
    table = pd.DataFrame({"job": ["none", "law", "none"], "x": [9, 0, 1], "y": [4, 0, 4]})
    numbers = black_box(table, pair.schema, pair.differing)
    assert (numbers["as record 0: all columns"], numbers["as record 1: all columns"]) == (1, 1)
    assert numbers["as record 0: job"] == 2 and numbers["as record 0: job and y"] == 2
    assert (numbers["cell job[3]"], numbers["max x"], numbers["distinct y"]) == (2, 9, 2)
    strange = black_box(table.assign(x=["?", "?", "?"]), pair.schema, pair.differing)
    assert strange["dtype x"] != "int64" and strange["min x"] == "-inf"
    assert black_box([1], pair.schema, pair.differing) == {"sample": "list"}
