"""Every step from a table to a release on made rows: ``shirley demo``.

The steps are run by the very commands that are printed, in the folder of the demo.
"""

from __future__ import annotations

import contextlib
import shlex
import sys
from pathlib import Path
from typing import Annotated

import numpy as np
import pandas as pd
import typer

from copula_shirley.cli.main import app
from copula_shirley.cli.terminal import plain, screen
from copula_shirley.errors import SettingError

ROWS = 5_000
WARDS = ("surgery", "medicine", "children", "eyes")
#: The draft after its review: the reviewer knows these bounds and categories without the rows.
SCHEMA = """\
# Reviewed: everything here is known without the rows, so a fit to it has a proof.
columns:
  age: {kind: integer, minimum: 0, maximum: 110}
  sex: {kind: categorical, categories: [female, male]}
  ward: {kind: categorical, categories: [surgery, medicine, children, eyes]}
  admitted: {kind: datetime, format: "%Y-%m-%d", minimum: 2024-01-01, maximum: 2024-12-31,
    resolution: 1D}
  discharged: {kind: datetime, format: "%Y-%m-%d", minimum: 2024-01-01, maximum: 2025-03-31,
    resolution: 1D}
  cost: {kind: integer, minimum: 0, maximum: 200000, scale: log}
rules:
- {order: [admitted, discharged], gap: {maximum: 90}}
"""
#: The commands of each step, and what they are for.
STEPS = (
    (
        "draft stays.csv -o draft.yaml",
        "A draft of the schema. Read off the rows, it proves nothing:",
    ),
    (
        f"plan schema.yaml -n {ROWS} --epsilon 1",
        "schema.yaml is the draft after a review. What will a fit cost, and be worth?",
    ),
    (
        "synthesize stays.csv --schema schema.yaml --epsilon 1 --save-model model.shirley "
        "-o synthetic.csv",
        "Fit and draw. This spends epsilon 1; beside each file lies its privacy card:",
    ),
    (
        "sample model.shirley -n 200 --given 'age>=65' --given ward=surgery,medicine -o over64.csv",
        "Draw again from the model, also under conditions. This costs no privacy:",
    ),
    ("verify synthetic.csv --from model.shirley", "Check cards, ledger and table:"),
)


def made() -> pd.DataFrame:
    """Stays in a hospital that does not exist."""
    rng = np.random.default_rng(20240101)
    ward = rng.choice(len(WARDS), ROWS, p=[0.35, 0.4, 0.15, 0.1])
    age = np.array([52, 66, 7, 70])[ward] + rng.normal(0, 1, ROWS) * np.array([18, 14, 4, 9])[ward]
    days = np.minimum(rng.geometric(1 / np.array([6, 8, 4, 2])[ward]), 90)
    admitted = pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 366, ROWS), unit="D")
    cost = np.array([3000, 900, 700, 1500])[ward] + days * 420 * np.exp(rng.normal(0, 0.4, ROWS))
    return pd.DataFrame(
        {
            "age": np.clip(np.round(age), 0, 110).astype(int),
            "sex": rng.choice(["female", "male"], ROWS),
            "ward": np.array(WARDS)[ward],
            "admitted": admitted,
            "discharged": admitted + pd.to_timedelta(days, unit="D"),
            "cost": np.minimum(np.round(cost), 200_000).astype(int),
        }
    )


def demo(
    folder: Annotated[Path, typer.Argument(help="New folder for all files of the demo.")] = Path(
        "shirley-demo"
    ),
) -> None:
    """Show every step on a small made table, with the commands to repeat it on your own."""
    if folder.exists():
        raise SettingError(
            f"folder ({str(folder)!r}) exists; name another one: shirley demo FOLDER"
        )
    folder.mkdir(parents=True)
    made().to_csv(folder / "stays.csv", index=False)
    (folder / "schema.yaml").write_text(SCHEMA, encoding="utf-8")
    screen.print(f"{ROWS:,} made stays in a hospital are in {plain(folder / 'stays.csv')}.")
    with contextlib.chdir(folder):
        for words, what in STEPS:
            screen.print(f"\n[bold]{plain(what)}[/]\n$ shirley {plain(words)}", soft_wrap=True)
            sys.stdout.flush()  # before what the command says on stderr
            _run(shlex.split(words))
    screen.print(
        f"\n[bold]Your own table:[/] the same commands, in {plain(folder)}.", soft_wrap=True
    )


def _run(words: list[str]) -> None:
    """Run a command; a plan is also kept in a file."""
    with contextlib.ExitStack() as stack:
        if words[0] == "plan":
            file = stack.enter_context(open("plan.txt", "w", encoding="utf-8"))
            stack.enter_context(contextlib.redirect_stdout(file))
        code = app(words, prog_name="shirley", standalone_mode=False)
    if words[0] == "plan":
        sys.stdout.write(Path("plan.txt").read_text(encoding="utf-8"))
    if code:
        raise SystemExit(code)
