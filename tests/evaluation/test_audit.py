"""Audits of generators whose privacy is known, what is kept of them, and what they refuse.

Everything is seeded. A refutation of a true claim has a chance below 1 in 1,000 per audit (the
instrument's own rate); each was drawn once.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from audit_generators import Constant, Copies, NoisyHistogram

from copula_shirley import Budget, Ledger
from copula_shirley.errors import SettingError
from copula_shirley.evaluation.audit.audit import Audit, audit
from copula_shirley.evaluation.audit.estimates import NO_POWER, REFUTED
from copula_shirley.evaluation.audit.pairs import built_in
from copula_shirley.evaluation.audit.runs import CHUNK, Setup, run_all
from copula_shirley.privacy.zcdp import rho_of

WHITE: dict[str, Any] = {"boxes": ("white",)}


def of(kind: type = NoisyHistogram, **settings: Any) -> Any:
    return lambda seed: kind(random_state=seed, **settings)


def test_noise_that_is_too_small_is_refuted() -> None:
    result = audit(of(factor=0.2), "category", runs=200, **WHITE)
    assert result.verdict == REFUTED
    assert result.lower_bound > 1 and "category" in result.reason
    more, fewer = result.estimates[0].hits
    assert more > 90 and fewer < 10  # of 100: the category of one record


def test_the_relation_is_the_one_of_the_ledger() -> None:
    make = of(factor=0.1, neighbours="replace-one")
    assert audit(make, "category", runs=60, **WHITE).claim.relation == "replace-one"
    with pytest.raises(SettingError, match="must be neighbours by replace-one"):
        audit(make, built_in("category", "add-remove"), runs=60)


def test_an_outsider_has_a_black_box_and_a_claim_that_is_given() -> None:
    result = audit(lambda _: Copies(), ["outlier", "category"], claim=1.0, runs=60, rows=100)
    assert result.verdict == REFUTED and {e.box for e in result.estimates} == {"black"}
    assert result.lower_bound == pytest.approx(result.ceiling)
    assert any("no white box" in note for note in result.notes)
    harmless = audit(lambda _: Constant(), "outlier", claim=1.0, runs=60, rows=100)
    assert not harmless.refuted and harmless.lower_bound == 0


def test_a_claim_above_the_ceiling_is_inconclusive() -> None:
    result = audit(of(epsilon=6.0), "category", runs=60, **WHITE)
    assert result.verdict == NO_POWER and "more runs are needed, about" in result.reason
    assert result.ceiling < 6 and not result.power.noticed


class Refuses(NoisyHistogram):
    """Stops where a category is there that it does not like, in most runs."""

    def fit(self, table: pd.DataFrame, schema: Any) -> Any:
        odd = (table["job"] == "none").any()
        if odd and np.random.default_rng(self.random_state).random() < 0.9:
            raise ValueError("an unusual table")
        return super().fit(table, schema)


class Quotes(NoisyHistogram):
    """Fails in nearly all runs, and quotes a value of the table."""

    def fit(self, table: pd.DataFrame, schema: Any) -> Any:
        if self.random_state is not None and self.random_state < 10:
            return super().fit(table, schema)
        raise ValueError(f"cannot fit {table.iloc[-1, 0]}")


class LateLeak(NoisyHistogram):
    """Shows a row where a short look does not reach: deep in a text, in bytes, far in a list."""

    def __init__(self, where: str, **settings: Any) -> None:
        super().__init__(**settings)
        self.where = where

    def fit(self, table: pd.DataFrame, schema: Any) -> Any:
        row = str(sorted(map(str, table.iloc[-1])))
        hidden = {"text": "x" * 3000 + row, "bytes": row.encode(), "list": ["-"] * 6000 + [row]}
        self.state = {self.where: hidden[self.where]}
        return super().fit(table, schema)

    def _state(self) -> tuple[dict[str, Any], dict[str, Any]]:
        return self.state, {}


@pytest.mark.parametrize(
    "make",
    [
        of(Refuses), of(Quotes),
        of(LateLeak, where="text"), of(LateLeak, where="bytes"), of(LateLeak, where="list"),
    ],
    ids=["error on one side", "error that quotes", "text", "bytes", "list"],
)  # fmt: skip
def test_what_one_side_alone_shows_is_refuted(make: Any) -> None:
    result = audit(make, "category", runs=80, **WHITE)
    assert result.refuted
    if "raised" in result.reason:
        assert any("runs raised" in note for note in result.notes)


def test_only_what_is_kept_is_looked_at() -> None:
    shared: dict[str, Any] = {"runs": 200, **WHITE}
    make = of(factor=0.2)
    assert audit(make, "category", keep=lambda name: name == "counts[3]", **shared).refuted
    blind = audit(make, "category", keep=lambda name: name == "counts[0]", **shared)
    assert not blind.refuted and blind.estimates[0].event != "nothing varies"


class Mixed(NoisyHistogram):
    """Its ledger names a choice in some fits only."""

    def fit(self, table: pd.DataFrame, schema: Any) -> Any:
        super().fit(table, schema)
        budget = Budget(1.0, 1e-9)
        self.ledger_ = Ledger(budget, claimed=budget, neighbours="add-remove", zcdp=True)
        self.ledger_.charge_rho("margins", "job", "discrete gaussian", 1e-3)
        if self.random_state and self.random_state % 2:
            self.ledger_.charge_rho("choice", "job", "exponential", 1e-3)
        return self


def test_mu_refutes_only_where_every_fit_is_gaussian() -> None:
    """The exponential mechanism shows up to 1.25 times sqrt(2 rho)."""
    mixed = audit(of(Mixed), "category", runs=40, **WHITE)
    assert mixed.claim.rho == rho_of(1.0, 1e-9) and not mixed.claim.gaussian
    even = lambda seed: Mixed(random_state=2 * (seed or 0))  # noqa: E731
    assert audit(even, "category", runs=40, **WHITE).claim.gaussian


def test_seeds_are_different_and_do_not_depend_on_the_number_of_runs() -> None:
    pair, other = built_in("category", "add-remove"), built_in("outlier", "add-remove")
    setup = Setup(of(), ("white",))
    states = {
        Setup(of(), seed=seed).state(p, side, i)
        for seed in (0, 1) for p in (pair, other) for side in (0, 1) for i in range(50)
    }  # fmt: skip
    assert len(states) == 400
    few, many = (run_all(setup, [pair], runs) for runs in (25, 45))
    assert [fit.boxes for fit in many[0, 1][:25]] == [fit.boxes for fit in few[0, 1]]


class Counted:
    """A factory that stops the audit at some fit, as a kill would."""

    def __init__(self, after: int | None = None) -> None:
        self.calls, self.after = 0, after

    def __call__(self, seed: int | None) -> NoisyHistogram:
        self.calls += 1
        if self.after is not None and self.calls > self.after:
            raise KeyboardInterrupt
        return NoisyHistogram(random_state=seed)


def figures(result: Audit) -> Any:
    return result.estimates, result.verdict, result.lower_bound


def test_an_audit_that_was_killed_goes_on_and_gives_the_same(tmp_path: Path) -> None:
    shared: dict[str, Any] = {"runs": 90, "identity": "histogram", **WHITE}
    whole, killed, again, third = Counted(), Counted(after=130), Counted(), Counted()
    expected = audit(whole, "category", **shared)
    with pytest.raises(KeyboardInterrupt):
        audit(killed, "category", folder=tmp_path, **shared)
    kept = sorted(tmp_path.rglob("*.gz"))
    assert 4 <= len(kept) <= 6 and not list(tmp_path.rglob("*.partial"))
    kept[0].write_bytes(kept[0].read_bytes()[:40])  # half a file is as good as none
    assert figures(audit(again, "category", folder=tmp_path, **shared)) == figures(expected)
    assert again.calls == whole.calls - (len(kept) - 1) * CHUNK
    assert figures(audit(third, "category", folder=tmp_path, **shared)) == figures(expected)
    assert third.calls == 3  # one asks for the claim, two try the pair


def test_runs_of_another_generator_or_seed_are_not_taken(tmp_path: Path) -> None:
    shared: dict[str, Any] = {"runs": 40, "folder": tmp_path, **WHITE}
    with pytest.raises(SettingError, match="identity"):
        audit(Counted(), "category", **shared)
    audit(Counted(), "category", name="one", **shared)
    for change in ({"name": "two"}, {"name": "one", "seed": 1}, {"name": "one", "identity": "x"}):
        other = Counted()
        audit(other, "category", **change, **shared)
        assert other.calls == 83


@pytest.mark.slow
def test_processes_and_progress() -> None:
    steps: list[tuple[str, float]] = []
    shared: dict[str, Any] = {"runs": 60, **WHITE}
    make = of(factor=0.2)
    alone = audit(make, "category", **shared)
    together = audit(make, "category", jobs=2, progress=lambda *step: steps.append(step), **shared)
    assert figures(alone) == figures(together)
    assert steps[0] == ("0 of 120 fits", 0.0) and steps[-1] == ("120 of 120 fits", 1.0)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"runs": 10}, r"runs \(10\) must be a whole number, 40 or more"),
        ({"jobs": 0}, r"jobs \(0\) must be a positive whole number"),
        ({"rows": 0}, r"rows \(0\) must be a positive whole number"),
        ({"seed": -1}, r"seed \(-1\) must be 0 or more"),
        ({"boxes": ("grey",)}, r"box \('grey'\) must be white, black"),
        ({"pair": []}, "at least one pair"),
        ({"pair": ["category", "category"]}, "must not be named twice"),
        ({"pair": "person"}, "differs by a person"),
        ({"claim": 0.0}, r"epsilon \(0.0\) must be"),
        ({"factory": of(sedd=1), "claim": 1.0}, "fails on pair 'category': TypeError"),
        ({"factory": lambda _: Copies(), "claim": 1.0, **WHITE}, "must be black"),
        ({"factory": lambda _: Copies()}, r"claim .None. must be given: it keeps no ledger"),
    ],
)
def test_what_cannot_be_is_refused(changes: dict[str, Any], words: str) -> None:
    arguments: dict[str, Any] = {"factory": of(), "pair": "category", "runs": 40, **changes}
    with pytest.raises(SettingError, match=words):
        audit(**arguments)
