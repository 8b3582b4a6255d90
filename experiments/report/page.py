"""One page from result rows: leaderboard, charts, ledgers, failures, provenance."""

from __future__ import annotations

import base64
import hashlib
from collections import Counter
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from copula_shirley.experiments.report import words
from copula_shirley.experiments.report.charts import Charts
from copula_shirley.experiments.report.lines import Line, lines_of, rank_lines, size
from copula_shirley.experiments.report.sections import accounts, complaints, origins, troubles
from copula_shirley.experiments.run.store import Row
from copula_shirley.files.atomic import atomic_path

HERE = Path(__file__).parent
#: Columns of the table of costs: figure, heading.
COSTS = {
    "fit_seconds": "fit",
    "sample_seconds": "sample",
    "evaluate_seconds": "scoring",
    "total_seconds": "whole run",
    "fit_megabytes": "fit, memory",
    "sample_megabytes": "sample, memory",
}


def write_report(rows: list[Row], path: str | Path, title: str) -> None:
    """Write the report of result rows, as ``Store.rows`` gives them, all of it or nothing."""
    page = render(rows, title)
    with atomic_path(path) as partial:
        # a label may hold half a character, which no file can
        partial.write_text(page, encoding="utf-8", errors="replace")


def render(rows: list[Row], title: str) -> str:
    """The page as text; the same rows give the same page."""
    lines = lines_of(rows)
    ranked = [line for line in lines if not line.reference]
    measures = words.measures_of(rows)
    rank_lines(lines, {name: measure.better for name, measure in measures.items()})
    datasets = list(dict.fromkeys(line.dataset for line in lines))

    def order(line: Line) -> tuple[int, float, float]:
        return datasets.index(line.dataset), size(line.epsilon), size(line.rank)

    entries = sorted(lines, key=order)  # the best first, the failed last
    counts = Counter(row["status"] for row in rows)
    epsilons = {line.epsilon: line.epsilon_text for line in ranked or lines}
    script = (HERE / "report.js").read_text(encoding="utf-8")
    environment = Environment(
        loader=FileSystemLoader(HERE),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    filters = (words.short, words.number, words.seconds, words.bar)
    environment.filters |= {function.__name__: function for function in filters}
    data, cut = Charts(lines, measures, environment).packed()
    return environment.get_template("page.html.jinja").render(
        title=title,
        style=Markup((HERE / "style.css").read_text(encoding="utf-8")),
        script=Markup(script),
        script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
        data=data,
        cut=cut,
        runs=len(rows),
        counts=sorted(counts.items(), key=lambda each: (each[0] != "done", each[0])),
        generators=len({line.name for line in ranked}),
        datasets=datasets,
        epsilons=[epsilons[epsilon] for epsilon in sorted(epsilons, key=size)],
        measures=list(measures.values()),
        directions=words.DIRECTIONS,
        ranked=[line for line in entries if not line.reference],
        references=[line for line in entries if line.reference],
        entries=entries,
        costs=COSTS,
        accounts=accounts(lines),
        troubles=troubles(lines),
        complaints=complaints(lines),
        origins=origins(rows),
        single=any(len({row["run"]["fold"] for row in line.done}) == 1 for line in lines),
    )
