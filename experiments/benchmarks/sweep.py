"""PrivateVine against an older one of its own, on made tables that nobody tuned it to.

30 recipes of ``made_tables`` are drawn from a seed: 500 to 200,000 rows, 3 to 60 columns, shares of
nominal columns, money, ties and missing values, five families of copulas. Half of the rows are for
the fit, half for the score. The other revision is another checkout of this project:

    git worktree add ../old 2819360        # revision 5
    python -m copula_shirley.experiments.benchmarks.sweep --against ../old -o sweep.csv

Both are fitted in processes of their own, by this Python, and scored by this code. Printed are each
table's figures, wins and losses by figure, and every loss above a tenth.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import get_args

import numpy as np
import pandas as pd

from copula_shirley.evaluation import evaluate
from copula_shirley.experiments.benchmarks.made_tables import Family, Recipe

HERE = Path(__file__).resolve().parents[2]
METRICS = ("tvd1", "tvd2", "tvd3", "spearman_drift", "ks")
#: Losses above this are listed.
LOSS = 1.1
WORKER = """
import sys, time
import pandas as pd
from copula_shirley import PrivateVine, Schema
folder, epsilon, seed = sys.argv[1], float(sys.argv[2]), int(sys.argv[3])
schema, table = Schema.read(folder + "/schema.yaml"), pd.read_parquet(folder + "/train.parquet")
model = PrivateVine(epsilon or None, 1e-9, random_state=seed)
start = time.process_time()
model.fit(table, schema)
print(time.process_time() - start)
model.sample(len(table), random_state=seed + 1).to_parquet(folder + "/drawn.parquet")
"""


def recipes(count: int, seed: int = 0) -> list[Recipe]:
    """Recipes drawn at random; the first ones do not depend on how many there are."""
    rng, found = np.random.default_rng(seed), []
    for i in range(count):
        nominal, skewed, ties = rng.dirichlet(np.ones(4))[:3]
        found.append(
            Recipe(
                rows=2 * round(np.exp(rng.uniform(np.log(500), np.log(200_000)))),
                columns=round(np.exp(rng.uniform(np.log(3), np.log(60)))),
                family=get_args(Family)[i % len(get_args(Family))],
                nominal=float(nominal),
                skewed=float(skewed),
                ties=float(ties),
                missing=float(rng.choice([0.0, 0.05, 0.3])),
                seed=int(rng.integers(2**31)),
            )
        )
    return found


def scores(recipe: Recipe, checkout: Path, epsilon: float, seed: int) -> dict[str, float]:
    """Figures of a fit by the code of a checkout, and its seconds of the processor."""
    table, schema = recipe.make()
    train, test = table.iloc[::2].reset_index(drop=True), table.iloc[1::2].reset_index(drop=True)
    with tempfile.TemporaryDirectory() as folder:
        schema.write(Path(folder, "schema.yaml"))
        train.to_parquet(Path(folder, "train.parquet"))
        command = [sys.executable, "-c", WORKER, folder, str(epsilon), str(seed)]
        said = subprocess.run(command, cwd=checkout, check=True, capture_output=True, text=True)
        drawn = pd.read_parquet(Path(folder, "drawn.parquet"))
    figures = evaluate(train, test, drawn, schema, random_state=0, metrics=METRICS)
    return {**figures.set_index("metric")["value"], "fit_seconds": float(said.stdout)}


def main() -> None:
    """Print a line a table, and what was won and lost."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--against", type=Path, required=True, help="checkout of the old code")
    parser.add_argument("--tables", type=int, default=30)
    parser.add_argument("--epsilon", type=float, default=1.0, help="0: no noise")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--output", "-o", type=Path, help="CSV of all figures")
    options = parser.parse_args()
    lines = []
    for i, recipe in enumerate(recipes(options.tables)):
        about = {k: getattr(recipe, k) for k in ("rows", "columns", "family", "missing")}
        found = {"table": i, **about, "rows": recipe.rows // 2}
        for name, checkout in (("new", HERE), ("old", options.against)):
            runs = [scores(recipe, checkout, options.epsilon, s) for s in range(options.seeds)]
            mean = pd.DataFrame(runs).mean()
            found |= {f"{metric} {name}": mean[metric] for metric in (*METRICS, "fit_seconds")}
        lines.append(found)
        texts = [f"{k} {v:.4g}" if isinstance(v, float) else f"{k} {v}" for k, v in found.items()]
        print(", ".join(texts), flush=True)
    frame = pd.DataFrame(lines)
    if options.output is not None:
        frame.to_csv(options.output, index=False)
    for metric in (*METRICS, "fit_seconds"):
        ratio = frame[f"{metric} new"] / frame[f"{metric} old"]
        worst = frame["table"][ratio > LOSS].tolist()
        mean, better = np.exp(np.log(ratio).mean()), int((ratio < 1).sum())
        print(
            f"{metric}: new over old {mean:.3f} in the geometric mean, better on {better} of "
            f"{len(ratio)}, worst {ratio.max():.2f}; above {LOSS}: {worst}"
        )


if __name__ == "__main__":
    main()
