"""The report of the showcase: one self-contained HTML file."""

from __future__ import annotations

import base64
import io
from html import escape
from pathlib import Path

from copula_shirley.artefact import atomic_path
from experiments.datasets import Dataset
from experiments.showcase import HEADINGS, Score

PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>copula-shirley: {title}</title><style>
body {{ font: 16px/1.5 system-ui, sans-serif; max-width: 62rem; margin: 2rem auto }}
table {{ border-collapse: collapse }} th, td {{ padding: .3rem .8rem; text-align: left }}
tr {{ border-bottom: 1px solid #ddd }} img {{ max-width: 100% }}
</style></head><body>
<h1>{title}</h1>
<p>{rows} rows, {columns} columns. Source: {source}. Licence: {licence}. One training fold; every
figure compares with the test fold. KS: mean Kolmogorov-Smirnov distance over the columns; drift:
mean absolute difference of the Spearman matrices; tvd2: mean total variation of pairs; for these 0
is best. MCC: how well a classifier trained on the synthetic rows predicts real ones (1 is best, 0
is guessing); RMSE: error of a regression trained on them. Attack: share of right calls of a
membership attack with all synthetic rows; a coin has .5.</p>
<table>
{table}
</table>
<h2>Which columns are off</h2>
<img alt="KS distance per column and generator" src="data:image/png;base64,{plot}">
</body></html>
"""


def write_report(dataset: Dataset, scores: list[Score], path: Path) -> None:
    """Write the scores as a table and a picture."""
    page = PAGE.format(
        title=escape(dataset.title),
        rows=len(dataset.table),
        columns=len(dataset.schema),
        source=escape(dataset.source),
        licence=escape(dataset.licence),
        table="\n".join([_row(HEADINGS, "th"), *(_row(s.cells(), "td") for s in scores)]),
        plot=_plot(scores),
    )
    with atomic_path(path) as partial:
        partial.write_text(page, encoding="utf-8")


def _row(cells: list[str], tag: str) -> str:
    return "<tr>" + "".join(f"<{tag}>{escape(cell)}</{tag}>" for cell in cells) + "</tr>"


def _plot(scores: list[Score]) -> str:
    """KS per column as a PNG in base64."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg  # noqa: PLC0415
    from matplotlib.figure import Figure  # noqa: PLC0415

    names = list(scores[0].ks)
    figure = Figure(figsize=(10, 0.42 * len(names) + 1.6), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots()
    height = 0.8 / len(scores)
    for i, score in enumerate(scores):
        places = [j + i * height for j in range(len(names))]
        axes.barh(places, [score.ks[name] for name in names], height, label=score.label)
    axes.set_yticks([j + 0.4 for j in range(len(names))], names)
    axes.invert_yaxis()
    axes.set_xlabel("Kolmogorov-Smirnov distance to the test fold")
    axes.legend(fontsize=8)
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=110)
    return base64.b64encode(buffer.getvalue()).decode()
