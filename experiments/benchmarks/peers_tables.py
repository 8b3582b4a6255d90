"""The tables of README and docs/figures.md that compare PrivateVine with its peers.

Run it with ``python -m copula_shirley.experiments.benchmarks.peers_tables`` in a checkout: it makes
them anew from ``experiments/results/peers.csv``, between marks in both pages. A test holds that
they are what it makes.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from copula_shirley.evaluation.metrics.registry import known_metrics
from copula_shirley.experiments.benchmarks.ratios import means, wide

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "experiments" / "results" / "peers.csv"
OURS, REAL = "PrivateVine", "Real rows"
SETS = {
    "adult": "Adult",
    "compas": "COMPAS",
    "diabetes130": "diabetes130",
    "randhie": "RAND HIE (rows)",
    "credit": "Credit",
    "bank": "Bank",
}
WHO = {
    REAL: "real rows",
    OURS: f"**{OURS}**",
    "AIM (dpmm)": "AIM (40 MB)",
    "MST (dpmm)": "MST",
    "PrivBayes (dpmm)": "PrivBayes",
    "AIM (mbi)": "AIM (mbi), given quantiles",
    "MST (mbi)": "MST (mbi), given quantiles",
}
METRICS = {
    "tvd1": "tvd1",
    "tvd2": "tvd2",
    "tvd3": "tvd3",
    "spearman_drift": "drift",
    "ks": "KS",
    "mcc_binary": "MCC binary",
    "mcc_multiclass": "MCC multi",
    "fit_cpu_seconds": "fit",
}
#: Figures with four digits.
FINE = ("ks",)


@dataclass(frozen=True)
class Table:
    """A table of a page, named by its mark."""

    page: str
    mark: str
    epsilon: float
    sets: tuple[str, ...] = tuple(SETS)
    metrics: tuple[str, ...] = tuple(METRICS)


TABLES = (
    Table("README.md", "peers", 1.0, ("adult", "compas"), tuple(METRICS)[1:]),
    *(Table("docs/figures.md", f"peers at {epsilon:g}", epsilon) for epsilon in (1.0, 8.0, 0.1)),
)


def lines(figures: pd.DataFrame, table: Table) -> list[str]:
    """A table in Markdown; the best figure of each set is bold, real rows apart."""
    heads = [f"epsilon {table.epsilon:g}", "", *(METRICS[name] for name in table.metrics)]
    found = [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    for name in table.sets:
        here = figures[figures["dataset"] == name]
        at = (here["epsilon"] == table.epsilon) | (here["who"] == REAL)
        rows = (
            here[at].set_index("who").reindex([who for who in WHO if who in set(here[at]["who"])])
        )
        best = {m: _best(rows.drop(index=REAL, errors="ignore")[m], m) for m in table.metrics}
        title = SETS[name]
        for who, row in rows.iterrows():
            cells = [_cell(row[m], m, who != REAL and row[m] == best[m]) for m in table.metrics]
            found.append(f"| {' | '.join([title, WHO[str(who)], *cells])} |")
            title = ""
    return found


def _best(values: pd.Series, metric: str) -> float:
    known = known_metrics()
    upward = metric in known and known[metric].better == "higher"
    return float(values.max() if upward else values.min())


def _cell(value: float, metric: str, best: bool) -> str:
    if math.isnan(value):
        return ""
    if metric == "fit_cpu_seconds":
        text = f"{value:.0f} s" if value >= 10 else f"{value:.1f} s"
        return "" if value < 0.05 else f"**{text}**" if best else text
    text = re.sub(r"^(-?)0\.", r"\1.", f"{value:.4f}" if metric in FINE else f"{value:.3f}")
    return f"**{text}**" if best else text


def with_tables(page: str, text: str, figures: pd.DataFrame) -> str:
    """The text of a page with its tables made anew."""
    for table in TABLES:
        if table.page == page:
            start, end = f"<!-- {table.mark} -->", f"<!-- end of {table.mark} -->"
            head, _, rest = text.partition(start)
            made = "\n".join([start, *lines(figures, table), end])
            text = head + made + rest.partition(end)[2]
    return text


def figures_of(results: Path = RESULTS) -> pd.DataFrame:
    return means(wide(pd.read_csv(results)), list(METRICS))


def main() -> None:
    """Write both pages."""
    figures = figures_of()
    for page in dict.fromkeys(table.page for table in TABLES):
        path = ROOT / page
        text = path.read_text(encoding="utf-8")
        path.write_text(with_tables(page, text, figures), encoding="utf-8")


if __name__ == "__main__":
    main()
