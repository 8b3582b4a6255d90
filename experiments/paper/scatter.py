"""Figures 5.9 and 5.10: the made set, and the rows that the generators draw from it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from copula_shirley.experiments.paper.coefficients import SHOWN_ROWS
from copula_shirley.experiments.paper.drawing import line_style, sheet
from copula_shirley.experiments.paper.printed import COLOURS, GENERATORS, REAL, VINE, epsilon_text

NAMES = "ABCDEF"
DOT = {"s": 3, "linewidths": 0, "alpha": 0.6, "rasterized": True}


def draw_made(made: pd.DataFrame) -> Any:
    """Figure 5.9: every pair of the made set, histograms on the diagonal."""
    rows = min(SHOWN_ROWS, len(made))
    some = made.iloc[:rows]
    title = "Figure 5.9: the made set"
    figure = sheet(8, 8, title, f"{rows:,} of {len(made):,} rows; our recipe, see datasets.yaml")
    axes = figure.subplots(len(NAMES), len(NAMES), sharex="col")
    for i, down in enumerate(NAMES):
        for j, across in enumerate(NAMES):
            axis = axes[i, j]
            if i == j:
                axis.hist(made[across], bins=30, color=COLOURS[REAL])
            else:
                axis.scatter(some[across], some[down], color=COLOURS[REAL], **DOT)
            axis.set_yticks([])
            axis.tick_params(labelsize=8)
            if j == 0:
                axis.set_ylabel(down, rotation=0, fontsize=11, labelpad=10)
            if i == len(NAMES) - 1:
                axis.set_xlabel(across, fontsize=11)
    return figure


def draw_drawn(made: pd.DataFrame, scatter: pd.DataFrame, epsilon: float | None) -> Any | None:
    """Figure 5.10: A against the others, a line of panels per generator, the made set on top."""
    off = epsilon is None or np.isnan(epsilon)
    here = scatter[scatter["epsilon"].isna() if off else scatter["epsilon"] == epsilon]
    found = list(dict.fromkeys(here["generator"]))
    found = sorted(found, key=lambda name: (*GENERATORS, name).index(name))
    if not found:
        return None
    tables = {"made set": made.iloc[: min(SHOWN_ROWS, len(made))]}
    tables |= {name: here[here["generator"] == name] for name in found}
    noise = "noise off" if off else f"epsilon {epsilon_text(epsilon)}"
    title = f"Figure 5.10: rows drawn by the generators, {noise}"
    figure = sheet(9, 1.55 * len(tables) + 1, title)
    axes = figure.subplots(len(tables), 5, sharex=True, sharey="col", squeeze=False)
    for i, (name, table) in enumerate(tables.items()):
        colour = COLOURS[REAL] if i == 0 else line_style(name, found)["color"]
        for j, other in enumerate(NAMES[1:]):
            axis = axes[i, j]
            axis.scatter(table["A"], table[other], color=colour, **DOT)
            axis.tick_params(labelsize=8)
            if i == 0:
                axis.set_title(f"A and {other}", fontsize=10)
            if j == 0:
                label = f"{name}\n(ours)" if name == VINE else name
                axis.set_ylabel(label, fontsize=9)
    low, high = made["A"].min() - 0.3, made["A"].max() + 0.3
    axes[0, 0].set_xlim(low, high)
    for j, other in enumerate(NAMES[1:]):
        axes[0, j].set_ylim(made[other].min() - 0.3, made[other].max() + 0.3)
    return figure


def draw_scatter(made: pd.DataFrame, scatter: pd.DataFrame) -> dict[str, Any]:
    """Figure 5.9, and 5.10 for each epsilon of which rows were kept."""
    found: dict[str, Any] = {"5_9": draw_made(made)}
    epsilons = {float(e) for e in scatter["epsilon"].astype(float).drop_duplicates()}
    for epsilon in sorted(epsilons, key=lambda e: -np.inf if np.isnan(e) else -e):
        found[f"5_10_epsilon_{epsilon_text(epsilon)}"] = draw_drawn(made, scatter, epsilon)
    return {number: figure for number, figure in found.items() if figure is not None}
