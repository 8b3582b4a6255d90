"""``reproduction.md`` and the same as HTML: figures, tables, verdicts, failures, provenance."""

from __future__ import annotations

import base64
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markdown_it import MarkdownIt

from copula_shirley.experiments.paper.chapter import CHAPTER, STAND_IN, title_of
from copula_shirley.experiments.paper.claims import Verdict
from copula_shirley.experiments.paper.figures import dataset_of
from copula_shirley.experiments.paper.scores import Scores
from copula_shirley.experiments.paper.tables import failures, origins, table_of_models


def document_of(
    scores: Scores,
    found: Sequence[Verdict],
    tables: Mapping[str, pd.DataFrame],
    figures: Mapping[str, str],
) -> str:
    """The document in Markdown; ``figures`` says where each picture stands beside it."""
    done, there = scores.done, set(scores.frame["experiment"])
    drawn, pictures = set(), []
    for number, place in figures.items():
        short = "5_10" if number.startswith("5_10") else number
        drawn.add(short)
        caption = CHAPTER.figures[short].caption
        if number == "5_6" and dataset_of(scores, number) == STAND_IN:
            caption = f"{title_of(STAND_IN)} over epsilon; Texas itself is not here."
        name = Path(place).stem.replace("_", " ")
        pictures.append((short.replace("_", "."), caption, place, name))
    counts = sorted(Counter(verdict.status for verdict in found).items())
    few_folds = len(done) and done["fold"].nunique() < done["folds"].max()
    return _filled(
        "document.md.jinja",
        absent=[
            f"{name} ({what})" for name, what in CHAPTER.experiments.items() if name not in there
        ],
        missing=[number.replace("_", ".") for number in CHAPTER.figures if number not in drawn],
        small=few_folds or done["rows"].notna().any(),
        tally=", ".join(f"{n} {status}" for status, n in counts),
        verdicts=verdict_table(found),
        figures=pictures,
        tables=tables,
        captions=CHAPTER.tables,
        models={title_of(d): table_of_models(scores, d) for d in scores.datasets("models")},
        failures=failures(scores.frame),
        origins=origins(scores.frame),
    )


def _filled(name: str, **given: Any) -> str:
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        undefined=StrictUndefined,
        trim_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,  # Markdown, of which markdown-it escapes what looks like HTML
    )
    environment.filters["markdown"] = markdown_table
    return environment.get_template(name).render(given)


def verdict_table(found: Sequence[Verdict]) -> pd.DataFrame:
    """Claims with their verdicts; why ours differs stands only where it does."""
    lines = []
    for verdict in found:
        claim, numbers = verdict.claim, verdict.sentence
        if claim.why and verdict.status == "not confirmed":
            numbers += f" Why it may differ: {claim.why}"
        about = {"claim": claim.text, "thesis": claim.place, "verdict": verdict.status}
        lines.append({**about, "numbers": numbers, "rule": claim.rule})
    return pd.DataFrame(lines)


def markdown_table(table: pd.DataFrame, nothing: str = "") -> str:
    r"""A table in Markdown; one without lines says ``nothing``.

    Examples
    --------
    >>> print(markdown_table(pd.DataFrame({"a": [1], "b": ["x | y"]})))
    | a | b |
    |---|---|
    | 1 | x \| y |
    """
    if table.empty:
        return nothing
    rows = [list(map(str, table.columns)), *table.astype(str).to_numpy().tolist()]
    cells = [[" ".join(text.split()).replace("|", "\\|") for text in row] for row in rows]
    lines = [f"| {' | '.join(row)} |" for row in cells]
    return "\n".join([lines[0], "|" + "---|" * len(table.columns), *lines[1:]])


def as_html(markdown: str, pictures: Mapping[str, Path]) -> str:
    """The document as one file that needs no other: its pictures, by their place, stand in it."""
    body = MarkdownIt("commonmark", {"html": False}).enable("table").render(markdown)
    for place, path in pictures.items():
        data = base64.b64encode(path.read_bytes()).decode()
        body = body.replace(f'src="{place}"', f'src="data:image/png;base64,{data}"')
    return _filled("document.html.jinja", body=body)
