"""From result folders or a CSV file to the frame that the paper is drawn from, and to its files."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pandas as pd

from copula_shirley.errors import SettingError
from copula_shirley.evaluation.figures import save
from copula_shirley.experiments.datasets import load_dataset
from copula_shirley.experiments.paper import document, figures, tables
from copula_shirley.experiments.paper.chapter import CHAPTER
from copula_shirley.experiments.paper.claims import verdicts
from copula_shirley.experiments.paper.coefficients import (
    NAMES,
    SCATTER_AXES,
    scatter_rows,
    with_coefficients,
)
from copula_shirley.experiments.paper.scores import Scores, prepared
from copula_shirley.experiments.run.store import Row, Store, tidy
from copula_shirley.files.atomic import atomic_path
from copula_shirley.settings import check_one_of

#: Beside ``reproduction.md``: all figures as one tidy table, and rows for the scatter plots.
RESULTS, SCATTER = "results.csv", "scatter.csv"
DOCUMENT = "reproduction.md"


def gather(
    rows: Mapping[str, list[Row]], stores: Mapping[str, Store]
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The runs that have ended, by experiment: the frame, and rows drawn from the made set."""
    frames, made = [], {}
    for name, ended in rows.items():
        if ended:
            frame = tidy(ended)
            frame.insert(0, "experiment", name)
            frames.append(frame.astype(object))
        if name == "multivariate":
            files = {row["id"]: stores[name].table_path(row["id"]) for row in ended}
            made = {key: pd.read_parquet(path) for key, path in files.items() if path.is_file()}
    if not frames:
        places = ", ".join(str(stores[name].folder) for name in rows)
        raise SettingError(f"results ({places}) must hold at least one ended run")
    frame = prepared(with_coefficients(pd.concat(frames, ignore_index=True), made))
    return frame, scatter_rows(frame, made)


def read(path: Path) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The frame of an earlier reproduction, and the rows beside it if they are there."""
    frame, beside = prepared(_csv(path), what=f"from ({str(path)!r})"), path.parent / SCATTER
    if not beside.is_file():
        return frame, pd.DataFrame(columns=[*SCATTER_AXES, *NAMES])
    return frame, prepared(_csv(beside), ["generator"], ["epsilon", *NAMES], repr(str(beside)))


def _csv(path: Path) -> pd.DataFrame:
    try:
        return pd.read_csv(path, dtype=str, keep_default_na=False)
    except OSError as error:
        raise SettingError(
            f"from ({str(path)!r}) cannot be read: {error.strerror or error}"
        ) from None
    except ValueError:
        raise SettingError(f"from ({str(path)!r}) must be a CSV file with a tidy frame") from None


def narrowed(frame: pd.DataFrame, names: list[str], datasets: list[str]) -> pd.DataFrame:
    """Only some experiments, and only some data sets (the made set always)."""
    chosen = frame["experiment"].isin(names)
    if datasets:
        chosen &= frame["dataset"].isin([*datasets, "made"])
    found = frame[chosen].reset_index(drop=True)
    if found.empty:
        raise SettingError(f"results hold no run of {', '.join(names)} on these data sets")
    return found


def write_all(frame: pd.DataFrame, rows: pd.DataFrame, folder: Path) -> Path:
    """Write figures, tables, verdicts and the document; give the document's path."""
    scores = Scores(frame)
    for part in ("figures", "tables"):
        make_folder(folder, part)
    write(frame, folder / RESULTS)
    if len(rows):
        write(rows, folder / SCATTER)
    made_set = load_dataset("made").table if scores.datasets("multivariate") else None
    drawn = figures.draw_all(scores, made_set, rows)
    pictures = {
        f"figures/figure_{number}.png": save(figure, folder / "figures", f"figure_{number}")[0]
        for number, figure in drawn.items()
    }
    found = verdicts(scores)
    write(document.verdict_table(found), folder / "tables" / "verdicts.csv")
    made = {"5_1": tables.table_5_1(scores), "5_2": tables.table_5_2(scores)}
    for number, table in made.items():
        if len(table):
            write(table, folder / "tables" / f"table_{number}.csv")
            write(document.markdown_table(table) + "\n", folder / "tables" / f"table_{number}.md")
    text = document.document_of(scores, found, made, dict(zip(drawn, pictures, strict=True)))
    write(text, folder / DOCUMENT)
    write(document.as_html(text, pictures), folder / "reproduction.html")
    return folder / DOCUMENT


def make_folder(folder: Path, part: str = "") -> None:
    """Make a folder, or a part of it."""
    try:
        (folder / part).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        reason = error.strerror or error
        raise SettingError(f"folder ({str(folder)!r}) cannot be made: {reason}") from None


def write(content: pd.DataFrame | str, path: Path) -> None:
    """Write a table as CSV or a text, all of it or nothing."""
    text = content if isinstance(content, str) else content.to_csv(index=False)
    with atomic_path(path) as partial:
        partial.write_text(text, encoding="utf-8")


def known(names: list[str]) -> list[str]:
    """The named experiments in the order of the chapter; all of them if none is named."""
    for name in names:
        check_one_of("experiment", name, list(CHAPTER.experiments))
    return [name for name in CHAPTER.experiments if not names or name in names]
