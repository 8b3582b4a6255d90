"""A picture of an evaluation: which columns are off, and which pairs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from copula_shirley.evaluation.result import pair
from copula_shirley.trees import show_as_written

#: What is drawn: per column on the left, per pair on the right.
BARS = {"ks": "Kolmogorov-Smirnov", "tvd1": "total variation"}
MAPS = {"spearman_drift": "Spearman drift", "tvd2": "total variation of pairs"}


def plot_evaluation(frame: pd.DataFrame, path: str | Path, kind: str = "png") -> None:
    """Draw the breakdown by column and by pair, as png, svg or pdf."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg  # noqa: PLC0415
    from matplotlib.figure import Figure  # noqa: PLC0415

    details: dict[str, Any] = dict(zip(frame["metric"], frame["detail"], strict=True))
    bars = {name: details[name]["columns"] for name in BARS if "columns" in details.get(name, {})}
    maps = {name: details[name]["pairs"] for name in MAPS if details.get(name, {}).get("pairs")}
    columns = list(next((details[name]["columns"] for name in (*bars, *maps)), ()))
    height = 0.32 * len(columns) + 1.8
    panels = max(bool(bars) + len(maps), 1)
    figure = Figure(figsize=(1.5 + panels * max(height, 4.5), height), layout="constrained")
    FigureCanvasAgg(figure)
    axes = np.atleast_1d(figure.subplots(1, panels))
    places = np.arange(len(columns))
    for i, (name, values) in enumerate(bars.items()):
        axes[0].barh(places + 0.4 * i, [values[c] for c in columns], 0.4, label=BARS[name])
    if bars:
        axes[0].set_yticks(places + 0.2, columns)
        axes[0].invert_yaxis()
        axes[0].set_xlabel("distance to the test rows (0 is best)")
        axes[0].legend(fontsize=8)
    for axis, (name, values) in zip(axes[bool(bars) :], maps.items(), strict=False):
        grid = np.full((len(columns), len(columns)), np.nan)
        for i, a in enumerate(columns):
            for j, b in enumerate(columns[:i]):
                grid[i, j] = values[pair(b, a)]
        image = axis.imshow(grid, cmap="magma_r", vmin=0)
        axis.set_title(f"{MAPS[name]} (0 is best)", fontsize=10)
        axis.set_xticks(places, columns, rotation=90, fontsize=8)
        axis.set_yticks(places, columns, fontsize=8)
        figure.colorbar(image, ax=axis, shrink=0.8)
    show_as_written(figure)
    figure.savefig(path, format=kind, dpi=120)
