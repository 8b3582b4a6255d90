"""Our figures against those of an outside judge, SDMetrics, in an environment of its own.

Run it with ``python -m copula_shirley.experiments.benchmarks.judge [--only adult|compas|randhie]``;
it needs ``python3.11`` and ends with 1 if figures differ where they must not.

Both judge the same tables: the test rows of the first fold against PrivBayes at epsilon 1, and
against uniform rows, which hold what real rows do not. Ours are the figures behind ``evaluate``:
KS of numeric columns (KSComplement), TVD of columns and pairs whose values have a cell each, that
is categories and whole numbers of which few are declared (TVComplement, ContingencySimilarity),
Spearman gaps of numeric pairs (CorrelationSimilarity). Theirs are turned into distances: 1 - score,
and 2 (1 - score) for correlations.

They must agree to ``ROUNDING`` on columns without missing values. They differ elsewhere: SDMetrics
drops rows in which a value is missing; for us it is a value below all others, so that its share is
judged too and known values weigh less. SDMetrics gives 1e-6 of a real row to each value that only
synthetic rows have, and no score to pairs with a constant column, for which our correlation is 0.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import warnings
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd

from copula_shirley import Generator, PrivacyWarning
from copula_shirley.baselines import PrivBayes, Uniform
from copula_shirley.evaluation import evaluate
from copula_shirley.evaluation.metrics.marginals import BINS
from copula_shirley.evaluation.result import pair
from copula_shirley.experiments import Dataset, load_dataset
from copula_shirley.experiments.folds import first_fold
from copula_shirley.experiments.peers.environments import PeerError, environment, launch
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
#: Sums over tens of thousands of rows in another order differ by some 1e-13; the 1e-6 of a row that
#: SDMetrics adds moves a figure by 1e-6 / (real rows) for each value.
ROUNDING = 1e-8


def groups_of(schema: Schema) -> dict[str, list[tuple[str, ...]]]:
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


def their_figures(
    test: pd.DataFrame, synthetic: pd.DataFrame, groups: dict[str, list[tuple[str, ...]]]
) -> dict[str, list[float]]:
    """What SDMetrics says, as distances; NaN where it refuses."""
    spec = {
        figure: [group[0] if len(group) == 1 else group for group in some]
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
        figure: list((1 - np.array(values, dtype=float)) * (2 if figure == "spearman" else 1))
        for figure, values in scores.items()
    }


def judge(dataset: Dataset, generator: Generator) -> pd.DataFrame:
    """Every figure of one synthetic table, ours and theirs."""
    schema, fold = dataset.schema, first_fold(dataset)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrivacyWarning)
        synthetic = generator.fit(fold.train, schema).sample(len(dataset.table))
    names = [metric for metric, _ in DETAILS.values()]
    found = evaluate(fold.train, fold.test, synthetic, schema, metrics=names, random_state=0)
    details = found.set_index("metric")["detail"]
    groups = groups_of(schema)
    test, synthetic = fold.test[list(schema.names)], synthetic[list(schema.names)]
    theirs = their_figures(test, synthetic, groups)
    gaps = test.isna().any() | synthetic.isna().any()
    lines = [
        (figure, pair(*group), bool(gaps[list(group)].any()), details[metric][part][pair(*group)])
        for figure, (metric, part) in DETAILS.items()
        for group in groups[figure]
    ]
    frame = pd.DataFrame(lines, columns=["figure", "where", "missing", "ours"])
    frame["theirs"] = [value for figure in DETAILS for value in theirs[figure]]
    about = {"set": dataset.name, "synthetic": type(generator).__name__}
    return frame.assign(**about, gap=(frame["ours"] - frame["theirs"]).abs())


def main() -> None:
    """Judge every table; print means and largest differences."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=SETS)
    only = parser.parse_args().only
    try:
        found = pd.concat(
            judge(load_dataset(name), generator)
            for name in ([only] if only else SETS)
            for generator in (PrivBayes(1.0, random_state=0), Uniform(random_state=0))
        )
    except PeerError as error:
        sys.exit(f"no judge: {error}")
    found["ours"] = found["ours"].where(found["theirs"].notna())
    groups = found.groupby(["set", "synthetic", "figure", "missing"])
    worst = found.dropna().sort_values("gap").groupby(["set", "synthetic", "figure", "missing"])
    table = groups[["ours", "theirs"]].mean().join(worst[["where", "gap"]].last())
    unscored = groups["theirs"].agg(lambda values: values.isna().sum()).rename("unscored")
    print(table.join(groups.size().rename("n")).join(unscored).to_string())
    sys.exit(bool(found.loc[~found["missing"], "gap"].max() > ROUNDING))


if __name__ == "__main__":
    main()
