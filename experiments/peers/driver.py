"""Fit and sample the generator of an adapter file; runs inside the peer's own environment.

Called as ``python driver.py FOLDER``. The folder has ``job.json`` and ``train.parquet``; it gets
``synthetic.parquet`` and ``facts.json``. Needs the standard library, numpy, pandas and pyarrow.
``job.json`` has: adapter (a path), epsilon, delta, seed, domain, settings, rows.
"""

import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType

import pandas as pd

#: Needs numpy only, so that the same is measured here as of our own generators.
STAGE = Path(__file__).resolve().parent.parent / "run" / "stage.py"


def load(path: Path, name: str) -> ModuleType:
    """A module from its file."""
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        sys.exit(f"adapter ({str(path)!r}) must be a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses and pickle look it up there
    spec.loader.exec_module(module)
    return module


def main(folder: Path) -> None:
    """Do one job."""
    job = json.loads((folder / "job.json").read_text(encoding="utf-8"))
    train = folder / "train.parquet"
    table = pd.read_parquet(train)
    train.unlink()  # rows must not stay behind if we are killed
    stage = load(STAGE, "stage")
    stage.seed_globals(job["seed"])
    try:
        adapter = load(Path(job["adapter"]), "adapter")
    except ModuleNotFoundError as error:
        sys.exit(f"{error}: every package that the adapter needs must be among its pins")
    made_with = {name: job[name] for name in ("epsilon", "delta", "seed", "domain")}
    generator = adapter.Generator(**made_with, **job["settings"])
    synthetic, seconds, memory = stage.fit_and_sample(generator, job["rows"], table)
    if not isinstance(synthetic, pd.DataFrame):
        sys.exit(f"sample returned a {type(synthetic).__name__}; it must return a DataFrame")
    synthetic.columns = [str(name) for name in synthetic.columns]
    synthetic.to_parquet(folder / "synthetic.parquet", index=False)
    facts = {"seconds": seconds, "memory": memory}
    (folder / "facts.json").write_text(json.dumps(facts), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
