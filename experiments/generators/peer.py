"""A peer makes a synthetic table of a fold, in its own environment."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from copula_shirley.experiments.folds import Fold
from copula_shirley.experiments.generators.environments import PeerError, environment
from copula_shirley.experiments.generators.launch import launch
from copula_shirley.experiments.generators.registry import Entry
from copula_shirley.experiments.run.synthesis import Skip, Synthesis, by_its_word, resolved
from copula_shirley.experiments.specs import Run
from copula_shirley.rows.memory import MemoryRows
from copula_shirley.schema.domain import Grid
from copula_shirley.schema.schema import Column, Schema

DRIVER = Path(__file__).with_name("driver.py")


class Peer:
    """A generator of others; ``python`` gives the Python of its environment."""

    def __init__(self, entry: Entry, python: Callable[[Entry], Path] | None = None) -> None:
        self.entry = entry
        self._python = python or (lambda entry: environment(entry.requirements, entry.python))

    def prepare(self) -> Path:
        """Build the environment, if it is not there, and give its Python."""
        return self._python(self.entry)

    def synthesize(self, fold: Fold, run: Run) -> Synthesis:
        """Fit on the training rows, draw as many rows as there are."""
        if self.entry.private and run.epsilon is None:
            raise Skip(f"{self.entry.name} is differentially private and has no mode without noise")
        python = self.prepare()
        job = self.job(fold, run)
        with tempfile.TemporaryDirectory(prefix="shirley-peer-") as name:
            folder = Path(name)
            (folder / "job.json").write_text(json.dumps(job, allow_nan=False), encoding="utf-8")
            rows = pa.Table.from_pandas(self.given(fold), preserve_index=False)
            # another version of pandas may not know what ours says of its own types
            pq.write_table(rows.replace_schema_metadata(None), folder / "train.parquet")
            launch(python, DRIVER, folder, run.threads, self.entry.name)
            try:
                facts = json.loads((folder / "facts.json").read_text(encoding="utf-8"))
                drawn = pd.read_parquet(folder / "synthetic.parquet")
            except (OSError, ValueError) as error:
                raise PeerError(f"{self.entry.name} ended without a table: {error}") from None
        table = self.taken(drawn, fold.schema, np.random.default_rng(job["seed"]))
        privacy = self.privacy(fold, run, job["delta"])
        return Synthesis(table, facts["seconds"], facts["memory"], privacy)

    def job(self, fold: Fold, run: Run) -> dict[str, Any]:
        """What the driver is told, beside the rows."""
        settings = {**self.entry.settings, **resolved(run, fold)}
        delta = settings.pop("delta", 1e-9)
        if self.entry.takes == "cells":
            sizes = Grid(fold.schema).sizes
            declared: dict[str, Any] = {name: int(size) for name, size in sizes.items()}
        else:
            declared = {column.name: described(column) for column in fold.schema}
        return {
            "adapter": str(self.entry.adapter),
            "epsilon": run.epsilon,
            "delta": delta,
            "seed": int(run.rng("fit").integers(2**31)),
            "domain": declared,
            "settings": settings,
            "rows": fold.rows,
        }

    def given(self, fold: Fold) -> pd.DataFrame:
        """The training rows as the peer takes them; whose row it is is no attribute."""
        train = fold.train[list(fold.schema.names)]
        if self.entry.takes == "values":
            return train
        return pd.DataFrame(Grid(fold.schema).codes(MemoryRows.of(fold.train, fold.schema).numbers))

    def taken(self, drawn: pd.DataFrame, schema: Schema, rng: np.random.Generator) -> pd.DataFrame:
        """The peer's rows as a table of the schema; cells become values drawn inside them."""
        if self.entry.takes == "values":
            return drawn
        grid = Grid(schema)
        codes = {name: self._codes(drawn, name, size) for name, size in grid.sizes.items()}
        numbers = grid.numbers(codes, rng)
        return pd.DataFrame({c.name: c.domain.from_numbers(numbers[c.name]) for c in schema})

    def _codes(self, drawn: pd.DataFrame, name: str, size: int) -> Any:
        if name not in drawn.columns:
            raise PeerError(f"{self.entry.name} returned no column {name!r}")
        values = pd.to_numeric(drawn[name], errors="coerce").to_numpy(float, na_value=np.nan)
        if not np.all((values >= 0) & (values < size) & (values == np.floor(values))):
            raise PeerError(
                f"{self.entry.name}: column {name!r} must hold the numbers of cells, "
                f"whole and from 0 to {size - 1}; a value is none"
            )
        return values.astype(np.intp)

    def privacy(self, fold: Fold, run: Run, delta: float) -> dict[str, Any]:
        """What the peer promises; of a proof we know nothing."""
        entry = self.entry
        claim = entry.claim.format(epsilon=run.epsilon or 0.0, delta=delta)
        found = by_its_word(run, entry.private, claim)
        if entry.private and fold.schema.person is not None:
            unit = "rows; a person with several rows is not protected as one"
            found["summary"].append(["unit", unit])
        if entry.notes:
            found["summary"].append(["notes", entry.notes])
        return found


def described(column: Column) -> dict[str, Any]:
    """The declared domain of a column in plain values."""
    facts = {"is_listed": column.is_listed, "is_number": column.is_number}
    about = {"kind": column.kind, "missing": column.missing, "is_whole": column.is_whole, **facts}
    if column.is_listed:
        return {**about, "categories": list(column.domain.categories), "ordered": column.ordered}
    bounds = {"minimum": column.minimum, "maximum": column.maximum}
    if not column.is_number:
        bounds = {name: bound.isoformat() for name, bound in bounds.items()}
        about["format"] = column.format
    return {**about, **bounds, "resolution": column.resolution, "special": list(column.special)}
