"""Figures 5.1 to 5.10, drawn with the charts of ``evaluation.figures``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from copula_shirley.evaluation.figures import coin, level, one_legend, plain, points, titled
from copula_shirley.experiments.paper.chapter import (
    ATTACK,
    CHAPTER,
    HIGHEST_ATTACK,
    REAL,
    SHIRLEY,
    VINE,
    Look,
    in_order,
    shown,
    title_of,
)
from copula_shirley.experiments.paper.coefficients import NAMES, SHOWN_ROWS
from copula_shirley.experiments.paper.scores import Scores
from copula_shirley.experiments.specs import epsilon_text

#: Other generators than the paper's get these, in order.
OTHER_COLOURS = ("#E69F00", "#56B4E9", "#F0E442")
GREY = CHAPTER.generators[REAL].colour
RAW, TOP, COIN = "raw data", "highest of the attack's repetitions", "a coin"
#: What stands at the end of a legend.
LAST = (RAW, TOP, COIN)
#: The highest score of the attack is drawn lightly.
LIGHT = 0.35
DOT = {"s": 3, "linewidths": 0, "alpha": 0.6, "rasterized": True}


@dataclass(frozen=True)
class Curve:
    """A line of a figure with six panels: whose figures, at which settings and epsilons."""

    label: str
    style: Mapping[str, Any]
    dataset: str
    generator: str
    cells: Sequence[tuple[str, float | None]]
    raw_colour: str = GREY


def draw_curves(
    scores: Scores,
    experiment: str,
    title: str,
    curves: Sequence[Curve],
    ticks: tuple[str, Sequence[str]],
    columns: int,
) -> Any:
    """Six measures: means with intervals along an axis, and what the raw data get."""
    heading, labels = ticks
    datasets = {curve.dataset: curve.raw_colour for curve in curves}
    figure = titled(11.5, 7, title)
    step = min(0.14, 0.35 / len(curves))
    for metric, axis, units in six_panels(scores, figure, experiment, list(datasets)):
        for i, curve in enumerate(curves):
            where = [(experiment, metric, curve.dataset, curve.generator, *c) for c in curve.cells]
            found = [scores.estimate(*each) / units[curve.dataset] for each in where]
            place = np.arange(len(labels)) + (i - (len(curves) - 1) / 2) * step
            below, above = zip(*(each.whiskers for each in found), strict=True)
            style = {**curve.style, "label": curve.label}
            points(axis, place, [each.mean for each in found], (below, above), style)
            if metric == ATTACK:
                tops = [scores.estimate(experiment, HIGHEST_ATTACK, *each[2:]) for each in where]
                light = {"alpha": LIGHT, "linewidth": 1, "color": style["color"]}
                axis.plot(place, [each.mean for each in tops], **light)
        for i, (dataset, colour) in enumerate(datasets.items()):
            raw = scores.estimate(experiment, metric, dataset, REAL).mean / units[dataset]
            level(axis, raw, None if i else RAW, color=colour)
        plain(axis, heading)
        axis.set_xticks(range(len(labels)), labels)
        axis.set_xlim(-0.5, len(labels) - 0.5)
        if metric == ATTACK:
            axis.plot([], [], color="#444444", alpha=LIGHT, label=TOP)
            coin(axis, COIN)
            one_legend(figure, axis, columns, LAST)
    return figure


def six_panels(
    scores: Scores, figure: Any, experiment: str, datasets: Sequence[str]
) -> Iterator[tuple[str, Any, dict[str, float]]]:
    """Two rows of three axes, titled with what is better: measure, axis, unit of each data set.

    RMSE is divided by that of the raw data where several data sets share the panel.
    """
    for axis, (metric, measure) in zip(
        figure.subplots(2, 3).ravel(), CHAPTER.measures.items(), strict=True
    ):
        units = dict.fromkeys(datasets, 1.0)
        name, better = measure.title, "higher" if measure.upward else "lower"
        if metric == "rmse" and len(datasets) > 1:
            name += " / raw data's"
            raw = {d: scores.estimate(experiment, metric, d, REAL).mean for d in datasets}
            units |= {dataset: unit for dataset, unit in raw.items() if unit > 0}
        axis.set_title(f"{name} ({better} is better)", fontsize=10)
        yield metric, axis, units


def draw_settings(scores: Scores, number: str) -> Any | None:
    """Figure 5.1, 5.2, 5.3 or 5.4, or None if its experiment has no figures."""
    figure = CHAPTER.figures[number]
    experiment = figure.experiment
    variants = sorted(scores.variants(experiment), key=_place)
    datasets = scores.datasets(experiment) if variants else []
    curves = []
    for dataset in datasets:
        look = CHAPTER.datasets.get(dataset, Look("#8C8C8C", "X"))
        style = {"color": look.colour, "marker": look.marker}
        style["linestyle"] = "-" if figure.ordered else "none"
        cells = [(variant, None) for variant in variants]
        curves.append(Curve(title_of(dataset), style, dataset, SHIRLEY, cells, look.colour))
    if not curves:
        return None
    note = f"{SHIRLEY} (proved: nothing); {scale_note(scores.runs(experiment))}"
    title = f"Figure {number.replace('_', '.')}: {figure.title}\n{note}"
    ticks = figure.heading, [variant.split(" ")[-1] for variant in variants]
    return draw_curves(scores, experiment, title, curves, ticks, 6)


def _place(variant: str) -> float:
    """Place of a setting along an axis: numbers by size, then words."""
    try:
        return float(variant.rsplit(" ", maxsplit=1)[-1])
    except ValueError:
        return np.inf


def dataset_of(scores: Scores, number: str) -> str | None:
    """Which data set a figure over epsilon shows."""
    there = scores.datasets("models")
    return next((name for name in CHAPTER.figures[number].datasets if name in there), None)


def draw_epsilons(scores: Scores, number: str) -> Any | None:
    """Figure 5.5, 5.6 or 5.7: six measures over epsilon, a line per generator."""
    dataset = dataset_of(scores, number)
    if dataset is None or not (generators := scores.generators("models", dataset)):
        return None
    epsilons = scores.epsilons("models", dataset)
    cells = [("", epsilon) for epsilon in epsilons]
    curves = []
    for generator in generators:
        big = generator == VINE
        look = CHAPTER.generators.get(generator, Look(""))
        style = {
            "color": colour_of(generator, generators),
            "marker": look.marker,
            "markersize": 9 if big else 6,
            "linewidth": 1.8 if big else 1.3,
        }
        label = labelled(scores, dataset, generator)
        curves.append(Curve(label, style, dataset, generator, cells))
    note = scale_note(scores.runs("models", dataset))
    title = f"Figure {number.replace('_', '.')}: {title_of(dataset)} over epsilon\n{note}"
    ticks = "epsilon", list(map(epsilon_text, epsilons))
    return draw_curves(scores, "models", title, curves, ticks, 2)


def colour_of(generator: str, others: Sequence[str]) -> str:
    """Colour of a generator, the same in every figure."""
    if generator in CHAPTER.generators:
        return CHAPTER.generators[generator].colour
    unknown = [name for name in others if name not in CHAPTER.generators]
    return OTHER_COLOURS[unknown.index(generator) % len(OTHER_COLOURS)]


def labelled(scores: Scores, dataset: str, generator: str) -> str:
    """A generator with what it claims and what is proved, at the least epsilon."""
    own = scores.runs("models", dataset)
    own = own[(own["generator"] == generator) & own["epsilon"].notna()].sort_values("epsilon")
    if own.empty:
        return shown(generator)
    claimed, proved = own.iloc[0][["claimed", "proved"]]
    words = f"where it claims {claimed} it proves {proved}"
    return f"{shown(generator)}: {'proves what it claims' if claimed == proved else words}"


def draw_overall(scores: Scores) -> Any | None:
    """Figure 5.8: bars from the lowest to the highest mean over epsilon, the mean marked."""
    datasets = scores.datasets("models")
    if not datasets:
        return None
    epsilons = ", ".join(map(epsilon_text, scores.epsilons("models")))
    note = f"bars from the lowest to the highest mean over epsilon ({epsilons}), line: mean of them"
    title = f"Figure 5.8: the generators over all epsilons\n{note}"
    figure = titled(11.5 if len(datasets) < 3 else 13, 7, title)
    for metric, axis, units in six_panels(scores, figure, "models", datasets):
        plain(axis)
        axis.use_sticky_edges = False  # else the lowest bar is cut off
        for i, (dataset, unit) in enumerate(units.items()):
            _draw_bars(scores, axis, (metric, dataset), i, unit)
            raw = scores.estimate("models", metric, dataset, REAL).mean / unit
            line = {"color": GREY, "linestyle": ":", "label": None if i else RAW}
            axis.hlines(raw, i - 0.42, i + 0.42, **line)
        axis.set_xticks(range(len(datasets)), [title_of(d).split(" (")[0] for d in datasets])
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


def scale_note(done: pd.DataFrame) -> str:
    """How much stands behind a figure: folds, rows, classifiers."""
    folds, of = done["fold"].nunique(), int(done["folds"].max())
    bars = {1: "one fold has no interval", 2: "bars join the two folds"}
    words = [f"{folds} of {of} folds" if folds < of else f"{of} folds"]
    words.append(bars.get(folds, "bars are 95 % intervals"))
    if done["rows"].notna().any():
        words.append(f"{int(done['rows'].max()):,} rows only")
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
            axis.hist(made[across], bins=30, color=GREY)
        else:
            axis.scatter(some[across], some[down], color=GREY, **DOT)
        axis.set_yticks([])
        axis.tick_params(labelsize=8)
        if j == 0:
            axis.set_ylabel(down, rotation=0, fontsize=11, labelpad=10)
        if i == len(NAMES) - 1:
            axis.set_xlabel(across, fontsize=11)
    return figure


def draw_drawn(made: pd.DataFrame, here: pd.DataFrame, epsilon: float) -> Any:
    """Figure 5.10: A against the others, a line of panels per generator, the made set on top."""
    found = in_order(here["generator"], CHAPTER.generators)
    tables = {"made set": made.iloc[:SHOWN_ROWS]}
    tables |= {name: here[here["generator"] == name] for name in found}
    noise = "noise off" if np.isnan(epsilon) else f"epsilon {epsilon_text(epsilon)}"
    title = f"Figure 5.10: rows drawn by the generators, {noise}"
    figure = titled(9, 1.55 * len(tables) + 1, title)
    axes = figure.subplots(len(tables), len(NAMES) - 1, sharex=True, sharey="col", squeeze=False)
    for i, (name, table) in enumerate(tables.items()):
        colour = GREY if i == 0 else colour_of(name, found)
        for axis, other in zip(axes[i], NAMES[1:], strict=True):
            axis.scatter(table["A"], table[other], color=colour, **DOT)
            axis.tick_params(labelsize=8)
        axes[i, 0].set_ylabel(f"{name}\n(ours)" if name == VINE else name, fontsize=9)
    axes[0, 0].set_xlim(made["A"].min() - 0.3, made["A"].max() + 0.3)
    for axis, other in zip(axes[0], NAMES[1:], strict=True):
        axis.set_title(f"A and {other}", fontsize=10)
        axis.set_ylim(made[other].min() - 0.3, made[other].max() + 0.3)
    return figure


def draw_all(scores: Scores, made: pd.DataFrame | None, scatter: pd.DataFrame) -> dict[str, Any]:
    """Every figure by number; those that cannot be drawn are left out.

    ``made`` is the made set and ``scatter`` are rows that generators drew from it, for figures
    5.9 and 5.10.
    """
    found: dict[str, Any] = {}
    for number, figure in CHAPTER.figures.items():
        if figure.experiment:
            found[number] = draw_settings(scores, number)
        if figure.datasets:
            found[number] = draw_epsilons(scores, number)
    found["5_8"] = draw_overall(scores)
    if made is not None:
        found["5_9"] = draw_made(made)
        # epsilon off first, then from the largest to the smallest
        scatter = scatter.assign(order=-scatter["epsilon"].astype(float).fillna(np.inf))
        for _, rows in scatter.groupby("order"):
            epsilon = float(rows["epsilon"].iloc[0])
            found[f"5_10_epsilon_{epsilon_text(epsilon)}"] = draw_drawn(made, rows, epsilon)
    return {number: figure for number, figure in found.items() if figure is not None}
