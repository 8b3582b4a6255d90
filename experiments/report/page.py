"""One page from result rows: leaderboard, charts, ledgers, failures, provenance."""

from __future__ import annotations

import base64
import hashlib
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from copula_shirley.experiments.report.board import COSTS, board
from copula_shirley.experiments.report.charts import Charts
from copula_shirley.experiments.report.ledgers import accounts
from copula_shirley.experiments.report.lines import Line, lines_of, standings
from copula_shirley.experiments.report.troubles import complaints, origins, troubles
from copula_shirley.experiments.report.words import DIRECTIONS, Row, measures_of, number, short
from copula_shirley.files.model_file import atomic_path

HERE = Path(__file__).parent


def write_report(rows: list[Row], path: str | Path, title: str) -> None:
    """Write the report of result rows, as ``Store.rows`` gives them.

    Parameters
    ----------
    rows : list of dict
        See ``copula_shirley.experiments.run.execute``.
    path : path
        The HTML file; it is replaced as a whole or not at all.
    title : str
    """
    page = render(rows, title)
    with atomic_path(path) as partial:
        # a label may hold half a character, which no file can
        partial.write_text(page, encoding="utf-8", errors="replace")


def render(rows: list[Row], title: str) -> str:
    """The page as text; the same rows give the same page."""
    lines = lines_of(rows)
    measures = measures_of(rows)
    places = standings(lines, {name: measure.better for name, measure in measures.items()})
    entries = board(lines, measures, places)
    script = (HERE / "report.js").read_text(encoding="utf-8")
    environment = _environment()
    data, cut = Charts(lines, measures, environment).packed()
    return environment.get_template("page.html.jinja").render(
        title=title,
        style=Markup((HERE / "style.css").read_text(encoding="utf-8")),
        script=Markup(script),
        script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
        data=data,
        cut=cut,
        runs=len(rows),
        counts=_counts(rows),
        generators=len({line.name for line in lines if not line.reference}),
        datasets=list(dict.fromkeys(line.dataset for line in lines)),
        epsilons=_epsilons(lines),
        measures=list(measures.values()),
        directions=DIRECTIONS,
        ranked=[entry for entry in entries if not entry.line.reference],
        references=[entry for entry in entries if entry.line.reference],
        entries=entries,
        costs=COSTS,
        accounts=accounts(lines),
        troubles=troubles(lines),
        complaints=complaints(lines),
        origins=origins(rows),
        single=any(len({row["run"]["fold"] for row in line.done}) == 1 for line in lines),
    )


def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(HERE),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"short": short, "number": number}
    return environment


def _counts(rows: Sequence[Row]) -> list[tuple[str, int]]:
    """Runs by status, the finished first."""
    counts = Counter(row["status"] for row in rows)
    order = sorted(counts, key=lambda status: (status != "done", status))
    return [(status, counts[status]) for status in order]


def _epsilons(lines: Sequence[Line]) -> list[str]:
    """Choices of the filter; what only references have is none."""
    ranked = [line for line in lines if not line.reference] or lines
    found = {line.epsilon_text: line.epsilon for line in ranked}
    return sorted(found, key=lambda text: (found[text] is None, found[text] or 0.0))
