"""Figures 5.1 to 5.10, drawn with the charts of ``evaluation.figures``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from copula_shirley.evaluation.figures import coin, level, one_legend, plain, points, titled
from copula_shirley.experiments.paper.coefficients import SHOWN_ROWS
from copula_shirley.experiments.paper.printed import (
    COLOURS,
    GENERATORS,
    HIGHEST_ATTACK,
    MARKERS,
    PANELS,
    REAL,
    SHIRLEY,
    TITLES,
    VINE,
    epsilon_text,
    shown,
)
from copula_shirley.experiments.paper.scores import Scores

#: Figures 5.1 to 5.4: experiment, title, name of the axis, whether the settings have an order.
SETTINGS = {
    "5_1": ("ratio", "split of the rows, epsilon 1", "share of the histogram rows", True),
    "5_2": ("encoders", "encoders of categories, epsilon 1", "encoder", False),
    "5_3": ("mechanisms", "mechanisms of the histograms, epsilon 0.1", "mechanism", False),
    "5_4": ("truncation", "truncation of the vine, epsilon 1",
            "number of trees (none: the whole vine)", True),
}  # fmt: skip
#: Figures 5.5 to 5.7: data sets, the first one with figures is drawn.
BY_EPSILON = {"5_5": ("compas",), "5_6": ("texas", "diabetes130"), "5_7": ("adult",)}
#: Data sets in figures that show COPULA-SHIRLEY alone: shades of its blue, and marks.
SHADES = {
    "compas": ("#0072B2", "o"),
    "adult": ("#64B9EC", "s"),
    "diabetes130": ("#003350", "^"),
    "texas": ("#003350", "D"),
    "randhie": ("#93A9B8", "v"),
}
#: Other generators than the paper's get these, in order.
OTHER_COLOURS = ("#E69F00", "#56B4E9", "#F0E442")
RAW, TOP, COIN = "raw data", "highest of the attack's repetitions", "a coin"
#: What stands at the end of a legend.
LAST = (RAW, TOP, COIN)
#: The highest score of the attack is drawn lightly.
LIGHT = 0.35
ATTACK = "membership_hamming"
NAMES = "ABCDEF"
DOT = {"s": 3, "linewidths": 0, "alpha": 0.6, "rasterized": True}


@dataclass(frozen=True)
class Curve:
    """A line of a figure with six panels: whose figures, at which settings and epsilons."""

    label: str
    style: Mapping[str, Any]
    dataset: str
    generator: str
    cells: Sequence[tuple[str, float | None]]
    raw_colour: str = COLOURS[REAL]


def draw_curves(
    scores: Scores,
    experiment: str,
    titles: tuple[str, str],
    curves: Sequence[Curve],
    ticks: tuple[str, Sequence[str]],
    columns: int,
) -> Any:
    """Six measures: means with intervals along an axis, and what the raw data get."""
    heading, labels = ticks
    datasets = {curve.dataset: curve.raw_colour for curve in curves}
    figure = titled(11.5, 7, "\n".join(filter(None, titles)))
    for metric, axis in six_panels(figure, len(datasets) > 1).items():
        for i, curve in enumerate(curves):
            unit = raw_unit(scores, experiment, curve.dataset, metric, len(datasets))
            who = (curve.dataset, curve.generator)
            step = min(0.14, 0.35 / len(curves))
            place = np.arange(len(labels)) + (i - (len(curves) - 1) / 2) * step
            found = [scores.estimate(experiment, metric, *who, *c) / unit for c in curve.cells]
            below, above = zip(*(each.whiskers for each in found), strict=True)
            style = {**curve.style, "label": curve.label}
            points(axis, place, [each.mean for each in found], (below, above), style)
            if metric == ATTACK:
                tops = [
                    scores.estimate(experiment, HIGHEST_ATTACK, *who, *c).mean for c in curve.cells
                ]
                light = {"alpha": LIGHT, "linewidth": 1}
                axis.plot(place, tops, color=style["color"], **light)
        for i, (dataset, colour) in enumerate(datasets.items()):
            unit = raw_unit(scores, experiment, dataset, metric, len(datasets))
            raw = scores.estimate(experiment, metric, dataset, REAL).mean / unit
            level(axis, raw, None if i else RAW, color=colour)
        plain(axis, heading)
        axis.set_xticks(range(len(labels)), labels)
        axis.set_xlim(-0.5, len(labels) - 0.5)
        if metric == ATTACK:
            axis.plot([], [], color="#444444", alpha=LIGHT, label=TOP)
            coin(axis, COIN)
            one_legend(figure, axis, columns, LAST)
    return figure


def six_panels(figure: Any, several: bool) -> dict[str, Any]:
    """Two rows of three axes, one per measure, titled with what is better."""
    axes = dict(zip(PANELS, figure.subplots(2, 3).ravel(), strict=True))
    for metric, axis in axes.items():
        name, upward = PANELS[metric]
        unit = " / raw data's" if several and metric == "rmse" else ""
        better = "higher" if upward else "lower"
        axis.set_title(f"{name}{unit} ({better} is better)", fontsize=10)
    return axes


def raw_unit(scores: Scores, experiment: str, dataset: str, metric: str, datasets: int) -> float:
    """RMSE of the raw data, so that several data sets can share a panel; 1 if it is not known."""
    if metric != "rmse" or datasets < 2:
        return 1.0
    unit = scores.estimate(experiment, "rmse", dataset, REAL).mean
    return unit if unit > 0 else 1.0


def draw_settings(scores: Scores, number: str) -> Any | None:
    """Figure 5.1, 5.2, 5.3 or 5.4, or None if its experiment has no figures."""
    experiment, title, heading, ordered = SETTINGS[number]
    datasets, variants = scores.datasets(experiment), along(scores.variants(experiment))
    if not datasets or not variants:
        return None
    part = scores.frame[scores.frame["experiment"] == experiment]
    curves = []
    for dataset in datasets:
        colour, mark = SHADES.get(dataset, ("#8C8C8C", "X"))
        style = {"color": colour, "marker": mark, "linestyle": "-" if ordered else "none"}
        cells = [(variant, None) for variant in variants]
        name = TITLES.get(dataset, dataset)
        curves.append(Curve(name, style, dataset, SHIRLEY, cells, colour))
    titles = (
        f"Figure {number.replace('_', '.')}: {title}",
        f"{SHIRLEY} (proved: nothing); {scale_note(part)}",
    )
    ticks = heading, [variant.split(" ")[-1] for variant in variants]
    return draw_curves(scores, experiment, titles, curves, ticks, 6)


def along(variants: Sequence[str]) -> list[str]:
    """Settings in the order of an axis: numbers by size, then words.

    Examples
    --------
    >>> along(["truncation none", "truncation 2", "truncation 1"])
    ['truncation 1', 'truncation 2', 'truncation none']
    """

    def place(variant: str) -> float:
        try:
            return float(variant.rsplit(" ", maxsplit=1)[-1])
        except ValueError:
            return np.inf

    return sorted(variants, key=place)


def dataset_of(scores: Scores, number: str) -> str | None:
    """Which data set a figure over epsilon shows."""
    there = scores.datasets("models")
    return next((name for name in BY_EPSILON[number] if name in there), None)


def draw_epsilons(scores: Scores, dataset: str, number: str) -> Any | None:
    """Figure 5.5, 5.6 or 5.7: six measures over epsilon, a line per generator."""
    generators = scores.generators("models", dataset)
    if not generators:
        return None
    part = scores.frame[scores.frame["experiment"] == "models"]
    epsilons = scores.epsilons("models", dataset)
    curves = []
    for generator in generators:
        big = generator == VINE
        style = {
            "color": colour_of(generator, generators),
            "marker": MARKERS.get(generator, "v"),
            "markersize": 9 if big else 6,
            "linewidth": 1.8 if big else 1.3,
        }
        cells = [("", epsilon) for epsilon in epsilons]
        label = labelled(scores, dataset, generator)
        curves.append(Curve(label, style, dataset, generator, cells))
    titles = (
        f"Figure {number.replace('_', '.')}: {TITLES.get(dataset, dataset)} over epsilon",
        scale_note(part[part["dataset"] == dataset]),
    )
    ticks = "epsilon", [epsilon_text(epsilon) for epsilon in epsilons]
    return draw_curves(scores, "models", titles, curves, ticks, 2)


def colour_of(generator: str, others: Sequence[str] = ()) -> str:
    """Colour of a generator, the same in every figure."""
    unknown = [name for name in others if name not in COLOURS] or [generator]
    if generator in COLOURS:
        return COLOURS[generator]
    return OTHER_COLOURS[unknown.index(generator) % len(OTHER_COLOURS)]


def labelled(scores: Scores, dataset: str, generator: str) -> str:
    """A generator with what it claims and what is proved, at the least epsilon."""
    done = scores.done
    own = done[(done["generator"] == generator) & (done["dataset"] == dataset)]
    own = own[(own["experiment"] == "models") & own["epsilon"].notna()].sort_values("epsilon")
    if own.empty:
        return shown(generator)
    claimed, proved = own.iloc[0]["claimed"], own.iloc[0]["proved"]
    if claimed == proved:
        return f"{shown(generator)}: proves what it claims"
    return f"{shown(generator)}: where it claims {claimed} it proves {proved}"


def draw_overall(scores: Scores) -> Any | None:
    """Figure 5.8: bars from the lowest to the highest mean over epsilon, the mean marked."""
    datasets = scores.datasets("models")
    if not datasets:
        return None
    epsilons = ", ".join(map(epsilon_text, scores.epsilons("models")))
    note = f"bars from the lowest to the highest mean over epsilon ({epsilons}), line: mean of them"
    title = f"Figure 5.8: the generators over all epsilons\n{note}"
    figure = titled(11.5 if len(datasets) < 3 else 13, 7, title)
    for metric, axis in six_panels(figure, len(datasets) > 1).items():
        plain(axis)
        axis.use_sticky_edges = False  # else the lowest bar is cut off
        for i, dataset in enumerate(datasets):
            unit = raw_unit(scores, "models", dataset, metric, len(datasets))
            _draw_bars(scores, axis, (metric, dataset), i, unit)
            raw = scores.estimate("models", metric, dataset, REAL).mean / unit
            line = {"color": COLOURS[REAL], "linestyle": ":", "label": None if i else RAW}
            axis.hlines(raw, i - 0.42, i + 0.42, **line)
        axis.set_xticks(range(len(datasets)), [TITLES.get(d, d).split(" (")[0] for d in datasets])
        if metric == ATTACK:
            coin(axis, COIN)
            one_legend(figure, axis, 4, LAST)
    return figure


def _draw_bars(scores: Scores, axis: Any, of: tuple[str, str], i: int, unit: float) -> None:
    metric, dataset = of
    generators, epsilons = scores.generators("models", dataset), scores.epsilons("models", dataset)
    step = 0.8 / max(len(generators), 1)
    values = scores.done.loc[scores.done["metric"] == metric, "value"]
    # a bar without spread is still seen: a hundredth of what the panel shows
    least = 0.0 if metric == "rmse" or values.empty else float(np.ptp(values)) / 100
    named = axis.get_legend_handles_labels()[1]
    for j, generator in enumerate(generators):
        every = [scores.estimate("models", metric, dataset, generator, "", e) for e in epsilons]
        means = [each.mean / unit for each in every if each.folds]
        if not means:
            continue
        place, mean = i - 0.4 + (j + 0.5) * step, float(np.mean(means))
        low, high = min(means), max(*means, min(means) + least)
        colour = colour_of(generator, generators)
        label = None if shown(generator) in named else shown(generator)
        axis.bar(place, high - low, step * 0.8, bottom=low, color=colour, alpha=0.55, label=label)
        axis.hlines(mean, place - step * 0.42, place + step * 0.42, color=colour, linewidth=2.5)


def scale_note(part: pd.DataFrame) -> str:
    """How much stands behind a figure: folds, rows, classifiers."""
    done = part[part["status"] == "done"]
    if done.empty:
        return ""
    folds, of = done["fold"].nunique(), int(done["folds"].max())
    words = [f"{folds} of {of} folds" if folds < of else f"{of} folds"]
    bars = {1: "one fold has no interval", 2: "bars join the two folds"}
    words.append(bars.get(folds, "bars are 95 % intervals"))
    rows = done["rows"].dropna()
    if len(rows):
        words.append(f"{int(rows.max()):,} rows only")
    if "light" in set(done["profile"]):
        words.append("light classifiers")
    return ", ".join(words)


# -- the made set ----------------------------------------------------------------


def draw_made(made: pd.DataFrame) -> Any:
    """Figure 5.9: every pair of the made set, histograms on the diagonal."""
    some = made.iloc[:SHOWN_ROWS]
    note = f"{len(some):,} of {len(made):,} rows; our recipe, see datasets.yaml"
    figure = titled(8, 8, f"Figure 5.9: the made set\n{note}")
    for (i, j), axis in np.ndenumerate(figure.subplots(len(NAMES), len(NAMES), sharex="col")):
        down, across = NAMES[i], NAMES[j]
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


def draw_drawn(made: pd.DataFrame, scatter: pd.DataFrame, epsilon: float) -> Any | None:
    """Figure 5.10: A against the others, a line of panels per generator, the made set on top."""
    here = scatter[
        scatter["epsilon"].isna() if np.isnan(epsilon) else scatter["epsilon"] == epsilon
    ]
    found = sorted(dict.fromkeys(here["generator"]), key=lambda n: (*GENERATORS, n).index(n))
    if not found:
        return None
    tables = {"made set": made.iloc[:SHOWN_ROWS]}
    tables |= {name: here[here["generator"] == name] for name in found}
    noise = "noise off" if np.isnan(epsilon) else f"epsilon {epsilon_text(epsilon)}"
    figure = titled(
        9, 1.55 * len(tables) + 1, f"Figure 5.10: rows drawn by the generators, {noise}"
    )
    axes = figure.subplots(len(tables), len(NAMES) - 1, sharex=True, sharey="col", squeeze=False)
    for i, (name, table) in enumerate(tables.items()):
        colour = COLOURS[REAL] if i == 0 else colour_of(name, found)
        for axis, other in zip(axes[i], NAMES[1:], strict=True):
            axis.scatter(table["A"], table[other], color=colour, **DOT)
            axis.tick_params(labelsize=8)
        axes[i, 0].set_ylabel(f"{name}\n(ours)" if name == VINE else name, fontsize=9)
    axes[0, 0].set_xlim(made["A"].min() - 0.3, made["A"].max() + 0.3)
    for axis, other in zip(axes[0], NAMES[1:], strict=True):
        axis.set_title(f"A and {other}", fontsize=10)
        axis.set_ylim(made[other].min() - 0.3, made[other].max() + 0.3)
    return figure


def draw_all(
    scores: Scores, made: pd.DataFrame | None = None, scatter: pd.DataFrame | None = None
) -> dict[str, Any]:
    """Every figure by number; those that cannot be drawn are left out.

    Parameters
    ----------
    made, scatter : DataFrame, optional
        The made set, and rows that generators drew from it, for figures 5.9 and 5.10.
    """
    found = {number: draw_settings(scores, number) for number in SETTINGS}
    for number in BY_EPSILON:
        dataset = dataset_of(scores, number)
        found[number] = None if dataset is None else draw_epsilons(scores, dataset, number)
    found["5_8"] = draw_overall(scores)
    if made is not None:
        found["5_9"] = draw_made(made)
    if made is not None and scatter is not None:
        epsilons = {
            float(epsilon) for epsilon in scatter["epsilon"].astype(float).drop_duplicates()
        }
        for epsilon in sorted(epsilons, key=lambda e: -np.inf if np.isnan(e) else -e):
            figure = draw_drawn(made, scatter, epsilon)
            found[f"5_10_epsilon_{epsilon_text(epsilon)}"] = figure
    return {number: figure for number, figure in found.items() if figure is not None}
