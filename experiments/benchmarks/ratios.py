"""Means of a benchmark, and what others get over what ours gets.

Run it with ``python -m copula_shirley.experiments.benchmarks.ratios RESULTS_CSV [--ours
PrivateVine] [--metrics tvd2,ks,fit_seconds]``. The file is what ``experiments.run.store.tidy``
gives. A ratio is above 1 where ours is better, whichever way is better for a metric, and compares
means over the folds and seeds that both have. A variant is part of a generator's name. What ran at
no epsilon that ours has, such as ``real``, has no ratio.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import pandas as pd

from copula_shirley.evaluation.metrics.registry import known_metrics

#: What one case of a comparison is; its folds and seeds are averaged.
CASE = ["dataset", "epsilon"]
REPEATS = ["fold", "seed"]


def wide(results: pd.DataFrame) -> pd.DataFrame:
    """A row for each finished run, a column for each figure; an epsilon that is off is infinite."""
    done = results[results["status"] == "done"].copy()
    variant = done["variant"].astype(object).where(done["variant"].notna(), "")
    done["who"] = (done["generator"] + " " + variant).str.strip()
    done["epsilon"] = done["epsilon"].astype(float).fillna(float("inf"))
    keys = [*CASE, "who", *REPEATS]
    return done.pivot_table(index=keys, columns="metric", values="value").reset_index()


def means(figures: pd.DataFrame, metrics: list[str]) -> pd.DataFrame:
    """Means over folds and seeds, with the number of them."""
    groups = figures.groupby([*CASE, "who"])
    return groups[metrics].mean().assign(runs=groups.size()).reset_index()


def ratios(figures: pd.DataFrame, metrics: list[str], ours: str) -> pd.DataFrame:
    """Theirs over ours (ours over theirs where more is better), for what both have."""
    mine = figures["who"] == ours
    both = figures[~mine].merge(figures[mine], on=[*CASE, *REPEATS], suffixes=("", " of ours"))
    groups = both.groupby([*CASE, "who"])
    found = groups.size().rename("runs").to_frame()
    known = known_metrics()
    for name in metrics:
        ratio = groups[name].mean() / groups[f"{name} of ours"].mean()
        # seconds and megabytes are better small
        upward = name in known and known[name].better == "higher"
        found[name] = 1 / ratio if upward else ratio
    return found.reset_index()


def main() -> None:
    """Print means, ratios, and the mean ratio over the data sets."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("results", type=Path)
    parser.add_argument("--ours", default="PrivateVine", help="a generator's label")
    parser.add_argument("--metrics", type=lambda text: text.split(","), default=None)
    options = parser.parse_args()
    figures = wide(pd.read_csv(options.results))
    plain = [name for name in figures.columns if name not in (*CASE, *REPEATS, "who")]
    metrics = options.metrics or [name for name in plain if not name.endswith("_megabytes")]
    found = ratios(figures, metrics, options.ours)
    overall = found.groupby(["epsilon", "who"])[metrics].mean().reset_index()
    overall = overall.assign(dataset="mean of sets", runs="")
    for title, frame in (
        ("means over folds and seeds", means(figures, metrics)),
        (f"ratios, above 1 where {options.ours} is better", pd.concat([found, overall])),
    ):
        keys = ["epsilon", "dataset", "who"]
        lines = frame.sort_values(keys)[[*keys, "runs", *metrics]]
        lines["epsilon"] = lines["epsilon"].map("{:g}".format).replace("inf", "off")
        text = lines.to_string(index=False, na_rep="-", float_format="{:.4g}".format)
        print(title, text, sep="\n")


if __name__ == "__main__":
    main()
