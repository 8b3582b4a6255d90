"""``shirley reproduce``, as its user meets it."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
from paper_frames import all_metrics, lines, lost, models, ratios, scores
from reproducing import call

from copula_shirley.errors import SettingError
from copula_shirley.experiments.cli import reproduce as command
from copula_shirley.experiments.paper import figures, gather
from copula_shirley.experiments.paper.gather import narrowed, read, write_all
from copula_shirley.experiments.specs import Grid
from copula_shirley.pictures import sheet


@pytest.fixture
def frame() -> pd.DataFrame:
    splits = {"0.1": all_metrics(0.1), "0.9": all_metrics(0.3)}
    seconds = {"fit_seconds": 6.0, "sample_seconds": 3.0}
    return scores(
        ratios(splits),
        models(["diabetes130"], folds=(0,)),
        lines("runtime", "PrivBayes", seconds),
        [lost("encoders", "COPULA-SHIRLEY", "skipped", "one-hot <b>codes make 999 columns",
              dataset="adult", variant="encoder onehot")],
    ).frame  # fmt: skip


@pytest.fixture
def no_pictures(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Figures are asked for and not drawn; gives the numbers of those that were."""
    asked: list[str] = []

    def saved(figure: str, folder: Path, name: str) -> list[Path]:
        asked.append(name)
        (folder / f"{name}.png").write_bytes(figure.encode())
        return [folder / f"{name}.png"]

    for name in ("draw_curves", "draw_made", "draw_drawn"):
        monkeypatch.setattr(figures, name, lambda *_: "drawn")
    overall = lambda scores: "drawn" if scores.datasets("models") else None  # noqa: E731
    monkeypatch.setattr(figures, "draw_overall", overall)
    monkeypatch.setattr(gather, "save", saved)
    return asked


NO_ROWS = pd.DataFrame(columns=["generator", "epsilon", *"ABCDEF"])


def everything(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


@pytest.mark.usefixtures("no_pictures")
def test_the_document_has_figures_tables_verdicts_failures_and_origin(
    frame: pd.DataFrame, tmp_path: Path
) -> None:
    path = write_all(frame, NO_ROWS, tmp_path)
    text = path.read_text(encoding="utf-8")
    pictures = re.findall(r"!\[.*?\]\((.+?)\)", text)
    assert len(pictures) == 3 and all((tmp_path / name).is_file() for name in pictures)
    assert "figures/figure_5_6.png" in pictures and "stand-in for Texas" in text
    assert "Figures that could not be drawn: 5.2, 5.3, 5.4, 5.5, 5.7, 5.9, 5.10." in text
    assert "Not among these results: mechanisms (figure 5.3)" in text
    assert "Theorem 4.1" in text and "one-hot <b>codes make 999 columns" in text
    assert "abcdef0123" in text and "numpy 2.4.6" in text
    page = (tmp_path / "reproduction.html").read_text(encoding="utf-8")
    assert page.count("<img") == len(pictures) == page.count('src="data:image/png;base64,')
    assert "one-hot &lt;b&gt;codes" in page
    assert "docs/reproduction.md, The privacy label" in page  # long texts are not cut
    assert (tmp_path / "tables" / "table_5_1.md").is_file()
    assert not (tmp_path / "tables" / "table_5_2.md").exists()


def test_drawing_again_from_the_csv_gives_the_same_files(
    frame: pd.DataFrame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(figures, "draw_curves", lambda *_: sheet(1, 1))
    first, second = tmp_path / "first", tmp_path / "second"
    write_all(narrowed(frame, ["ratio", "runtime", "encoders"], []), NO_ROWS, first)
    assert (first / "figures" / "figure_5_1.svg").is_file()
    code, _ = call("--from", str(first / "results.csv"), "--folder", str(second))
    assert code == 0
    assert everything(first) == everything(second)


def test_names_and_data_sets_narrow_what_is_drawn(frame: pd.DataFrame) -> None:
    some = narrowed(frame, ["models"], ["diabetes130"])
    assert set(some["experiment"]) == {"models"} and set(some["dataset"]) == {"diabetes130"}
    with pytest.raises(SettingError, match="no run of truncation"):
        narrowed(frame, ["truncation"], [])


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["ratios"], r"experiment \('ratios'\) must be one of ratio, encoders"),
        (["ratio", "--dataset", "iris"], r"dataset \('iris'\) must be one of adult, bank"),
        (["ratio", "--dataset", "made"], r"dataset \('made'\) must be"),
        (["multivariate", "--dataset", "compas"], r"dataset \('compas'\) must be left out"),
        (["--from", "nowhere.csv"], "nowhere.csv.*No such file"),
        (["ratio", "--no-run"], r"results \(.*ratio\) must hold at least one ended run"),
    ],
)
def test_errors_are_told_before_anything_runs(
    words: list[str], message: str, tmp_path: Path
) -> None:
    with pytest.raises(SettingError, match=message):
        call(*words, "--folder", str(tmp_path / "out"))
    assert not (tmp_path / "out").exists()


def test_an_output_that_is_a_file_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "out"
    file.write_text("mine", encoding="utf-8")
    with pytest.raises(SettingError, match="cannot be made: File exists"):
        call("ratio", "--folder", str(file))
    with pytest.raises(SettingError, match="cannot be made: Not a directory"):
        call("ratio", "--folder", str(file / "below"))
    assert file.read_text(encoding="utf-8") == "mine"


@pytest.mark.parametrize(
    ("content", "message"),
    [("", "must be a CSV file"), ("a,b\n1,2\n", "are lacking"), ("\x00\xff", "tidy frame|lacking")],
)
def test_a_csv_of_something_else_is_refused(content: str, message: str, tmp_path: Path) -> None:
    file = tmp_path / "other.csv"
    file.write_bytes(content.encode("latin-1"))
    with pytest.raises(SettingError, match=message):
        call("--from", str(file), "--folder", str(tmp_path / "out"))


def test_data_sets_replace_those_of_the_grid_but_not_the_made_set() -> None:
    assert command.grid_of("ratio", "full", ["randhie"]).datasets == ("randhie",)
    assert command.grid_of("multivariate", "quick", ["randhie"]).datasets == ("made",)
    assert command.grid_of("models", "quick", []) == Grid.read("models", "quick")


def test_from_runs_to_the_document(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, no_pictures: list[str]
) -> None:
    """One fast generator in processes of its own: run, draw, and nothing twice."""

    def small(name: str, *_: object) -> Grid:
        grid = Grid.read(name, "quick")
        entries = {"DP-Histogram": grid.generators["DP-Histogram"]}
        sets = ("made",) if name == "multivariate" else ("randhie",)
        return replace(grid, generators=entries, epsilons=(1.0,), rows=200, datasets=sets)

    monkeypatch.setattr(command, "grid_of", small)
    words = ["--folder", str(tmp_path), "--quiet", "--jobs", "1"]
    code, output = call("runtime", "multivariate", *words)
    assert code == 0 and "reproduction.md" in output
    frame, rows = read(tmp_path / "results.csv")
    assert set(frame["experiment"]) == {"runtime", "multivariate"}
    assert set(frame.loc[frame["experiment"] == "multivariate", "metric"]) >= {"spearman A-B"}
    assert set(rows["generator"]) == {"DP-Histogram"} and no_pictures == [
        "figure_5_9",
        "figure_5_10_epsilon_1",
    ]
    text = (tmp_path / "reproduction.md").read_text(encoding="utf-8")
    assert "| DP-Histogram | ours, epsilon 1, 1 fold |" in text and "epsilon 6" in text
    before = everything(tmp_path / "results")
    assert call("runtime", *words)[0] == 0  # has ended, and is not run again
    assert everything(tmp_path / "results") == before
