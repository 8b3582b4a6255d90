"""Fit and sample the generator of an adapter file; runs inside the peer's own environment.

Called as ``python driver.py FOLDER``. The folder has ``job.json`` and ``train.parquet``; it gets
``synthetic.parquet`` and ``facts.json``. Needs the standard library, numpy, pandas and pyarrow.
``job.json`` has: adapter (a path), epsilon, delta, seed, domain, settings, rows, parent.
"""

import ctypes
import importlib.util
import json
import os
import random
import signal
import sys
import time
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy
import pandas as pd

PR_SET_PDEATHSIG = 1
#: Stdlib only, so that memory is measured here as it is for our own generators.
MEMORY = Path(__file__).resolve().parent.parent / "run" / "memory.py"


def die_with_parent(parent: int) -> None:
    """Have this process killed when the one that started it ends."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # it ended before we could ask
        sys.exit("the run that started this process has ended")


def load(path: Path, name: str) -> ModuleType:
    """A module from its file."""
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        sys.exit(f"adapter ({str(path)!r}) must be a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses and pickle look it up there
    spec.loader.exec_module(module)
    return module


class Stage:
    """Seconds, processor seconds (with children) and peak memory of a stretch of work."""

    def __init__(self, peak_memory: Any) -> None:
        self.memory = peak_memory()
        self.wall, self.cpu = time.perf_counter(), _cpu()

    def facts(self) -> dict[str, float]:
        """What it took until now."""
        seconds = {"seconds": time.perf_counter() - self.wall, "cpu": _cpu() - self.cpu}
        return {**seconds, "memory": self.memory.peak()}


def _cpu() -> float:
    return sum(os.times()[:4])


def main(folder: Path) -> None:
    """Do one job."""
    job = json.loads((folder / "job.json").read_text(encoding="utf-8"))
    die_with_parent(job["parent"])
    train = folder / "train.parquet"
    table = pd.read_parquet(train)
    train.unlink()  # rows must not stay behind if we are killed
    # a departure from our manners: many generators of the field draw from the global states
    random.seed(job["seed"])
    numpy.random.seed(job["seed"])  # noqa: NPY002
    peak_memory = load(MEMORY, "memory").PeakMemory
    try:
        adapter = load(Path(job["adapter"]), "adapter")
    except ModuleNotFoundError as error:
        sys.exit(f"{error}: every package that the adapter needs must be among its pins")
    made_with = {name: job[name] for name in ("epsilon", "delta", "seed", "domain")}
    generator = adapter.Generator(**made_with, **job["settings"])
    stage = Stage(peak_memory)
    generator.fit(table)
    facts = {"fit": stage.facts()}
    stage = Stage(peak_memory)
    synthetic = generator.sample(job["rows"])
    facts["sample"] = stage.facts()
    if not isinstance(synthetic, pd.DataFrame):
        sys.exit(f"sample returned a {type(synthetic).__name__}; it must return a DataFrame")
    synthetic.columns = [str(name) for name in synthetic.columns]
    synthetic.to_parquet(folder / "synthetic.parquet", index=False)
    (folder / "facts.json").write_text(json.dumps(facts), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
