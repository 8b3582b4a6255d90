"""Figures 5.1 to 5.8."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from copula_shirley.experiments.paper.drawing import (
    RAW,
    TOP,
    coin,
    line_style,
    one_legend,
    points,
    scale_note,
    sheet,
    six_panels,
)
from copula_shirley.experiments.paper.printed import (
    COLOURS,
    HIGHEST_ATTACK,
    REAL,
    SHIRLEY,
    TITLES,
    epsilon_text,
    shown,
)
from copula_shirley.experiments.paper.scores import Scores

#: Figures 5.1 to 5.4: experiment, title, name of the axis, whether the settings have an order.
SETTINGS = {
    "5_1": ("ratio", "split of the rows, epsilon 1", "share of the histogram rows", True),
    "5_2": ("encoders", "encoders of categories, epsilon 1", "encoder", False),
    "5_3": ("mechanisms", "mechanisms of the histograms, epsilon 0.1", "mechanism", False),
    "5_4": (
        "truncation",
        "truncation of the vine, epsilon 1",
        "number of trees (none: the whole vine)",
        True,
    ),
}
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
#: The highest score of the attack is drawn lightly.
LIGHT = 0.35


def draw_settings(scores: Scores, number: str) -> Any | None:
    """Figure 5.1, 5.2, 5.3 or 5.4, or None if its experiment has no figures."""
    experiment, title, heading, ordered = SETTINGS[number]
    datasets, variants = scores.datasets(experiment), along(scores.variants(experiment))
    if not datasets or not variants:
        return None
    part = scores.frame[scores.frame["experiment"] == experiment]
    name = f"Figure {number.replace('_', '.')}: {title}"
    figure = sheet(11.5, 6.6, name, f"{SHIRLEY} (proved: nothing); {scale_note(part)}")
    several = len(datasets) > 1
    axes = six_panels(figure, {"rmse": " / raw data's"} if several else None)
    for metric, axis in axes.items():
        for i, dataset in enumerate(datasets):
            place = np.arange(len(variants)) + (i - (len(datasets) - 1) / 2) * 0.14
            colour, mark = SHADES.get(dataset, ("#8C8C8C", "X"))
            style = {"color": colour, "marker": mark, "linestyle": "-" if ordered else "none"}
            unit = raw_unit(scores, experiment, dataset) if several and metric == "rmse" else 1.0
            found = [
                scores.estimate(experiment, metric, dataset, SHIRLEY, each) / unit
                for each in variants
            ]
            points(axis, place, found, {**style, "label": TITLES.get(dataset, dataset)})
            if metric == "membership_hamming":
                tops = [
                    scores.estimate(experiment, HIGHEST_ATTACK, dataset, SHIRLEY, each).mean
                    for each in variants
                ]
                label = TOP if i == 0 else None
                axis.plot(place, tops, **(style | {"alpha": LIGHT, "label": label}))
            raw = scores.estimate(experiment, metric, dataset, REAL).mean / unit
            label = RAW if i == 0 else None
            axis.axhline(raw, color=style["color"], linestyle=":", linewidth=1.4, label=label)
        axis.set_xticks(range(len(variants)), [each.split(" ")[-1] for each in variants])
        axis.set_xlim(-0.5, len(variants) - 0.5)
        axis.set_xlabel(heading, fontsize=9)
    coin(axes["membership_hamming"])
    one_legend(figure, axes["membership_hamming"], 6)
    return figure


def raw_unit(scores: Scores, experiment: str, dataset: str) -> float:
    """RMSE of the raw data, so that data sets can share a panel; 1 if it is not known."""
    unit = scores.estimate(experiment, "rmse", dataset, REAL).mean
    return unit if unit > 0 else 1.0


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


def draw_epsilons(scores: Scores, dataset: str, number: str = "") -> Any | None:
    """Figure 5.5, 5.6 or 5.7: six measures over epsilon, a line per generator."""
    generators = scores.generators("models", dataset)
    if not generators:
        return None
    part = scores.frame[scores.frame["experiment"] == "models"]
    part = part[part["dataset"] == dataset]
    name = f"Figure {number.replace('_', '.')}: " if number else ""
    figure = sheet(11.5, 7, f"{name}{TITLES.get(dataset, dataset)} over epsilon", scale_note(part))
    axes = six_panels(figure)
    epsilons = scores.epsilons("models", dataset)
    for metric, axis in axes.items():
        for i, generator in enumerate(generators):
            place = np.arange(len(epsilons)) + (i - (len(generators) - 1) / 2) * 0.07
            style = line_style(generator, generators)
            found = [scores.estimate("models", metric, dataset, generator, "", e) for e in epsilons]
            points(axis, place, found, {**style, "label": labelled(scores, dataset, generator)})
            if metric == "membership_hamming":
                tops = [
                    scores.estimate("models", HIGHEST_ATTACK, dataset, generator, "", e).mean
                    for e in epsilons
                ]
                axis.plot(place, tops, color=style["color"], alpha=LIGHT, linewidth=1)
        raw = scores.estimate("models", metric, dataset, REAL).mean
        axis.axhline(raw, color=COLOURS[REAL], linestyle=":", linewidth=1.8, label=RAW)
        axis.set_xticks(range(len(epsilons)), [epsilon_text(e) for e in epsilons])
        axis.set_xlabel("epsilon", fontsize=9)
    attack = axes["membership_hamming"]
    attack.plot([], [], color="#444444", alpha=LIGHT, label=TOP)
    coin(attack)
    one_legend(figure, attack, 2)
    return figure


def labelled(scores: Scores, dataset: str, generator: str) -> str:
    """A generator with what it claims and what is proved, at the least epsilon."""
    done = scores.done
    own = done[(done["generator"] == generator) & (done["dataset"] == dataset)]
    own = own[(own["experiment"] == "models") & own["epsilon"].notna()].sort_values("epsilon")
    if own.empty:
        return shown(generator)
    line = own.iloc[0]
    claimed, proved = line["claimed"], line["proved"]
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
    width = 11.5 if len(datasets) < 3 else 13
    figure = sheet(width, 7, "Figure 5.8: the generators over all epsilons", note)
    several = len(datasets) > 1
    axes = six_panels(figure, {"rmse": " / raw data's"} if several else None)
    named: set[str] = set()
    for metric, axis in axes.items():
        for i, dataset in enumerate(datasets):
            unit = raw_unit(scores, "models", dataset) if several and metric == "rmse" else 1.0
            _draw_bars(scores, axis, metric, dataset, i, unit, named)
        axis.set_xticks(range(len(datasets)), [TITLES.get(d, d).split(" (")[0] for d in datasets])
        if metric == "membership_hamming":
            coin(axis)
            one_legend(figure, axis, 4)
        named.clear()
    return figure


def _draw_bars(
    scores: Scores, axis: Any, metric: str, dataset: str, i: int, unit: float, named: set[str]
) -> None:
    generators = scores.generators("models", dataset)
    epsilons = scores.epsilons("models", dataset)
    step = 0.8 / max(len(generators), 1)
    axis.use_sticky_edges = False  # else the lowest bar is cut off
    least = _least_height(scores, metric)
    for j, generator in enumerate(generators):
        every = [scores.estimate("models", metric, dataset, generator, "", e) for e in epsilons]
        means = [each.mean / unit for each in every if each.folds]
        if not means:
            continue
        place = i - 0.4 + (j + 0.5) * step
        low, high = min(means), max(*means, min(means) + least)
        colour = line_style(generator, generators)["color"]
        label = None if generator in named else shown(generator)
        named.add(generator)
        axis.bar(place, high - low, step * 0.8, bottom=low, color=colour, alpha=0.55, label=label)
        mean = float(np.mean(means))
        axis.hlines(mean, place - step * 0.42, place + step * 0.42, color=colour, linewidth=2.5)
    raw = scores.estimate("models", metric, dataset, REAL).mean / unit
    label = None if REAL in named else RAW
    named.add(REAL)
    axis.hlines(raw, i - 0.42, i + 0.42, color=COLOURS[REAL], linestyle=":", label=label)


def _least_height(scores: Scores, metric: str) -> float:
    """A bar without spread is still seen: a hundredth of what the panel shows."""
    values = scores.done.loc[scores.done["metric"] == metric, "value"]
    return 0.0 if metric == "rmse" else float(np.ptp(values)) / 100 if len(values) else 0.0


def draw_all(scores: Scores) -> dict[str, Any]:
    """Figures 5.1 to 5.8 by number; those that cannot be drawn are left out."""
    found = {number: draw_settings(scores, number) for number in SETTINGS}
    for number in BY_EPSILON:
        dataset = dataset_of(scores, number)
        found[number] = None if dataset is None else draw_epsilons(scores, dataset, number)
    found["5_8"] = draw_overall(scores)
    return {number: figure for number, figure in found.items() if figure is not None}
