"""A benchmark on one's own table: named by content, resumed, refused before anything runs."""

from __future__ import annotations

import json
import shutil
from dataclasses import asdict
from pathlib import Path

import pytest
from commands import run as command
from tables import JOBS, jobs

from copula_shirley.experiments.datasets import DatasetError
from copula_shirley.experiments.own_tables import OwnTable
from copula_shirley.experiments.run.execute import execute
from copula_shirley.experiments.specs import Grid, GridError, Run

TASKS = {"binary": "rich"}


@pytest.fixture
def place(tmp_path: Path) -> Path:
    jobs(60).assign(name="Ann").to_csv(tmp_path / "mine.csv", index=False)
    text = JOBS.to_yaml() + "left_out: {name: {replace: drop}}\n"
    (tmp_path / "s.yaml").write_text(text, encoding="utf-8")
    return tmp_path


def own(place: Path, **more: object) -> OwnTable:
    return OwnTable(str(place / "mine.csv"), str(place / "s.yaml"), **{"tasks": TASKS, **more})  # type: ignore[arg-type]


def grid(table: OwnTable) -> Grid:
    entry = {
        "tables": {"own": asdict(table)},
        "datasets": ["own"],
        "generators": {"uniform": {}},
        "metrics": ["ks", "mcc_binary"],
        "folds": 2,
    }
    return Grid.from_dict(entry, "mine")


def test_runs_are_named_after_the_content(
    place: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    first = grid(own(place)).runs()
    assert [run.fold for run in first] == [0, 1] and first[0].dataset.startswith("mine ")
    again = Run.from_dict(json.loads(json.dumps(first[0].to_dict())))
    assert again == first[0] and again.id == first[0].id
    moved = tmp_path_factory.mktemp("elsewhere")
    shutil.copytree(place, moved, dirs_exist_ok=True)
    assert [run.id for run in grid(own(moved)).runs()] == [run.id for run in first]
    names = [own(place).name, own(place, tasks={"multiclass": "job"}).name]
    names.append(own(place, on_unknown="clip").name)
    text = (place / "s.yaml").read_text("utf-8")
    (moved / "s.yaml").write_text(text + "# a remark\n", encoding="utf-8")
    assert own(moved).name == names[0]  # it says the same
    (moved / "s.yaml").write_text(text.replace("90", "91"), encoding="utf-8")
    names.append(own(moved).name)
    jobs(61).assign(name="Ann").to_csv(moved / "mine.csv", index=False)
    names.append(own(moved).name)
    assert len({*names}) == 5 and len({run.id for run in first}) == 2


def test_a_run_scores_the_table_without_what_is_left_out(place: Path) -> None:
    (run, _) = grid(own(place)).runs()
    row, _ = execute(run, {})
    assert row["status"] == "done", row
    assert set(row["margins"]) == set(JOBS.names) and "mcc_binary" in row["figures"]
    assert "Ann" not in json.dumps(row)
    jobs(61).assign(name="Ann").to_csv(place / "mine.csv", index=False)
    row, _ = execute(run, {})
    assert row["status"] == "skipped" and "have changed since the start" in row["reason"]


def test_a_table_that_is_not_there_or_not_named(place: Path) -> None:
    gone = OwnTable(str(place / "gone.csv"), str(place / "s.yaml"))
    with pytest.raises(DatasetError, match=r"data \('.*gone.csv'\) cannot be read"):
        gone.name  # noqa: B018
    entry = {"datasets": ["own"], "generators": {"uniform": {}}}
    with pytest.raises(GridError, match="datasets \\('own'\\) must be among"):
        Grid.from_dict(entry, "mine")


def test_the_command_runs_ours_and_goes_on(place: Path) -> None:
    words = "benchmark --data mine.csv --schema s.yaml --folds 2 --first 1 --task binary=rich"
    done = command(words, folder=place)
    assert done.code == 0, done.err
    assert done.out.index("PrivateVine") < done.out.index("COPULA-SHIRLEY")
    assert "Not proved" in done.out and "COPULA-SHIRLEY." in done.out
    assert "figures and results are not private" in " ".join(done.err.split())
    results = place / "shirley-results" / "benchmark"
    files = {path.name for path in results.glob("*.json")}
    assert len(files) == 7 and not list(results.glob("*.parquet"))
    assert all("Ann" not in path.read_text("utf-8") for path in results.iterdir())
    again = command(words, folder=place)
    assert again.code == 0 and "[1/7]" not in again.err  # nothing is made twice


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--data mine.csv", "--schema (not given) must name the declared domain of --data"),
        ("--schema s.yaml mine:G", "--schema (s.yaml) goes with --data"),
        ("--data mine.csv --schema s.yaml --dataset adult", "--dataset ('adult') must be left out"),
        ("--data mine.csv --schema s.yaml --task binary=job", "must have two values"),
        ("--data mine.csv --schema s.yaml -o mine.csv", "--output ('mine.csv') must be another"),
        ("--data gone.csv --schema s.yaml", "gone.csv"),
        ("", "or --data a table"),
    ],
)
def test_what_is_refused(place: Path, words: str, message: str) -> None:
    assert message in command(f"benchmark {words}", folder=place).refusal()
    assert not (place / "shirley-results").exists()
