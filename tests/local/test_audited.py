"""The contract kit and the audit on people's own reports, and what they find on false devices."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pandas as pd
import pytest

from copula_shirley import Column, Schema
from copula_shirley.evaluation.audit.audit import audit
from copula_shirley.evaluation.audit.devices import OneReport
from copula_shirley.evaluation.audit.pairs import built_in
from copula_shirley.evaluation.audit.runs import Setup, fit_once
from copula_shirley.evaluation.contract import check_generator
from copula_shirley.local import device
from copula_shirley.local.coins import Wave
from copula_shirley.local.curator import LocalCurator
from copula_shirley.local.generator import LocalVine
from copula_shirley.measure.queries import Query
from copula_shirley.measure.transcript import Answer

PAIR = built_in("outlier", "replace-one")


def half_coins(monkeypatch: pytest.MonkeyPatch) -> None:
    """A device whose coins are those of twice the epsilon that it says."""
    draw = Wave.draw
    monkeypatch.setattr(Wave, "draw", lambda s, cell: draw(Wave.of(s.cells, 2 * s.epsilon), cell))


def twice(monkeypatch: pytest.MonkeyPatch) -> None:
    """A device that forgets what it has answered."""
    held = device.held

    @contextmanager
    def forgetful(*given: Any) -> Iterator[dict[str, Any]]:
        with held(*given) as known:
            known["surveys"] = {}
            yield known

    monkeypatch.setattr(device, "held", forgetful)


def test_one_report_leaves_and_is_seen() -> None:
    fit = fit_once(Setup(lambda _: OneReport(2.0), ("white",)), PAIR, 0, None)
    assert fit.error is None and fit.stated is not None
    assert fit.stated.epsilon == 2.0 and not fit.stated.transcript
    seen = [name for name in fit.boxes["white"] if name.startswith("report")]
    assert {name.split("[")[0] for name in seen} == {"report 0"}
    assert sum(float(fit.boxes["white"][name]) for name in seen if name[-2:] != "[]") == 1


def test_a_second_report_would_be_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    twice(monkeypatch)
    fit = fit_once(Setup(lambda _: OneReport(2.0), ("white",)), PAIR, 0, None)
    assert any(name.startswith("report 1") for name in fit.boxes["white"])


@pytest.mark.slow
@pytest.mark.parametrize("fault", [None, half_coins, twice])
def test_the_audit_refutes_false_devices(monkeypatch: pytest.MonkeyPatch, fault: Any) -> None:
    if fault is not None:
        fault(monkeypatch)
    found = audit(lambda _: OneReport(2.0), PAIR, runs=2000, boxes=("white",))
    assert found.refuted == (fault is not None), found.reason
    assert found.lower_bound > 1.2


class AskedAgain(LocalCurator):
    """People who answered stay among those who are asked."""

    def _answer(self, query: Query) -> Answer:
        everybody = self._waiting
        answer = super()._answer(query)
        self._waiting = everybody
        return answer


class Again(LocalVine):
    curator_class = AskedAgain


def people(n: int) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    return pd.DataFrame({"a": rng.integers(0, 4, n), "b": rng.integers(0, 4, n)})


def test_the_contract_finds_people_who_are_asked_twice() -> None:
    schema = Schema(tuple(Column(n, "integer", minimum=0, maximum=3) for n in "ab"))
    for kind, status in ((LocalVine, "passed"), (Again, "failed")):
        report = check_generator(
            kind, epsilon=4.0, raise_=False, table=people(60), schema=schema, only=("cost",)
        )
        assert report["cost"].status == status, report
