"""Score a synthetic table with SDMetrics; runs in SDMetrics' own environment.

Called as ``python run_sdmetrics.py FOLDER``. The folder has ``real.parquet``,
``synthetic.parquet`` and ``spec.json``, which lists columns (or pairs of them) for each figure; it
gets ``scores.json``, in the same order. What SDMetrics refuses to score is null.
"""

import json
import sys
from math import isnan
from pathlib import Path

import pandas as pd
from sdmetrics.column_pairs import ContingencySimilarity, CorrelationSimilarity
from sdmetrics.errors import ConstantInputError, IncomputableMetricError
from sdmetrics.single_column import KSComplement, TVComplement

METRICS = {
    "ks": (KSComplement, {}),
    "tvd1": (TVComplement, {}),
    "spearman": (CorrelationSimilarity, {"coefficient": "Spearman"}),
    "tvd2": (ContingencySimilarity, {}),
}


def main(folder: Path) -> None:
    """Score every column and pair."""
    spec = json.loads((folder / "spec.json").read_text(encoding="utf-8"))
    real = pd.read_parquet(folder / "real.parquet")
    synthetic = pd.read_parquet(folder / "synthetic.parquet")
    scores: dict[str, list[float | None]] = {}
    for figure, groups in spec.items():
        metric, settings = METRICS[figure]
        scores[figure] = []
        for group in groups:  # a name, or a list of two
            try:
                score = float(metric.compute(real[group], synthetic[group], **settings))
            except (ConstantInputError, IncomputableMetricError):
                score = float("nan")
            scores[figure].append(None if isnan(score) else score)
    (folder / "scores.json").write_text(json.dumps(scores), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
