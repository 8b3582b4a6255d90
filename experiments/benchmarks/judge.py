"""Our figures against those of an outside judge, SDMetrics, in an environment of its own.

Run it with ``python -m copula_shirley.experiments.benchmarks.judge [--only adult|compas|randhie]``;
it needs ``python3.11`` and ends with 1 if a difference is left unexplained.

Both judge the same tables: the test rows of the first fold against PrivBayes at epsilon 1, and
against uniform rows, which hold what real rows do not. Ours are the figures behind ``evaluate``:
KS of numeric columns (KSComplement), TVD of columns and pairs whose values have a cell each, that
is categories and whole numbers of which few are declared (TVComplement, ContingencySimilarity),
Spearman gaps of numeric pairs (CorrelationSimilarity). Theirs are turned into distances: 1 - score,
and 2 (1 - score) for correlations. "Left" is the difference after our figure was computed
their way, by the rules below, with our code.

Why they differ:

- ks: SDMetrics drops missing values; for us they are a value below all others, so that their share
  is judged too and known values weigh less. On ghindx, missing in a quarter of the real rows and in
  few synthetic ones, the two gaps have opposite signs and ours is the smaller figure. (They also
  round to 14 decimals, which changes nothing here: no column is declared so finely.)
- spearman: SDMetrics drops rows in which either value is missing; for us such a value ranks below
  all others. Pairs with a constant column have no score there and a correlation of 0 here; they
  are counted as "unscored" and in no other figure of the line.
- tvd1: SDMetrics gives 1e-6 of a real row to each value that only synthetic rows have, which moves
  the figure by 1e-6 / (real rows) each, at most; the rest is rounding, as we add up 1/n row by row
  and they divide counts. (They also drop missing values, but no such column has any here.)
- tvd2: rounding alone, as for tvd1. (Missing values have a cell of their own for both.)
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import warnings
from collections.abc import Sequence
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd
from rich.console import Console
from rich.table import Table

from copula_shirley import Generator, PrivacyWarning
from copula_shirley.baselines import PrivBayes, Uniform
from copula_shirley.evaluation import evaluate
from copula_shirley.evaluation.comparison import rows_of
from copula_shirley.evaluation.metrics.marginals import BINS
from copula_shirley.evaluation.metrics.statistics import Numbers, ks_per_column, spearman_gaps
from copula_shirley.evaluation.result import pair
from copula_shirley.experiments import Dataset, load_dataset
from copula_shirley.experiments.folds import first_fold
from copula_shirley.experiments.generators.environments import PeerError, environment, launch
from copula_shirley.schema.domain import FloatArray
from copula_shirley.schema.schema import Schema

SETS = ("adult", "compas", "randhie")
#: The judge: what runs in its environment, what is installed there, for which Python.
DRIVER = Path(__file__).with_name("run_sdmetrics.py")
PINS, PYTHON = Path(__file__).with_name("sdmetrics.txt"), "3.11"
#: Our metric and the part of its detail behind each figure.
DETAILS = {
    "ks": ("ks", "columns"),
    "spearman": ("spearman_drift", "pairs"),
    "tvd1": ("tvd1", "columns"),
    "tvd2": ("tvd2", "pairs"),
}
#: Sums over tens of thousands of rows, in another order, differ by some 1e-13.
ROUNDING = 1e-12

Groups = Sequence[tuple[str, ...]]


def groups_of(schema: Schema) -> dict[str, Groups]:
    """The columns or pairs that each figure is computed for."""
    numeric = [c.name for c in schema if c.is_number]
    # each value has a cell of its own in our binning
    few = {c.name for c in schema if c.is_whole and c.maximum - c.minimum < BINS}
    listed = [c.name for c in schema if c.is_listed or c.name in few]
    return {
        "ks": list(combinations(numeric, 1)),
        "spearman": list(combinations(numeric, 2)),
        "tvd1": list(combinations(listed, 1)),
        "tvd2": list(combinations(listed, 2)),
    }


# -- three ways to the same figures --------------------------------------------


def our_figures(
    dataset: Dataset, synthetic: pd.DataFrame, groups: dict[str, Groups]
) -> dict[str, FloatArray]:
    """What stands behind the figures of ``evaluate``."""
    fold = first_fold(dataset)
    metrics = [metric for metric, _ in DETAILS.values()]
    frame = evaluate(
        fold.train, fold.test, synthetic, dataset.schema, metrics=metrics, random_state=0
    )
    details = frame.set_index("metric")["detail"]
    return {
        figure: np.array([details[metric][part][pair(*group)] for group in groups[figure]])
        for figure, (metric, part) in DETAILS.items()
    }


def their_figures(
    test: pd.DataFrame, synthetic: pd.DataFrame, groups: dict[str, Groups]
) -> dict[str, FloatArray]:
    """What SDMetrics says, as distances; NaN where it refuses."""
    spec = {
        figure: [group[0] if len(group) == 1 else list(group) for group in some]
        for figure, some in groups.items()
    }
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        test.to_parquet(folder / "real.parquet")
        synthetic.to_parquet(folder / "synthetic.parquet")
        (folder / "spec.json").write_text(json.dumps(spec), encoding="utf-8")
        launch(environment(PINS, PYTHON), DRIVER, folder, 1, "SDMetrics")
        scores = json.loads((folder / "scores.json").read_text(encoding="utf-8"))
    return {
        figure: (1 - np.array(values, dtype=float)) * (2 if figure == "spearman" else 1)
        for figure, values in scores.items()
    }


def their_way(figure: str, real: Numbers, synthetic: Numbers, group: tuple[str, ...]) -> float:
    """Our figure by their rules, with our code."""
    if figure.startswith("tvd"):
        return _tvd_their_way(real, synthetic, group)
    known = []
    for numbers in (real, synthetic):  # rows in which none of the columns is missing
        rows = np.all([np.isfinite(numbers[name]) for name in group], axis=0)
        known.append({name: numbers[name][rows] for name in group})
    if figure == "ks":
        return ks_per_column(*known)[group[0]]
    return float(spearman_gaps(*known)[0, 1])


def _tvd_their_way(real: Numbers, synthetic: Numbers, group: tuple[str, ...]) -> float:
    n, m = (len(numbers[group[0]]) for numbers in (real, synthetic))
    rows = np.column_stack([np.concatenate([real[name], synthetic[name]]) for name in group])
    cells = np.unique(rows, axis=0, return_inverse=True)[1].ravel()
    counts = [
        np.bincount(c, minlength=cells.max() + 1).astype(float) for c in (cells[:n], cells[n:])
    ]
    if len(group) == 1:
        counts[0][counts[0] == 0] = 1e-6
    return float(np.abs(counts[0] / counts[0].sum() - counts[1] / m).sum() / 2)


# -- the table -----------------------------------------------------------------

HEADS = ("set", "synthetic", "figure", "n", "unscored", "ours", "theirs", "largest")


def judge(dataset: Dataset, generator: Generator, table: Table) -> bool:
    """Add the lines of one synthetic table; whether all differences are explained."""
    schema, label = dataset.schema, type(generator).__name__
    fold = first_fold(dataset)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrivacyWarning)
        synthetic = generator.fit(fold.train, schema).sample(len(dataset.table))
    test, synthetic = fold.test[list(schema.names)], synthetic[list(schema.names)]
    groups = groups_of(schema)
    ours = our_figures(dataset, synthetic, groups)
    theirs = their_figures(test, synthetic, groups)
    real = rows_of("real", test, schema).numbers
    made = rows_of("synthetic", synthetic, schema, strict=False).numbers
    worst = 0.0
    for figure, some in groups.items():
        scored = np.isfinite(theirs[figure])
        found = np.array([their_way(figure, real, made, group) for group in some])
        gaps = np.where(scored, np.abs(ours[figure] - theirs[figure]), 0.0)
        left = float(np.where(scored, np.abs(found - theirs[figure]), 0.0).max())
        means = (f"{values[scored].mean():.6f}" for values in (ours[figure], theirs[figure]))
        where = pair(*some[int(gaps.argmax())]) if gaps.max() > ROUNDING else "rounding"
        sizes = str(len(some)), str(np.sum(~scored))
        largest = f"{gaps.max():.1e}"
        table.add_row(dataset.name, label, figure, *sizes, *means, largest, where, f"{left:.1e}")
        worst = max(worst, left)
    return worst <= ROUNDING


def main() -> None:
    """Judge every table, then say why figures differ."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=SETS)
    only = parser.parse_args().only
    table = Table(*HEADS, "difference, where", "left")
    explained = True
    for name in [only] if only else SETS:
        for generator in (PrivBayes(1.0, random_state=0), Uniform(random_state=0)):
            try:
                explained &= judge(load_dataset(name), generator, table)
            except PeerError as error:
                sys.exit(f"no judge: {error}")
    Console(width=140).print(table)
    print("Why they differ:", str(__doc__).partition("Why they differ:\n")[2].rstrip(), sep="\n")
    sys.exit(not explained)


if __name__ == "__main__":
    main()
