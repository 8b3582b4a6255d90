from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from copula_shirley.experiments.specs import GRIDS, Grid, GridError, Run, frozen

RUN = Run("compas", "PrivBayes", "privbayes", frozen({"degree": 2, "names": ["a", "b"]}))
SMALL: dict[str, Any] = {"datasets": ["made"], "generators": {"uniform": None}}


def grid(**changes: Any) -> Grid:
    return Grid.from_dict({**SMALL, **changes}, "small")


def draw(run: Run, purpose: str) -> int:
    return int(run.rng(purpose).integers(2**62))


def test_a_name_follows_from_the_spec_alone() -> None:
    again = Run.from_dict(json.loads(json.dumps(RUN.to_dict())))
    assert again == RUN and hash(again) == hash(RUN) and again.id == RUN.id
    others = [replace(RUN, fold=1), replace(RUN, epsilon=8.0), replace(RUN, rows=100)]
    others += [replace(RUN, settings=frozen({"degree": 3})), replace(RUN, metrics=("ks",))]
    assert len({RUN.id, *(other.id for other in others)}) == 6
    assert RUN.id == "compas-privbayes-e1-f0-s0-281f8ee539c5"


def test_every_run_of_the_shipped_results_follows_from_a_grid() -> None:
    """Their commands stand in experiments/results/README.md."""
    file = GRIDS.parent / "results" / "results.csv.gz"
    columns = ["experiment", "dataset", "profile", "fold", "id"]
    shipped = pd.read_csv(file, usecols=columns).drop_duplicates()
    names: set[str] = set()
    for (name, dataset, profile), some in shipped.groupby(["experiment", "dataset", "profile"]):
        folds = tuple(map(int, some["fold"].unique()))
        settings = {"datasets": (dataset,), "profile": profile, "only_folds": folds}
        names |= {run.id for run in replace(Grid.read(name), **settings).runs()}
    assert shipped["id"].nunique() == 440
    assert set(shipped["id"]) <= names


def test_all_generators_get_the_same_folds_and_scores_and_their_own_noise() -> None:
    other = replace(RUN, generator="other", use="uniform", settings=(), epsilon=0.1)
    for purpose in ("rows", "folds", "score"):
        assert draw(RUN, purpose) == draw(other, purpose)
    assert draw(RUN, "folds") == draw(replace(RUN, fold=3), "folds")
    assert len({draw(run, "fit") for run in (RUN, other, replace(RUN, seed=1))}) == 3
    renamed = replace(RUN, generator="mine", metrics=("ks",), profile="thesis", threads=2)
    assert draw(RUN, "fit") == draw(renamed, "fit")


def test_a_grid_is_the_product_of_its_axes() -> None:
    runs = grid(epsilons=["off", 1, 0.1], folds=3, seeds=[0, 1]).runs()
    assert len(runs) == len(set(runs)) == 3 * 3 * 2
    assert {run.epsilon for run in runs} == {None, 1.0, 0.1}
    assert [run.fold for run in runs[:6]] == [0, 0, 0, 1, 1, 1]
    # another generator changes nobody else's run
    more = grid(folds=2, generators={"real": None, "uniform": None}).runs()
    assert set(grid(folds=2).runs()) < set(more)
    quick = {**SMALL, "quick": {"only_folds": [0]}}
    assert len(Grid.from_dict(quick, "x").runs()) == 5
    assert len(Grid.from_dict(quick, "x", "quick").runs()) == 1


def test_entries_with_their_own_epsilons_data_sets_and_variants() -> None:
    entries = {
        "real": {"epsilons": ["off"]},
        "PB": {"use": "privbayes", "vary": {"degree": [1, 2], "bins": [8]}, "datasets": ["made"]},
    }
    runs = grid(datasets=["made", "compas"], generators=entries, folds=2, epsilons=[1]).runs()
    assert {(run.dataset, run.generator, run.variant, run.epsilon) for run in runs} == {
        ("made", "real", "", None),
        ("compas", "real", "", None),
        ("made", "PB", "degree 1, bins 8", 1.0),
        ("made", "PB", "degree 2, bins 8", 1.0),
    }
    assert {run.settings for run in runs if run.use == "privbayes"} == {
        (("bins", 8), ("degree", 1)),
        (("bins", 8), ("degree", 2)),
    }


@pytest.mark.parametrize("name", sorted(path.stem for path in GRIDS.glob("*.yaml")))
def test_our_grids_are_whole(name: str) -> None:
    full, quick = Grid.read(name).runs(), Grid.read(name, "quick").runs()
    assert 0 < len(quick) <= len(full)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"folds": 1}, r"folds \(1\) must be a whole number >= 2"),
        ({"epsilons": [0]}, "epsilons: epsilon"),
        ({"epsilons": []}, r"epsilons \(\[\]\) must be a list"),
        ({"datasets": ["moon"]}, r"datasets \('moon'\) must be among adult"),
        ({"generators": {}}, r"generators \(\{\}\) must be a mapping of length >= 1"),
        ({"generators": ["real"]}, "generators .* must be a mapping"),
        ({"generators": {"a": {"useful": 1}}}, r"generator 'a': key \('useful'\)"),
        (
            {"generators": {"a": {"vary": {"b": 3}}}},
            r"'a': vary \(\{'b': 3\}\) must be a list",
        ),
        (
            {"generators": {"a": {"settings": {"b": {"c": 1}}}}},
            r"settings 'b' .* must be a number, a text",
        ),
        ({"generators": {"a": {"vary": {"epsilon": [1, 9]}}}}, "epsilon is no setting here"),
        ({"generators": {"a": {"settings": {"b": float("nan")}}}}, "must be a finite number"),
        ({"metrics": ["beauty"]}, r"metrics \('beauty'\) must be among attribute_inference"),
        ({"unit": "house"}, r"unit \('house'\) must be person or row"),
        ({"minutes": 0}, r"minutes \(0\) must be a number > 0"),
        ({"only_folds": [7]}, r"only_folds \(7\) must be below folds \(5\)"),
        ({"rows": 3}, r"rows \(3\) must be a whole number, 10 or more"),
        ({"folds": 10**12}, r"runs \(\d.*\) must be at most 1,000,000"),
        ({"colour": "red"}, r"key \('colour'\) must be one of name"),
    ],
)
def test_what_a_grid_cannot_say(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(GridError, match=message):
        grid(**changes).runs()


def test_files_that_are_no_grid(tmp_path: Path) -> None:
    for name, text in (("list.yaml", "- a\n- b\n"), ("bad.yaml", "a: [")):
        (tmp_path / name).write_text(text, encoding="utf-8")
    for config, message in (
        ("nothing", r"must be a \.yaml file or one of benchmark"),
        (tmp_path / "none.yaml", r"config .*none\.yaml' does not exist"),
        (tmp_path / "list.yaml", "must be a mapping"),
        (tmp_path / "bad.yaml", "not readable as YAML"),
    ):
        with pytest.raises(GridError, match=message):
            Grid.read(config)
