"""Other papers' experiments: what is counted is what it says, and the verdicts follow from it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from reproducing import call

from copula_shirley import Column, Schema
from copula_shirley.errors import SettingError
from copula_shirley.experiments.published import agrawal_srikant, cai_kou, rappor, trees
from copula_shirley.experiments.published.claims import (
    Claim,
    Verdict,
    compared,
    papers,
    verdict_table,
)
from copula_shirley.experiments.published.distortion import CELLS, LAWS, Distortion
from copula_shirley.experiments.published.document import EXPERIMENTS
from copula_shirley.experiments.published.people import BOUNDS, FUNCTIONS, group_a, made_people
from copula_shirley.local.memo import Scheme
from copula_shirley.local.rappor import share_error

# -- verdicts ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ours", "status"), [(1.0, "confirmed"), (2.0, "confirmed"), (0.99, "not confirmed"),
                         (2.01, "not confirmed"), (float("nan"), "not confirmed")]
)  # fmt: skip
def test_a_verdict_follows_from_the_bounds(ours: float, status: str) -> None:
    claim = Claim(key="k", text="t", place="p", printed="1", figure="f", rule="r", least=1, most=2,
                  why="because.")  # fmt: skip
    assert Verdict(claim, ours).status == status
    (line,) = verdict_table([Verdict(claim, ours)]).to_dict("records")
    assert line["rule"] == ("r" if status == "confirmed" else "r because.")


def test_every_paper_has_claims_with_keys_of_their_own_and_a_bound() -> None:
    assert list(papers()) == list(EXPERIMENTS)
    for paper in papers().values():
        keys = [claim.key for claim in paper.claims]
        assert len(set(keys)) == len(keys)
        assert all(np.isfinite(c.least) or np.isfinite(c.most) for c in paper.claims)
        assert all(c.least <= c.most for c in paper.claims)


# -- Agrawal and Srikant -------------------------------------------------------------------


@pytest.mark.parametrize("law", LAWS)
def test_noise_of_a_level_is_as_wide_as_it_says(law: Any) -> None:
    noise, rng = Distortion(law, 0.5, 10.0, 30.0), np.random.default_rng(0)
    moved = np.abs(noise.distorted(np.full(40_000, 20.0), rng) - 20)
    # 95 % within half of an interval that is half of the domain wide
    assert np.mean(moved <= 5.0) == pytest.approx(0.95, abs=0.005)


@pytest.mark.parametrize("law", LAWS)
def test_the_channel_is_the_law_of_the_reports(law: Any) -> None:
    noise, rng = Distortion(law, 1.0, 0.0, 1.0), np.random.default_rng(0)
    channel = noise.channel()
    assert channel.shape[1] == CELLS
    assert channel.sum(axis=0) == pytest.approx(np.ones(CELLS), abs=1e-4)
    edges = noise._edges()
    middle = (20 + 0.5) / CELLS
    seen = noise.distorted(np.full(200_000, middle), rng)
    counts = np.histogram(seen.clip(edges[0], edges[-1]), edges)[0]
    assert counts / 200_000 == pytest.approx(channel[:, 20], abs=0.002)


def test_reconstructed_cells_have_the_reconstructed_histogram_in_order() -> None:
    rng = np.random.default_rng(0)
    noise = Distortion("uniform", 0.5, 0.0, 1.0)
    seen = noise.distorted(rng.beta(2, 5, 5000), rng)
    cells = noise.reconstructed(seen)
    assert (np.diff(cells[np.argsort(seen)]) >= 0).all()
    counts = np.bincount(cells, minlength=CELLS)
    assert counts / 5000 == pytest.approx(noise.shares(seen), abs=1 / 5000)


def test_cells_of_the_ends() -> None:
    noise = Distortion("uniform", 1.0, 0.0, 100.0)
    assert noise.cells(np.array([-5.0, 0, 1.99, 2, 99.9, 100, 250])).tolist() == [
        0, 0, 0, 1, 49, 49, 49
    ]  # fmt: skip


def test_functions_by_hand() -> None:
    # young, middle-aged, old; their salaries, schooling and loans
    people = {
        "age": np.array([30.0, 50, 70, 30]),
        "salary": np.array([60e3, 60e3, 60e3, 30e3]),
        "education": np.array([0.0, 2, 0, 3]),
        "loan": np.array([2e5, 2e5, 2e5, 3.5e5]),
    }
    expected = {
        "F1": [1, 0, 1, 1],
        "F2": [1, 0, 1, 0],  # 50-100, 75-125, 25-75
        "F3": [1, 1, 0, 0],  # 0-1, 1-3, 2-4
        # 25-75 as schooled 0; 50-100 as schooled 1-3; else 25-75; else 50-100
        "F4": [1, 1, 1, 0],
        # 100-300 as paid 50-100; 300-500 as not 75-125; 300-500 as paid 25-75; 200-400
        "F5": [1, 0, 0, 1],
    }
    for function in FUNCTIONS:
        assert group_a(people, function).astype(int).tolist() == expected[function], function


def test_made_people_stay_within_bounds() -> None:
    people = made_people(2000, np.random.default_rng(0))
    for name, (low, high) in BOUNDS.items():
        assert low <= people[name].min() <= people[name].max() <= high
    assert ((people["commission"] == 0) == (people["salary"] >= 75e3)).all()


def test_the_best_split_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trees, "LEAF", 1)
    cells = np.array([[0, 7], [1, 7], [2, 7], [3, 7], [9, 8]])
    # the first attribute at 1 leaves TT | FFF; the second one tells nobody apart as well
    assert trees.best_split(cells, np.array([True, True, False, False, False])) == (0, 1)
    assert trees.best_split(cells, np.array([True, True, True, True, False])) == (0, 3)
    assert trees.best_split(cells, np.array([True] * 5)) == (-1, 0)
    monkeypatch.setattr(trees, "LEAF", 3)  # of five people none can be split
    assert trees.best_split(cells, np.array([True, True, False, False, False])) == (-1, 0)


def test_trees_learn_what_is_there_and_local_leaves_cut_attributes_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(trees, "AGAIN", 100)
    rng = np.random.default_rng(0)
    values = rng.random((4000, 2))
    classes = (values[:, 0] < 0.5) ^ (values[:, 1] < 0.3)
    cells = (values * CELLS).astype(int)
    tree = trees.grown(cells, classes)
    assert (tree.predict(cells) == classes).mean() > 0.95
    asked: list[list[int]] = []

    def look(people: np.ndarray, uncut: list[int]) -> np.ndarray:
        asked.append(uncut)
        return cells[people][:, uncut]

    again = trees.grown(cells, classes, look)
    assert (again.predict(cells) == tree.predict(cells)).all()
    assert asked and all(uncut == [1 - tree.attribute] for uncut in asked)


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    levels = (0.25, 0.5, 1.0, 2.0)
    sizes = replace(agrawal_srikant.SIZES["quick"], training=600, test=300, levels=levels)
    monkeypatch.setitem(agrawal_srikant.SIZES, "quick", sizes)
    monkeypatch.setattr(agrawal_srikant, "FUNCTIONS", ("F1", "F4"))


@pytest.mark.usefixtures("small")
def test_the_document_has_verdicts_and_tables(tmp_path: Path) -> None:
    code, said = call("agrawal-srikant", "--folder", str(tmp_path))
    path = tmp_path / "agrawal-srikant.md"
    assert code == 0 and str(path) in said.replace("\n", "")
    text = path.read_text()
    assert "| 6.8 | 6.581 | not confirmed |" in text and "| 3.92 | 3.92 | confirmed |" in text
    assert "## Trees: accuracy on undistorted people" in text
    table = pd.read_csv(tmp_path / "agrawal-srikant.csv")
    assert len(table) == len(papers()["agrawal-srikant"].claims)
    figures = dict(zip(table["claim"], table["ours"], strict=True))
    # mu = 3.92: epsilon where Phi(-e / mu + mu / 2) - exp(e) Phi(-e / mu - mu / 2) is 1e-9
    assert float(figures["A level of 100 % protects people"]) == pytest.approx(30.59, abs=0.01)


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["agrawal-srikant", "ratio"], r"experiment \('ratio'\) must be named in a command"),
        (["agrawal-srikant", "nope"], r"experiment \('nope'\) must be one of ratio"),
        (["agrawal-srikant", "--dataset", "adult"], "dataset .* must be left out"),
        (["agrawal-srikant", "--no-run"], "no_run .* must be left out"),
    ],
)
def test_refused(words: list[str], text: str, tmp_path: Path) -> None:
    with pytest.raises(SettingError, match=text):
        call(*words, "--folder", str(tmp_path / "new"))
    assert not (tmp_path / "new").exists()


# -- Cai and Kou ---------------------------------------------------------------------------


@given(st.lists(st.integers(-(2**63), 2**63 - 1), min_size=2, max_size=6), st.integers(0, 99))
def test_masked_sums_are_exact(values: list[int], seed: int) -> None:
    own = [np.array([value, 1], dtype=np.int64) for value in values]
    sent = cai_kou.masked(own, np.random.default_rng(seed))
    total = np.sum(sent, axis=0)
    assert total.tolist() == [sum(values) % 2**64, len(values)]


def test_masks_by_hand() -> None:
    class Drawn:
        def integers(self, *_: Any, **__: Any) -> np.ndarray:  # R_ij for i, j; one sum
            return np.array([[[9], [5]], [[2], [9]]], dtype=np.uint64)

    sent = cai_kou.masked([np.array([1]), np.array([-1])], Drawn())  # type: ignore[arg-type]
    assert [int(one[0]) for one in sent] == [1 + 5 - 2, 2**64 - 1 + 2 - 5]


def test_sums_of_parties_give_the_regression(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    x, z = rng.integers(0, 11, 600), rng.random(600)
    table = pd.DataFrame({"x": x, "z": z, "y": (2 * x + 5 * z + rng.random(600)).round(6)})
    schema = Schema((
        Column("x", "integer", minimum=0, maximum=10),
        Column("z", "continuous", minimum=0, maximum=1),
        Column("y", "continuous", minimum=0, maximum=30),
    ))  # fmt: skip
    monkeypatch.setattr(cai_kou, "EPSILONS", (1.0, 100.0))
    found = cai_kou.found_on(cai_kou.Model(table, schema, ["x", "z"], "y"), 20)
    figures = found.figures
    assert figures["sums that differ"] == 0 and figures["known to the others"] == 10
    assert figures["coefficients"] < 1e-5 and figures["residual variance"] < 1e-6
    assert 0 < figures["error on reals"] < 1e-12
    assert figures["sum of ones"] % 5 == pytest.approx(0, abs=1e-9)
    assert figures["error at 100"] < figures["error at 1"]
    (noise,) = found.tables.values()
    assert len(noise) == 2
    judged = {v.claim.key: v.status for v in compared(papers()["cai-kou"], figures | {
        "random numbers": 420.0})}  # fmt: skip
    assert [key for key, status in judged.items() if status == "not confirmed"] == [
        "reals", "closed", "majority"
    ]  # fmt: skip


# -- RAPPOR --------------------------------------------------------------------------------


def text(place: int, p_value: float = 1e-9) -> rappor.Text:
    return rappor.Text(str(place), 1.0, 1.0, p_value)


def test_what_a_run_found_by_hand() -> None:
    shares = np.zeros(rappor.PRESENT)
    shares[:4] = 0.4, 0.3, 0.2, 0.1
    run = rappor.Run(shares, [text(0, 1e-30), text(2, 1e-3), text(150), text(99)])
    assert run.false == 1
    assert run.of_large(0.15) == 2 / 3  # of 0, 1 and 2
    assert run.p_value(1) == 1e-30 and run.p_value(3) == 1.0


def test_judged_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rappor, "share_error", lambda *_: 0.01)
    monkeypatch.setattr(rappor, "errors", lambda: np.full(200, 0.02))
    # z of .05 / 200 is 3.4808: the limit is .0348, of texts that share bits twice that; a share
    # there is found every other time, and a share of half of that with Phi(-1.7404) = .0409
    limit = 0.02 * 3.480756
    shares = np.zeros(rappor.PRESENT)
    shares[:2] = 1.0, limit
    runs = [rappor.Run(shares, [text(0)]), rappor.Run(shares, [text(0), text(1), text(120)])]
    figures = rappor._judged(runs)
    assert figures["limit"] == pytest.approx(limit, abs=1e-6)
    assert figures["limit, alone"] == pytest.approx(limit / 2, abs=1e-6)
    rest = 98 * 0.05 / 200  # texts of no people, each as likely as a false one
    assert figures["found by theory"] == pytest.approx(1.5 + rest, abs=1e-5)
    assert figures["found by theory, alone"] == pytest.approx(2 + rest, abs=1e-3)
    assert (figures["found"], figures["false"], figures["above 1 %"]) == (2.0, 0.5, 0.75)
    # 1.5 found on average; variances of .25 and 98 times .00025
    spread = np.sqrt((0.25 + rest) / 2)
    assert figures["found against theory"] == pytest.approx(-rest / spread, abs=1e-3)
    assert figures["runs with a false text"] == 0.5
    assert figures["chance of so many"] == pytest.approx(1 - 0.95**2)


def test_errors_of_candidates_that_share_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rappor, "CANDIDATES", 2)
    apart = share_error(rappor.EXPONENTIAL, rappor.PEOPLE)
    one_bit = np.zeros((4, 2))  # the first sets bits 0 and 1, the second 1 and 2
    one_bit[[0, 1], 0] = one_bit[[1, 2], 1] = 1
    monkeypatch.setattr(rappor, "design", lambda *_: one_bit)
    # inverse of (2 1, 1 2) has 2/3 on the diagonal; one bit has apart^2 * 16 * 2
    assert rappor.errors() == pytest.approx([apart * np.sqrt(32 * 2 / 3)] * 2)


def test_one_experiment_finds_the_common_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rappor, "PEOPLE", 100_000)
    monkeypatch.setattr(rappor, "EXPONENTIAL", Scheme(bits=128, hashes=2, cohorts=4, f=0.0))
    run = rappor._run(5, 0)
    assert run.shares.sum() == pytest.approx(1) and (np.diff(run.shares[:6]) < 0).all()
    assert {0, 1, 2, 3} <= set(run.places) and run.false <= 1


def test_bars_get_better_with_people() -> None:
    table, figures = rappor._normal(np.random.default_rng(1))
    few, some, many = figures.values()
    # sqrt(p (1 - p) n) / (q - p) = 2 sqrt(n), against a highest bar of about .04 n
    assert few == pytest.approx(2 / (0.04 * np.sqrt(10_000)), rel=0.2)
    assert few > 0.333 > some > 0.1 > many
    assert len(table) == 3
