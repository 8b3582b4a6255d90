"""The contract kit and the audit on several holders, and what they find when a holder cheats."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from copula_shirley.evaluation.audit.audit import audit
from copula_shirley.evaluation.audit.neighbours import Questions
from copula_shirley.evaluation.audit.pairs import questions
from copula_shirley.evaluation.contract import CHECKS, Report, check_generator
from copula_shirley.holders import HeldVine
from copula_shirley.holders.holder import Holder
from copula_shirley.measure.recorded_fits import recorded, replayed
from copula_shirley.privacy.recording import ReplayError

LAST = "holder-3"


class AddsHalf(Holder):
    """Draws its noise, and adds half of it."""

    def noisy(self, query: Any, noise: Any) -> Any:
        right = super().noisy(query, noise)
        return right if self.name != LAST else right - noise + noise // 2


class DrawsHalf(Holder):
    """Asks its source for half of the noise."""

    def _noise(self, query: Any, state: Any) -> Any:
        if self.name == LAST:
            scale = self.calibration.enough(query.share, len(query.cell_maps)) / 2
            share = scale / np.sqrt(state.agreement.shares.honest)
            return self.source.gaussian(super()._noise(query, state) * 0, share)
        return super()._noise(query, state)


class ChargesLate(Holder):
    """Counts before its ledger is saved."""

    def masked(self, message: Any) -> Any:
        keep, self._keep = self._keep, lambda *_: None  # type: ignore[method-assign,assignment]
        made: Any = super().masked(message)
        self._keep = keep  # type: ignore[method-assign]
        return made


class TellsRows(Holder):
    """Its random numbers tell how many rows it has."""

    def ready(self, message: Any) -> Any:
        size = len(self.table())
        self.fresh = lambda count: size.to_bytes(count, "little")
        return super().ready(message)


def vine_of(kind: type[Holder]) -> type[HeldVine]:
    return type("Held", (HeldVine,), {"holder_class": kind})


def checked(kind: type[Holder], *only: str) -> Report:
    return check_generator(vine_of(kind), epsilon=4.0, holders=3, raise_=False, only=only or None)


def test_noise_is_seen_as_that_of_the_honest_holders() -> None:
    report = checked(Holder, "cost", "exact noise", "charged first")
    assert [one.status for one in report.outcomes] == ["passed"] * 3, report


def test_a_holder_that_adds_half_of_its_noise_is_found() -> None:
    assert "costs" in checked(AddsHalf, "cost")["cost"].reason


def test_laplace_shares_and_files_are_not_seen_and_say_so(tmp_path: Any) -> None:
    report = check_generator(HeldVine, only=("cost",), epsilon=4.0, holders=3, delta=0.0)
    assert report["cost"].status == "not applicable"
    assert "fit without folder, with a delta" in report["cost"].reason
    with recorded(HeldVine(holders=3, folder=tmp_path)) as record:
        assert "fit without folder" in record.unseen


def test_a_replay_sends_what_was_sent_and_departs_when_asked_otherwise() -> None:
    pair = questions("add-remove", rows=400, few=300)
    one, other, third = (
        HeldVine(epsilon=epsilon, holders=3, random_state=0) for epsilon in (8.0, 8.0, 4.0)
    )
    with recorded(one) as record:
        one.fit(pair.first, pair.schema)
    with replayed(other, record):
        other.fit(pair.second, pair.schema)
    assert all(np.array_equal(own, other.vectors_[name]) for name, own in one.vectors_.items())
    assert one.card()["trust"] == other.card()["trust"]
    assert "replayed" in str(one.ledger_.noise)
    with pytest.raises(ReplayError, match="it was gaussian"), replayed(third, record):
        third.fit(pair.first, pair.schema)


@pytest.mark.slow
def test_the_contract_of_generators() -> None:
    report = checked(Holder)
    assert [one.status for one in report.outcomes] == ["passed"] * len(CHECKS), report


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "rule"),
    [(AddsHalf, "cost"), (DrawsHalf, "cost"), (ChargesLate, "charged first"),
     (TellsRows, "replay")],
)  # fmt: skip
def test_holders_that_cheat_are_found(kind: type[Holder], rule: str) -> None:
    assert checked(kind, rule)[rule].status == "failed"


@pytest.mark.slow
@pytest.mark.parametrize("kind", [Holder, AddsHalf, DrawsHalf])
def test_the_audit_sees_the_noise_of_all_holders(kind: type[Holder]) -> None:
    """With half a share of one in three the standard deviation is .87 of what it should be."""

    def made(state: int | None) -> HeldVine:
        return vine_of(kind)(epsilon=1.0, holders=3, random_state=state)

    def asking(relation: str) -> Questions:
        return questions(relation, rows=4000, few=1000)

    found = audit(made, ["outlier", "canaries", asking], runs=40, boxes=("white",))
    assert found.refuted == (kind is not Holder), found.reason
    assert all("standard deviation" in fault for fault in found.faults[:1])
