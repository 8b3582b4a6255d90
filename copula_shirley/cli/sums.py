"""A linear regression from one vector of noisy sums: ``shirley sums``."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated

from copula_shirley import tasks
from copula_shirley.cli.options import (
    DATA,
    METHOD,
    PRIVACY,
    AcceptUnproved,
    Json,
    Missing,
    OnUnknown,
    Seed,
    Sheet,
    epsilon_of,
    option,
    source,
    takes,
)
from copula_shirley.cli.terminal import note, print_json, print_table, screen
from copula_shirley.rows.databases import Query


@takes(source)
def sums(
    data: Path | Query,
    schema_file: Annotated[Path, option(DATA, "Declared domain (YAML).", "--schema")],
    columns: Annotated[
        str, option(METHOD, "Columns that explain, with commas: numbers, dates, two categories.")
    ],
    on: Annotated[str, option(METHOD, "The column that is explained.", "--on")],
    epsilon: Annotated[
        str, option(PRIVACY, "Privacy budget, or 'off' for exact sums, which protect nobody.")
    ] = "1",
    delta: Annotated[float, option(PRIVACY, "Delta; 0 for pure epsilon-DP.")] = 1e-9,
    missing: Missing = None,
    sheet: Sheet = None,
    on_unknown: OnUnknown = None,
    accept_unproved: AcceptUnproved = False,
    seed: Seed = None,
    json: Json = False,
) -> None:
    """Explain a column by others with least squares, from noisy sums of their products.

    Rows are asked once, and every run spends its epsilon anew. The standard error of the noise says
    how far it moved a coefficient; that of sampling is the usual one.
    """
    found = tasks.sums(
        data,
        schema_file,
        [name.strip() for name in columns.split(",") if name.strip()],
        on,
        epsilon=epsilon_of(epsilon),
        delta=delta,
        missing=missing or (),
        sheet=sheet,
        on_unknown=on_unknown or "refuse",
        accept_unproved=accept_unproved,
        random_state=seed,
    )
    if json:
        print_json(found.to_dict())
        return
    head = ("term", "coefficient", "error of the noise", "error of sampling")
    lines = [
        (term, *map(_figure, figures))
        for term, *figures in found.coefficients.itertuples(index=False)
    ]
    print_table(f"{on} explained by {columns}", head, lines)
    print_table(
        "Sums",
        ("", ""),
        [
            ("rows without missing values", f"{found.rows:,.0f}"),
            ("standard deviation of the residuals", _figure(found.spread)),
            ("standard deviation of the noise of a sum", _figure(found.sigma)),
        ],
    )
    for text in found.notes:
        note(text)
    screen.print(str(found.ledger), markup=False, highlight=False, soft_wrap=True)


def _figure(value: float) -> str:
    return "unknown" if math.isnan(value) else f"{value:.4g}"
