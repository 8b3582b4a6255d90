"""The document of a paper that was done again: verdicts and tables in Markdown, and as CSV."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from threadpoolctl import threadpool_limits

from copula_shirley.experiments.paper.document import markdown_table
from copula_shirley.experiments.paper.gather import make_folder, write
from copula_shirley.experiments.published import agrawal_srikant, cai_kou, rappor
from copula_shirley.experiments.published.claims import compared, papers, verdict_table
from copula_shirley.experiments.specs import Size

EXPERIMENTS = {
    "agrawal-srikant": agrawal_srikant.reproduced,
    "cai-kou": cai_kou.reproduced,
    "rappor": rappor.reproduced,
}


def reproduce(name: str, size: Size, folder: Path) -> Path:
    """Do a paper's experiments again and write what came of them; give the document's path."""
    make_folder(folder)
    paper = papers()[name]
    with threadpool_limits(1):  # matrices are small: more threads only wait for each other
        found = EXPERIMENTS[name](size)
    table = verdict_table(compared(paper, found.figures))
    counts = sorted(Counter(table["verdict"]).items())
    tally = ", ".join(f"{n} {status}" for status, n in counts)
    parts = [
        f"# {paper.title}",
        paper.about,
        f"Made by `shirley reproduce {name} --size {size}`.",
        "## Verdicts",
        f"{len(table)} claims: {tally}.",
        markdown_table(table),
    ]
    for caption, own in found.tables.items():
        parts += [f"## {caption}", markdown_table(own)]
    write(table, folder / f"{name}.csv")
    path = folder / f"{name}.md"
    write("\n\n".join(parts) + "\n", path)
    return path
