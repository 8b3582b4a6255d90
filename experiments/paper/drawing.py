"""What all figures share: the sheet, six panels, legends that say what is proved, files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from copula_shirley.experiments.paper.printed import COLOURS, MARKERS, PANELS, VINE
from copula_shirley.experiments.paper.scores import Estimate
from copula_shirley.files.model_file import atomic_path

#: Other generators than the paper's get these, in order.
OTHER_COLOURS = ("#E69F00", "#56B4E9", "#F0E442")
KINDS = ("png", "svg")
RAW, TOP, COIN = "raw data", "highest of the attack's repetitions", "a coin"
#: What stands at the end of a legend.
LAST = (RAW, TOP, COIN)
SMALL = 9


def sheet(width: float, height: float, title: str, note: str = "") -> Any:
    """An empty figure with a title and a line under it."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg  # noqa: PLC0415
    from matplotlib.figure import Figure  # noqa: PLC0415

    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    figure.suptitle(f"{title}\n{note}" if note else title, fontsize=11)
    return figure


def six_panels(figure: Any, units: dict[str, str] | None = None) -> dict[str, Any]:
    """Two rows of three axes, one per measure, titled with what is better."""
    axes = dict(zip(PANELS, figure.subplots(2, 3).ravel(), strict=True))
    for metric, axis in axes.items():
        name, upward = PANELS[metric]
        unit = (units or {}).get(metric, "")
        axis.set_title(f"{name}{unit} ({'higher' if upward else 'lower'} is better)", fontsize=10)
        axis.grid(axis="y", color="#dddddd", linewidth=0.6)
        axis.set_axisbelow(True)
        axis.tick_params(labelsize=SMALL)
        axis.spines[["top", "right"]].set_visible(False)
    return axes


def points(axis: Any, places: Any, found: Sequence[Estimate], style: dict[str, Any]) -> None:
    """Means with their intervals; a place without figures stays empty."""
    means = [each.mean for each in found]
    below, above = zip(*(each.whiskers for each in found), strict=True)
    axis.errorbar(places, means, yerr=[below, above], capsize=2.5, **style)


def line_style(generator: str, others: Sequence[str] = ()) -> dict[str, Any]:
    """Colour and marker of a generator, the same in every figure."""
    colour = COLOURS.get(generator)
    if colour is None:
        known = [name for name in others if name not in COLOURS]
        colour = OTHER_COLOURS[known.index(generator) % len(OTHER_COLOURS)] if known else "#E69F00"
    big = generator == VINE
    return {
        "color": colour,
        "marker": MARKERS.get(generator, "v"),
        "markersize": 9 if big else 6,
        "linewidth": 1.8 if big else 1.3,
        "elinewidth": 1,
    }


def coin(axis: Any) -> None:
    """What a coin gets in the membership attack."""
    axis.axhline(0.5, color="#999999", linewidth=0.8, linestyle=(0, (1, 3)), label=COIN)


def one_legend(figure: Any, axis: Any, columns: int = 3) -> None:
    """A legend for all panels, below them."""
    handles, labels = axis.get_legend_handles_labels()
    if handles:
        # matplotlib puts plain lines first; generators and data sets are what one looks for
        order = sorted(range(len(handles)), key=lambda i: labels[i] in LAST)
        handles, labels = [handles[i] for i in order], [labels[i] for i in order]
        figure.legend(
            handles,
            labels,
            loc="outside lower center",
            ncols=columns,
            fontsize=SMALL,
            frameon=False,
        )


def scale_note(part: pd.DataFrame) -> str:
    """How much stands behind a figure: folds, rows, classifiers."""
    done = part[part["status"] == "done"]
    if done.empty:
        return ""
    folds, of = done["fold"].nunique(), int(done["folds"].max())
    words = [f"{folds} of {of} folds" if folds < of else f"{of} folds"]
    bars = {1: "one fold has no interval", 2: "bars join the two folds"}
    words.append(bars.get(folds, "bars are 95 % intervals"))
    rows = done["rows"].dropna().unique()
    if len(rows):
        words.append(f"{int(max(rows)):,} rows only")
    if "light" in set(done["profile"]):
        words.append("light classifiers")
    return ", ".join(words)


def save(figure: Any, folder: Path, name: str) -> list[Path]:
    """Write a figure as PNG and SVG, the same bytes for the same figure."""
    import matplotlib as mpl  # noqa: PLC0415

    paths = []
    with mpl.rc_context({"svg.hashsalt": name, "svg.fonttype": "none"}):
        for kind in KINDS:
            path = folder / f"{name}.{kind}"
            metadata = {"Date": None} if kind == "svg" else {"Software": None}
            with atomic_path(path) as partial:
                figure.savefig(partial, format=kind, dpi=130, metadata=metadata)
            figure.set_layout_engine("none")  # found once, for the slow part is to find it
            paths.append(path)
    return paths
