"""One page from result rows: leaderboard, charts, ledgers, failures, provenance."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from copula_shirley.evaluation.report.base import environment, filled, written
from copula_shirley.evaluation.report.words import DIRECTIONS
from copula_shirley.experiments.report import words
from copula_shirley.experiments.report.charts import Charts
from copula_shirley.experiments.report.lines import STANDINGS, leaderboard, lines_of, size
from copula_shirley.experiments.report.sections import accounts, complaints, origins, troubles
from copula_shirley.experiments.run.store import Row

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
    written(render(rows, title), path)


def render(rows: list[Row], title: str) -> str:
    """The page as text; the same rows give the same page."""
    lines = lines_of(rows)
    ranked = [line for line in lines if not line.reference]
    measures = words.measures_of(rows)
    board = leaderboard(lines, measures)
    entries = [line for some in board.values() for line in some]
    datasets = list(dict.fromkeys(line.dataset for line in lines))
    counts = Counter(row["status"] for row in rows)
    epsilons = {line.epsilon: line.epsilon_text for line in ranked or lines}
    templates = environment(HERE, filters=(words.seconds, words.bar))
    data, cut = Charts(lines, measures, templates).packed()
    return filled(
        templates,
        "page.html.jinja",
        HERE / "report.js",
        title=title,
        data=data,
        cut=cut,
        runs=len(rows),
        counts=sorted(counts.items(), key=lambda each: (each[0] != "done", each[0])),
        generators=len({line.name for line in ranked}),
        datasets=datasets,
        epsilons=[epsilons[epsilon] for epsilon in sorted(epsilons, key=size)],
        measures=list(measures.values()),
        directions=DIRECTIONS,
        board=board,
        standings=STANDINGS,
        entries=entries,
        costs=COSTS,
        accounts=accounts(lines),
        troubles=troubles(lines),
        complaints=complaints(lines),
        origins=origins(rows),
        single=any(len({row["run"]["fold"] for row in line.done}) == 1 for line in lines),
    )
