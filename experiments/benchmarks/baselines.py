"""Our PrivBayes against its published rivals, each in an environment of its own.

Run it with ``python -m experiments.benchmarks.baselines [--seeds 3] [--only compas|adult]
[--parents N]``.
COMPAS goes against DataSynthesizer, Adult against dpmm; both need ``python3.11``. Everyone gets
the same training fold, bounds and categories, epsilon, number of parents and cores. "Ours" also
has the schema's special values (such as 0 dollars), which the rivals are not told; "ours plain"
has only their 20 equal bins and is the like-for-like row. Neighbours have a row more or less, for
everyone. The accounting favours the rivals:

- DataSynthesizer spends epsilon a second time, on margins;
- dpmm has a delta, and gives its normalised scores the sensitivity of plain mutual information.

Finished runs are kept, a line of JSON each, in the cache and are not repeated while code,
settings and machine stay the same; a benchmark that was killed goes on where it stopped.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import tempfile
import time
from dataclasses import dataclass, replace
from pathlib import Path

import pandas as pd
from rich.console import Console
from threadpoolctl import threadpool_limits

import baselines
import copula_shirley
from baselines import PrivBayes
from evaluation import evaluate
from experiments import Dataset, load_dataset
from experiments.benchmarks.rivals.kept import (
    OURS,
    Row,
    add_row,
    digest,
    find_row,
    read_rows,
    table_of,
)
from experiments.benchmarks.rivals.launch import CACHE, DRIVERS, RivalError, declared, launch
from experiments.showcase import split_fold

#: Data set, number of parents, rival. What dpmm calls degree 2, its default, is one parent.
CASES = (
    ("compas", 2, "datasynthesizer"),
    ("adult", 1, "dpmm"),
    ("adult", 2, "dpmm"),
    ("adult", 3, "dpmm"),
)
#: In every spec; ``scores`` grows by one when their definition changes.
SHARED = {"epsilon": 1.0, "delta": 1e-9, "bins": 20, "scores": 2}


@dataclass(frozen=True)
class Fold:
    """A data set, split."""

    dataset: Dataset
    train: pd.DataFrame
    test: pd.DataFrame

    @classmethod
    def of(cls, name: str) -> Fold:
        """The fold of the showcase."""
        dataset = load_dataset(name)
        return cls(dataset, *split_fold(dataset))


# -- scores --------------------------------------------------------------------


def scores(fold: Fold, synthetic: pd.DataFrame) -> dict[str, float]:
    """What synthetic rows are worth on the test fold."""
    frame = evaluate(
        fold.train,
        fold.test,
        synthetic,
        fold.dataset.schema,
        {"binary": fold.dataset.tasks["binary"]},
        random_state=0,
        metrics=["ks", "tvd2", "mcc_binary"],
    )
    ks, tvd2, mcc = frame["value"]
    return {"ks": ks, "tvd2": tvd2, "mcc": mcc}


# -- runs ----------------------------------------------------------------------


def run(fold: Fold, spec: Row, limit: float) -> Row:
    """Seconds and scores of one run."""
    if spec["who"] == "real":  # the training fold itself, the ceiling
        return {"fit": 0.0, "sample": 0.0, **scores(fold, fold.train)}
    return run_ours(fold, spec) if spec["who"] in OURS else run_rival(fold, spec, limit)


def run_ours(fold: Fold, spec: Row) -> Row:
    """Fit, sample and score our PrivBayes."""
    schema, settings = fold.dataset.schema, {}
    if spec["who"] == "ours plain":
        plain = (replace(c, cells=None, special=()) for c in schema)
        schema, settings = replace(schema, columns=tuple(plain)), {"bins": spec["bins"]}
    model = PrivBayes(
        spec["epsilon"],
        degree=spec["degree"],
        neighbours="add-remove",
        random_state=spec["seed"],
        **settings,
    )
    start = time.perf_counter()
    model.fit(fold.train, schema)
    fitted = time.perf_counter()
    synthetic = model.sample(len(fold.dataset.table))
    seconds = {"fit": fitted - start, "sample": time.perf_counter() - fitted}
    return {**seconds, **scores(fold, synthetic)}


def run_rival(fold: Fold, spec: Row, limit: float) -> Row:
    """Fit and sample a rival in its environment; a run over the limit has no scores."""
    schema = fold.dataset.schema
    domain = {c.name: declared(c, spec["bins"]) for c in schema}
    job = {**spec, "domain": domain, "rows": len(fold.dataset.table)}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        fold.train[list(schema.names)].to_csv(folder / "train.csv", index=False)
        (folder / "spec.json").write_text(json.dumps(job), encoding="utf-8")
        try:
            launch(spec["who"], folder, limit)
        except subprocess.TimeoutExpired:
            return {"over": limit}
        texts = {c.name: str for c in schema if c.kind == "categorical"}
        synthetic = pd.read_csv(folder / "synthetic.csv", dtype=texts, keep_default_na=False)
        seconds = json.loads((folder / "seconds.json").read_text(encoding="utf-8"))
    return {**seconds, **scores(fold, schema.validate(synthetic, on_unknown="clip"))}


# -- all runs ------------------------------------------------------------------


def _code(who: str) -> str:
    """A hash of the code that makes a row: a change to it makes the kept rows void."""
    if who == "real":
        return ""
    if who not in OURS:
        return digest([DRIVERS / f"run_{who}.py", DRIVERS / f"{who}.txt"])
    ours = (Path(str(package.__file__)).parent for package in (baselines, copula_shirley))
    return digest(file for folder in ours for file in folder.rglob("*.py"))


def _spec(dataset: str, degree: int, who: str, seed: int, cores: int) -> Row:
    """What must be equal for a kept run to stand for a new one."""
    machine = f"{platform.node()}, {cores} of {os.cpu_count()} cores"
    case: Row = {"dataset": dataset, "degree": degree, "who": who, "seed": seed}
    return {**case, **SHARED, "code": _code(who), "machine": machine}


def main() -> None:
    """Do the runs that are not kept, then print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--only", choices=("compas", "adult"))
    parser.add_argument("--parents", type=int, help="only the cases with so many parents")
    parser.add_argument("--timeout", type=float, default=1200, help="seconds for a rival's run")
    parser.add_argument("--cores", type=int, default=1, help="for everyone, where Linux can tell")
    parser.add_argument("--fresh", action="store_true", help="repeat runs that are kept")
    options = parser.parse_args()
    threadpool_limits(options.cores)
    if hasattr(os, "sched_setaffinity"):  # children get the same cores
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[-options.cores :])
    console = Console()
    CACHE.mkdir(parents=True, exist_ok=True)
    file = CACHE / "baselines.jsonl"
    kept = [] if options.fresh else read_rows(file)
    cases = [
        case
        for case in CASES
        if options.only in (None, case[0]) and options.parents in (None, case[1])
    ]
    folds = {name: Fold.of(name) for name in {case[0] for case in cases}}
    rows: list[Row] = []
    for seed in range(options.seeds):
        for name, degree, rival in cases:
            for who in ("real", *OURS, rival):
                spec = _spec(name, degree, who, seed, options.cores)
                row = find_row(kept, spec, options.timeout)
                if row is None:
                    console.print(f"{name}, {degree} parents, seed {seed}: {who} ...")
                    try:
                        row = spec | run(folds[name], spec, options.timeout)
                    except RivalError as error:
                        console.print(f"skipped: {error}", markup=False)
                        continue
                    add_row(file, row)
                rows.append(row)
    console.print(table_of(rows, cases))
    console.print(f"rows: {file}", soft_wrap=True)


if __name__ == "__main__":
    main()
