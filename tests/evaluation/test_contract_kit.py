"""The contract kit itself: what it says of outsiders, how it is called, its arithmetic."""

from __future__ import annotations

import gzip
import io
import json
import math
import zipfile
from typing import Any

import numpy as np
import pandas as pd
import pytest
from faults import RULES, planted

from copula_shirley import Budget, Column, Ledger, Schema, SettingError
from copula_shirley.baselines import DPHistogram
from copula_shirley.evaluation.audit.neighbours import check_neighbours
from copula_shirley.evaluation.contract import (
    CHECKS,
    ContractError,
    check_generator,
    contract_tests,
)
from copula_shirley.evaluation.contract.cost import excess
from copula_shirley.evaluation.contract.neighbouring import differing
from copula_shirley.evaluation.contract.promises import recomputed
from copula_shirley.evaluation.contract.storage import canaries, reachable, unpacked
from copula_shirley.evaluation.contract.tables import Case, far_table, neighbours, odd_rows, town
from copula_shirley.privacy.floating import analytic_scale
from copula_shirley.privacy.noise import (
    Exactness,
    NoiseFacts,
    NoiseSource,
    SecureNoise,
    SeededNoise,
)
from copula_shirley.privacy.recording import Player, Recorder, Recording

SILENT = planted(RULES["progress told to nobody"][0], DPHistogram)


class Bootstrap:
    """The least that an outsider may bring: rows drawn again, no schema, no ledger, no seed."""

    def fit(self, table: pd.DataFrame) -> Bootstrap:
        self._table = table.copy()
        return self

    def sample(self, n: int) -> pd.DataFrame:
        if n < 0:
            raise ValueError("n must not be negative")
        return self._table.sample(
            n, replace=True, random_state=np.random.default_rng()
        ).reset_index(drop=True)


def test_an_outsider_without_a_ledger_is_told_that_privacy_was_not_checked() -> None:
    report = check_generator(Bootstrap, raise_=False)
    assert [o.name for o in report.outcomes] == list(CHECKS)
    assert not report.privacy_checked
    assert "nothing about privacy was checked" in str(report)
    for outcome in report.outcomes:
        if outcome.private:
            assert outcome.status == "not applicable" and outcome.reason, outcome
    assert "curator_class" in report["replay"].reason or ("random_state" in report["replay"].reason)
    # what has nothing to do with privacy is checked
    assert report["fit"].status == report["rows"].status == "passed"
    assert report["schema"].reason.startswith("fit takes no schema; the columns")
    # it takes a table without rows, and the kit says so
    assert report["refusals"].status == "failed" and "no rows" in report["refusals"].reason


def test_all_broken_rules_are_in_one_error() -> None:
    class Wrong(DPHistogram):
        def sample(self, n: int | None = None, **rest: Any) -> pd.DataFrame:
            return super().sample(3, **rest).iloc[:, ::-1]

    with pytest.raises(ContractError, match="Wrong breaks") as error:
        check_generator(Wrong, only=("schema", "rows", "progress"))
    text = str(error.value)
    assert "breaks 2 rules" in text
    assert "- schema" in text and "asked for 7 and 0 rows, got 3 and 3" in text


def test_classes_instances_and_factories_are_the_same() -> None:
    for made, settings in (
        (DPHistogram, {"epsilon": 2.0}),
        (DPHistogram(2.0), {}),
        (DPHistogram(1.0), {"epsilon": 2.0}),
        (lambda: DPHistogram(), {"epsilon": 2.0}),  # noqa: PLW0108
    ):
        report = check_generator(made, only=("fit", "ledger", "same seed"), **settings)
        assert [o.status for o in report.outcomes] == ["passed"] * 3


def test_an_expected_failure_is_told_and_must_fail() -> None:
    known = {"progress": "it has nothing to tell"}
    report = check_generator(SILENT, only=("progress",), known=known)
    assert report["progress"].status == "expected failure"
    assert "it has nothing to tell" in report["progress"].reason
    with pytest.raises(ContractError, match="expected to fail"):
        check_generator(DPHistogram, only=("progress",), known=known)


def test_a_table_of_ones_own() -> None:
    schema = Schema(
        (
            Column("x", "integer", minimum=0, maximum=9),
            Column("when", "datetime", minimum="2020-01-01", maximum="2020-02-01",
                   resolution="1D", format="%Y-%m-%d"),
        ),
        "who",
        2,
    )  # fmt: skip
    people = [i // 2 for i in range(60)]
    table = pd.DataFrame(
        {"x": [i % 10 for i in people], "when": ["2020-01-05"] * 60, "who": people}
    )
    report = check_generator(DPHistogram, table=table, schema=schema)
    assert {o.status for o in report.outcomes} == {"passed"}
    with pytest.raises(ValueError, match="schema must come with a table"):
        check_generator(DPHistogram, schema=schema)


@pytest.mark.parametrize(
    ("facts", "status"),
    [
        (NoiseFacts("my own", Exactness.FLOATING), "not applicable"),
        (None, "failed"),
        (SecureNoise().facts, "failed"),
    ],
)
def test_noise_that_no_source_drew_is_judged_by_its_facts(
    facts: NoiseFacts | None, status: str
) -> None:
    class Stranger(planted(RULES["homemade float noise"][0], DPHistogram)):
        def _fit(self, *args: Any) -> Any:
            super()._fit(*args)
            args[1].noise = facts

    report = check_generator(Stranger, only=("exact noise", "replay", "cost"), raise_=False)
    assert report["exact noise"].status == status
    for check in ("replay", "cost"):
        assert report[check].status == "not applicable"
        assert "curator_class" in report[check].reason


@pytest.mark.parametrize("people", [False, True])
@pytest.mark.parametrize("relation", ["add-remove", "replace-one"])
def test_neighbours_differ_by_one_unit_and_fit_the_schema(relation: str, people: bool) -> None:
    case = town(people=people)
    most = case.schema.max_rows if people else 1
    found = neighbours(case, relation)
    assert len(found) == (4 if relation == "add-remove" else 3)
    for what, near in found.items():
        unit = "person" if people else "row"
        check_neighbours(case.table, near.table, case.schema, relation, unit)
        if relation == "add-remove":
            assert abs(len(near.rows) - len(case.rows)) == most, what
    far = far_table(case, relation)
    case.schema.validate(far.table)
    assert (len(far.rows) == len(case.rows)) == (relation == "replace-one" and not people)
    assert not {repr(r) for r in far.rows} & {repr(r) for r in case.rows}
    assert len(odd_rows(case)) == 3


def costs(ledger: Ledger, charge: float, draw: Any, *, delta: float = 0.0) -> str | None:
    """What the kit says of a pair: (3, 5) becomes (4, 4)."""
    return told(ledger, [np.array([3, 5]), np.array([4, 4])], draw, [(charge, delta)])


def told(ledger: Ledger, pair: list[Any], draw: Any, spends: list[Any]) -> str | None:
    """What the kit says of charges and a draw on both tables of a pair."""
    tapes: list[Recording] = []
    for table in pair:
        tape, fresh = Recording(), Ledger.from_dict(ledger.to_dict())
        for i, (charge, delta) in enumerate(spends):
            spend = fresh.charge_rho if fresh.zcdp else fresh.charge
            spend("s", f"w{i}", "discrete gaussian", charge, delta)
        noise = SeededNoise(np.random.default_rng(0))
        draw(Player(noise, tape, fresh, tapes[0]) if tapes else Recorder(noise, tape, fresh), table)
        tapes.append(tape)
    return excess(tapes[0], tapes[1], ledger)


@pytest.mark.parametrize(
    ("zcdp", "cost", "draw"),
    [
        (False, 2 / 8, lambda s, c: s.laplace(c, 8.0)),  # |d|_1 = 2
        (True, 2 / (2 * 9), lambda s, c: s.gaussian(c, 3.0)),  # |d|_2^2 = 2
        (True, (2 / 8) ** 2 / 2, lambda s, c: s.laplace(c, 8.0)),
        # chances 1 : e^2 become 1 : 1 at scale 1
        (False, math.log((1 + math.e**2) / 2), lambda s, c: s.choose(c, 1.0)),
        (True, 2.0**2 / 8, lambda s, c: s.choose(c, 1.0)),
    ],
)
def test_a_cost_that_was_not_charged_is_found(zcdp: bool, cost: float, draw: Any) -> None:
    ledger = Ledger(Budget(1e6, 1e-9 if zcdp else 0.0), zcdp=zcdp)
    assert costs(ledger, cost * 1.0001, draw) is None
    found = costs(ledger, cost * 0.999, draw)
    assert found is not None and found.startswith("s of w0 costs")


def test_gaussian_noise_costs_a_little_more_in_gdp() -> None:
    ledger = Ledger(Budget(1e6, 1e-9), zcdp=True, gdp=True)
    draw = lambda s, c: s.gaussian(c, 3.0)  # noqa: E731
    assert costs(ledger, 2 / (2 * (9 - 1 / 12)) * 1.0002, draw) is None
    assert costs(ledger, 2 / (2 * 9), draw) is not None


def test_gaussian_noise_is_tested_by_its_exact_delta() -> None:
    def draw(noise: NoiseSource, counts: np.ndarray) -> None:
        noise.gaussian(counts, analytic_scale(0.5, 1e-3, math.sqrt(2)))

    ledger = Ledger(Budget(10.0, 0.1))
    assert costs(ledger, 0.5, draw, delta=1e-3 * 1.01) is None
    assert costs(ledger, 0.5, draw, delta=1e-3 * 0.9) is not None
    assert costs(ledger, 0.45, draw, delta=1e-3) is not None


def test_a_threshold_that_one_unit_passes_is_found() -> None:
    """A unit with three rows in a category of its own, noise of scale 2, a bar of 9 and of 8."""
    # of discrete Gaussian noise, by hand: P(noise >= 6) and P(noise >= 5)
    weights = {k: math.exp(-(k**2) / 8) for k in range(-40, 41)}
    high, low = (
        sum(w for k, w in weights.items() if k >= bar) / sum(weights.values()) for bar in (6, 5)
    )

    def said(least: int, delta: float) -> str | None:
        shared = {("missing", None): 4, ("str", "many"): 50}
        pair = [[{("str", "own"): 3, **shared}], [shared]]
        draw = lambda s, tallies: s.discover(tallies, 2.0, least, gaussian=True)  # noqa: E731
        return told(Ledger(Budget(9.0, 0.5), zcdp=True), pair, draw, [(1.0, delta)])

    assert said(9, high * 1.001) is None and said(8, low * 1.001) is None
    for least, chance in ((9, high), (8, low)):
        found = said(least, chance * 0.999)
        assert found is not None and "shows a category of one unit with a chance of" in found


def test_noise_charged_in_advance_is_no_fault() -> None:
    def draw(noise: NoiseSource, counts: np.ndarray) -> None:
        for _ in range(2):
            noise.laplace(counts, 8.0)

    pair = [np.array([3, 5]), np.array([4, 4])]
    assert told(Ledger(Budget(1.0)), pair, draw, [(0.25, 0.0), (0.25, 0.0)]) is None


def test_totals_are_recomputed_by_hand() -> None:
    ledger = Ledger(Budget(10.0), neighbours="replace-one", rows_per_unit=1)
    ledger.charge("a", "x", "laplace", 0.5)
    ledger.partition(("left", "right", "rest"), by_value=True)
    for part, epsilon in (("left", 0.3), ("right", 0.2), ("rest", 0.1)):
        ledger.charge("b", part, "laplace", epsilon, rows=part)
    # a replaced row may leave one part and enter another: the two dearest count
    assert recomputed(ledger.to_dict())["epsilon"] == pytest.approx(0.5 + 0.3 + 0.2)
    assert ledger.spent.epsilon == pytest.approx(1.0)


def test_values_are_found_in_every_encoding() -> None:
    schema = Schema((Column("pay", "continuous", minimum=0, maximum=1e5),))
    case = Case(({"pay": 1234.5678}, {"pay": 2.0}), schema)
    patterns = [pattern for _, pattern in canaries(case)]
    box = io.BytesIO()
    with zipfile.ZipFile(box, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("inner.gz", gzip.compress(np.float64(1234.5678).tobytes() * 50))
    for content in (
        json.dumps([1234.5678]).encode(),
        np.float64(1234.5678).tobytes(),
        np.float32(1234.5678).tobytes(),
        np.array([1234.5678], dtype=">f8").tobytes(),
        np.int64(12345678).tobytes(),
        box.getvalue(),
    ):
        members = unpacked(content)
        assert any(p in member for p in patterns for member in members.values()), content
    assert not any(p in json.dumps([1234.5, 2.0]).encode() for p in patterns)


def test_objects_are_reached_through_views_closures_and_object_arrays() -> None:
    table = pd.DataFrame({"x": [1]})
    array = np.arange(50)
    holder = {
        "closure": lambda: table,
        "view": array[3:9],
        "objects": np.array([{"deep": "text"}, None], dtype=object),
    }
    held = reachable(holder)
    assert any(one is table for one in held) and any(one is array for one in held)
    assert "text" in [one for one in held if isinstance(one, str)]


@pytest.mark.parametrize(
    ("one", "other", "where"),
    [
        ({"a": [1, np.array([1.0, np.nan])]}, {"a": [1, np.array([1.0, np.nan])]}, None),
        ({"a": [1, np.array([1.0])]}, {"a": [1, np.array([2.0])]}, "a.1"),
        ({"a": 1}, {"a": 1.0}, "a"),
        ({"a": 1}, {"b": 1}, " (its keys)"),
        ([1], [1, 2], " (its length)"),
    ],
)
def test_differences_are_found_and_named(one: Any, other: Any, where: str | None) -> None:
    assert differing(one, other) == where


def test_a_class_of_tests_has_one_for_each_check() -> None:
    made = contract_tests(SILENT, epsilon=2.0)
    tests = [name for name in vars(made) if name.startswith("test_")]
    assert tests == [f"test_{name.replace(' ', '_')}" for name in CHECKS]
    made().test_schema()
    with pytest.raises(ContractError, match="Progress is told"):
        made().test_progress()
    made().test_exact_noise()


def test_a_rule_that_does_not_exist_is_refused() -> None:
    with pytest.raises(SettingError, match="'nope'"):
        check_generator(DPHistogram, known={"nope": "x"})
    with pytest.raises(SettingError, match="must be a class"):
        check_generator(3)
