"""Tables that compare with peers stand in pages as they are made from the results."""

from __future__ import annotations

import pandas as pd
import pytest

from copula_shirley.experiments.benchmarks.peers_tables import (
    METRICS,
    OURS,
    REAL,
    ROOT,
    TABLES,
    Table,
    figures_of,
    lines,
    with_tables,
)


@pytest.mark.parametrize("page", sorted({table.page for table in TABLES}))
def test_pages_have_the_tables_of_the_results(page: str) -> None:
    """Else run ``python -m copula_shirley.experiments.benchmarks.peers_tables``."""
    text = (ROOT / page).read_text(encoding="utf-8")
    assert all(f"<!-- {t.mark} -->\n|" in text for t in TABLES if t.page == page)
    assert with_tables(page, text, figures_of()) == text


def test_the_best_of_each_set_is_bold() -> None:
    names = ["dataset", "epsilon", "who", *METRICS]
    rows = [
        ("adult", float("inf"), REAL, 0.01, 0.02, 0.03, 0.01, 0.001, 0.7, 0.8, 0.0),
        ("adult", 1.0, OURS, 0.02, 0.04, 0.05, 0.02, 0.002, 0.5, 0.6, 0.4),
        ("adult", 1.0, "MST (dpmm)", 0.01, 0.05, 0.06, 0.03, 0.003, -0.1, float("nan"), 99.6),
        ("adult", 8.0, OURS, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 1.0, 0.1),
    ]
    shown = ("tvd1", "tvd2", "ks", "mcc_binary", "mcc_multiclass", "fit_cpu_seconds")
    made = lines(pd.DataFrame(rows, columns=names), Table("a", "b", 1.0, ("adult",), shown))
    assert made == [
        "| epsilon 1 |  | tvd1 | tvd2 | KS | MCC binary | MCC multi | fit |",
        "|---|---|---|---|---|---|---|---|",
        "| Adult | real rows | .010 | .020 | .0010 | .700 | .800 |  |",
        "|  | **PrivateVine** | .020 | **.040** | **.0020** | **.500** | **.600** | **0.4 s** |",
        "|  | MST | **.010** | .050 | .0030 | -.100 |  | 100 s |",
    ]
