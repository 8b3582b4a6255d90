"""Every chart is drawn here: for ``evaluate --plot``, the benchmark's report and the paper.

Curves with intervals, heat maps of pairs and bars, on axes of matplotlib; pictures become files
(``save``) or a text that stands in a page (``inline``).
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import combinations
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from copula_shirley.evaluation.result import pair
from copula_shirley.files.atomic import atomic_path
from copula_shirley.pictures import sheet, show_as_written

#: Okabe and Ito's colours, which colour-blind readers can tell apart, and two more.
COLOURS = (
    "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#000000", "#e69f00", "#56b4e9", "#7a5ab5",
)  # fmt: skip
MARKERS = ("o", "s", "^", "D", "*", "v", "P")
QUIET = "#767676"
SMALL = 9
#: What is drawn of an evaluation: per column on the left, per pair on the right.
BARS = {"ks": "Kolmogorov-Smirnov", "tvd1": "total variation"}
MAPS = {"spearman_drift": "Spearman drift", "tvd2": "total variation of pairs"}
SVG = "{http://www.w3.org/2000/svg}"


def titled(width: float, height: float, title: str) -> Any:
    """An empty figure with a title."""
    figure = sheet(width, height)
    figure.suptitle(title, fontsize=11)
    return figure


def plain(axis: Any, xlabel: str = "") -> None:
    """What all charts share: rules behind the data, no frame, small figures."""
    axis.grid(axis="y", color="#dddddd", linewidth=0.6)
    axis.set_axisbelow(True)
    axis.tick_params(labelsize=SMALL)
    axis.spines[["top", "right"]].set_visible(False)
    if xlabel:
        axis.set_xlabel(xlabel, fontsize=SMALL)


def look(number: int) -> dict[str, Any]:
    """Colour and marker of the generator with this number; no two of 56 share both."""
    return {"color": COLOURS[number % 8], "marker": MARKERS[(number + number // 8) % 7]}


def points(
    axis: Any,
    places: ArrayLike,
    means: Sequence[float],
    reach: tuple[Sequence[float], Sequence[float]],
    style: Mapping[str, Any],
    number: int | None = None,
) -> None:
    """Means with their intervals, which reach so far below and above; NaN leaves a place empty.

    ``style`` holds settings of ``Axes.errorbar``; ``inline`` finds the series by its ``number``.
    """
    style = {"markersize": 6, "linewidth": 1.3, "elinewidth": 1, **style}
    line, caps, bars = axis.errorbar(places, means, yerr=reach, capsize=2.5, **style)
    for artist in (line, *caps, *bars) if number is not None else ():
        artist.set_gid(f"series {number}" if artist is line else f"whisker {number}")


def level(axis: Any, value: float, label: str | None, **style: Any) -> None:
    """A dotted line across a chart, as for the real rows."""
    axis.axhline(
        value, **{"color": QUIET, "linestyle": ":", "linewidth": 1.6, **style}, label=label
    )


def coin(axis: Any, label: str | None = "a coin") -> None:
    """What a coin gets in an attack."""
    level(axis, 0.5, label, color="#999999", linewidth=0.8, linestyle=(0, (1, 3)))


def one_legend(figure: Any, axis: Any, columns: int = 3, last: Sequence[str] = ()) -> None:
    """A legend for all panels, below them; the labels in ``last`` stand at its end."""
    pairs = zip(*axis.get_legend_handles_labels(), strict=True)
    # matplotlib puts plain lines first; generators and data sets are what one looks for
    if ordered := sorted(pairs, key=lambda each: each[1] in last):
        style = {"loc": "outside lower center", "fontsize": SMALL, "frameon": False}
        figure.legend(*zip(*ordered, strict=True), ncols=columns, **style)


def limits(
    means: Sequence[float], ends: Sequence[float], bounds: tuple[float | None, float | None]
) -> tuple[float, float]:
    """From where to where a chart goes: over all means, and as far over intervals as is legible.

    Examples
    --------
    >>> low, high = limits([0.1, 0.3], [-9.0, 9.0], (0.0, 1.0))
    >>> low, round(high, 2)
    (0.0, 0.54)
    """
    low, high = min(means), max(means)
    span = high - low or max(abs(high), 1e-3) * 0.2
    # wide intervals would press the means into one line
    low = max(min(low, *ends), low - span) - 0.1 * span if ends else low - 0.1 * span
    high = min(max(high, *ends), high + span) + 0.2 * span if ends else high + 0.2 * span
    least, most = bounds
    if least is not None and low - least < 0.5 * (high - low):
        low = least
    if most is not None:
        high = max(min(high, most + 0.03 * (most - low)), *means)
    return low, high


def plot_evaluation(frame: pd.DataFrame, path: str | Path, kind: str = "png") -> None:
    """Draw the breakdown of an evaluation by column and by pair, as png, svg or pdf."""
    details: dict[str, Any] = dict(zip(frame["metric"], frame["detail"], strict=True))
    bars = {name: details[name]["columns"] for name in BARS if "columns" in details.get(name, {})}
    maps = {name: details[name]["pairs"] for name in MAPS if details.get(name, {}).get("pairs")}
    names = list(next((details[name]["columns"] for name in (*bars, *maps)), ()))
    height, places = 0.32 * len(names) + 1.8, np.arange(len(names))
    panels = max(bool(bars) + len(maps), 1)
    figure = sheet(1.5 + panels * max(height, 4.5), height)
    axes = np.atleast_1d(figure.subplots(1, panels))
    for i, (metric, values) in enumerate(bars.items()):
        axes[0].barh(places + 0.4 * i, [values[n] for n in names], 0.4, label=BARS[metric])
    if bars:
        axes[0].set_yticks(places + 0.2, names)
        axes[0].invert_yaxis()
        axes[0].set_xlabel("distance to the test rows (0 is best)")
        axes[0].legend(fontsize=8)
    for axis, (metric, values) in zip(axes[bool(bars) :], maps.items(), strict=False):
        grid = np.full((len(names), len(names)), np.nan)
        for i, j in combinations(range(len(names)), 2):
            grid[j, i] = values[pair(names[i], names[j])]
        image = axis.imshow(grid, cmap="magma_r", vmin=0)
        axis.set_xticks(places, names, rotation=90, fontsize=8)
        axis.set_yticks(places, names, fontsize=8)
        figure.colorbar(image, ax=axis, shrink=0.8)
        axis.set_title(f"{MAPS[metric]} (0 is best)", fontsize=10)
    show_as_written(figure)
    figure.savefig(path, format=kind, dpi=120)


# -- files and pages -------------------------------------------------------------


@contextmanager
def _same_bytes(salt: str) -> Iterator[None]:
    """Identifiers in an SVG that follow from its name, and letters that stay letters."""
    import matplotlib as mpl  # noqa: PLC0415

    with mpl.rc_context({"svg.hashsalt": salt, "svg.fonttype": "none"}):
        yield


def save(figure: Any, folder: Path, name: str) -> list[Path]:
    """Write a figure as PNG and SVG, the same bytes for the same figure."""
    paths = []
    show_as_written(figure)
    for kind, field in (("png", "Software"), ("svg", "Date")):
        paths.append(folder / f"{name}.{kind}")
        with _same_bytes(name), atomic_path(paths[-1]) as partial:
            figure.savefig(partial, format=kind, dpi=130, metadata={field: None})
        figure.set_layout_engine("none")  # found once, for the slow part is to find it
    return paths


def inline(figure: Any, salt: str, tips: Mapping[str, Sequence[str]]) -> str:
    """A figure as an SVG element of a page: colours by variables, a tip for each point.

    ``tips`` has a text for each point of each series, in the order of the numbers of ``points``.
    """
    file = io.StringIO()
    show_as_written(figure)
    with _same_bytes(salt):
        figure.savefig(file, format="svg", metadata={"Date": None})
    ElementTree.register_namespace("", SVG[1:-1])
    ElementTree.register_namespace("xlink", "http://www.w3.org/1999/xlink")
    series = list(tips.items())
    root = ElementTree.fromstring(file.getvalue().encode("utf-8", errors="replace"))
    del root.attrib["width"], root.attrib["height"]
    for part in root.findall(f"{SVG}metadata"):
        root.remove(part)
    for group in root.iter(f"{SVG}g"):
        kind, _, name = group.attrib.pop("id", "").partition(" ")
        if kind in ("series", "whisker"):
            group.attrib |= {"class": kind, "data-series": series[int(name)][0]}
        if kind == "series":
            for mark, tip in zip(group.iter(f"{SVG}use"), series[int(name)][1], strict=True):
                mark.attrib |= {"class": "point", "tabindex": "0", "role": "img"}
                mark.attrib |= {"aria-label": tip, "data-tip": tip}
    text = ElementTree.tostring(root, encoding="unicode")
    colours = {colour: f"var(--c{i})" for i, colour in enumerate(COLOURS)}
    colours |= {QUIET: "var(--ink)", "#dddddd": "var(--rule)", "#ffffff": "none"}
    return re.sub("#[0-9a-f]{6}", lambda found: colours.get(found[0], found[0]), text)
