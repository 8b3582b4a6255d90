"""What the charts of a report show: a piece of HTML for every choice, packed into the page.

Breakdowns by column and pair are means over the runs of a line; margins are those of its first
fold and seed.
"""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np
from jinja2 import Environment

from copula_shirley.evaluation import figures
from copula_shirley.evaluation.report.pieces import margin_panels, pair_cells, worst_pairs
from copula_shirley.evaluation.report.words import Measure, number
from copula_shirley.experiments.report.lines import Line, size
from copula_shirley.pictures import sheet

#: Of each chart: what can be chosen, and what is shown first.
CHOICES = {
    "use-chart": {"Data set": "", "Metric": "TVD 2 ↓"},
    "attack-chart": {"Data set": "", "Metric": "attack, all →.5"},
    "column-map": {"Data set": "", "Epsilon": "1", "Metric": ""},
    "pair-map": {"Data set": "", "Generator": "", "Metric": ""},
    "margin-grid": {"Data set": "", "Generator": ""},
}
BY_COLUMN = ("ks", "tvd1")
BY_PAIR = ("tvd2", "spearman_drift")
#: Packed letters of all pieces; lines beyond them have no pairs and margins, and the page says so.
MOST_LETTERS = 900_000
#: What was chosen, by the order of the chart's choices, and the piece itself.
Piece = tuple[str, list[str], str]


class Charts:
    """Makes every piece of the charts of some lines."""

    def __init__(
        self, lines: Sequence[Line], measures: Mapping[str, Measure], environment: Environment
    ) -> None:
        self.measures = measures
        self.template: Any = environment.get_template("charts.html.jinja").module
        self.parts: Any = environment.get_template("parts.html.jinja").module
        self.sets: dict[str, list[Line]] = {}
        for line in lines:
            self.sets.setdefault(line.dataset, []).append(line)
        names = dict.fromkeys(line.name for line in lines if not line.reference)
        self.looks = {name: figures.look(i) for i, name in enumerate(names)}
        shapes = dict(zip(figures.MARKERS, "●■▲◆★▼✚", strict=True))
        self.marks = {
            name: (f"var(--c{i % 8})", shapes[self.looks[name]["marker"]])
            for i, name in enumerate(names)
        }
        self.means = cache(_means)
        self.largest = cache(self._largest)

    def packed(self) -> tuple[str, int]:
        """All pieces as compressed letters, and the number of lines that found no room."""
        packer, letters, cut = zlib.compressobj(6), bytearray(), 0

        def add(*pieces: Any) -> None:
            text = "".join(f"{json.dumps(piece)}\n" for piece in pieces)
            letters.extend(packer.compress(text.encode("ascii")))

        add({chart: list(choices.items()) for chart, choices in CHOICES.items()})
        for dataset in self.sets:
            add(*self.curves(dataset), *self.columns(dataset))
        for line in (line for some in self.sets.values() for line in some if line.done):
            letters += packer.flush(zlib.Z_SYNC_FLUSH)
            if len(letters) * 4 / 3 > MOST_LETTERS:
                cut += 1
            else:
                add(*self.pairs(line), *self.margins(line))
        return base64.b64encode(bytes(letters + packer.flush())).decode(), cut

    # -- epsilon against a figure ------------------------------------------------

    def curves(self, dataset: str) -> Iterator[Piece]:
        """A chart for each metric: a line per generator over epsilon."""
        every = dict.fromkeys(line.name for line in self.sets[dataset] if not line.reference)
        for measure in self.measures.values():
            lines = [line for line in self.sets[dataset] if measure.name in line.figures]
            if lines and measure.better != "none":
                shown = {line.name for line in lines}
                html = self.template.curves(
                    self.picture(lines, measure, f"{dataset} {measure.name}"),
                    [(name, *self.marks[name], name in shown) for name in every],
                    measure,
                    any(line.figures[measure.name].half is None for line in lines),
                    any(line.reference == "real" for line in lines),
                )
                chart = "attack-chart" if measure.attack else "use-chart"
                yield chart, [dataset, f"{measure.label} {measure.arrow}"], html

    def picture(self, lines: Sequence[Line], measure: Measure, salt: str) -> str:
        """The chart itself, with a tip for each point."""
        scores = {line: line.figures[measure.name] for line in lines}
        ranked = [line for line in lines if not line.reference]
        own = ranked or list(lines)
        epsilons = sorted({line.epsilon for line in own}, key=size)
        figure = sheet(5.4, 3.5, layout=None)
        axis = figure.add_axes((0.14, 0.14, 0.71, 0.83))
        figures.plain(axis, "epsilon")
        axis.set_ylabel(f"{measure.label} {measure.arrow}", fontsize=figures.SMALL)
        ticks = ["no noise" if e is None else f"{e:g}" for e in epsilons]
        axis.set_xticks(range(len(epsilons)), ticks)
        axis.set_xlim(-0.5, len(epsilons) - 0.5)
        found = [scores[line] for line in own]
        ends = [s.mean + sign * s.half for s in found if s.half is not None for sign in (-1, 1)]
        means = [s.mean for s in found] + [0.5] * (measure.better == "0.5")
        axis.set_ylim(figures.limits(means, ends, measure.bounds))
        if measure.better == "0.5":
            figures.coin(axis)
            axis.text(-0.48, 0.5, "a coin", va="bottom", fontsize=7)
        real = [scores[line].mean for line in lines if line.reference == "real"]
        if real:
            _beside(axis, float(np.mean(real)))
        tips: dict[str, list[str]] = {}
        names = list(dict.fromkeys(line.name for line in ranked))
        for i, name in enumerate(names):
            some = [line for line in ranked if line.name == name]
            shift = (i - (len(names) - 1) / 2) * min(0.07, 0.6 / len(names))
            places = [epsilons.index(line.epsilon) + shift for line in some]
            halves = [scores[line].half or 0.0 for line in some]
            own_means = [scores[line].mean for line in some]
            figures.points(axis, places, own_means, (halves, halves), self.looks[name], i)
            tips[name] = [
                f"{name}{line.at}\n{measure.label}: {scores[line].told()}" for line in some
            ]
        return figures.inline(figure, salt, tips)

    # -- columns, pairs, margins -------------------------------------------------

    def columns(self, dataset: str) -> Iterator[Piece]:
        """A heat map of columns by generator for each epsilon and metric."""
        lines, names = self.sets[dataset], self.names(dataset)
        epsilons = dict.fromkeys(line.epsilon_text for line in lines if not line.reference)
        for epsilon in epsilons or {"off": None}:
            for metric in BY_COLUMN:
                here = [line for line in lines if not line.at or line.epsilon_text == epsilon]
                found = {line: self.means(line, metric, "columns") for line in here}
                here = sorted(filter(found.get, here), key=lambda line: bool(line.reference))
                if here:
                    rows = [(name, [(x, found[x].get(name)) for x in here]) for name in names]
                    measure, most = self.measures[metric], self.largest(dataset, metric, "columns")
                    html = self.template.column_map(here, rows, measure, most)
                    yield "column-map", [dataset, epsilon, measure.label], html

    def pairs(self, line: Line) -> Iterator[Piece]:
        """A heat map of pairs of columns for each metric."""
        names = self.names(line.dataset)
        for metric in BY_PAIR:
            found = self.means(line, metric, "pairs")
            if found and len(names) > 1:
                measure, most = self.measures[metric], self.largest(line.dataset, metric, "pairs")
                cells = pair_cells(found, names), worst_pairs(found)
                html = self.parts.pair_map(*cells, measure, most, names, self.template.means)
                yield "pair-map", [line.dataset, line.name + line.at, measure.label], html

    def margins(self, line: Line) -> Iterator[Piece]:
        """Bars of real and synthetic shares for each column."""
        if panels := margin_panels(line.done[0].get("margins", {})):
            run = line.done[0]["run"]
            whose = f"synthetic rows, fold {run['fold']}, seed {run['seed']} alone"
            html = self.parts.margins(panels, whose)
            yield "margin-grid", [line.dataset, line.name + line.at], html

    def names(self, dataset: str) -> list[str]:
        """The columns of a data set."""
        done = [line for line in self.sets[dataset] if line.done]
        return list(done[0].done[0].get("margins", {})) if done else []

    def _largest(self, dataset: str, metric: str, part: str) -> float:
        """The largest value of the ranked lines, so that colours mean the same for all of them."""
        lines = self.sets[dataset]
        ranked = [line for line in lines if not line.reference] or lines
        every = (value for line in ranked for value in self.means(line, metric, part).values())
        return max([1e-3, *every])


def _beside(axis: Any, real: float) -> None:
    """A line for the real rows with its value beside it; at the edge if it is off the scale."""
    low, high = axis.get_ylim()
    if low - (high - low) < real < high + (high - low):
        low, high = min(low, real - 0.05 * (high - low)), max(high, real + 0.05 * (high - low))
        axis.set_ylim(low, high)
    arrow = "↑ " if real > high else "↓ " if real < low else ""
    place = min(max(real, low), high)
    figures.level(axis, place, None, clip_on=False)
    text = f"real rows\n{arrow}{number(real)}"
    axis.text(1.01, place, text, transform=axis.get_yaxis_transform(), va="center", fontsize=8)


def _means(line: Line, metric: str, part: str) -> dict[str, float]:
    """Means over the runs by column or pair."""
    values: dict[str, list[float]] = {}
    for row in line.done:
        for key, value in row["figures"].get(metric, {}).get("detail", {}).get(part, {}).items():
            if value is not None:
                values.setdefault(key, []).append(value)
    return {key: sum(some) / len(some) for key, some in values.items()}
