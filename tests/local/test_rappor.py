from __future__ import annotations

import json
import math
from fractions import Fraction
from itertools import combinations, product
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from copula_shirley.errors import ReportError
from copula_shirley.local import memo as memo_module
from copula_shirley.local.coins import ONE
from copula_shirley.local.memo import Memo, Scheme
from copula_shirley.local.rappor import (
    Reports,
    _kept,
    decoded,
    design,
    estimates,
    share_error,
    simulated,
)


def test_formulas_are_those_of_the_paper() -> None:
    # f, h: eps_inf = 2 h ln((1 - f/2) / (f/2)); f = .5: ln 3; eps_1 as published
    assert Scheme().eps_inf == pytest.approx(4 * math.log(3))
    assert Scheme().eps_one == pytest.approx(1.0743, abs=1e-4)
    assert Scheme(f=0.75).eps_one == pytest.approx(0.5343, abs=1e-4)
    assert Scheme(hashes=1, f=0, p=0.25, q=0.75).eps_one == pytest.approx(2 * math.log(3))
    assert Scheme(f=0).eps_inf == math.inf
    p, q = Scheme().stars
    assert (p, q) == (Fraction(9, 16), Fraction(11, 16))  # .5 + .0625, .75 - .0625


def test_no_response_is_likelier_than_epsilon_allows() -> None:
    """Every output under every pair of texts, of a scheme with four bits."""
    scheme = Scheme(bits=4, hashes=2, cohorts=1, f=0.5)
    turned, (p, q) = Fraction(scheme.turned, ONE), scheme.stars
    texts = [set(c) for size in (1, 2) for c in combinations(range(4), size)]
    channels = {"permanent": (turned, 1 - turned), "instantaneous": (p, q)}
    for name, epsilon in (("permanent", scheme.eps_inf), ("instantaneous", scheme.eps_one)):
        zero, one = channels[name]
        worst = Fraction(0)
        for output in product((0, 1), repeat=4):
            chances = [
                math.prod(
                    (c if bit else 1 - c)
                    for i, bit in enumerate(output)
                    for c in [one if i in text else zero]
                )
                for text in texts
            ]
            worst = max(worst, max(chances) / min(chances))
        assert 0.999999 * math.exp(epsilon) < worst <= math.exp(epsilon)


def test_coins_are_tossed_with_the_chances_of_the_scheme(monkeypatch: pytest.MonkeyPatch) -> None:
    tossed: list[int] = []

    def coin(chance: int) -> bool:
        tossed.append(chance)
        return False

    monkeypatch.setattr(memo_module, "coin", coin)
    scheme = Scheme(bits=8, p=0.125, q=0.875)
    true = scheme.places("Lyon", 3)
    assert scheme.permanent("Lyon", 3) == true and tossed == [ONE // 4] * 8
    tossed.clear()
    scheme.instantaneous(true)
    assert tossed == [7 * ONE // 8 if i in true else ONE // 8 for i in range(8)]


def test_a_text_sets_at_most_as_many_bits_as_there_are_hashes() -> None:
    scheme = Scheme()
    found = {cohort: scheme.places("Lyon", cohort) for cohort in range(16)}
    assert len({tuple(places) for places in found.values()}) > 10  # cohorts hash differently
    matrix = design(scheme, ["Lyon", "Nice"])
    assert matrix.shape == (16 * 128, 2)
    assert matrix[5 * 128 : 6 * 128, 0].nonzero()[0].tolist() == found[5]


def test_estimates_by_hand() -> None:
    scheme = Scheme(bits=2, hashes=1, cohorts=1, f=0, p=0.25, q=0.75)
    # of 100 people bit 0 is 1 in 60 reports: (60 - 25) / .5
    reports = Reports(scheme, np.array([[60, 25]]), np.array([100]))
    assert estimates(reports).tolist() == [[70.0, 0.0]]
    reports = Reports.of(scheme, [{"cohort": 0, "ones": [0]}, {"cohort": 0, "ones": [0, 1]}])
    assert (reports.ones.tolist(), reports.people.tolist()) == ([[2, 1]], [2])
    for bad in (
        {"cohort": 1, "ones": []},
        {"cohort": 0, "ones": [2]},
        {"cohort": 0, "ones": [1, 1]},
    ):
        with pytest.raises(ReportError, match="cohort and bits"):
            Reports.of(scheme, [bad])


@pytest.mark.parametrize("lasso", [None, True])
def test_frequent_texts_are_found_and_no_others(lasso: bool | None) -> None:
    rng, scheme = np.random.default_rng(0), Scheme()
    texts = [f"string {i}" for i in range(60)]
    shares = np.array([0.3, 0.25, 0.2, 0.15, 0.1] + [0.0] * 55)
    values = rng.choice(60, 300_000, p=shares)
    reports = simulated(scheme, values, texts, rng)
    found = decoded(reports, texts, lasso=lasso)
    assert [one.text for one in found] == texts[:5]
    for one, share in zip(found, shares, strict=False):
        assert abs(one.count - share * 300_000) < 4 * one.error
        theory = share_error(scheme, 300_000) * 300_000
        assert one.error == pytest.approx(theory, rel=0.25)


def test_tests_keep_their_level() -> None:
    """Chance of any false find by Bonferroni, over reports of texts that nobody has."""
    rng, scheme = np.random.default_rng(1), Scheme(bits=32, cohorts=4)
    texts = [f"t{i}" for i in range(30)]
    nobody, runs = np.full(20_000, 0), 60
    false = sum(
        any(
            one.text != "t0"
            for one in decoded(simulated(scheme, nobody, texts, rng), texts, level=0.2)
        )
        for _ in range(runs)
    )
    assert false <= stats.binom.isf(1e-6, runs, 0.2)


def test_corrections_by_hand() -> None:
    p_values = np.array([0.04, 0.001, 0.02, 0.9])
    # 4 tests at .05: Bonferroni below .0125; steps .0125, .025, .0375, .05: the first two pass
    assert _kept(p_values, 4, 0.05, "bonferroni").tolist() == [False, True, False, False]
    assert _kept(p_values, 4, 0.05, "benjamini-hochberg").tolist() == [False, True, True, False]
    # a later step passes for the earlier ones
    tied = np.array([0.03, 0.03, 0.03, 0.03])
    assert _kept(tied, 4, 0.05, "benjamini-hochberg").all()
    assert not _kept(tied, 4, 0.05, "bonferroni").any()
    with pytest.raises(ReportError, match=r"correction \('none'\)"):
        _kept(p_values, 4, 0.05, "none")  # type: ignore[arg-type]


def test_more_candidates_than_bits_need_the_lasso() -> None:
    rng, scheme = np.random.default_rng(2), Scheme(bits=16, cohorts=2)
    texts = [f"t{i}" for i in range(40)]
    values = rng.choice(2, 100_000, p=[0.7, 0.3])
    found = decoded(simulated(scheme, values, texts, rng), texts)
    assert {"t0", "t1"} <= {one.text for one in found} and len(found) <= 6
    with pytest.raises(ReportError, match="different texts"):
        decoded(simulated(scheme, values, texts, rng), ["a", "a"])


# -- the device ----------------------------------------------------------------------


def test_a_period_has_one_permanent_response(tmp_path: Path) -> None:
    memo = Memo(tmp_path / "memo.json", Scheme(), most_periods=2)
    first = memo.report("2026-11", "Lyon")
    kept = json.loads(memo.path.read_text())["periods"]
    assert memo.spent == Scheme().eps_one
    again = [memo.report("2026-11", "Nice") for _ in range(20)]  # the first text stands for it
    assert json.loads(memo.path.read_text())["periods"] == kept
    assert {said["cohort"] for said in again} == {first["cohort"]}
    assert len({tuple(said["ones"]) for said in again}) > 1
    assert memo.spent == Scheme().eps_inf
    memo.report("2026-12", "Lyon")
    assert memo.spent == pytest.approx(Scheme().eps_inf + Scheme().eps_one)
    with pytest.raises(ReportError, match=r"period \('2027-01'\) must be one of 2026-11, 2026-12"):
        memo.report("2027-01", "Lyon")
    with pytest.raises(ReportError, match="of another scheme"):
        Memo(memo.path, Scheme(f=0.25)).report("2026-11", "Lyon")


def test_many_reports_show_the_permanent_response_and_no_more() -> None:
    scheme = Scheme(bits=16)
    kept = scheme.permanent("Lyon", 0)
    said = [scheme.instantaneous(kept) for _ in range(900)]
    rate = np.bincount([b for one in said for b in one], minlength=16) / len(said)
    # 1/2 or 3/4: 7 standard deviations from the middle
    assert np.flatnonzero(rate > 0.625).tolist() == kept


def test_the_memo_is_on_the_disk_before_a_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    memo = Memo(tmp_path / "memo.json", Scheme())

    def stopped(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(memo_module, "save", stopped)
    with pytest.raises(KeyboardInterrupt):
        memo.report("now", "Lyon")
    assert not memo.path.exists() and not list(tmp_path.iterdir())  # no lock is left, either


def test_a_damaged_memo_and_one_in_use_are_refused(tmp_path: Path) -> None:
    memo = Memo(tmp_path / "memo.json", Scheme())
    memo.report("now", "Lyon")
    lock = tmp_path / "memo.json.lock"
    lock.touch()
    with pytest.raises(ReportError, match="is in use"):
        memo.report("now", "Lyon")
    lock.unlink()
    for text in ("", "[]", '{"format": "shirley rappor memo 1"}', "[" * 10**6):
        memo.path.write_text(text)
        with pytest.raises(ReportError, match="damaged"):
            memo.report("now", "Lyon")


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"f": 1.0}, r"f \(1.0\) must be below 1"),
        ({"p": 0.75}, "tell nothing"),
        ({"q": 1.5}, r"q \(1.5\) must be from 0 to 1"),
        ({"bits": 1}, r"bits \(1\)"),
        ({"hashes": 2.0}, r"hashes \(2.0\)"),
    ],
)
def test_schemes_that_cannot_be_are_refused(settings: dict[str, float], words: str) -> None:
    with pytest.raises(ReportError, match=words):
        Scheme(**settings)  # type: ignore[arg-type]
