"""Results in a folder: one file per run, which exists if and only if the run has ended.

Files are written beside their place and moved there, so that a kill at any moment leaves either
no file or a whole one. A file that cannot be read, or that belongs to another spec, counts as none.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pandas as pd
from filelock import FileLock, Timeout

from copula_shirley.experiments.specs import GridError, Run
from copula_shirley.files.atomic import atomic_path

Row = dict[str, Any]
STATUSES = ("done", "skipped", "failed", "timeout")
#: Columns of the tidy frame, before ``metric`` and ``value``.
AXES = (
    *("dataset", "generator", "variant", "epsilon", "fold", "seed"),
    *("folds", "rows", "unit", "profile", "use"),
)
#: Columns of the tidy frame that say where a figure came from.
ORIGIN = ("commit", "dirty", "time", "made_by", "id")


class Store:
    """The results of a grid."""

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)

    @contextmanager
    def opened(self) -> Iterator[None]:
        """Have the folder to oneself while runs are made; what a kill left half-written goes."""
        lock = FileLock(self.folder / ".lock", timeout=0)
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            lock.acquire()
        except Timeout:
            raise GridError(
                f"results ({str(self.folder)!r}) are being made by another runner; wait for it or "
                "name another folder"
            ) from None
        except OSError as error:
            reason = error.strerror or error
            raise GridError(f"results ({str(self.folder)!r}) cannot be made: {reason}") from None
        try:
            for rest in self.folder.glob(".*.partial"):
                rest.unlink(missing_ok=True)
            yield
        finally:
            lock.release()

    def path(self, run: Run) -> Path:
        """The file of a run."""
        return self.folder / f"{run.id}.json"

    def table_path(self, run_id: str) -> Path:
        """The synthetic table of a run whose table is kept."""
        return self.folder / f"{run_id}.parquet"

    def get(self, run: Run) -> Row | None:
        """The result of a run, or None if it has not ended."""
        try:
            row = json.loads(self.path(run).read_text(encoding="utf-8"))
            whole = row["id"] == run.id and row["status"] in STATUSES and "run" in row
            parts = ("figures", "seconds", "memory") if row["status"] == "done" else ("reason",)
        except (OSError, ValueError, TypeError, KeyError):
            return None
        if row["status"] == "done" and run.keep_table:
            whole &= self.table_path(run.id).is_file()
        return row if whole and all(part in row for part in parts) else None

    def put(self, run: Run, row: Row, table: pd.DataFrame | None = None) -> None:
        """Keep a result; the table first, so that it is there when the result is."""
        if table is not None:
            with atomic_path(self.table_path(run.id)) as partial:
                table.to_parquet(partial)
        with atomic_path(self.path(run)) as partial:
            partial.write_text(json.dumps(row, allow_nan=False), encoding="utf-8")

    def forget(self, run: Run) -> None:
        """Take back a result, so that the run is made again."""
        self.path(run).unlink(missing_ok=True)
        self.table_path(run.id).unlink(missing_ok=True)

    def rows(self, runs: Iterable[Run]) -> list[Row]:
        """The results of those runs that have ended."""
        return [row for row in map(self.get, runs) if row is not None]


def tidy(rows: Iterable[Row]) -> pd.DataFrame:
    """One line per run and figure; a run that is not done has one line without a figure.

    ``settings`` are JSON, ``made_by`` has all versions and the processor. Seconds and megabytes
    are figures too, such as ``fit_seconds`` and ``sample_megabytes``.
    """
    lines = []
    for row in rows:
        privacy, made_by = row.get("privacy", {}), row.get("provenance", {})
        versions = {"Python": made_by.get("python", ""), **made_by.get("versions", {})}
        words = [f"{name} {version}" for name, version in versions.items() if version]
        about = {
            **{name: row["run"][name] for name in AXES},
            "settings": json.dumps(row["run"]["settings"], sort_keys=True),
            "status": row["status"],
            "reason": row.get("reason", ""),
            "claimed": privacy.get("claimed", ""),
            "proved": privacy.get("proved", ""),
            **{name: made_by.get(name, "") for name in ("commit", "dirty", "time")},
            "made_by": ", ".join(filter(None, [*words, made_by.get("processor", "")])),
            "id": row.get("id", ""),
        }
        figures = figures_of(row) or {"": None}
        lines += [{**about, "metric": name, "value": value} for name, value in figures.items()]
    columns = [*AXES, "settings", "status", "reason", "claimed", "proved", *ORIGIN]
    return pd.DataFrame(lines, columns=[*columns, "metric", "value"])


def figures_of(row: Row) -> dict[str, float | None]:
    """All numbers of a finished run by name."""
    if row["status"] != "done":
        return {}
    figures = {name: figure["value"] for name, figure in row["figures"].items()}
    figures |= {f"{name}_seconds": seconds for name, seconds in row["seconds"].items()}
    return figures | {f"{name}_megabytes": size / 2**20 for name, size in row["memory"].items()}
