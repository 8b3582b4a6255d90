"""PrivateVine against dpmm's MST, PrivBayes and AIM, which run in an environment of their own.

Run it with ``python -m experiments.benchmarks.private_vine [quality|scaling|made]``; quality takes
``--sets``, ``--epsilons``, ``--seeds``, ``--who`` and needs ``python3.11`` for the peers.

Everyone gets the same training fold, neighbours (a row more or less), delta, and one core. The
peers are given the declared domain in the cells that PrivateVine starts from, special values such
as 0 dollars included, so that none of their budget goes to binning; their own compression of rare
cells is on. AIM has a model size of 40 MB. Persons with several rows are left aside, since dpmm
knows rows only. Seconds are of the processor, so that other work on the machine counts little.

Tables of finished runs are kept in the cache and not made again while code and settings stay the
same; a benchmark that was killed goes on where it stopped.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from rich.console import Console
from rich.progress import track
from rich.table import Table
from threadpoolctl import threadpool_limits

import copula_shirley
import evaluation
from copula_shirley import PrivateVine, Schema, domain
from copula_shirley.api import Rows
from copula_shirley.domain import Grid
from evaluation import evaluate
from experiments.benchmarks.baselines import Fold
from experiments.benchmarks.rivals.kept import Row, add_row, digest, find_row, read_rows
from experiments.benchmarks.rivals.launch import CACHE, DRIVERS, RivalError, launch

SETS = ("adult", "compas", "diabetes130", "randhie")
EPSILONS = (1.0, 8.0, 0.1)
PEERS = ("mst", "privbayes", "aim")
#: AIM takes half an hour a run: these cases only.
AIM_SETS, AIM_EPSILONS = ("adult", "compas"), (1.0, 0.1)
DELTA = 1e-9
METRICS = ("tvd1", "tvd2", "tvd3", "spearman_drift", "ks", "mcc_binary", "mcc_multiclass", "rmse")
#: A larger value of these is better.
UPWARD = ("mcc_binary", "mcc_multiclass")
TABLES = CACHE / "private_vine"

console = Console(width=160)


# -- tables ----------------------------------------------------------------------


def cases(options: argparse.Namespace) -> list[Row]:
    """What is to be run, the cheap and the important first."""
    found = []
    for who in options.who:
        for epsilon in options.epsilons:
            for seed in range(options.seeds):
                for name in options.sets:
                    if who == "aim" and (name not in AIM_SETS or epsilon not in AIM_EPSILONS):
                        continue
                    found.append({"set": name, "epsilon": epsilon, "who": who, "seed": seed})
    return found


def spec_of(case: Row) -> Row:
    """A case with all that its table depends on."""
    if case["who"] == "ours":
        code = digest(Path(str(copula_shirley.__file__)).parent.rglob("*.py"))
    else:
        code = digest([DRIVERS / "run_dpmm.py", DRIVERS / "dpmm.txt"])
    size = {"max_model_size": 40} if case["who"] == "aim" else {}
    return {**case, **size, "delta": DELTA, "code": code}


def row_schema(schema: Schema) -> Schema:
    """The schema without persons."""
    return replace(schema, person=None, max_rows=1)


def ours(fold: Fold, spec: Row) -> tuple[pd.DataFrame, Row]:
    """A table of PrivateVine."""
    schema = row_schema(fold.dataset.schema)
    train = fold.train[list(schema.names)]
    model = PrivateVine(
        spec["epsilon"],
        spec["delta"],
        target=fold.dataset.tasks["binary"],
        random_state=spec["seed"],
    )
    start = time.process_time()
    model.fit(train, schema)
    fitted = time.process_time()
    synthetic = model.sample(len(fold.dataset.table))
    return synthetic, {"fit": fitted - start, "sample": time.process_time() - fitted}


def peer(fold: Fold, spec: Row, limit: float) -> tuple[pd.DataFrame, Row]:
    """A table of one of dpmm's generators."""
    schema = row_schema(fold.dataset.schema)
    grid = Grid(schema)
    train = fold.train[list(schema.names)]
    codes = grid.codes(Rows.of(train, schema).numbers)
    job = {k: v for k, v in spec.items() if k not in ("set", "who", "code")}
    cells = {name: int(size) for name, size in grid.sizes.items()}
    job |= {"model": spec["who"], "cells": cells, "rows": len(fold.dataset.table)}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        pd.DataFrame(codes).to_csv(folder / "train.csv", index=False)
        (folder / "spec.json").write_text(json.dumps(job), encoding="utf-8")
        launch("dpmm", folder, limit)
        drawn = pd.read_csv(folder / "synthetic.csv")
        seconds = json.loads((folder / "seconds.json").read_text(encoding="utf-8"))
    found = {name: drawn[name].to_numpy().astype(np.intp) for name in schema.names}
    numbers = grid.numbers(found, np.random.default_rng(spec["seed"]))
    series = {c.name: domain.from_numbers(c, numbers[c.name]) for c in schema}
    return pd.DataFrame(series), {"fit": seconds["fit_cpu"], "sample": seconds["sample"]}


def make_tables(options: argparse.Namespace) -> list[Row]:
    """The rows of all cases, each with the file of its synthetic table."""
    TABLES.mkdir(parents=True, exist_ok=True)
    file = TABLES / "runs.jsonl"
    folds = {name: Fold.of(name) for name in options.sets}
    rows = []
    for case in cases(options):
        spec = spec_of(case)
        row = find_row(read_rows(file), spec, options.timeout)
        if row is None and not options.only_kept:
            console.print(f"{time.strftime('%H:%M')} {case} ...", highlight=False)
            try:
                row = run(folds[case["set"]], spec, options.timeout)
            except RivalError as error:
                console.print(f"skipped: {error}", markup=False)
                continue
            add_row(file, row)
        if row is not None:
            rows.append(row)
    return rows


def run(fold: Fold, spec: Row, limit: float) -> Row:
    """Make one table and keep it."""
    try:
        synthetic, seconds = ours(fold, spec) if spec["who"] == "ours" else peer(fold, spec, limit)
    except subprocess.TimeoutExpired:
        return spec | {"over": limit}
    name = hashlib.sha256(json.dumps(spec, sort_keys=True).encode()).hexdigest()[:24]
    synthetic.to_parquet(TABLES / f"{name}.parquet")
    return spec | seconds | {"table": name}


# -- scores ------------------------------------------------------------------------


def score(rows: Iterable[Row], sets: Sequence[str]) -> pd.DataFrame:
    """Every row with its figures, and the real training fold as "real"."""
    code = digest(Path(str(evaluation.__file__)).parent.rglob("*.py"))
    file = TABLES / f"scores-{code}.jsonl"
    known = {row["table"]: row for row in read_rows(file)}
    folds = {name: Fold.of(name) for name in sets}
    real = [{"set": name, "who": "real", "seed": 0, "table": f"real {name}"} for name in sets]
    scored = []
    for row in track([*real, *rows], "score", console=console, transient=True):
        if "over" in row:
            scored.append(row)
            continue
        if row["table"] not in known:
            figures = figures_of(folds[row["set"]], row)
            known[row["table"]] = figures
            add_row(file, figures)
        scored.append(row | known[row["table"]])
    return pd.DataFrame(scored)


def figures_of(fold: Fold, row: Row) -> Row:
    """The figures of one synthetic table."""
    schema = row_schema(fold.dataset.schema)
    train, test = (part[list(schema.names)] for part in (fold.train, fold.test))
    synthetic = train if row["who"] == "real" else None
    if synthetic is None:
        synthetic = pd.read_parquet(TABLES / f"{row['table']}.parquet")
    tasks = fold.dataset.tasks
    frame = evaluate(train, test, synthetic, schema, tasks, random_state=0, metrics=list(METRICS))
    return {"table": row["table"], **dict(zip(frame["metric"], frame["value"], strict=True))}


def means_table(scores: pd.DataFrame, epsilon: float) -> Table:
    """Means over the seeds."""
    table = Table("set", "who", "seeds", *METRICS, "fit s", title=f"epsilon {epsilon:g}")
    here = scores[(scores["who"] == "real") | (scores["epsilon"] == epsilon)]
    for name in scores["set"].unique():
        for who in ("real", "ours", *PEERS):
            some = here[(here["set"] == name) & (here["who"] == who)]
            if some.empty:
                continue
            cells = [f"{some[m].mean():.4f}" for m in METRICS]
            seconds = "" if who == "real" else f"{some['fit'].mean():.2f}"
            table.add_row(name, who, str(len(some)), *cells, seconds)
        table.add_section()
    return table


def ratios_table(scores: pd.DataFrame, epsilon: float) -> Table:
    """Theirs over ours, above 1 where ours is better; the last line is the mean over sets.

    Only seeds that both have count.
    """
    columns = [*(m for m in METRICS if m != "rmse"), "fit"]
    table = Table("set", "against", "seeds", *columns, title=f"ratios, epsilon {epsilon:g}")
    here = scores[scores["epsilon"] == epsilon]
    for who in PEERS:
        lines = []
        for name in here["set"].unique():
            mine = here[(here["set"] == name) & (here["who"] == "ours")].set_index("seed")
            theirs = here[(here["set"] == name) & (here["who"] == who)].set_index("seed")
            both = mine.index.intersection(theirs.index)
            if both.empty:
                continue
            a, b = mine.loc[both, columns].mean(), theirs.loc[both, columns].mean()
            line = pd.Series({c: a[c] / b[c] if c in UPWARD else b[c] / a[c] for c in columns})
            lines.append(line)
            table.add_row(name, who, str(len(both)), *(f"{line[c]:.2f}" for c in columns))
        if lines:
            mean = pd.DataFrame(lines).mean()
            table.add_row("mean", who, "", *(f"{mean[c]:.2f}" for c in columns))
            table.add_section()
    return table


def quality(options: argparse.Namespace) -> None:
    """Make tables, score them, print means and ratios."""
    scores = score(make_tables(options), options.sets)
    for epsilon in options.epsilons:
        console.print(means_table(scores, epsilon))
        console.print(ratios_table(scores, epsilon))
    if options.csv is not None:
        scores.drop(columns=["table", "code"]).to_csv(options.csv, index=False)
        console.print(f"figures: {options.csv}", soft_wrap=True)


# -- scaling -------------------------------------------------------------------------

SCALING_ROWS = (10_000, 30_000, 100_000, 300_000, 1_000_000)


def scaling(_: argparse.Namespace) -> None:
    """Seconds and memory of the fit, Adult's rows drawn with replacement; a process each."""
    table = Table("rows", "fit s", "table MB", "peak less start MB", "ratio")
    seconds = []
    for rows in SCALING_ROWS:
        command = [sys.executable, "-m", __spec__.name, "fit-rows", "--rows", str(rows)]
        found = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
        seconds.append(found["fit"])
        sizes = found["table"] / 2**20, found["extra"] / 2**20
        table.add_row(
            f"{rows:,}",
            f"{found['fit']:.2f}",
            *(f"{s:.0f}" for s in sizes),
            f"{found['ratio']:.2f}",
        )
    console.print(table)
    slope = np.polyfit(np.log(SCALING_ROWS), np.log(seconds), 1)[0]
    console.print(f"exponent of the cost in rows: {slope:.2f}")


def fit_rows(options: argparse.Namespace) -> None:
    """One fit, in a process of its own; prints JSON."""
    fold = Fold.of("adult")
    table = fold.dataset.table.sample(options.rows, replace=True, random_state=0)
    table = table.reset_index(drop=True)
    model = PrivateVine(1.0, DELTA, target="salary", random_state=0)
    PrivateVine(1.0, DELTA, random_state=0).fit(table.head(1000), fold.dataset.schema)  # imports
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    start = time.process_time()
    model.fit(table, fold.dataset.schema)
    seconds = time.process_time() - start
    size = int(table.memory_usage(deep=True).sum())
    extra = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 - before
    print(json.dumps({"fit": seconds, "table": size, "extra": extra, "ratio": extra / size}))


# -- the made set of table 5.2 ---------------------------------------------------------

PAIRS = ("A-B", "A-C", "A-D", "A-E", "A-F", "A<0, F", "A>0, F")


def coefficients(table: pd.DataFrame) -> list[float]:
    """The seven Spearman coefficients of table 5.2."""
    whole = [table["A"].corr(table[name], method="spearman") for name in "BCDEF"]
    halves = [table[table["A"] < 0], table[table["A"] > 0]]
    return [*whole, *(half["A"].corr(half["F"], method="spearman") for half in halves)]


def made(options: argparse.Namespace) -> None:
    """Mean absolute error of the seven coefficients, five seeds."""
    dataset = Fold.of("made").dataset
    real = coefficients(dataset.table)
    table = Table("epsilon", *PAIRS, "mean abs. error", "over seeds")
    table.add_row("real", *(f"{value:.3f}" for value in real))
    for epsilon in options.epsilons:
        found = []
        for seed in range(5):
            model = PrivateVine(epsilon, DELTA, random_state=seed)
            synthetic = model.fit(dataset.table, dataset.schema).sample(len(dataset.table))
            found.append(coefficients(synthetic))
        errors = np.abs(np.array(found) - real).mean(axis=1)
        cells = [f"{value:.3f}" for value in np.mean(found, axis=0)]
        spread = f"{errors.min():.3f} to {errors.max():.3f}"
        table.add_row(f"{epsilon:g}", *cells, f"{errors.mean():.4f}", spread)
    console.print(table)


PARTS = {"quality": quality, "scaling": scaling, "made": made, "fit-rows": fit_rows}


def main() -> None:
    """Run one part, or all."""

    def listed(kind: Any) -> Any:
        return lambda text: [kind(word) for word in text.split(",")]

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("part", nargs="?", choices=tuple(PARTS), default="quality")
    parser.add_argument("--sets", type=listed(str), default=list(SETS))
    parser.add_argument("--epsilons", type=listed(float), default=list(EPSILONS))
    parser.add_argument("--who", type=listed(str), default=["ours", *PEERS])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--timeout", type=float, default=7200, help="seconds for a peer's run")
    parser.add_argument("--only-kept", action="store_true", help="show what was run, run nothing")
    parser.add_argument("--csv", type=Path, help="write every figure here")
    parser.add_argument("--rows", type=int, default=10_000, help=argparse.SUPPRESS)
    parser.add_argument("--core", type=int, default=-1, help="which core everyone shares")
    options = parser.parse_args()
    threadpool_limits(1)
    if hasattr(os, "sched_setaffinity"):  # children get the same core
        os.sched_setaffinity(0, [sorted(os.sched_getaffinity(0))[options.core]])
    PARTS[options.part](options)


if __name__ == "__main__":
    main()
