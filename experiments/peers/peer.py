"""A peer: what ``peers.yaml`` says of it, and how it makes a synthetic table of a fold.

A user's own peer is a path ``my_adapter.py``, with its pins beside it in ``my_adapter.txt`` and, if
the defaults are wrong, an entry with the keys of ``peers.yaml`` in ``my_adapter.yaml``.
"""

from __future__ import annotations

import json
import sys
import tempfile
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from copula_shirley.errors import ShirleyError
from copula_shirley.experiments.folds import Fold
from copula_shirley.experiments.peers.environments import PeerError, environment, launch
from copula_shirley.experiments.peers.quantiles import quantile_grid
from copula_shirley.experiments.run.synthesis import Skip, Synthesis, by_its_word, resolved
from copula_shirley.experiments.specs import Run, converted
from copula_shirley.files.strict_yaml import load_yaml
from copula_shirley.rows.memory import MemoryRows
from copula_shirley.schema.domain import Grid
from copula_shirley.schema.schema import Column

HERE = Path(__file__).parent
THIS_PYTHON = "{}.{}".format(*sys.version_info[:2])


@dataclass(frozen=True)
class Peer:
    """A generator of others; ``peers.yaml`` says what each field means."""

    name: str
    adapter: Path
    requirements: Path
    description: str = ""
    python: str = THIS_PYTHON
    takes: Literal["cells", "quantiles", "values"] = "values"
    settings: dict[str, Any] = field(default_factory=dict)
    private: bool = True
    claim: str = "epsilon {epsilon:g}, delta {delta:g}"
    notes: str = ""

    @classmethod
    def of(cls, name: str, options: Any, folder: Path) -> Peer:
        """A peer from what YAML says; files are looked for in a folder."""
        what = f"peer {name!r}: "
        if not isinstance(options, dict):
            raise PeerError(f"{what}it must be a mapping of settings")
        files = {key: folder / str(options.get(key, "")) for key in ("adapter", "requirements")}
        for key, file in files.items():
            if not file.is_file():
                raise PeerError(f"{what}{key} {str(file)!r} is no file")
        python = str(options.get("python", THIS_PYTHON))  # 3.12 is a number for YAML
        whole = {"name": name, **options, **files, "python": python}
        return converted(cls, whole, what, kind_of_error=PeerError)

    def prepare(self) -> Path:
        """Build the environment, if it is not there, and give its Python."""
        return environment(self.requirements, self.python)

    def synthesize(self, fold: Fold, run: Run) -> Synthesis:
        """Fit on the training rows, draw as many rows as there are."""
        if self.private and run.epsilon is None:
            raise Skip(f"{self.name} is differentially private and has no mode without noise")
        python, job = self.prepare(), self.job(fold, run)
        with tempfile.TemporaryDirectory(prefix="shirley-peer-") as name:
            folder = Path(name)
            (folder / "job.json").write_text(json.dumps(job, allow_nan=False), encoding="utf-8")
            rows = pa.Table.from_pandas(self.given(fold), preserve_index=False)
            # another version of pandas may not know what ours says of its own types
            pq.write_table(rows.replace_schema_metadata(None), folder / "train.parquet")
            launch(python, HERE / "driver.py", folder, run.threads, self.name)
            try:
                facts = json.loads((folder / "facts.json").read_text(encoding="utf-8"))
                drawn = pd.read_parquet(folder / "synthetic.parquet")
            except (OSError, ValueError) as error:
                raise PeerError(f"{self.name} ended without a table: {error}") from None
        table = self.taken(drawn, fold, np.random.default_rng(job["seed"]))
        privacy = self.privacy(fold, run, job["delta"])
        return Synthesis(table, facts["seconds"], facts["memory"], privacy)

    def job(self, fold: Fold, run: Run) -> dict[str, Any]:
        """What the driver is told, beside the rows."""
        settings = {**self.settings, **resolved(run, fold)}
        declared: Any = {column.name: described(column) for column in fold.schema}
        if self.takes != "values":
            declared = {name: int(size) for name, size in self.grid(fold).sizes.items()}
        return {
            "adapter": str(self.adapter),
            "epsilon": run.epsilon,
            "delta": settings.pop("delta", 1e-9),
            "seed": int(run.rng("fit").integers(2**31)),
            "domain": declared,
            "settings": settings,
            "rows": fold.rows,
        }

    def given(self, fold: Fold) -> pd.DataFrame:
        """The training rows as the peer takes them; whose row it is is no attribute."""
        if self.takes == "values":
            return fold.train[list(fold.schema.names)]
        return pd.DataFrame(self.grid(fold).codes(MemoryRows.of(fold.train, fold.schema).numbers))

    def grid(self, fold: Fold) -> Grid:
        """The cells that the peer is given."""
        if self.takes == "quantiles":
            return quantile_grid(MemoryRows.of(fold.train, fold.schema))
        return Grid(fold.schema)

    def taken(self, drawn: pd.DataFrame, fold: Fold, rng: np.random.Generator) -> pd.DataFrame:
        """The peer's rows as a table of the schema; cells become values drawn inside them."""
        if self.takes == "values":
            return drawn
        grid, schema = self.grid(fold), fold.schema
        codes = {name: self._codes(drawn, name, size) for name, size in grid.sizes.items()}
        numbers = grid.numbers(codes, rng)
        return pd.DataFrame({c.name: c.domain.from_numbers(numbers[c.name]) for c in schema})

    def _codes(self, drawn: pd.DataFrame, name: str, size: int) -> Any:
        if name not in drawn.columns:
            raise PeerError(f"{self.name} returned no column {name!r}")
        values = pd.to_numeric(drawn[name], errors="coerce").to_numpy(float, na_value=np.nan)
        if not np.all((values >= 0) & (values < size) & (values == np.floor(values))):
            raise PeerError(
                f"{self.name}: column {name!r} must hold the numbers of cells, "
                f"whole and from 0 to {size - 1}; a value is none"
            )
        return values.astype(np.intp)

    def privacy(self, fold: Fold, run: Run, delta: float) -> dict[str, Any]:
        """What the peer promises; of a proof we know nothing."""
        claim = self.claim.format(epsilon=run.epsilon or 0.0, delta=delta)
        found = by_its_word(run, self.private, claim)
        if self.private and fold.schema.person is not None:
            unit = "rows; a person with several rows is not protected as one"
            found["summary"].append(["unit", unit])
        if self.notes:
            found["summary"].append(["notes", self.notes])
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


@cache
def known_peers() -> dict[str, Peer]:
    """Every peer that ships with the project by name."""
    content = load_yaml((HERE / "peers.yaml").read_text(encoding="utf-8"))
    return {name: Peer.of(name, options, HERE) for name, options in content.items()}


def find_peer(use: str) -> Peer:
    """The peer of a name, or of a user's own ``adapter.py``."""
    if use in known_peers():
        return known_peers()[use]
    if not use.endswith(".py"):
        known = ", ".join(known_peers())
        raise PeerError(f"peer ({use!r}) must be a path to an adapter.py or one of {known}")
    adapter = Path(use).expanduser().resolve()
    about = adapter.with_suffix(".yaml")
    try:
        options = load_yaml(about.read_text(encoding="utf-8")) or {} if about.is_file() else {}
    except (ShirleyError, UnicodeDecodeError) as error:
        raise PeerError(f"peer {use!r}: {about.name} {error}") from None
    if isinstance(options, dict):
        files = {"adapter": adapter.name, "requirements": adapter.with_suffix(".txt").name}
        options = {**files, **options}
    return Peer.of(adapter.stem, options, adapter.parent)
