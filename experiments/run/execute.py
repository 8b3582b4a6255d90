"""One run from spec to figures.

The result is plain JSON values::

    run         the spec                    id      its name
    status      done, skipped, failed, timeout      reason, traceback   if not done
    seconds     of fit, sample, evaluate, and total; NAME_cpu are seconds of the processor
    memory      peak bytes of fit and sample beyond what was taken before
    figures     metric -> value, better, bounds, detail (by column or pair), verdict
    margins     column -> labels, real, synthetic: shares of the test and the synthetic rows
    complaints  what was odd about the table, in words
    privacy     claimed, proved, summary, spends, unprotected
    provenance  versions, processor, commit, time
    generator_code  a hash of the generator's file, if it is not ours
"""

from __future__ import annotations

import time
import traceback
from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import pandas as pd
from threadpoolctl import ThreadpoolController

from copula_shirley.errors import ShirleyError
from copula_shirley.evaluation.comparison import Comparison
from copula_shirley.evaluation.metrics.marginals import shares
from copula_shirley.evaluation.metrics.registry import known_metrics, measured, verdict
from copula_shirley.evaluation.result import jsonable
from copula_shirley.experiments.datasets import DatasetError, load_dataset
from copula_shirley.experiments.folds import Fold, fold_of
from copula_shirley.experiments.run.candidates import code_of, synthesize
from copula_shirley.experiments.run.stage import Stage
from copula_shirley.experiments.run.store import Row
from copula_shirley.experiments.run.synthesis import Skip
from copula_shirley.experiments.specs import Run
from copula_shirley.schema.schema import Schema

#: Parts of a metric's breakdown that are written; triples of columns are too many.
KEPT = ("columns", "pairs", "classes", "interval", "note", "target", "model", "guessing the mean")


class TableError(ShirleyError):
    """A generator returned something else than the table that it was asked for."""


def execute(run: Run, provenance: Mapping[str, Any]) -> tuple[Row, pd.DataFrame | None]:
    """Do one run; give its result, in which whatever went wrong ends, and the table to keep."""
    about = heading(run, provenance)
    start = time.perf_counter()
    try:
        with limited(run.threads):
            found, table = _execute(run)
    except Skip as skip:
        return {**about, "status": "skipped", "reason": str(skip)}, None
    except Exception as error:
        why, text = f"{type(error).__name__}: {error}", traceback.format_exc()
        failed = {"status": "failed", "reason": why[:1000], "traceback": text[-8000:]}
        return {**about, **failed, "seconds": {"total": time.perf_counter() - start}}, None
    found["seconds"]["total"] = time.perf_counter() - start
    return jsonable({**about, "status": "done", **found}), table if run.keep_table else None


def limited(threads: int) -> AbstractContextManager[Any]:
    """Numerical libraries take so many threads.

    Those that do so already are left alone: OpenBLAS, told anything at all after a fork, starts its
    threads again, and these turn in circles while they wait.
    """
    known = ThreadpoolController()
    if all(pool["num_threads"] == threads for pool in known.info()):
        return nullcontext()
    limits: AbstractContextManager[Any] = known.limit(limits=threads)
    return limits


def heading(run: Run, provenance: Mapping[str, Any]) -> Row:
    """What every result begins with, however the run ended."""
    return {
        "run": run.to_dict(),
        "id": run.id,
        "provenance": dict(provenance),
        "generator_code": code_of(run.use),
    }


def _execute(run: Run) -> tuple[Row, pd.DataFrame]:
    try:
        dataset = load_dataset(run.dataset) if run.own is None else run.own.load(run.dataset)
    except DatasetError as error:
        raise Skip(f"the data set is not here: {error}") from None
    fold = fold_of(dataset, run)
    made = synthesize(fold, run)
    table = checked(made.table, fold)
    stage = Stage()
    comparison = Comparison.of(
        fold.train,
        fold.test,
        table,
        fold.schema,
        dataset.tasks,
        int(run.rng("score").integers(2**31)),
        profile=run.profile,
        threads=run.threads,
    )
    figures = score(comparison, run.metrics)
    return {
        "seconds": {**made.seconds, **stage.taken("evaluate")},
        "memory": dict(made.memory),
        "figures": figures,
        "margins": shares(comparison),
        "complaints": complaints(table, fold.schema),
        "privacy": dict(made.privacy),
    }, table


def checked(table: Any, fold: Fold) -> pd.DataFrame:
    """Refuse what is not the table that was asked for."""
    if not isinstance(table, pd.DataFrame):
        raise TableError(f"sample returned a {type(table).__name__}; it must return a DataFrame")
    made_up = fold.schema.replaced
    wanted = list(fold.schema.names)
    found = [str(name) for name in table.columns if name not in made_up]
    if sorted(wanted) != sorted(found):
        lacking, extra = sorted({*wanted} - {*found}), sorted({*found} - {*wanted})
        raise TableError(f"wrong columns: {lacking} are lacking, {extra} are not in the schema")
    if len(table) != fold.rows:
        raise TableError(f"wrong number of rows: {len(table)}; {fold.rows} were asked for")
    return table[wanted].reset_index(drop=True)


def complaints(table: pd.DataFrame, schema: Schema) -> list[str]:
    """What a reader should know of a table that is scored all the same."""
    gaps = table.isna().sum()
    return [
        f"{c.name}: {gaps[c.name]} of {len(table)} values are missing, where the schema allows none"
        for c in schema
        if gaps[c.name] and not c.missing
    ]


def score(comparison: Comparison, metrics: Iterable[str]) -> Row:
    """Figures of a synthetic table, of those metrics that apply to the data set."""
    known = known_metrics()
    frame = measured(comparison, {name: known[name] for name in metrics})
    return {
        str(line["metric"]): {
            **{name: line[name] for name in ("value", "better", "bounds")},
            "detail": {part: some for part, some in line["detail"].items() if part in KEPT},
            "verdict": verdict(line),
        }
        for line in frame.to_dict("records")
    }
