"""Figures from tiny frames: lines, labels, what is missing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from paper_frames import all_metrics, lines, lost, models, ratios, scores

from copula_shirley.evaluation.figures import inline, limits, points, save
from copula_shirley.experiments.paper import figures
from copula_shirley.experiments.paper.chapter import CHAPTER
from copula_shirley.experiments.paper.figures import (
    dataset_of,
    draw_all,
    draw_drawn,
    draw_epsilons,
    draw_made,
    draw_overall,
    draw_settings,
)
from copula_shirley.pictures import sheet

MADE = pd.DataFrame(np.random.default_rng(0).normal(size=(50, 6)), columns=list("ABCDEF"))
SPLITS = {"0.1": all_metrics(0.1), "0.5": all_metrics(0.2), "0.9": all_metrics(0.3)}


def labels(figure: Any) -> list[str]:
    return [text.get_text() for text in figure.legends[0].get_texts()]


def ticks(axis: Any) -> list[str]:
    return [text.get_text() for text in axis.get_xticklabels()]


def test_figure_5_1_has_six_panels_a_line_per_data_set_and_the_raw_line() -> None:
    more = [{**line, "dataset": "adult"} for line in ratios(SPLITS)]
    figure = draw_settings(scores(ratios(SPLITS), more), "5_1")
    assert figure is not None
    assert len(figure.axes) == 6
    for axis in figure.axes:
        assert len(axis.containers) == 2  # one errorbar per data set
        assert ticks(axis) == ["0.1", "0.5", "0.9"]
        dotted = [line for line in axis.lines if line.get_linestyle() == ":"]
        assert len(dotted) == 2
    assert labels(figure)[:2] == ["COMPAS", "Adult"]
    assert "raw data's" in figure.axes[4].get_title()  # RMSE of two sets shares a panel
    line = figure.axes[0].containers[0].lines[0]
    assert list(line.get_ydata()) == pytest.approx([0.1, 0.2, 0.3])
    assert dotted[0].get_ydata()[0] == pytest.approx(0.06)
    # the highest score of the attack, lightly: two sets and one for the legend
    light = [line for line in figure.axes[5].lines if line.get_alpha() not in (None, 1)]
    assert len(light) == 3
    assert list(light[0].get_ydata()) == pytest.approx([0.16, 0.26, 0.36])


def test_a_skipped_setting_leaves_its_place_empty() -> None:
    levels = [f"truncation {level}" for level in ("none", "auto", "2", "1", "10")]
    parts = [lines("truncation", "COPULA-SHIRLEY", {"ks": 0.1}, variant=v) for v in levels]
    figure = draw_settings(scores(*parts), "5_4")
    assert figure is not None and ticks(figure.axes[0]) == ["1", "2", "10", "none", "auto"]
    part = lines("encoders", "COPULA-SHIRLEY", {"ks": 0.1}, variant="encoder woe")
    gone = lost("encoders", "COPULA-SHIRLEY", "skipped", "too many", variant="encoder onehot")
    figure = draw_settings(scores(part, [gone]), "5_2")
    assert figure is not None and ticks(figure.axes[0]) == ["woe", "onehot"]
    assert np.isnan(figure.axes[0].containers[0].lines[0].get_ydata()[1])


def test_a_line_per_generator_over_epsilon_in_its_colour_with_its_guarantee() -> None:
    figure = draw_epsilons(scores(models()), "5_5")
    assert figure is not None
    axis = figure.axes[0]
    assert len(axis.containers) == 5
    assert ticks(axis) == ["off", "0.1"]
    colours = [each.lines[0].get_color() for each in axis.containers]
    assert colours == [look.colour for look in CHAPTER.generators.values()][:5]
    named = labels(figure)
    assert named[0] == "COPULA-SHIRLEY: where it claims epsilon 0.1 it proves nothing"
    assert named[4].startswith("PrivateVine (ours, not in the thesis)")
    assert "raw data" in named


@pytest.mark.parametrize(
    ("there", "shown"),
    [("diabetes130", "diabetes130"), ("diabetes130 texas", "texas"), ("compas", None)],
)
def test_texas_comes_before_its_stand_in(there: str, shown: str | None) -> None:
    some = [lines("models", "PrivBayes", {"ks": 0.1}, dataset=name) for name in there.split()]
    assert dataset_of(scores(*some), "5_6") == shown


def test_bars_from_lowest_to_highest() -> None:
    figure = draw_overall(scores(models(["compas", "adult"])))
    assert figure is not None
    bars = [patch for each in figure.axes[0].containers for patch in each.patches]
    assert len(bars) == 2 * 5
    assert bars[0].get_y() == pytest.approx(0.1 * 0)  # COPULA-SHIRLEY, noise off
    assert bars[0].get_height() == pytest.approx(0.05)
    assert labels(figure).count("PrivBayes") == 1


def test_what_is_missing_is_left_out() -> None:
    assert draw_all(scores(ratios(SPLITS)), None, MADE).keys() == {"5_1"}
    only = lines("models", "PrivBayes", {"ks": 0.1}, epsilon=1.0, folds=(0,))  # no real, no other
    found = draw_all(scores(only), None, MADE)
    assert found.keys() == {"5_5", "5_8"}
    assert "one fold has no interval" in found["5_5"].get_suptitle()
    assert draw_all(scores([lost("models", "PrivBayes", "failed", "it broke")]), None, MADE) == {}


def small(reach: float = 0.1) -> Any:
    figure = sheet(2, 1.5, layout=None)
    axis = figure.add_axes((0.1, 0.1, 0.8, 0.8))
    places, means, style = [0, 1], [0.1, 0.2], {"color": "#0072b2", "marker": "o"}
    points(axis, places, means, ([reach] * 2, [reach] * 2), style, 0)
    axis.set_title("a $5 & <b> title")
    return figure


def test_figures_in_files_and_pages_have_the_same_bytes_again(tmp_path: Path) -> None:
    paths = save(small(), tmp_path, "a")
    assert [path.name for path in paths] == ["a.png", "a.svg"]
    first = [path.read_bytes() for path in paths]
    save(small(), tmp_path, "a")
    assert [path.read_bytes() for path in paths] == first
    text = inline(small(), "salt", {"<Vine>": ["first", 'a "second" <tip>']})
    assert text.count('class="point"') == 2 and 'data-tip="first"' in text
    assert 'data-tip="a &quot;second&quot; &lt;tip&gt;"' in text
    assert 'class="series" data-series="&lt;Vine&gt;"' in text
    assert "#0072b2" not in text and "var(--c0)" in text and "a $5 &amp; &lt;b&gt; title" in text
    assert text == inline(small(), "salt", {"<Vine>": ["first", 'a "second" <tip>']})


def test_wide_intervals_do_not_press_the_means_together() -> None:
    assert limits([0.1, 0.3], [0.05, 0.32], (0.0, 1.0))[0] == 0.0
    assert limits([0.9, 0.98], [0.8, 1.0], (0.0, 1.0))[1] < 1.02
    low, high = limits([0.5], [], (None, None))
    assert low < 0.5 < high


def test_scatter_plots_of_the_made_set_and_of_each_generator(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(figures, "NAMES", "ABC")  # fewer panels, sooner drawn
    assert len(draw_made(MADE).axes) == 3 * 3
    names = ("PrivateVine", "COPULA-SHIRLEY")
    rows = pd.concat([MADE.assign(generator=name, epsilon=1.0) for name in names])
    axes = draw_drawn(MADE, rows, 1.0).axes
    assert len(axes) == 3 * 2
    labels = [axes[i].get_ylabel() for i in (0, 2, 4)]
    assert labels == ["made set", "COPULA-SHIRLEY", "PrivateVine\n(ours)"]


def test_each_epsilon_has_a_scatter_plot(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(figures, "draw_made", lambda _: "made")
    monkeypatch.setattr(figures, "draw_drawn", lambda *given: given[2])
    rows = pd.DataFrame({"epsilon": [1.0, 8.0, np.nan, 1.0]})
    nothing = scores([lost("models", "PrivBayes", "failed", "it broke")])
    drawn = list(draw_all(nothing, MADE, rows))
    assert drawn == ["5_9", "5_10_epsilon_off", "5_10_epsilon_8", "5_10_epsilon_1"]
    assert list(draw_all(nothing, MADE, rows.iloc[:0])) == ["5_9"]
