"""``reproduction.md`` and the same as HTML: figures, tables, verdicts, failures, provenance."""

from __future__ import annotations

import base64
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

import pandas as pd
from markdown_it import MarkdownIt

from copula_shirley.experiments.paper.claims import Verdict
from copula_shirley.experiments.paper.figures import dataset_of
from copula_shirley.experiments.paper.printed import EXPERIMENTS, STAND_IN, TITLES
from copula_shirley.experiments.paper.scores import Scores
from copula_shirley.experiments.paper.tables import failures, origins, table_of_models

#: What each figure shows.
CAPTIONS = {
    "5_1": "Split of the training rows between histograms and vine.",
    "5_2": "Encoders of categories.",
    "5_3": "Mechanisms of the noisy histograms.",
    "5_4": "Number of trees of the vine.",
    "5_5": "COMPAS over epsilon.",
    "5_6": "Texas over epsilon.",
    "5_7": "Adult over epsilon.",
    "5_8": "Over all epsilons: bars from the lowest to the highest mean, the line is their mean.",
    "5_9": "The made set.",
    "5_10": "Rows drawn by each generator.",
}
TABLES = {
    "5_1": "Minutes of fit and sample; the thesis' are of an Intel i5-6600k, those of Texas stand "
    "beside the stand-in. Ours is one thread and other code, also of PrivBayes and DP-Copula.",
    "5_2": "Spearman coefficients of the made set and of rows drawn by the generators, means over "
    "folds; errors are to the reference of the same source.",
}
INTRODUCTION = """\
Figures and tables of chapter V of Roy-Gaumond's thesis (and of Gambs, Ladouceur, Laurent and
Roy-Gaumond, PoPETs 2021), made again by `shirley reproduce`, and a verdict on each of its claims.
PrivateVine is ours and not in the thesis. COPULA-SHIRLEY claims epsilon and proves nothing;
DP-Histogram claims epsilon and proves d times that; each table says both. Epsilon `off` is without
noise (the thesis writes 0).

Intervals are Student's 95 % over the folds of one cross-validation. Training rows of folds overlap,
so they are somewhat too narrow, and nothing is corrected for the number of comparisons. A
comparison *holds* if its interval lies on the claimed side, *fails* if on the other, else it is
*open*.
"""


def document_of(
    scores: Scores,
    found: Sequence[Verdict],
    tables: Mapping[str, pd.DataFrame],
    figures: Mapping[str, str],
) -> str:
    """The document in Markdown; ``figures`` says where each picture stands beside it."""
    counts = Counter(verdict.status for verdict in found)
    tally = ", ".join(f"{n} {status}" for status, n in sorted(counts.items()))
    parts = ["# The thesis' experiments again", INTRODUCTION.strip(), *_lacking(scores, figures)]
    parts += ["## Verdicts", f"{len(found)} claims: {tally}.", markdown_table(verdict_table(found))]
    parts.append("## Figures")
    for number, place in figures.items():
        short = "5_10" if number.startswith("5_10") else number
        caption = CAPTIONS[short]
        if number == "5_6" and dataset_of(scores, number) == STAND_IN:
            caption = f"{TITLES[STAND_IN]} over epsilon; Texas itself is not here."
        name = Path(place).stem.replace("_", " ")
        parts += [f"### Figure {short.replace('_', '.')}", caption, f"![{name}]({place})"]
    parts.append("## Tables")
    for number, table in tables.items():
        parts += [f"### Table {number.replace('_', '.')}", TABLES[number]]
        parts.append(markdown_table(table) if len(table) else "No results.")
    for dataset in scores.datasets("models"):
        parts += [f"### {TITLES.get(dataset, dataset)}, means over folds and half the interval"]
        parts.append(markdown_table(table_of_models(scores, dataset)))
    failed = failures(scores.frame)
    parts += ["## Left out and failed", markdown_table(failed) if len(failed) else "Nothing."]
    parts += ["## Where it comes from", markdown_table(origins(scores.frame))]
    return "\n\n".join(parts) + "\n"


def _lacking(scores: Scores, figures: Mapping[str, str]) -> list[str]:
    """What is not there, and why the numbers are small if they are."""
    words = []
    there = set(scores.frame["experiment"])
    absent = [f"{name} ({what})" for name, what in EXPERIMENTS.items() if name not in there]
    if absent:
        words.append(f"Not among these results: {', '.join(absent)}.")
    drawn = {"5_10" if number.startswith("5_10") else number for number in figures}
    missing = [number.replace("_", ".") for number in CAPTIONS if number not in drawn]
    if missing:
        words.append(f"Figures that could not be drawn: {', '.join(missing)}.")
    done = scores.done
    if len(done) and (done["fold"].nunique() < done["folds"].max() or done["rows"].notna().any()):
        words.append(
            "This is a small run: few folds or few rows, light classifiers, wide intervals."
        )
    return [f"**Lacking.** {' '.join(words)}"] if words else []


def verdict_table(found: Sequence[Verdict]) -> pd.DataFrame:
    """Claims with their verdicts; why ours differs stands only where it does."""
    lines = []
    for verdict in found:
        claim = verdict.claim
        why = f" Why it may differ: {claim.why}" if claim.why else ""
        lines.append(
            {
                "claim": claim.text,
                "thesis": claim.place,
                "verdict": verdict.status,
                "numbers": verdict.sentence + (why if verdict.status == "not confirmed" else ""),
                "rule": claim.rule,
            }
        )
    return pd.DataFrame(lines)


def markdown_table(table: pd.DataFrame) -> str:
    r"""A table in Markdown.

    Examples
    --------
    >>> print(markdown_table(pd.DataFrame({"a": [1], "b": ["x | y"]})))
    | a | b |
    |---|---|
    | 1 | x \| y |
    """
    rows = [list(map(str, table.columns)), *table.astype(str).to_numpy().tolist()]
    cells = [[" ".join(text.split()).replace("|", "\\|") for text in row] for row in rows]
    lines = [f"| {' | '.join(row)} |" for row in cells]
    return "\n".join([lines[0], "|" + "---|" * len(table.columns), *lines[1:]])


PAGE = """\
<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>The thesis' experiments again</title><style>
body {{ font: 16px/1.5 system-ui, sans-serif; max-width: 72rem; margin: 2rem auto }}
table {{ border-collapse: collapse; font-size: 13px; display: block; overflow-x: auto }}
th, td {{ padding: .3rem .6rem; text-align: left; vertical-align: top }}
tr {{ border-bottom: 1px solid #ddd }} img {{ max-width: 100% }}
</style></head>
<body>
{body}</body></html>
"""


def as_html(markdown: str, pictures: Mapping[str, Path]) -> str:
    """The document as one file that needs no other: its pictures, by their place, stand in it."""
    body = MarkdownIt("commonmark", {"html": False}).enable("table").render(markdown)
    for place, path in pictures.items():
        data = base64.b64encode(path.read_bytes()).decode()
        body = body.replace(f'src="{place}"', f'src="data:image/png;base64,{data}"')
    return PAGE.format(body=body)
