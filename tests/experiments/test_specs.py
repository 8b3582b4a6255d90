from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from copula_shirley.experiments.specs import GRIDS, Grid, GridError, Run, frozen

RUN = Run("compas", "PrivBayes", "privbayes", frozen({"degree": 2, "names": ["a", "b"]}))
SMALL: dict[str, Any] = {"datasets": ["made"], "generators": {"uniform": None}}


def grid(**changes: Any) -> Grid:
    return Grid.from_dict({**SMALL, **changes}, "small")


def test_a_run_is_frozen_hashable_and_survives_json() -> None:
    again = Run.from_dict(json.loads(json.dumps(RUN.to_dict())))
    assert again == RUN and hash(again) == hash(RUN) and again.id == RUN.id


def test_names_follow_from_the_spec_alone() -> None:
    assert RUN.id == replace(RUN).id
    others = [replace(RUN, fold=1), replace(RUN, epsilon=8.0), replace(RUN, rows=100)]
    others += [replace(RUN, settings=frozen({"degree": 3})), replace(RUN, metrics=("ks",))]
    assert len({RUN.id, *(other.id for other in others)}) == 6
    assert RUN.id.startswith("compas-privbayes-e1-f0-s0-")


def test_all_generators_get_the_same_folds_and_scores_and_their_own_noise() -> None:
    other = replace(RUN, generator="other", use="uniform", settings=(), epsilon=0.1)
    for purpose in ("rows", "folds", "score"):
        assert RUN.rng(purpose).integers(2**62) == other.rng(purpose).integers(2**62)
    assert RUN.rng("fit").integers(2**62) != other.rng("fit").integers(2**62)
    assert RUN.rng("fit").integers(2**62) != replace(RUN, seed=1).rng("fit").integers(2**62)
    assert RUN.rng("folds").integers(2**62) == replace(RUN, fold=3).rng("folds").integers(2**62)


def test_a_label_or_the_metrics_change_no_noise() -> None:
    renamed = replace(RUN, generator="mine", metrics=("ks",), profile="thesis", threads=2)
    assert RUN.rng("fit").integers(2**62) == renamed.rng("fit").integers(2**62)


def test_a_grid_is_the_product_of_its_axes() -> None:
    runs = grid(epsilons=["off", 1, 0.1], folds=3, seeds=[0, 1]).runs()
    assert len(runs) == len(set(runs)) == 3 * 3 * 2
    assert {run.epsilon for run in runs} == {None, 1.0, 0.1}
    assert [run.fold for run in runs[:6]] == [0, 0, 0, 1, 1, 1]


def test_entries_with_their_own_epsilons_data_sets_and_variants() -> None:
    entries = {
        "real": {"epsilons": ["off"]},
        "PB": {"use": "privbayes", "vary": {"degree": [1, 2], "bins": [8]}, "datasets": ["made"]},
    }
    runs = grid(datasets=["made", "compas"], generators=entries, folds=2, epsilons=[1]).runs()
    names = {(run.dataset, run.generator, run.variant, run.epsilon) for run in runs}
    assert names == {
        ("made", "real", "", None),
        ("compas", "real", "", None),
        ("made", "PB", "degree 1, bins 8", 1.0),
        ("made", "PB", "degree 2, bins 8", 1.0),
    }
    assert dict(runs[0].settings) in ({}, {"degree": 1, "bins": 8})


def test_adding_a_generator_changes_nobody_elses_run() -> None:
    before = grid(folds=2).runs()
    after = grid(folds=2, generators={"real": None, "uniform": None}).runs()
    assert set(before) < set(after)


def test_a_quick_size_is_the_grid_with_some_changes() -> None:
    entry = {**SMALL, "folds": 5, "quick": {"only_folds": [0]}}
    assert len(Grid.from_dict(entry, "x").runs()) == 5
    assert len(Grid.from_dict(entry, "x", "quick").runs()) == 1


@pytest.mark.parametrize("name", sorted(path.stem for path in GRIDS.glob("*.yaml")))
def test_our_grids_are_whole(name: str) -> None:
    full, quick = Grid.read(name).runs(), Grid.read(name, "quick").runs()
    assert 0 < len(quick) <= len(full)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"folds": 1}, r"folds \(1\) must be a whole number >= 2"),
        ({"folds": True}, r"folds \(True\)"),
        ({"epsilons": [0]}, "epsilons: epsilon"),
        ({"epsilons": ["much"]}, "epsilons: epsilon"),
        ({"epsilons": []}, r"epsilons \(\[\]\) must be a list"),
        ({"datasets": ["moon"]}, r"datasets \('moon'\) must be among adult"),
        ({"generators": {}}, r"generators \(\{\}\) must be a mapping of length >= 1"),
        ({"generators": ["real"]}, "generators .* must be a mapping"),
        ({"generators": {"a": {"useful": 1}}}, r"generator 'a': key \('useful'\)"),
        (
            {"generators": {"a": {"vary": {"b": 3}}}},
            r"'a': vary \(\{'b': 3\}\) must be a list",
        ),
        ({"generators": {"a": {"settings": {"b": {"c": 1}}}}}, r"setting value"),
        ({"generators": {"a": {"settings": {"epsilon": 9}}}}, "epsilon is no setting here"),
        ({"generators": {"a": {"vary": {"epsilon": [1, 9]}}}}, "epsilon is no setting here"),
        ({"generators": {"a": {"settings": {"b": float("nan")}}}}, "must be a finite number"),
        ({"metrics": ["beauty"]}, r"metrics \('beauty'\) must be among attribute_inference"),
        ({"unit": "house"}, r"unit \('house'\) must be person or row"),
        ({"profile": "heavy"}, r"profile \('heavy'\)"),
        ({"minutes": 0}, r"minutes \(0\) must be a number > 0"),
        ({"gigabytes": "many"}, r"gigabytes \('many'\)"),
        ({"only_folds": [7]}, r"only_folds \(7\) must be below folds \(5\)"),
        ({"rows": 3}, r"rows \(3\) must be a whole number, 10 or more"),
        ({"folds": 10**12}, r"runs \(\d.*\) must be at most 1,000,000"),
        (
            {"generators": {"real": {"vary": {name: [0] * 40 for name in "abcdef"}}}},
            r"runs \(\d.*\) must be at most 1,000,000",
        ),
        ({"colour": "red"}, r"key \('colour'\) must be one of name"),
    ],
)
def test_what_a_grid_cannot_say(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(GridError, match=message):
        grid(**changes).runs()


def test_files_that_are_no_grid(tmp_path: Path) -> None:
    with pytest.raises(GridError, match=r"must be a \.yaml file or one of encoders"):
        Grid.read("nothing")
    with pytest.raises(GridError, match=r"config .*none\.yaml' does not exist"):
        Grid.read(tmp_path / "none.yaml")
    (tmp_path / "list.yaml").write_text("- a\n- b\n", encoding="utf-8")
    with pytest.raises(GridError, match="must be a mapping"):
        Grid.read(tmp_path / "list.yaml")
    (tmp_path / "bad.yaml").write_text("a: [", encoding="utf-8")
    with pytest.raises(GridError, match="not readable as YAML"):
        Grid.read(tmp_path / "bad.yaml")
